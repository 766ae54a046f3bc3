package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace/stagename"
)

// against lists what the engines say about a worker, and puts what the
// confidence rests on first.
func (j *opJudge) against(w int, p float64) (out []evidence.Observation) {
	if j.Passes != nil && j.Passes.Workers[w].Factor > 1.02 {
		out = append(out, evidence.PassTimes{Factor: j.Passes.Workers[w].Factor, Peers: j.Replicas - 1, P: &p})
	}
	signs := j.Signs.Ranks[w]
	if signs.Whole+signs.Steps > 0 {
		out = append(out, evidence.Outliers{Whole: signs.Whole, Steps: signs.Steps, Alpha: j.Outliers.Alpha})
	}
	if signs.Departs {
		e := evidence.CompletionTimes{S: signs.S, Q: signs.Q, Later: signs.Later, Workers: j.several()}
		for _, other := range j.Signs.Ranks {
			if other.Departs && other.Rank != signs.Rank {
				e.Others = append(e.Others, other.Rank)
			}
		}
		slices.Sort(e.Others)
		out = append(out, e)
	}
	if walk := j.walk(func(x operators.Culprit) bool { return x.Worker == w && x.Kind == blame.LongOp }); walk != nil {
		e := evidence.BlameWalks{Workers: j.several(), End: signs.Walks, Symptoms: j.Walks.Symptoms, Op: walk.Op}
		if len(walk.Victims) > 0 {
			e.Victims = j.ids(walk.Victims)
		}
		out = append(out, e)
	}
	if explained, stage, makespan := j.charged(w); explained > 0 {
		out = append(out, evidence.FrontierCharge{Peers: j.stageName(j.v.Stage(w)), Share: float64(explained) / float64(makespan), Stage: stage})
	}
	return out
}

// confirmedBy reports whether an engine other than the tests of operators finds
// the worker too.
func (j *opJudge) confirmedBy(w int) bool {
	charged, _, makespan := j.charged(w)
	return j.Signs.Ranks[w].Departs || j.blamed(w) || float64(charged) >= j.gates.StaticGain*float64(makespan)
}

// walk is the first that matches, nil for none.
func (j *opJudge) walk(match func(operators.Culprit) bool) *operators.Culprit {
	i := slices.IndexFunc(j.Walks.Culprits, match)
	if i < 0 {
		return nil
	}
	return &j.Walks.Culprits[i]
}

// blamed reports whether a third of the walks or more ends at a worker.
func (j *opJudge) blamed(w int) bool {
	return j.Signs.Symptoms > 0 && 3*j.Signs.Ranks[w].Walks >= j.Signs.Symptoms
}

// charged is the exposed time that the frontier over a worker's peers charges
// it with for its own work, and the stage with most of it.
func (j *opJudge) charged(w int) (explained int64, stage string, makespan int64) {
	if j.windows == nil {
		return 0, "", 1
	}
	m := j.windows[j.v.Stage(w)]
	most := int64(0)
	for _, c := range m.Culprits {
		name := m.Stages[c.Stage].Name
		if c.Rank != j.Workers[w].ID || c.P > gates.Supported || stagename.IsWait(name) {
			continue
		}
		if explained += c.Explained; c.Explained > most {
			most, stage = c.Explained, name
		}
	}
	return explained, stage, max(1, m.Makespan)
}
