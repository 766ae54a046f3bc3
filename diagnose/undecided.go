package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/stagename"
)

// plainBackward is the cost of a backward pass in forward passes: twice the
// arithmetic, for gradients of activations and of weights (Narayanan et al. 2021,
// arXiv 2104.04473, app.). Time of a synchronising backward pass beyond that may be
// one rank's delay.
const plainBackward = 2

// hiddenDelays asks who is late inside the stages in which all ranks synchronise, where that may be worth acting on. What a
// backward pass needs is an assumption; that a delay may hide within it is said, and decides nothing. In a stage that
// takes no longer than in a healthy run none hides.
func (j *judge) hiddenDelays(limits []answer.Limit) (out []answer.Undecided) {
	if j.placed.mixed {
		return nil
	}
	least := j.minGain * float64(j.modelled.Step)
	for _, l := range limits {
		healthy, compared := j.differences[l.Stage]
		if float64(l.MayHide) < least || compared && healthy.High < least {
			continue
		}
		u := answer.Undecided{Question: answer.RankHidden, Stage: l.Stage, Time: l.MayHide, Hides: l.MayHide - j.minStageTime(l.Stage), Step: j.modelled.Step, Needs: answer.SourceArrivals}
		if len(j.launched) > 0 {
			u.Needs = answer.SourceOperators
		}
		if float64(u.Hides) < least {
			u.Unlikely, u.Hides = !compared, u.Time
		}
		out = append(out, u)
	}
	return out
}

// minStageTime returns the least time that a step needs in a stage, ns: for a backward pass, derived from the forward pass; 0 if
// unknown, and of what calls cut off it.
func (j *judge) minStageTime(stage string) (ns int64) {
	if j.isCut(stage) {
		return 0
	}
	if stagename.KindOf(stage) == stagename.Backward {
		for k, s := range j.modelled.Stages {
			if s.Role == points.Forward {
				ns += plainBackward * j.modelled.Typical[k]
			}
		}
	}
	return ns
}

// LargestHidden returns the stage of the run that may hide the largest delay, of one rank or of a transfer.
func (v *RunVerdict) LargestHidden() (u answer.Undecided, ok bool) { return largestHidden(v.Undecided) }

func largestHidden(open []answer.Undecided) (u answer.Undecided, ok bool) {
	for _, o := range open {
		if (o.HidesRank() && !o.Unlikely || o.Question == answer.TransferHidden) && o.Hides > 0 && (!ok || o.Hides > u.Hides) {
			u, ok = o, true
		}
	}
	return u, ok
}

// questions returns what each recording leaves open by itself.
func (j *judge) questions() []answer.Undecided {
	out := j.stepQuestions()
	if j.operators != nil {
		out = append(out, j.operators.Undecided...)
	}
	if j.heard != nil {
		out = append(out, j.heard.Undecided...)
	}
	return out
}

// stepQuestions returns what the steps leave open: who is late where all ranks synchronise, what the labels of
// windows withhold, and where ranks synchronise at all.
func (j *judge) stepQuestions() (out []answer.Undecided) {
	if j.modelled == nil {
		return j.windowQuestions()
	}
	out = append(j.hiddenDelays(j.stepLimits()), j.windowQuestions()...)
	if !j.synchronises() {
		out = append(out, answer.Undecided{Question: answer.SyncPointUnknown, Needs: answer.SourceMoreSteps, N: j.modelled.Steps})
	}
	return out
}

// windowQuestions returns the open questions of the windows, each once.
func (j *judge) windowQuestions() (out []answer.Undecided) {
	ask := func(u answer.Undecided) {
		if !slices.ContainsFunc(out, func(have answer.Undecided) bool { return have.Question == u.Question }) {
			out = append(out, u)
		}
	}
	for _, w := range j.windows {
		m := w.Main
		for _, l := range m.Labels {
			switch l {
			case labels.RoleAwareNeeded:
				ask(answer.Undecided{Question: answer.RolesMixed, Needs: answer.SourceRoles})
			case labels.GradientAccumulationAmbiguous:
				ask(answer.Undecided{Question: answer.MicrostepOrder, Needs: answer.SourceMicrosteps})
			case labels.ForwardEventScopeLimited:
				ask(answer.Undecided{Question: answer.DeviceOrHost, Needs: answer.SourceEvents})
			}
		}
		if len(m.Ranks) < 2 {
			ask(answer.Undecided{Question: answer.RanksNotRecorded, Needs: answer.SourceAllRanks})
			continue
		}
		if !m.Quality.Wall && !slices.Equal(w.Stages, []string{stagename.Whole}) { // which is the wall time
			ask(answer.Undecided{Question: answer.UnrecordedTime, Needs: answer.SourceWall})
		}
	}
	return out
}
