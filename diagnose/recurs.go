package diagnose

import (
	"github.com/sfstat/sfstat/diagnose/answer"

	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/recurrence"
	"github.com/sfstat/sfstat/internal/robust"
)

// recurred is how often and how long something struck, and the steps that it was
// looked for in.
type recurred struct {
	recurrence.Recurrence
	steps []int64
	over  []float64 // by how much, step by step; nil where no rank is meant
}

// struck is the same for people: steps as recorded.
func (r *recurred) struck() Struck {
	return Struck{Count: r.Struck, Of: r.Of, First: r.steps[r.First], Last: r.steps[r.Last], Pattern: strikePattern(r.Pattern),
		Low: r.Low, High: r.High, Own: int64(r.Excess), ExcessLow: int64(max(0, r.ExcessLow)), ExcessHigh: int64(r.ExcessHigh), P: r.P}
}

// recurs says from the steps themselves how often a finding struck and how long it
// took, over all windows of the run. It reports whether they tell.
func (j *judge) recurs(f *finding) bool {
	if f.recurrence == nil {
		if f.Cause != CauseLate || f.Kind != KindRank || f.Stage == "" || len(f.together) > 1 {
			return false
		}
		if f.recurrence = j.recurrenceOf(*f.Rank, f.Stage); f.recurrence == nil {
			return false
		}
	}
	if r := f.recurrence; f.Cause == CauseLate && r.Pattern != recurrence.Constant { // a mean over all steps says what one takes
		j.priceStruck(f, r.Recurrence)
	}
	f.Struck = f.recurrence.struck()
	return true
}

// strikesOf are the steps in which a late rank, however uncertain, was struck, where
// they are told one by one, and those after them: what a rank does behind the last
// synchronisation point of a step, others wait for in the next.
func (j *judge) strikesOf() map[int64]bool {
	all := make(map[int64]bool)
	for _, f := range j.found {
		if f.Cause != CauseLate || f.Kind != KindRank || f.Stage == "" {
			continue
		}
		r := j.recurrenceOf(*f.Rank, f.Stage)
		if r == nil || !r.Separate {
			continue
		}
		for i := r.First; i <= r.Last; i++ {
			if r.over[i] > r.Least {
				all[r.steps[i]], all[r.steps[i]+1] = true, true
			}
		}
	}
	return all
}

// recurrenceOf is how often a rank was late because of a stage, over all windows of
// the run; nil where its steps do not tell.
func (j *judge) recurrenceOf(rank int, stage string) *recurred {
	var over, noise []float64
	var steps []int64
	for i, w := range j.windows {
		e, ok := excessOf(w, rank, stage)
		if ok {
			noise = append(noise, e.Noise)
		}
		// A window that lists nothing has no excess worth following.
		for t := j.seen[i].first; t < j.seen[i].end; t++ {
			x := int64(0)
			if k := t - e.FirstStep; ok && k >= 0 && k < int64(len(e.Over)) {
				x = e.Over[k]
			}
			over, steps = append(over, float64(x)), append(steps, t)
		}
	}
	if len(noise) == 0 {
		return nil
	}
	r, err := recurrence.Estimate(over, robust.Median(noise))
	if err != nil || r.Struck == 0 {
		return nil
	}
	return &recurred{r, steps, over}
}

// priceStruck is what a struck step takes, and saves.
func (j *judge) priceStruck(f *finding, r recurrence.Recurrence) {
	f.Excess = int64(r.Excess)
	f.Step = max(0, f.makespan-f.Explained)/int64(max(1, f.steps)) + f.Excess
	// What struck before the first synchronisation point or after the last is
	// seen, and charged to nobody.
	charged := min(float64(r.Struck), max(float64(r.Struck-2), math.Round(float64(f.Explained)/r.Excess)))
	f.Gain = min(1, f.saved/max(1, r.Excess*charged)) * r.Excess / float64(max(1, f.Step))
}

func strikePattern(p recurrence.Pattern) Pattern {
	switch p {
	case recurrence.Constant:
		return PatternConstant
	case recurrence.Stretch:
		return PatternWindow
	case recurrence.Intermittent:
		return PatternIntermittent
	}
	return PatternUnknown
}

// excessOf is what a window lists of a rank in a stage, step by step.
func excessOf(w Window, rank int, stage string) (frontier.StepExcess, bool) {
	for _, m := range append([]*frontier.Result{w.Main}, w.Groups...) {
		i := slices.IndexFunc(m.Excess, func(e frontier.StepExcess) bool { return e.Rank == rank && m.Stages[e.Stage].Name == stage })
		if i >= 0 {
			return m.Excess[i], true
		}
	}
	return frontier.StepExcess{}, false
}

// stageLimits are, of each stage, the smallest delay of one rank in every step that would
// have been reported, or how much of one it may hide; nil: not known.
func (j *judge) stageLimits() (out []answer.Limit) {
	if j.entered != nil && len(j.windows) == 0 {
		return []answer.Limit{arrivalLimit(j.entered, j.minGain)}
	}
	if j.series == nil {
		return nil
	}
	steps := 0
	for _, r := range j.series.Results() {
		if r.Steps <= steps || r.Group != "" {
			continue
		}
		steps, out = r.Steps, nil
		for _, d := range r.Detectable(j.minGain) {
			out = append(out, answer.Limit{Stage: r.Stages[d.Stage].Name, Reported: d.Delay, MayHide: d.Hides})
		}
	}
	return out
}
