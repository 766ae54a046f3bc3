package telemetry

import (
	"bytes"
	"cmp"
	"net"
	"strconv"

	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Metrics in the text that Prometheus scrapes: of node_exporter,
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

// isMetrics reports whether one of the first lines is of a metric that is known.
func isMetrics(text []byte) bool {
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
		if name := line[:end]; isUseful(string(name)) || string(name) == "node_exporter_build_info" || string(name) == "node_scrape_collector_success" {
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

type label struct{ name, value string }

func (s *sample) label(names ...string) string {
	for _, name := range names {
		for _, l := range s.labels {
			if l.name == name {
				return l.value
			}
		}
	}
	return ""
}

// snapshots puts snapshots together.
type snapshots struct {
	*file
	s sample
	// Moments are those of values with times, and that of the snapshot that is being
	// read under the time 0.
	moments map[moment]*machine
	seen    map[string]bool // series of the snapshot
	node    string          // of the snapshot
	clock   int64           // likewise
	devices []deviceValue   // of the snapshot, whose time is told behind them
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

// deviceValue is a value of a device.
type deviceValue struct {
	place
	field field
	value float64
}

// mostMoments bounds the moments that are held: those of one snapshot, or of a dump.
const mostMoments = 1 << 20

func readMetrics(f *file) error {
	r := &snapshots{file: f, xids: make(map[place]float64)}
	r.begin()
	err := f.lines(func(line []byte) bool {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			return true
		}
		return r.parse(line) && r.take()
	})
	r.complete()
	return err
}

func (r *snapshots) begin() {
	r.moments, r.seen = make(map[moment]*machine), make(map[string]bool)
	r.node, r.clock, r.devices = "", 0, r.devices[:0]
}

// complete ends a snapshot.
func (r *snapshots) complete() {
	for m, of := range r.moments {
		of.add(r.builder, cmp.Or(m.host, r.node), cmp.Or(m.at, r.clock))
	}
	for _, d := range r.devices {
		d.host = cmp.Or(d.host, r.node)
		r.device(d, r.clock)
	}
}

// take takes a value; it reports whether there is room for it.
func (r *snapshots) take() bool {
	s := &r.s
	if !isUseful(string(s.name)) {
		return true
	}
	if s.at == 0 {
		if r.seen[string(s.series)] {
			r.complete()
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
		return true
	case "node_time_seconds":
		if at, ok := unix(strconv.FormatFloat(s.value, 'f', -1, 64)); ok {
			r.clock = at
		}
		return true
	}
	if f, ok := fieldOf(string(s.name)); ok || string(s.name) == xidMetric {
		r.takeDevice(host, f)
		return true
	}
	m := moment{host, s.at}
	of := r.moments[m]
	if of == nil {
		if len(r.moments) >= mostMoments {
			return false
		}
		of = &machine{sums: make(map[health.Quantity]float64)}
		r.moments[m] = of
	}
	of.take(s)
	return true
}

// xidMetric is the number of the last Xid error of a device.
const xidMetric = "DCGM_FI_DEV_XID_ERRORS"

func (r *snapshots) takeDevice(host string, f field) {
	s := &r.s
	n, err := strconv.Atoi(s.label("gpu", "gpu_id", "minor_number"))
	if err != nil || n < 0 || n > maxDevice || s.label("GPU_I_ID") != "" {
		return // a part of a GPU (MIG), or none
	}
	if bus := nccl.ParseBus(s.label("pci_bus_id")); bus != 0 {
		r.bus(health.Bus{Host: host, Device: n, Bus: bus})
	}
	d := deviceValue{place{host, n}, f, s.value}
	if s.at != 0 {
		r.device(d, s.at)
	} else if len(r.devices) < mostMoments {
		r.devices = append(r.devices, d)
	}
}

// device adds a value of a device.
func (r *snapshots) device(d deviceValue, at int64) {
	if d.field == (field{}) { // an Xid error
		code := d.value
		if before, ok := r.xids[d.place]; ok && code != before && code > 0 && code < 1e6 {
			r.event(health.Event{Host: d.host, At: at, Kind: health.XidError, Code: int(code), Device: d.device, Text: xidMetric})
		}
		r.xids[d.place] = code
		return
	}
	one := row{Host: d.host, Device: d.device, At: at}
	r.setValue(&one, d.field, d.value)
	r.end(&one)
}
