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
