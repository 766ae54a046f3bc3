// Package health holds what monitoring recorded of hosts and their devices: clocks,
// temperatures, pressure, errors, and what kernels reported.
package health

import (
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
)

// Record is what monitoring recorded of hosts and their devices, whatever ran
// on them: one file of it. It is of no run; host and time say beside which it is.
type Record struct {
	Path   string // as it was opened; a host may be told by it alone
	Series []Series
	Events []Event
	Buses  []Bus
	Notes  []input.Note // what is incomplete
	// Zoneless: its stamps name no time zone, and were read in the one that the
	// reader was told.
	Zoneless bool
}

// Series is one quantity of one unit.
type Series struct {
	Host     string // "": the file does not say
	Device   int    // index on its host; −1: of the host as a whole
	Quantity Quantity
	Readings []Reading // by time, as recorded where there is none
}

// Bus is at which address a device is.
type Bus struct {
	Host   string // as Series has it
	Device int
	Bus    uint64 // as comms.Process has it
}

// Reading is a value at a time.
type Reading struct {
	At    int64 // nanoseconds since 1970 UTC; 0: not known
	Value float64
}

// Quantity is what is measured. Those for which Counter holds count up, and
// their rate means something; the others are values of the moment.
type Quantity uint8

const (
	NoQuantity Quantity = iota
	// Of devices.
	SMClock           // MHz
	MemoryClock       // MHz
	Throttled         // 1 while the clock is lowered for heat or by the hardware, else 0
	PowerCapped       // 1 while the clock is lowered to keep to the power limit, else 0
	Temperature       // °C
	MemoryTemperature // °C
	Power             // W
	Utilization       // part of the time in which a kernel ran
	ECCCorrected      // errors of the memory, counted
	ECCUncorrected    // …
	PCIeReplays       // counted
	// Times for which the clock was lowered, in seconds, counted: their rate is a share of the time.
	ThermalTime         // for heat, by the driver
	HardwareThermalTime // for heat, by the hardware, to half or less
	PowerBrakeTime      // by a signal of the power supply, to half or less
	PowerCapTime        // to keep to the power limit
	// Errors of memory and links, and what became of them.
	NVLinkReplays         // transfers sent again, of all links, counted
	NVLinkRecoveries      // times that a link was trained again, counted
	NVLinkErrors          // damaged units received, counted
	RowsRemapped          // rows of memory replaced for uncorrectable errors, counted
	RowsRemappedCorrected // … for correctable ones
	RemapPending          // 1 while a row waits for a reset to be replaced, else 0
	RemapFailed           // 1 where a row could not be replaced, else 0
	// Of hosts. Seconds are summed over the processors and divided by their number.
	CPUBusy         // seconds in which processors worked, counted
	CPUSteal        // seconds that the hypervisor gave to others, counted
	CPUWaitIO       // seconds in which processors waited for storage, counted
	Load            // runnable tasks per processor
	CPUClock        // MHz, mean over the processors
	CPUThrottled    // times that processors lowered their clock for heat, counted
	MemoryAvailable // part of the memory
	PressureCPU     // seconds in which some task waited for a processor, counted
	PressureMemory  // … for memory
	PressureIO      // … for storage
	SwapIn          // pages read back, counted
	OOMKills        // processes killed for want of memory, counted
	Retransmits     // TCP segments sent again, counted
	NetworkDrops    // packets dropped, or received damaged, counted
	quantities
)

