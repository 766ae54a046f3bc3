// Package telemetry reads what monitoring recorded of GPUs and hosts, in four kinds of
// text: [KernelLog], [Lines], [Metrics] and [Table].
//
// It keeps what [health.Quantity] lists and passes over all else: exporters have
// hundreds of series. Memory grows with the readings, up to maxReadings of 16 bytes;
// what is beyond is left out and counted.
package telemetry

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// Format is a kind of text.
type Format uint8

const (
	KernelLog Format = iota // what dmesg and journalctl -k print, and files of syslog
	Lines                   // what dcgmi dmon and nvidia-smi dmon print
	Metrics                 // what node_exporter, DCGM's exporter and sfstat sample write
	Table                   // what nvidia-smi --query-gpu prints (CSV), and tables with DCGM's fields
)

// formats say how a file of a format begins, how it is read, and what a file without a
// reading is called; "": there may be none.
var formats = [...]struct {
	begins func(text []byte) bool
	read   func(*file) error
	empty  string
}{
	KernelLog: {isKernelLog, readKernelLog, ""},
	Lines: {isLines, readLines, "a table of dcgmi dmon or nvidia-smi dmon without a reading that is known: " +
		"ask for clocks, temperature, power (dcgmi dmon -e 100,101,112,150,155,310,311)"},
	Metrics: {isMetrics, readMetrics, "metrics, but none of those that node_exporter and DCGM's exporter give of processors, memory, network or GPUs"},
	Table:   {isTable, readTable, "a table of GPUs without a reading"},
}

// Recognises reports whether text, the beginning of a file, is of the format.
func (f Format) Recognises(text []byte) bool { return formats[f].begins(text) }

// Options of a reader. The zero value is usable.
type Options struct {
	Limits ingest.Limits
	// Zone is that of stamps which name none; nil: UTC.
	Zone *time.Location
	// Written is when the file was last written, by which a stamp without a year
	// is dated; zero: not known, and then such a stamp is none.
	Written time.Time
}

// file is one that is read.
type file struct {
	*builder
	src  io.Reader
	name string
	o    Options
}

// Read reads one file of a format. An error is of the input, or says that there is no
// reading in it; of a kernel's log, that nothing was reported is known then.
func Read(src io.Reader, name string, f Format, o Options) (*health.Record, error) {
	t := &file{newBuilder(name), src, name, o}
	if err := formats[f].read(t); err != nil {
		return nil, err
	}
	if why := formats[f].empty; why != "" && t.n == 0 && len(t.t.Events) == 0 {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "%s", why))
	}
	return t.finish(), nil
}

// lines hands over line by line. One that take refuses is counted as one that cannot be
// read.
func (f *file) lines(take func(line []byte) bool) error {
	lines := ingest.NewTerminalLines(f.src, f.name, f.o.Limits)
	for {
		line, _, err := lines.NextCut()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !take(line):
			f.unread(lines.Pos())
		}
	}
}

const (
	maxReadings = 1 << 22 // that are kept of a file
	maxSeries   = 1 << 16
	maxEvents   = 1 << 16
	maxDevice   = 4095 // index of a GPU on its host
)

// builder puts the readings of a file together.
type builder struct {
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
	second   bool // of a field that does not count where there is another
}

// newBuilder starts the telemetry of a file.
func newBuilder(path string) *builder {
	return &builder{t: &health.Record{Path: path}, at: make(map[key]int)}
}

// add adds a reading. What is not finite, or less than 0, is left out.
func (b *builder) add(host string, device int, q health.Quantity, r health.Reading) {
	b.addTo(key{host: host, device: device, quantity: q}, r)
}

// addTo adds a reading to the series of a key.
func (b *builder) addTo(k key, r health.Reading) {
	if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Value < 0 || k.quantity == health.NoQuantity {
		return
	}
	i, ok := b.at[k]
	if b.n >= maxReadings || !ok && len(b.at) >= maxSeries {
		b.beyond++
		return
	}
	if !ok {
		i = len(b.t.Series)
		b.at[k] = i
		b.t.Series = append(b.t.Series, health.Series{Host: k.host, Device: k.device, Quantity: k.quantity})
	}
	b.n++
	b.t.Series[i].Readings = append(b.t.Series[i].Readings, r)
}

// event adds an event.
func (b *builder) event(e health.Event) {
	if len(b.t.Events) >= maxEvents {
		b.beyond++
		return
	}
	e.Text = strings.ToValidUTF8(e.Text[:min(len(e.Text), 200)], "")
	b.t.Events = append(b.t.Events, e)
}

// bus adds at which address of its host a device is.
func (b *builder) bus(d health.Bus) {
	if !slices.Contains(b.t.Buses, d) && len(b.t.Buses) < maxSeries {
		b.t.Buses = append(b.t.Buses, d)
	}
}

// unread counts a line that cannot be read.
func (b *builder) unread(at input.Pos) {
	if b.wrong++; b.wrong == 1 {
		b.first = at
	}
}

// finish returns the series that were added, by time.
func (b *builder) finish() *health.Record {
	for k, i := range b.at {
		first := k
		first.second = false
		if _, ok := b.at[first]; ok && k.second {
			b.t.Series[i].Readings = nil
		}
	}
	b.t.Series = slices.DeleteFunc(b.t.Series, func(s health.Series) bool { return s.Readings == nil })
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
		b.note("readings beyond the first %d, and left out: %d", maxReadings, b.beyond)
	}
	return b.t
}

func (b *builder) note(format string, args ...any) {
	b.t.Notes = append(b.t.Notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf(format, args...)})
}
