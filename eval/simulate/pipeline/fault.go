package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// classes returns the classes of operators that a resolved fault slows down.
func (f *Fault) classes() []operator.Class {
	if f.Kind == Workload || f.Op == "" {
		return []operator.Class{operator.ForwardCompute, operator.BackwardCompute}
	}
	return []operator.Class{operator.ParseClass(f.Op)}
}

// resolveFaults fills what the faults leave open and checks them against the
// program.
func (s *Spec) resolveFaults(p *program) error {
	s.Faults = slices.DeleteFunc(slices.Clone(s.Faults), func(f Fault) bool { return f.Kind == NoFault })
	rng := streams.New()
	for i := range s.Faults {
		f := &s.Faults[i]
		rng.Restart(s.Seed, forHidden, uint64(i), int64(f.Kind))
		err := f.validate()
		if err == nil {
			err = f.place(p, rng)
		}
		if err == nil {
			err = s.validateSize(f)
		}
		if err != nil {
			return fmt.Errorf("fault %d (%v): %w", i, f.Kind, err)
		}
	}
	return nil
}

// validate checks what does not depend on the job.
func (f *Fault) validate() error {
	class := operator.ParseClass(f.Op)
	ways := 0
	for _, x := range []float64{float64(f.Delay), f.Factor, f.Sigma} {
		if x != 0 {
			ways++
		}
	}
	switch {
	case int(f.Kind) >= len(kindNames):
		return input.Bad(input.ErrType, "unknown kind")
	case f.Op != "" && (f.Kind == Workload || class.String() != f.Op || !f.Kind.accepts(class)):
		return input.Bad(input.ErrType, "op is %q, which this kind of fault cannot slow down", f.Op)
	case ways != 1:
		return input.Bad(input.ErrFormat, "delay %v ms, factor %v, sigma %v: expected one of them", f.Delay, f.Factor, f.Sigma)
	case f.Kind == Workload && f.Factor == 0:
		return input.Bad(input.ErrFormat, "expected a factor: the mean length of a microbatch")
	case f.Shared > 0 && f.Kind != Workload:
		return input.Bad(input.ErrRange, "shared %v, expected 0 except for %v", f.Shared, Workload)
	}
	return cmp.Or(f.When.Validate(), simulate.CheckLimits(
		simulate.Limit{Key: "delay_ms", Value: float64(f.Delay), High: maxMillis},
		simulate.Limit{Key: "factor", Value: cmp.Or(f.Factor, 1), Low: 1, High: 1e6},
		simulate.Limit{Key: "sigma", Value: f.Sigma, High: 1e9},
		simulate.Limit{Key: "shared", Value: f.Shared, High: 1}))
}

// place sets where the fault is. The seed is asked for every coordinate, used
// or not, so that what one of them is does not depend on another.
func (f *Fault) place(p *program, rng *streams.Stream) error {
	if op, ok := defaultOps[f.Kind]; ok && f.Op == "" {
		f.Op = op.String()
	}
	hasDP := f.Kind != SlowStage && f.Kind != SlowGroup && f.Kind != Workload
	hasPP := f.Kind != Workload
	if !hasDP && f.DP != nil || !hasPP && (f.PP != nil || f.Seq != nil) {
		return input.Bad(input.ErrFormat, "this kind of fault has no such place: leave out dp, and for %v pp and seq", Workload)
	}
	a, b, c := rng.Float64(), rng.Float64(), rng.Float64()
	if f.DP == nil && hasDP {
		f.DP = new(int(a * float64(p.layout.DP)))
	}
	if hasDP && (*f.DP < 0 || *f.DP >= p.layout.DP) {
		return input.Bad(input.ErrTooLarge, "dp is %d, there are 0 to %d", *f.DP, p.layout.DP-1)
	}
	if hasPP {
		return f.placeOnStage(p, b, c)
	}
	return nil
}

