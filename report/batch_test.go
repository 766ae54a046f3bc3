package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/batch/findings"
)

// archive is a month of a run a day, with a slower loader from the middle on: three late ranks on one
// GPU of hosts of eight, a run that is healthy, and a file that could not be read.
func archive() *findings.Summary {
	s := findings.NewSummary()
	begin := time.Date(2026, time.March, 2, 8, 0, 0, 0, time.UTC)
	for i := range 24 {
		start := begin.AddDate(0, 0, i).UnixNano()
		data := 20e6 + 1e5*math.Sin(float64(5*i*i)) // days do not depend on each other
		if i >= 12 {
			data += 15e6
		}
		row := &findings.Row{Windows: 1, Folder: "archive", Run: fmt.Sprintf("train-%02d", i), Start: &start, Steps: 100, Step: int64(data) + 200e6, Ranks: 8, Hosts: 1,
			Status: "no_straggler", Stages: findings.Stages(fmt.Sprintf(`{"data":%.0f,"forward":200000000}`, data))}
		if i%8 == 3 {
			place, rank, host, stage, gain := int64(1), int64(3), "gpu07", "data", 0.2
			kind, cause, confidence := "rank", "late", "strong"
			row.Status, row.Flagged, row.Place, row.Rank, row.LocalRank, row.Host, row.Stage, row.RunGain = "straggler", true, &place, &rank, &rank, &host, &stage, &gain
			row.Kind, row.Cause, row.Confidence = &kind, &cause, &confidence
		}
		s.Add(row)
	}
	s.Refuse(findings.Refused{Path: "archive/cut.parquet", Error: "it ends in a row group, expected a footer: copy it again"})
	return s
}

func renderedBatches(t *testing.T, format Format, s Style, f func(name string, out []byte)) {
	t.Helper()
	for name, sum := range map[string]*findings.Summary{"month": archive(), "empty": findings.NewSummary()} {
		var out bytes.Buffer
		if err := to(&out, format, s).Batch(sum); err != nil {
			t.Fatalf("batch %s: %v", name, err)
		}
		f("batch-"+name, out.Bytes())
	}
}

// TestBatchLatent: ranks that pass the correction for all runs are listed with it, others are not.
func TestBatchLatent(t *testing.T) {
	sum := findings.NewSummary()
	for i := range 40 {
		p, rank, stage, level := 1.0, int64(i), "data", int64(2e6)
		row := &findings.Row{Run: fmt.Sprintf("job-%d", i), Steps: 10, Step: 2e8, Ranks: 8, Status: "no_straggler", Stages: "{}", LatentP: &p}
		if i == 7 || i == 9 {
			p = map[int]float64{7: 1e-5, 9: 0.008}[i]
			row.LatentRank, row.LatentStage, row.Latent = &rank, &stage, &level
		}
		sum.Add(row)
	}
	var b bytes.Buffer
	if err := to(&b, Text, Style{Width: 100}).Batch(sum); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"Ranks that differ by less than a delay", "job-7", "corrected for 40 tested runs (Benjamini–Hochberg): of those listed 5.0 % is chance"} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "job-9") {
		t.Errorf("job-9 has q of 0.16, and is listed:\n%s", got)
	}
}
