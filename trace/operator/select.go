package operator

import "github.com/sfstat/sfstat/trace"

// Select returns the selection of the trace: t itself where it is all, or nil.
func (t *Trace) Select(s *trace.Selection) *Trace {
	if !s.Run(t.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return t
	}
	out := *t
	var step, name []int32
	out.Steps, step = selectEntries(t.Steps, func(i int) bool { return s.Steps.Has(t.Steps[i]) })
	out.keepRows(func(row int) bool { return step[t.Step[row]] >= 0 })
	renumber(out.Step, step)
	out.keepRanks(func(i int) bool { return s.Rank(t.Ranks[i]) })
	if out.Len() == 0 {
		return nil
	}
	used := make([]bool, len(t.Names))
	for _, n := range out.Name {
		used[n] = true
	}
	out.Names, name = selectEntries(t.Names, func(i int) bool { return used[i] })
	renumber(out.Name, name)
	return &out
}

// keepRanks takes some of the ranks, by position, with their rows.
func (t *Trace) keepRanks(is func(i int) bool) {
	ranks, place := selectEntries(t.Ranks, is)
	if t.Declared != nil {
		t.Declared, _ = selectEntries(t.Declared, is)
	}
	t.keepRows(func(row int) bool { return place[t.Rank[row]] >= 0 })
	renumber(t.Rank, place)
	t.Ranks = ranks
}

// keepRows takes some of the rows.
func (t *Trace) keepRows(is func(row int) bool) {
	var rows []int32
	for row := range t.Start {
		if is(row) {
			rows = append(rows, int32(row))
		}
	}
	t.keep(rows)
}

// Select returns the selection, or nil.
func (t *Totals) Select(s *trace.Selection) *Totals {
	if t == nil || !s.Run(t.Run) {
		return nil
	}
	if s.Steps == nil && len(s.Ranks) == 0 {
		return t
	}
	out := *t
	var rank, step []int32
	out.Ranks, rank = selectEntries(t.Ranks, func(i int) bool { return s.Rank(t.Ranks[i]) })
	out.Steps, step = selectEntries(t.Steps, func(i int) bool { return s.Steps.Has(t.Steps[i]) })
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

// selectEntries returns the entries of a table for whose position keep holds, and the new
// position of each old one, −1 for those that are gone.
func selectEntries[T any](table []T, keep func(i int) bool) (out []T, position []int32) {
	position = make([]int32, len(table))
	for i, x := range table {
		position[i] = -1
		if keep(i) {
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
