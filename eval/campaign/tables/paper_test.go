package tables

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/campaign"
)

// TestPaper makes the campaign of all published groups: each figure that
// differs from the published one has a reason, and most do not differ. Without
// SFSTAT_CALIBRATE it leaves out the large jobs.
func TestPaper(t *testing.T) {
	s, dir := specOf(t, "../specs/paper.yaml"), t.TempDir()
	cells := 147
	if os.Getenv("SFSTAT_CALIBRATE") == "" {
		cells = 60
		s.Groups = slices.DeleteFunc(s.Groups, func(g campaign.Group) bool { return slices.Max(g.Ranks) > 32 })
		for i := range s.Groups {
			if g := &s.Groups[i]; g.Published != "E3" || len(g.Tables) == 0 {
				g.Seeds, g.Steps = g.Seeds[:1], 60
			}
		}
	}
	execute(t, dir, s)
	evaluation, err := Open(nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := evaluation.Tables()
	if err != nil {
		t.Fatal(err)
	}
	figures, err := evaluation.Figures()
	if err != nil {
		t.Fatal(err)
	}
	all, differing := 0, 0
	for _, a := range tables {
		for _, c := range a.Cells {
			all++
			count(&differing, c.Differs())
			if c.Differs() != (c.Reason != "") {
				t.Errorf("%+v: differs %v", c, c.Differs())
			}
		}
	}
	if all < cells || differing > 15 {
		t.Errorf("%d of %d cells differ, expected 15 or fewer of %d or more", differing, all, cells)
	}
	if os.Getenv("SFSTAT_CALIBRATE") != "" {
		page, err := os.ReadFile("../../../docs/evaluation.md")
		if says := fmt.Sprintf("%d of %d in the", differing, all); err != nil || !strings.Contains(string(page), says) {
			t.Errorf("docs/evaluation.md does not say %q of the figures that differ (%v)", says, err)
		}
	}
	for _, name := range []string{"table-3", "table-4", "table-5", "table-8", "table-9", "table-12", "table-13", "table-14", "table-15", "table-16", "boundary", "sharding", "recovery-e6", "accumulation-e7"} {
		if i := slices.IndexFunc(tables, func(a Artifact) bool { return a.Name == name }); i < 0 || len(tables[i].Table.Rows) == 0 {
			t.Errorf("no table %s", name)
		}
	}
	for _, name := range []string{"figure-3a", "figure-3b-e3-curve-r8"} {
		if !slices.ContainsFunc(figures, func(a Artifact) bool { return a.Name == name }) {
			t.Errorf("no figure %s", name)
		}
	}
}

// TestReasonsOfOtherRuns: a campaign of other faults than the paper's differs by them, whatever its
// shares are.
func TestReasonsOfOtherRuns(t *testing.T) {
	dir := t.TempDir()
	execute(t, dir, small(t))
	artifacts, err := tablesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	differing := 0
	for _, a := range artifacts {
		for _, c := range a.Cells {
			count(&differing, c.Differs())
			if c.Differs() && a.Name != "table-14" && !strings.HasPrefix(c.Reason, "Other runs: here ") {
				t.Errorf("%+v", c)
			}
		}
	}
	if differing == 0 {
		t.Error("nothing differs")
	}
}
