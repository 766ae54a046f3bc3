package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/operator"
)

// ledger is what the replicas of a pipeline stage take in each interval: in a pass of a step, or in a
// step. Kinds of operators are pieces of their work, and what engine/delay finds in them is priced by the
// replay.
type ledger struct {
	*points.Division
	stage  int
	slots  int // intervals of a step
	pieces []kindOfWork
	late   bool // of how late operators start
}

// kindOfWork is the operators of a kind on the stage.
type kindOfWork struct {
	op    string
	nodes [][]int // [slot]
	sends bool    // to another stage
}

// mostTimes bounds the times in a ledger, 40 bytes each: passes of longer traces are taken
// together.
const mostTimes = 1 << 23

// ledger adds up values, [node][lane], of the operators of a stage that match. Each pass is an interval,
// and operators that are fewer or more are spread over them; the whole step where passes is false.
func (j *opJudge) ledger(stage int, values []int64, passes bool, match func(n int) bool) *ledger {
	l := &ledger{stage: stage, slots: 1}
	var kinds ordered.List[string, []int]
	nodes := j.v.Model.Nodes()
	for n, node := range nodes {
		if node.Stage == stage && match(n) {
			list, _ := kinds.Of(node.Op)
			*list = append(*list, n)
			if passes && j.class[n].IsCompute() {
				l.slots = max(l.slots, len(*list))
			}
		}
	}
	R, T := j.Replicas, len(j.Steps)
	l.slots = max(1, min(l.slots, mostTimes/max(1, T*R*len(kinds.All))))
	N := T * l.slots
	l.Division = &points.Division{Ranks: R, Intervals: N, Head: make([]int, N), Tail: slices.Repeat([]int{-1}, N)}
	for n := range N {
		l.Head[n] = n
	}
	for k, list := range kinds.All {
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(nodes[a].Seq, nodes[b].Seq) })
		piece := kindOfWork{op: nodes[list[0]].Op, nodes: make([][]int, l.slots), sends: j.class[list[0]].IsTransfer()}
		for i, n := range list {
			at := i
			if len(list) > l.slots {
				at = i * l.slots / len(list)
			}
			piece.nodes[at] = append(piece.nodes[at], n)
		}
		work, absent := make([]int64, N*R), make([]bool, N)
		for n := range N {
			in := piece.nodes[n%l.slots]
			absent[n] = len(in) == 0
			for _, node := range in {
				for r, x := range j.row(values, node)[n/l.slots*R:][:R] {
					work[n*R+r] += x
				}
			}
		}
		l.Stages, l.Pieces = append(l.Stages, points.Stage{Name: piece.op}), append(l.Pieces, points.Piece{Stage: k})
		l.pieces, l.Work, l.Absent = append(l.pieces, piece), append(l.Work, work), append(l.Absent, absent)
	}
	l.Arrive()
	return l
}

// workerTerms are terms of one worker that are fixed as one.
type workerTerms struct{ terms []term }

// term is one of engine/delay, with the ledger that it is in.
type term struct {
	delay.Term
	*ledger
}

// kind returns the kind of operators of a term.
func (t *term) kind() kindOfWork { return t.pieces[t.Piece] }

// worker returns the number of the worker that the terms are of.
func (d *workerTerms) worker() int { return d.terms[0].stage*d.terms[0].Ranks + d.terms[0].Rank }

// visitNodes visits what the terms take off the nodes: the part of each in a lane.
func (d *workerTerms) visitNodes(visit func(node, lane int, part float64)) {
	for _, t := range d.terms {
		for n, x := range t.Less {
			if total := t.Work[t.Piece][n*t.Ranks+t.Rank]; x > 0 && total > 0 {
				for _, node := range t.kind().nodes[n%t.slots] {
					visit(node, n/t.slots*t.Ranks+t.Rank, min(1, x/float64(total)))
				}
			}
		}
	}
}

// steps returns the time that the terms take off each step, ns.
func (d *workerTerms) steps() []float64 {
	out := make([]float64, d.terms[0].Intervals/d.terms[0].slots)
	for _, t := range d.terms {
		for n, x := range t.Less {
			out[n/t.slots] += x
		}
	}
	return out
}

// struck returns the steps in which the terms take off time: a delay that strikes a pass by chance belongs to no step.
func (d *workerTerms) struck() []bool {
	by := d.steps()
	sizes := slices.DeleteFunc(slices.Clone(by), func(x float64) bool { return x <= 0 })
	slices.Sort(sizes)
	out := make([]bool, len(by))
	for i, x := range by {
		out[i] = x > sizes[len(sizes)/2]/4
	}
	return out
}

// sumCharged returns what the peers waited for because of the terms, ns.
func (d *workerTerms) sumCharged() (sum float64) {
	for _, t := range d.terms {
		sum += t.Charged
	}
	return sum
}

// constant reports whether nearly all steps are struck.
func constant(struck []bool) bool { return delay.Describe(struck).Pattern == claim.Constant }

// p returns the p-value of the most certain term.
func (d *workerTerms) p() float64 {
	return slices.MinFunc(d.terms, func(a, b term) int { return cmp.Compare(a.P, b.P) }).P
}

