package diagnose

import (
	"cmp"
	"maps"
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
	if j.unlinked() {
		return
	}
	var delays [][]int64
	var list []*theory
	var added []float64 // ns a step that each costs alone
	for _, l := range j.lateLaunches() {
		delay := j.extraDelay(l)
		alone := j.delayed(delay)
		if !(alone-j.now >= trivial*j.now) {
			continue
		}
		t := j.suspectLaunch(l)
		delays, list, added = append(delays, delay), append(list, t), append(added, alone-j.now)
	}
	if len(list) == 0 {
		return
	}
	all, sum := j.delayed(sumOf(delays, -1)), 0.0
	for i, t := range list {
		t.saved, t.joint = max(0, all-j.delayed(sumOf(delays, i))), max(0, all-j.now)
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

// suspectLaunch makes a theory of a launch.
func (j *opJudge) suspectLaunch(l launch) *theory {
	rank := j.Workers[l.worker].ID
	t := &theory{workers: []int{l.worker}, Finding: Finding{Kind: KindEdge, Cause: CauseLaunch,
		Place:    Place{Rank: &rank, Role: j.Workers[l.worker].Role.String(), Stage: j.stageName(j.v.Stage(l.worker)), Op: l.op},
		Evidence: []evidence.Observation{evidence.LaunchDelay{Rank: rank, Op: l.op, Delay: l.extra / int64(len(j.Steps))}}}}
	if len(l.seqs) == 1 {
		t.Seq = &l.seqs[0]
	}
	if walk := j.walkToGap(l); walk != nil {
		t.Evidence, t.confirmed = append(t.Evidence, evidence.BlameWalks{End: walk.Symptoms, Symptoms: j.Walks.Symptoms, Op: l.op, Gap: true}), true
	}
	if j.startsLate(l) {
		e := t.Evidence[0].(evidence.LaunchDelay)
		e.Outlier = true
		t.Evidence[0], t.confirmed = e, true
	}
	return t
}

// launch is operators of one name on one worker that start late.
type launch struct {
	worker int
	op     string
	seqs   []int // those with a good part of the lateness, ascending
	ended  int64 // of what begins a step: by how much the step before ended late
	extra  int64 // ns over the window
}

// lateLaunches are the operators, but for transfers, whose launch delays exceed
// the median of the other replicas' by enough to matter. Frameworks post
// transfers early or late without anyone waiting for that.
func (j *opJudge) lateLaunches() []launch {
	if j.Replicas < 2 {
		return nil
	}
	type place struct {
		worker int
		op     string
	}
	extra := make(map[place]map[int]int64) // by sequence number
	ended, begins := j.endedLate(), make(map[place]int64)
	apart, scratch := make([]int64, j.Replicas), make([]int64, 0, j.Replicas)
	recorded := j.v.Model.Recorded().Delay
	j.nodes(func(n int, _ whatif.Node) bool { return !j.class[n].IsTransfer() }, func(n, at int) {
		node := j.v.Model.Nodes()[n]
		for lane := at; lane < at+j.v.Grid.Lanes(); lane += j.Replicas {
			fromOthers(apart, recorded[lane:lane+j.Replicas], scratch)
			for d, by := range apart {
				k := place{node.Stage*j.Replicas + d, node.Op}
				if len(node.After) == 0 {
					begins[k] = ended[k.worker]
					by -= ended[k.worker]
				}
				if by <= 0 {
					continue
				}
				if extra[k] == nil {
					extra[k] = make(map[int]int64)
				}
				extra[k][node.Seq] += by
			}
		}
	})
	var out []launch
	for k, seqs := range extra {
		l := launch{worker: k.worker, op: k.op, ended: begins[k]}
		most := int64(0)
		for _, by := range seqs {
			l.extra, most = l.extra+by, max(most, by)
		}
		if float64(most) < trivial/2*j.now*float64(len(j.Steps)) {
			continue
		}
		for seq, by := range seqs {
			if 4*by >= most {
				l.seqs = append(l.seqs, seq)
			}
		}
		slices.Sort(l.seqs)
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b launch) int {
		return cmp.Or(cmp.Compare(b.extra, a.extra), cmp.Compare(a.worker, b.worker), cmp.Compare(a.op, b.op))
	})
	return out[:min(maxLaunches, len(out))]
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

// walkToGap is the walk that ends behind late operators of a launch.
func (j *opJudge) walkToGap(l launch) *operators.Culprit {
	return j.walk(func(w operators.Culprit) bool {
		return (w.Kind == blame.Gap || w.Kind == blame.Source) && w.Worker == l.worker && w.Op == l.op && 10*w.Symptoms >= j.Walks.Symptoms
	})
}

// idle finds the operators before which all replicas idle alike: what
// they wait for is in no operator.
func (j *opJudge) idle() {
	if j.unlinked() {
		return
	}
	common := j.commonDelay()
	lost := j.delayed(common) - j.now
	if !(lost >= j.gates.StaticGain*j.Replay.Recorded.Mean) {
		return
	}
	sums := make(map[string]int64)
	nodes := j.v.Model.Nodes()
	j.nodes(func(int, whatif.Node) bool { return true }, func(n, at int) {
		for _, by := range common[at : at+j.v.Grid.Lanes()] {
			sums[nodes[n].Op] += by
		}
	})
	most := slices.MaxFunc(slices.Sorted(maps.Keys(sums)), func(a, b string) int { return cmp.Compare(sums[a], sums[b]) })
	j.add(&theory{saved: lost, Finding: Finding{Kind: KindOp, Cause: CauseIdle, Place: Place{Op: most}, Cost: Cost{Explained: int64(lost * float64(len(j.Steps)))}}})
}

// commonDelay is the launch delay that all replicas have in common, the least of
// them for every operator and step, [node][lane]. Transfers are posted early or
// late without anyone waiting for that.
func (j *opJudge) commonDelay() []int64 {
	delay := j.v.Model.Recorded().Delay
	common := make([]int64, len(delay))
	j.nodes(func(n int, _ whatif.Node) bool { return !j.class[n].IsTransfer() }, func(_, at int) {
		for lane := at; lane < at+j.v.Grid.Lanes(); lane += j.Replicas {
			least := max(0, slices.Min(delay[lane:lane+j.Replicas]))
			for d := range j.Replicas {
				common[lane+d] = least
			}
		}
	})
	return common
}

// unlinked reports whether the trace has several pipeline stages and no
// transfers that join them: then what a pass waits for is not known.
func (j *opJudge) unlinked() bool { return j.v.Grid.Stages > 1 && len(j.partners()) == 0 }

// startsLate reports whether the start of one of a launch's operators is
// surely late.
func (j *opJudge) startsLate(l launch) bool {
	return slices.ContainsFunc(j.Outliers.Outliers, func(o zscore.Outlier) bool {
		s := j.series[o.Series]
		op := j.operators[s.Op]
		return o.Sure && o.Worker == l.worker && op.Name == l.op && slices.Contains(l.seqs, op.Seq) &&
			(s.Quantity == zscore.Start && o.Effect > 0 || s.Quantity == zscore.Wait && o.Effect < 0)
	})
}

// extraDelay is by how much the operators of a launch start later after their
// predecessors than those of the other replicas do, [node][lane].
func (j *opJudge) extraDelay(l launch) []int64 {
	recorded := j.v.Model.Recorded().Delay
	extra := make([]int64, len(recorded))
	stage, own := j.v.Stage(l.worker), j.v.Replica(l.worker)
	others := make([]int64, 0, j.Replicas)
	j.nodes(func(n int, node whatif.Node) bool {
		return node.Stage == stage && node.Op == l.op && slices.Contains(l.seqs, node.Seq)
	}, func(_, at int) {
		for lane := at; lane < at+j.v.Grid.Lanes(); lane += j.Replicas {
			row := recorded[lane : lane+j.Replicas]
			extra[lane+own] = max(0, row[own]-medianOfOthers(row, own, others)-l.ended)
		}
	})
	return extra
}
