package operators

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
)

// Flags are which operators were late or long against their peers, and by how
// much, in every step.
type Flags struct {
	v    *View
	late []blame.Flag // [instance][lane]
	long []blame.Flag
	// lateness is by how much the start came after that of the peers, ns.
	lateness []int64
	excess   []int64 // by how much the length exceeded that of the peers, ns
}

// material is the part of the worst lateness of a step, shared among a
// worker's operators, from which on a deviation can have mattered. Where a
// step is seconds late, a transfer that is surely longer by microseconds has
// nothing to do with it.
const material = 0.1

// Flags reads the outliers of a result over the series and operators of
// View.Series. An operator that is off in the whole window is so in every
// step. Deviations too small to matter beside the worst of their step are not
// flagged.
func (v *View) Flags(r *zscore.Result, series []zscore.Series, operators []Operator) *Flags {
	n := len(v.Grid.Instances) * v.Grid.Lanes()
	f := &Flags{v: v, late: make([]blame.Flag, n), long: make([]blame.Flag, n), lateness: make([]int64, n), excess: make([]int64, n)}
	for _, o := range r.Outliers {
		s := series[o.Series]
		op := operators[s.Op]
		if op.Instance == Total {
			continue
		}
		score, by := o.Score, o.Effect
		if s.Quantity == zscore.Wait {
			score, by = -score, -by // who waited little arrived late
		}
		flag := blame.FlagOf(score, o.Threshold)
		first, last := o.Step, o.Step+1
		if o.Step == zscore.EveryStep {
			first, last = 0, len(v.Grid.Steps)
		}
		for step := first; step < last; step++ {
			at := op.Instance*v.Grid.Lanes() + step*v.Grid.Replicas + v.Replica(o.Worker)
			if s.Quantity == zscore.Start || s.Quantity == zscore.Wait {
				f.late[at], f.lateness[at] = flag, by
			} else {
				f.long[at], f.excess[at] = flag, by
			}
		}
	}
	f.keepMaterial()
	return f
}

// keepMaterial takes back the flags of what cannot have mattered.
func (f *Flags) keepMaterial() {
	g := f.v.Grid
	lanes := g.Lanes()
	worst := make([]int64, len(g.Steps))
	for at, by := range f.lateness {
		s := at % lanes / g.Replicas
		worst[s] = max(worst[s], by)
	}
	perWorker := float64(len(g.Instances)) / float64(g.Stages)
	for at := range f.late {
		least := int64(material * float64(worst[at%lanes/g.Replicas]) / perWorker)
		if f.late[at] == blame.High && f.lateness[at] < least {
			f.late[at] = blame.Normal
		}
		if f.long[at] == blame.High && f.excess[at] < least {
			f.long[at] = blame.Normal
		}
	}
}

// accessory is the part of the worst lateness of a step from which on a worker
// is a symptom of it.
const accessory = 0.25

// graph returns one step of the view as engine/blame walks it, and its symptoms:
// the latest operator of every worker that was late by a good part of the worst.
// Operation reads the numbers of the operators.
//
// Beside the dependencies of the schedule, an operator follows the last one that
// ended on its rank before its start: a transfer that the host posts together with
// another, as frameworks do, waits for the same pass.
func (f *Flags) graph(step int) (g blame.Graph, symptoms []int64) {
	g, symptoms = f.schedule(step)
	g.Edges = append(g.Edges, f.v.followers(g.Ops)...)
	return g, symptoms
}

// schedule returns the graph with the dependencies of the schedule alone. Without a schedule an operator follows the one before
// it on its queue, and the members of a collective wait for each other: what the host waited for before it launched is not in
// the trace.
func (f *Flags) schedule(step int) (g blame.Graph, symptoms []int64) {
	v := f.v
	replicas, lanes, count := v.Grid.Replicas, v.Grid.Lanes(), len(v.Grid.Instances)
	var nodes []whatif.Node
	var collective []membership
	if v.Model != nil {
		nodes, collective, count = v.Model.Nodes(), v.collectives(), len(v.Model.Nodes())
	}
	worst, score := slices.Repeat([]int64{-1}, v.Workers()), make([]int64, v.Workers())
	type queue struct {
		worker int
		lane   int32
	}
	queued := make(map[queue][]blame.Op)
	for n := range count {
		i := v.instance(n)
		for d := range replicas {
			at := i*lanes + step*replicas + d
			row := v.Grid.At[at]
			w := int(v.Grid.Instances[i].Stage)*replicas + d
			op := blame.Op{ID: int64(n*replicas + d), Rank: v.Rank(w).ID, Start: v.Trace.Start[row], End: v.Trace.Start[row] + v.Trace.Dur[row],
				Lateness: f.late[at], Length: f.long[at]}
			if v.Model == nil {
				op.Collective = int64(v.Trace.Group[row]) + 1
				q := queue{w, v.Trace.Lane[row]}
				queued[q] = append(queued[q], op)
			} else {
				op.Collective = collective[n].groupNumber(replicas, d)
				for _, before := range nodes[n].After {
					g.Edges = append(g.Edges, blame.Edge{From: int64(int(before)*replicas + d), To: op.ID, Kind: blame.Lane})
				}
			}
			g.Ops = append(g.Ops, op)
			if f.late[at] == blame.High && f.lateness[at] > score[w] {
				worst[w], score[w] = op.ID, f.lateness[at]
			}
		}
	}
	for _, ops := range queued {
		slices.SortFunc(ops, func(a, b blame.Op) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.ID, b.ID))
		})
		for k := 1; k < len(ops); k++ {
			g.Edges = append(g.Edges, blame.Edge{From: ops[k-1].ID, To: ops[k].ID, Kind: blame.Lane})
		}
	}
	return g, symptomsOf(worst, score)
}

