package points_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
)

// made returns a job of three stages in which ranks wait for one another at the end of one; wait −1:
// nowhere. All durations have noise of a tenth.
func made(seed uint64, ranks, steps, wait int, walled bool) *points.Steps {
	rng := rand.New(rand.NewPCG(seed, 2))
	return walk(rng, ranks, steps, walled, func(_, stage int) bool { return stage == wait }, func() int64 { return 1e6 })
}

// walk returns a job of three stages, each of 10 ms with noise of a tenth. Where meets says so ranks leave a stage some time after the last arrives.
func walk(rng *rand.Rand, ranks, steps int, walled bool, meets func(step, stage int) bool, after func() int64) *points.Steps {
	s := &points.Steps{Ranks: ranks, Stages: []points.Stage{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	at := make([]int64, ranks)
	for t := range steps {
		begin := slices.Clone(at)
		for k := range s.Stages {
			end, last := make([]int64, ranks), int64(0)
			for r := range end {
				end[r] = at[r] + int64(1e6*(10+rng.NormFloat64()))
				last = max(last, end[r])
			}
			for r := range end {
				if meets(t, k) {
					end[r] = last + after()
				}
				s.Durations = append(s.Durations, end[r]-at[r])
			}
			at = end
		}
		for r := range at {
			at[r] += int64(1e5 * rng.Float64())
			if walled {
				s.Wall = append(s.Wall, at[r]-begin[r])
			}
		}
	}
	return s
}

func TestFind(t *testing.T) {
	for _, ranks := range []int{2, 4, 16} {
		for _, walled := range []bool{true, false} {
			for wait := -1; wait < 3; wait++ {
				var got []int
				for _, p := range points.Find(made(7, ranks, 100, wait, walled), points.Gates{}).Points {
					got = append(got, p.Stage)
				}
				want := []int{wait}
				if wait < 0 {
					want = nil
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d ranks, wall time %v: points %v, want %v", ranks, walled, got, want)
				}
			}
		}
	}
}

// TestDivide: arrivals and what follows the last of them add up to the run.
func TestDivide(t *testing.T) {
	s := made(9, 4, 50, 1, true)
	d := points.Divide(s, points.Gates{})
	sum, whole := int64(0), make([]int64, 4)
	arrive := d.Arrivals[0]
	for n := range d.Intervals {
		sum += slices.Max(arrive[n*4:(n+1)*4]) + d.After[0][n]
	}
	for i, x := range s.Wall {
		whole[i%4] += x
	}
	if diff := sum - slices.Max(whole); diff > 4 || diff < -4 {
		t.Errorf("the intervals take %d ns, the run %d", sum, slices.Max(whole))
	}
}

// TestLooked: where ranks synchronise is told by the first 256 steps, whatever follows.
func TestLooked(t *testing.T) {
	long := made(5, 4, 400, 1, true)
	short := *long
	short.Durations, short.Wall = long.Durations[:256*3*4], long.Wall[:256*4]
	slope := func(s *points.Steps) float64 { return points.Find(s, points.Gates{}).Slopes[0].Slope }
	a, b := slope(long), slope(&short)
	short.Durations, short.Wall = long.Durations[:255*3*4], long.Wall[:255*4]
	if c := slope(&short); a != b || a == c {
		t.Errorf("the slope of the first stage: of 400 steps %v, of 256 %v, of 255 %v; want the first two alike", a, b, c)
	}
}

// TestLen counts steps of any shape; without stages or ranks there are none.
func TestLen(t *testing.T) {
	one, two := make([]points.Stage, 1), make([]points.Stage, 2)
	for _, c := range []struct {
		steps points.Steps
		want  int
	}{
		{points.Steps{Stages: one, Ranks: 1, Durations: []int64{5, 6, 7}}, 3},
		{points.Steps{Stages: two, Ranks: 3, Durations: make([]int64, 12)}, 2},
		{points.Steps{Stages: two, Ranks: 0}, 0},
		{points.Steps{Ranks: 2}, 0},
	} {
		if got := c.steps.Len(); got != c.want {
			t.Errorf("%d stages of %d ranks: %d steps, want %d", len(c.steps.Stages), c.steps.Ranks, got, c.want)
		}
	}
}
