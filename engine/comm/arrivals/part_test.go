package arrivals

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// parted returns windows of ten steps of a job, a minute each, with the time at which each of their ranks began them.
func parted(count int) []*trace.Window {
	out := windowsOf(count)
	for _, w := range out {
		for _, c := range w.Arrivals {
			w.Epochs = append(w.Epochs, c.Calls[0].Enter-60*ms)
		}
	}
	return out
}

// TestParts: a window begins a new part where other ranks or stages are recorded, steps before it are missing, or processes number
// their calls anew; of one whose recorders do not say when its steps began there is none. A part has its own calls alone, also
// when later ones are added.
func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(third *trace.Window)
		want   []int // of each window, from 1
	}{
		"one":            {func(*trace.Window) {}, []int{1, 1, 1, 1}},
		"a rank leaves":  {func(w *trace.Window) { w.Ranks, w.Epochs, w.Arrivals = w.Ranks[:2], w.Epochs[:2], w.Arrivals[:2] }, []int{1, 1, 2, 3}},
		"steps missing":  {func(w *trace.Window) { w.FirstStep += 5 }, []int{1, 1, 2, 3}},
		"other stages":   {func(w *trace.Window) { w.Schema.Stages = []string{"data", "backward@0"} }, []int{1, 1, 2, 3}},
		"clock set back": {func(w *trace.Window) { w.Epochs[1] = 1 }, []int{1, 1, 2, 2}},
		"no times":       {func(w *trace.Window) { w.Epochs[1] = 0 }, []int{1, 1, 0, 2}},
		"numbers go back": {func(w *trace.Window) {
			for _, c := range w.Arrivals {
				for i := range c.Calls {
					c.Calls[i].Seq = int64(i + 1)
				}
			}
		}, []int{1, 1, 2, 2}},
	} {
		var j Job
		var got []int
		seen := map[*Part]int{nil: 0}
		for i, w := range parted(4) {
			if i == 2 {
				c.change(w)
			}
			p := j.AddWindow(w)
			if _, ok := seen[p]; !ok {
				seen[p] = len(seen)
			}
			got = append(got, seen[p])
		}
		if !slices.Equal(got, c.want) || j.Parts() != slices.Max(got) {
			t.Errorf("%s: %d parts: %v, want %v", name, j.Parts(), got, c.want)
		}
	}

	var j Job
	all := parted(5)
	first := j.AddWindow(all[0])
	j.AddWindow(all[1])
	early := first.Close()
	second := j.AddWindow(all[2])
	j.AddWindow(all[3])
	late := second.Job()
	j.AddWindow(all[4])
	for name, c := range map[string]struct {
		of       *Job
		from, to int64 // steps
	}{"closed": {early, 0, 20}, "again": {first.Job(), 0, 20}, "open": {late, 20, 40}} {
		for r, rank := range c.of.Ranks {
			if n := len(rank.Calls); n != 20 || rank.Calls[0].Seq != c.from+1 || rank.Calls[n-1].Seq != c.to {
				t.Errorf("%s, rank %d: %d calls, of numbers from %d to %d, want 20 from %d", name, r, n, rank.Calls[0].Seq, rank.Calls[n-1].Seq, c.from+1)
			}
			if l := c.of.timelines.list[r]; l.steps[0] != c.from || len(l.steps) != 20 {
				t.Errorf("%s, rank %d: %d steps from %d", name, r, len(l.steps), l.steps[0])
			}
		}
	}
}

// TestBreakIsNoMessage: numbers that go on behind steps which nobody recorded do not count messages.
func TestBreakIsNoMessage(t *testing.T) {
	silent := func(drop int) []string {
		var j Job
		for i, w := range parted(4) {
			if i != drop {
				j.AddWindow(w)
			}
		}
		return j.Analyze(Options{}).Silent
	}
	if got := silent(2); got != nil {
		t.Errorf("a window is missing: messages of %v", got)
	}
	var j Job
	for _, w := range parted(4) {
		for _, c := range w.Arrivals {
			for i := range c.Calls {
				c.Calls[i].Seq *= 2
			}
		}
		j.AddWindow(w)
	}
	if got := j.Analyze(Options{}).Silent; len(got) != 1 {
		t.Errorf("every second call is a message: %v", got)
	}
}
