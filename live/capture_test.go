package live

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/ingest/auto"
)

// profiling is a run whose ranks, the first of them late, are to be profiled.
func profiling(run string, ranks ...int) diagnose.RunVerdict {
	r := diagnose.RunVerdict{Run: run, Status: answer.Straggler, Next: []answer.Action{{Action: answer.InspectHost}, {Action: answer.Profile, Ranks: ranks}}}
	r.Findings = []diagnose.Finding{{Confidence: evidence.Strong, Place: diagnose.Place{Rank: &ranks[0]}}}
	return r
}

// TestCapturePlans: a plan lies beside the packets of its run, one for each verdict
// that would have ranks profiled, and three at most.
func TestCapturePlans(t *testing.T) {
	dir := t.TempDir()
	read := []auto.Input{{Path: filepath.Join(dir, "job.jsonl"), Format: auto.Packets}, {Path: filepath.Join(dir, "job.rank00001.jsonl"), Format: auto.Packets}, {Path: "elsewhere/jobs.jsonl", Format: auto.Packets}}
	path := filepath.Join(dir, "job.capture.json")
	asked := Captures{}
	ask := func(r diagnose.RunVerdict) (out plan) {
		t.Helper()
		got, err := asked.Ask(&r, read)
		if err != nil || got == "" {
			return out
		}
		if got != path {
			t.Errorf("written to %s", got)
		}
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := plan{"sfstat.capture/1", "job", []int{2, 0, 1}, 8}
	if got := ask(profiling("a/job", 2, 0, 1)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := ask(profiling("a/job", 2, 0, 1)); got.Schema != "" {
		t.Error("the same is asked for twice")
	}
	known := profiling("a/job", 3)
	known.Findings[0].Evidence = []evidence.Observation{evidence.SpentIn{Rank: 3}}
	small := profiling("a/job", 4)
	small.Findings[0].BelowMinGain = true
	for what, r := range map[string]diagnose.RunVerdict{"a known line": known, "a small delay": small, "no suspect": {Run: "a/job"}, "a run without packets": profiling("other", 1)} {
		if got := ask(r); got.Schema != "" {
			t.Errorf("%s is to be captured", what)
		}
	}
	n := 0
	for rank := range 6 {
		if ask(profiling("a/job", 10+rank)).Schema != "" {
			n++
		}
	}
	if n != mostPlans-1 {
		t.Errorf("%d more plans, want %d", n, mostPlans-1)
	}
}
