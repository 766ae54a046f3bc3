package delay_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
)

// TestMembersAreNamed: two of four ranks that take turns are named, with what both cost; where three of four do, nobody is more than the others.
func TestMembersAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		steps int
		whose func(step int) int
		ranks []int
	}{
		"by turns of one": {60, func(t int) int { return 1 + 2*(t%2) }, []int{1, 3}}, "by turns of four": {60, func(t int) int { return 1 + 2*(t/4%2) }, []int{1, 3}},
		"one after the other": {60, func(t int) int { return t / 30 }, []int{0, 1}}, "three": {60, func(t int) int { return t % 3 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var faults []fault
			for r := range 4 {
				faults = append(faults, fault{ranks: []int{r}, stage: 1, ms: 90, on: func(step int) bool { return c.whose(step) == r }})
			}
			run, long := job{seed: 3, ranks: 4, steps: c.steps, noise: 0.01}.play(faults...)
			_, short := job{seed: 3, ranks: 4, steps: c.steps, noise: 0.01}.play()
			late := map[int]float64{}
			for _, f := range analyzed(run, delay.Options{}).Claims {
				if f.Cause == claim.Late && f.Certainty >= claim.Supported {
					for _, r := range f.Ranks {
						late[r] += f.Saves.Alone / float64(len(f.Ranks))
					}
				}
			}
			saved := 0.0
			for _, x := range late {
				saved += x
			}
			if got := slices.Sorted(maps.Keys(late)); !slices.Equal(got, c.ranks) || got != nil && math.Abs(saved-(1-short/long)) > 0.03 {
				t.Errorf("ranks %v, saving %.3f of %.3f; want %v", got, saved, 1-short/long, c.ranks)
			}
		})
	}
}

// TestHostByTurns: ranks of one host that are late one after the other are the host, priced together; on two hosts they are not.
func TestHostByTurns(t *testing.T) {
	for _, c := range []struct {
		hosts []int
		host  int
	}{{[]int{0, 0, 1, 1, 2, 2, 3, 3}, 1}, {[]int{0, 1, 1, 0, 2, 2, 3, 3}, -1}} {
		var faults []fault
		for i, r := range []int{2, 3} {
			faults = append(faults, fault{ranks: []int{r}, stage: 1, ms: 90, on: func(step int) bool { return step%2 == i }})
		}
		run, long := job{seed: 5, ranks: 8, steps: 80, noise: 0.01}.play(faults...)
		_, short := job{seed: 5, ranks: 8, steps: 80, noise: 0.01}.play()
		run.Hosts = c.hosts
		list := analyzed(run, delay.Options{}).Claims
		i := slices.IndexFunc(list, func(f claim.Claim) bool { return f.Kind == claim.Host })
		if (i >= 0) != (c.host >= 0) {
			t.Fatalf("hosts %v: %+v", c.hosts, list)
		}
		if i < 0 {
			continue
		}
		f := list[i]
		if f.Host != c.host || !slices.Equal(f.Ranks, []int{2, 3}) || math.Abs(f.Saves.Alone-(1-short/long)) > 0.03 || math.Abs(float64(f.Size)/90e6-1) > 0.05 {
			t.Errorf("%+v, want host %d with ranks 2 and 3, 90 ms, saving %.3f", f, c.host, 1-short/long)
		}
	}
}

