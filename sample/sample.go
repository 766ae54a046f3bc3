// Package sample is the companion of the recorder: it samples the GPUs and the host that it
// runs on, and writes what it reads as metrics in Prometheus' text format, under the names of
// dcgm-exporter and node_exporter, each with its time. Package ingest/telemetry reads them, and so
// does Prometheus' promtool.
//
// GPUs are read by nvidia-smi: the driver's library would need a build with cgo. Figures of the host
// come from /proc and /sys of Linux; seconds of all processors are averaged into one, "mean".
package sample

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// Source is something that is sampled.
type Source interface {
	// Name is what is said of it.
	Name() string
	// Metrics are its lines, NAME{labels} VALUE, without host and time: {…} holds the other
	// labels and is there even when it is empty.
	Metrics() ([]Metric, error)
}

// Metric is a value at the time of a sample.
type Metric struct {
	Name   string
	Labels string // `gpu="3"`
	Value  float64
}

// Options of Run.
type Options struct {
	Host  string
	Every time.Duration
	Count int // samples; 0: until the context ends
}

// Run samples until the context ends, or as often as asked. A source that fails is told once, through
// failed, and asked again the next time.
func Run(ctx context.Context, w io.Writer, sources []Source, o Options, failed func(Source, error)) error {
	told := make(map[Source]bool)
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for n := 0; ; {
		if err := once(w, sources, o.Host, func(s Source, err error) {
			if !told[s] {
				told[s] = true
				failed(s, err)
			}
		}); err != nil {
			return err
		}
		if n++; n == o.Count {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// once writes a sample of each source.
func once(w io.Writer, sources []Source, host string, failed func(Source, error)) error {
	out := bufio.NewWriter(w)
	for _, s := range sources {
		metrics, err := s.Metrics()
		if err != nil {
			failed(s, err)
		}
		now := time.Now().UnixMilli()
		for _, m := range metrics {
			labels := fmt.Sprintf("Hostname=%q", host)
			if m.Labels != "" {
				labels = m.Labels + "," + labels
			}
			fmt.Fprintf(out, "%s{%s} %v %d\n", m.Name, labels, m.Value, now)
		}
	}
	return out.Flush()
}

// Host is a machine with Linux, by the files under its root.
type Host struct{ Root fs.FS }

// Name implements Source.
func (Host) Name() string { return "the host" }

// Metrics implements Source. What a system does not have is left out; without processors there is
// nothing to read.
func (h Host) Metrics() ([]Metric, error) {
	out, err := h.processors()
	if err != nil {
		return nil, fmt.Errorf("no figures of the host: %w", err)
	}
	memory := h.fields("proc/meminfo")
	add := func(name string, value float64, ok bool) {
		if ok {
			out = append(out, Metric{Name: name, Value: value})
		}
	}
	for _, m := range [][2]string{{"MemAvailable:", "node_memory_MemAvailable_bytes"}, {"MemTotal:", "node_memory_MemTotal_bytes"}} {
		kilobytes, ok := memory[m[0]]
		add(m[1], 1024*kilobytes, ok)
	}
	paging := h.fields("proc/vmstat")
	for _, m := range [][2]string{{"pswpin", "node_vmstat_pswpin"}, {"oom_kill", "node_vmstat_oom_kill"}} {
		n, ok := paging[m[0]]
		add(m[1], n, ok)
	}
	for _, of := range []string{"cpu", "memory", "io"} {
		us, ok := h.waiting("proc/pressure/" + of)
		add("node_pressure_"+of+"_waiting_seconds_total", us/1e6, ok)
	}
	n, ok := h.retransmits()
	add("node_netstat_Tcp_RetransSegs", n, ok)
	return append(append(out, h.interfaces()...), h.clocks()...), nil
}

func (h Host) lines(path string) []string {
	data, err := fs.ReadFile(h.Root, path)
	if err != nil {
		return nil
	}
	return strings.Split(string(data), "\n")
}
