package ingest

import (
	"bytes"
	"io"
	"iter"
)

// NewTerminalLines reads the lines of what a program wrote to a terminal: without colours and links, and with what progress bars
// write over each other as lines of their own.
func NewTerminalLines(r io.Reader, file string, lim Limits) *Lines {
	l := NewLines(r, file, lim, nil)
	l.r, l.terminal = &carriage{r: r}, true
	return l
}

// TerminalLines returns the lines of a text as [NewTerminalLines] reads them. Each is valid until the next.
func TerminalLines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for lines := NewTerminalLines(bytes.NewReader(text), "", Limits{}); ; {
			line, _, err := lines.NextCut()
			if err != nil || !yield(line) {
				return
			}
		}
	}
}

// carriage reads carriage returns as ends of lines, where none follows.
type carriage struct {
	r    io.Reader
	held bool // the last byte was a carriage return, which is given with what follows it
}

// Read returns what follows. A carriage return at the end is held back until it is known what comes behind it.
func (c *carriage) Read(p []byte) (n int, err error) {
	from := 0
	if c.held && len(p) > 0 {
		p[0], from = '\r', 1
	}
	if len(p) == 1 && from == 1 { // there is no room to look behind it
		p[0], c.held = '\n', false
		return 1, nil
	}
	n, err = c.r.Read(p[from:])
	n += from
	if c.held = err == nil && n > 0 && p[n-1] == '\r'; c.held {
		n--
	}
	for rest := p[:n]; ; {
		i := bytes.IndexByte(rest, '\r')
		if i < 0 {
			return n, err
		}
		if i+1 < len(rest) && rest[i+1] != '\n' || i+1 == len(rest) && c.held {
			rest[i] = '\n'
		}
		rest = rest[i+1:]
	}
}

const escape = 0x1b

// plain takes the sequences out of a line that steer a terminal (ECMA-48): "\x1b[32m", "\x1b[K", "\x1b]8;;ADDRESS\x1b\\". The line
// is written over.
func plain(line []byte) []byte {
	at := bytes.IndexByte(line, escape)
	if at < 0 {
		return line
	}
	out := line[:at]
	for rest := line[at:]; ; {
		rest = rest[sequenceEnd(rest):]
		next := bytes.IndexByte(rest, escape)
		if next < 0 {
			return append(out, rest...)
		}
		out, rest = append(out, rest[:next]...), rest[next:]
	}
}

// sequenceEnd returns how many bytes the sequence has that a text begins with; 1, the escape alone, of what is none.
func sequenceEnd(text []byte) int {
	switch {
	case len(text) < 2:
	case text[1] == '[':
		for i, c := range text[2:] {
			switch {
			case '@' <= c && c <= '~':
				return i + 3
			case c < ' ' || c > '?':
				return 1
			}
		}
	case text[1] == ']':
		for i, c := range text[2:] {
			switch {
			case c == '\a':
				return i + 3
			case c == escape && i+3 < len(text) && text[i+3] == '\\':
				return i + 4
			case c < ' ':
				return 1
			}
		}
	}
	return min(1, len(text))
}
