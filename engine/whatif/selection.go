package whatif

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// Where is the operators that match all of its fields; an empty field matches
// everything. The zero Where is all operators.
type Where struct {
	Ops    []string // kinds, or ForwardTransfers, BackwardTransfers
	Stages []int
	DP     []int // replicas
	Ranks  []int
	Steps  []int64 // step indices
}

// Names of kinds that stand for both ends of a transfer between stages.
const (
	ForwardTransfers  = "forward-pp-comm"
	BackwardTransfers = "backward-pp-comm"
)

// family returns the name under which results list a kind: the ends of a transfer
// are listed together.
func family(op string) string {
	switch op {
	case "forward-send", "forward-recv":
		return ForwardTransfers
	case "backward-send", "backward-recv":
		return BackwardTransfers
	}
	return op
}

// Selection is the operators that match any of its members. The empty
// selection is none.
type Selection []Where

// laneChoice says for every node in which lanes it is chosen: a mask of −1 and 0,
// or one for all lanes.
type laneChoice struct {
	all  []bool
	mask [][]int64 // nil: none, unless all
}

func (m *Model) newChosen() laneChoice {
	return laneChoice{make([]bool, len(m.nodes)), make([][]int64, len(m.nodes))}
}

// chooseAll chooses all operators.
func (m *Model) chooseAll() laneChoice { return m.newChosen().invert() }

// chooseNodes returns a selection of whole nodes.
func (m *Model) chooseNodes(in func(v int) bool) laneChoice {
	c := m.newChosen()
	for v := range c.all {
		c.all[v] = in(v)
	}
	return c
}

// invert chooses the operators that c does not.
func (c laneChoice) invert() laneChoice {
	out := laneChoice{make([]bool, len(c.all)), make([][]int64, len(c.mask))}
	done := make(map[*int64][]int64) // masks are shared among nodes
	for v, all := range c.all {
		mask := c.mask[v]
		if mask == nil {
			out.all[v] = !all
			continue
		}
		flipped, ok := done[&mask[0]]
		if !ok {
			flipped = make([]int64, len(mask))
			for l, x := range mask {
				flipped[l] = ^x
			}
			done[&mask[0]] = flipped
		}
		out.mask[v] = flipped
	}
	return out
}

// choose resolves a selection; it refuses names and numbers that the model
// does not have.
func (m *Model) choose(sel Selection) (laneChoice, error) {
	for _, w := range sel {
		if err := m.checkNames(w); err != nil {
			return laneChoice{}, err
		}
	}
	c := m.newChosen()
	type class struct {
		op    int32
		stage int
	}
	masks := make(map[class][]int64)
	for v, op := range m.opOf {
		k := class{op, m.nodes[v].Stage}
		mask, ok := masks[k]
		if !ok {
			mask = m.mask(sel, m.ops[op], k.stage)
			masks[k] = mask
		}
		switch {
		case !slices.Contains(mask, 0):
			c.all[v] = true
		case slices.Contains(mask, -1):
			c.mask[v] = mask
		}
	}
	return c, nil
}

// mask returns the lanes in which a kind on a stage is selected.
func (m *Model) mask(sel Selection, op string, stage int) []int64 {
	mask := make([]int64, m.lanes())
	has := func(list []int, x int) bool { return len(list) == 0 || slices.Contains(list, x) }
	for _, w := range sel {
		if !has(w.Stages, stage) || len(w.Ops) > 0 && !slices.Contains(w.Ops, op) && !slices.Contains(w.Ops, family(op)) {
			continue
		}
		for l := range mask {
			step, dp := l/m.replicas, l%m.replicas
			if has(w.DP, dp) && has(w.Ranks, m.ranks[stage*m.replicas+dp]) && (len(w.Steps) == 0 || slices.Contains(w.Steps, m.steps[step])) {
				mask[l] = -1
			}
		}
	}
	return mask
}

// checkNames refuses a Where that names what is not there.
func (m *Model) checkNames(w Where) error {
	for _, op := range w.Ops {
		if !slices.Contains(m.ops, op) && !slices.ContainsFunc(m.ops, func(o string) bool { return family(o) == op }) {
			return input.Bad(input.ErrMissing, "no operator is called %q, there are %s", op, strings.Join(m.ops, ", "))
		}
	}
	for _, s := range w.Stages {
		if s < 0 || s >= m.stages {
			return input.Bad(input.ErrMissing, "no stage %d, there are 0 to %d", s, m.stages-1)
		}
	}
	for _, d := range w.DP {
		if d < 0 || d >= m.replicas {
			return input.Bad(input.ErrMissing, "no dp rank %d, there are 0 to %d", d, m.replicas-1)
		}
	}
	for _, r := range w.Ranks {
		if !slices.Contains(m.ranks, r) {
			return input.Bad(input.ErrMissing, "rank %d recorded nothing, %d ranks from %d to %d did", r, len(m.ranks), slices.Min(m.ranks), slices.Max(m.ranks))
		}
	}
	for _, s := range w.Steps {
		if !slices.Contains(m.steps, s) {
			return input.Bad(input.ErrMissing, "step %d is not replayed, %d steps from %d to %d are", s, len(m.steps), m.steps[0], m.steps[len(m.steps)-1])
		}
	}
	return nil
}
