package telemetry

import (
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/health"
)

// field is how a column or series of a GPU is called, and what it is.
type field struct {
	Quantity health.Quantity
	Reasons  bool    // the bits of why the clock is lowered
	Scale    float64 // to the unit of the quantity; 0: 1
	Second   bool    // another field of the quantity, where there is one, counts instead
}

// Bits of NVML's nvmlClocksEventReasons that lower a clock against the will of who
// uses it. That a GPU is idle, or that clocks were set, is none of them.
const (
	reasonPower    = 0x04
	reasonHardware = 0x08 | 0x20 | 0x40 | 0x80 // slowdown by the hardware, heat by software and hardware, power brake
)

// fields are the names of nvidia-smi --query-gpu, of DCGM, and of the columns of
// dcgmi dmon and nvidia-smi dmon, in lower case.
var fields = map[string]field{
	"clocks.current.sm": {Quantity: health.SMClock}, "clocks.sm": {Quantity: health.SMClock},
	"clocks.current.memory": {Quantity: health.MemoryClock}, "clocks.mem": {Quantity: health.MemoryClock},
	"clocks_throttle_reasons.active": {Reasons: true}, "clocks_event_reasons.active": {Reasons: true},
	"temperature.gpu": {Quantity: health.Temperature}, "temperature.memory": {Quantity: health.MemoryTemperature},
	"power.draw": {Quantity: health.Power}, "power.draw.instant": {Quantity: health.Power}, "power.draw.average": {Quantity: health.Power, Second: true},
	"utilization.gpu":                             {Quantity: health.Utilization, Scale: 0.01},
	"ecc.errors.corrected.volatile.total":         {Quantity: health.ECCCorrected},
	"ecc.errors.uncorrected.volatile.total":       {Quantity: health.ECCUncorrected},
	"ecc.errors.corrected.aggregate.total":        {Quantity: health.ECCCorrected, Second: true},
	"ecc.errors.uncorrected.aggregate.total":      {Quantity: health.ECCUncorrected, Second: true},
	"clocks_throttle_reasons.hw_slowdown":         {Quantity: health.Throttled},
	"clocks_throttle_reasons.hw_thermal_slowdown": {Quantity: health.Throttled},
	"clocks_throttle_reasons.sw_thermal_slowdown": {Quantity: health.Throttled},
	"clocks_throttle_reasons.sw_power_cap":        {Quantity: health.PowerCapped},
	"clocks_event_reasons.hw_slowdown":            {Quantity: health.Throttled},
	"clocks_event_reasons.hw_thermal_slowdown":    {Quantity: health.Throttled},
	"clocks_event_reasons.sw_thermal_slowdown":    {Quantity: health.Throttled},
	"clocks_event_reasons.sw_power_cap":           {Quantity: health.PowerCapped},

	"dcgm_fi_dev_sm_clock": {Quantity: health.SMClock}, "dcgm_fi_dev_mem_clock": {Quantity: health.MemoryClock},
	"dcgm_fi_dev_clock_throttle_reasons": {Reasons: true}, "dcgm_fi_dev_clocks_event_reasons": {Reasons: true},
	"dcgm_fi_dev_gpu_temp": {Quantity: health.Temperature}, "dcgm_fi_dev_memory_temp": {Quantity: health.MemoryTemperature},
	"dcgm_fi_dev_power_usage": {Quantity: health.Power}, "dcgm_fi_dev_gpu_util": {Quantity: health.Utilization, Scale: 0.01},
	"dcgm_fi_dev_ecc_sbe_vol_total": {Quantity: health.ECCCorrected}, "dcgm_fi_dev_ecc_dbe_vol_total": {Quantity: health.ECCUncorrected},
	"dcgm_fi_dev_pcie_replay_counter": {Quantity: health.PCIeReplays},

	// Times in nanoseconds, as NVML and DCGM's header say; comments in other files of DCGM said µs until 2025.
	"dcgm_fi_dev_power_violation":                                {Quantity: health.PowerCapTime, Scale: nanosecond, Second: true},
	"dcgm_fi_dev_thermal_violation":                              {Quantity: health.ThermalTime, Scale: nanosecond, Second: true},
	"dcgm_fi_dev_clocks_event_reason_sw_power_cap_ns":            {Quantity: health.PowerCapTime, Scale: nanosecond},
	"dcgm_fi_dev_clocks_event_reason_sw_therm_slowdown_ns":       {Quantity: health.ThermalTime, Scale: nanosecond},
	"dcgm_fi_dev_clocks_event_reason_hw_therm_slowdown_ns":       {Quantity: health.HardwareThermalTime, Scale: nanosecond},
	"dcgm_fi_dev_clocks_event_reason_hw_power_brake_slowdown_ns": {Quantity: health.PowerBrakeTime, Scale: nanosecond},

	"dcgm_fi_dev_nvlink_replay_error_count_total":   {Quantity: health.NVLinkReplays},
	"dcgm_fi_dev_nvlink_recovery_error_count_total": {Quantity: health.NVLinkRecoveries},
	"dcgm_fi_dev_nvlink_crc_flit_error_count_total": {Quantity: health.NVLinkErrors},
	"dcgm_fi_dev_uncorrectable_remapped_rows":       {Quantity: health.RowsRemapped},
	"dcgm_fi_dev_correctable_remapped_rows":         {Quantity: health.RowsRemappedCorrected},
	"dcgm_fi_dev_row_remap_pending":                 {Quantity: health.RemapPending},
	"dcgm_fi_dev_row_remap_failure":                 {Quantity: health.RemapFailed},

	"smclk": {Quantity: health.SMClock}, "mmclk": {Quantity: health.MemoryClock}, "dvcctr": {Reasons: true},
	"tmptr": {Quantity: health.Temperature}, "mmtmp": {Quantity: health.MemoryTemperature}, "power": {Quantity: health.Power},
	"gputl": {Quantity: health.Utilization, Scale: 0.01}, "esvtl": {Quantity: health.ECCCorrected}, "edvtl": {Quantity: health.ECCUncorrected},

	"pclk": {Quantity: health.SMClock}, "mclk": {Quantity: health.MemoryClock}, "gtemp": {Quantity: health.Temperature},
	"mtemp": {Quantity: health.MemoryTemperature}, "pwr": {Quantity: health.Power}, "sm": {Quantity: health.Utilization, Scale: 0.01},
}

