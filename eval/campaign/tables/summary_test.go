package tables

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/simulate"
)

// TestSummaryByHand describes two runs with a fault, of two windows and one, and one that is silent: a
// run's own gain counts once, a window without a fault has no share, silence no gain.
func TestSummaryByHand(t *testing.T) {
	share := func(x float64) *float64 { return &x }
	fault := runCase{Family: simulate.Data, Hidden: []hiddenRank{{0, "x"}}}
	g := groupRuns{row: row{names: []string{"g"}, Score: &Score{Runs: []*scoredRun{
		{runCase: fault, Verdict: verdict{Kind: "rank", Gain: 0.25}, Windows: []scoredWindow{{Fault: true, Share: share(0.5), Methods: make([]routing, 5)}, {Methods: make([]routing, 5)}}},
		{runCase: fault, Verdict: verdict{Kind: "rank", Gain: 0.75}, Windows: []scoredWindow{{Fault: true, Share: share(0.25), Methods: make([]routing, 5)}}},
		{Windows: []scoredWindow{{Methods: make([]routing, 5)}}},
	}}}}
	for measure, want := range map[string][]float64{"seeded_share": {0.5, 0.25}, "suspect_gain": {0.25, 0.75}, "frontier_candidates": {0, 0, 0, 0}} {
		if got := g.values(measure); !slices.Equal(got, want) {
			t.Errorf("%s: %v, expected %v", measure, got, want)
		}
	}
	rows := g.summary()
	at := slices.IndexFunc(rows, func(r []string) bool { return r[1] == "seeded_share" })
	// Of 0.25 and 0.5: the mean 0.375, the deviation 0.25/√2.
	if want := "g seeded_share window 2 0.375 0.176777 0.25 0.375 0.5 0.5 0.5 0.25 0.125"; at < 0 || strings.Join(rows[at], " ") != want {
		t.Errorf("%v, expected %s", rows, want)
	}
}

// TestSummaryDescribesRows: each measure is a column of rows.csv, and n is how many of its
// cells are filled.
func TestSummaryDescribesRows(t *testing.T) {
	dir := t.TempDir()
	execute(t, dir, small(t))
	e, err := Open(nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	table := func(write func(*bytes.Buffer) error) [][]string {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	rows := table(func(out *bytes.Buffer) error { return e.WriteRows(out) })
	summary := table(func(out *bytes.Buffer) error { return e.WriteSummary(out) })
	filled := func(group, measure string) (n int) {
		at, of := slices.Index(rows[0], measure), slices.Index(rows[0], "group")
		if at < 0 {
			t.Errorf("rows.csv has no column %s", measure)
			return 0
		}
		for _, r := range rows[1:] {
			count(&n, r[of] == group && r[at] != "")
		}
		return n
	}
	var got, want []string
	for _, r := range summary[1:] {
		got = append(got, r[0]+" "+r[1]+" "+r[3])
	}
	for _, group := range []string{"e3", "e0"} { // one window a run
		for _, measure := range measures() {
			if n := filled(group, measure); n > 0 {
				want = append(want, group+" "+measure+" "+record(n))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(summary[0], summaryHead) {
		t.Errorf("under %v (-want +got):\n%s", summary[0], diff)
	}
}
