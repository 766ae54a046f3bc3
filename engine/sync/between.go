package sync

import (
	"cmp"
	"slices"
)

// ClockSpan is a time on the clock of a rank, ns since 1970.
type ClockSpan struct{ From, To int64 }

// Between returns the calls that ranks entered within spans, each on the clock of its rank, as a program of its own.
// Hosts of the ranks are kept; groups and kinds without such calls are left out.
func (j *Program) Between(spans map[int]ClockSpan) *Program {
	out := &Program{Hosts: map[int]string{}, Locals: map[int]int{}, Stacks: slices.Clip(j.Stacks)}
	out.Prepare()
	groups, kinds := make(map[int32]int32), make(map[int32]int32)
	for i := range j.Ranks {
		all := &j.Ranks[i]
		in, ok := spans[all.ID]
		if !ok {
			continue
		}
		from, _ := slices.BinarySearchFunc(all.Calls, in.From, func(c Call, at int64) int { return cmp.Compare(c.Enter, at) })
		to, _ := slices.BinarySearchFunc(all.Calls, in.To, func(c Call, at int64) int { return cmp.Compare(c.Enter, at) })
		r := Rank{ID: all.ID, Host: all.Host, FromWindows: all.FromWindows, Calls: slices.Clone(all.Calls[from:max(from, to)])}
		for k := range r.Calls {
			c := &r.Calls[k]
			c.Group, c.Kind = renumber(groups, &out.Groups, j.Groups, c.Group), renumber(kinds, &out.Kinds, j.Kinds, c.Kind)
		}
		out.ByRank[r.ID] = len(out.Ranks)
		out.Ranks = append(out.Ranks, r)
		if host, ok := j.Hosts[r.ID]; ok {
			out.Hosts[r.ID], out.Locals[r.ID] = host, j.Locals[r.ID]
		}
	}
	return out
}

// renumber returns the new number of element at of all, and adds the element to used on first use.
func renumber[T any](numbers map[int32]int32, used *[]T, all []T, at int32) int32 {
	n, ok := numbers[at]
	if !ok {
		n = int32(len(*used))
		numbers[at], *used = n, append(*used, all[at])
	}
	return n
}
