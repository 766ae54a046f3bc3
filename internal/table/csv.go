package table

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// CSV writes the rows under their heads: figures of a table of words as they are shown, those
// of any other in base units. What is not known is empty.
func (t *Table) CSV(w io.Writer) error {
	t = t.square()
	head, rows := make([]string, len(t.Columns)), make([][]string, len(t.Rows))
	for i, c := range t.Columns {
		head[i] = strings.ReplaceAll(c.Head, "%s", timeUnits[0].Name)
		s := t.show(i)
		for r, row := range t.Rows {
			rows[r] = append(rows[r], s.record(row[i]))
		}
	}
	return WriteCSV(w, head, rows)
}

// record returns the cell as a program reads it.
func (s shownColumn) record(c Cell) string {
	switch c.holds {
	case nothing:
		return ""
	case words, list:
		return Harmless(s.value(c))
	case whole:
		return strconv.FormatInt(c.whole, 10)
	case number:
		if !s.plain {
			return strconv.FormatFloat(c.real, 'g', -1, 64)
		}
	}
	return s.value(c)
}

// WriteCSV writes records under a head, in one piece.
func WriteCSV(w io.Writer, head []string, rows [][]string) error {
	var out strings.Builder
	to := csv.NewWriter(&out)
	_ = to.Write(head) // a strings.Builder does not fail
	_ = to.WriteAll(rows)
	_, err := io.WriteString(w, out.String())
	return err
}

// Harmless keeps a spreadsheet from taking a name for a formula.
func Harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
