package operator

import (
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
)

// matchSlack is how far two clocks may disagree about an order of events, in
// nanoseconds, when transfers are matched with the passes that they serve.
const matchSlack = 50_000

// Wiring says which pass a transfer serves and where its other end is, for
// every instance of a grid; −1 for none and for instances that are no
// transfers.
type Wiring struct {
	Serves []int32 // instance of the forward or backward pass
	Peer   []int32 // instance of the other end, on a neighbouring stage
}

// Wire matches the sends and receives of the template. On each stage the k-th
// receive in order of start feeds the k-th pass of its direction, and the k-th
// send takes what it made; a stage may lack the receive of its first pass.
// Receives that start after the last pass started, and sends that end before
// the first pass ended, moved nothing and serve nothing. Transfers at the ends
// of the model serve a pass but have no peer. The others pair up: the j-th of
// the sender with the j-th of the neighbour.
func (t *Trace) Wire(g *Grid) (*Wiring, error) {
	w := &Wiring{Serves: slices.Repeat([]int32{-1}, len(g.Instances)), Peer: slices.Repeat([]int32{-1}, len(g.Instances))}
	m := matcher{t: t, g: g, rows: g.Template(), wiring: w, real: make(map[end][]int32)}
	for i, in := range g.Instances {
		if k := (end{in.Class, in.Stage}); in.Class.IsTransfer() || in.Class.IsCompute() {
			m.all = append(m.all, k)
			m.real[k] = append(m.real[k], int32(i)) // in order of start
		}
		if in.Class.IsCompute() {
			m.depth = max(m.depth, (m.t.Chunk[m.rows[i]]+1)*int32(g.Stages))
		}
	}
	m.depth = max(m.depth, int32(g.Stages))
	m.all = slices.Compact(slices.SortedFunc(slices.Values(m.all), end.compare))
	for _, k := range m.all {
		if k.class.IsTransfer() {
			if err := m.serve(k); err != nil {
				return nil, err
			}
		}
	}
	for _, k := range m.all {
		if k.class.IsTransfer() {
			if err := m.pair(k); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

// end is one class of operators on one stage.
type end struct {
	class Class
	stage int32
}

func (a end) compare(b end) int {
	if a.class != b.class {
		return int(a.class) - int(b.class)
	}
	return int(a.stage - b.stage)
}

// matcher holds what Wire works on.
type matcher struct {
	t      *Trace
	g      *Grid
	rows   []int32
	wiring *Wiring
	all    []end
	real   map[end][]int32 // instances; of transfers, after serve, those with a peer
	depth  int32           // model chunks in the whole model
}

// serve matches the transfers of one class on one stage with passes, and keeps
// those that have a peer.
func (m *matcher) serve(k end) error {
	passes := slices.Clone(m.real[end{k.class.Serves(), k.stage}])
	slices.SortFunc(passes, func(a, b int32) int { return int(m.g.Instances[a].Seq - m.g.Instances[b].Seq) })
	moved := m.servingTransfers(k, passes)
	missing := len(passes) - len(moved)
	if atEnd := k.stage == 0 || int(k.stage) == m.g.Stages-1; missing != 0 && (!atEnd || len(moved) != 0 && missing != 1) {
		return input.Bad(input.ErrMissing, "stage %d has %d %s that moved something for %d %s in step %d, expected as many%s",
			k.stage, len(moved), k.class, len(passes), k.class.Serves(), m.t.Steps[m.g.Steps[0]],
			map[bool]string{true: ", one fewer, or none"}[atEnd])
	}
	if missing == 1 && k.class.IsReceive() && len(moved) > 0 {
		passes = passes[1:]
	}
	_, toward := k.class.opposite()
	withPeer := moved[:0]
	for i, transfer := range moved {
		m.wiring.Serves[transfer] = passes[i]
		if far := m.globalChunk(passes[i]) + int32(toward); far >= 0 && far < m.depth {
			withPeer = append(withPeer, transfer)
		}
	}
	m.real[k] = withPeer
	return nil
}

// servingTransfers returns the transfers that can have served one of the passes.
func (m *matcher) servingTransfers(k end, passes []int32) []int32 {
	if len(passes) == 0 {
		return nil
	}
	lastStart, firstEnd := int64(-1), int64(trace.MaxTotal)
	for _, p := range passes {
		row := m.rows[p]
		lastStart = max(lastStart, m.t.Start[row])
		firstEnd = min(firstEnd, m.t.Start[row]+m.t.Dur[row])
	}
	return slices.DeleteFunc(slices.Clone(m.real[k]), func(i int32) bool {
		row := m.rows[i]
		if k.class.IsReceive() {
			return m.t.Start[row] > lastStart+matchSlack
		}
		return m.t.Start[row]+m.t.Dur[row] < firstEnd-matchSlack
	})
}

// globalChunk returns the depth of a pass in the model; sources without it
// place chunk c of stage s at c·stages + s.
func (m *matcher) globalChunk(pass int32) int32 {
	row := m.rows[pass]
	if depth := m.t.GlobalChunk[row]; depth >= 0 {
		return depth
	}
	return max(0, m.t.Chunk[row])*int32(m.g.Stages) + m.g.Instances[pass].Stage
}

// pair joins the transfers of one class on one stage with those at the other
// end.
func (m *matcher) pair(k end) error {
	class, toward := k.class.opposite()
	stages := int32(m.g.Stages)
	far := end{class, (k.stage + int32(toward) + stages) % stages}
	here, there := m.real[k], m.real[far]
	if len(here) != len(there) {
		return input.Bad(input.ErrMissing, "stage %d has %d %s with a peer, stage %d has %d %s in step %d: transfers are missing",
			k.stage, len(here), k.class, far.stage, len(there), far.class, m.t.Steps[m.g.Steps[0]])
	}
	for j, i := range here {
		m.wiring.Peer[i] = there[j]
	}
	return nil
}

// Join sets Group: sends with their receives, collectives over replicas and
// over stages, in all steps of the grid. Instances that communicate with
// nobody in the trace, and steps that the grid leaves out, keep −1.
func (t *Trace) Join(g *Grid, w *Wiring) {
	for i := range t.Group {
		t.Group[i] = -1
	}
	lanes, next := g.Lanes(), int32(0)
	first := make(map[Instance]int32) // group of lane 0 by what members share
	for i, in := range g.Instances {
		perLane, groups := groupOf(in, g)
		if in.Class.IsTransfer() {
			perLane, groups = true, w.Peer[i] >= 0
		}
		if !groups {
			continue
		}
		key := Instance{in.Name, in.Seq, in.Stage, in.Class}
		switch {
		case in.Class.IsTransfer():
			key = g.Instances[min(int32(i), w.Peer[i])]
		case in.Class == OptimizerClip || in.Class == EmbeddingGradsAllReduce:
			key.Stage = 0
		}
		at, ok := first[key]
		if !ok {
			at = next
			first[key] = at
			if next += int32(len(g.Steps)); perLane {
				next = at + int32(lanes)
			}
		}
		for l, row := range g.At[i*lanes : (i+1)*lanes] {
			if t.Group[row] = at + int32(l); !perLane {
				t.Group[row] = at + int32(l/g.Replicas)
			}
		}
	}
}

// groupOf reports whether a collective has other members in the trace, and whether these are of the same replica.
func groupOf(in Instance, g *Grid) (perLane, groups bool) {
	switch {
	case in.Class == OptimizerClip:
		return false, g.Replicas*g.Stages > 1
	case in.Class.AcrossReplicas():
		return false, g.Replicas > 1
	case in.Class == EmbeddingGradsAllReduce:
		return true, g.Stages > 1 && (in.Stage == 0 || int(in.Stage) == g.Stages-1)
	}
	return false, false
}

// Waits splits every duration at the moment when the last member of its group
// started: wait before it, transfer after it. An instance without a group
// waits for nobody. A transfer is negative where clocks disagree.
func (t *Trace) Waits() (wait, transfer []int64) {
	last := make([]int64, int(slices.Max(append([]int32{-1}, t.Group...)))+1)
	for i, g := range t.Group {
		if g >= 0 {
			last[g] = max(last[g], t.Start[i])
		}
	}
	wait, transfer = make([]int64, t.Len()), slices.Clone(t.Dur)
	for i, g := range t.Group {
		if g >= 0 {
			wait[i] = last[g] - t.Start[i]
			transfer[i] -= wait[i]
		}
	}
	return wait, transfer
}
