// Package sample is the companion of the recorder: it samples the GPUs and the host that it
// runs on, and writes what it reads as metrics in Prometheus' text format, under the names of
// dcgm-exporter and node_exporter, each with its time. Package ingest/telemetry reads them, and so
// does Prometheus' promtool.
//
// GPUs are read by NVML, the driver's library, in a program that was built with it, and else by nvidia-smi. Figures of
// the host come from /proc and /sys of Linux; seconds of all processors are averaged into one, "mean".
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
	// Metrics are its values at a time, without the host; with an error, those that could be read.
	Metrics() ([]Metric, error)
	// MinInterval returns the shortest time between two samples of it: asked more often, it would cost more than it shows.
	MinInterval() time.Duration
	// Close ends its reading.
	Close()
}

// Metric is a value at a time.
type Metric struct {
	Name   string
	Labels string // `gpu="3"`
	Value  float64
	At     time.Time // zero: that of the sample
}

// Options of Run.
type Options struct {
	Host  string
	Every time.Duration
	Count int // samples; 0: until the context ends
}

// Run samples until the context ends, or as often as asked: each source every so often, but not more often than it can
// be. A failure of a source is told once, through failed, and the source is asked again the next time.
func Run(ctx context.Context, w io.Writer, sources []Source, o Options, failed func(Source, error)) error {
	told := make(map[string]bool)
	once := func(s Source, err error) {
		if about := s.Name() + ": " + err.Error(); !told[about] {
			told[about] = true
			failed(s, err)
		}
	}
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for n := 0; ; {
		var due []Source
		for _, s := range sources {
			if n%Stride(s, o.Every) == 0 {
				due = append(due, s)
			}
		}
		if err := write(w, due, o, once); err != nil {
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

// Stride returns n for a source that is read at every n-th sample: 1 where it can be read as often as asked.
func Stride(s Source, every time.Duration) int {
	return max(1, int((s.MinInterval()+every-1)/every))
}

// write writes a sample of each source. A source that takes longer than its turn is told as one that fails: samples are
// missing then.
func write(w io.Writer, sources []Source, o Options, failed func(Source, error)) error {
	out := bufio.NewWriter(w)
	for _, s := range sources {
		began := time.Now()
		metrics, err := s.Metrics()
		if err != nil {
			failed(s, err)
		}
		now := time.Now()
		if turn := time.Duration(Stride(s, o.Every)) * o.Every; now.Sub(began) > turn {
			failed(s, slowError(turn))
		}
		for _, m := range metrics {
			at, labels := now, fmt.Sprintf("Hostname=%q", o.Host)
			if m.Labels != "" {
				labels = m.Labels + "," + labels
			}
			if !m.At.IsZero() {
				at = m.At
			}
			fmt.Fprintf(out, "%s{%s} %v %d\n", m.Name, labels, m.Value, at.UnixMilli())
		}
	}
	return out.Flush()
}

// slowError says that a sample took longer than the time between two.
type slowError time.Duration

func (e slowError) Error() string {
	return fmt.Sprintf("a sample takes longer than %v: some are missing, so sample less often (--every)", time.Duration(e))
}

// Host is a machine with Linux, by the files under its root.
type Host struct{ Root fs.FS }

// Name implements Source.
func (Host) Name() string { return "the host" }

// MinInterval implements Source: files of /proc take longer to make the more processors a machine has.
func (Host) MinInterval() time.Duration { return time.Second }

// Close implements Source.
func (Host) Close() {}

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
		us, ok := h.waitingTime("proc/pressure/" + of)
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
