package tables

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
)

func alike(t *testing.T) *campaign.Spec { return specOf(t, "../../../fixtures/campaign/arrivals.yaml") }

// TestArms: what stage times leave open on a rank that is slow before a
// synchronisation point, arrivals decide; of a slow transfer they accuse nobody, and say that it may be one.
func TestArms(t *testing.T) {
	dir := t.TempDir()
	made := tablesOf(t, dir, alike(t))
	for _, want := range []string{"alike-backward-60ms-r8-s0.parquet", "alike-backward-60ms-r8-s0-arrivals.jsonl"} {
		if _, err := os.Stat(filepath.Join(dir, "runs", want)); err != nil {
			t.Error(err)
		}
	}
	heads, rows := made["table-14"].Table.Heads(), made["table-14"].Table.Records()
	from := slices.Index(heads, "stage right")
	if got := heads[from:]; strings.Join(got, ",") != "stage right,rank right,rank wrong,called" || heads[3] != "arrivals" {
		t.Fatalf("columns %v", heads)
	}
	if len(rows) != 12 {
		t.Fatalf("%d rows, expected three families, two delays, two arms", len(rows))
	}
	for _, row := range rows {
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
	methods := made["table-4"].Table.Records()
	if got := strings.Join(methods[len(methods)-1], " "); !strings.HasPrefix(got, "verdict, with arrivals ") || !strings.HasSuffix(got, " 4/6 0/6 4/6") {
		t.Errorf("last row of Table 4: %s", got)
	}
	if got := methods[0][2]; !strings.HasSuffix(got, "/6") { // each window once
		t.Errorf("the frontier finds %s among the first two", got)
	}
	for name, runs := range map[string]int{"table-4": 12, "table-14": 12, "table-15": 6, "detectability-alike": 14} {
		if got := len(made[name].Inputs); got != runs {
			t.Errorf("%s has %d inputs, expected %d", name, got, runs)
		}
	}
	var curves []string
	for _, row := range made["detectability-alike"].Table.Records() {
		if curve := row[0]; !slices.Contains(curves, curve) {
			curves = append(curves, curve)
		}
	}
	if want := "backward; backward, with arrivals; backward_comm; backward_comm, with arrivals; callback_sync; callback_sync, with arrivals"; strings.Join(curves, "; ") != want {
		t.Errorf("curves %s", strings.Join(curves, "; "))
	}
	for _, a := range made {
		for _, row := range a.Table.Rows {
			if len(row) != len(a.Table.Columns) {
				t.Errorf("%s: %d cells under %d heads: %v", a.Name, len(row), len(a.Table.Columns), row)
			}
		}
	}
	if healthy := made["healthy"].Table.Records(); len(healthy) != 2 || healthy[1][0] != "healthy, with arrivals" || healthy[1][11] != "0" {
		t.Errorf("healthy runs: %v", healthy)
	}
}
