package sync

import (
	"math"
	"slices"
	"testing"
)

// TestAboutLine: what grows evenly lies on a line, of eight values or more; what is level, or jumps to and fro, is no nearer to one.
func TestAboutLine(t *testing.T) {
	growing := []int64{10, 20, 30, 40, 50, 60, 70, 80}
	for name, c := range map[string]struct {
		x           []int64
		level, want int64
	}{
		"grows":         {growing, 40, 0},
		"seven of them": {growing[:7], 40, 120},
		"level":         {[]int64{5, 5, 5, 5, 5, 5, 5, 5}, 5, 0},
		"one far off":   {[]int64{5, 5, 5, 5, 5, 5, 5, 905}, 5, 900},
		"to and fro":    {[]int64{0, 10, 0, 10, 0, 10, 0, 10}, 0, 40},
	} {
		if got := min(distanceTo(c.x, c.level), distanceToLine(c.x)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestAboutStep: values that lie about one level, or about one before some value and another from it on, are as far from it as they
// scatter; those that come back are as far as from a middle, and of few nothing is known.
func TestAboutStep(t *testing.T) {
	at := func(n int, level int64) []int64 { return slices.Repeat([]int64{level}, n) }
	for name, c := range map[string]struct {
		x    []int64
		want int64
	}{
		"level":           {at(20, 60), 0},
		"outlier":         {append(at(9, 60), append(at(1, 67), at(10, 60)...)...), 7},
		"from a value on": {append(at(20, 0), at(10, 60)...), 0},
		"up to a value":   {append(at(6, -60), at(14, 0)...), 0},
		"in the last 4":   {append(at(16, 0), at(4, 60)...), 60}, // five show a level: one of them is not at it
		"there and back":  {slices.Concat(at(10, 0), at(10, 60), at(10, 0)), 600},
		"nine":            {append(at(5, 0), at(4, 60)...), math.MaxInt64},
	} {
		if got := distanceToStep(c.x); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestSteadyWaits: waits that leave twice as much variation as another, and no more, may be the one.
func TestSteadyWaits(t *testing.T) {
	var tried []triedWait
	for _, within := range []int64{40, 20, 41, 30} {
		tried = append(tried, triedWait{distances: distances{within: within}})
	}
	got := steadyWaits(tried)
	if len(got) != 3 || got[0].within != 40 || got[1].within != 20 || got[2].within != 30 {
		t.Errorf("%+v", got)
	}
}
