// Package gpus reads clocks, throttle reasons, temperature, power and memory errors of the
// NVIDIA GPUs of this machine, through the driver's library (NVML).
package gpus

import "time"

// Reading is what a GPU says of itself at one moment.
type Reading struct {
	When      time.Time
	SM, Mem   int // clocks, MHz
	MaxSM     int // the clock that it could have, MHz
	Reasons   Reasons
	Busy      int    // percent of the last interval in which a kernel ran
	Degrees   int    // temperature, °C
	ECCErrors uint64 // corrected and uncorrected, since the driver was loaded

	Uncorrected uint64  // of those
	Watts       float64 // 0: not known
	Bus         string  // PCI address; "": not known
}

// Reasons are why a GPU runs slower than it could, as bits of NVML's
// nvmlClocksEventReasons.
type Reasons uint64

// Reasons that slow a GPU down against the will of who uses it. That it is
// idle, or that clocks were set, is none of them.
const (
	PowerCap        Reasons = 0x04
	HardwareSlow    Reasons = 0x08
	SoftwareThermal Reasons = 0x20
	HardwareThermal Reasons = 0x40
	PowerBrake      Reasons = 0x80

	Throttling = PowerCap | HardwareSlow | SoftwareThermal | HardwareThermal | PowerBrake
)

var reasonNames = []struct {
	bit  Reasons
	name string
}{{PowerCap, "power cap"}, {HardwareSlow, "hardware slowdown"}, {SoftwareThermal, "thermal (driver)"},
	{HardwareThermal, "thermal (hardware)"}, {PowerBrake, "power brake"}}

// String names the reasons that throttle; others are left out.
func (r Reasons) String() string {
	text := ""
	for _, n := range reasonNames {
		if r&n.bit == 0 {
			continue
		}
		if text != "" {
			text += " + "
		}
		text += n.name
	}
	return text
}

// GPUs reads the GPUs of this machine.
type GPUs interface {
	Count() int
	Name(gpu int) string
	Read(gpu int) (Reading, error)
	Close()
}
