package points

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// setsJob returns a job of data, forward, in which ranks of sets wait for one another, and backward, in which all do. Ranks of a set leave forward up to apart
// nanoseconds apart.
func setsJob(seed uint64, sets [][]int, apart int64) *Steps {
	g := rand.New(rand.NewPCG(seed, 7))
	ranks := 0
	for _, set := range sets {
		ranks += len(set)
	}
	var steps [][][]int64
	for range 100 {
		data, forward, backward := make([]int64, ranks), make([]int64, ranks), make([]int64, ranks)
		latest := int64(0)
		for _, set := range sets {
			last := int64(0)
			for _, r := range set {
				data[r] = int64(10e6 + 5e5*g.NormFloat64())
				last = max(last, data[r]+int64(20e6+5e5*g.NormFloat64()))
			}
			for _, r := range set {
				forward[r] = last - data[r] + g.Int64N(apart+1)
				latest = max(latest, data[r]+forward[r])
			}
		}
		for r := range backward {
			backward[r] = latest + 5e6 - data[r] - forward[r]
		}
		steps = append(steps, [][]int64{data, forward, backward})
	}
	return stepsOf(steps...)
}

// TestUndeclaredSets: sets of ranks that leave a stage together are found without being declared, and sets of all, of one, or of who hardly leaves together are not.
func TestUndeclaredSets(t *testing.T) {
	pairs, fours, all := [][]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, [][]int{{0, 2, 4, 6}, {1, 3, 5, 7}}, [][]int{{0, 1, 2, 3, 4, 5, 6, 7}}
	single := [][]int{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}
	for name, c := range map[string]struct {
		sets  [][]int
		apart int64
		want  [][]int
	}{
		"pairs": {pairs, 1000, pairs}, "fours": {fours, 1000, fours}, "two of four": {pairs[:2], 1000, pairs[:2]}, "all": {all, 1000, nil}, "nobody": {single, 1000, nil},
		"an odd one": {append(pairs[:3:3], []int{6}), 1000, nil}, "far apart": {pairs, 3_000_000, nil},
	} {
		for seed := range uint64(5) {
			found := Find(setsJob(seed, c.sets, c.apart), Gates{})
			var got [][]int
			for _, w := range found.Within {
				if w.Stage == 1 && w.Split == -1 {
					got = w.Sets
				}
			}
			if !slices.EqualFunc(got, c.want, slices.Equal[[]int]) {
				t.Errorf("%s, seed %d: %v, want %v", name, seed, got, c.want)
			}
		}
	}
	// Declared ones are not sought again.
	s := setsJob(1, pairs, 1000)
	s.Splits = [][][]int{pairs}
	if found := Find(s, Gates{}).Within; len(found) != 1 || found[0].Split != 0 {
		t.Errorf("declared: %+v", found)
	}
}

