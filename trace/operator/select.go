package operator

import "github.com/sfstat/sfstat/trace"

// Select is what is selected of the trace, which is t itself where that is all,
// or nil.
func (t *Trace) Select(s *trace.Selection) *Trace {
	if !s.Run(t.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return t
	}
	out := *t
	var rank, step []int32
	out.Ranks, rank = kept(t.Ranks, s.Rank)
	out.Steps, step = kept(t.Steps, s.Steps.Has)
	var rows []int32
	used := make([]bool, len(t.Names))
	for i := range t.Start {
		if rank[t.Rank[i]] >= 0 && step[t.Step[i]] >= 0 {
			rows = append(rows, int32(i))
			used[t.Name[i]] = true
		}
	}
	if len(rows) == 0 {
		return nil
	}
	n := 0
	var name []int32
	out.Names, name = kept(t.Names, func(string) bool { n++; return used[n-1] })
	out.keep(rows)
	renumber(out.Rank, rank)
	renumber(out.Step, step)
	renumber(out.Name, name)
	if t.Declared != nil {
		out.Declared = nil
		for i, role := range t.Declared {
			if rank[i] >= 0 {
				out.Declared = append(out.Declared, role)
			}
		}
	}
	return &out
}

// Select is what is selected, or nil.
func (t *Totals) Select(s *trace.Selection) *Totals {
	if t == nil || !s.Run(t.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return t
	}
	out := *t
	var rank, step []int32
	out.Ranks, rank = kept(t.Ranks, s.Rank)
	out.Steps, step = kept(t.Steps, s.Steps.Has)
	out.Rows = nil
	for _, row := range t.Rows {
		if row.Rank, row.Step = rank[row.Rank], step[row.Step]; row.Rank >= 0 && row.Step >= 0 {
			out.Rows = append(out.Rows, row)
		}
	}
	if len(out.Rows) == 0 {
		return nil
	}
	return &out
}

// kept are the entries of a table for which keep holds, and the new position of
// each old one, −1 for those that are gone.
func kept[T any](table []T, keep func(T) bool) (out []T, position []int32) {
	position = make([]int32, len(table))
	for i, x := range table {
		position[i] = -1
		if keep(x) {
			position[i] = int32(len(out))
			out = append(out, x)
		}
	}
	return out, position
}

// renumber replaces positions in a table by the new ones.
func renumber(column, position []int32) {
	for i, p := range column {
		column[i] = position[p]
	}
}
