package report

import (
	"bytes"
	"fmt"
	"math"
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
