package diagnose

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/robust"
)

// workers finds those that are slow against their peers, as a whole or in
// some operators.
func (j *opJudge) workers() {
	if j.Replicas < 2 {
		return
	}
	marks := j.marks()
	var suspected []int
	for w := range j.Workers {
		if m := marks[w]; m.slow() && (m.level || m.few || m.every > 0 || m.overall || j.noticeable(m.excess)) {
			suspected = append(suspected, w)
		}
	}
	slices.SortStableFunc(suspected, func(a, b int) int { return cmp.Compare(marks[b].excess, marks[a].excess) })
	for _, w := range suspected[:min(maxAccused, len(suspected))] {
		j.suspect(w, marks[w])
	}
	j.untested(suspected)
}

// noticeable reports whether what single steps lose is worth listing.
func (j *opJudge) noticeable(excess int64) bool {
	return float64(excess) >= listedSteps*j.now*float64(len(j.Steps))
}

// mark is what the outlier engines hold against one worker.
type mark struct {
	level   bool // its passes as a whole are slow in the window
	every   int  // operators that are long in the whole window
	steps   int  // operators that are long in single steps
	excess  int64
	ops     map[int]int64 // excess by instance
	overall bool          // some step's total is long
	// few: its passes together are surely longer than its peers', and clearly,
	// but there are too few workers to know what workers differ by.
	few bool
}

func (m mark) slow() bool { return m.level || m.every > 0 || m.steps > 0 || m.overall || m.few }

// marks reads the sure outliers on durations. What is long in the whole window
// counts only beyond what workers differ by anyway. Long single steps count
// only on workers that stand apart: where microbatches are uneven every worker
// has some, and the other stages of its replica as many.
func (j *opJudge) marks() []mark {
	if j.marked != nil {
		return j.marked
	}
	j.marked = make([]mark, len(j.Workers))
	single := make([]int64, len(j.Workers))
	for o := range j.long() {
		if o.Step != zscore.EveryStep {
			single[o.Worker] += o.Effect
		}
	}
	for o := range j.long() {
		op, every := j.operators[j.series[o.Series].Op], o.Step == zscore.EveryStep
		ofPasses := every && op.Seq == operators.Total && op.Class.IsCompute() // engine/microbatch judges these
		if ofPasses && j.clearly(o.Worker) {
			j.marked[o.Worker].few = true
		}
		if !ofPasses && (every && j.beyondUsual(o) || !every && j.beyondLevel(o) && j.apart(o.Worker, single)) {
			j.marked[o.Worker].note(o, op, len(j.Steps))
		}
	}
	if j.Passes != nil {
		for w, l := range j.Passes.Workers {
			if m := &j.marked[w]; l.Slow && !j.wholeReplica(w) {
				m.level = true
				m.excess = max(m.excess, int64(l.Time*(1-1/l.Factor)*float64(len(j.Steps))))
			}
		}
	}
	return j.marked
}

// clearly reports whether the passes of a worker take clearly longer than
// its peers', where a job has too few workers to tell what they differ by.
func (j *opJudge) clearly(w int) bool {
	return j.Passes != nil && j.Passes.Freedom < knownWorkers && j.Passes.Workers[w].Factor >= clearlySlow && !j.wholeReplica(w)
}

// wholeReplica reports whether the other stages of a worker's replica are about
// as slow as it, where microbatches are uneven: then its data are long, by
// chance or by the sampler, and no rank is slow.
func (j *opJudge) wholeReplica(w int) bool {
	if j.v.Grid.Stages < 2 || !j.shared() {
		return false
	}
	log := func(stage int) float64 { return math.Log(j.Passes.Workers[stage*j.Replicas+j.v.Replica(w)].Factor) }
	return others(j.v.Grid.Stages, j.v.Stage(w), log) > wholeReplicaPart*log(j.v.Stage(w))
}

// long are the sure outliers on durations that are too long.
func (j *opJudge) long() iter.Seq[zscore.Outlier] {
	return func(yield func(zscore.Outlier) bool) {
		for _, o := range j.Outliers.Outliers {
			if o.Sure && o.Effect > 0 && j.series[o.Series].Quantity == zscore.Duration && !yield(o) {
				return
			}
		}
	}
}

// note adds an outlier to what is held against a worker.
func (m *mark) note(o zscore.Outlier, op operators.Operator, steps int) {
	times := int64(1)
	switch {
	case o.Step == zscore.EveryStep:
		times = int64(steps)
		m.every++
	case op.Seq == operators.Total:
		m.overall = true
	default:
		m.steps++
	}
	if op.Seq == operators.Total {
		return
	}
	if m.ops == nil {
		m.ops = make(map[int]int64)
	}
	m.ops[op.Instance] += o.Effect * times
	m.excess += o.Effect * times
}

