package opviews

import (
	"slices"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/zscore"
)

// Flags are which operators were late or long against their peers, and by how
// much, in every step.
type Flags struct {
	v    *View
	late []blame.Flag // [instance][lane]
	long []blame.Flag
	// lateness is the signed score of the start, or of the wait turned round.
	lateness []float64
}

// Flags reads the outliers of a result over the series and operators of
// View.Series. An operator that is off in the whole window is so in every
// step.
func (v *View) Flags(r *zscore.Result, series []zscore.Series, operators []Operator) *Flags {
	n := len(v.Grid.Instances) * v.Grid.Lanes()
	f := &Flags{v: v, late: make([]blame.Flag, n), long: make([]blame.Flag, n), lateness: make([]float64, n)}
	for _, o := range r.Outliers {
		s := series[o.Series]
		op := operators[s.Op]
		if op.Instance == Total {
			continue
		}
		score := o.Score
		if s.Quantity == zscore.Wait {
			score = -score // who waited little came late
		}
		flag := blame.FlagOf(score, o.Threshold)
		first, last := o.Step, o.Step+1
		if o.Step == zscore.EveryStep {
			first, last = 0, len(v.Grid.Steps)
		}
		for step := first; step < last; step++ {
			at := op.Instance*v.Grid.Lanes() + step*v.Grid.Replicas + v.Replica(o.Worker)
			if s.Quantity == zscore.Start || s.Quantity == zscore.Wait {
				f.late[at] = flag
				f.lateness[at] = score
			} else {
				f.long[at] = flag
			}
		}
	}
	return f
}

// Graph is one step of the view as engine/blame walks it, and its symptoms: of
// every worker the operator that was late by the highest score. Operator
// numbers are positions; Operation reads them.
func (f *Flags) Graph(step int) (g blame.Graph, symptoms []int64) {
	v := f.v
	replicas, lanes := v.Grid.Replicas, v.Grid.Lanes()
	worst := slices.Repeat([]int64{-1}, v.Workers())
	score := make([]float64, v.Workers())
	instances, nodes := v.Model.Instances(), v.Model.Nodes()
	collective := v.collectives()
	for n, i := range instances {
		in := v.Grid.Instances[i]
		for d := range replicas {
			at := int(i)*lanes + step*replicas + d
			row := v.Grid.At[at]
			w := int(in.Stage)*replicas + d
			id := int64(n*replicas + d)
			op := blame.Op{ID: id, Rank: v.Rank(w).ID, Start: v.Trace.Start[row], End: v.Trace.Start[row] + v.Trace.Dur[row],
				Lateness: f.late[at], Length: f.long[at]}
			if c := collective[n]; c.number > 0 {
				op.Collective = int64(c.number*replicas + 1)
				if !c.acrossReplicas {
					op.Collective += int64(d)
				}
			}
			g.Ops = append(g.Ops, op)
			for _, before := range nodes[n].After {
				g.Edges = append(g.Edges, blame.Edge{From: int64(int(before)*replicas + d), To: id, Kind: blame.Lane})
			}
			if f.late[at] == blame.High && f.lateness[at] > score[w] {
				worst[w], score[w] = id, f.lateness[at]
			}
		}
	}
	for _, id := range worst {
		if id >= 0 {
			symptoms = append(symptoms, id)
		}
	}
	return g, symptoms
}

// Operation is the operator and the worker of an operator number in a graph.
func (v *View) Operation(id int64) (Operator, int) {
	n, d := int(id)/v.Grid.Replicas, int(id)%v.Grid.Replicas
	i := v.Model.Instances()[n]
	in := v.Grid.Instances[i]
	return Operator{Name: v.Trace.Names[in.Name], Class: in.Class, Stage: int(in.Stage), Instance: int(i), Seq: int(in.Seq)},
		int(in.Stage)*v.Grid.Replicas + d
}

// membership is the group of a node; number 0 is none.
type membership struct {
	number         int
	acrossReplicas bool
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

// Tie is a difference between two times of the trace that says nothing, ns:
// what the source cannot tell apart, and at least a microsecond.
func (v *View) Tie() int64 {
	return max(v.Trace.Resolution, 1000)
}
