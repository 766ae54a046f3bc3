package diagnose

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/recurrence"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// leastSlowSteps is how many steps must be slow: fewer are a warm-up step or a
// checkpoint.
const leastSlowSteps = 3

// slowing is the slow steps of the windows in which nobody was late: which they
// are, as of a late rank, from how much they are longer than the median of their
// window and the spread of the same (package recurrence).
type slowing struct {
	recurrence.Recurrence
	steps    []int64 // of the windows, as recorded
	over     []float64
	at       map[int][2]int // of a window: first and end in steps
	makespan int64
	usual    float64 // length of the other steps
}

// slowing estimates the slow steps of some windows; nil if there are none. Steps
// explained by a late rank are excluded.
func (j *judge) slowing(windows []int) *slowing {
	s := &slowing{at: make(map[int][2]int, len(windows))}
	var middles []float64
	struck := j.strikesOf()
	for _, i := range windows {
		lengths := j.lengths[i]
		middle := robust.MedianTime(slices.Clone(lengths))
		for t, x := range lengths {
			step, over := j.seen[i].first+int64(t), float64(x-middle)
			if struck[step] {
				over = 0
			}
			s.steps, s.over, middles = append(s.steps, step), append(s.over, over), append(middles, float64(middle))
		}
		s.at[i] = [2]int{len(s.over) - len(lengths), len(s.over)}
		s.makespan += j.windows[i].Main.Makespan
	}
	if len(s.over) == 0 {
		return nil
	}
	noise := robust.SigmaOfMAD * robust.MAD(slices.Clone(s.over), 0)
	var err error
	if s.Recurrence, err = recurrence.Estimate(s.over, noise); err != nil || !s.Separate || s.Struck < leastSlowSteps {
		return nil
	}
	s.usual = robust.Median(middles)
	return s
}

// in is how many steps of a window are slow, and by how much together.
func (s *slowing) in(window int) (n int, excess int64) {
	if s == nil {
		return 0, 0
	}
	for t := max(s.First, s.at[window][0]); t < min(s.Last+1, s.at[window][1]); t++ {
		if s.over[t] > s.Least {
			n++
			excess += int64(s.over[t])
		}
	}
	return n, excess
}

// observed is what is known of them together.
func (s *slowing) observed() evidence.SlowSteps {
	return evidence.SlowSteps{N: s.Struck, Of: s.Of, Factor: 1 + s.Excess/max(1, s.usual), Excess: int64(s.Excess), First: s.steps[s.First], Last: s.steps[s.Last]}
}

// slowedBy is the part of slow steps that late ranks explain. All ranks wait for a rank
// that is late where they synchronise, so that stage times show slow steps on all of
// them alike. A rank explains no more of a step than its own delay in one, and no more
// steps than it strikes.
func (f *Finding) slowedBy(late []Finding) (part float64) {
	for i := range late {
		l := &late[i]
		if f.Excess <= 0 || f.Stage != "" && l.Stage != f.Stage || l.Confidence < evidence.Supported || l.BelowMinGain {
			continue
		}
		part += min(1, float64(l.Excess)/float64(f.Excess)) * min(1, l.Struck.rate()/max(f.Struck.rate(), math.SmallestNonzeroFloat64))
	}
	return min(1, part)
}

// attribute takes from slow steps what late ranks explain, and drops those of which
// too little remains to report.
func (j *judge) attribute(suspects, late []Finding) []Finding {
	return slices.DeleteFunc(suspects, func(f Finding) bool {
		part := 0.0
		if f.Cause == CauseSlowSteps {
			part = f.slowedBy(late)
		}
		return part > 0 && (1-part)*f.Score < j.minGain
	})
}

// stepLengths is the median over ranks of each step's wall time, or, where that
// was not recorded, of the sum of its stages.
func stepLengths(w *trace.Window) []int64 {
	R := len(w.Ranks)
	out := make([]int64, w.Steps())
	of := make([]int64, R)
	for t := range out {
		if wall := w.WallOf(t); wall != nil {
			copy(of, wall)
		} else {
			clear(of)
			for i, d := range w.Step(t) {
				of[i%R] += d
			}
		}
		out[t] = robust.UpperTime(of)
	}
	return out
}