// TestMajority: most ranks that take longer than the others are named, at most supported, with what lifting all saves; half of them, or ranks of all lengths, are not.
func TestMajority(t *testing.T) {
	for name, c := range map[string]struct {
		ms   []float64 // that each rank takes longer in data
		late []int
	}{
		"three of four": {[]float64{60, 60, 0, 60}, []int{0, 1, 3}}, "five of eight": {[]float64{60, 60, 0, 60, 0, 60, 60, 0}, []int{0, 1, 3, 5, 6}},
		"half": {[]float64{60, 60, 0, 0}, nil}, "all lengths": {[]float64{0, 30, 60, 90}, nil}, "too little": {[]float64{15, 15, 0, 15}, nil},
	} {
		var faults []fault
		for r, ms := range c.ms {
			faults = append(faults, fault{ranks: []int{r}, stage: 0, ms: ms})
		}
		run, long := job{seed: 7, ranks: len(c.ms), steps: 60, noise: 0.01}.play(faults...)
		_, short := job{seed: 7, ranks: len(c.ms), steps: 60, noise: 0.01}.play()
		list := analyzed(run, delay.Options{}).Claims
		i := slices.IndexFunc(list, func(f claim.Claim) bool {
			return f.Kind == claim.Ranks && f.Cause == claim.Late && 2*len(f.Ranks) > len(c.ms)
		})
		if (i >= 0) != (c.late != nil) {
			t.Errorf("%s: %+v, want ranks %v", name, list, c.late)
			continue
		}
		if i >= 0 && (slices.ContainsFunc(list[i].Others, func(r int) bool { return c.ms[r] > 0 }) || len(list[i].Others)+len(c.late) != len(c.ms)) {
			t.Errorf("%s: beside %v, want all other ranks", name, list[i].Others)
		}
		if i >= 0 && (!slices.Equal(list[i].Ranks, c.late) || list[i].Certainty != claim.Supported || math.Abs(list[i].Saves.Alone-(1-short/long)) > 0.03) {
			t.Errorf("%s: %+v, want ranks %v, saving %.3f", name, list[i], c.late, 1-short/long)
		}
	}
}

// TestTurnsAreCounted: whose turn it was is counted as planted, and turns are even only where all ranks take them.
func TestTurnsAreCounted(t *testing.T) {
	const ranks = 4
	for name, c := range map[string]struct {
		steps int
		whose func(step int) int
		late  []int // ranks, ascending
		even  bool
	}{
		"all four by turns": {120, func(t int) int { return t % 4 }, []int{0, 1, 2, 3}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var faults []fault
			for r := range ranks {
				faults = append(faults, fault{ranks: []int{r}, stage: 1, ms: 90, on: func(step int) bool { return c.whose(step) == r }})
			}
			run, _ := job{seed: 2, ranks: ranks, steps: c.steps, noise: 0.01}.play(faults...)
			list := analyzed(run, delay.Options{}).Claims
			i := slices.IndexFunc(list, func(f claim.Claim) bool { return f.Cause == claim.Turns })
			if i < 0 {
				t.Fatalf("no turns in %+v", list)
			}
			planted := map[int]int{}
			for step := range c.steps {
				planted[c.whose(step)]++
			}
			var late []int
			for _, turn := range list[i].Turns {
				late = append(late, turn.Rank)
				if math.Abs(float64(turn.N-planted[turn.Rank])) > 1 { // the last step ends after the last point
					t.Errorf("rank %d is late in %d steps, planted in %d", turn.Rank, turn.N, planted[turn.Rank])
				}
			}
			if slices.Sort(late); !slices.Equal(late, c.late) || (list[i].Even > 0.05) != c.even {
				t.Errorf("late %v, even by P = %g; want %v, %v", late, list[i].Even, c.late, c.even)
			}
		})
	}
}

// TestSuccessive: a delay that goes from one rank to another is told with when each has it, and two that are late by turns are not told so.
func TestSuccessive(t *testing.T) {
	early := func(step int) bool { return step < 40 }
	for name, c := range map[string]struct {
		faults []fault
		want   []claim.Lateness
	}{
		"handed over": {[]fault{{ranks: []int{6}, stage: 0, ms: 50, on: early}, {ranks: []int{1}, stage: 0, ms: 50, on: func(step int) bool { return !early(step) }}},
			[]claim.Lateness{{Rank: 6, First: 0, Last: 39}, {Rank: 1, First: 40, Last: 79}}},
		"at random": {[]fault{{ranks: []int{6}, stage: 0, ms: 50, on: func(step int) bool { return step*7919%13 < 5 }}, {ranks: []int{1}, stage: 0, ms: 50, on: func(step int) bool { return step*7919%13 >= 5 }}}, nil},
	} {
		run, _ := job{seed: 4, ranks: 8, steps: 80, noise: 0.03}.play(c.faults...)
		found := false
		for _, f := range analyzed(run, delay.Options{}).Claims {
			if f.Cause == claim.Late && f.Kind == claim.Ranks {
				found = true
				if !slices.Equal(f.Successive, c.want) {
					t.Errorf("%s: %v, want %v", name, f.Successive, c.want)
				}
			}
		}
		if found != (c.want != nil) && name == "handed over" {
			t.Errorf("%s: no claim on the ranks together", name)
		}
	}
}
