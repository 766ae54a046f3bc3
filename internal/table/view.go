package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

// superscripts number the footnotes of a table.
var superscripts = [...]string{"", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"}

// MostFootnotes is how many can be told apart.
const MostFootnotes = len(superscripts) - 1

func mark(note int) string {
	if note < len(superscripts) {
		return superscripts[note]
	}
	return "*"
}

// shownColumn is how one column is shown to people.
type shownColumn struct {
	Column
	plain bool // in a table of words
	scale scale
	peak  float64           // largest absolute value
	cuts  map[string]string // names as they are shown, where some are cut
	noted bool              // some cell has a note
}

func (t *Table) show(col int) shownColumn {
	s := shownColumn{Column: t.Columns[col], plain: t.wordy(), peak: t.largest(col)}
	s.noted = slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[col].Note != 0 })
	if s.Kind == Length || t.OneUnit {
		s.scale = scaleFor(s.peak)
		if t.OneUnit {
			s.scale = scaleFor(t.longest())
		}
		s.Head = strings.ReplaceAll(s.Head, "%s", s.scale.unit.Name)
	}
	return s
}

// longest returns the largest length of any column.
func (t *Table) longest() float64 {
	m := 0.0
	for i, c := range t.Columns {
		if c.Kind == Length {
			m = max(m, t.largest(i))
		}
	}
	return m
}

// value returns the cell as a person reads it, without its note; bars are drawn by
// the renderers that have them.
func (s shownColumn) value(c Cell) string {
	if !c.HasValue() {
		if s.Kind.numeric() && !s.plain {
			return Absent
		}
		return ""
	}
	switch c.holds {
	case words:
		return glyph.Visible(c.text)
	case list:
		return glyph.Visible(strings.Join(c.items, ", "))
	case part:
		return OutOf(int(c.whole), int(c.of))
	case whole:
		if s.Kind == ID || s.plain {
			return strconv.FormatInt(c.whole, 10)
		}
		return Grouped(c.whole)
	}
	switch s.Kind {
	case Length:
		return s.scale.format(c.real)
	case Fraction:
		return Percent(c.real)
	case Fine:
		return FinePercent(c.real)
	case Factor:
		return Times(c.real)
	case Hundredths:
		return Decimals(c.real, 2)
	case Rate:
		return percentTo(2, c.real)
	case Precise:
		return strconv.FormatFloat(c.real, 'g', 6, 64)
	case Unit:
		return Decimals(c.real, 3)
	}
	return Number(c.real)
}

// right reports whether the cells stand to the right.
func (s shownColumn) right() bool { return !s.plain && (s.Kind.numeric() || s.Kind == Amount) }

// fit returns value in at most n columns.
func (s shownColumn) fit(c Cell, n int) string {
	v := s.value(c)
	if glyph.Columns(v) <= n {
		return v
	}
	if cut, ok := s.cuts[v]; ok {
		return cut
	}
	if s.Kind == Name {
		return glyph.ShortenName(v, n)
	}
	if s.Kind != List {
		return glyph.Shorten(v, n)
	}
	for k := len(c.items) - 1; k > 0; k-- {
		v = glyph.Visible(strings.Join(c.items[:k], ", ")) + " +" + strconv.Itoa(len(c.items)-k)
		if glyph.Columns(v) <= n {
			return v
		}
	}
	return glyph.Shorten(v, n)
}

var eighths = [...]string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar draws part of the peak in at most n columns, to an eighth of a column.
func (s shownColumn) bar(c Cell, n int) string {
	if !c.HasValue() || !(s.peak > 0) || !(c.real > 0) {
		return ""
	}
	k := int(c.real/s.peak*float64(8*n) + 0.5)
	return strings.Repeat("█", k/8) + eighths[k%8]
}
