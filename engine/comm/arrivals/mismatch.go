package arrivals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/sync"
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

// Names returns all of them.
func (Difference) Names() []string { return differenceNames[:] }

// Mismatch is a call that members entered differently, or with sizes that cannot
// be.
type Mismatch struct {
	Difference Difference // the first difference that was found
	Group      string     // name of the process group
	Desc       string     // of the group
	Seq        int64      // number of the call
	Sides      []Side     // ranks that agree with each other, the largest set first
}

// Side is ranks that agree.
type Side struct {
	Ranks []int       // ranks of the set
	Op    string      // operation as recorded
	Sizes string      // sizes of the inputs; where inputs and outputs differ, of both
	Types string      // types of the inputs
	State comms.State // how far the call got
	Line  Line        // from which it was entered
}

// mismatches compares the members of each point; of a group, the first that
// disagrees, as all after it may be shifted by it. States that differ are compared after all else.
func (m *strikes) mismatches() (out []Mismatch) {
	type fault struct {
		*sync.Point
		Difference
		at int64
	}
	first := map[int32]fault{}
	for i := range m.Points {
		p := &m.Points[i]
		d, wrong := m.wrong(p)
		if !wrong || m.ByOrder[p.Group] {
			continue
		}
		f, late := fault{p, d, m.Enter(p.Entries[0])}, 0
		if d == DifferentStates {
			late++
		}
		had, ok := first[p.Group]
		if ok && had.Difference == DifferentStates {
			late--
		}
		if !ok || late < 0 || late == 0 && f.at < had.at {
			first[p.Group] = f
		}
	}
	for _, f := range first {
		g := &m.Groups[f.Group]
		out = append(out, Mismatch{Difference: f.Difference, Group: g.Name, Desc: g.Desc, Seq: f.Number, Sides: m.sides(f.Point, f.Difference)})
	}
	slices.SortFunc(out, func(a, b Mismatch) int { return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(a.Seq, b.Seq)) })
	return out
}

// wrong returns the first defect of a point.
func (m *strikes) wrong(p *sync.Point) (Difference, bool) {
	if p.Message {
		return DifferentSizes, m.cut(p)
	}
	if d, ok := m.differ(p); ok {
		return d, true
	}
	size := int64(len(m.Members[p.Group]) + len(m.Absent[p.Group]))
	seen := int32(-1)
	for _, e := range p.Entries {
		if m.Call(e).Kind == seen {
			continue
		}
		seen = m.Call(e).Kind
		switch k := &m.Kinds[seen]; {
		case unfit(k, size):
			return UnfitSizes, true
		case ownTypes(k):
			return DifferentTypes, true
		}
	}
	switch {
	case !m.IsComplete(p):
		return 0, false
	case m.losesElements(p):
		return UnfitTotals, true
	}
	state := m.Call(p.Entries[0]).State
	return DifferentStates, slices.ContainsFunc(p.Entries, func(e sync.Entry) bool { return m.Call(e).State != state })
}

// differ returns the first way in which members of a point disagree. Sizes of a scatter's inputs and a gather's outputs differ
// by design, and so do those of an all-to-all and of collectives of several lengths.
func (m *strikes) differ(p *sync.Point) (Difference, bool) {
	a := m.KindOf(p.Entries[0])
	for _, e := range p.Entries[1:] {
		if m.Call(e).Kind == m.Call(p.Entries[0]).Kind {
			continue
		}
		b := m.KindOf(e)
		switch {
		case a.Name != b.Name:
			return DifferentOperation, true
		case a.Tensors == nil || b.Tensors == nil || a.Tensors == b.Tensors:
		case a.Uneven():
		case a.Op != nccl.Scatter && !sameSizes(a.Tensors.InSizes, b.Tensors.InSizes), a.Op != nccl.Gather && !sameSizes(a.Tensors.OutSizes, b.Tensors.OutSizes):
			return DifferentSizes, true
		case a.Op != nccl.Scatter && a.Op != nccl.Broadcast && !slices.Equal(a.Tensors.InTypes, b.Tensors.InTypes),
			a.Op != nccl.Gather && !slices.Equal(a.Tensors.OutTypes, b.Tensors.OutTypes):
			return DifferentTypes, true
		}
	}
	return 0, false
}

