package ingest

import (
	"bytes"
	"io"
	"regexp"
)

// arrayHead is how an array of rows begins that have the number of a step, such as pandas writes with
// to_json(orient="records"): objects without others inside.
var arrayHead = regexp.MustCompile(`^\s*\[\s*\{[^{}\[\]]*"(?:[^"{}]*[._/ ])?(?i:step|iteration|iter)"\s*:\s*[0-9][^{}\[\]]*\}`)

// mostOfRow is how much of an array is looked at for its first row.
const mostOfRow = 4 << 10

// isRowArray reports whether text begins as an array of rows.
func isRowArray(head []byte) bool { return arrayHead.Match(head) }

// opensArray reports whether text begins with the bracket of an array.
func opensArray(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("["))
}

// rowArray reads an array of JSON objects as a line for each, with empty lines between them where the array has lines of
// its own, so that errors name the line at which an object begins. What is cut off ends in the middle of a line.
type rowArray struct {
	from   io.Reader
	chunk  []byte
	out    bytes.Buffer
	depth  int // of brackets and braces
	behind int // lines of the array that are not written yet; negative: lines that it does not have
	quoted bool
	escape bool
	err    error
}

// newRowArray returns the rows of an array as lines.
func newRowArray(from io.Reader) io.Reader {
	return &rowArray{from: from, chunk: make([]byte, 32<<10)}
}

// Read implements io.Reader.
func (r *rowArray) Read(p []byte) (int, error) {
	for r.out.Len() == 0 && r.err == nil {
		n, err := r.from.Read(r.chunk)
		for _, c := range r.chunk[:n] {
			r.add(c)
		}
		if r.err = err; err == io.EOF && r.depth > 0 {
			r.out.WriteByte(' ')
		}
	}
	if r.out.Len() == 0 {
		return 0, r.err
	}
	return r.out.Read(p)
}

// add takes the next byte of the array.
func (r *rowArray) add(c byte) {
	switch {
	case r.escape:
		r.escape = false
	case r.quoted:
		r.escape, r.quoted = c == '\\', c != '"'
	case c == '"':
		r.quoted = true
	case c == '[' || c == '{':
		if r.depth++; r.depth == 1 {
			return
		}
	case c == ']' || c == '}':
		if r.depth = max(0, r.depth-1); r.depth == 1 {
			r.out.Write([]byte{c, '\n'})
			for r.behind--; r.behind > 0; r.behind-- {
				r.out.WriteByte('\n')
			}
			return
		}
		if r.depth == 0 {
			return
		}
	case c == '\n':
		if r.behind++; r.behind > 0 && r.depth < 2 {
			r.behind--
			r.out.WriteByte('\n')
		}
		c = ' '
	case c == '\r':
		c = ' '
	}
	if r.depth > 1 || r.quoted && r.depth == 1 {
		r.out.WriteByte(c)
	}
}
