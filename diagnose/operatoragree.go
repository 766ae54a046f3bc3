package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
)

// listEvidence lists what the engines say about a worker, and puts what the
// confidence rests on first.
func (j *opJudge) listEvidence(w int, p float64) (out []evidence.Observation) {
	if j.Passes != nil && j.Passes.Workers[w].Factor > 1.02 {
		out = append(out, evidence.PassTimes{Factor: j.Passes.Workers[w].Factor, Peers: j.Replicas - 1, P: &p})
	}
	signs := j.Signs.Ranks[w]
	if signs.Whole+signs.Steps > 0 {
		out = append(out, evidence.Outliers{Whole: signs.Whole, Steps: signs.Steps, Alpha: j.Outliers.Alpha})
	}
	if signs.Departs {
		e := evidence.CompletionTimes{S: signs.S, Q: signs.Q, Later: signs.Later, Workers: j.hasSharedWorkers()}
		for _, other := range j.Signs.Ranks {
			if other.Departs && other.Rank != signs.Rank {
				e.Others = append(e.Others, other.Rank)
			}
		}
		slices.Sort(e.Others)
		out = append(out, e)
	}
	if walk := j.walk(func(x operators.Culprit) bool { return x.Worker == w && x.Kind == blame.LongOp }); walk != nil {
		e := evidence.BlameWalks{Workers: j.hasSharedWorkers(), End: signs.Walks, Symptoms: j.Walks.Symptoms, Op: walk.Op}
		if len(walk.Victims) > 0 {
			e.Victims = j.ids(walk.Victims)
		}
		out = append(out, e)
	}
	return out
}

// confirmedBy reports whether an engine other than the tests of operators finds
// the worker too.
func (j *opJudge) confirmedBy(w int) bool {
	return j.Signs.Ranks[w].Departs || j.isBlamed(w)
}

// walk returns the first walk that matches, nil without any.
func (j *opJudge) walk(match func(operators.Culprit) bool) *operators.Culprit {
	i := slices.IndexFunc(j.Walks.Culprits, match)
	if i < 0 {
		return nil
	}
	return &j.Walks.Culprits[i]
}

// isBlamed reports whether a third of the walks or more ends at a worker.
func (j *opJudge) isBlamed(w int) bool {
	return isThird(j.Signs.Ranks[w].Walks, j.Signs.Symptoms)
}

// isThird reports whether so many walks are a third of all, or more.
func isThird(walks, all int) bool { return all > 0 && 3*walks >= all }
