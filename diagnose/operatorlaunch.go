package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/robust"
)

// launches finds operators that one worker starts later than its peers after
// all that they wait for has ended, where that makes a step longer. As with
// other faults, of two that hide each other fixing one saves little.
func (j *opJudge) launches() {
	var delays [][]int64
	var list []*theory
	var added []float64 // ns a step that each costs alone
	for _, d := range j.late {
		delay := j.extraDelay(d)
		alone := j.delayed(delay)
		if !(alone-j.now >= trivial*j.now) {
			continue
		}
		delays, list, added = append(delays, delay), append(list, j.lateStart(d, delay)), append(added, alone-j.now)
	}
	if len(list) == 0 {
		return
	}
	all, sum := j.delayed(sumOf(delays, -1)), 0.0
	for i, t := range list {
		t.saved, t.after, t.joint = max(0, all-j.delayed(sumOf(delays, i))), added[i], max(0, all-j.now)
		sum += added[i]
	}
	for i, t := range list {
		t.Explained = int64(max(t.saved, t.joint*added[i]/max(1, sum)) * float64(len(j.Steps)))
		j.add(t)
	}
}

// sumOf adds delays up, but for one (−1: all).
func sumOf(delays [][]int64, without int) []int64 {
	out := make([]int64, len(delays[0]))
	for k, delay := range delays {
		if k == without {
			continue
		}
		for i, by := range delay {
			out[i] += by
		}
	}
	return out
}

// starts are ledgers of how late operators start after all that they wait for, each kind by itself: who
// starts one late makes others start the next late. Frameworks post transfers early or late without anyone
// waiting for that.
func (j *opJudge) starts() (out []*ledger) {
	starts, ended := j.v.Model.Recorded().Delay, j.endedLate()
	j.nodes(func(n int, node whatif.Node) bool { return len(node.After) == 0 }, func(n, at int) {
		for l := range j.v.Grid.Lanes() {
			starts[at+l] -= ended[j.v.Model.Nodes()[n].Stage*j.Replicas+l%j.Replicas]
		}
	})
	for stage := range j.v.Grid.Stages {
		seen := map[string]bool{}
		for n, node := range j.v.Model.Nodes() {
			if node.Stage == stage && !j.class[n].IsTransfer() && !seen[node.Op] {
				seen[node.Op] = true
				l := j.ledger(stage, starts, j.class[n].IsCompute(), func(n int) bool { return j.v.Model.Nodes()[n].Op == node.Op })
				l.late = true
				out = append(out, l)
			}
		}
	}
	return out
}

// extraDelay is by how much operators start later than those of the peers, [node][lane].
func (j *opJudge) extraDelay(d *delayed) []int64 {
	recorded := j.v.Model.Recorded().Delay
	extra := make([]int64, len(recorded))
	d.each(func(node, lane int, part float64) {
		at := node*j.v.Grid.Lanes() + lane
		extra[at] = int64(part * float64(max(0, recorded[at])))
	})
	return extra
}

// lateStart makes a theory of operators that start late.
func (j *opJudge) lateStart(d *delayed, delay []int64) *theory {
	w, op := d.worker(), d.terms[0].kind().op
	rank, total, most := j.Workers[w].ID, int64(0), int64(0)
	bySeq := map[int]int64{}
	j.nodes(func(n int, node whatif.Node) bool { return node.Stage == j.v.Stage(w) && node.Op == op }, func(n, at int) {
		for _, x := range delay[at : at+j.v.Grid.Lanes()] {
			bySeq[j.v.Model.Nodes()[n].Seq] += x
			total += x
		}
		most = max(most, bySeq[j.v.Model.Nodes()[n].Seq])
	})
	var seqs []int // those with a good part of it
	for seq, x := range bySeq {
		if 4*x >= most {
			seqs = append(seqs, seq)
		}
	}
	e := evidence.LaunchDelay{Workers: j.several(), Rank: rank, Op: op, Delay: total / int64(len(j.Steps)), Outlier: j.startsLate(w, op, seqs)}
	t := &theory{workers: []int{w}, delayed: d, confirmed: e.Outlier, Finding: Finding{Kind: KindEdge, Cause: CauseLaunch,
		Place:    Place{Rank: &rank, Role: j.Workers[w].Role.String(), Stage: j.stageName(j.v.Stage(w)), Op: op},
		Evidence: []evidence.Observation{e}}}
	if len(seqs) == 1 {
		t.Seq = &seqs[0]
	}
	if walk := j.walkToGap(w, op); walk != nil {
		t.Evidence, t.confirmed = append(t.Evidence, evidence.BlameWalks{Workers: j.several(), End: walk.Symptoms, Symptoms: j.Walks.Symptoms, Op: op, Gap: true}), true
	}
	return t
}

// endedLate is by how much each worker ends its steps later than the median of
// its peers, the median over the steps, ns: so much later it begins the next.
func (j *opJudge) endedLate() []int64 {
	out := make([]int64, len(j.Workers))
	ends := make([]int64, j.Replicas)
	for stage := range j.v.Grid.Stages {
		by := make([][]int64, j.Replicas)
		for step := range j.Steps {
			for d := range ends {
				ends[d] = j.v.End(stage*j.Replicas+d, step)
			}
			for d := range ends {
				by[d] = append(by[d], ends[d]-medianOfOthers(ends, d, nil))
			}
		}
		for d, list := range by {
			out[stage*j.Replicas+d] = max(0, robust.Upper(list))
		}
	}
	return out
}

// walkToGap is the walk that ends behind late operators of a worker.
func (j *opJudge) walkToGap(worker int, op string) *operators.Culprit {
	return j.walk(func(w operators.Culprit) bool {
		return (w.Kind == blame.Gap || w.Kind == blame.Source) && w.Worker == worker && w.Op == op && 10*w.Symptoms >= j.Walks.Symptoms
	})
}

// unlinked reports whether the trace has several pipeline stages and no
// transfers that join them: then what a pass waits for is not known.
func (j *opJudge) unlinked() bool { return j.v.Grid.Stages > 1 && len(j.partners()) == 0 }

// startsLate reports whether the start of one of a worker's operators is surely
// late.
func (j *opJudge) startsLate(worker int, name string, seqs []int) bool {
	return slices.ContainsFunc(j.Outliers.Outliers, func(o zscore.Outlier) bool {
		s := j.series[o.Series]
		op := j.operators[s.Op]
		return o.Sure && o.Worker == worker && op.Name == name && slices.Contains(seqs, op.Seq) &&
			(s.Quantity == zscore.Start && o.Effect > 0 || s.Quantity == zscore.Wait && o.Effect < 0)
	})
}
