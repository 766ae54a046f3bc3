package whatif

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// recording is what a graph's nodes did: N nodes × L lanes, where lane
// s·Replicas + r is replica r in step s.
type recording struct {
	Steps    []int64 // step indices
	Replicas int
	Ranks    []int   // [stage][replica] the rank that ran it
	Start    []int64 // [node][lane] nanoseconds on any clock that a step shares
	Dur      []int64 // [node][lane] nanoseconds
}

// Ideal says over which operators of a kind the ideal duration is taken.
type Ideal uint8

const (
	// IdealOverAll takes all replicas, stages and steps, as the paper does. A
	// stage that has more to do by design counts as slow.
	IdealOverAll Ideal = iota
	// IdealOverPeers takes the replicas and steps of the same stage only.
	IdealOverPeers
)

var idealNames = [...]string{"all", "peers"}

func (i Ideal) String() string { return enum.Name(idealNames[:], i) }

// Names returns the names of all values.
func (Ideal) Names() []string { return idealNames[:] }

// Missing says what becomes of a trace that lacks operators which end every
// training step, such as the optimizer.
type Missing uint8

const (
	RefuseMissing Missing = iota // it is refused, as in the paper
	NoteMissing                  // what is there is replayed, and a note says what is not
)

// Options of a model. The zero value is the paper's.
type Options struct {
	Ideal   Ideal
	Missing Missing
	// LaunchThreshold is the launch slowdown from which the result says which
	// operators start late; 0: LaunchThreshold.
	LaunchThreshold float64
}

// LaunchThreshold is the paper's.
const LaunchThreshold = 1.03

// clockSlack is how far clocks may disagree: a transfer or launch delay below
// its negative is no measurement and counts as zero.
const clockSlack = 10_000_000

// Model is recorded steps, ready to be replayed. It is safe for concurrent use.
type Model struct {
	*program
	o        Options
	steps    []int64
	replicas int
	stages   int
	ranks    []int
	notes    []input.Note

	instances []int32 // of the trace's grid, by node

	ops  []string // kinds
	opOf []int32  // kind of each node

	cost  []int64 // [node][lane] duration, or transfer of a member of a group
	delay []int64 // [node][lane] launch delay
	ideal []int64 // by node
	base  []int64 // recorded step times

	noDelay, allIdeal times
}

// New makes the model of an arranged operator trace of hybrid-parallel
// training.
func New(t *operator.Trace, o Options) (*Model, error) {
	g, err := t.Grid()
	if err != nil {
		return nil, err
	}
	s, err := newSchedule(t, g, o.Missing)
	if err != nil {
		return nil, err
	}
	lanes := g.Lanes()
	r := recording{Replicas: g.Replicas, Start: make([]int64, len(s.instance)*lanes), Dur: make([]int64, len(s.instance)*lanes)}
	for v, i := range s.instance {
		start, dur := r.Start[v*lanes:(v+1)*lanes], r.Dur[v*lanes:(v+1)*lanes]
		for l, row := range g.At[int(i)*lanes : (int(i)+1)*lanes] {
			start[l], dur[l] = t.Start[row], t.Dur[row]
		}
	}
	for _, step := range g.Steps {
		r.Steps = append(r.Steps, t.Steps[step])
	}
	for _, w := range g.Workers {
		r.Ranks = append(r.Ranks, t.Ranks[w].ID)
	}
	m, err := modelOf(s.graph, r, o)
	if err != nil {
		return nil, err
	}
	m.notes = append(slices.Clone(g.Notes), s.notes...)
	m.instances = s.instance
	return m, nil
}

// modelOf returns the model of a graph and what its nodes did.
func modelOf(g graph, r recording, o Options) (*Model, error) {
	p, err := compile(g, r.Replicas)
	if err != nil {
		return nil, err
	}
	m := &Model{program: p, o: o, steps: r.Steps, replicas: r.Replicas, stages: len(r.Ranks) / r.Replicas, ranks: r.Ranks}
	kind := make(map[string]int32)
	for _, n := range g.Nodes {
		m.opOf = append(m.opOf, operator.Number(kind, &m.ops, n.Op))
	}
	if err := m.measure(r); err != nil {
		return nil, err
	}
	m.findIdeal()
	out := m.replay([]scenario{{recorded: m.chooseAll(), spans: true}, {recorded: m.newChosen(), spans: true}})
	m.noDelay, m.allIdeal = out[0], out[1]
	return m, nil
}

func (m *Model) lanes() int { return len(m.steps) * m.replicas }

// row returns the part of a [node][lane] array that belongs to a node.
func (m *Model) row(array []int64, v int32) []int64 {
	n := m.lanes()
	return array[int(v)*n : (int(v)+1)*n]
}

// measure splits what was recorded into launch delays, waits and costs.
func (m *Model) measure(r recording) error {
	first, last := m.bounds(r)
	m.base = make([]int64, len(m.steps))
	longest := int64(0)
	for s := range m.steps {
		m.base[s] = last[s] - first[s]
		longest = max(longest, m.base[s])
	}
	if longest > math.MaxInt64/8/int64(len(m.nodes)+1) {
		return input.Bad(input.ErrOverflow, "a step of %d ns with %d operators is too long to be replayed: are starts of a step on one clock?", longest, len(m.nodes))
	}
	m.cost, m.delay = slices.Clone(r.Dur), make([]int64, len(r.Dur))
	ends := make([]int64, len(r.Dur))
	for i, s := range r.Start {
		ends[i] = s + r.Dur[i]
	}
	ready := make([]int64, m.lanes())
	for v, n := range m.nodes {
		start, delay := m.row(r.Start, int32(v)), m.row(m.delay, int32(v))
		for l := range ready {
			ready[l] = math.MinInt64
			if len(n.After) == 0 {
				ready[l] = first[l/m.replicas]
			}
		}
		for _, u := range n.After {
			maxInto(ready, m.row(ends, u))
		}
		for l, s := range start {
			if delay[l] = s - ready[l]; delay[l] <= -clockSlack {
				delay[l] = 0
			}
		}
	}
	for _, g := range m.groups {
		copy(ready, m.row(r.Start, g.Members[0]))
		for _, v := range g.Members[1:] {
			maxInto(ready, m.row(r.Start, v))
		}
		if g.AcrossReplicas {
			maxBlocks(ready, m.replicas)
		}
		for _, v := range g.Members {
			cost, end := m.row(m.cost, v), m.row(ends, v)
			for l, e := range end {
				if cost[l] = e - ready[l]; cost[l] <= -clockSlack {
					cost[l] = 0
				}
			}
		}
	}
	return nil
}

// bounds returns the first start and last end of every step.
func (m *Model) bounds(r recording) (first, last []int64) {
	first, last = slices.Repeat([]int64{math.MaxInt64}, len(m.steps)), slices.Repeat([]int64{math.MinInt64}, len(m.steps))
	for i := 0; i < len(r.Start); {
		for s := range m.steps {
			lo, hi := first[s], last[s]
			for range m.replicas {
				lo, hi = min(lo, r.Start[i]), max(hi, r.Start[i]+r.Dur[i])
				i++
			}
			first[s], last[s] = lo, hi
		}
	}
	return first, last
}
