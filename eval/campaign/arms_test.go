package campaign

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
)

func alike(t *testing.T) *Spec { return specOf(t, "../../fixtures/campaign/arrivals.yaml") }

// TestArmsArePlanned: each run comes without arrivals, as if nobody had asked,
// and with them.
func TestArmsArePlanned(t *testing.T) {
	s := alike(t)
	both, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	s.Groups[0].Arrivals = nil
	alone, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(alone) != 7 || len(both) != 14 {
		t.Fatalf("%d runs, and %d in arms, expected 7 and 14", len(alone), len(both))
	}
	for i, was := range alone {
		without, with := both[2*i], both[2*i+1]
		if without.ID != was.ID || without.Hash != was.Hash || without.Spec.Arrivals {
			t.Errorf("%s without arrivals is %s with hash %s, expected %s", was.ID, without.ID, without.Hash, was.Hash)
		}
		if with.ID != was.ID+"-arrivals" || with.Spec.Run != with.ID || with.Hash == was.Hash || !with.Spec.Arrivals {
			t.Errorf("%s with arrivals is %+v", was.ID, with)
		}
	}
	s.Groups[0].Arrivals, s.Runner = []bool{true}, Local
	if _, err := s.Plan(); err == nil || !strings.Contains(err.Error(), "arrivals is for runner simulator") {
		t.Errorf("runner local: %v", err)
	}
	s.Groups[0].Arrivals, s.Runner = []bool{true, true}, Simulator
	if _, err := s.Plan(); err == nil || !strings.Contains(err.Error(), "stands twice") {
		t.Errorf("an arm twice: %v", err)
	}
}

// TestArms: what stage times leave open on a rank that is slow before a
// synchronisation point, arrivals decide; of a slow transfer they accuse nobody, and say that it may be one.
func TestArms(t *testing.T) {
	dir := t.TempDir()
	made := tablesOf(t, dir, alike(t))
	for _, want := range []string{"alike-backward-60ms-r8-s0.parquet", "alike-backward-60ms-r8-s0-arrivals.jsonl"} {
		if !slices.Contains(files(t, dir, "runs"), want) {
			t.Errorf("no %s in %v", filepath.Join("runs", want), files(t, dir, "runs"))
		}
	}
	table := made["table-14"].Table
	from := slices.Index(table.Head, "stage right")
	if got := table.Head[from:]; strings.Join(got, ",") != "stage right,rank right,rank wrong,called" || table.Head[3] != "arrivals" {
		t.Fatalf("columns %v", table.Head)
	}
	if len(table.Rows) != 12 {
		t.Fatalf("%d rows, expected three families, two delays, two arms", len(table.Rows))
	}
	for _, row := range table.Rows {
		want := "0/1 0/1 0/1" // rank right, wrong, called
		if row[3] == "with" && row[0] != simulate.BackwardComm.String() {
			want = "1/1 0/1 1/1"
		}
		if got := strings.Join(row[from+1:], " "); got != want {
			t.Errorf("%v: %s, expected %s", row[:4], got, want)
		}
		if row[from] != "1/1" { // a slow transfer stays open, in its stage
			t.Errorf("%v: stage right %s", row[:4], row[from])
		}
	}
	methods := made["table-4"].Table
	if got := strings.Join(methods.Rows[len(methods.Rows)-1], " "); !strings.HasPrefix(got, "verdict, with arrivals ") || !strings.HasSuffix(got, " 4/6 0/6 4/6") {
		t.Errorf("last row of Table 4: %s", got)
	}
	if got := methods.Rows[0][2]; !strings.HasSuffix(got, "/6") { // each window once
		t.Errorf("the frontier finds %s among the first two", got)
	}
	for name, runs := range map[string]int{"table-4": 12, "table-14": 12, "table-15": 6, "detectability-alike": 14} {
		if got := len(made[name].Inputs); got != runs {
			t.Errorf("%s has %d inputs, expected %d", name, got, runs)
		}
	}
	var curves []string
	for _, row := range made["detectability-alike"].Table.Rows {
		if curve := row[0]; !slices.Contains(curves, curve) {
			curves = append(curves, curve)
		}
	}
	if want := "backward; backward, with arrivals; backward_comm; backward_comm, with arrivals; callback_sync; callback_sync, with arrivals"; strings.Join(curves, "; ") != want {
		t.Errorf("curves %s", strings.Join(curves, "; "))
	}
	for _, a := range made {
		for _, row := range a.Table.Rows {
			if len(row) != len(a.Table.Head) {
				t.Errorf("%s: %d cells under %d heads: %v", a.Name, len(row), len(a.Table.Head), row)
			}
		}
	}
	if healthy := made["healthy"].Table; len(healthy.Rows) != 2 || healthy.Rows[1][0] != "healthy, with arrivals" || healthy.Rows[1][11] != "0" {
		t.Errorf("healthy runs: %v", healthy.Rows)
	}
}
