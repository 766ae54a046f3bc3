package arrivals

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// TestCuts: of a stage in which all ranks wait it is known how long each works before it does; of others nothing, and
// nothing at all where packets do not say when steps began, a rank has no packets, or stages do not follow each other.
func TestCuts(t *testing.T) {
	cutsOf := func(w *trace.Window) *Cuts {
		var j Job
		j.AddWindow(w)
		return j.Analyze(Options{}).Cuts
	}
	c := cutsOf(losing([4]float64{0, 0, 40, 0}, true))
	if c == nil || !slices.Equal(c.Points, []bool{false, false, true, false}) || !slices.Equal(c.Ranks, []int{0, 1, 2, 3}) || len(c.Steps) != 30 {
		t.Fatalf("%+v", c)
	}
	for step := range 29 { // nothing shows how long ranks wait in the last
		for r, own := range c.Own[(step*4+2)*4 : (step*4+3)*4] {
			usual := int64(60 * ms)
			if r == 1 {
				usual += 40 * ms
			}
			if own < usual-ms/10 || own > usual+11*ms/10 {
				t.Errorf("step %d, rank %d works %d ns in backward, want %d and up to 1 ms more", step, r, own, usual)
			}
		}
	}
	if last := c.Own[29*16:]; slices.ContainsFunc(last, func(x int64) bool { return x >= 0 }) {
		t.Errorf("last step: %v", last)
	}
	for step := range 29 {
		wait := c.Wait[(step*5+2)*4 : (step*5+3)*4]
		if least := slices.Min(wait[:1]); least < 38*ms || wait[1] != 0 {
			t.Errorf("step %d: ranks wait %v in backward, want 39 to 41 ms for rank 1", step, wait)
		}
	}
	if !c.Clocked {
		t.Error("the ranks of one host have one clock")
	}
	apart := losing([4]float64{0, 0, 40, 0}, true) // on a host each: a delay in every step may as well be a clock
	for r := range apart.Ranks {
		apart.Ranks[r].Host = fmt.Sprint("n", r)
		apart.Arrivals[r].Processes[0].Host = apart.Ranks[r].Host
	}
	if d := cutsOf(apart); d == nil || d.Clocked || !slices.Equal(d.Own, c.Own) {
		t.Errorf("on a host each: %+v, want what each works by its own clock", d)
	}
	for name, change := range map[string]func(w *trace.Window){
		"no times":    func(w *trace.Window) { w.Epochs = nil },
		"one without": func(w *trace.Window) { w.Epochs[2] = 0 },
		"summed":      func(w *trace.Window) { w.Accumulation = 4 },
		"one record":  func(w *trace.Window) { w.Arrivals = w.Arrivals[:1] },
	} {
		w := losing([4]float64{0, 0, 40, 0}, true)
		if change(w); cutsOf(w) != nil {
			t.Errorf("%s: %+v", name, cutsOf(w))
		}
	}
}
