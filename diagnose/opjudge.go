package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
)

// theory is a suspect of an operator trace with the remedy that would mend it.
type theory struct {
	Suspect
	cause   opCause
	workers []int // that it is about, by number
	stage   int   // the pipeline stage that is heavy
	mend    remedy
	delay   []int64 // launch delays that it adds; nil: none
	saved   float64 // ns of a step that mending it alone saves
	joint   float64 // ns of a step that mending all local faults saves
	say     string  // the headline's sentence, but for what mending buys
}

// opCause is the kind of fault.
type opCause uint8

const (
	causeWorker     opCause = iota // a worker computes longer than its peers
	causeTransfer                  // the transfers between two workers take longer
	causeCollective                // the collectives of one stage take longer
	causeLaunch                    // an operator starts late behind what was on time
	causeHeavy                     // a pipeline stage has more to compute
	causeUneven                    // microbatches are uneven
	causeRandom                    // passes vary without a pattern
	causeRotating                  // another operator is long by turns
)

// opJudge turns what the engines say into suspects.
type opJudge struct {
	*examined
	*priced
	gates    frontier.Gates
	theories []*theory

	marked      []mark
	differences map[quantityOf]float64
}

func (e *examined) judge(gates frontier.Gates) (*RunVerdict, error) {
	p, err := e.prices()
	if err != nil {
		return nil, err
	}
	j := &opJudge{examined: e, priced: p, gates: gates}
	for _, look := range []func() error{j.workers, j.transfers, j.collectives, j.launches, j.priceLocal, j.rotating, j.stages, j.uneven} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return j.verdict(), nil
}

// add keeps a theory.
func (j *opJudge) add(t *theory) { j.theories = append(j.theories, t) }

// local are the theories of faults at one place.
func (j *opJudge) localTheories() []*theory {
	var out []*theory
	for _, t := range j.theories {
		if t.cause < causeLaunch {
			out = append(out, t)
		}
	}
	return out
}

// mends are the remedies of theories, but for one.
func mends(list []*theory, without *theory) []remedy {
	var out []remedy
	for _, t := range list {
		if t != without && t.mend != nil {
			out = append(out, t.mend)
		}
	}
	return out
}

// maxAccused bounds the theories about workers, the costliest first: each is
// replayed twice.
const maxAccused = 32

// workers accuses those that are slow against their peers, as a whole or in
// some operators.
func (j *opJudge) workers() error {
	if j.Replicas < 2 {
		return nil
	}
	marks := j.marks()
	var accused []int
	for w := range j.Workers {
		if marks[w].slow() {
			accused = append(accused, w)
		}
	}
	slices.SortStableFunc(accused, func(a, b int) int { return cmp.Compare(marks[b].excess, marks[a].excess) })
	for _, w := range accused[:min(maxAccused, len(accused))] {
		j.accuse(w, marks[w])
	}
	return j.unproven(accused)
}

// unproven accuses the worker that costs most though no test speaks against
// it, where mending it would pay: with few replicas or steps no test can.
func (j *opJudge) unproven(accused []int) error {
	worst := slices.MaxFunc(j.Replay.Workers, func(a, b whatif.Worker) int { return cmp.Compare(a.Alone.Overall, b.Alone.Overall) })
	w := j.v.Worker(worst.Rank)
	if len(accused) > 0 || w < 0 {
		return nil
	}
	mended, err := j.step(j.likePeers(w, j.local))
	if err != nil || (j.now-mended)/j.now < j.gates.StaticGain {
		return err
	}
	j.accuse(w, j.marks()[w])
	return nil
}

// mark is what the outlier engines hold against one worker.
type mark struct {
	level   bool // its passes as a whole are slow in the window
	every   int  // operators that are long in the whole window
	steps   int  // operators that are long in single steps
	excess  int64
	ops     map[int]int64 // excess by instance
	overall bool          // some step's total is long
}

func (m mark) slow() bool { return m.level || m.every > 0 || m.steps > 0 || m.overall }