// shortenToPeers makes the operators of the terms as long as those of the peers; both ends of a transfer.
func (j *opJudge) shortenToPeers(d *workerTerms) fix {
	return func(cost []int64) {
		d.visitNodes(func(node, lane int, part float64) {
			for _, end := range j.ends(node) {
				x := &j.row(cost, end)[lane]
				*x = int64(float64(*x) * (1 - part))
			}
		})
	}
}

// work returns ledgers of the workers' own operators, and of transfers: pass by pass of forward and backward compute and their
// transfers, step by step of operators between steps.
func (j *opJudge) work() (out []*ledger) {
	for stage := range j.v.Grid.Stages {
		for _, passes := range []bool{true, false} {
			out = append(out, j.ledger(stage, j.recorded, passes, func(n int) bool {
				_, joined := j.otherEnd[n]
				own := j.local(n) || joined && !j.class[n].IsReceive()
				return own && passes == (j.class[n].IsCompute() || j.class[n].IsTransfer())
			}))
		}
	}
	return out
}

// peel finds the workers that take longer than their peers, the transfers that do, and the operators
// that start late: what is not chance were the replicas of a stage exchangeable within blocks of passes,
// or of steps.
func (j *opJudge) peel() {
	if j.Replicas < 2 {
		return
	}
	list := j.work()
	if !j.lacksTransfers() {
		list = append(list, j.starts()...)
	}
	list = slices.DeleteFunc(list, func(l *ledger) bool { return len(l.pieces) == 0 })
	j.searched = operatorSearch{list, delay.Peel(divisionsOf(list), int64(j.now)*int64(len(j.Steps)), delay.Options{})}
	found := mergeTerms(list, j.searched.Terms)
	found = found[:min(maxAccused, len(found))]
	for _, d := range found {
		switch t := d.terms[0]; {
		case t.late:
			j.late = append(j.late, d)
		case t.kind().sends:
			j.slowTransfer(d)
		case !j.hasLongData(d, found):
			j.slowWorker(d)
		}
	}
}

// hasLongData reports whether a worker takes longer than its peers now and then, and so do the other stages of
// its replica: what they have in common is the data.
func (j *opJudge) hasLongData(d *workerTerms, found []*workerTerms) bool {
	if constant(d.struck()) {
		return false
	}
	stages := 0
	for _, o := range found {
		if t := o.terms[0]; !t.late && !t.kind().sends && t.Rank == d.terms[0].Rank {
			stages++
		}
	}
	return 2*stages > j.v.Grid.Stages && stages > 1
}

// mergeTerms returns terms added up by worker: its own work, and each kind of transfers and of late starts.
func mergeTerms(list []*ledger, terms []delay.Term) (out []*workerTerms) {
	type key struct {
		stage, rank int
		op          string
		late        bool
	}
	at := map[key]*workerTerms{}
	for _, t := range terms {
		one := term{t, list[t.In]}
		k := key{one.stage, t.Rank, "", one.late}
		if one.late || one.kind().sends {
			k.op = one.kind().op
		}
		if at[k] == nil {
			at[k] = &workerTerms{}
			out = append(out, at[k])
		}
		at[k].terms = append(at[k].terms, one)
	}
	chance := func(d *workerTerms) int {
		if d.p() <= gates.Supported {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b *workerTerms) int {
		return cmp.Or(cmp.Compare(chance(a), chance(b)), cmp.Compare(b.sumCharged(), a.sumCharged()))
	})
	return out
}

// slowWorker makes a theory of a worker that takes longer than its peers.
func (j *opJudge) slowWorker(d *workerTerms) {
	t := j.workerTheory(d, claim.Rank, claim.Late, d.worker())
	t.fix, t.Operation = j.shortenToPeers(d), j.localize(d)
	j.add(t)
}

// slowTransfer makes a theory of transfers that take longer than those between the peers of two workers.
func (j *opJudge) slowTransfer(d *workerTerms) {
	first := d.terms[0]
	kind, sender := first.kind(), d.worker()
	to := j.v.Model.Nodes()[j.otherEnd[kind.nodes[0][0]]].Stage
	own, peers := j.compareReplica(first.Rank, slices.Concat(kind.nodes...))
	t := j.workerTheory(d, claim.Link, claim.Transfer, sender, to*j.Replicas+first.Rank)
	t.fix, t.Op, t.Longer = j.shortenToPeers(d), kind.op, float64(own)/float64(max(1, peers))
	j.add(t)
}

// findCommon finds what the replicas of a stage have in common: from which step on they take longer, and
// which steps do.
func (j *opJudge) findCommon() {
	var list []*theory
	for stage := range j.v.Grid.Stages {
		l := j.ledger(stage, j.recorded, false, func(n int) bool { return !j.class[n].IsReceive() })
		levels := j.levels(func(n int) bool { return j.v.Model.Nodes()[n].Stage == stage })
		for _, f := range delay.Common(l.Division, delay.Options{}) {
			if f.Certainty >= claim.Supported {
				list = j.sharedBy(list, l, &f, levels)
			}
		}
	}
	for _, t := range list {
		// Of a stage that takes longer than the others they say when.
		if i := slices.IndexFunc(j.theories, t.isSameStage); i >= 0 {
			j.theories[i].Steps, j.theories[i].common = t.Steps, append(j.theories[i].common, t.common...)
			continue
		}
		j.add(t)
	}
}

