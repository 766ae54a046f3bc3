// Package exposition reads metrics in the text that Prometheus scrapes: of node_exporter,
// of DCGM's exporter, of sfstat sample, and what promtool tsdb dump-openmetrics writes.
// A file may hold any number of snapshots one behind the other, as a loop of curl >> file
// makes it.
//
// The time of a value is its own, where it has one, in milliseconds or (OpenMetrics) seconds; else
// that of its snapshot, which node_exporter tells as node_time_seconds. A snapshot ends
// where a series comes again. Without either its values have no time. The host is the label
// Hostname, hostname, node or nodename, that of node_uname_info, or else the instance without its port.
//
// What several series tell together is put together: the seconds of all processors, the
// packets of all interfaces but the loopback. Labels are read as the format has them, with
// escapes; a line that cannot be read is left out and counted.
package exposition

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/telemetry"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Recognise reports whether text, the beginning of a file, is of the format, and of
// metrics that are known.
func Recognise(text []byte) bool {
	n := 0
	for line := range bytes.Lines(text) {
		if n++; n > 400 {
			break
		}
		for _, mark := range []string{"# TYPE ", "# HELP "} {
			line = bytes.TrimPrefix(line, []byte(mark))
		}
		end := bytes.IndexAny(line, "{ ")
		if end < 0 {
			continue
		}
		if name := line[:end]; known(string(name)) || string(name) == "node_exporter_build_info" || string(name) == "node_scrape_collector_success" {
			return true
		}
	}
	return false
}

// sample is a line: a metric with its labels at a time.
type sample struct {
	series []byte // name and labels
	name   []byte
	labels []label
	value  float64
	at     int64 // 0: not told
}

type label struct{ name, value []byte }

func (s *sample) label(names ...string) string {
	for _, name := range names {
		for _, l := range s.labels {
			if string(l.name) == name {
				return string(l.value)
			}
		}
	}
	return ""
}

// reader puts snapshots together.
type reader struct {
	b     *telemetry.Builder
	lines *ingest.Lines
	s     sample
	// Moments are those of values with times, and that of the snapshot that is being
	// read under the time 0.
	moments map[moment]*machine
	seen    map[string]bool // series of the snapshot
	node    string          // of the snapshot
	clock   int64           // likewise
	devices []row           // of the snapshot, whose time is told behind them
	xids    map[place]float64
}

// moment is a host at a time; "" is the one whose name is told elsewhere.
type moment struct {
	host string
	at   int64
}

type place struct {
	host   string
	device int
}

// row is a value of a device.
type row struct {
	place
	field telemetry.Field
	text  string
}

// mostMoments bounds the moments that are held: those of one snapshot, or of a dump.
const mostMoments = 1 << 20

// Read reads one file. An error is of the input, or says that there is no known metric in it.
func Read(src io.Reader, name string, o telemetry.Options) (*health.Record, error) {
	r := &reader{b: telemetry.NewBuilder(name), lines: ingest.NewLines(src, name, o.Limits, nil), xids: make(map[place]float64)}
	r.begin()
	for {
		line, _, err := r.lines.NextCut()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if !r.parse(line) {
			r.b.Wrong(r.lines.Pos())
			continue
		}
		r.take()
	}
	r.end()
	if r.b.Empty() {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "metrics, but none of those that node_exporter and DCGM's exporter give of processors, memory, network or GPUs"))
	}
	return r.b.Finish(), nil
}

func (r *reader) begin() {
	r.moments, r.seen = make(map[moment]*machine), make(map[string]bool)
	r.node, r.clock, r.devices = "", 0, r.devices[:0]
}

// end completes a snapshot.
func (r *reader) end() {
	for m, of := range r.moments {
		of.add(r.b, cmp.Or(m.host, r.node), cmp.Or(m.at, r.clock))
	}
	for _, d := range r.devices {
		d.host = cmp.Or(d.host, r.node)
		r.device(d, r.clock)
	}
}

// take takes a value.
func (r *reader) take() {
	s := &r.s
	if !known(string(s.name)) {
		return
	}
	if s.at == 0 {
		if r.seen[string(s.series)] {
			r.end()
			r.begin()
		}
		if len(r.seen) < mostMoments {
			r.seen[string(s.series)] = true
		}
	}
	host := s.label("Hostname", "hostname", "node", "nodename")
	if instance := s.label("instance"); host == "" && instance != "" {
		host = instance
		if h, _, err := net.SplitHostPort(instance); err == nil {
			host = h
		}
	}
	switch string(s.name) {
	case "node_uname_info":
		r.node = s.label("nodename")
		return
	case "node_time_seconds":
		if at, ok := telemetry.Unix(strconv.FormatFloat(s.value, 'f', -1, 64)); ok {
			r.clock = at
		}
		return
	}
	if f, ok := telemetry.FieldOf(string(s.name)); ok || string(s.name) == xidMetric {
		r.takeDevice(host, f)
		return
	}
	m := moment{host, s.at}
	of := r.moments[m]
	if of == nil {
		if len(r.moments) >= mostMoments {
			r.b.Wrong(r.lines.Pos())
			return
		}
		of = &machine{}
		r.moments[m] = of
	}
	of.take(s)
}

// xidMetric is the number of the last Xid error of a device.
const xidMetric = "DCGM_FI_DEV_XID_ERRORS"

func (r *reader) takeDevice(host string, f telemetry.Field) {
	s := &r.s
	n, err := strconv.Atoi(s.label("gpu", "gpu_id", "minor_number"))
	if err != nil || n < 0 || n > 4095 || s.label("GPU_I_ID") != "" {
		return // a part of a GPU (MIG), or none
	}
	if bus := nccl.ParseBus(s.label("pci_bus_id")); bus != 0 {
		r.b.Bus(health.Bus{Host: host, Device: n, Bus: bus})
	}
	d := row{place{host, n}, f, strconv.FormatFloat(s.value, 'f', -1, 64)}
	if s.at != 0 {
		r.device(d, s.at)
	} else if len(r.devices) < mostMoments {
		r.devices = append(r.devices, d)
	}
}

// device adds a value of a device.
func (r *reader) device(d row, at int64) {
	if d.field == (telemetry.Field{}) { // an Xid error
		code, _ := strconv.ParseFloat(d.text, 64)
		if before, ok := r.xids[d.place]; ok && code != before && code > 0 && code < 1e6 {
			r.b.Event(health.Event{Host: d.host, At: at, Kind: health.XidError, Code: int(code), Device: d.device, Text: xidMetric})
		}
		r.xids[d.place] = code
		return
	}
	one := telemetry.Row{Host: d.host, Device: d.device, At: at}
	r.b.Set(&one, d.field, d.text)
	r.b.End(&one)
}
