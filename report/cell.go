package report

import (
	"slices"
	"strconv"
	"strings"
)

// superscripts number the footnotes of a table.
var superscripts = [...]string{"", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"}

func mark(note int) string {
	if note < len(superscripts) {
		return superscripts[note]
	}
	return "*"
}

// shown is how one column is shown to people.
type shown struct {
	column
	scale scale
	peak  float64           // largest absolute value
	cuts  map[string]string // names as they are shown, where some are cut
	noted bool              // some cell has a note
}

func (t *table) show(col int) shown {
	s := shown{column: t.columns[col], peak: t.largest(col)}
	s.noted = slices.ContainsFunc(t.rows, func(row []cell) bool { return row[col].note != 0 })
	if s.kind == kindLength || t.oneUnit {
		s.scale = scaleFor(s.peak)
		if t.oneUnit {
			s.scale = scaleFor(t.longest())
		}
		s.head = strings.ReplaceAll(s.head, "%s", s.scale.unit.name)
	}
	return s
}

// longest is the largest length of any column.
func (t *table) longest() float64 {
	m := 0.0
	for i, c := range t.columns {
		if c.kind == kindLength {
			m = max(m, t.largest(i))
		}
	}
	return m
}

// value is the cell as a person reads it, without its note; bars are drawn by
// the renderers that have them.
func (s shown) value(c cell) string {
	if !c.set {
		if s.kind.numeric() {
			return absent
		}
		return ""
	}
	switch s.kind {
	case kindList:
		return Visible(strings.Join(c.items, ", "))
	case kindInteger:
		return grouped(c.whole)
	case kindID:
		return strconv.FormatInt(c.whole, 10)
	case kindLength:
		return s.scale.format(c.real)
	case kindFraction:
		return percent(c.real)
	case kindFine:
		return finePercent(c.real)
	case kindFactor:
		return factor(c.real)
	case kindReal:
		return real3(c.real)
	case kindUnit:
		return strconv.FormatFloat(c.real, 'f', 3, 64)
	}
	return Visible(c.text)
}

// fit is value in at most n columns.
func (s shown) fit(c cell, n int) string {
	v := s.value(c)
	if columns(v) <= n {
		return v
	}
	if cut, ok := s.cuts[v]; ok {
		return cut
	}
	if s.kind == kindName {
		return shortenName(v, n)
	}
	if s.kind != kindList {
		return shorten(v, n)
	}
	for k := len(c.items) - 1; k > 0; k-- {
		v = Visible(strings.Join(c.items[:k], ", ")) + " +" + strconv.Itoa(len(c.items)-k)
		if columns(v) <= n {
			return v
		}
	}
	return shorten(v, n)
}

var eighths = [...]string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar draws part of the peak in at most n columns, to an eighth of a column.
func (s shown) bar(c cell, n int) string {
	if !c.set || !(s.peak > 0) || !(c.real > 0) {
		return ""
	}
	k := int(c.real/s.peak*float64(8*n) + 0.5)
	return strings.Repeat("█", k/8) + eighths[k%8]
}
