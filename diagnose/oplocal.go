package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
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
		out = append(out, fmt.Sprintf("outliers: surely longer than on its peers are %s in the whole window and %s in single steps; family-wise error %s",
			countedWord(m.every, "operator"), countedWord(m.steps, "operator"), percent(j.Outliers.Alpha)))
	}
	if text := j.rhythm(w); text != "" {
		out = append(out, text)
	}
	if walk := j.walkTo(w); walk != nil {
		text := fmt.Sprintf("blame: %d of %d walks back from late operators end here, in %s", j.symptomsOf(w), j.Walked, walk.Op)
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

// countedWord is "1 operator" or "3 operators".
func countedWord(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
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
func (j *opJudge) walkTo(w int) *Walk {
	i := slices.IndexFunc(j.Walks, func(x Walk) bool { return x.Worker == w && x.Kind == blame.LongOp })
	if i < 0 {
		return nil
	}
	return &j.Walks[i]
}

// symptomsOf counts the symptoms that lead to long operators of a worker.
func (j *opJudge) symptomsOf(w int) int {
	n := 0
	for _, x := range j.Walks {
		if x.Worker == w && x.Kind == blame.LongOp {
			n += x.Symptoms
		}
	}
	return n
}

// blamed reports whether a good part of the walks ends at a worker.
func (j *opJudge) blamed(w int) bool { return j.Walked > 0 && 3*j.symptomsOf(w) >= j.Walked }

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

// launches accuses operators that start late behind what was on time, where
// walks end there.
func (j *opJudge) launches() error {
	for _, walk := range j.Walks {
		if walk.Kind != blame.Gap && walk.Kind != blame.Source || 10*walk.Symptoms < j.Walked {
			continue
		}
		delay := j.extraDelay(walk)
		without, err := j.delayed(nil, mends(j.localTheories(), nil)...)
		if err != nil {
			return err
		}
		with, err := j.delayed(delay, mends(j.localTheories(), nil)...)
		if err != nil {
			return err
		}
		if with-without < trivial*j.now || !j.startsLate(walk) {
			continue // any gap is the largest of some step
		}
		w := walk.Worker
		rank := j.Workers[w].ID
		t := &theory{cause: causeLaunch, workers: []int{w}, delay: delay, saved: max(0, with-without)}
		t.Suspect = Suspect{Kind: KindEdge, Rank: &rank, Role: j.Workers[w].Role.String(), Stage: j.stageName(j.v.Stage(w)), Op: walk.Op}
		if len(walk.Seqs) == 1 {
			t.Seq = &walk.Seqs[0]
		}
		t.Evidence = append(t.Evidence, fmt.Sprintf("blame: %d of %d walks back from late operators end before %s of rank %d, which starts up to %s after all that it waits for has ended",
			walk.Symptoms, j.Walked, walk.Op, rank, ms(walk.Delay)))
		t.say = fmt.Sprintf("rank %d (%s) starts %s late, behind operators that were on time: its host was busy, or waits for something that is not in the trace", rank, t.Role, walk.Op)
		j.add(t)
	}
	return nil
}

// startsLate reports whether the start of a walk's operator is surely late.
func (j *opJudge) startsLate(walk Walk) bool {
	return slices.ContainsFunc(j.Outliers.Outliers, func(o zscore.Outlier) bool {
		s := j.series[o.Series]
		op := j.operators[s.Op]
		return o.Sure && o.Worker == walk.Worker && op.Name == walk.Op && slices.Contains(walk.Seqs, op.Seq) &&
			(s.Quantity == zscore.Start && o.Effect > 0 || s.Quantity == zscore.Wait && o.Effect < 0)
	})
}

// extraDelay is by how much the operators that a walk names start later after
// their predecessors than those of the other replicas do, [node][lane].
func (j *opJudge) extraDelay(walk Walk) []int64 {
	recorded := j.v.Model.Recorded().Delay
	extra := make([]int64, len(recorded))
	stage, own := j.v.Stage(walk.Worker), j.v.Replica(walk.Worker)
	others := make([]int64, 0, j.Replicas)
	j.nodes(func(n int, node whatif.Node) bool {
		return node.Stage == stage && node.Op == walk.Op && slices.Contains(walk.Seqs, node.Seq)
	}, func(_, at int) {
		for lane := 0; lane < j.v.Grid.Lanes(); lane += j.Replicas {
			row := recorded[at+lane : at+lane+j.Replicas]
			extra[at+lane+own] = max(0, row[own]-medianOfOthers(row, own, others))
		}
	})
	return extra
}

// priceLocal says what mending each local fault saves alone, and divides what
// mending them all saves by what each would cost were it the only one left:
// of several that are equally slow, mending one alone saves nothing.
func (j *opJudge) priceLocal() error {
	list := j.localTheories()
	if len(list) == 0 {
		return nil
	}
	clean, err := j.step(mends(list, nil)...)
	if err != nil {
		return err
	}
	added, sum := make([]float64, len(list)), 0.0
	for i, t := range list {
		alone, err := j.step(t.mend)
		if err != nil {
			return err
		}
		left := alone
		if len(list) > 1 {
			if left, err = j.step(mends(list, t)...); err != nil {
				return err
			}
			added[i] = max(0, left-clean)
		} else {
			added[i] = max(0, j.now-clean)
		}
		t.saved, t.joint = max(0, j.now-alone), max(0, j.now-clean)
		sum += added[i]
	}
	for i, t := range list {
		explained := t.saved
		if sum > 0 {
			explained = max(explained, t.joint*added[i]/sum)
		}
		t.Explained = int64(explained * float64(len(j.Steps)))
	}
	return nil
}