// isSameStage reports whether another theory is about what one stage takes longer than others in the same kind of
// operators.
func (t *theory) isSameStage(o *theory) bool {
	if t.Kind == claim.Everyone || o.Kind == claim.Everyone || o.Parts[0].Stage != t.Parts[0].Stage {
		return false
	}
	return o.Kind == claim.Communicator && o.Op == t.Op || o.Cause == claim.Heavy && (t.Op == "" || operator.ParseClass(t.Op).IsCompute())
}

// stepsApart is how many steps apart changes of several stages begin and end that are one.
const stepsApart = 3

// sharedBy adds what a stage has in common to the theories of all stages: what strikes the same steps is
// one.
func (j *opJudge) sharedBy(list []*theory, l *ledger, f *claim.Claim, levels levels) []*theory {
	f.Op, f.Steps.Of = l.pieces[f.Parts[0].Stage].op, len(j.Steps)
	fix, at := j.levelSteps(l, f, levels), f.Steps
	for _, t := range list {
		if t.Cause != f.Cause || max(t.Steps.First-at.First, at.First-t.Steps.First) > stepsApart || max(t.Steps.Last-at.Last, at.Last-t.Steps.Last) > stepsApart {
			continue
		}
		before := t.fix
		t.fix = func(cost []int64) { before(cost); fix(cost) }
		if t.Kind, t.Ranks, t.Parts = claim.Everyone, nil, append(t.Parts, claim.Part{Stage: l.stage}); t.Op != f.Op {
			t.Op = ""
		}
		return list
	}
	t := j.stageTheory(claim.PeerSet, f.Cause, l.stage)
	t.fix, t.Steps, t.P, t.Certainty, t.common = fix, at, f.P, f.Certainty, []*claim.Claim{f}
	if float64(f.Parts[0].Charged) >= chiefStage*float64(f.Charged()) {
		t.Op = f.Op
	}
	if j.v.Grid.Stages == 1 {
		t.Kind, t.Ranks = claim.Everyone, nil
	}
	return append(list, t)
}

// levelSteps makes the kinds of operators of a finding as long in the steps that it struck as in the others, by
// one factor for all replicas.
func (j *opJudge) levelSteps(l *ledger, f *claim.Claim, levels levels) fix {
	factors := map[string][]float64{}
	for _, p := range f.Parts {
		op := l.pieces[p.Stage].op
		level := levels[op][l.stage]
		var usual []float64
		for t, x := range level {
			if !f.Steps.Has(t) {
				usual = append(usual, x)
			}
		}
		base := robust.Median(usual)
		factors[op] = slices.Repeat([]float64{1}, len(level))
		for t, x := range level {
			if f.Steps.Has(t) && base > 0 {
				factors[op][t] = max(1, x/base)
			}
		}
	}
	return j.scaleNodes(l.stage, factors)
}

// imbalance finds that operators of equal length would make the step shorter though no worker is slow:
// each step waits for another one.
func (j *opJudge) imbalance() {
	least := j.gates.StaticGain // noise costs some in any job
	if j.isDataBound() {
		least = leastTurns
	}
	j.addImbalance("", j.evenPasses(), least)
	if j.Replicas < 2 {
		return
	}
	seen := map[string]bool{}
	for n, node := range j.v.Model.Nodes() {
		if j.local(n) && !j.class[n].IsCompute() && !seen[node.Op] {
			seen[node.Op] = true
			j.addImbalance(node.Op, j.equalizeWorkers(func(n int) bool { return j.v.Model.Nodes()[n].Op == node.Op }), leastTurns)
		}
	}
}

// isDataBound reports whether what lengthens the forward compute of a microbatch lengthens its backward compute,
// and, with several stages, those of the other stages: microbatches are uneven.
func (j *opJudge) isDataBound() bool {
	if j.Passes == nil {
		return false
	}
	s := j.Passes.Shared
	related := func(r *float64, p float64) bool { return r != nil && *r >= relatedPasses && p <= gates.Strong }
	return related(s.Directions, s.PDirections) && (j.v.Grid.Stages < 2 || related(s.Stages, s.PStages))
}

// addImbalance makes a theory of operators, or of forward and backward compute, where evening them saves at least a
// part of a step.
func (j *opJudge) addImbalance(op string, even fix, least float64) {
	save := func(level float64) float64 {
		fixed := fixes(j.localTheories(level))
		return j.step(fixed...) - j.step(append(fixed, even)...)
	}
	saved := save(gates.Supported)
	if saved < least*j.now || save(1) < leastTurns*j.now { // what may be a worker's is no turn
		return
	}
	t := j.stageTheory(claim.Everyone, claim.Turns)
	t.Op, t.saved = op, saved
	t.charge(int64(saved * float64(len(j.Steps))))
	j.add(t)
}
