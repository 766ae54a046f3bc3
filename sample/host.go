package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// hertz is how many ticks of /proc/stat are a second: USER_HZ, 100 on every platform that Linux runs on today.
const hertz = 100

// modes are the columns of /proc/stat.
var modes = []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}

// processors returns the seconds of the mean processor.
func (h Host) processors() (out []Metric, err error) {
	data, err := fs.ReadFile(h.Root, "proc/stat")
	if err != nil {
		return nil, err
	}
	var all []string // ticks of all processors together
	n := 0.0
	for line := range strings.Lines(string(data)) {
		switch words := strings.Fields(line); {
		case len(words) <= len(modes) || !strings.HasPrefix(words[0], "cpu"):
		case words[0] == "cpu":
			all = words[1:]
		default:
			n++
		}
	}
	if all == nil || n == 0 {
		return nil, errors.New("proc/stat tells no processors")
	}
	for i, mode := range modes {
		ticks, err := strconv.ParseFloat(all[i], 64)
		if err != nil {
			return nil, fmt.Errorf("proc/stat: %q is no number", all[i])
		}
		out = append(out, Metric{Name: "node_cpu_seconds_total", Labels: fmt.Sprintf("cpu=%q,mode=%q", "mean", mode), Value: ticks / hertz / n})
	}
	return out, nil
}

// fields returns the numbers of a file of names and numbers.
func (h Host) fields(path string) map[string]float64 {
	out := make(map[string]float64)
	for _, line := range h.lines(path) {
		if words := strings.Fields(line); len(words) >= 2 {
			if x, err := strconv.ParseFloat(words[1], 64); err == nil {
				out[words[0]] = x
			}
		}
	}
	return out
}

// waitingTime returns the time in which some task waited, µs.
func (h Host) waitingTime(path string) (float64, bool) {
	for _, line := range h.lines(path) {
		if rest, ok := strings.CutPrefix(line, "some "); ok {
			_, total, _ := strings.Cut(rest, "total=")
			us, err := strconv.ParseFloat(strings.TrimSpace(total), 64)
			return us, err == nil
		}
	}
	return 0, false
}

// retransmits reads the line of names and the line of numbers of TCP.
func (h Host) retransmits() (float64, bool) {
	tcp := slices.DeleteFunc(h.lines("proc/net/snmp"), func(line string) bool { return !strings.HasPrefix(line, "Tcp:") })
	if len(tcp) < 2 {
		return 0, false
	}
	i, numbers := slices.Index(strings.Fields(tcp[0]), "RetransSegs"), strings.Fields(tcp[1])
	if i < 0 || i >= len(numbers) {
		return 0, false
	}
	n, err := strconv.ParseFloat(numbers[i], 64)
	return n, err == nil
}

// interfaces returns the drops and errors of network interfaces.
func (h Host) interfaces() (out []Metric) {
	for _, line := range h.lines("proc/net/dev") {
		name, rest, ok := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if !ok || len(words) < 12 {
			continue
		}
		for _, c := range []struct {
			metric string
			column int
		}{{"node_network_receive_errs_total", 2}, {"node_network_receive_drop_total", 3}, {"node_network_transmit_errs_total", 10}, {"node_network_transmit_drop_total", 11}} {
			if n, err := strconv.ParseFloat(words[c.column], 64); err == nil {
				out = append(out, Metric{Name: c.metric, Labels: fmt.Sprintf("device=%q", strings.TrimSpace(name)), Value: n})
			}
		}
	}
	return out
}

// clocks returns the mean clock of the processors, where the system tells it.
func (h Host) clocks() []Metric {
	paths, _ := fs.Glob(h.Root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
	sum, n := 0.0, 0.0
	for _, path := range paths {
		for _, line := range h.lines(path)[:1] {
			if kilohertz, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err == nil {
				sum, n = sum+kilohertz*1e3, n+1
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []Metric{{Name: "node_cpu_scaling_frequency_hertz", Labels: `cpu="mean"`, Value: sum / n}}
}
