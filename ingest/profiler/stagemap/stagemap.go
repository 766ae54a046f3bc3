// Package stagemap says to which stage of a training step an annotation of a
// profiler belongs, by its name.
//
// A map is an ordered list of stages and a list of rules, of which the first
// that matches counts. The built-in rules know what PyTorch names by itself
// (the data loader, the optimizer, DistributedDataParallel and
// FullyShardedDataParallel, the autograd engine), what Lightning and Megatron
// add, and the plain words that people use: "## forward ##", "backward". A
// YAML file puts rules of its own before them, and may name other stages:
//
//	stages: [data.next_wait, model.fwd_loss_cpu_wall, model.backward_cpu_wall, optim.step_cpu_wall]
//	rules:
//	  - {exact: encode, stage: model.fwd_loss_cpu_wall}
//	  - {prefix: "loader/", stage: data.next_wait}
//	  - {glob: "*.validate", stage: none}
//
// Names that begin a step ("ProfilerStep#7", "## iteration 7 ##") are marks,
// not stages.
package stagemap

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/profile"
)

// The stages of the built-in rules: those of the recorder, in its order.
const (
	Data      = "data.next_wait"
	Forward   = "model.fwd_loss_cpu_wall"
	Backward  = "model.backward_cpu_wall"
	Callbacks = "callbacks.cpu_wall"
	Optimizer = profile.OptimizerStage
)

// Role is what an annotation is to a step.
type Role uint8

const (
	Unmapped   Role = iota // of no meaning here
	Stage                  // a piece of a stage
	Background             // a piece of a stage that works for the main thread from another one
	Step                   // a whole step
)

// Class is what a name means.
type Class struct {
	Role  Role
	Stage int // position in Map.Stages, of stages only
	// Yields: what is nested inside and belongs to another stage is not this
	// one's. An optimizer that is given a closure runs the forward and backward
	// passes inside its step.
	Yields bool
	// Plain: the name is a word of everyday speech ("forward"), which counts
	// where a person wrote it, and not as the name of an operator.
	Plain bool
	Mark  Mark // of steps only
}

// Mark is how an annotation marks a step.
type Mark struct {
	Kind   MarkKind
	Number int64 // −1: the name has none, steps are counted
}

// MarkKind orders the marks: the highest that a trace has is taken.
type MarkKind uint8

const (
	NoMark       MarkKind = iota
	WrapperMark           // of a training framework, without a number
	NumberedMark          // "iteration 7" in one of its forms
	ProfilerMark          // torch.profiler's own "ProfilerStep#7"
)

// Map is an ordered list of stages with the rules that lead to them. It is
// not changed once made.
type Map struct {
	Stages []string
	rules  []rule
}

// Default returns the built-in map.
func Default() *Map {
	return &Map{Stages: []string{Data, Forward, Backward, Callbacks, Optimizer}, rules: builtin()}
}

// AddStage returns the map with one more stage, before the callbacks.
func (m *Map) AddStage(stage string) *Map {
	at := m.Index(Callbacks)
	if at < 0 {
		at = len(m.Stages)
	}
	out := &Map{Stages: slices.Insert(slices.Clone(m.Stages), at, stage), rules: m.rules}
	return out
}

// Index returns the position of a stage, −1 when the map has none of this name.
func (m *Map) Index(stage string) int { return slices.Index(m.Stages, stage) }

// Classify finds what a name means. O(rules).
func (m *Map) Classify(name string) Class {
	if mark := markOf(name); mark.Kind != NoMark {
		return Class{Role: Step, Mark: mark, Plain: mark.Kind != ProfilerMark}
	}
	if i := m.Index(name); i >= 0 {
		return Class{Role: Stage, Stage: i}
	}
	plain := plainWords(name)
	for i := range m.rules {
		r := &m.rules[i]
		if !r.matches(name, plain) {
			continue
		}
		at := m.Index(r.stage)
		if at < 0 {
			return Class{}
		}
		c := Class{Role: Stage, Stage: at, Yields: r.yields, Plain: r.how == words}
		if r.background {
			c.Role = Background
		}
		return c
	}
	return Class{}
}

// plainWords returns a name as people mean it: in lower case, without the signs
// that set it off.
func plainWords(name string) string {
	return strings.ToLower(strings.Trim(name, "#*=- \t"))
}

// rule leads names to a stage; "" is none.
type rule struct {
	how        how
	pattern    string
	stage      string
	yields     bool
	background bool
}

type how uint8

const (
	exact  how = iota
	prefix     // of the name
	glob       // * any characters, ? any one
	words      // exact, but for case and the signs around
)

func (r *rule) matches(name, plain string) bool {
	switch r.how {
	case exact:
		return name == r.pattern
	case prefix:
		return strings.HasPrefix(name, r.pattern)
	case glob:
		return globMatch(r.pattern, name)
	}
	return plain == r.pattern
}

// globMatch reports whether the whole name fits the pattern, in which * stands
// for any characters and ? for one byte. O(len(pattern)·len(name)).
func globMatch(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
