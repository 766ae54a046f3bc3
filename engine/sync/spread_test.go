package sync

import "testing"

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
		if got := aboutLine(c.x, c.level); got != c.want {
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