// marks reads the sure outliers on durations. What is long in the whole window
// counts only beyond what workers differ by anyway. Long single steps count
// only on workers that stand apart: where microbatches are uneven every worker
// has some, and the other stages of its replica as many.
func (j *opJudge) marks() []mark {
	if j.marked != nil {
		return j.marked
	}
	marks, single := make([]mark, len(j.Workers)), make([]int64, len(j.Workers))
	for _, o := range j.Outliers.Outliers {
		s := j.series[o.Series]
		if !o.Sure || o.Effect <= 0 || s.Quantity != zscore.Duration {
			continue
		}
		if o.Step != zscore.EveryStep {
			single[o.Worker] += o.Effect
		}
	}
	for _, o := range j.Outliers.Outliers {
		s := j.series[o.Series]
		if !o.Sure || o.Effect <= 0 || s.Quantity != zscore.Duration {
			continue
		}
		m, op := &marks[o.Worker], j.operators[s.Op]
		every := o.Step == zscore.EveryStep
		switch {
		case every && (op.Seq < 0 && op.Class.IsCompute() || !j.beyondUsual(o)), !every && !j.apart(o.Worker, single):
			continue // the passes of a worker together are judged by engine/passes
		case every:
			m.every++
		case op.Seq < 0:
			m.overall = true
		default:
			m.steps++
		}
		if op.Seq >= 0 {
			if m.ops == nil {
				m.ops = make(map[int]int64)
			}
			times := int64(1)
			if every {
				times = int64(len(j.Steps))
			}
			m.ops[op.Instance] += o.Effect * times
			m.excess += o.Effect * times
		}
	}
	if j.Passes != nil {
		for w, l := range j.Passes.Workers {
			if marks[w].level = l.Slow; l.Slow {
				marks[w].excess = max(marks[w].excess, int64(l.Time*(1-1/l.Factor)*float64(len(j.Steps))))
			}
		}
	}
	j.marked = marks
	return marks
}

// usual is how many spreads the workers of a job may differ in an operator
// without being faulty.
const usual = 5

// beyondUsual reports whether an outlier in the whole window is far from what
// workers differ by in operators of that name. Devices of one kind are not
// equal, and with enough steps any difference is sure.
func (j *opJudge) beyondUsual(o zscore.Outlier) bool {
	s := j.series[o.Series]
	k := quantityOf{j.operators[s.Op].Name, s.Quantity, j.operators[s.Op].Seq < 0}
	if j.differences == nil {
		j.differences = j.spreads()
	}
	return math.Abs(float64(o.Effect)) > usual*j.differences[k]
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
			slices.Sort(column)
			sizes[k] = append(sizes[k], math.Abs(float64(column[len(column)/2])))
		}
	}
	out := make(map[quantityOf]float64)
	for k, list := range sizes {
		slices.Sort(list)
		out[k] = 1.4826 * list[len(list)/2]
	}
	return out
}

// far is how many times what is usual an excess in single steps must be.
const far = 4

// apart reports whether the excess of a worker in single steps is far above
// what is usual in its job and on the other stages of its replica.
func (j *opJudge) apart(w int, excess []int64) bool {
	all := slices.Sorted(slices.Values(excess))
	usual := all[len(all)/2]
	for s := range j.v.Grid.Stages {
		if o := s*j.Replicas + j.v.Replica(w); o != w {
			usual = max(usual, excess[o])
		}
	}
	return excess[w] > far*usual && (j.v.Grid.Stages > 1 || !j.shared())
}

// shared reports whether microbatches are surely uneven: what lengthens a
// forward pass lengthens its backward pass, and, with several stages, those of
// the other stages.
func (j *opJudge) shared() bool {
	const related, chance = 0.3, 0.01
	if j.Passes == nil {
		return false
	}
	s := j.Passes.Shared
	if s.Directions == nil || *s.Directions < related || s.PDirections > chance {
		return false
	}
	return j.v.Grid.Stages < 2 || s.Stages != nil && *s.Stages >= related && s.PStages <= chance
}

// accuse makes a suspect of a worker, of one operator of it where that is
// nearly all of what it loses.
func (j *opJudge) accuse(w int, m mark) {
	rank := j.Workers[w].ID
	t := &theory{cause: causeWorker, workers: []int{w}}
	t.Suspect = Suspect{Kind: KindRank, Rank: &rank, Role: j.Workers[w].Role.String(), Stage: j.stageName(j.v.Stage(w))}
	op, seq, words := j.narrow(w, m)
	t.Op = op
	if seq >= 0 {
		t.Kind, t.Seq = KindOp, &seq
	}
	t.mend = j.likePeers(w, func(n int) bool {
		node := j.v.Model.Nodes()[n]
		return j.priced.local(n) && (op == "" || node.Op == op) && (seq < 0 || node.Seq == seq)
	})
	t.say = fmt.Sprintf("rank %d (%s) %s", rank, t.Role, words)
	t.Evidence = j.against(w, m)
	j.add(t)
}

// nearlyAll is the part of a worker's excess that names an operator.
const nearlyAll = 0.85

