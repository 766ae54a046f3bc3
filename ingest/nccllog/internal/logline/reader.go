package logline

import (
	"bytes"
	"fmt"
	"io"

	"github.com/sfstat/sfstat/ingest"
)

// maxNames bounds the host names that are kept: a log has a handful.
const maxNames = 1 << 16

// maxLine bounds lines, in bytes: NCCL's own have at most a few hundred, and those
// that processes tore and glued together some thousand. Longer ones are passed over.
const maxLine = 16 << 20

// longExample is how much is shown of a line that is passed over.
const longExample = 40

// Reader reads records one by one. Its memory is one buffer and one line,
// and a host name for each host.
type Reader struct {
	lines  *ingest.Lines
	record Record
	err    error
	names  map[string]string

	line []byte   // being read
	head Head     // whose message comes next, if
	mark headMark // which ends there
	more bool     // there is one
}

// NewReader reads a log from src, plain and without byte-order mark, as
// ingest.Source gives it; name stands in errors.
func NewReader(src io.Reader, name string, lim ingest.Limits) *Reader {
	lim = lim.OrDefault()
	lim.Line = min(lim.Line, maxLine)
	return &Reader{lines: ingest.NewLines(src, name, lim, nil), names: map[string]string{}}
}

// Scan reads the next record. It is false at the end and at the first error of
// the input; a record that cannot be read is no error.
func (r *Reader) Scan() bool {
	if r.more {
		r.segment()
		return true
	}
	line, size, err := r.lines.NextCut()
	if err != nil {
		if err != io.EOF {
			r.err = err
		}
		return false
	}
	r.record.Line = r.lines.Pos().Line
	if size > int64(len(line)) {
		r.skipLong(line, size)
		return true
	}
	line = removeColour(unwrap(line))
	mark, found := nextHead(line, 0)
	if !found {
		r.headless(line)
		return true
	}
	r.head, _ = r.parseHead(line[:mark.start])
	r.line, r.mark, r.more = line, mark, true
	r.segment()
	return true
}

// Record returns the record that Scan read. It is valid until the next Scan.
func (r *Reader) Record() *Record { return &r.record }

// Err returns why Scan ended, nil at the end of the input.
func (r *Reader) Err() error { return r.err }

// Lines returns how many lines were read.
func (r *Reader) Lines() int64 { return r.lines.Pos().Line }

// segment reads the message behind r.mark; it ends where another head begins.
func (r *Reader) segment() {
	head, mark := r.head, r.mark
	text := r.line[mark.end:]
	next, found := nextHead(r.line, mark.end)
	if found {
		var from int
		r.head, from = r.parseHead(r.line[mark.end:next.start])
		text = text[:from]
	}
	r.mark, r.more = next, found
	r.fill(head, mark.level, text)
}

// fill makes the record of one message.
func (r *Reader) fill(h Head, l level, text []byte) {
	rec := &r.record
	rec.Head, rec.HasHead, rec.Text, rec.Why = h, true, text, ""
	switch l {
	case warn:
		rec.Kind = WarnLine
	case traced: // of builds with TRACE: says again what call lines say
		rec.Kind = Other
	default:
		rec.classify(text)
	}
}

// skipLong makes the record of a line that is too long to be one of a log, of which line is the beginning.
func (r *Reader) skipLong(line []byte, size int64) {
	rec := &r.record
	rec.Head, rec.HasHead = Head{Device: -1}, false
	rec.Text = fmt.Appendf(nil, "%d bytes from byte %d on, which begin with %q", size, r.lines.Offset(), line[:min(len(line), longExample)])
	rec.setDamaged("a line longer than any of NCCL's, passed over")
}

// headless makes the record of a line without a head: a call may have
// lost it to another process that wrote in between.
func (r *Reader) headless(line []byte) {
	rec := &r.record
	rec.Head, rec.HasHead, rec.Text, rec.Why = Head{Device: -1}, false, line, ""
	rec.Kind = Other
	if i := bytes.Index(line, opCount); i >= 0 {
		rec.call(line, i)
	}
}

// intern keeps one copy of every host name.
func (r *Reader) intern(b []byte) string {
	if s, ok := r.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(r.names) < maxNames {
		r.names[s] = s
	}
	return s
}
