package csv

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// NewJSON returns the rows of a table of one JSON object per line, whose keys are the columns: those of the first line. Closing them
// closes r where it is an io.Closer.
func NewJSON(r io.Reader, file string, lim ingest.Limits) *Source {
	lim = lim.Scale(ingest.StoredSize(r))
	return &Source{rows: &jsonRows{in: ingest.NewLines(r, file, lim, nil), file: file}, file: file, lim: lim, in: closerOf(r)}
}

// ColumnsOfJSON returns the keys of the first line of text, nil where it is no JSON object.
func ColumnsOfJSON(text []byte) []string {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, " \t\r\n"), []byte("\n"))
	names, _, err := object(line)
	if err != nil {
		return nil
	}
	return names
}

// Of a column that is the sum of the others in so many rows at least, to a part of itself, the others are the parts of a step.
const (
	fewSums = 8
	sumNear = 0.02
)

// HasPartsOfSteps reports whether the lines of text are JSON objects with a step and three times or more, of which one is the sum of the others.
func HasPartsOfSteps(text []byte) bool {
	names := ColumnsOfJSON(text)
	var times []int
	for i, c := range meanings(names) {
		if c.kind == stage || c.kind == wall {
			times = append(times, i)
		}
	}
	if !isSure(names, step) || len(times) < 3 {
		return false
	}
	rows := 0
	var sums []int // columns that were the sum of the others in all rows
	for line := range bytes.Lines(text) {
		own, cells, err := object(line)
		if err != nil || !slices.Equal(own, names) {
			break // the last is cut
		}
		values, all := make([]float64, len(times)), 0.0
		for k, i := range times {
			v, err := strconv.ParseFloat(cells[i], 64)
			if err != nil || v < 0 {
				return false
			}
			values[k] = v
			all += v
		}
		var now []int
		for k, v := range values {
			if math.Abs(all-2*v) <= sumNear*v && v > 0 && (rows == 0 || slices.Contains(sums, k)) {
				now = append(now, k)
			}
		}
		if sums = now; len(sums) == 0 {
			return false
		}
		rows++
	}
	return rows >= fewSums
}

// jsonRows are the rows of a table of JSON objects.
type jsonRows struct {
	in    *ingest.Lines
	file  string
	names []string
	first []string // the cells of the first line, until Next returns them
	cells []string
	ahead []byte // the line behind one that is broken; nil: it was not read
	atEnd bool
}

func (j *jsonRows) Header() (names []string, err error) {
	line, err := j.line()
	if err != nil {
		return nil, err
	}
	j.names, j.first, err = object(line)
	return j.names, err
}

// line returns the next line with text.
func (j *jsonRows) line() ([]byte, error) {
	if line := j.ahead; line != nil {
		j.ahead = nil
		return line, nil
	}
	for {
		line, err := j.in.Next()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

func (j *jsonRows) Next() ([]string, error) {
	if j.first != nil {
		j.cells, j.first = j.first, nil
		return j.cells, nil
	}
	line, err := j.line()
	if err != nil {
		return nil, err
	}
	names, values, err := object(line)
	if err != nil {
		pos := j.in.Pos()
		next, more := j.line()
		if errors.Is(more, io.EOF) {
			j.atEnd = true
			return nil, ingest.ErrCutRow
		}
		j.ahead = next
		return nil, &ingest.RowError{Err: input.At(pos, err)}
	}
	j.cells = slices.Grow(j.cells[:0], len(j.names))
	for _, name := range j.names {
		cell := ""
		if i := slices.Index(names, name); i >= 0 {
			cell = values[i]
		}
		j.cells = append(j.cells, cell)
	}
	return j.cells, nil
}

func (j *jsonRows) Pos() input.Pos { return j.in.Pos() }

func (j *jsonRows) AtEnd() bool { return j.atEnd }

// object parses a JSON object with its keys in order: numbers as they stand, text, true and false; "" of anything
// else.
func object(line []byte) (names, values []string, err error) {
	if names, values, ok := flatObject(line); ok {
		return names, values, nil
	}
	return decodeObject(line)
}

// decodeObject parses any JSON object as object does.
func decodeObject(line []byte) (names, values []string, err error) {
	bad := func(err error) error {
		return input.Bad(input.ErrFormat, "no JSON object with a value for each column: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, bad(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, bad(err)
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, nil, bad(err)
		}
		names = append(names, key.(string))
		switch v := value.(type) {
		case json.Number:
			values = append(values, v.String())
		case string:
			values = append(values, v)
		case bool:
			values = append(values, strconv.FormatBool(v))
		default:
			values = append(values, "")
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, bad(err)
	}
	return names, values, nil
}

// flatObject parses an object of keys and texts in plain ASCII, numbers, true, false and null, as programs write the rows of a table; ok is false
// for all other lines.
func flatObject(line []byte) (names, values []string, ok bool) {
	rest := bytes.TrimLeft(line, " \t\r\n")
	if len(rest) < 2 || rest[0] != '{' {
		return nil, nil, false
	}
	text := string(rest)
	for at := 1; ; at++ {
		var name, value string
		if name, at, ok = plainText(text, skipBlanks(text, at)); !ok {
			return nil, nil, false
		}
		if at = skipBlanks(text, at); at == len(text) || text[at] != ':' {
			return nil, nil, false
		}
		if value, at, ok = plainValue(text, skipBlanks(text, at+1)); !ok {
			return nil, nil, false
		}
		names, values = append(names, name), append(values, value)
		if at = skipBlanks(text, at); at == len(text) || text[at] != ',' && text[at] != '}' {
			return nil, nil, false
		}
		if text[at] == '}' {
			return names, values, true
		}
	}
}

func skipBlanks(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

// plainText returns the text in quotes at a place, and the place behind it.
func plainText(text string, at int) (string, int, bool) {
	if at == len(text) || text[at] != '"' {
		return "", at, false
	}
	for end := at + 1; end < len(text); end++ {
		switch c := text[end]; {
		case c == '"':
			return text[at+1 : end], end + 1, true
		case c == '\\' || c < ' ' || c >= 0x7f:
			return "", at, false
		}
	}
	return "", at, false
}

// plainValue returns a number as it stands, a text, true or false, "" for null, and the place behind it.
func plainValue(text string, at int) (string, int, bool) {
	if at == len(text) {
		return "", at, false
	}
	if text[at] == '"' {
		return plainText(text, at)
	}
	end := at
	for end < len(text) && strings.IndexByte(",} \t\r\n", text[end]) < 0 {
		end++
	}
	switch value := text[at:end]; {
	case value == "null":
		return "", end, true
	case value == "true" || value == "false" || isNumber(value):
		return value, end, true
	}
	return "", at, false
}

// isNumber reports whether a text is a number as JSON has it, without an exponent.
func isNumber(text string) bool {
	whole, fraction, hasFraction := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	return isDigits(whole) && (whole == "0" || whole[0] != '0') && (!hasFraction || isDigits(fraction))
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
