package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// heatmap is a number for every place of a plane, drawn in shades. It is left
// out where the page is too narrow or it would be too long.
type heatmap struct {
	rows, cols axis
	at         [][]table.Cell // [row][col] of reals
	low        float64        // what is shown lightest
	least      float64        // the darkest shade stands for at least this
	caption    string         // a sentence below, "" for none
}

// axis is what the rows or the columns of a plane are.
type axis struct {
	name   string
	labels []string
}

// heatLines is how many lines a heat map has at most.
const heatLines = 64

// shades are from light to dark, the first for the lowest fifth.
var shades = [...]string{"·", "░", "▒", "▓", "█"}

// high is what the darkest shade stands for.
func (h *heatmap) high() float64 {
	m := h.least
	for _, row := range h.at {
		for _, c := range row {
			if c.Known() {
				m = max(m, c.Number())
			}
		}
	}
	return m
}

// shade is how dark a cell is, −1 where there is no number.
func (h *heatmap) shade(c table.Cell, high float64) int {
	if !c.Known() {
		return -1
	}
	if high <= h.low {
		return 0
	}
	part := (c.Number() - h.low) / (high - h.low)
	return min(max(int(part*float64(len(shades))), 0), len(shades)-1)
}

// heat is the number in a cell of a heat map.
func heat(c table.Cell) string {
	if !c.Known() {
		return table.Absent
	}
	return strconv.FormatFloat(c.Number(), 'f', 2, 64)
}

// legend says what the shades stand for.
func (h *heatmap) legend() string {
	s := fmt.Sprintf("%s %.2f to %s %.2f.", shades[0], h.low, shades[len(shades)-1], h.high())
	if h.caption != "" {
		s += " " + h.caption
	}
	return s
}

// heatmap draws the map with numbers where they fit, else in shades alone, in
// as many blocks of columns as it takes.
func (t *textWriter) heatmap(h *heatmap) {
	left := glyph.Columns(h.rows.name)
	for _, l := range h.rows.labels {
		left = max(left, glyph.Columns(l))
	}
	room := t.Room() - left
	wide := 0 // of a cell with its number, the gap before it included
	for i, l := range h.cols.labels {
		wide = max(wide, len(glyph.Gap)+glyph.Columns(l))
		for _, row := range h.at {
			wide = max(wide, len(glyph.Gap)+glyph.Columns(heat(row[i]))+2)
		}
	}
	n := len(h.cols.labels)
	draw, per := t.numbered, n
	if n*wide > room {
		draw, wide, per = t.shaded, 2, (room-len(glyph.Gap))/2
		if n > per {
			per = max(per/heatRuler, 1) * heatRuler
		}
	}
	if blocks := (n + per - 1) / max(per, 1); blocks*(len(h.at)+2) > heatLines {
		t.Paragraph("", "", fmt.Sprintf("The map of %d × %d is too large for text; its numbers are in json and csv.", len(h.at), n))
		return
	}
	for from := 0; from < n; from += max(per, 1) {
		draw(h, heatBlock{from, min(n, from+per), left, wide})
	}
	t.Paragraph("", "", h.legend())
}

// heatBlock is columns of a heat map that are drawn beside each other.
type heatBlock struct {
	from, to   int
	left, wide int // of the labels, of a cell
}

// numbered draws a block as numbers with a shade behind each.
func (t *textWriter) numbered(h *heatmap, b heatBlock) {
	high := h.high()
	t.Line(t.Indent() + strings.Repeat(" ", b.left+len(glyph.Gap)) + h.cols.name)
	head := glyph.PadRight(h.rows.name, b.left)
	for _, l := range h.cols.labels[b.from:b.to] {
		head += glyph.PadLeft(l, b.wide-2) + "  "
	}
	t.Line(t.Indent() + strings.TrimRight(head, " "))
	for r, row := range h.at {
		line := glyph.PadRight(h.rows.labels[r], b.left)
		for _, c := range row[b.from:b.to] {
			line += glyph.PadLeft(heat(c), b.wide-2) + " " + t.shade(h.shade(c, high), 1)
		}
		t.Line(t.Indent() + strings.TrimRight(line, " "))
	}
}

// heatRuler is how many columns of shades have one label.
const heatRuler = 5

// shaded draws a block as shades, two characters for a cell, with every fifth
// column named.
func (t *textWriter) shaded(h *heatmap, b heatBlock) {
	high := h.high()
	t.Line(t.Indent() + strings.Repeat(" ", b.left+len(glyph.Gap)) + h.cols.name)
	head := glyph.PadRight(h.rows.name, b.left) + glyph.Gap
	for i := b.from; i < b.to; i += heatRuler {
		head += glyph.PadRight(glyph.Clip(h.cols.labels[i], 2*heatRuler-1), 2*heatRuler)
	}
	t.Line(t.Indent() + strings.TrimRight(head, " "))
	for r, row := range h.at {
		line := glyph.PadRight(h.rows.labels[r], b.left) + glyph.Gap
		for _, c := range row[b.from:b.to] {
			line += t.shade(h.shade(c, high), 2)
		}
		t.Line(t.Indent() + strings.TrimRight(line, " "))
	}
}

// shade draws a shade n columns wide; the two darkest stand out.
func (t *textWriter) shade(level, n int) string {
	switch {
	case level < 0:
		return strings.Repeat(" ", n)
	case level >= len(shades)-2:
		return t.Paint(strings.Repeat(shades[level], n), t.Hue)
	}
	return t.Paint(strings.Repeat(shades[level], n), "2")
}

// markdownHeat is how many columns of a heat map a page has room for.
const markdownHeat = 16

// table is the map as a table of numbers, nil where it has too many columns
// or rows for a page.
func (h *heatmap) table() *table.Table {
	if len(h.cols.labels) > markdownHeat || len(h.at) > heatLines {
		return nil
	}
	t := &table.Table{Columns: []table.Column{{Head: h.rows.name + " \\ " + h.cols.name, Kind: table.Text}}, Caption: h.caption}
	for _, l := range h.cols.labels {
		t.Columns = append(t.Columns, table.Column{Head: l, Kind: table.Real})
	}
	for r, row := range h.at {
		t.Add(append([]table.Cell{table.TextCell(h.rows.labels[r])}, row...)...)
	}
	return t
}