// cut reports whether a send gives another size than its receive takes.
func (m *strikes) cut(p *sync.Point) bool {
	if len(p.Entries) != 2 {
		return false
	}
	from, to := m.KindOf(p.Entries[0]).Tensors, m.KindOf(p.Entries[1]).Tensors // the sender is first
	return from != nil && to != nil && from.InSizes != nil && to.OutSizes != nil && !sameSizes(from.InSizes, to.OutSizes)
}

// unfit reports whether a call's output does not fit its input, in the first tensor or in all: an all-reduce
// gives what it takes.
func unfit(k *sync.Kind, size int64) bool {
	if t := k.Tensors; k.Op == nccl.AllReduce && t != nil && len(t.InSizes) > 0 && len(t.OutSizes) > 0 && !k.Uneven() {
		return size > 0 && !sameSizes(t.InSizes, t.OutSizes)
	}
	whole, part, ok := k.Sizes()
	return ok && size > 0 && comms.Elements(whole[:1]) != size*comms.Elements(part[:1]) && comms.Elements(whole) != size*comms.Elements(part)
}

// ownTypes reports whether a call gives another type than it takes.
func ownTypes(k *sync.Kind) bool {
	t := k.Tensors
	if t == nil || len(t.InTypes) == 0 || len(t.OutTypes) == 0 || comms.Elements(t.InSizes) <= 0 || comms.Elements(t.OutSizes) <= 0 {
		return false
	}
	return k.Op != nccl.Scatter && k.Op != nccl.Gather && k.Op != nccl.Broadcast &&
		slices.ContainsFunc(t.InTypes, func(name string) bool { return !slices.Contains(t.OutTypes, name) })
}

// losesElements reports whether the members of an all-to-all do not receive in all what
// they send in all.
func (m *strikes) losesElements(p *sync.Point) bool {
	more := int64(0)
	for _, e := range p.Entries {
		k := m.KindOf(e)
		if k.Op != nccl.AlltoAll || k.Tensors == nil {
			return false
		}
		in, out := comms.Elements(k.Tensors.InSizes), comms.Elements(k.Tensors.OutSizes)
		if in < 0 || out < 0 {
			return false
		}
		more += in - out
	}
	return more != 0
}

func sameSizes(a, b [][]int64) bool {
	return slices.EqualFunc(a, b, func(x, y []int64) bool { return slices.Equal(x, y) })
}

// sides divides the members of a point by what they entered.
func (m *strikes) sides(p *sync.Point, d Difference) []Side {
	var out ordered.List[string, Side]
	for _, e := range p.Entries {
		k := m.KindOf(e)
		s := Side{Op: k.Name, State: m.Call(e).State, Line: m.lineAt(k)}
		if k.Tensors != nil {
			s.Sizes, s.Types = fmt.Sprint(k.Tensors.InSizes), strings.Join(k.Tensors.InTypes, ", ")
			if k.Op == nccl.Recv {
				s.Sizes = fmt.Sprint(k.Tensors.OutSizes)
			}
			if d == UnfitSizes || d == UnfitTotals {
				s.Sizes += " into " + fmt.Sprint(k.Tensors.OutSizes)
			}
			if to := strings.Join(k.Tensors.OutTypes, ", "); d == DifferentTypes && ownTypes(k) {
				s.Types += " into " + to
			}
		}
		key := k.Name + sync.ShapeOf(k)
		if d == DifferentStates {
			key = s.State.String()
		}
		of, first := out.Of(key)
		if first {
			*of = s
		}
		of.Ranks = append(of.Ranks, m.Ranks[e.Process].ID)
	}
	slices.SortStableFunc(out.All, func(a, b Side) int { return cmp.Compare(len(b.Ranks), len(a.Ranks)) })
	return out.All
}
