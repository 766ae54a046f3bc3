package main

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/align"
)

// truePairs is the true pairs of a rank as kernels and launches.
func (r *rank) truePairs(m *align.Matching) (known []align.Match) {
	launchOf := map[int]int{}
	for l := range m.Launches {
		for _, c := range m.Launches[l].Calls {
			launchOf[c] = l
		}
	}
	for pair := range r.truth {
		known = append(known, align.Match{Kernel: pair[0], Launch: launchOf[pair[1]]})
	}
	slices.SortFunc(known, func(a, b align.Match) int { return a.Kernel - b.Kernel })
	return known
}

// One rank whose log has no stamps and whose trace has no launches, beside what can be known at all of it. The ceilings come
// of parameters that were learned from the true pairs; the ways learn theirs from what they find.
func TestCeiling(t *testing.T) {
	t.Log("| scenario | best score | posterior by names | at most | posterior by names and times | at most |")
	t.Log("|---|---|---|---|---|---|")
	for _, s := range scenarios(t, "nsys_drop20", "both_drop20") {
		var f, most [align.NoChances + 1]float64
		for use := range f {
			o := symbolsOnly()
			o.Chances = align.Use(use)
			ms := alone(t, &s, o)
			var all score
			all.judge(&s, ms)
			f[use] = all.f1()
			for i, m := range ms {
				most[use] += align.Ceiling(s.ranks[i].process, s.ranks[i].truePairs(m), align.Use(use)) / float64(len(ms))
			}
		}
		t.Logf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f |", s.name, f[align.NoChances], f[align.NamesAlone], most[align.NamesAlone], f[align.NamesAndTimes], most[align.NamesAndTimes])
		if f[align.NamesAndTimes] < most[align.NamesAndTimes]-0.01 {
			t.Errorf("%s: F1 %.4f, more than 0.01 below the ceiling of %.4f", s.name, f[align.NamesAndTimes], most[align.NamesAndTimes])
		}
	}
}
