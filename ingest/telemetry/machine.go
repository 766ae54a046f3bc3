package telemetry

import (
	"strings"

	"github.com/sfstat/sfstat/trace/health"
)

// machine is a host at one time: sums over its processors and interfaces.
type machine struct {
	sums   map[health.Quantity]float64
	cpus   float64 // processors with seconds
	clocks float64 // processors whose clock is told
	memory float64 // bytes in all
}

// metrics are the series of node_exporter, but for node_cpu_seconds_total.
var metrics = map[string]health.Quantity{
	"node_load1":                                 health.Load,
	"node_cpu_scaling_frequency_hertz":           health.CPUClock,
	"node_cpu_core_throttles_total":              health.CPUThrottled,
	"node_memory_MemAvailable_bytes":             health.MemoryAvailable,
	memoryTotal:                                  health.NoQuantity,
	"node_pressure_cpu_waiting_seconds_total":    health.PressureCPU,
	"node_pressure_memory_waiting_seconds_total": health.PressureMemory,
	"node_pressure_io_waiting_seconds_total":     health.PressureIO,
	"node_vmstat_pswpin":                         health.SwapIn,
	"node_vmstat_oom_kill":                       health.OOMKills,
	"node_netstat_Tcp_RetransSegs":               health.Retransmits,
	"node_network_receive_drop_total":            health.NetworkDrops,
	"node_network_transmit_drop_total":           health.NetworkDrops,
	"node_network_receive_errs_total":            health.NetworkDrops,
	"node_network_transmit_errs_total":           health.NetworkDrops,
}

const (
	cpuSeconds  = "node_cpu_seconds_total"
	memoryTotal = "node_memory_MemTotal_bytes"
)

// isUseful reports whether a metric is of use.
func isUseful(name string) bool {
	switch name {
	case cpuSeconds, "node_uname_info", "node_time_seconds", xidMetric:
		return true
	}
	if _, ok := metrics[name]; ok {
		return true
	}
	_, ok := fieldOf(name)
	return ok && strings.HasPrefix(name, "DCGM_")
}

// take adds a value up.
func (m *machine) take(s *sample) {
	switch q := metrics[string(s.name)]; {
	case string(s.name) == cpuSeconds:
		m.seconds(s)
	case string(s.name) == memoryTotal:
		m.memory += s.value
	case q == health.NetworkDrops && s.label("device") == "lo":
	default:
		if q == health.CPUClock {
			m.clocks++
		}
		m.sums[q] += s.value
	}
}

// seconds adds up what a processor did.
func (m *machine) seconds(s *sample) {
	switch s.label("mode") {
	case "idle":
		m.cpus++
	case "iowait":
		m.sums[health.CPUWaitIO] += s.value
	case "steal":
		m.sums[health.CPUSteal] += s.value
	case "user", "nice", "system", "irq", "softirq":
		m.sums[health.CPUBusy] += s.value
	}
}

// add adds what is known of the machine.
func (m *machine) add(b *builder, host string, at int64) {
	for q, sum := range m.sums {
		per := 1.0
		switch q {
		case health.CPUBusy, health.CPUSteal, health.CPUWaitIO, health.Load:
			per = m.cpus
		case health.CPUClock:
			per = m.clocks * 1e6
		case health.MemoryAvailable:
			per = m.memory
		}
		if per > 0 {
			b.add(host, -1, q, health.Reading{At: at, Value: sum / per})
		}
	}
}
