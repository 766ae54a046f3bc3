package operators

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/microbatch"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/operator"
)

// Operator says what a series is of: one instance of the program, or all of
// one name on a pipeline stage together.
type Operator struct {
	Name     string
	Class    operator.Class
	Stage    int // −1: of all
	Instance int // position in the grid, of the first stage that has it; −1: all instances of the name, their durations added up
	Seq      int // of the instance; −1 for all
}

// Total is the Instance and Seq of an operator that stands for all instances
// of its name on its stage.
const Total = -1

// Series returns the series that engine/zscore compares across the replicas of a stage, and the operator of each; Series.Op is
// a position in operators.
//
// Operators that wait for nobody have a start and a duration; collectives over
// the replicas a wait and a transfer; transfers between stages and collectives
// across them a start and a transfer. Starts count from the first start of the
// step on any rank. Beside the instances there are totals: the time that all
// instances of a name take in a step, for names that wait for nobody and have
// several. A total sees what is too little in each instance alone.
func (v *View) Series() (series []zscore.Series, operators []Operator) {
	g := v.Grid
	totals := ordered.Numbers[totalKey]{} // positions in totalOps
	var totalOps []Operator
	var sums [][]int64
	count := make(map[totalKey]int)
	for _, in := range g.Instances {
		count[totalKey{in.Name, in.Stage}]++
	}
	for i, in := range g.Instances {
		op := Operator{Name: v.Trace.Names[in.Name], Class: in.Class, Stage: int(in.Stage), Instance: i, Seq: int(in.Seq)}
		for _, q := range v.quantities(i) {
			series = append(series, v.series(len(operators), i, q))
		}
		operators = append(operators, op)
		k := totalKey{in.Name, in.Stage}
		if in.Class.IsCommunication() || !v.usesClass() && v.communicates(i) || count[k] < 2 {
			continue
		}
		at, first := totals.Of(k)
		if first {
			op.Instance, op.Seq = Total, Total
			totalOps, sums = append(totalOps, op), append(sums, make([]int64, g.Lanes()))
		}
		lanes := g.Lanes()
		for l, row := range g.At[i*lanes : (i+1)*lanes] {
			sums[at][l] += v.Trace.Dur[row]
		}
	}
	for k, op := range totalOps {
		series = append(series, zscore.Series{Op: len(operators), Quantity: zscore.Duration, Workers: v.peers(op.Stage), X: sums[k]})
		operators = append(operators, op)
	}
	return series, operators
}

// Everyone puts the series of an operator on all stages together, so that workers are
// compared with all that run it, as KAIR does, and not with the replicas of their stage
// alone. Stages of a pipeline have different work: what is unlike on one of them is no
// outlier of its worker's.
func Everyone(series []zscore.Series, ops []Operator) ([]zscore.Series, []Operator) {
	type operator struct {
		name string
		seq  int
	}
	type quantity struct {
		op int
		zscore.Quantity
	}
	named, compared := ordered.Numbers[operator]{}, ordered.Numbers[quantity]{}
	var all []zscore.Series
	var of []Operator
	for _, s := range series {
		op := ops[s.Op]
		at, first := named.Of(operator{op.Name, op.Seq})
		if first {
			of = append(of, op)
		}
		of[at].Stage = -1
		k, first := compared.Of(quantity{at, s.Quantity})
		if s.Op = at; first {
			all = append(all, s)
		} else {
			all[k] = concat(all[k], s)
		}
	}
	return all, of
}

// concat joins two series over the same steps.
func concat(a, b zscore.Series) zscore.Series {
	n, m := len(a.Workers), len(b.Workers)
	x := make([]int64, 0, len(a.X)+len(b.X))
	for t := range len(a.X) / n {
		x = append(append(x, a.X[t*n:(t+1)*n]...), b.X[t*m:(t+1)*m]...)
	}
	a.Workers, a.X = slices.Concat(a.Workers, b.Workers), x
	return a
}

type totalKey struct{ name, stage int32 }

// quantities returns the quantities of an instance to compare: of a kernel that communicates wait and transfer where its
// members were found, start and transfer where they are on other pipeline stages, else its start alone.
func (v *View) quantities(instance int) []zscore.Quantity {
	switch {
	case v.usesClass():
		return quantities(v.Grid.Instances[instance].Class)
	case v.isMatched(instance) && v.joinsStages(instance):
		return []zscore.Quantity{zscore.Start, zscore.Transfer}
	case v.isMatched(instance):
		return []zscore.Quantity{zscore.Wait, zscore.Transfer}
	case v.communicates(instance):
		return []zscore.Quantity{zscore.Start}
	}
	return []zscore.Quantity{zscore.Start, zscore.Duration}
}

// usesClass reports whether the class of an operator says what it waits for; else
// its group does.
func (v *View) usesClass() bool { return v.Model != nil && !v.Trace.Serial }

// isMatched reports whether an instance was found on other ranks in all lanes, so
// that its wait is known.
func (v *View) isMatched(instance int) bool {
	lanes := v.Grid.Lanes()
	return !slices.ContainsFunc(v.Grid.At[instance*lanes:(instance+1)*lanes], func(row int32) bool { return v.Trace.Group[row] < 0 })
}

