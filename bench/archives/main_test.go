package main

import (
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/batch"
	"github.com/sfstat/sfstat/internal/flatrow"
)

// TestTruth: in a small archive all faults are found, with rank, host, stage and week,
// and nothing else; the change of step time too, where it is large.
func TestTruth(t *testing.T) {
	a := archived{Windows: 240, PerRun: 2, Faults: 8, Ranks: 4, Steps: 12, Slower: 0.1}
	dir, rows := t.TempDir(), filepath.Join(t.TempDir(), "all.csv")
	jobs := a.plan()
	if err := a.fleet(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := batch.Run(t.Context(), []string{dir}, batch.Options{Output: batch.Output{Path: rows, Format: flatrow.CSV}}); err != nil {
		t.Fatal(err)
	}
	got, err := compared(jobs, rows)
	if err != nil {
		t.Fatal(err)
	}
	want := got
	want.Flagged, want.Rank, want.Host, want.Stage, want.Week, want.False = 8, 8, 8, 8, 8, 0
	if got != want || got.Days < 0 || got.Elsewhere > 0 || got.Longer < 0.08 || got.Longer > 0.12 {
		t.Errorf("%+v", got)
	}
}

func TestRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"-windows", "3", "-keep", "x"}, {"-sfstat", "x", "-keep", "x"}, {"-rounds", "0", "-sfstat", "x"}, {"-kills", "-1", "-keep", "x"}} {
		if run(args, nil) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
