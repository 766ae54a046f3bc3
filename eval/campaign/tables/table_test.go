package tables

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// TestGroups: ordered by the keys in turn, and healthy runs are in none.
func TestGroups(t *testing.T) {
	s := &Score{}
	for _, c := range []runCase{
		{Run: "a", Family: simulate.CallbackHost, Ranks: 8, Delay: 60, Hidden: []hiddenRank{{0, "x"}}},
		{Run: "b", Family: simulate.Data, Ranks: 32, Delay: 12, Hidden: []hiddenRank{{0, "x"}}},
		{Run: "c", Family: simulate.Data, Ranks: 8, Delay: 60, Intermittent: true, Hidden: []hiddenRank{{0, "x"}}},
		{Run: "d", Ranks: 8},
		{Run: "e", Family: simulate.Data, Ranks: 8, Delay: 120, Hidden: []hiddenRank{{0, "x"}}},
	} {
		s.Runs = append(s.Runs, &scoredRun{runCase: c})
	}
	for _, test := range []struct {
		by   []key
		want [][]string // runs of each group
	}{
		{[]key{byFamily}, [][]string{{"b", "c", "e"}, {"a"}}},
		{[]key{byFamily, byRanks}, [][]string{{"c", "e"}, {"b"}, {"a"}}},
		{[]key{byPattern, byDelay}, [][]string{{"b"}, {"a"}, {"e"}, {"c"}}},
	} {
		var got [][]string
		for _, g := range s.groupBy(test.by...) {
			var runs []string
			for _, r := range g.Runs {
				runs = append(runs, r.Run)
			}
			got = append(got, runs)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("by %v (-want +got):\n%s", test.by, diff)
		}
	}
}

// TestPublication: published.yaml can be read, what a specification may name has a table or a row
// there, and the paper's own tables agree with one another.
func TestPublication(t *testing.T) {
	p := published()
	for artifact, of := range p.Tables {
		for name, figures := range of.Rows {
			if len(figures) != len(of.Columns) {
				t.Errorf("%s, %s: %d figures under %d heads", artifact, name, len(figures), len(of.Columns))
			}
		}
	}
	var numbers []int
	for n := range 20 {
		of, forward := &campaign.Task{Tables: []int{n}}, &scoredRun{runCase: runCase{Family: simulate.ForwardHost, Hidden: []hiddenRank{{0, "x"}}}}
		counted := func(made paperTable) bool {
			return made.counts(of, run(120, 0, verdict{}, routing{})) || made.counts(of, forward)
		}
		if slices.ContainsFunc(paperTables, counted) {
			numbers = append(numbers, n)
		}
	}
	if !slices.Equal(numbers, campaign.PaperTables) {
		t.Errorf("tables %v, expected %v", numbers, campaign.PaperTables)
	}
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	groups, cases := slices.Sorted(maps.Keys(p.Groups)), slices.Sorted(maps.Keys(p.Cases))
	if !slices.Equal(groups, sorted(campaign.PublishedGroups)) || !slices.Equal(cases, sorted(campaign.PublishedCases)) {
		t.Errorf("groups %v and cases %v, expected %v and %v", groups, cases, campaign.PublishedGroups, campaign.PublishedCases)
	}
	for _, g := range p.Gates {
		if gateValue(gates.Default(), g.Gate) == none {
			t.Errorf("there is no gate %s", g.Gate)
		}
	}
	var top1, top2, all int
	for name, figures := range p.Tables["table-14"].Rows {
		if family, rest, _ := strings.Cut(name, ", "); !strings.HasPrefix(family, "callback") && strings.HasSuffix(rest, ", 120") {
			first, n, _ := fraction(figures[0])
			second, _, _ := fraction(figures[1])
			top1, top2, all = top1+first, top2+second, all+n
		}
	}
	if sums := []string{table.OutOf(top1, all), table.OutOf(top2, all)}; !slices.Equal(sums, p.Tables["table-4"].Rows["frontier"][:2]) {
		t.Errorf("Table 14 adds up to %v, Table 4 has %v", sums, p.Tables["table-4"].Rows["frontier"])
	}
}

// TestSentences: each that is said is there, and each that is there is said.
func TestSentences(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{"without pytorch": true, "without hta": true, "without nsight": true}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`(?:countSentence|wideSets)\("([^"]+)"[,)]`).FindAllSubmatch(text, -1) {
			said[string(call[1])] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(published().Sentences)), slices.Sorted(maps.Keys(said))); diff != "" {
		t.Errorf("-there +said:\n%s", diff)
	}
}

// TestBeside: a row is found by the cells that name it, whatever follows them; what the paper does not
// have gets a dash.
func TestBeside(t *testing.T) {
	s := &Score{}
	for _, c := range []runCase{
		{Family: simulate.Data, Ranks: 8, Delay: 120},
		{Family: simulate.Data, Ranks: 8, Delay: 30},
		{Family: simulate.Backward, Ranks: 8, Delay: 120, Intermittent: true},
	} {
		c.Hidden = []hiddenRank{{0, "x"}}
		s.Runs = append(s.Runs, &scoredRun{runCase: c})
	}
	made := s.routingTable()
	at := slices.Index(made.Heads(), "paper: top-1")
	for i, want := range []string{"– – – –", "5/5 5/5 5/5 2.00", "– – – –"} {
		if got := strings.Join(made.Records()[i][at:], " "); got != want {
			t.Errorf("%v: %s, expected %s", made.Records()[i][:3], got, want)
		}
	}
}

// TestTablesAreRectangular: every row has a cell for every column.
func TestTablesAreRectangular(t *testing.T) {
	truth := []simulate.TruthRow{{Run: "x", Family: simulate.Data, Ranks: 2, HiddenRank: 1, Stage: "a", Delay: 120},
		{Run: "y", Ranks: 2, HiddenRank: -1}}
	s := scored(t, truth, byHand("x", 0), byHand("y", 0))
	for _, r := range s.Runs {
		if rows := r.rows(); len(rows) != 1 || len(rows[0]) != len(rowHead()) {
			t.Errorf("%q under %d heads", rows, len(rowHead()))
		}
	}
	for _, made := range []*table.Table{s.methodTable(), s.routingTable(), s.forwardTable(), s.healthyTable(), s.sweepTable()} {
		if len(made.Rows) == 0 {
			t.Errorf("%q has no rows", made.Title)
		}
		for _, row := range made.Rows {
			if len(row) != len(made.Columns) {
				t.Errorf("%q: %d cells under %d heads: %v", made.Title, len(row), len(made.Columns), row)
			}
		}
	}
}
