package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/trace"
)

// against lists what the engines say about a worker, and puts what the
// confidence rests on in order.
func (j *opJudge) against(w int, m mark) []string {
	var out []string
	if l := j.level(w); l != nil && l.Score != nil && (m.level || l.Factor > 1.02) {
		out = append(out, fmt.Sprintf("passes: its forward and backward take %.3g times as long as the median of its %s, step by step; workers of this job usually differ by %s; chance %s",
			l.Factor, countedWord(j.Replicas-1, "peer"), percent(j.Passes.Between), probability(l.P)))
	}
	if m.every+m.steps > 0 {
		var parts []string
		if m.every > 0 {
			parts = append(parts, countedWord(m.every, "operator")+" in the whole window")
		}
		if m.steps > 0 {
			parts = append(parts, countedWord(m.steps, "time")+" in single steps")
		}
		out = append(out, fmt.Sprintf("outliers: surely longer than on its peers: %s; family-wise error %s", strings.Join(parts, ", "), percent(j.Outliers.Alpha)))
	}
	if text := j.rhythm(w); text != "" {
		out = append(out, text)
	}
	if walk := j.walkTo(w); walk != nil {
		text := fmt.Sprintf("blame: %d of %d walks back from late operators end here, in %s", j.symptomsOf(w), j.Walks.Symptoms, walk.Op)
		if len(walk.Victims) > 0 {
			text += fmt.Sprintf("; its victims are %s", j.ranksOf(walk.Victims))
		}
		out = append(out, text)
	}
	if text := j.accounted(w); text != "" {
		out = append(out, text)
	}
	return out
}

func (j *opJudge) level(w int) *passesLevel {
	if j.Passes == nil {
		return nil
	}
	return &j.Passes.Workers[w]
}

// rhythm is what K-S says about a worker.
func (j *opJudge) rhythm(w int) string {
	s := j.Rhythm.Scores[w]
	if s.Test == nil || !s.Test.Flagged {
		return ""
	}
	text := fmt.Sprintf("K-S: its rhythm departs from its peers' (S %.2f, Q %s, %s)", *s.Mean, probability(s.Test.Q), lateness(s))
	var others []int
	for _, o := range j.Rhythm.Scores {
		if o.Worker != w && o.Test != nil && o.Test.Flagged {
			others = append(others, o.Worker)
		}
	}
	if len(others) > 0 {
		text += fmt.Sprintf("; so does that of %s", j.ranksOf(others))
	}
	return text
}

func lateness(s ks.Score) string {
	if s.Later < 0 {
		return ms(-s.Later) + " early on average"
	}
	return ms(s.Later) + " late on average"
}

// ranksOf names the ranks of workers: "rank 3", "ranks 16, 32 and 48".
func (j *opJudge) ranksOf(workers []int) string {
	ids := make([]int, len(workers))
	for i, w := range workers {
		ids[i] = j.Workers[w].ID
	}
	slices.Sort(ids)
	if len(ids) == 1 {
		return fmt.Sprintf("rank %d", ids[0])
	}
	return "ranks " + listed(ids)
}

// walkTo is the walk that ends most often in a long operator of the worker's
// own.
func (j *opJudge) walkTo(w int) *operators.Culprit {
	i := slices.IndexFunc(j.Walks.Culprits, func(x operators.Culprit) bool { return x.Worker == w && x.Kind == blame.LongOp })
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

// blamed reports whether a good part of the walks ends at a worker.
func (j *opJudge) blamed(w int) bool {
	return j.Walks.Symptoms > 0 && 3*j.symptomsOf(w) >= j.Walks.Symptoms
}

// accounted is what the frontier over the worker's pipeline stage charges it
// with, where that is work and not waiting.
func (j *opJudge) accounted(w int) string {
	explained, stage, makespan := j.charged(w)
	if explained == 0 {
		return ""
	}
	return fmt.Sprintf("frontier over the replicas of %s: %s of the exposed time is charged to it, most in %s",
		j.stageName(j.v.Stage(w)), percent(float64(explained)/float64(makespan)), stage)
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
		if c.Rank != j.Workers[w].ID || c.P > weakLevel || isWait(name) {
			continue
		}
		if explained += c.Explained; c.Explained > most {
			most, stage = c.Explained, name
		}
	}
	return explained, stage, max(1, m.Makespan)
}

func isWait(stage string) bool {
	return len(stage) > len(trace.WaitStageStem) && stage[:len(trace.WaitStageStem)] == trace.WaitStageStem
}
