package arrivals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Difference is what is wrong with a call over its members.
type Difference uint8

const (
	DifferentOperation Difference = iota
	DifferentSizes                // of members, or of a send and its receive
	DifferentTypes                // of members, or of input and output
	UnfitSizes                    // output does not fit input, by the operation
	UnfitTotals                   // of an all-to-all, whose members may differ: not all that is sent is received
	DifferentStates               // completed by some members; dumps that were written one after the other differ so, too
)

var differenceNames = [...]string{"operation", "sizes", "types", "input_and_output", "totals", "state"}

func (d Difference) String() string { return enum.Name(differenceNames[:], d) }

// Mismatch is a call that members entered differently, or with sizes that cannot
// be.
type Mismatch struct {
	Difference Difference `json:"difference" doc:"the first difference that was found"`
	Group      string     `json:"group" doc:"name of the process group"`
	Desc       string     `json:"group_description" null:"zero" doc:"of the group"`
	Seq        int64      `json:"seq" doc:"number of the call"`
	Sides      []Side     `json:"sides" doc:"ranks that agree with each other, the largest set first"`
}

// Side is ranks that agree.
type Side struct {
	Ranks []int       `json:"ranks" doc:"ranks of the set"`
	Op    string      `json:"op" doc:"operation as recorded"`
	Sizes string      `json:"sizes" doc:"sizes of the inputs; where inputs and outputs differ, of both"`
	Types string      `json:"types" doc:"types of the inputs"`
	State comms.State `json:"state" doc:"how far the call got"`
	Line  Line        `json:"source_line" null:"zero" doc:"from which it was entered"`
}

// mismatches compares the members of each point; of a group, the first that
// disagrees, as all after it may be shifted by it.
func (m *matching) mismatches() []Mismatch {
	type fault struct {
		point int
		Difference
	}
	first := map[int32]fault{}
	for i := range m.points {
		p := &m.points[i]
		if m.byOrder[p.Group] {
			continue
		}
		d, wrong := m.wrong(p)
		if !wrong {
			continue
		}
		had, ok := first[p.Group]
		if !ok || d != DifferentStates && had.Difference == DifferentStates ||
			(d == DifferentStates) == (had.Difference == DifferentStates) && m.enter(p.Entries[0]) < m.enter(m.points[had.point].Entries[0]) {
			first[p.Group] = fault{i, d}
		}
	}
	var out []Mismatch
	for _, f := range first {
		p := &m.points[f.point]
		out = append(out, Mismatch{Difference: f.Difference, Group: m.groups[p.Group].name, Desc: m.groups[p.Group].desc, Seq: p.Number, Sides: m.sides(p, f.Difference)})
	}
	slices.SortFunc(out, func(a, b Mismatch) int { return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(a.Seq, b.Seq)) })
	return out
}

// wrong is the first thing that is wrong with a point.
func (m *matching) wrong(p *point) (Difference, bool) {
	if p.Message {
		return DifferentSizes, m.cut(p)
	}
	if len(p.Entries) > 1 {
		if d, ok := m.differ(p); ok {
			return d, true
		}
	}
	size := len(m.members[p.Group]) + len(m.absent[p.Group])
	seen := int32(-1)
	for _, e := range p.Entries {
		if k := m.call(e).kind; k != seen {
			if seen = k; unfit(&m.kinds[k], size) {
				return UnfitSizes, true
			}
			if ownTypes(&m.kinds[k]) {
				return DifferentTypes, true
			}
		}
	}
	switch {
	case !m.whole(p):
		return 0, false
	case m.lost(p):
		return UnfitTotals, true
	}
	state := m.call(p.Entries[0]).state
	return DifferentStates, slices.ContainsFunc(p.Entries, func(e entry) bool { return m.call(e).state != state })
}

// differ is the first way in which members of a point disagree. Sizes of a
// scatter's inputs and a gather's outputs differ by design, and so do those of
// an all-to-all and of collectives of several lengths.
func (m *matching) differ(p *point) (Difference, bool) {
	a := m.kindOf(p.Entries[0])
	for _, e := range p.Entries[1:] {
		if m.call(e).kind == m.call(p.Entries[0]).kind {
			continue
		}
		b := m.kindOf(e)
		switch {
		case a.name != b.name:
			return DifferentOperation, true
		case a.tensors == nil || b.tensors == nil || a.tensors == b.tensors:
		case uneven(a):
		case a.op != nccl.Scatter && !sameSizes(a.tensors.InSizes, b.tensors.InSizes), a.op != nccl.Gather && !sameSizes(a.tensors.OutSizes, b.tensors.OutSizes):
			return DifferentSizes, true
		case a.op != nccl.Scatter && a.op != nccl.Broadcast && !slices.Equal(a.tensors.InTypes, b.tensors.InTypes),
			a.op != nccl.Gather && !slices.Equal(a.tensors.OutTypes, b.tensors.OutTypes):
			return DifferentTypes, true
		}
	}
	return 0, false
}

