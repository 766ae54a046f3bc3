package telemetry

import (
	"strings"

	"github.com/sfstat/sfstat/trace/health"
)

// machine is a host at one time: sums over its processors and interfaces.
type machine struct {
	sums   [24]float64
	told   [24]bool
	cpus   float64 // with seconds
	clocks float64 // processors whose clock is told
}

// metric is a series of a host that is known.
type metric struct {
	sum int // where it is added up
	q   health.Quantity
}

const (
	busy = iota
	steal
	waitIO
	load
	clock
	throttled
	available
	total
	pressureCPU
	pressureMemory
	pressureIO
	swapIn
	oomKills
	retransmits
	drops
)

// metrics are the series of node_exporter, but for node_cpu_seconds_total.
var metrics = map[string]metric{
	"node_load1":                                 {load, health.Load},
	"node_cpu_scaling_frequency_hertz":           {clock, health.CPUClock},
	"node_cpu_core_throttles_total":              {throttled, health.CPUThrottled},
	"node_memory_MemAvailable_bytes":             {available, health.MemoryAvailable},
	"node_memory_MemTotal_bytes":                 {total, health.NoQuantity},
	"node_pressure_cpu_waiting_seconds_total":    {pressureCPU, health.PressureCPU},
	"node_pressure_memory_waiting_seconds_total": {pressureMemory, health.PressureMemory},
	"node_pressure_io_waiting_seconds_total":     {pressureIO, health.PressureIO},
	"node_vmstat_pswpin":                         {swapIn, health.SwapIn},
	"node_vmstat_oom_kill":                       {oomKills, health.OOMKills},
	"node_netstat_Tcp_RetransSegs":               {retransmits, health.Retransmits},
	"node_network_receive_drop_total":            {drops, health.NetworkDrops},
	"node_network_transmit_drop_total":           {drops, health.NetworkDrops},
	"node_network_receive_errs_total":            {drops, health.NetworkDrops},
	"node_network_transmit_errs_total":           {drops, health.NetworkDrops},
}

const cpuSeconds = "node_cpu_seconds_total"

// known reports whether a metric is of use.
func known(name string) bool {
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
	if string(s.name) == cpuSeconds {
		m.seconds(s)
		return
	}
	of := metrics[string(s.name)]
	switch {
	case of.sum == drops && s.label("device") == "lo":
		return
	case of.sum == clock:
		m.clocks++
	}
	m.sums[of.sum] += s.value
	m.told[of.sum] = true
}

// seconds adds up what a processor did.
func (m *machine) seconds(s *sample) {
	at := busy
	switch s.label("mode") {
	case "idle":
		m.cpus++
		return
	case "iowait":
		at = waitIO
	case "steal":
		at = steal
	case "user", "nice", "system", "irq", "softirq":
	default:
		return
	}
	m.sums[at] += s.value
	m.told[at] = true
}

// add adds what is known of the machine.
func (m *machine) add(b *builder, host string, at int64) {
	put := func(q health.Quantity, of int, per float64) {
		if m.told[of] && per > 0 {
			b.add(host, -1, q, health.Reading{At: at, Value: m.sums[of] / per})
		}
	}
	put(health.CPUBusy, busy, m.cpus)
	put(health.CPUSteal, steal, m.cpus)
	put(health.CPUWaitIO, waitIO, m.cpus)
	put(health.Load, load, m.cpus)
	put(health.CPUClock, clock, m.clocks*1e6)
	put(health.MemoryAvailable, available, m.sums[total])
	for _, of := range metrics {
		switch of.q {
		case health.NoQuantity, health.Load, health.CPUClock, health.MemoryAvailable:
		default:
			put(of.q, of.sum, 1)
			m.told[of.sum] = false // several series make one
		}
	}
}
