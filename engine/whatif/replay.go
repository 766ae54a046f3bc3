package whatif

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/parallel"
)

// scenario is one replay: the chosen operators cost what was recorded, all
// others their ideal.
type scenario struct {
	recorded laneChoice
	delayed  *laneChoice // operators that keep their launch delay; nil: none
	// sweep replays once for every replica, with the choice narrowed to that
	// replica; the choice must not have masks.
	sweep bool
	// spans also measures from the first start to the last end.
	spans bool
	// cost and delay, [node][lane], stand in for what was recorded; nil: the
	// model's own.
	cost, delay []int64
}

// times are the results of a scenario.
type times struct {
	// By step, or for a sweep [step][replica].
	done []int64 // from the start of the step to the end of the last final node
	span []int64 // from the first start to the last end of any node; where asked for
}

// replay runs scenarios side by side. Every (scenario, run of steps) is a task
// of its own and writes its own part of the result, so the number of
// processors changes nothing.
func (m *Model) replay(list []scenario) []times {
	out := make([]times, len(list))
	type task struct{ scenario, from, to int }
	var tasks []task
	per := m.stepsPerTile()
	for i, s := range list {
		n := len(m.steps)
		if s.sweep {
			n = m.lanes()
		}
		out[i] = times{make([]int64, n), make([]int64, n)}
		for from := 0; from < len(m.steps); from += per {
			tasks = append(tasks, task{i, from, min(from+per, len(m.steps))})
		}
	}
	parallel.Each(len(tasks), 0, func() func(int) {
		t := m.newTile(per)
		return func(i int) {
			k := tasks[i]
			t.run(&list[k.scenario], k.from, k.to)
			t.collect(&out[k.scenario], k.from)
		}
	})
	return out
}

// tileBytes is the working set of a task: it stays in a second-level cache.
const tileBytes = 256 << 10

// stepsPerTile returns how many steps a task replays together.
func (m *Model) stepsPerTile() int {
	perStep := 8 * m.replicas * (len(m.nodes) + 8)
	return min(len(m.steps), max(1, tileBytes/perStep))
}

// tile replays a scenario on a run of steps.
type tile struct {
	m         *Model
	s         *scenario
	cost      []int64 // the scenario's, or the model's
	delay     []int64
	from, to  int     // lanes
	width     int     // lanes of a row; twice to − from when others is set
	others    bool    // the second half of a row are the ideal replicas beside the one
	ends      []int64 // [node][lane] end, or start of members whose group has not ended
	met       []int64 // [lane] last start in a group
	top       []int64 // [lane] last end of any node
	low       []int64 // [lane] first start of any node
	finals    []int64 // [lane] last end of a final node
	rowLength int
}

func (m *Model) newTile(steps int) *tile {
	n := 2 * steps * m.replicas
	t := &tile{m: m, rowLength: n, ends: make([]int64, len(m.nodes)*n)}
	t.met, t.top, t.low, t.finals = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	return t
}

func (t *tile) row(v int32) []int64 {
	return t.ends[int(v)*t.rowLength:][:t.width]
}

// run replays steps from … to. In a sweep over replicas each lane is the one
// replica whose operators are as recorded; all its fellows are ideal, hence
// equal, so one lane stands for them all and the synchronisation point of all replicas is
// the synchronisation point of two.
func (t *tile) run(s *scenario, from, to int) {
	m := t.m
	t.s, t.from, t.to = s, from*m.replicas, to*m.replicas
	if t.cost = s.cost; t.cost == nil {
		t.cost = m.cost
	}
	if t.delay = s.delay; t.delay == nil {
		t.delay = m.delay
	}
	t.width = t.to - t.from
	if t.others = s.sweep && m.replicas > 1; t.others {
		t.width *= 2
	}
	for l := range t.width {
		t.top[l], t.low[l], t.finals[l] = math.MinInt64, math.MaxInt64, math.MinInt64
	}
	for _, in := range m.order {
		t.start(in.node)
		switch {
		case in.group < 0:
			t.addCost(in.node, t.row(in.node))
			t.recordEnd(in.node)
		case in.ends:
			t.endGroup(&m.groups[in.group])
		}
	}
}

// start puts the start of a node in its row.
func (t *tile) start(v int32) {
	row := t.row(v)
	switch after := t.m.nodes[v].After; len(after) {
	case 0:
		clear(row)
	case 1:
		copy(row, t.row(after[0]))
	default:
		maxOf(row, t.row(after[0]), t.row(after[1]))
		for _, u := range after[2:] {
			maxInto(row, t.row(u))
		}
	}
	if d := t.s.delayed; d != nil {
		if delay := t.m.row(t.delay, v)[t.from:t.to]; d.all[v] {
			addRow(row, delay)
		} else if d.mask[v] != nil {
			addChosen(row, delay, d.mask[v][t.from:t.to], 0)
		}
	}
	if t.s.spans {
		minInto(t.low[:len(row)], row)
	}
}

// addCost adds the duration of a node to its row.
func (t *tile) addCost(v int32, row []int64) {
	ideal, n := t.m.ideal[v], t.to-t.from
	if t.others {
		addConst(row[n:], ideal)
		row = row[:n]
	}
	switch c := &t.s.recorded; {
	case c.all[v]:
		addRow(row, t.m.row(t.cost, v)[t.from:t.to])
	case c.mask[v] != nil:
		addChosen(row, t.m.row(t.cost, v)[t.from:t.to], c.mask[v][t.from:t.to], ideal)
	default:
		addConst(row, ideal)
	}
}

// endGroup ends the members of a group, all of which have started.
func (t *tile) endGroup(g *Group) {
	met := t.met[:t.width]
	copy(met, t.row(g.Members[0]))
	for _, v := range g.Members[1:] {
		maxInto(met, t.row(v))
	}
	switch {
	case g.AcrossReplicas && t.others:
		half := t.width / 2
		maxInto(met[:half], met[half:])
		copy(met[half:], met[:half])
	case g.AcrossReplicas && !t.s.sweep:
		maxBlocks(met, t.m.replicas)
	}
	for _, v := range g.Members {
		row := t.row(v)
		copy(row, met)
		t.addCost(v, row)
		t.recordEnd(v)
	}
}

// recordEnd keeps the end of a node where it is the last so far, of all nodes and of the final ones.
func (t *tile) recordEnd(v int32) {
	row := t.row(v)
	if t.s.spans {
		maxInto(t.top[:len(row)], row)
	}
	if t.m.nodes[v].Final {
		maxInto(t.finals[:len(row)], row)
	}
}

// collect writes the step times of the tile into the result.
func (t *tile) collect(out *times, from int) {
	n, r := t.to-t.from, t.m.replicas
	if t.s.sweep {
		done, span := out.done[from*r:], out.span[from*r:]
		for l := range n {
			top, low, final := t.top[l], t.low[l], t.finals[l]
			if t.others {
				top, low, final = max(top, t.top[n+l]), min(low, t.low[n+l]), max(final, t.finals[n+l])
			}
			done[l], span[l] = final, top-low
		}
		return
	}
	for s := range n / r {
		lanes := func(row []int64) []int64 { return row[s*r : (s+1)*r] }
		out.done[from+s] = slices.Max(lanes(t.finals))
		out.span[from+s] = slices.Max(lanes(t.top)) - slices.Min(lanes(t.low))
	}
}