// cut reports whether a send gives another size than its receive takes.
func (m *matching) cut(p *point) bool {
	var sent, taken [][]int64
	for _, e := range p.Entries {
		k := m.kindOf(e)
		switch {
		case k.tensors == nil:
		case k.op == nccl.Send:
			sent = k.tensors.InSizes
		default:
			taken = k.tensors.OutSizes
		}
	}
	return len(p.Entries) == 2 && sent != nil && taken != nil && !sameSizes(sent, taken)
}

// unfit reports whether a call's output does not fit its input: an all-reduce
// gives what it takes, an all-gather so many times as much as the group has
// members, a reduce-scatter the reverse.
func unfit(k *kind, size int) bool {
	if k.tensors == nil || len(k.tensors.InSizes) == 0 || len(k.tensors.OutSizes) == 0 || uneven(k) || size == 0 {
		return false
	}
	in, out := k.tensors.InSizes, k.tensors.OutSizes
	switch k.op {
	case nccl.AllReduce:
		return !sameSizes(in, out)
	case nccl.AllGather:
		return !times(out, in, int64(size))
	case nccl.ReduceScatter:
		return !times(in, out, int64(size))
	}
	return false
}

// times reports whether whole is n times part, in the first tensor or in all.
func times(whole, part [][]int64, n int64) bool {
	return comms.Elements(whole[:1]) == n*comms.Elements(part[:1]) || comms.Elements(whole) == n*comms.Elements(part)
}

// ratio is of how many parts the whole of an all-gather or a reduce-scatter is; 0 where
// that is not known.
func ratio(k *kind) int64 {
	if k.tensors == nil || len(k.tensors.InSizes) == 0 || len(k.tensors.OutSizes) == 0 || uneven(k) {
		return 0
	}
	whole, part := comms.Elements(k.tensors.OutSizes), comms.Elements(k.tensors.InSizes)
	switch {
	case k.op == nccl.ReduceScatter:
		whole, part = part, whole
	case k.op != nccl.AllGather:
		return 0
	}
	if part <= 0 || whole%part != 0 {
		return 0
	}
	return whole / part
}

// ownTypes reports whether a call gives another type than it takes.
func ownTypes(k *kind) bool {
	if k.tensors == nil || len(k.tensors.InTypes) == 0 || len(k.tensors.OutTypes) == 0 || comms.Elements(k.tensors.InSizes) <= 0 || comms.Elements(k.tensors.OutSizes) <= 0 {
		return false
	}
	return k.op != nccl.Scatter && k.op != nccl.Gather && k.op != nccl.Broadcast &&
		slices.ContainsFunc(k.tensors.InTypes, func(t string) bool { return !slices.Contains(k.tensors.OutTypes, t) })
}

// lost reports whether the members of an all-to-all do not receive in all what
// they send in all.
func (m *matching) lost(p *point) bool {
	sent, received := int64(0), int64(0)
	for _, e := range p.Entries {
		k := m.kindOf(e)
		if k.op != nccl.AlltoAll || k.tensors == nil {
			return false
		}
		in, out := comms.Elements(k.tensors.InSizes), comms.Elements(k.tensors.OutSizes)
		if in < 0 || out < 0 {
			return false
		}
		sent, received = sent+in, received+out
	}
	return sent != received
}

func uneven(k *kind) bool {
	return k.op == nccl.AlltoAll || strings.HasSuffix(k.name, "_v") || strings.Contains(k.name, "all_to_all") || strings.Contains(k.name, "alltoall")
}

func sameSizes(a, b [][]int64) bool {
	return slices.EqualFunc(a, b, func(x, y []int64) bool { return slices.Equal(x, y) })
}

// sides divides the members of a point by what they entered.
func (m *matching) sides(p *point, d Difference) []Side {
	var out ordered.List[string, Side]
	for _, e := range p.Entries {
		k := m.kindOf(e)
		s := Side{Op: k.name, State: m.call(e).state}
		if k.tensors != nil {
			s.Sizes, s.Types = fmt.Sprint(k.tensors.InSizes), strings.Join(k.tensors.InTypes, ", ")
			if k.op == nccl.Recv {
				s.Sizes = fmt.Sprint(k.tensors.OutSizes)
			}
			if d == UnfitSizes || d == UnfitTotals {
				s.Sizes += " into " + fmt.Sprint(k.tensors.OutSizes)
			}
			if to := strings.Join(k.tensors.OutTypes, ", "); d == DifferentTypes && ownTypes(k) {
				s.Types += " into " + to
			}
		}
		if k.stack >= 0 {
			s.Line = lineOf(m.stacks[k.stack])
		}
		key := k.name + shapeOf(k)
		if d == DifferentStates {
			key = s.State.String()
		}
		of, first := out.Of(key)
		if first {
			*of = s
		}
		of.Ranks = append(of.Ranks, m.ranks[e.Process].id)
	}
	slices.SortStableFunc(out.All, func(a, b Side) int { return cmp.Compare(len(b.Ranks), len(a.Ranks)) })
	return out.All
}

// shapeOf is sizes and types as text, to compare.
func shapeOf(k *kind) string {
	if k.tensors == nil {
		return ""
	}
	return fmt.Sprint(*k.tensors)
}
