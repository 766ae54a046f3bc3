package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// windowGaps adds up what lies between the windows of a run: a recorder cuts them where evaluation or a checkpoint
// interrupts the steps. A rank's times are on its own clock alone.
type windowGaps struct {
	step  int64         // after the last window
	ends  map[int]int64 // of the last window, by rank
	spent map[int]int64 // between windows, by rank
	steps map[int]int64 // in steps, by rank
}

// add takes the next window. Windows that do not follow one another say nothing of what lies between them.
func (b *windowGaps) add(w *trace.Window) {
	if w.Wall == nil || w.Epochs == nil {
		b.ends = nil
		return
	}
	if b.spent == nil {
		b.spent, b.steps = map[int]int64{}, map[int]int64{}
	}
	follows, ends := w.FirstStep == b.step, make(map[int]int64, len(w.Ranks))
	for r, rank := range w.Ranks {
		begin := w.Epochs[r]
		if begin == 0 {
			continue
		}
		if end, ok := b.ends[rank.ID]; ok && follows && begin > end {
			b.spent[rank.ID] += begin - end
		}
		wall := int64(0)
		for n := range w.Steps() {
			wall += w.Wall[n*len(w.Ranks)+r]
		}
		b.steps[rank.ID] += wall
		ends[rank.ID] = begin + wall
	}
	b.step, b.ends = w.StepAt(w.Steps()), ends
}

// leastBetween is the part of the time from which on what lies between steps is told.
const leastBetween = 0.02

// dropClaimed returns what was observed without a rank's time between the steps where a claim on that rank has its time in
// no stage: that between steps is some of it.
func dropClaimed(seen []evidence.Observation, claims []Finding) (out []evidence.Observation) {
	for _, o := range seen {
		if e, ok := o.(evidence.BetweenSteps); ok && e.Excess > 0 && slices.ContainsFunc(claims, func(f Finding) bool {
			return f.IsFlagged() && f.Cause == CauseLate && f.Rank != nil && *f.Rank == e.Rank && f.Stage == stagename.Residual
		}) {
			if e.Share < leastBetween {
				continue
			}
			e.Excess = 0
			o = e
		}
		out = append(out, o)
	}
	return out
}

// evidence returns what there is to tell. Where ranks wait for each other between the steps too, only what they
// entered there says who is longest; nil: nothing is known of that.
func (b *windowGaps) evidence(entered *arrivals.Result) []evidence.Observation {
	if len(b.spent) == 0 {
		return nil
	}
	var times, steps []int64
	e := evidence.BetweenSteps{Rank: -1}
	for rank, inSteps := range b.steps {
		times, steps = append(times, b.spent[rank]), append(steps, inSteps)
		if most := b.spent[max(e.Rank, 0)]; e.Rank < 0 || b.spent[rank] > most || b.spent[rank] == most && rank < e.Rank {
			e.Rank = rank
		}
	}
	slices.Sort(times)
	slices.Sort(steps)
	e.Time = times[len(times)/2]
	whole := float64(e.Time + steps[len(steps)/2])
	if others := times[:len(times)-1]; len(others) > 0 {
		e.Excess = times[len(times)-1] - others[len(others)/2]
	}
	if entered != nil && entered.Between.Delay > e.Excess {
		e.Rank, e.Excess = entered.Between.Rank, entered.Between.Delay
	}
	if float64(e.Excess) < leastBetween/2*whole {
		e.Excess = 0
	}
	if e.Share = float64(e.Time) / whole; e.Share < leastBetween && e.Excess == 0 {
		return nil
	}
	return []evidence.Observation{e}
}
