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

	before    int64 // lines before the header
	offset    int64 // bytes of them
	separated bool  // by bars: a row of dashes is a rule

	ahead *record // that AtEnd has read; nil: none
}

// record is what a row was read as.
type record struct {
	cells []string
	err   error
}

// read reads the next record, or returns that which was read ahead.
func (t *Table) read() ([]string, error) {
	if next := t.ahead; next != nil {
		t.ahead = nil
		return next.cells, next.err
	}
	t.in.row = t.offset + t.csv.InputOffset()
	return t.csv.Read()
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

// RowError is an error of one row: the rows behind it can be read.
type RowError struct{ Err error }

func (e *RowError) Error() string { return e.Err.Error() }
func (e *RowError) Unwrap() error { return e.Err }

// NewTable reads rows from r, of which the first is the header; file stands in positions.
func NewTable(r io.Reader, file string, lim Limits) *Table {
	return NewTableBehind(r, file, lim, nil)
}

// NewTableBehind returns what NewTable does. Lines before the first that known takes for a header are no rows; nil: it takes none.
func NewTableBehind(r io.Reader, file string, lim Limits, known func(cells []string) bool) *Table {
	limit := min(lim.OrDefault().Line, maxRecord)
	in := &bounded{r: r, limit: limit + lineBuffer}
	buffer := bufio.NewReaderSize(in, bufferFor(r))
	head, _ := buffer.Peek(lineBuffer) // its error comes again
	if bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")) {
		head = head[3:]
		buffer.Discard(3)
	}
	d, found := Dialect{}, false
	if known != nil {
		d, found = FindHeader(head, known)
	}
	if !found {
		d = Dialect{Comma: separator(firstLine(head)), Comments: true}
	}
	buffer.Discard(d.Offset)
	text := io.Reader(buffer)
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		text = newLines{buffer}
	}
	t := &Table{csv: csv.NewReader(text), in: in, file: file, limit: limit, before: d.Lines, offset: int64(d.Offset), separated: d.Comma == '|'}
	t.csv.Comma = d.Comma
	if d.Comments {
		t.csv.Comment = '#'
	}
	t.csv.ReuseRecord = true
	t.csv.FieldsPerRecord = -1
	t.csv.TrimLeadingSpace = t.csv.Comma != '\t'
	return t
}

// bufferFor returns how large a buffer of what is read is: small inputs are held whole in less.
func bufferFor(r io.Reader) int {
	size := int64(lineBuffer)
	switch of := r.(type) {
	case interface{ Len() int }:
		size = int64(of.Len())
	case interface {
		Size() int64
		IsUncompressed() bool
	}:
		if of.IsUncompressed() && of.Size() != UnknownSize {
			size = of.Size()
		}
	}
	return int(min(size+1, lineBuffer))
}

// newLines makes each carriage return the end of a line, as programs wrote it that end lines with nothing else.
type newLines struct{ r io.Reader }

func (n newLines) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	for i, c := range p[:k] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return k, err
}

// Dialect is how the text of a table is written.
type Dialect struct {
	Comma    rune
	Offset   int   // bytes before the header
	Lines    int64 // … which are so many lines
	Comments bool  // lines that begin with # are no rows
	Header   []string
}

// mostBefore is how many lines a table may have before its header.
const mostBefore = 40