// joinsStages reports whether an instance communicates with another pipeline
// stage. Its members are not peers: the send is always the last to start, late or
// not, so lateness shows in when it starts and not in how long others wait.
func (v *View) joinsStages(instance int) bool {
	lanes := v.Grid.Lanes()
	return slices.ContainsFunc(v.Grid.At[instance*lanes:(instance+1)*lanes], func(row int32) bool {
		g := v.Trace.Group[row]
		return g >= 0 && v.across[g]
	})
}

// communicators begin the names of kernels that wait for other ranks.
var communicators = []string{"nccl", "rccl", "mscclKernel", "mscclpp"}

// communicates reports whether an instance is communication: by its group, or
// by its name where the others of the group were not found.
func (v *View) communicates(instance int) bool {
	lanes := v.Grid.Lanes()
	if slices.ContainsFunc(v.Grid.At[instance*lanes:(instance+1)*lanes], func(row int32) bool { return v.Trace.Group[row] >= 0 }) {
		return true
	}
	in := v.Grid.Instances[instance]
	name := strings.TrimPrefix(v.Trace.Names[in.Name], "void ")
	return in.Class.IsCommunication() || slices.ContainsFunc(communicators, func(c string) bool { return strings.HasPrefix(name, c) })
}

// quantities returns the quantities of a class of operators to compare.
func quantities(c operator.Class) []zscore.Quantity {
	switch {
	case c.AcrossReplicas():
		return []zscore.Quantity{zscore.Wait, zscore.Transfer}
	case c.IsTransfer() || c == operator.EmbeddingGradsAllReduce:
		return []zscore.Quantity{zscore.Start, zscore.Transfer}
	}
	return []zscore.Quantity{zscore.Start, zscore.Duration}
}

// peers returns the workers of a stage.
func (v *View) peers(stage int) []int {
	workers := make([]int, v.Grid.Replicas)
	for d := range workers {
		workers[d] = stage*v.Grid.Replicas + d
	}
	return workers
}

func (v *View) series(op, instance int, q zscore.Quantity) zscore.Series {
	lanes, replicas := v.Grid.Lanes(), v.Grid.Replicas
	x := make([]int64, lanes)
	for l, row := range v.Grid.At[instance*lanes : (instance+1)*lanes] {
		switch q {
		case zscore.Start:
			x[l] = v.Trace.Start[row] - v.origins[l/replicas]
		case zscore.Wait:
			x[l] = v.wait[row]
		case zscore.Transfer:
			x[l] = v.transfer[row]
		default:
			x[l] = v.Trace.Dur[row]
		}
	}
	return zscore.Series{Op: op, Quantity: q, Workers: v.peers(int(v.Grid.Instances[instance].Stage)), X: x}
}

// Passes returns the forward and backward passes by stage, microbatch, step and replica, with the passes of several chunks
// added up; nil where the stages do not all have as many of both. Where the trace does not number microbatches, passes of a
// direction count in the order of the program.
func (v *View) Passes() *microbatch.Input {
	g := v.Grid
	in := microbatch.Input{Stages: g.Stages, Steps: len(g.Steps), Replicas: g.Replicas}
	micro := v.microbatches()
	for _, m := range micro {
		in.Microbatches = max(in.Microbatches, m+1)
	}
	if in.Microbatches == 0 {
		return nil
	}
	// Places of microbatches in steps that have a pass, of either direction.
	filled := map[operator.Class]int{}
	seen := map[operator.Instance]bool{}
	in.Forward, in.Backward = make([][]int64, v.Workers()), make([][]int64, v.Workers())
	for w := range v.Workers() {
		in.Forward[w], in.Backward[w] = make([]int64, in.Microbatches*in.Steps), make([]int64, in.Microbatches*in.Steps)
	}
	for i, op := range g.Instances {
		if !op.Class.IsCompute() {
			continue
		}
		passes := in.Forward
		if op.Class == operator.BackwardCompute {
			passes = in.Backward
		}
		if place := (operator.Instance{Class: op.Class, Stage: op.Stage, Seq: int32(micro[i])}); !seen[place] {
			seen[place] = true
			filled[op.Class]++
		}
		for l, row := range g.At[i*g.Lanes() : (i+1)*g.Lanes()] {
			passes[int(op.Stage)*g.Replicas+l%g.Replicas][micro[i]*in.Steps+l/g.Replicas] += v.Trace.Dur[row]
		}
	}
	if all := in.Stages * in.Microbatches; filled[operator.ForwardCompute] < all || filled[operator.BackwardCompute] < all {
		return nil
	}
	return &in
}

// microbatches gives every pass its microbatch, by instance; −1 for what is no
// pass.
func (v *View) microbatches() []int {
	g := v.Grid
	type queue struct {
		class operator.Class
		stage int32
		chunk int32
	}
	next := make(map[queue]int)
	numbered, ordered := slices.Repeat([]int{-1}, len(g.Instances)), slices.Repeat([]int{-1}, len(g.Instances))
	known := true
	for i, in := range g.Instances {
		if !in.Class.IsCompute() {
			continue
		}
		row := g.At[i*g.Lanes()]
		k := queue{in.Class, in.Stage, v.Trace.Chunk[row]}
		ordered[i] = next[k]
		next[k]++
		numbered[i] = int(v.Trace.Microbatch[row])
		known = known && numbered[i] >= 0 && numbered[i] < len(g.Instances)
	}
	if known {
		return numbered
	}
	return ordered
}
