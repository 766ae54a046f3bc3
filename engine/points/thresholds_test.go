package points

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// synchronised returns n steps of three ranks, that wait in the second stage for rank 2.
func synchronised(n int) (steps [][][]int64) {
	for range n {
		steps = append(steps, [][]int64{{10, 20, 60}, {90, 80, 40}})
	}
	return steps
}

func divided(steps [][][]int64, known int) *Division {
	s := stepsOf(steps...)
	s.Known = []Point{{Stage: known, Evidence: Shown}}
	return Divide(s, Gates{})
}

// TestErrorsMadeUp: a rank that enters after others left has no recording error where these wait for it later, or waited before, by more than
// half of it: up to two steps away.
func TestErrorsMadeUp(t *testing.T) {
	for at, errors := range map[int]int{3: 1, 4: 1, 5: 0, 6: 0, 8: 0, 9: 0, 10: 1, 11: 1} {
		steps := synchronised(40)
		steps[7][0][1] += 100
		steps[at][1][0] += 90
		steps[at][1][2] += 90
		if d := divided(steps, 1); len(d.Errors) != errors {
			t.Errorf("made up in step %d of an error in 7: %+v, want %d errors", at, d.Errors, errors)
		}
	}
}

// TestErrorsOfOneRank: one error may hide another of the same rank and step. The eight largest are set aside, and no more.
func TestErrorsOfOneRank(t *testing.T) {
	for _, c := range []struct{ stages, errors int }{{6, 6}, {7, 7}, {8, 8}, {9, 8}, {10, 8}} {
		var steps [][][]int64
		for range 100 { // one in a hundred values of a rank is 7 and more
			steps = append(steps, append(slices.Repeat([][]int64{{10, 10, 10}}, c.stages), []int64{50, 50, 50}))
		}
		for k := range c.stages {
			steps[7] = slices.Clone(steps[7])
			steps[7][k] = []int64{10, 1010 + 100*int64(k), 10}
		}
		d := divided(steps, c.stages)
		if len(d.Errors) != c.errors || d.Errors[0].Size != 1000+100*int64(c.stages-1) {
			t.Errorf("%d of one rank in one step: %+v, want the largest %d", c.stages, d.Errors, c.errors)
		}
	}
}

// TestSetsRatio: of four ranks in two pairs, which leave apart by so much and the ranks of a pair by so much, the pairs are sets where what is left
// inside them is at most half of the 2/3 expected by chance.
func TestSetsRatio(t *testing.T) {
	for _, c := range []struct {
		apart, inside int64 // ns from the mean of all, and of the pair
		within        int
	}{
		{1000, 660, 1}, // 0.66² ÷ (1 + 0.66²) is 0.303 of the spread, which is 0.455 of 2/3
		{1000, 745, 0}, // 0.535
	} {
		g := rand.New(rand.NewPCG(5, 6))
		var steps [][][]int64
		for range Looked {
			a, b := make([]int64, 4), make([]int64, 4)
			for r := range a {
				a[r] = 50_000_000 + g.Int64N(1_000_000)
			}
			apart, inside := c.apart*(2*g.Int64N(2)-1), c.inside*(2*g.Int64N(2)-1)
			for r, z := range []int64{apart + inside, apart - inside, -apart + inside, -apart - inside} {
				b[r] = 60_000_000 + z - a[r]
			}
			steps = append(steps, [][]int64{a, b})
		}
		s := stepsOf(steps...)
		s.Splits = [][][]int{{{0, 1}, {2, 3}}}
		if found := Find(s, Gates{}).Within; len(found) != c.within {
			t.Errorf("pairs leave %d ns apart, ranks of a pair %d: %+v, want %d", c.apart, c.inside, found, c.within)
		}
	}
}

// TestLooseInJobs: three ranks wait for one another at the end of b and, after more work, of d. They leave b further apart than d; of 99 steps with
// two degrees of freedom 1 + 4/√198 = 1.28 times the spread is noise.
func TestLooseInJobs(t *testing.T) {
	for _, c := range []struct {
		apart  int64 // ns, 1000 at d
		points []int
	}{{1120, []int{1, 3}}, {1155, []int{3}}} { // squared 1.25, which four degrees of freedom would not allow, and 1.33
		g := rand.New(rand.NewPCG(7, 8))
		var steps [][][]int64
		before := make([]int64, 3) // when each rank left d
		for range 100 {
			step := make([][]int64, 4)
			for k := range step {
				step[k] = make([]int64, 3)
			}
			sign := 2*g.Int64N(2) - 1
			for r := range before {
				step[0][r], step[2][r] = 5_000_000+g.Int64N(5_000_000), 5_000_000+g.Int64N(5_000_000)
			}
			leave := func(since []int64, work int, apart int64) (out []int64) { // all leave a millisecond after the last has come
				last := int64(0)
				for r, x := range since {
					last = max(last, x+step[work][r])
				}
				for r, z := range []int64{sign, -sign, 0} {
					out = append(out, last+1_000_000+z*apart)
					step[work+1][r] = out[r] - since[r] - step[work][r]
				}
				return out
			}
			before = leave(leave(before, 0, c.apart), 2, 1000)
			steps = append(steps, step)
		}
		var got []int
		for _, p := range Find(stepsOf(steps...), Gates{}).Points {
			got = append(got, p.Stage)
		}
		if !slices.Equal(got, c.points) {
			t.Errorf("%d ns apart: points %v, want %v", c.apart, got, c.points)
		}
	}
}
