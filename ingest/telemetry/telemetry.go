// Package telemetry is what the readers of monitoring share: gpucsv reads the tables
// of nvidia-smi, dmon the lines of dcgmi dmon and nvidia-smi dmon, exposition the text
// that node_exporter, DCGM's exporter and sfstat sample write, kernellog what dmesg and
// journalctl print.
//
// A reader keeps what [health.Quantity] lists and passes over all else: exporters have
// hundreds of series. Memory grows with the readings, up to MaxReadings of 16 bytes;
// what is beyond is left out and counted.
package telemetry

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// Options of the readers. The zero value is usable.
type Options struct {
	Limits ingest.Limits
	// Zone is that of stamps which name none; nil: UTC.
	Zone *time.Location
	// Written is when the file was last written, by which a stamp without a year
	// is dated; zero: not known, and then such a stamp is none.
	Written time.Time
}

const (
	// MaxReadings is how many are kept of a file.
	MaxReadings = 1 << 22
	maxSeries   = 1 << 16
	maxEvents   = 1 << 16
)

// Builder puts the readings of a file together.
type Builder struct {
	t      *health.Record
	at     map[key]int // position in t.Series
	n      int
	beyond int64
	wrong  int64
	first  input.Pos // of the first that was wrong
}

type key struct {
	host     string
	device   int
	quantity health.Quantity
}

// NewBuilder starts the telemetry of a file.
func NewBuilder(path string) *Builder {
	return &Builder{t: &health.Record{Path: path}, at: make(map[key]int)}
}

// Add adds a reading. What is not finite, or less than 0, is left out.
func (b *Builder) Add(host string, device int, q health.Quantity, r health.Reading) {
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Value < 0 || q == health.NoQuantity {
		return
	}
	k := key{host, device, q}
	i, ok := b.at[k]
	if b.n >= MaxReadings || !ok && len(b.at) >= maxSeries {
		b.beyond++
		return
	}
	if !ok {
		i = len(b.t.Series)
		b.at[k] = i
		b.t.Series = append(b.t.Series, health.Series{Host: host, Device: device, Quantity: q})
	}
	b.n++
	b.t.Series[i].Readings = append(b.t.Series[i].Readings, r)
}

// Event adds an event.
func (b *Builder) Event(e health.Event) {
	if len(b.t.Events) >= maxEvents {
		b.beyond++
		return
	}
	e.Text = strings.ToValidUTF8(e.Text[:min(len(e.Text), 200)], "")
	b.t.Events = append(b.t.Events, e)
}

// Bus adds at which address of its host a device is.
func (b *Builder) Bus(d health.Bus) {
	if !slices.Contains(b.t.Buses, d) && len(b.t.Buses) < maxSeries {
		b.t.Buses = append(b.t.Buses, d)
	}
}

// Wrong counts a line that cannot be read.
func (b *Builder) Wrong(at input.Pos) {
	if b.wrong++; b.wrong == 1 {
		b.first = at
	}
}

// Empty reports whether nothing was added.
func (b *Builder) Empty() bool { return b.n == 0 && len(b.t.Events) == 0 }

// Finish is what was added, series by time.
func (b *Builder) Finish() *health.Record {
	for i := range b.t.Series {
		slices.SortStableFunc(b.t.Series[i].Readings, func(x, y health.Reading) int { return cmp.Compare(x.At, y.At) })
	}
	slices.SortFunc(b.t.Series, func(x, y health.Series) int {
		return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Device, y.Device), cmp.Compare(x.Quantity, y.Quantity))
	})
	if b.wrong > 0 {
		b.note("lines that cannot be read and were left out: %d, the first at line %d", b.wrong, b.first.Line)
	}
	if b.beyond > 0 {
		b.note("readings beyond the first %d, and left out: %d", MaxReadings, b.beyond)
	}
	return b.t
}

func (b *Builder) note(format string, args ...any) {
	b.t.Notes = append(b.t.Notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf(format, args...)})
}