// fieldOf returns what a name stands for. A unit in brackets behind it does not count.
func fieldOf(name string) (field, bool) {
	f, ok := fields[plain(name)]
	return f, ok
}

// What DCGM writes for a value that a device does not have: this and more, of 32 bits and of 64. A time in nanoseconds
// is beyond the first after two seconds.
const (
	blank     = 0x7ffffff0
	blankTime = 0x7ffffffffffffff0
)

// nanosecond is the scale of a time in nanoseconds.
const nanosecond = 1e-9

// blank reports whether a value of the field is none.
func (f field) blank(x float64) bool {
	if f.Scale == nanosecond {
		return x >= blankTime
	}
	return x >= blank && !f.Reasons
}

// value reads a value with or without its unit, "Active", or a number of bits.
func value(text string) (x float64, ok bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	switch strings.ToLower(text) {
	case "active":
		return 1, true
	case "not": // active
		return 0, true
	}
	if bits, found := strings.CutPrefix(text, "0x"); found {
		n, err := strconv.ParseUint(bits, 16, 64)
		return float64(n), err == nil
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}

// row is the readings of one device at one time.
type row struct {
	Host   string
	Device int
	At     int64
	// Of both, the largest of the columns that tell.
	throttled, capped float64
	told              [2]bool
}

// set adds the value of a field that is written so to the row.
func (b *builder) set(r *row, f field, text string) {
	if x, ok := value(text); ok { // not "[N/A]", "-", "ERR!"
		b.setValue(r, f, x)
	}
}

// setValue adds a value of a field to the row.
func (b *builder) setValue(r *row, f field, x float64) {
	if f.blank(x) {
		return
	}
	if f.Scale != 0 {
		x *= f.Scale
	}
	switch {
	case f.Reasons:
		bits := uint64(x)
		r.throttled, r.told[0] = max(r.throttled, bit(bits&reasonHardware)), true
		r.capped, r.told[1] = max(r.capped, bit(bits&reasonPower)), true
	case f.Quantity == health.Throttled:
		r.throttled, r.told[0] = max(r.throttled, x), true
	case f.Quantity == health.PowerCapped:
		r.capped, r.told[1] = max(r.capped, x), true
	default:
		b.addTo(key{r.Host, r.Device, f.Quantity, f.Second}, health.Reading{At: r.At, Value: x})
	}
}

// end adds what several columns tell together.
func (b *builder) end(r *row) {
	if r.told[0] {
		b.add(r.Host, r.Device, health.Throttled, health.Reading{At: r.At, Value: min(1, r.throttled)})
	}
	if r.told[1] {
		b.add(r.Host, r.Device, health.PowerCapped, health.Reading{At: r.At, Value: min(1, r.capped)})
	}
}

func bit(bits uint64) float64 {
	if bits != 0 {
		return 1
	}
	return 0
}