// narrow says in which operators a worker loses its time: one kind or one
// instance where that is nearly all, and a phrase with by how much.
func (j *opJudge) narrow(w int, m mark) (op string, seq int, words string) {
	kinds, instances := j.excess(w)
	total := int64(0)
	var names []string
	for name, x := range kinds {
		if x.more() > 0 {
			total += x.more()
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b].more(), kinds[a].more()), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return "", -1, "takes as long as its peers on the whole, but not in every step"
	}
	first := names[0]
	// Tests, where there are any, are surer than sums.
	if flagged := j.flaggedKinds(m); len(flagged) == 1 && !m.level {
		first = flagged[0]
	} else if float64(kinds[first].more()) < nearlyAll*float64(total) {
		var parts []string
		for k, name := range names[:min(2, len(names))] {
			part := fmt.Sprintf("%s in %s", kinds[name].times(), name)
			if k > 0 {
				part = strings.Replace(strings.Replace(part, " as long as its peers", "", 1), " than its peers", "", 1)
			}
			parts = append(parts, part)
		}
		return "", -1, "takes " + strings.Join(parts, " and ")
	}
	best := -1
	for i, x := range instances {
		if j.v.Trace.Names[j.v.Grid.Instances[i].Name] == first && (best < 0 || x.more() > instances[best].more()) {
			best = i
		}
	}
	single := best >= 0 && len(instances) > 1 && kinds[first].instances > 1 &&
		(float64(instances[best].more()) >= nearlyAll*float64(kinds[first].more()) || len(m.ops) == 1 && m.ops[best] > 0)
	if single {
		x := instances[best]
		seq := int(j.v.Grid.Instances[best].Seq)
		return first, seq, fmt.Sprintf("takes %s in %s number %d of the step", x.times(), first, seq)
	}
	if kinds[first].instances == 1 {
		seq = 0
	} else {
		seq = -1
	}
	return first, seq, fmt.Sprintf("takes %s in %s", kinds[first].times(), first)
}