// symptomsOf returns, of the worst operators of the workers, the ones late by a good part of the worst.
func symptomsOf(worst, score []int64) []int64 {
	var symptoms []int64
	most := slices.Max(score)
	for w, id := range worst {
		if id >= 0 && float64(score[w]) >= accessory*float64(most) {
			symptoms = append(symptoms, id)
		}
	}
	return symptoms
}

// followers joins every operator of a step to what ended last on its rank
// before it started.
func (v *View) followers(ops []blame.Op) []blame.Edge {
	byEnd := make(map[int][]blame.Op)
	for _, op := range ops {
		byEnd[op.Rank] = append(byEnd[op.Rank], op)
	}
	for _, list := range byEnd {
		slices.SortFunc(list, func(a, b blame.Op) int { return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.ID, b.ID)) })
	}
	var edges []blame.Edge
	for _, op := range ops {
		list := byEnd[op.Rank]
		at, _ := slices.BinarySearchFunc(list, op.Start, func(o blame.Op, start int64) int { return cmp.Compare(o.End, start+1) })
		for at--; at >= 0 && list[at].Start >= op.Start; at-- { // of no length, at the same moment
		}
		if at >= 0 {
			edges = append(edges, blame.Edge{From: list[at].ID, To: op.ID, Kind: blame.Lane})
		}
	}
	return edges
}

// instance returns the instance of node n: of the schedule, or of the grid without a schedule.
func (v *View) instance(n int) int {
	if v.Model == nil {
		return n
	}
	return int(v.Model.Instances()[n])
}

// operation returns the operator and the worker of an operator number in a graph.
func (v *View) operation(id int64) (Operator, int) {
	i, d := v.instance(int(id)/v.Grid.Replicas), int(id)%v.Grid.Replicas
	in := v.Grid.Instances[i]
	return Operator{Name: v.Trace.Names[in.Name], Class: in.Class, Stage: int(in.Stage), Instance: i, Seq: int(in.Seq)},
		int(in.Stage)*v.Grid.Replicas + d
}

// Stop is one operator on the way of a walk.
type Stop struct {
	Rank  int    // global rank
	Op    string // name of the operator
	Seq   int    // its ordinal in the step
	Stage int
	Start int64 // start since the first start of the step on any rank
	Dur   int64 // duration
}

// String returns "rank/operator/number".
func (s Stop) String() string { return fmt.Sprintf("%d/%s/%d", s.Rank, s.Op, s.Seq) }

// stops reads the operator numbers of a path through one step.
func (v *View) stops(step int, path []int64) []Stop {
	stops := make([]Stop, len(path))
	for k, id := range path {
		op, w := v.operation(id)
		row := v.row(op.Instance, step, v.Replica(w))
		stops[k] = Stop{Rank: v.Rank(w).ID, Op: op.Name, Seq: op.Seq, Stage: op.Stage,
			Start: v.Trace.Start[row] - v.origins[step], Dur: v.Trace.Dur[row]}
	}
	return stops
}

// membership is the group of a node; number 0 is none.
type membership struct {
	number         int
	acrossReplicas bool
}

// groupNumber returns the number of the group in a graph, on one replica.
func (m membership) groupNumber(replicas, replica int) int64 {
	switch {
	case m.number == 0:
		return 0
	case m.acrossReplicas:
		return int64(m.number*replicas + 1)
	}
	return int64(m.number*replicas + 1 + replica)
}

func (v *View) collectives() []membership {
	of := make([]membership, len(v.Model.Nodes()))
	for k, group := range v.Model.Groups() {
		for _, n := range group.Members {
			of[n] = membership{k + 1, group.AcrossReplicas}
		}
	}
	return of
}

// leastTie is the least difference in ns that says anything.
const leastTie = 1000

// Tie returns the difference between two times on one rank that has no meaning, ns: the overlap of operators with their
// dependencies, but for one in a thousand, and at least the resolution of the source. Queues of a device are timed apart. At
// most a millisecond.
func (v *View) Tie() int64 {
	if v.Model == nil {
		return max(v.Trace.Resolution, leastTie)
	}
	var overlaps []int64
	lanes, instances := v.Grid.Lanes(), v.Model.Instances()
	pairs := 0
	for n, node := range v.Model.Nodes() {
		rows := v.Grid.At[int(instances[n])*lanes : (int(instances[n])+1)*lanes]
		for _, before := range node.After {
			earlier := v.Grid.At[int(instances[before])*lanes : (int(instances[before])+1)*lanes]
			for l, row := range rows {
				pairs++
				if by := v.Trace.Start[earlier[l]] + v.Trace.Dur[earlier[l]] - v.Trace.Start[row]; by > 0 {
					overlaps = append(overlaps, by)
				}
			}
		}
	}
	tie := max(v.Trace.Resolution, leastTie)
	if rare := pairs / 1000; rare < len(overlaps) {
		slices.Sort(overlaps)
		tie = max(tie, overlaps[len(overlaps)-1-rare])
	}
	return min(tie, 1_000_000)
}
