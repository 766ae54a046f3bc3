package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/trace/stagename"
)

// plainBackward is the cost of a backward pass in forward passes: twice the
// arithmetic, for gradients of activations and of weights (Narayanan et al. 2021,
// arXiv 2104.04473, app.). Time of a synchronising backward pass beyond that may be
// one rank's delay.
const plainBackward = 2

// hidden bounds how much of a stage in which all ranks synchronise may be the delay
// of one rank: all time beyond what the stage needs. What a backward pass needs is
// an assumption; that a delay may hide within it is said, and decides nothing.
func (j *judge) hidden(m *frontier.Result) {
	if m.Steps == 0 || slices.Contains(m.Labels, labels.RoleAwareNeeded) {
		return
	}
	step := m.Makespan / int64(m.Steps)
	for _, s := range m.Stages {
		if !s.Syncs && !maySynchronise(m, s.Name) || s.Share == nil {
			continue
		}
		u := answer.Undecided{Question: answer.RankHidden, Stage: s.Name, Time: s.Advance / int64(m.Steps), Step: step, Needs: answer.SourceArrivals}
		if len(j.launched) > 0 {
			u.Needs = answer.SourceOperators
		}
		u.Hides = (s.Advance - needed(m, s.Name)) / int64(m.Steps)
		more, compared := j.beyondBaseline(s.Name)
		if compared {
			u.Hides = min(u.Hides, more)
		}
		least := j.minGain * float64(step)
		if float64(u.Hides) < least && !compared {
			u.Unlikely, u.Hides = true, u.Time
		}
		if float64(u.Hides) >= least {
			j.ask(u)
		}
	}
}

// beyondBaseline is the upper bound of how much longer a stage takes per step than
// in the baseline, ns. The baseline run is healthy, so a hidden delay cannot exceed
// it. ok is false without a baseline.
func (j *judge) beyondBaseline(stage string) (ns int64, ok bool) {
	d, ok := j.differences[stage]
	return int64(max(0, d.High)), ok
}

// maySynchronise reports whether the times of a stage suggest, without certainty,
// that ranks synchronise in it: the interval of its slope contains −1 and not 0.
func maySynchronise(m *frontier.Result, stage string) bool {
	return slices.ContainsFunc(m.SyncPoint.Boundaries, func(b frontier.Boundary) bool {
		base, _ := stagename.Split(b.Name)
		return base == stage && b.Low <= -1 && b.High >= -1 && b.High < 0
	})
}

// needed is the least time that a stage needs in a window: for a backward pass,
// derived from the forward pass; 0 if unknown.
func needed(m *frontier.Result, stage string) int64 {
	if stagename.KindOf(stage) != stagename.Backward {
		return 0
	}
	i := slices.IndexFunc(m.Stages, func(s frontier.Stage) bool { return stagename.KindOf(s.Name) == stagename.Forward })
	if i < 0 {
		return 0
	}
	return plainBackward * m.Stages[i].Advance
}

// Hidden is the stage of the run that may hide the largest delay, of one rank or
// of a transfer.
func (v *RunVerdict) Hidden() (u answer.Undecided, ok bool) {
	for _, o := range v.Undecided {
		if (o.HidesRank() && !o.Unlikely || o.Question == answer.TransferHidden) && o.Hides > 0 && (!ok || o.Hides > u.Hides) {
			u, ok = o, true
		}
	}
	return u, ok
}

// ask records an open question once; for a stage, with the largest delay that may
// hide in it.
func (j *judge) ask(u answer.Undecided) {
	i := slices.IndexFunc(j.undecided, func(have answer.Undecided) bool { return have.Question == u.Question && have.Stage == u.Stage })
	switch {
	case i < 0:
		j.undecided = append(j.undecided, u)
	case u.Hides > j.undecided[i].Hides:
		j.undecided[i] = u
	}
}

// questions are the open questions of the windows.
func (j *judge) questions() []answer.Undecided {
	for _, w := range j.windows {
		m := w.Main
		for _, l := range m.Labels {
			switch l {
			case labels.RoleAwareNeeded:
				j.ask(answer.Undecided{Question: answer.RolesMixed, Needs: answer.SourceRoles})
			case labels.GradientAccumulationAmbiguous:
				j.ask(answer.Undecided{Question: answer.MicrostepOrder, Needs: answer.SourceMicrosteps})
			case labels.ForwardEventScopeLimited:
				j.ask(answer.Undecided{Question: answer.DeviceOrHost, Needs: answer.SourceEvents})
			}
		}
		if len(m.Ranks) < 2 {
			j.ask(answer.Undecided{Question: answer.RanksNotRecorded, Needs: answer.SourceAllRanks})
			continue
		}
		if !m.SyncPoint.Evidence.Sure() && !m.SyncPoint.WithinPeers && m.Steps > 0 {
			j.ask(answer.Undecided{Question: answer.SyncPointUnknown, Needs: answer.SourceMoreSteps, N: m.Steps})
		}
		if !m.Quality.Wall && !slices.Equal(w.Stages, []string{stagename.Whole}) { // which is the wall time
			j.ask(answer.Undecided{Question: answer.UnrecordedTime, Needs: answer.SourceWall})
		}
	}
	return j.undecided
}
