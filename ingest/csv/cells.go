package csv

import (
	"bytes"
	"io"
	"math"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
)

// maxQuoted bounds a record that goes on over line ends inside of quotes: a
// quote too many must not swallow the file.
const maxQuoted = 1 << 20

// records cuts an input into records: lines, joined where a quoted cell has
// line ends in it. Empty lines are skipped.
type records struct {
	lines *ingest.Lines
	file  string
	tail  *tail
	line  int64 // where the current record begins
	last  int64 // and ends
	buf   []byte
}

// tail remembers whether what was read of an input ends inside of a line.
type tail struct {
	r    io.Reader
	open bool
}

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n > 0 {
		t.open = p[n-1] != '\n'
	}
	return n, err
}

// next returns the next record, valid until the next call.
func (r *records) next() ([]byte, error) {
	for {
		line, err := r.lines.Next()
		if err != nil {
			return nil, err
		}
		r.line = r.lines.Pos().Line
		r.last = r.line
		if r.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if bytes.IndexByte(line, '"') >= 0 {
			return r.quoted(line)
		}
		return line, nil
	}
}

// quoted adds lines until all quotes are closed.
func (r *records) quoted(line []byte) ([]byte, error) {
	open := bytes.Count(line, []byte{'"'})%2 == 1
	if !open {
		return line, nil
	}
	r.buf = append(r.buf[:0], line...)
	for open {
		line, err := r.lines.Next()
		if err == io.EOF {
			return r.buf, errOpenQuote
		}
		if err != nil {
			return nil, err
		}
		r.last = r.lines.Pos().Line
		r.buf = append(append(r.buf, '\n'), line...)
		if len(r.buf) > maxQuoted {
			return nil, trace.At(r.pos(), trace.Bad(trace.ErrTooLarge, "a quote that is not closed within %d bytes: double quotes inside of cells are written twice", maxQuoted))
		}
		open = bytes.Count(line, []byte{'"'})%2 == 0
	}
	return r.buf, nil
}

// pos is where the current record begins.
func (r *records) pos() trace.Pos { return trace.Pos{File: r.file, Line: r.line} }

// atEnd reports whether the input ends, inside of a line, after the record.
func (r *records) atEnd() bool {
	_, err := r.lines.Next()
	return err != nil && r.tail.open
}

var (
	// errOpenQuote ends an input inside of quotes.
	errOpenQuote = trace.Bad(trace.ErrFormat, "quotes that are not closed")
	// errCutRow ends an input in its last row.
	errCutRow = trace.Bad(trace.ErrTruncated, "the input ends inside of a row, as when a job is killed")
)

// cell takes the next cell off a record: its text without quotes, and what is
// left after the separator. done reports that it was the last. Unquoted text
// loses the blanks around it. Quotes that are escaped are undone in scratch.
func cell(rec []byte, comma byte, scratch *[]byte) (text, rest []byte, done bool, err error) {
	if at := skipBlanks(rec, comma); at < len(rec) && rec[at] == '"' {
		return quotedCell(rec[at+1:], comma, scratch)
	}
	end := bytes.IndexByte(rec, comma)
	if end < 0 {
		return bytes.TrimSpace(rec), nil, true, nil
	}
	return bytes.TrimSpace(rec[:end]), rec[end+1:], false, nil
}

// skipBlanks is the position of the first byte that is not a blank or a tab,
// unless the tab separates.
func skipBlanks(rec []byte, comma byte) int {
	at := 0
	for at < len(rec) && rec[at] != comma && (rec[at] == ' ' || rec[at] == '\t') {
		at++
	}
	return at
}

// quotedCell is cell for what follows an opening quote.
func quotedCell(rec []byte, comma byte, scratch *[]byte) (text, rest []byte, done bool, err error) {
	from := len(*scratch)
	for {
		end := bytes.IndexByte(rec, '"')
		if end < 0 {
			return nil, nil, true, errOpenQuote
		}
		*scratch = append(*scratch, rec[:end]...)
		if rec = rec[end+1:]; len(rec) == 0 || rec[0] != '"' {
			break
		}
		*scratch = append(*scratch, '"')
		rec = rec[1:]
	}
	text = (*scratch)[from:]
	at := skipBlanks(rec, comma)
	switch rest = rec[at:]; {
	case len(rest) == 0:
		return text, nil, true, nil
	case rest[0] == comma:
		return text, rest[1:], false, nil
	}
	return nil, nil, true, trace.Bad(trace.ErrFormat, "text after a closing quote: double quotes inside of cells are written twice")
}

// number parses the whole number at the start of rec up to the separator, the
// usual form of a cell: 1 to 18 digits. ok is false for anything else, which
// whole looks at more closely.
func number(rec []byte, comma byte) (v int64, rest []byte, done, ok bool) {
	i := 0
	for i < len(rec) && i < 19 {
		d := rec[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
		i++
	}
	switch {
	case i == 0 || i > 18:
		return 0, nil, false, false
	case i == len(rec):
		return v, nil, true, true
	case rec[i] == comma:
		return v, rec[i+1:], false, true
	}
	return 0, nil, false, false
}

// whole parses a cell that holds a whole number from 0 to 2⁶³−1, and says what
// is wrong with any other.
func whole(text []byte) (int64, error) {
	v, digits := int64(0), text
	if len(digits) > 1 && digits[0] == '+' {
		digits = digits[1:]
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, notWhole(text)
		}
		d := int64(c - '0')
		if v > (math.MaxInt64-d)/10 {
			return 0, trace.Bad(trace.ErrOverflow, "%.60s is too large, expected at most %d", text, int64(math.MaxInt64))
		}
		v = v*10 + d
	}
	if len(digits) == 0 {
		return 0, notWhole(text)
	}
	return v, nil
}

func notWhole(text []byte) error {
	if len(text) == 0 {
		return trace.Bad(trace.ErrMissing, "an empty cell, expected a whole number")
	}
	f, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil && f == 0:
		return trace.Bad(trace.ErrType, "%.60q, expected a whole number", text)
	case math.IsNaN(f) || math.IsInf(f, 0):
		return trace.Bad(trace.ErrNotFinite, "%.60q, expected a whole number", text)
	case f < 0:
		return trace.Bad(trace.ErrNegative, "%.60q, expected a whole number from 0", text)
	}
	return trace.Bad(trace.ErrType, "%.60q, expected a whole number: durations are nanoseconds without a fraction", text)
}
