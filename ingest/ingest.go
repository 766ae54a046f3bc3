// Package ingest is what all readers share: the interface through which
// windows leave a reader, the limits that keep a hostile file from exhausting
// memory, and the opening of inputs: compression found by content, byte-order
// mark, lines of bounded length.
//
// The readers themselves are in packages of their own, one per source, and
// ingest/auto chooses among them by content.
package ingest

import (
	"io"

	"github.com/sfstat/sfstat/trace"
)

// WindowReader yields the windows of one input, one at a time, in input order.
type WindowReader interface {
	// Next returns the next window, which the caller owns. At the end the
	// error is io.EOF. Any other error ends the input: it carries the position
	// (a *input.Error) and Next must not be called again.
	Next() (*trace.Window, error)
	Close() error
}

// Policy says what a refused input does to the others that are read with it.
type Policy uint8

const (
	KeepGoing  Policy = iota // the others are still read, the refused one is reported
	FirstError               // the first refusal ends the reading
)

// Limits bound what a reader will accept from one input. Limits that are
// zero stand for those of OrDefault.
type Limits struct {
	Line    int64 // bytes in one line or record
	Pending int64 // bytes of windows that wait for ranks that have not reported
	Table   int64 // bytes of a window of a table, of which what is more than Pending is held compressed; Pending by default
	Ratio   int64 // decompressed bytes per compressed byte, past the first 64 MiB; 500 at most for gzip
	Window  int64 // bytes of history that a zstd frame may ask the decoder to hold
}

// defaultLimits returns limits that are generous for real data: a packet of 10,000 steps × 100 stages is about 10 MB, timings
// compress 2- to 20-fold, and 128 MiB is what the zstd command line itself accepts.
func defaultLimits() Limits {
	return Limits{Line: 256 << 20, Pending: 2 << 30, Ratio: 1000, Window: 128 << 20}
}

// What a reader may hold of an input, by the bytes that it is stored in: real ones
// compress 2- to 40-fold, and a number of three or more characters takes 8 bytes. Small
// inputs compress without bound.
const (
	lineFold, lineFree       = 4, 16 << 20
	pendingFold, pendingFree = 12, 48 << 20
)

// Scale returns the limits for an input that is stored in so many bytes: a file that was
// made to fill the memory of a machine is refused before it does.
func (l Limits) Scale(stored int64) Limits {
	l = l.OrDefault()
	if stored >= 0 && stored < l.Pending {
		l.Line = min(l.Line, max(lineFree, lineFold*stored))
		l.Pending = min(l.Pending, max(pendingFree, pendingFold*stored))
	}
	return l
}

// StoredSize returns how many bytes an input has as stored, UnknownSize where r cannot tell.
func StoredSize(r io.Reader) int64 {
	if sized, ok := r.(interface{ Size() int64 }); ok {
		return sized.Size()
	}
	return UnknownSize
}

// OrDefault replaces unset limits by the defaults.
func (l Limits) OrDefault() Limits {
	d := defaultLimits()
	if l.Line <= 0 {
		l.Line = d.Line
	}
	if l.Pending <= 0 {
		l.Pending = d.Pending
	}
	if l.Table <= 0 {
		l.Table = l.Pending
	}
	if l.Ratio <= 0 {
		l.Ratio = d.Ratio
	}
	if l.Window <= 0 {
		l.Window = d.Window
	}
	return l
}