// placeOnStage sets the stage, from those that have the operator, and the
// instance.
func (f *Fault) placeOnStage(p *program, u, v float64) error {
	var possible []int
	for stage := range p.stages {
		if len(p.targets(f, stage)) > 0 {
			possible = append(possible, stage)
		}
	}
	if len(possible) == 0 {
		return input.Bad(input.ErrMissing, "no stage has a %s that could be slow in this layout", f.Op)
	}
	if f.PP == nil {
		f.PP = new(possible[int(u*float64(len(possible)))])
	}
	if !slices.Contains(possible, *f.PP) {
		return input.Bad(input.ErrMissing, "stage %d has no %s that could be slow, stages %v have", *f.PP, f.Op, possible)
	}
	targets := p.targets(f, *f.PP)
	if f.Seq == nil && f.Kind.once() {
		f.Seq = new(p.nodes[targets[int(v*float64(len(targets)))]].seq)
	}
	if f.Seq != nil && !slices.ContainsFunc(targets, func(v int32) bool { return p.nodes[v].seq == *f.Seq }) {
		return input.Bad(input.ErrMissing, "stage %d has no %s %d, it has %d of them", *f.PP, f.Op, *f.Seq, len(targets))
	}
	return nil
}

// targets returns the nodes of a stage that the fault may slow down.
func (p *program) targets(f *Fault, stage int) []int32 {
	classes := f.classes()
	var list []int32
	for _, v := range p.stages[stage] {
		n := &p.nodes[v]
		if slices.Contains(classes, n.class) && (f.Kind != SlowEdge || n.group >= 0) {
			list = append(list, v)
		}
	}
	return list
}

// struck returns the nodes of the stage of a resolved fault that it slows down.
func (p *program) struck(f *Fault) []int32 {
	stage := 0
	if f.PP != nil {
		stage = *f.PP
	}
	return slices.DeleteFunc(p.targets(f, stage), func(v int32) bool { return f.Seq != nil && p.nodes[v].seq != *f.Seq })
}

// validateSize refuses a size that is relative to nothing.
func (s *Spec) validateSize(f *Fault) error {
	for _, class := range f.classes() {
		d := s.dist(f, class)
		if f.Factor > 0 && d.Mean == 0 || f.Sigma > 0 && (d.Mean == 0 || d.Jitter == 0) {
			return input.Bad(input.ErrFormat, "%s has a mean of %v ms and a jitter of %v: give the size as delay_ms", class, d.Mean, d.Jitter)
		}
	}
	return nil
}

// dist returns the distribution that the fault adds to: a duration or transfer, or a launch delay.
func (s *Spec) dist(f *Fault, class operator.Class) Dist {
	if f.Kind == LateStart {
		return s.Ops.entry(class).Launch
	}
	return s.Ops.entry(class).Dist
}

// hit is what a fault does to one node's draws when it strikes.
type hit struct {
	node     int32
	launch   bool // to the launch delay; else to the duration or transfer
	from, to int  // replicas
	add      int64
	factor   float64
}

// hitsOf returns the hits of a resolved fault; a Workload has none.
func (g *generator) hitsOf(f *Fault) []hit {
	if f.Kind == Workload {
		return nil
	}
	var list []hit
	for _, v := range g.program.struck(f) {
		n := &g.program.nodes[v]
		l, late := g.laws[v].work, f.Kind == LateStart
		if late {
			l = g.laws[v].launch
		}
		h := hit{node: v, launch: late, to: g.spec.Layout.DP, add: int64(math.Round(f.extra(l))), factor: 1}
		if f.Factor > 0 {
			h.add, h.factor = 0, f.Factor
		}
		if f.DP != nil {
			h.from, h.to = *f.DP, *f.DP+1
		}
		if n.group >= 0 && !late && g.program.groups[n.group].across {
			h.from, h.to = 0, 1 // drawn once, see drawGroups
		}
		list = append(list, h)
	}
	return list
}

// extra returns the time, in nanoseconds, that a fault adds to an operator on average.
func (f *Fault) extra(l law) float64 {
	switch {
	case f.Factor > 0:
		return (f.Factor - 1) * l.mean
	case f.Sigma > 0:
		return f.Sigma * l.sd
	}
	return float64(f.Delay) * nsPerMilli
}