// FindHeader looks for the header of a table among the first lines of text, split by each separator: the first that known
// knows and that rows follow. Comments, titles and the line by which a spreadsheet is told the separator stand before it.
func FindHeader(head []byte, known func(cells []string) bool) (d Dialect, ok bool) {
	ends := "\n"
	if bytes.IndexByte(head, '\n') < 0 {
		ends = "\r"
	}
	d.Comments = true
	most := make(map[rune]int) // cells of a line before, by the separator
	for d.Lines < mostBefore && d.Offset < len(head) {
		rest := head[d.Offset:]
		line, _, more := bytes.Cut(rest, []byte(ends))
		marked := len(line) - len(bytes.TrimLeft(line, "# "))
		if bytes.IndexByte(line[:marked], '#') < 0 {
			marked = 0
		}
		quoted := bytes.IndexByte(line, '"') >= 0 || len(bytes.TrimSpace(line)) == 0 // then the first row may be longer than the line, or another
		for _, d.Comma = range ",;\t|" {
			if !quoted && bytes.IndexByte(line, byte(d.Comma)) < 0 {
				continue // one cell, which is no header
			}
			records := firstRecords(rest[marked:], d.Comma, ends)
			if records == nil {
				continue
			}
			d.Header = records[0]
			if len(d.Header) > max(1, most[d.Comma]) && known(d.Header) && hasDataRows(records) {
				d.Offset += marked // numpy marks the header as a comment
				return d, true
			}
			if marked == 0 {
				most[d.Comma] = max(most[d.Comma], len(d.Header))
			}
		}
		if !more {
			break
		}
		d.Offset += len(line) + len(ends)
		d.Lines++
	}
	return Dialect{}, false
}

// fewRecords is how many rows are looked at behind a header.
const fewRecords = 6

// firstRecords returns the cells of the first rows of text; nil where the first is none.
func firstRecords(text []byte, comma rune, ends string) (records [][]string) {
	in := io.Reader(bytes.NewReader(text))
	if ends == "\r" {
		in = newLines{in}
	}
	r := csv.NewReader(in)
	r.Comma, r.TrimLeadingSpace, r.FieldsPerRecord = comma, comma != '\t', -1
	for len(records) < fewRecords {
		cells, err := r.Read()
		if err != nil {
			break
		}
		records = append(records, cells)
	}
	return records
}

// hasDataRows reports whether rows that may be of a header follow it, where any do: as many cells, of which one is a number.
func hasDataRows(records [][]string) bool {
	for _, cells := range records[1:] {
		if n := len(cells) - len(records[0]); n >= 0 && n <= 1 && slices.ContainsFunc(cells, func(cell string) bool {
			cell = strings.TrimLeft(cell, " '+-.")
			return cell != "" && cell[0] >= '0' && cell[0] <= '9'
		}) {
			return true
		}
	}
	return len(records) == 1 && !slices.ContainsFunc(records[0], func(cell string) bool { return len(cell) > longestAlone })
}

// longestAlone is the longest name of a column that is taken for one where no row follows, bytes.
const longestAlone = 40

// firstLine returns the first line with text that is no comment.
func firstLine(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// separator returns which of comma, semicolon, tab and bar a line has most of, outside of quotes.
func separator(line []byte) rune {
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
	for _, c := range []byte(";\t|") {
		if count[c] > count[best] {
			best = c
		}
	}
	return rune(best)
}

// Pos returns the position of the last returned row.
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
		cells, err := t.read()
		var broken *csv.ParseError
		switch {
		case errors.As(err, &broken):
			t.line = t.before + int64(broken.StartLine)
			if t.AtEnd() {
				return nil, ErrCutRow
			}
			return nil, &RowError{input.At(t.Pos(), input.Bad(input.ErrFormat, "quotes inside of a cell, or text after a closing quote: double quotes inside of cells are written twice"))}
		case errors.Is(err, input.ErrTooLarge):
			t.line++
			return nil, input.At(t.Pos(), err)
		case err != nil:
			return nil, err
		case !slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) != "" }):
			continue
		case t.separated && isRule(cells):
			continue
		}
		line, _ := t.csv.FieldPos(0)
		if t.line = t.before + int64(line); t.offset+t.csv.InputOffset()-t.in.row > t.limit {
			return nil, input.At(t.Pos(), input.Bad(input.ErrTooLarge, "a row of more than %d bytes", t.limit))
		}
		return cells, nil
	}
}

// isRule reports whether a row is drawn, as below the header of a table in Markdown.
func isRule(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool { return strings.Trim(cell, "-:+= ") != "" })
}

// AtEnd reports whether the input ends inside of the row that was returned
// last, whose cells are not valid any more.
func (t *Table) AtEnd() bool {
	if t.ahead == nil {
		cells, err := t.read()
		t.ahead = &record{cells, err}
	}
	return t.ahead.err != nil && (t.in.open || t.in.quotes%2 == 1)
}
