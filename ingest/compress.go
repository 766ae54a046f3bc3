package ingest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/trace/input"
)

// Compression is how an input is stored.
type Compression uint8

const (
	Plain Compression = iota
	Gzip
	Zstd
)

func (c Compression) String() string {
	switch c {
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return "plain"
}

// compressionOf goes by the first four bytes. A zstd file may begin with a
// skippable frame, as parallel compressors write it.
func compressionOf(magic []byte) Compression {
	if len(magic) >= 3 && magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == 8 {
		return Gzip
	}
	if len(magic) >= 4 {
		if m := binary.LittleEndian.Uint32(magic); m == 0xFD2FB528 || m&^0xF == 0x184D2A50 {
			return Zstd
		}
	}
	return Plain
}

// decompress puts a decoder before in, a guard behind the decoder and a
// goroutine behind the guard, so that decompressing and parsing overlap.
func (s *Source) decompress(in *bufio.Reader, lim Limits) (io.Reader, error) {
	g := &guard{s: s, in: in, lim: lim}
	closeDecoder := func() {}
	switch s.comp {
	case Gzip:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, g.explain(err)
		}
		g.r = z
		g.lim.Ratio = min(g.lim.Ratio, gzipRatio)
	case Zstd:
		// One decoder works in the calling goroutine and reads no further
		// than it must, which the guard's count rests on.
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(max(lim.Window, zstd.MinWindowSize))))
		if err != nil {
			return nil, g.explain(err)
		}
		g.r, closeDecoder = z, z.Close
	default:
		return in, nil
	}
	a := readAhead(g, closeDecoder)
	s.stop = a.Stop
	return a, nil
}

// ratioFree is how much may be decompressed before the ratio counts: less is
// no danger, and short inputs of repeated bytes compress without bound.
const ratioFree = 64 << 20

// gzipRatio is the limit for gzip, whose format ends at 1,032: only runs of a
// few repeated bytes come near that.
const gzipRatio = 500

// guard bounds what a decoder produces and says in plain words what went
// wrong inside it.
type guard struct {
	r   io.Reader
	s   *Source
	in  *bufio.Reader
	lim Limits
	out int64
}

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	g.out += int64(n)
	if g.out > ratioFree {
		if in := g.s.StoredBytes() - int64(g.in.Buffered()); g.out/g.lim.Ratio > in {
			return 0, g.locate(input.Bad(input.ErrTooLarge,
				"%d bytes of %s decompress to more than %d, over %d-fold, as a decompression bomb does: if it is none, decompress it first",
				in, g.s.comp, g.out, g.lim.Ratio))
		}
	}
	if err != nil && err != io.EOF {
		err = g.explain(err)
	}
	return n, err
}

func (g *guard) explain(err error) error {
	switch raw := g.s.raw.err; {
	case raw != nil && raw != io.EOF: // not the decoder's finding
		return g.locate(cause(raw))
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return g.locate(input.Bad(input.ErrTruncated, "the %s data ends too early", g.s.comp))
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return g.locate(input.Bad(input.ErrTooLarge,
			"a zstd frame asks for a window of more than %d MiB: compress again without --long or --ultra", g.lim.Window>>20))
	case errors.Is(err, zstd.ErrUnknownDictionary):
		return g.locate(input.Bad(input.ErrFormat, "compressed with a zstd dictionary: compress again without one"))
	}
	return g.locate(input.Bad(input.ErrFormat, "not valid %s: %v", g.s.comp, err))
}

// locate adds the file and the offset in its decompressed data to an error.
func (g *guard) locate(err error) error {
	return input.At(input.Pos{File: g.s.name, Offset: g.out}, err)
}
