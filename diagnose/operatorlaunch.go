package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/robust"
)

// launches finds operators that one worker starts later than its peers after
// all that they wait for has ended, where that makes a step longer. As with
// other faults, of two that hide each other fixing one saves little.
func (j *opJudge) launches() {
	var list []*theory
	for _, d := range j.late {
		t := j.lateStart(d)
		if alone := j.replayDelays(t.late).Mean; alone-j.now >= trivial*j.now {
			list = append(list, t)
		}
	}
	j.divide(list, func(left []*theory) float64 {
		sum := make([]int64, len(j.recorded))
		for _, t := range left {
			for i, by := range t.late {
				sum[i] += by
			}
		}
		return j.replayDelays(sum).Mean
	})
	for _, t := range list {
		j.add(t)
	}
}

// starts returns ledgers of how late operators start after their dependencies, each kind by itself: a late start of one makes
// the next start late elsewhere. Frameworks post transfers early or late without anyone waiting for that.
func (j *opJudge) starts() (out []*ledger) {
	starts := j.startDelays()
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

// startDelays returns how late operators start after all that they wait for, [node][lane], ns. Where they wait for nothing,
// without what their worker ended the step before later than its peers.
func (j *opJudge) startDelays() []int64 {
	starts, ended := j.v.Model.RecordedTimeline().Delay, j.endedLate()
	for n, node := range j.v.Model.Nodes() {
		if len(node.After) == 0 {
			row := j.row(starts, n)
			for l := range row {
				row[l] -= ended[node.Stage*j.Replicas+l%j.Replicas]
			}
		}
	}
	return starts
}

// lateStart makes a theory of operators that start later than those of the peers.
func (j *opJudge) lateStart(d *workerTerms) *theory {
	op, recorded := d.terms[0].kind().op, j.v.Model.RecordedTimeline().Delay
	late := make([]int64, len(recorded))
	total, most := int64(0), int64(0)
	bySeq := map[int]int64{}
	d.visitNodes(func(node, lane int, part float64) {
		x, seq := int64(part*float64(max(0, j.row(recorded, node)[lane]))), j.v.Model.Nodes()[node].Seq
		j.row(late, node)[lane] = x
		bySeq[seq], total = bySeq[seq]+x, total+x
		most = max(most, bySeq[seq])
	})
	var seqs []int // those with a good part of it
	for seq, x := range bySeq {
		if 4*x >= most {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	t := j.workerTheory(d, claim.Rank, claim.Launch, d.worker())
	t.late, t.Operation = late, claim.Operation{Op: op, Seqs: seqs, Behind: total / int64(len(j.Steps))}
	return t
}

// endedLate returns the lag of each worker's step ends behind the median of its peers, the median over the steps, ns: it begins
// the next step so much later.
func (j *opJudge) endedLate() []int64 {
	out := make([]int64, len(j.Workers))
	ends, apart := make([]int64, j.Replicas), make([]int64, j.Replicas)
	for stage := range j.v.Grid.Stages {
		by := make([][]int64, j.Replicas)
		for step := range j.Steps {
			for d := range ends {
				ends[d] = j.v.End(stage*j.Replicas+d, step)
			}
			subtractOthers(apart, ends, nil)
			for d, x := range apart {
				by[d] = append(by[d], x)
			}
		}
		for d, list := range by {
			out[stage*j.Replicas+d] = max(0, robust.Upper(list))
		}
	}
	return out
}

// walkToGap returns the walk that ends behind the operators of a late start.
func (j *opJudge) walkToGap(t *theory) *operators.Culprit {
	return j.walk(func(w operators.Culprit) bool {
		return (w.Kind == blame.Gap || w.Kind == blame.Source) && w.Worker == t.workers[0] && w.Op == t.Op && 10*w.Symptoms >= j.Walks.Symptoms
	})
}

// lacksTransfers reports whether the trace has several pipeline stages and no
// transfers that join them: then what a pass waits for is not known.
func (j *opJudge) lacksTransfers() bool { return j.v.Grid.Stages > 1 && len(j.otherEnd) == 0 }

// startsLate reports whether the start of one of the operators of a late start is surely late.
func (j *opJudge) startsLate(t *theory) bool {
	return slices.ContainsFunc(j.Outliers.Outliers, func(o zscore.Outlier) bool {
		s := j.series[o.Series]
		op := j.ops[s.Op]
		return o.Sure && o.Worker == t.workers[0] && op.Name == t.Op && slices.Contains(t.Seqs, op.Seq) &&
			(s.Quantity == zscore.Start && o.Effect > 0 || s.Quantity == zscore.Wait && o.Effect < 0)
	})
}
