package tables

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

func TestParseKeys(t *testing.T) {
	got, err := ParseKeys("ranks,family")
	if err != nil || !cmp.Equal(got, []Key{ByRanks, ByFamily}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "family,", "rank", "family ,ranks"} {
		if keys, err := ParseKeys(bad); err == nil {
			t.Errorf("%q gives %v, expected an error", bad, keys)
		}
	}
}

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
		by   []Key
		want [][]string // runs of each group
	}{
		{[]Key{ByFamily}, [][]string{{"b", "c", "e"}, {"a"}}},
		{[]Key{ByFamily, ByRanks}, [][]string{{"c", "e"}, {"b"}, {"a"}}},
		{[]Key{ByPattern, ByDelay}, [][]string{{"b"}, {"a"}, {"e"}, {"c"}}},
	} {
		var got [][]string
		for _, g := range s.grouped(test.by) {
			var runs []string
			for _, r := range g.runs {
				runs = append(runs, r.Run)
			}
			got = append(got, runs)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("by %v (-want +got):\n%s", test.by, diff)
		}
	}
}

// TestNamesOfSpecifications: what a specification may name has a table or a row here.
func TestNamesOfSpecifications(t *testing.T) {
	var numbers []int
	for _, p := range paperTables {
		numbers = append(numbers, p.Number)
	}
	var names []string
	for _, g := range publishedEvaluation {
		names = append(names, g.name)
	}
	if names = append(names, caseNames()...); !slices.Equal(numbers, campaign.PaperTables) || !slices.Equal(names, campaign.Published) {
		t.Errorf("tables %v, groups and cases %v; expected %v and %v", numbers, names, campaign.PaperTables, campaign.Published)
	}
}

// TestPublished: rows of the paper add up over what a group leaves open, and a
// group that the paper does not have gets nothing.
func TestPublished(t *testing.T) {
	for _, test := range []struct {
		like           runCase
		by             []Key
		top1, top2, of int
	}{
		{runCase{Family: simulate.Data, Ranks: 8, Delay: 120}, []Key{ByFamily}, 10, 10, 10},
		{runCase{Family: simulate.Data, Ranks: 8, Delay: 120}, []Key{ByFamily, ByRanks, ByDelay}, 5, 5, 5},
		{runCase{Family: simulate.Data, Ranks: 8, Delay: 30}, []Key{ByFamily, ByDelay}, 0, 0, 0},
		{runCase{Family: simulate.Data, Ranks: 8, Delay: 120, Intermittent: true}, []Key{ByFamily}, 0, 0, 0},
		{runCase{Family: simulate.CallbackSync, Ranks: 8, Delay: 120}, []Key{ByFamily}, 6, 12, 12},
		{runCase{Family: simulate.CallbackHost, Ranks: 8, Delay: 120}, []Key{ByFamily, ByRanks}, 0, 0, 3},
	} {
		got := publishedFor(&group{like: test.like}, test.by)
		if got.top1 != test.top1 || got.top2 != test.top2 || got.of != test.of {
			t.Errorf("%+v by %v: %d and %d of %d, want %d and %d of %d", test.like, test.by, got.top1, got.top2, got.of, test.top1, test.top2, test.of)
		}
	}
	var all publishedCase
	for _, p := range publishedFamilies {
		if p.delay == 120 && p.family <= simulate.ForwardHost {
			all.top1 += p.top1
			all.top2 += p.top2
			all.of += p.of
		}
	}
	if m := publishedMethods[0]; all.top1 != m.top1 || all.top2 != m.top2 || all.of != m.of {
		t.Errorf("Table 14 adds up to %d and %d of %d, Table 4 has %d and %d of %d", all.top1, all.top2, all.of, m.top1, m.top2, m.of)
	}
}

// TestTablesAreRectangular: every row has a cell for every column.
func TestTablesAreRectangular(t *testing.T) {
	truth := []simulate.TruthRow{{Run: "x", Family: simulate.Data, Ranks: 2, HiddenRank: 1, Stage: "a", Delay: 120},
		{Run: "y", Ranks: 2, HiddenRank: -1}}
	s := scored(t, truth, byHand("x", 0), byHand("y", 0))
	for _, published := range []bool{false, true} {
		v := View{By: []Key{ByFamily, ByPattern, ByDelay, ByRanks}, Published: published}
		for _, made := range []*table.Table{s.MethodTable(v), s.RoutingTable(v), s.CutTable(v), s.VerdictTable(v), s.HealthyTable(), s.SweepTable(v), s.RunTable(), s.WindowTable()} {
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
}
