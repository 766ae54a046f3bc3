package trace_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// The note says what Missing lists, for worlds of every shape.
func TestNoteMissing(t *testing.T) {
	for seed := range uint64(200) {
		g := rand.New(rand.NewPCG(seed, 4))
		w := &trace.Window{WorldSize: 1 + g.IntN(20), FirstStep: 7, Durations: []int64{}}
		for r := range w.WorldSize {
			if g.IntN(1+int(seed%5)) == 0 {
				w.Ranks = append(w.Ranks, trace.Rank{ID: r})
			}
		}
		missing := w.Missing().IDs()
		w.NoteMissing()
		if len(missing) == 0 {
			if w.Notes != nil {
				t.Errorf("none is missing, but noted: %v", w.Notes)
			}
			continue
		}
		from, to := fmt.Sprintf("%d of %d ranks", len(missing), w.WorldSize), ": "+trace.RankList(missing)
		if len(w.Notes) != 1 || !strings.HasPrefix(w.Notes[0].Text, from) || !strings.HasSuffix(w.Notes[0].Text, to) {
			t.Errorf("notes %v, want %q … %q", w.Notes, from, to)
		}
	}
}

// A set of ranks holds what it was made of, and takes no more than its ranges.
func TestRankSet(t *testing.T) {
	for seed := range uint64(200) {
		g := rand.New(rand.NewPCG(seed, 5))
		var lists [2][]int
		for i := range lists {
			for id := range 20 {
				if g.IntN(2) == 0 {
					lists[i] = append(lists[i], id)
				}
			}
		}
		a, b := trace.RankSetOf(lists[0]), trace.RankSetOf(lists[1])
		both := slices.Compact(slices.Sorted(slices.Values(slices.Concat(lists[0], lists[1]))))
		if !slices.Equal(a.IDs(), lists[0]) || a.Len() != len(lists[0]) || !slices.Equal(a.Union(b).IDs(), both) {
			t.Errorf("%v: %v; with %v: %v, want %v", lists[0], a, b, a.Union(b), both)
		}
		for id := -1; id < 21; id++ {
			if a.Has(id) != slices.Contains(lists[0], id) {
				t.Errorf("%v has %d: %v", a, id, a.Has(id))
			}
		}
	}
	w := &trace.Window{WorldSize: trace.MaxRanks, Ranks: []trace.Rank{{ID: 5}}}
	if m := w.Missing(); len(m) != 2 || m.Len() != trace.MaxRanks-1 || m.String() != "0-4,6-1048575" {
		t.Errorf("missing %v: %d ranges, %d ranks", m, len(m), m.Len())
	}
}