// beyondUsual reports whether an outlier in the whole window is far from what
// workers differ by in operators of that name. Devices of one kind are not
// equal, and with enough steps any difference is sure.
func (j *opJudge) beyondUsual(o zscore.Outlier) bool {
	s := j.series[o.Series]
	k := quantityOf{j.operators[s.Op].Name, s.Quantity, j.operators[s.Op].Seq < 0}
	if j.differences == nil {
		j.differences = j.spreads()
	}
	return math.Abs(float64(o.Effect)) > workerSpreads*j.differences[k]
}

// beyondLevel reports whether an outlier in a single step is more than what the
// worker always takes longer: a level that is usual among workers makes
// outliers in every step where the operator itself hardly varies.
func (j *opJudge) beyondLevel(o zscore.Outlier) bool {
	s := j.series[o.Series]
	d := j.v.Replica(o.Worker)
	column, scratch := make([]int64, len(j.Steps)), make([]int64, 0, j.Replicas)
	for t := range column {
		column[t] = s.X[t*j.Replicas+d] - medianOfOthers(s.X[t*j.Replicas:(t+1)*j.Replicas], d, scratch)
	}
	level := max(0, robust.Upper(column))
	return float64(o.Effect-level) >= singleStep*float64(o.Effect)
}

// quantityOf is what is compared of operators of one name.
type quantityOf struct {
	name     string
	quantity zscore.Quantity
	total    bool
}

// spreads are the robust deviations, in ns, of the differences between a worker
// and the median of its peers, each the median over the steps.
func (j *opJudge) spreads() map[quantityOf]float64 {
	sizes := make(map[quantityOf][]float64)
	columns, apart := make([]int64, len(j.Steps)*j.Replicas), make([]int64, j.Replicas)
	scratch := make([]int64, 0, j.Replicas)
	for _, s := range j.series {
		if s.Quantity == zscore.Start || s.Quantity == zscore.Wait || j.Replicas < 2 {
			continue
		}
		for t := range j.Steps {
			fromOthers(apart, s.X[t*j.Replicas:(t+1)*j.Replicas], scratch)
			for d, by := range apart {
				columns[d*len(j.Steps)+t] = by
			}
		}
		op := j.operators[s.Op]
		k := quantityOf{op.Name, s.Quantity, op.Seq < 0}
		for d := range j.Replicas {
			column := columns[d*len(j.Steps) : (d+1)*len(j.Steps)]
			sizes[k] = append(sizes[k], math.Abs(float64(robust.Upper(column))))
		}
	}
	out := make(map[quantityOf]float64)
	for k, list := range sizes {
		out[k] = robust.SigmaOfMAD * robust.Upper(list)
	}
	return out
}

// apart reports whether the excess of a worker in single steps is far above
// what is usual in its job and on the other stages of its replica.
func (j *opJudge) apart(w int, excess []int64) bool {
	usual := robust.Upper(slices.Clone(excess))
	for s := range j.v.Grid.Stages {
		if o := s*j.Replicas + j.v.Replica(w); o != w {
			usual = max(usual, excess[o])
		}
	}
	return excess[w] > farBeyond*usual && (j.v.Grid.Stages > 1 || !j.shared())
}

// shared reports whether microbatches are surely uneven: what lengthens a
// forward pass lengthens its backward pass, and, with several stages, those of
// the other stages.
func (j *opJudge) shared() bool {
	if j.Passes == nil {
		return false
	}
	s := j.Passes.Shared
	if s.Directions == nil || *s.Directions < relatedPasses || s.PDirections > gates.Strong {
		return false
	}
	return j.v.Grid.Stages < 2 || s.Stages != nil && *s.Stages >= relatedPasses && s.PStages <= gates.Strong
}

// suspect makes a theory of a worker, of one operator of it where that is
// nearly all of what it loses.
func (j *opJudge) suspect(w int, m mark) {
	rank := j.Workers[w].ID
	op, seq, times := j.localize(w, m)
	t := &theory{workers: []int{w}, proof: m, Finding: Finding{Kind: KindRank, Cause: CauseCompute,
		Place: Place{Rank: &rank, Role: j.Workers[w].Role.String(), Stage: j.stageName(j.v.Stage(w)), Op: op, Seq: seq}}}
	if seq != nil {
		t.Kind = KindOp
	}
	match := func(n int) bool {
		node := j.v.Model.Nodes()[n]
		return j.priced.local(n) && (op == "" || node.Op == op) && (seq == nil || node.Seq == *seq)
	}
	switch {
	case seq != nil:
		t.fix = j.likePeers(w, match)
	case j.compare(w).always():
		t.fix = j.onTheWhole(w, match)
	default: // one factor for all steps prices what comes and goes too low
		t.fix = j.stepByStep(w, match)
	}
	t.Evidence = append([]evidence.Observation{times}, j.against(w, m)...)
	j.add(t)
}
