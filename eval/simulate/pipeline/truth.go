package pipeline

import (
	"math"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace/operator"
)

// Truth is what a run hides, complete. Its JSON form reads back as it was.
type Truth struct {
	Run    string      `json:"run"`
	Seed   uint64      `json:"seed"`
	Layout Layout      `json:"layout"`
	Faults []TrueFault `json:"faults"` // none: a healthy run
}

// TrueFault is one fault of a run as it happened.
type TrueFault struct {
	Kind Kind `json:"kind"`
	// Workers are those whose operators are slower, and Ops these operators.
	// For SlowEdge they are the sender with its sends, and the receiver with
	// its receives.
	Workers      []Worker    `json:"workers"`
	Ops          []TrueOp    `json:"ops"`
	Steps        []StepRange `json:"steps"` // in which it struck, by index, ascending
	Intermittent bool        `json:"intermittent"`
}

// Worker is a place in the job and the rank that is recorded for it.
type Worker struct {
	Rank int `json:"rank"`
	DP   int `json:"dp"`
	PP   int `json:"pp"`
}

// TrueOp is what is slower about one kind of operator.
type TrueOp struct {
	Op    string `json:"op"`
	Seq   *int   `json:"seq,omitempty"` // nil: all instances in the step
	Count int    `json:"count"`         // instances that are slower, per worker and step
	// Extra is the mean time, in nanoseconds, that each of them takes longer;
	// exact for a fault of a fixed delay.
	Extra int64 `json:"extra_ns"`
	// Sigma is Extra in standard deviations of the operator's jitter; nil when
	// it has none.
	Sigma *float64 `json:"sigma,omitempty"`
}

// StepRange is the recorded steps from index First to Last, both included.
type StepRange struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	Count int   `json:"count"` // recorded steps
}

// Truth returns what a run of the specification hides.
func (s Spec) Truth() (Truth, error) {
	made, p, err := s.resolve()
	if err != nil {
		return Truth{}, err
	}
	return made.truth(p), nil
}

// truth returns the truth of a resolved spec.
func (s *Spec) truth(p *program) Truth {
	t := Truth{Run: s.Run, Seed: s.Seed, Layout: s.Layout, Faults: []TrueFault{}}
	rng := streams.New()
	for i := range s.Faults {
		f := &s.Faults[i]
		tf := TrueFault{Kind: f.Kind, Workers: s.workersOf(f), Ops: s.opsOf(f, p), Intermittent: f.Intermittent(), Steps: []StepRange{}}
		next := -1 // the step after the last strike
		for step := range s.Steps.Count {
			if !s.strikes(i, step, rng) {
				continue
			}
			index := s.Steps.index(step)
			if step != next {
				tf.Steps = append(tf.Steps, StepRange{First: index})
			}
			last := &tf.Steps[len(tf.Steps)-1]
			last.Last = index
			last.Count++
			next = step + 1
		}
		t.Faults = append(t.Faults, tf)
	}
	return t
}

func (s *Spec) workersOf(f *Fault) []Worker {
	l := s.Layout
	var list []Worker
	for pp := range l.PP {
		for dp := range l.DP {
			if (f.PP == nil || *f.PP == pp) && (f.DP == nil || *f.DP == dp) {
				list = append(list, Worker{l.rank(dp, pp), dp, pp})
			}
		}
	}
	if f.Kind == SlowEdge {
		pp := (*f.PP + 1) % l.PP
		if f.Op == operator.BackwardSend.String() {
			pp = (*f.PP - 1 + l.PP) % l.PP
		}
		list = append(list, Worker{l.rank(*f.DP, pp), *f.DP, pp})
	}
	return list
}

func (s *Spec) opsOf(f *Fault, p *program) []TrueOp {
	var list []TrueOp
	for _, class := range f.classes() {
		op := TrueOp{Op: class.String(), Seq: f.Seq}
		var l law
		for _, v := range p.struck(f) {
			if n := &p.nodes[v]; n.class == class {
				op.Count++
				if l = s.lawsOf(n, s.Layout).work; f.Kind == LateStart {
					l = s.lawsOf(n, s.Layout).launch
				}
			}
		}
		op.Extra = int64(math.Round(f.extra(l)))
		if l.sd > 0 {
			op.Sigma = new(f.extra(l) / l.sd)
		}
		list = append(list, op)
	}
	if f.Kind == SlowEdge {
		list = append(list, p.receivingEnd(f, list[0]))
	}
	return list
}

// receivingEnd returns the other end of slow sends.
func (p *program) receivingEnd(f *Fault, sent TrueOp) TrueOp {
	for _, v := range p.struck(f) {
		peer := &p.nodes[p.groups[p.nodes[v].group].members[1]]
		sent.Op = peer.class.String()
		if f.Seq != nil {
			sent.Seq = new(peer.seq)
		}
	}
	return sent
}
