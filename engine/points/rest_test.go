package points

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// outsideJob returns a job of data, backward, in which all wait for the last, and optimizer. Time in no stage lies before backward, before data, or
// behind the optimizer, with noise of its own; wall time is recorded. Where waits, ranks wait for one another in no stage too.
func outsideJob(seed uint64, before string, backward, outside bool) *Steps {
	const ranks, steps = 4, 100
	g := rand.New(rand.NewPCG(seed, 6))
	s := &Steps{Ranks: ranks, Stages: []Stage{{Name: "data", Role: Data}, {Name: "backward", Role: Backward}, {Name: "optim", Role: Optimizer}}}
	at := make([]int64, ranks)
	own := func(ms float64) int64 { return int64(1e6 * (ms + 0.5*g.NormFloat64())) }
	meet := func(end []int64) {
		last := slices.Max(end)
		for r := range end {
			end[r] = last + 1e6
		}
	}
	for range steps {
		begin := slices.Clone(at)
		none := func(where string) {
			if before != where {
				return
			}
			for r := range at {
				at[r] += own(8)
			}
			if outside {
				meet(at)
			}
		}
		for _, k := range []string{"data", "backward", "optim"} {
			none(k)
			start := slices.Clone(at)
			for r := range at {
				at[r] += own(20)
			}
			if k == "backward" && backward {
				meet(at)
			}
			for r := range at {
				s.Durations = append(s.Durations, at[r]-start[r])
			}
		}
		none("")
		for r := range at {
			s.Wall = append(s.Wall, at[r]-begin[r])
		}
	}
	return s
}

// TestOutside: ranks that wait in backward alone are not thought to wait in no stage, wherever that time lies; ranks that do wait there are.
func TestOutside(t *testing.T) {
	const rest = 3
	for _, c := range []struct {
		before            string
		backward, outside bool
		points            []int
		first             bool
	}{
		{"data", true, false, []int{1}, true}, {"backward", true, false, []int{1}, true}, {"optim", true, false, []int{1}, false}, {"", true, false, []int{1}, false},
		{"", false, true, []int{rest}, false}, {"", true, true, []int{1, rest}, false},
	} {
		for seed := range uint64(5) {
			s := outsideJob(seed, c.before, c.backward, c.outside)
			found := Find(s, Gates{})
			var got []int
			for _, p := range found.Points {
				got = append(got, p.Stage)
			}
			if !slices.Equal(got, c.points) || (found.Outside == Before) != c.first {
				t.Errorf("time in no stage before %q, waits in backward %v, outside %v, seed %d: points %v, first %v; want %v, %v", c.before, c.backward, c.outside, seed, got, found.Outside, c.points, c.first)
			}
		}
	}
}

// TestRestFirst: the time in no stage of a step leads to the point of the same step, and with it the steps of a stretch that follows are divided.
func TestRestFirst(t *testing.T) {
	s := outsideJob(1, "data", true, false)
	d := Divide(s, Gates{})
	if p := d.Pieces[0]; d.Outside != Before || p.Stage != 3 || p.Tail || p.Point != 0 {
		t.Fatalf("outside %v, pieces %+v", d.Outside, d.Pieces)
	}
	known := *s
	known.Known, known.KnownOutside = d.Points, Before
	if again := Divide(&known, Gates{}); again.Outside != Before || !slices.Equal(again.Arrivals[0], d.Arrivals[0]) {
		t.Errorf("known: %+v", again.Pieces)
	}
	// A rank arrives by what it took since the exit before: without the transfer of a millisecond all took the same to the next exit.
	for n := 1; n < d.Intervals-1; n++ {
		var ends []int64
		for r := range d.Ranks {
			ends = append(ends, d.Arrivals[0][n*d.Ranks+r]+d.Spent[0][n*d.Ranks+r])
		}
		if slices.Max(ends)-slices.Min(ends) > 4 {
			t.Fatalf("interval %d: ranks take %v to the next exit", n, ends)
		}
	}
}
