package csv

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// sampledRows are rows of which the first batch was read, to see how they are written.
type sampledRows struct {
	rows
	first batch
	given int  // of the first batch
	past  bool // the broken row behind it was given too
	pos   input.Pos
}

func newSampled(in rows) *sampledRows {
	s := &sampledRows{rows: in, pos: in.Pos()}
	s.first = readBatch(in)
	return s
}

func (s *sampledRows) Next() ([]string, error) {
	switch {
	case s.given < len(s.first.cells):
		s.given++
		s.pos = s.first.pos[s.given-1]
		return s.first.cells[s.given-1], nil
	case s.first.err != nil && !s.past:
		s.pos, s.past = s.first.after, isOfRow(s.first.err)
		return nil, s.first.err
	}
	cells, err := s.rows.Next()
	s.pos = s.rows.Pos()
	return cells, err
}

func (s *sampledRows) Pos() input.Pos { return s.pos }

func (s *sampledRows) AtEnd() bool {
	switch {
	case s.given < len(s.first.cells):
		return false
	case s.first.err != nil && !s.past:
		return s.first.atEnd
	}
	return s.rows.AtEnd()
}

// skip passes over the first rows.
func (s *sampledRows) skip(n int) { s.given += n }

// sample returns the first rows that were not passed over.
func (s *sampledRows) sample() [][]string { return s.first.cells[s.given:] }

// unitOf returns the unit of a column of timestamps; Unsaid of any other.
func (s *sampledRows) unitOf(column int) Unit {
	if stamps, ok := s.rows.(interface{ unitOf(column int) Unit }); ok {
		return stamps.unitOf(column)
	}
	return Unsaid
}

// trimExtraCells makes rows as long as the header that have one cell more: the last, which is empty, or the first, in which data frames are
// numbered.
func trimExtraCells(names []string, s *sampledRows) []string {
	sample := s.sample()
	if len(sample) == 0 {
		return names
	}
	empty := true
	for _, cells := range sample {
		if len(cells) != len(names)+1 {
			return names
		}
		empty = empty && strings.TrimSpace(cells[len(names)]) == ""
	}
	if empty {
		return append(slices.Clone(names), "")
	}
	return slices.Insert(slices.Clone(names), 0, "")
}

// unitRow puts units that stand in a row of their own below the header into the names, and passes over the row.
func unitRow(names []string, s *sampledRows) []string {
	sample := s.sample()
	if len(sample) < 2 || len(sample[0]) != len(names) {
		return names
	}
	out, units := slices.Clone(names), 0
	for i, cell := range sample[0] {
		if unit, ok := isUnit(cell); ok {
			out[i] += " [" + unit.String() + "]"
			units++
		} else if bare := strings.Trim(cell, " []()-#"); bare != "" && strings.ContainsAny(bare, "0123456789") {
			return names
		}
	}
	if units == 0 {
		return names
	}
	s.skip(1)
	return out
}