// TestSetsOf: sets are cliques of two ranks or more.
func TestSetsOf(t *testing.T) {
	for name, c := range map[string]struct {
		near [][2]int
		want [][]int
	}{
		"two pairs":   {[][2]int{{0, 2}, {1, 3}}, [][]int{{0, 2}, {1, 3}}},
		"one alone":   {[][2]int{{0, 2}}, nil},
		"a chain":     {[][2]int{{0, 1}, {1, 2}, {2, 3}, {0, 2}}, nil},
		"between two": {[][2]int{{0, 1}, {2, 3}, {1, 3}}, nil},
	} {
		got := setsOf(4, func(r, q int) bool {
			return slices.Contains(c.near, [2]int{min(r, q), max(r, q)})
		})
		if !slices.EqualFunc(got, c.want, slices.Equal[[]int]) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestErrorsInWhatWasRecorded: a recording error is of a stage that was recorded in the interval: before the first step nothing was.
func TestErrorsInWhatWasRecorded(t *testing.T) {
	var steps [][][]int64
	for range 20 {
		steps = append(steps, [][]int64{{10, 10, 10}, {50, 50, 50}, {5, 5, 5}})
	}
	steps[0][0][1] = 900
	s := stepsOf(steps...)
	s.Known = []Point{{Stage: 1, Evidence: Shown}}
	d := Divide(s, Gates{})
	if len(d.Errors) != 1 || d.Errors[0].Step != 0 || d.Errors[0].Stage != 0 || d.Errors[0].Rank != 1 {
		t.Errorf("%+v, want one of data of rank 1 in step 0", d.Errors)
	}
}

// TestSetsOfManyRanks: of 32 ranks in 40 steps some of different sets come close to one another by chance when they leave, and the sets are found all
// the same: in three of these jobs they are not, where half as far apart as they arrive is near.
func TestSetsOfManyRanks(t *testing.T) {
	var sets [][]int
	for r := 0; r < 32; r += 4 {
		sets = append(sets, []int{r, r + 1, r + 2, r + 3})
	}
	for seed := range uint64(30) {
		s := setsJob(seed, sets, 1000)
		s.Durations = s.Durations[:40*3*32]
		found := Find(s, Gates{}).Within
		if len(found) != 1 || found[0].Stage != 1 || !slices.EqualFunc(found[0].Sets, sets, slices.Equal[[]int]) {
			t.Errorf("seed %d: %+v", seed, found)
		}
	}
}

// TestSetsApart: a rank that is always late keeps its set, which leaves forward long after the other. Of two sets who arrive nearly together from step to
// step no slope shows that; when they leave does, since all left backward together. Sets that do so by a tenth of that time are found, and by less not.
func TestSetsApart(t *testing.T) {
	sets := [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}
	for late, want := range map[int64]bool{20e6: true, 6e6: true, 1e6: false} {
		found := 0
		for seed := range uint64(20) {
			g := rand.New(rand.NewPCG(seed, 9))
			var steps [][][]int64
			for range 60 {
				data, forward, backward := make([]int64, 8), make([]int64, 8), make([]int64, 8)
				latest := int64(0)
				for _, set := range sets {
					last := int64(0)
					for _, r := range set {
						data[r] = int64(10e6 + 1e5*g.NormFloat64())
						if r == 5 {
							data[r] += late
						}
						last = max(last, data[r]+int64(20e6+1e6*g.NormFloat64()))
					}
					for _, r := range set {
						forward[r] = last - data[r] + g.Int64N(1000)
						latest = max(latest, data[r]+forward[r])
					}
				}
				for r := range backward {
					backward[r] = latest + 5e6 - data[r] - forward[r]
				}
				steps = append(steps, [][]int64{data, forward, backward})
			}
			c := stepsOf(steps...)
			if leaveApart(c, 1, sets, []Point{{Stage: 2, Evidence: Shown}}) {
				found++
			}
			if w := Find(c, Gates{}).Within; want && (len(w) != 1 || w[0].Stage != 1) {
				t.Errorf("late by %d, seed %d: %+v", late, seed, w)
			}
		}
		if (found == 20) != want || (found == 0) == want {
			t.Errorf("late by %d ns: apart in %d of 20 jobs", late, found)
		}
	}
	if c := setsJob(1, sets, 1000); leaveApart(c, 1, sets, nil) || leaveApart(c, 1, sets, []Point{{Stage: 1, Evidence: Shown}}) {
		t.Error("apart without a point that all leave together")
	}
	late := setsJob(1, sets, 1000)
	for i := range late.Durations {
		if i/8%3 == 1 && i%8 > 3 {
			late.Durations[i] += 20e6
		}
	}
	if all := []Point{{Stage: 2, Evidence: Shown}}; !leaveApart(late, 1, sets, all) {
		t.Error("a set that takes 20 ms longer is not apart")
	}
	if late.Stages[0].Role = Wait; leaveApart(late, 1, sets, []Point{{Stage: 2, Evidence: Shown}}) {
		t.Error("apart where waits are recorded by themselves")
	}
}

// TestChanging: the median change from step to step of how much two ranks differ, by the definition, whether all
// changes count or some, and however the steps are handed over.
func TestChanging(t *testing.T) {
	const ranks = 5
	draw := rand.New(rand.NewPCG(7, 1))
	for _, steps := range []int{7, 31, 32, 33, 64, 65, 250} {
		x, y := make([]float64, steps*ranks), make([]float64, steps*ranks)
		for i := range x {
			x[i], y[i] = draw.NormFloat64(), draw.NormFloat64()
		}
		c := newPairChanges(ranks, steps)
		for first := 0; first < steps; {
			n := min(1+draw.IntN(20), steps-first)
			c.add(first, x[first*ranks:(first+n)*ranks], y[first*ranks:(first+n)*ranks])
			first += n
		}
		of := func(v func(i int) float64, r, q int) float64 {
			var out []float64
			for at := 1; at < steps; at += 1 + steps/32 {
				out = append(out, math.Abs(v(at*ranks+r)-v(at*ranks+q)-v(at*ranks-ranks+r)+v(at*ranks-ranks+q)))
			}
			slices.Sort(out)
			return (out[(len(out)-1)/2] + out[len(out)/2]) / 2
		}
		arrive, leave := func(i int) float64 { return x[i] }, func(i int) float64 { return x[i] + y[i] }
		for r := range ranks {
			for q := range ranks {
				if want := of(leave, r, q) / of(arrive, r, q); r != q && c.exitShare(r, q) != want {
					t.Fatalf("%d steps, ranks %d and %d: %v of how they arrive is left, want %v", steps, r, q, c.exitShare(r, q), want)
				}
			}
		}
	}
}
