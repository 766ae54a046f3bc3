package auto

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/trace"
)

// look opens a candidate and finds out what it is. The source is nil when the
// input is not to be read: it is refused with an error, or skipped.
func (r *Reader) look(c candidate, in *Input) (*metered, error) {
	if c.err != nil {
		return nil, c.err
	}
	ours := c.named || meant(c.path)
	src, err := r.source(c.path)
	if err == nil {
		in.Bytes, in.Compression = src.Size(), src.Compression()
		in.Format, err = identify(src, ours)
		if err == nil && in.Format == Archive && !ours {
			err = probe(c.path, r.o.Limits)
		}
		if err == nil {
			return r.meter.watch(src), nil
		}
		src.Close()
	}
	for _, kind := range []error{trace.ErrFormat, trace.ErrEmpty, archive.ErrNotArchive} {
		if !ours && errors.Is(err, kind) {
			text := strings.TrimPrefix(err.Error(), c.path+": ")
			in.Skipped = strings.TrimSuffix(text, " ("+kind.Error()+")")
			return nil, nil
		}
	}
	return nil, err
}

// probe tells whether a Parquet file is a window archive.
func probe(path string, lim ingest.Limits) error {
	a, err := archive.Open(path, lim)
	if err != nil {
		return err
	}
	return a.Close()
}

func (r *Reader) source(path string) (*ingest.Source, error) {
	if path == ingest.Stdin {
		return ingest.NewSource(r.o.Stdin, path, r.o.Limits)
	}
	return ingest.Open(path, r.o.Limits)
}

// identify tells what src is; the error says why it cannot be read. What is not
// ours for sure must begin as its format does.
func identify(src *ingest.Source, ours bool) (Format, error) {
	head, err := src.Peek(sniffed)
	if err != nil && err != io.EOF && (len(head) == 0 || !errors.Is(err, trace.ErrTruncated)) {
		return Unknown, err
	}
	f := Sniff(head)
	if f == JSON && len(head) == sniffed { // long metadata may come first
		head, _ = src.Peek(sniffedJSON)
		f = Sniff(head)
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	// Packets that are broken at their beginning, or come after log lines:
	// their reader says best what is wrong.
	case f == JSON && text[0] == '{' && meant(src.Name()), f == Text && ours && hasAny(text, packetMark):
		return Packets, nil
	case f == Archive && src.Compression() != ingest.Plain:
		return f, trace.At(trace.Pos{File: src.Name()}, trace.Bad(trace.ErrFormat,
			"a Parquet file inside %s: unpack it first, Parquet is compressed by itself", src.Compression()))
	case !f.Readable():
		return f, trace.At(trace.Pos{File: src.Name()}, f.refusal())
	}
	return f, nil
}

// unit is what is read in one go: all packets, or one file. It is opened when
// its turn comes.
type unit struct {
	input  *Input // nil for packets
	size   int64  // of its inputs, as far as it is known
	reader ingest.WindowReader
	source *metered // until it is opened
	open   func(src *metered) (ingest.WindowReader, error)
}

// unit makes the unit of one file that is not packets. A file that can be
// opened again is, so that not all are open at once.
func (r *Reader) unit(in *Input, src *metered) *unit {
	u := &unit{input: in, source: src}
	again := in.Bytes != ingest.UnknownSize
	if again {
		src.Close()
		u.source = nil
	}
	u.open = func(src *metered) (ingest.WindowReader, error) {
		if in.Format == Archive && again {
			return archive.Open(in.Path, r.o.Limits)
		}
		if again {
			s, err := r.source(in.Path)
			if err != nil {
				return nil, err
			}
			src = r.meter.watch(s)
		}
		if in.Format == Archive {
			return spool(src, r.o.Limits)
		}
		return openCSV(src, r.o.Limits)
	}
	return u
}

func (u *unit) next() (*trace.Window, error) {
	if u.reader == nil {
		src := u.source
		u.source = nil
		var err error
		if u.reader, err = u.open(src); err != nil {
			u.reader = nil
			return nil, err
		}
	}
	return u.reader.Next()
}

func (u *unit) close() error {
	switch {
	case u.reader != nil:
		return u.reader.Close()
	case u.source != nil:
		return u.source.Close()
	}
	return nil
}

func openCSV(src *metered, lim ingest.Limits) (ingest.WindowReader, error) {
	c, err := csv.NewReader(src, src.Name(), lim)
	if err != nil {
		src.Close()
		return nil, err
	}
	return withSource{c, src}, nil
}

// withSource closes the source of a reader with it.
type withSource struct {
	ingest.WindowReader
	src io.Closer
}

func (w withSource) Close() error { return errors.Join(w.WindowReader.Close(), w.src.Close()) }

// spool copies a Parquet stream to a temporary file, since it is read from its
// end.
func spool(src *metered, lim ingest.Limits) (_ ingest.WindowReader, err error) {
	defer src.Close()
	f, err := os.CreateTemp("", "sfstat-*.parquet")
	if err != nil {
		return nil, err
	}
	t := temporary{f}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	size, err := io.Copy(f, src)
	if err != nil {
		return nil, err
	}
	a, err := archive.NewReader(f, size, src.Name(), lim)
	if err != nil {
		return nil, err
	}
	return withSource{a, t}, nil
}

// temporary is a file that goes when it is closed.
type temporary struct{ f *os.File }

func (t temporary) Close() error { return errors.Join(t.f.Close(), os.Remove(t.f.Name())) }
