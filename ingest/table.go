package ingest

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// maxRecord bounds a row of a table: a quote too many must not swallow the file.
const maxRecord = 1 << 20

// Table reads text as rows of cells: encoding/csv, with a bound on rows, a
// separator that the header tells, and rows that are cut off told apart from
// broken ones.
type Table struct {
	csv   *csv.Reader
	in    *bounded
	file  string
	line  int64
	limit int64
}

// bounded counts what a row takes and remembers how the input ends.
type bounded struct {
	r      io.Reader
	read   int64 // bytes in all
	row    int64 // where the row begins
	limit  int64
	open   bool // the last byte is not the end of a line
	quotes int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.read-b.row > b.limit {
		return 0, input.Bad(input.ErrTooLarge, "a row of more than %d bytes: is there a quote that is not closed? Double quotes inside of cells are written twice", b.limit)
	}
	n, err := b.r.Read(p)
	if n > 0 {
		b.read += int64(n)
		b.open = p[n-1] != '\n'
		b.quotes += bytes.Count(p[:n], []byte{'"'})
	}
	return n, err
}

// ErrCutRow is the error for the last row of an input that ends inside of it.
var ErrCutRow = input.Bad(input.ErrTruncated, "the input ends inside of a row, as when a job is killed")

// NewTable reads rows from r; file stands in positions.
func NewTable(r io.Reader, file string, lim Limits) *Table {
	limit := min(lim.OrDefault().Line, maxRecord)
	in := &bounded{r: r, limit: limit + lineBuffer}
	buffer := bufio.NewReaderSize(in, lineBuffer)
	head, _ := buffer.Peek(lineBuffer) // its error comes again
	if bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")) {
		head = head[3:]
		buffer.Discard(3)
	}
	t := &Table{csv: csv.NewReader(buffer), in: in, file: file, limit: limit}
	t.csv.Comma = separator(head)
	t.csv.ReuseRecord = true
	t.csv.FieldsPerRecord = -1
	t.csv.TrimLeadingSpace = t.csv.Comma != '\t'
	return t
}

// separator is the one of comma, semicolon and tab that the first line with
// text has most of, outside of quotes.
func separator(text []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, " \r\n"), []byte("\n"))
	var count [256]int
	quoted := false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		}
		if !quoted {
			count[c]++
		}
	}
	best := byte(',')
	for _, c := range []byte(";\t") {
		if count[c] > count[best] {
			best = c
		}
	}
	return rune(best)
}

// Pos is where the row begins that was returned last.
func (t *Table) Pos() input.Pos { return input.Pos{File: t.file, Line: t.line} }

// Header reads the first row, whose cells are names.
func (t *Table) Header() ([]string, error) {
	cells, err := t.Next()
	return slices.Clone(cells), err
}

// Next reads a row, which is valid until the next call. Rows without text are
// skipped. After the last comes io.EOF, or what broke the input; ErrCutRow for
// a last row that ends inside of quotes.
func (t *Table) Next() ([]string, error) {
	for {
		t.in.row = t.csv.InputOffset()
		cells, err := t.csv.Read()
		var broken *csv.ParseError
		switch {
		case errors.As(err, &broken):
			t.line = int64(broken.StartLine)
			if t.AtEnd() {
				return nil, ErrCutRow
			}
			return nil, input.At(t.Pos(), input.Bad(input.ErrFormat, "quotes inside of a cell, or text after a closing quote: double quotes inside of cells are written twice"))
		case errors.Is(err, input.ErrTooLarge):
			t.line++
			return nil, input.At(t.Pos(), err)
		case err != nil:
			return nil, err
		case !slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) != "" }):
			continue
		}
		line, _ := t.csv.FieldPos(0)
		if t.line = int64(line); t.csv.InputOffset()-t.in.row > t.limit {
			return nil, input.At(t.Pos(), input.Bad(input.ErrTooLarge, "a row of more than %d bytes", t.limit))
		}
		return cells, nil
	}
}

// AtEnd reports whether the input ends inside of the row that was returned
// last. Nothing can be read afterwards.
func (t *Table) AtEnd() bool {
	_, err := t.csv.Read()
	return err != nil && (t.in.open || t.in.quotes%2 == 1)
}
