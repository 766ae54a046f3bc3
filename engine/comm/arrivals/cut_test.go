package arrivals

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// cutsOf returns how calls divide the steps of a window.
func cutsOf(w *trace.Window) *Cuts {
	var j Job
	j.AddWindow(w)
	return j.Analyze(Options{}).Cuts
}

// timesOf returns the times of a part of a step, [rank]; nil: there is no such part.
func (c *Cuts) timesOf(step int, p StepPart) []int64 {
	i := slices.IndexFunc(c.Columns, func(column Column) bool { return column.StepPart == p })
	if i < 0 {
		return nil
	}
	R := len(c.Ranks)
	return c.Columns[i].Times[step*R : (step+1)*R]
}

// TestCuts: of each step it is known how long each rank works before all wait for each other, in which stage, and how long each waits, and
// nothing of its length is lost. Nothing is known where packets do not say when steps began, a rank has no packets, or stages do not follow each other.
func TestCuts(t *testing.T) {
	w := losing([4]float64{0, 0, 40, 0}, true)
	c := cutsOf(w)
	if c == nil || !slices.Equal(c.Ranks, []int{0, 1, 2, 3}) || len(c.Steps) != 30 || !c.Clocked || c.Every != 1 {
		t.Fatalf("%+v", c)
	}
	for step := range 29 { // nothing shows how long ranks wait in the last
		for r, own := range c.timesOf(step, StepPart{"backward", 0, Works}) {
			usual := int64(60 * ms)
			if r == 1 {
				usual += 40 * ms
			}
			if own < usual-ms/10 || own > usual+11*ms/10 {
				t.Errorf("step %d, rank %d works %d ns in backward, want %d and up to 1 ms more", step, r, own, usual)
			}
		}
		if wait := c.timesOf(step, StepPart{"backward", 0, Points}); slices.Min(wait[:1]) < 38*ms || wait[1] != 0 {
			t.Errorf("step %d: ranks wait %v in backward, want 39 to 41 ms for rank 1", step, wait)
		}
		if !c.Known[step] {
			t.Errorf("step %d is not known", step)
		}
		for r := range 4 {
			parts, stages := int64(0), int64(0)
			for i := range c.Columns {
				parts += c.Columns[i].Times[step*4+r]
			}
			for k := range 4 {
				stages += w.Step(step)[k*4+r]
			}
			if parts != stages {
				t.Errorf("step %d, rank %d: the parts take %d ns, the stages %d", step, r, parts, stages)
			}
		}
	}
	if c.Known[29] {
		t.Error("last step: known")
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

// TestCutsUnclocked: on a host each, a delay in every step may as well be a clock. Each rank knows by its own how long it works before it
// waits for the first time; what follows in the stage is the point.
func TestCutsUnclocked(t *testing.T) {
	w := losing([4]float64{0, 0, 40, 0}, true)
	for r := range w.Ranks {
		w.Ranks[r].Host = fmt.Sprint("n", r)
		w.Arrivals[r].Processes[0].Host = w.Ranks[r].Host
	}
	c, one := cutsOf(w), cutsOf(losing([4]float64{0, 0, 40, 0}, true))
	if c == nil || c.Clocked {
		t.Fatalf("%+v", c)
	}
	works := StepPart{"backward", 0, Works}
	for step := range 29 {
		if got, want := c.timesOf(step, works), one.timesOf(step, works); !slices.Equal(got, want) {
			t.Errorf("step %d: ranks work %v, want %v by their own clocks", step, got, want)
		}
	}
}

// outside moves what rank 1 lost into time that no stage has, in front of a stage.
func outside(w *trace.Window, before string, lost int64) {
	k := slices.Index(w.Schema.Stages, before)
	w.Wall = nil
	for step := range w.Steps() {
		for r := range 4 {
			wall := int64(0)
			for s := range 4 {
				if at := &w.Step(step)[s*4+r]; s == k && r == 1 {
					wall += *at
					*at -= lost
				} else {
					wall += *at
				}
			}
			w.Wall = append(w.Wall, wall)
		}
	}
}

// TestCutsOutside: time in no stage is told where it lies, before the wait or after it, as the calls in the stages around it show.
func TestCutsOutside(t *testing.T) {
	for before, point := range map[string]int{"backward": 0, "optim": 1} {
		lost := [4]float64{0, 0, 40, 0}
		if before == "optim" {
			lost = [4]float64{0, 0, 0, 40}
		}
		w := losing(lost, true)
		outside(w, before, 40*ms)
		c := cutsOf(w)
		if c == nil {
			t.Fatalf("before %s: nothing is cut", before)
		}
		for step := 1; step < 28; step++ {
			if got := c.timesOf(step, StepPart{"", point, Works}); got == nil || got[1] < 38*ms || got[1] > 42*ms || got[0] > 2*ms {
				t.Errorf("before %s, step %d: outside of stages ranks work %v on the way to point %d, want 40 ms of rank 1", before, step, got, point)
			}
		}
	}
}

// TestCutsBetweenStages: a call recorded in no stage, between two, is a point there: what comes before it leads to it, and the stage behind it to
// the next.
func TestCutsBetweenStages(t *testing.T) {
	w := losing([4]float64{0, 0, 40, 0}, true)
	now := slices.Clone(w.Epochs)
	for step := range w.Steps() {
		row := w.Step(step)
		for r := range 4 {
			wall := row[r] + row[4+r] + row[8+r] + row[12+r]
			call := &w.Arrivals[r].Calls[step]
			call.Stage, row[8+r] = stagename.Residual, call.Enter-now[r]-row[r]-row[4+r]
			w.Wall, now[r] = append(w.Wall, wall), now[r]+wall
		}
	}
	c := cutsOf(w)
	if c == nil {
		t.Fatal("nothing is cut")
	}
	for step := 1; step < 28; step++ {
		wait, optim := c.timesOf(step, StepPart{"", 0, Points}), c.timesOf(step, StepPart{"optim", 1, Works})
		if wait == nil || wait[0] < 38*ms || wait[1] != 0 || optim == nil || slices.Min(optim) < 5*ms {
			t.Errorf("step %d: ranks wait %v between the stages, and optimise for %v after that", step, wait, optim)
		}
	}
}

// TestMeetsEvery: meetings are at equal distances, all over the run, and not few.
func TestMeetsEvery(t *testing.T) {
	at := func(first, every, n int) (out []int) {
		for i := range n {
			out = append(out, first+i*every)
		}
		return out
	}
	for _, c := range []struct {
		steps     []int
		all, want int
	}{
		{at(9, 10, 10), 100, 10}, {at(9, 10, 9), 90, 10}, {at(9, 10, 8), 80, 0}, {at(0, 1, 60), 60, 0}, {at(9, 10, 10), 200, 0},
		{append(at(9, 10, 10), 112), 113, 0}, {at(32, 33, 10), 340, 0}, {at(31, 32, 10), 330, 32},
	} {
		if got := meetsEvery(c.steps, c.all); got != c.want {
			t.Errorf("%v of %d: every %d, want %d", c.steps, c.all, got, c.want)
		}
	}
}

// TestCutsWithoutSteps: a rank whose last steps were not recorded has no place of a wait in these, though another recorded some of the numbers twice.
func TestCutsWithoutSteps(t *testing.T) {
	whole := losing([4]float64{0, 0, 40, 0}, true)
	R, per := len(whole.Ranks), len(whole.Ranks)*len(whole.Schema.Stages)
	var j Job
	for i, part := range []struct {
		from, to, ranks int
		number          int64 // of the first step
	}{{0, 10, 4, 0}, {10, 20, 4, 10}, {20, 28, 4, 10}, {28, 30, 3, 18}} {
		w := *whole
		w.Index, w.FirstStep, w.Durations, w.Epochs = int64(i), part.number, whole.Durations[part.from*per:part.to*per], slices.Clone(whole.Epochs)
		for k, d := range whole.Durations[:part.from*per] {
			w.Epochs[k%R] += d
		}
		if i > 0 {
			w.Arrivals = nil
		}
		ranks := []int{0, 1, 2, 3}
		j.AddWindow(w.Select(ranks[:part.ranks]))
	}
	if c := j.Analyze(Options{}).Cuts; c != nil && !slices.Contains(c.Known, true) {
		t.Errorf("%+v, want the steps of all ranks known, or none cut", c)
	}
}