// quantityInfo is what is known of a quantity.
var quantityInfo = [quantities]struct {
	name, unit string
	counter    bool
}{
	{name: "unknown"},
	SMClock:           {name: "sm_clock", unit: "MHz"},
	MemoryClock:       {name: "memory_clock", unit: "MHz"},
	Throttled:         {name: "throttled", unit: "fraction"},
	PowerCapped:       {name: "power_capped", unit: "fraction"},
	Temperature:       {name: "temperature", unit: "°C"},
	MemoryTemperature: {name: "memory_temperature", unit: "°C"},
	Power:             {name: "power", unit: "W"},
	Utilization:       {name: "utilization", unit: "fraction"},
	ECCCorrected:      {name: "ecc_corrected", unit: "1/s", counter: true},
	ECCUncorrected:    {name: "ecc_uncorrected", unit: "1/s", counter: true},
	PCIeReplays:       {name: "pcie_replays", unit: "1/s", counter: true},

	ThermalTime:         {name: "thermal_slowdown_time", unit: "fraction", counter: true},
	HardwareThermalTime: {name: "hw_thermal_slowdown_time", unit: "fraction", counter: true},
	PowerBrakeTime:      {name: "power_brake_time", unit: "fraction", counter: true},
	PowerCapTime:        {name: "power_cap_time", unit: "fraction", counter: true},

	NVLinkReplays:         {name: "nvlink_replays", unit: "1/s", counter: true},
	NVLinkRecoveries:      {name: "nvlink_recoveries", unit: "1/s", counter: true},
	NVLinkErrors:          {name: "nvlink_errors", unit: "1/s", counter: true},
	RowsRemapped:          {name: "rows_remapped", unit: "1/s", counter: true},
	RowsRemappedCorrected: {name: "rows_remapped_corrected", unit: "1/s", counter: true},
	RemapPending:          {name: "row_remap_pending", unit: "fraction"},
	RemapFailed:           {name: "row_remap_failed", unit: "fraction"},

	CPUBusy:         {name: "cpu_busy", unit: "fraction", counter: true},
	CPUSteal:        {name: "cpu_steal", unit: "fraction", counter: true},
	CPUWaitIO:       {name: "cpu_wait_io", unit: "fraction", counter: true},
	Load:            {name: "load", unit: "tasks/CPU"},
	CPUClock:        {name: "cpu_clock", unit: "MHz"},
	CPUThrottled:    {name: "cpu_throttled", unit: "1/s", counter: true},
	MemoryAvailable: {name: "memory_available", unit: "fraction"},
	PressureCPU:     {name: "pressure_cpu", unit: "fraction", counter: true},
	PressureMemory:  {name: "pressure_memory", unit: "fraction", counter: true},
	PressureIO:      {name: "pressure_io", unit: "fraction", counter: true},
	SwapIn:          {name: "swap_in", unit: "1/s", counter: true},
	OOMKills:        {name: "oom_kills", unit: "1/s", counter: true},
	Retransmits:     {name: "tcp_retransmits", unit: "1/s", counter: true},
	NetworkDrops:    {name: "network_drops", unit: "1/s", counter: true},
}

// Quantities returns all quantities.
func Quantities() []Quantity {
	var all []Quantity
	for q := NoQuantity + 1; q < quantities; q++ {
		all = append(all, q)
	}
	return all
}

func (q Quantity) info() (i int) {
	if q < quantities {
		i = int(q)
	}
	return i
}

func (q Quantity) String() string { return quantityInfo[q.info()].name }

// Unit returns the unit of a value, or of the rate of a counter.
func (q Quantity) Unit() string { return quantityInfo[q.info()].unit }

// Flag reports whether a value is 0 or 1, so that its mean is a share of the time.
func (q Quantity) Flag() bool {
	switch q {
	case Throttled, PowerCapped, RemapPending, RemapFailed:
		return true
	}
	return false
}

// SlowdownTime reports whether the quantity is a time for which the clock was lowered.
func (q Quantity) SlowdownTime() bool { return q >= ThermalTime && q <= PowerCapTime }

// Counter reports whether the quantity counts up.
func (q Quantity) Counter() bool { return quantityInfo[q.info()].counter }

// Event is something that the kernel of a host reported, or another tool.
type Event struct {
	Host   string // "": the file does not say
	At     int64  // nanoseconds since 1970 UTC; 0: not known
	Kind   EventKind
	Code   int    // of an Xid error
	Bus    uint64 // of the device, as comms.Process has it; 0: none, or not known
	Device int    // index on its host; −1: none, or not known
	Ranks  []int  // that it is about; nil: none
	Text   string // what was reported
}

// EventKind is what was reported.
type EventKind uint8

const (
	UnknownEvent  EventKind = iota
	XidError                // of the NVIDIA driver
	MachineCheck            // hardware error of processor or memory
	OutOfMemory             // a process was killed
	CPUOverheated           // a processor lowered its clock
	LinkDown                // of a network interface
	ToolReport              // what another tool concludes of ranks
)

var eventNames = [...]string{"unknown", "xid", "machine_check", "out_of_memory", "cpu_overheated", "link_down", "tool_report"}

func (k EventKind) String() string { return enum.Name(eventNames[:], k) }

// RunName implements [trace.Recording]: telemetry is of no run.
func (t *Record) RunName() string { return "" }
