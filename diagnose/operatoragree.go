package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/microbatch"
	"github.com/sfstat/sfstat/trace/stagename"
)

// against lists what the engines say about a worker, and puts what the
// confidence rests on first.
func (j *opJudge) against(w int, m mark) (out []evidence.Observation) {
	if l := j.level(w); l != nil && l.Score != nil && (m.level || l.Factor > 1.02) {
		out = append(out, evidence.SlowPasses{Factor: l.Factor, Peers: j.Replicas - 1, Between: j.Passes.Between, P: l.P})
	}
	if m.every+m.steps > 0 {
		out = append(out, evidence.PooledOutliers{Whole: m.every, Steps: m.steps, Alpha: j.Outliers.Alpha})
	}
	if e, departs := j.completion(w); departs {
		out = append(out, e)
	}
	if walk := j.walkTo(w); walk != nil {
		e := evidence.BlameWalks{End: j.symptomsOf(w), Symptoms: j.Walks.Symptoms, Op: walk.Op}
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
	_, departs := j.completion(w)
	return departs || j.blamed(w) || float64(charged) >= j.gates.StaticGain*float64(makespan)
}

func (j *opJudge) level(w int) *microbatch.Level {
	if j.Passes == nil {
		return nil
	}
	return &j.Passes.Workers[w]
}

// completion is what K-S finds of a worker's completion-time distribution, and
// whether it departs from its peers'.
func (j *opJudge) completion(w int) (evidence.CompletionTimes, bool) {
	s := j.Completions.Scores[w]
	if s.Test == nil || !s.Test.Flagged {
		return evidence.CompletionTimes{}, false
	}
	e := evidence.CompletionTimes{S: *s.Mean, Q: s.Test.Q, Later: s.Later}
	var others []int
	for _, o := range j.Completions.Scores {
		if o.Worker != w && o.Test != nil && o.Test.Flagged {
			others = append(others, o.Worker)
		}
	}
	if len(others) > 0 {
		e.Others = j.ids(others)
	}
	return e, true
}

// walkTo is the walk that ends most often in a long operator of the worker's
// own.
func (j *opJudge) walkTo(w int) *operators.Culprit {
	return j.walk(func(x operators.Culprit) bool { return x.Worker == w && x.Kind == blame.LongOp })
}

// walk is the first that matches, nil for none.
func (j *opJudge) walk(match func(operators.Culprit) bool) *operators.Culprit {
	i := slices.IndexFunc(j.Walks.Culprits, match)
	if i < 0 {
		return nil
	}
	return &j.Walks.Culprits[i]
}

// symptomsOf counts the symptoms that lead to long operators of a worker.
func (j *opJudge) symptomsOf(w int) int {
	n := 0
	for _, x := range j.Walks.Culprits {
		if x.Worker == w && x.Kind == blame.LongOp {
			n += x.Symptoms
		}
	}
	return n
}

// blamed reports whether a third of the walks or more ends at a worker.
func (j *opJudge) blamed(w int) bool {
	return j.Walks.Symptoms > 0 && 3*j.symptomsOf(w) >= j.Walks.Symptoms
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
		if c.Rank != j.Workers[w].ID || c.P > weakLevel || stagename.IsWait(name) {
			continue
		}
		if explained += c.Explained; c.Explained > most {
			most, stage = c.Explained, name
		}
	}
	return explained, stage, max(1, m.Makespan)
}
