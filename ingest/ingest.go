// Package ingest is what all readers share: the interface through which
// windows leave a reader, the limits that keep a hostile file from exhausting
// memory, and opening of compressed inputs.
//
// The readers themselves are in packages of their own, one per source, and
// ingest/auto chooses among them by content.
package ingest

import (
	"github.com/sfstat/sfstat/trace"
)

// WindowReader yields the windows of one input, one at a time, in input order.
type WindowReader interface {
	// Next returns the next window, which the caller owns. At the end the
	// error is io.EOF. Any other error ends the input: it carries the position
	// (a *trace.RecordError) and Next must not be called again.
	Next() (*trace.Window, error)
	Close() error
}

// Limits bound what a reader will accept from one input. The zero value means
// DefaultLimits.
type Limits struct {
	Line    int64 // bytes in one line or record
	Pending int64 // bytes of windows that wait for ranks that have not reported
	Ratio   int64 // decompressed bytes per compressed byte, past the first 64 MiB
}

// DefaultLimits are generous for real data: a packet of 10,000 steps × 100
// stages is about 10 MB.
func DefaultLimits() Limits {
	return Limits{Line: 256 << 20, Pending: 2 << 30, Ratio: 1100}
}

// OrDefault replaces unset limits by the defaults.
func (l Limits) OrDefault() Limits {
	d := DefaultLimits()
	if l.Line <= 0 {
		l.Line = d.Line
	}
	if l.Pending <= 0 {
		l.Pending = d.Pending
	}
	if l.Ratio <= 0 {
		l.Ratio = d.Ratio
	}
	return l
}
