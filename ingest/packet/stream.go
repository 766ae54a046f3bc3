package packet

import (
	"errors"
	"io"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Stream is one input of packets.
type Stream struct {
	Name string // stands in errors
	R    io.Reader
	// Open opens the input where R is nil, when the run that it begins with is next: of
	// many runs the files of one are open at a time. Run is the name of that run, "" where it is not known: then all are open.
	Open func() (io.ReadCloser, error)
	Run  string
}

// stream reads the packets of one input in their order, with one packet at
// hand: head.
type stream struct {
	name   string
	lines  *ingest.Lines
	dec    decoder
	open   func() error // nil: it is
	begins string       // the run that it begins with, as far as that is known before it is opened
	close  func() error
	spare  *spares
	limit  int64 // bytes of blank lines in a row
	closed bool

	head   *trace.Part // nil at the end
	window *window     // that head, or at the end the last head, belongs to
	runs   []*run      // that it had packets of
	order  int         // position among the streams
	err    error       // why it was refused
	cut    input.Pos   // where it ends in the middle of a line; zero if it does not

	packets, windows int64
}

// advance reads the next packet into head. An error ends the stream.
func (s *stream) advance() {
	s.head = nil
	p := s.spare.take()
	switch err := s.readPacket(p); {
	case err == nil:
		s.head = p
		s.packets++
		return
	case err != io.EOF:
		s.refuse(err)
	case s.packets > 0:
		s.stop()
	case s.cut.Line > 0:
		s.refuse(input.At(s.cut, input.Bad(input.ErrTruncated, "the input ends in the middle of its first packet")))
	default:
		s.refuse(input.At(input.Pos{File: s.name}, input.Bad(input.ErrEmpty, "no packets")))
	}
	s.spare.give(p)
}

// refuse ends the stream with an error.
func (s *stream) refuse(err error) {
	if s.err == nil {
		s.err = err
	}
	s.stop()
}

// stop closes the stream, of which no buffer is left: there may be thousands.
func (s *stream) stop() error {
	s.head = nil
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.close()
	s.lines, s.close, s.open, s.dec = nil, nil, nil, decoder{Unknown: s.dec.Unknown}
	return err
}

// readPacket reads the next packet into p; io.EOF after the last one.
func (s *stream) readPacket(p *trace.Part) (err error) {
	defer bug.Contain(s.name, &err)
	line, err := s.content()
	if err != nil {
		return s.endOfInput(err)
	}
	p.Pos = s.lines.Pos()
	e := s.dec.decode(line, p)
	if e == nil {
		return nil
	}
	pos := p.Pos
	pos.Inside = e.placeInLine()
	bad := input.At(pos, e.err)
	if !errors.Is(e.err, input.ErrTruncated) {
		return bad
	}
	if _, err := s.content(); err == nil {
		return bad // more follows: not where a job was killed
	} else if err != io.EOF {
		return s.endOfInput(err)
	}
	s.cut = p.Pos
	return io.EOF
}

// endOfInput turns an input that ends too early into its end.
func (s *stream) endOfInput(err error) error {
	if errors.Is(err, input.ErrTruncated) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.cut = s.lines.Pos()
		s.cut.Line++
		return io.EOF
	}
	return err
}

// content returns the next line that is not blank.
func (s *stream) content() ([]byte, error) {
	for blank := int64(0); ; {
		line, err := s.lines.Next()
		if err != nil || !isBlank(line) {
			return line, err
		}
		if blank += int64(len(line)) + 1; blank > s.limit {
			return nil, input.At(s.lines.Pos(), input.Bad(input.ErrTooLarge, "more than %d bytes of blank lines: is the file what its name says?", s.limit))
		}
	}
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// spares are parts whose memory can be used again.
type spares struct {
	parts []*trace.Part
	bytes int64
}

// maxSpares bounds what is kept for later, in bytes.
const maxSpares = 32 << 20

func (f *spares) take() *trace.Part {
	n := len(f.parts)
	if n == 0 {
		return &trace.Part{}
	}
	p := f.parts[n-1]
	f.parts = f.parts[:n-1]
	f.bytes -= size(p)
	return p
}

func (f *spares) give(p *trace.Part) {
	if n := size(p); f.bytes+n <= maxSpares {
		f.parts = append(f.parts, p)
		f.bytes += n
	}
}