// flaggedKinds are the names of the operators that were flagged.
func (j *opJudge) flaggedKinds(m mark) []string {
	var names []string
	for i := range m.ops {
		name := j.v.Trace.Names[j.v.Grid.Instances[i].Name]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// compared is what operators took on a worker and, of the others, the median.
type compared struct {
	own, peers int64 // ns over the window
	instances  int
}

func (c compared) more() int64 { return c.own - c.peers }

// times is "2.5 times as long as its peers".
func (c compared) times() string {
	if c.peers <= 0 {
		return ms(c.own) + " where its peers take nothing"
	}
	if f := float64(c.own) / float64(c.peers); f >= 1.1 {
		return fmt.Sprintf("%.3g times as long as its peers", f)
	}
	return fmt.Sprintf("%s longer than its peers", percent(float64(c.own)/float64(c.peers)-1))
}

// excess compares a worker's own work with the median of the other replicas,
// by kind and by instance.
func (j *opJudge) excess(w int) (kinds map[string]*compared, instances map[int]compared) {
	kinds, instances = make(map[string]*compared), make(map[int]compared)
	own, stage := j.v.Replica(w), j.v.Stage(w)
	others := make([]int64, 0, j.Replicas)
	j.nodes(func(n int, node whatif.Node) bool { return node.Stage == stage && j.priced.local(n) }, func(n, at int) {
		var c compared
		for lane := 0; lane < j.v.Grid.Lanes(); lane += j.Replicas {
			row := j.recorded[at+lane : at+lane+j.Replicas]
			c.own += row[own]
			c.peers += medianOfOthers(row, own, others)
		}
		instances[int(j.v.Model.Instances()[n])] = c
		name := j.v.Model.Nodes()[n].Op
		if kinds[name] == nil {
			kinds[name] = &compared{}
		}
		k := kinds[name]
		k.own, k.peers, k.instances = k.own+c.own, k.peers+c.peers, k.instances+1
	})
	return kinds, instances
}

// stageName names a pipeline stage as roles do.
func (j *opJudge) stageName(stage int) string {
	return fmt.Sprintf("%s=%d", trace.PipelineParallel, stage)
}

// transfers accuses pairs of workers between which data moves more slowly than
// between their peers.
func (j *opJudge) transfers() error {
	type pair struct {
		class        trace.OpClass // of the send
		stage, other int           // of sender and receiver
		replica      int
	}
	type seen struct {
		every, flags  int
		effect, total int64
	}
	found := make(map[pair]*seen)
	partner := j.partners()
	for _, o := range j.Outliers.Outliers {
		s := j.series[o.Series]
		op := j.operators[s.Op]
		if !o.Sure || o.Effect <= 0 || s.Quantity != zscore.Transfer || !op.Class.IsTransfer() {
			continue
		}
		other, ok := partner[op.Instance]
		if !ok {
			continue
		}
		k := pair{op.Class, op.Stage, other, j.v.Replica(o.Worker)}
		if op.Class.IsReceive() {
			k = pair{op.Class - 1, other, op.Stage, k.replica}
		}
		if found[k] == nil {
			found[k] = &seen{}
		}
		f := found[k]
		f.effect = max(f.effect, o.Effect)
		if o.Step == zscore.EveryStep {
			if j.beyondUsual(o) {
				f.every++
			}
			continue
		}
		f.flags++
		f.total += o.Effect
	}
	// Long single transfers happen everywhere on a network that is shared.
	totals := make([]int64, max(1, 2*(j.v.Grid.Stages-1)*j.Replicas-len(found)))
	for _, f := range found {
		totals = append(totals, f.total)
	}
	slices.Sort(totals)
	var pairs []pair
	for k, f := range found {
		if f.every > 0 || f.total > far*totals[len(totals)/2] {
			pairs = append(pairs, k)
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(found[b].every*len(j.Steps)+found[b].flags, found[a].every*len(j.Steps)+found[a].flags), cmp.Compare(a.stage, b.stage), cmp.Compare(a.replica, b.replica), cmp.Compare(a.class, b.class))
	})
	for _, k := range pairs[:min(maxAccused, len(pairs))] {
		sender, receiver := k.stage*j.Replicas+k.replica, k.other*j.Replicas+k.replica
		from, to := j.Workers[sender].ID, j.Workers[receiver].ID
		t := &theory{cause: causeTransfer, workers: []int{sender, receiver}, mend: j.transferLikePeers(k.class, k.stage, k.other, k.replica)}
		t.Suspect = Suspect{Kind: KindEdge, Rank: &from, Role: j.Workers[sender].Role.String(), Stage: j.stageName(k.stage), Op: k.class.String(),
			Evidence: []string{fmt.Sprintf("outliers: of %s from rank %d to rank %d, %d are surely longer in the whole window than between the same stages of other replicas, %d in single steps, by up to %s, waiting not counted",
				k.class, from, to, found[k].every, found[k].flags, ms(found[k].effect))}}
		t.say = fmt.Sprintf("%s from rank %d (%s) to rank %d is slower than between its peers", k.class, from, t.Role, to)
		j.add(t)
	}
	return nil
}

// partners are the stages at the other end of transfers, by instance.
func (j *opJudge) partners() map[int]int {
	out := make(map[int]int)
	instances := j.v.Model.Instances()
	for _, g := range j.v.Model.Groups() {
		if len(g.Members) != 2 {
			continue
		}
		a, b := int(instances[g.Members[0]]), int(instances[g.Members[1]])
		out[a], out[b] = int(j.v.Grid.Instances[b].Stage), int(j.v.Grid.Instances[a].Stage)
	}
	return out
}

// transferLikePeers makes the transfers of a pair cost what the median of the
// other replicas' do.
func (j *opJudge) transferLikePeers(send trace.OpClass, from, to, replica int) remedy {
	sender := j.likePeers(from*j.Replicas+replica, func(n int) bool { return j.class[n] == send })
	receiver := j.likePeers(to*j.Replicas+replica, func(n int) bool { return j.class[n] == send+1 })
	return func(cost, recorded []int64) {
		sender(cost, recorded)
		receiver(cost, recorded)
	}
}

// heavier is the factor from which on the collectives of a stage are slow
// beside those of other stages, whose sizes need not be the same.
const heavier = 1.2

// collectives accuses a stage whose collectives over the replicas move data
// more slowly than those of the other stages.
func (j *opJudge) collectives() error {
	if j.v.Grid.Stages < 2 || j.Replicas < 2 {
		return nil
	}
	levels := j.levels(func(n int) bool { return j.class[n].AcrossReplicas() && j.class[n] != trace.OptimizerClip })
	for stage := range j.v.Grid.Stages {
		over := overOthers(levels, stage)
		for _, op := range slices.Sorted(maps.Keys(over)) {
			f := over[op]
			if f < heavier {
				continue
			}
			mend := j.scaled(stage, map[string]float64{op: f})
			after, err := j.step(mend)
			if err != nil {
				return err
			}
			if (j.now-after)/j.now < trivial {
				continue
			}
			t := &theory{cause: causeCollective, mend: mend}
			t.Suspect = Suspect{Kind: KindGroup, Group: j.stageName(stage), Stage: j.stageName(stage), Op: op, Evidence: []string{
				fmt.Sprintf("transfer times: %s takes %.3g times as long on the replicas of %s as on the median of the other stages, waiting not counted", op, f, j.stageName(stage))}}
			t.say = fmt.Sprintf("%s over the replicas of %s takes %.3g times as long as on the other stages", op, j.stageName(stage), f)
			j.add(t)
		}
	}
	return nil
}
