//go:build cgo && linux

package gpus

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Open is the GPUs that the driver knows, or why there are none to read.
// The driver's library is loaded now, not linked.
func Open() (GPUs, error) {
	lib := nvml.New()
	if r := lib.Init(); r != nvml.SUCCESS {
		return nil, fmt.Errorf("the NVIDIA driver's library gives no access: %v", r)
	}
	n, r := lib.DeviceGetCount()
	if r != nvml.SUCCESS || n == 0 {
		lib.Shutdown()
		return nil, fmt.Errorf("the NVIDIA driver knows %d GPUs (%v)", n, r)
	}
	g := &driver{lib: lib}
	for i := range n {
		d, r := lib.DeviceGetHandleByIndex(i)
		if r != nvml.SUCCESS {
			lib.Shutdown()
			return nil, fmt.Errorf("GPU %d: %v", i, r)
		}
		g.devices = append(g.devices, d)
	}
	return g, nil
}

type driver struct {
	lib     nvml.Interface
	devices []nvml.Device
}

func (g *driver) Count() int { return len(g.devices) }
func (g *driver) Close()     { g.lib.Shutdown() }

func (g *driver) Name(gpu int) string {
	name, r := g.devices[gpu].GetName()
	if r != nvml.SUCCESS {
		return "GPU"
	}
	return name
}

// Read asks for all; what a GPU does not support (consumer cards count no ECC
// errors) stays 0, but clocks and reasons are a must.
func (g *driver) Read(gpu int) (Reading, error) {
	d := g.devices[gpu]
	out := Reading{When: time.Now()}
	sm, r := d.GetClockInfo(nvml.CLOCK_SM)
	if r != nvml.SUCCESS {
		return out, fmt.Errorf("clock: %v", r)
	}
	reasons, r := d.GetCurrentClocksEventReasons()
	if r != nvml.SUCCESS { // drivers before 535 know the old name alone
		reasons, r = d.GetCurrentClocksThrottleReasons()
	}
	if r != nvml.SUCCESS {
		return out, fmt.Errorf("reasons of throttling: %v", r)
	}
	out.SM, out.Reasons = int(sm), Reasons(reasons)
	if mem, r := d.GetClockInfo(nvml.CLOCK_MEM); r == nvml.SUCCESS {
		out.Mem = int(mem)
	}
	if most, r := d.GetMaxClockInfo(nvml.CLOCK_SM); r == nvml.SUCCESS {
		out.MaxSM = int(most)
	}
	if busy, r := d.GetUtilizationRates(); r == nvml.SUCCESS {
		out.Busy = int(busy.Gpu)
	}
	if degrees, r := d.GetTemperature(nvml.TEMPERATURE_GPU); r == nvml.SUCCESS {
		out.Degrees = int(degrees)
	}
	if n, r := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC); r == nvml.SUCCESS {
		out.ECCErrors += n
	}
	if n, r := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); r == nvml.SUCCESS {
		out.ECCErrors += n
		out.Uncorrected = n
	}
	if milliwatts, r := d.GetPowerUsage(); r == nvml.SUCCESS {
		out.Watts = float64(milliwatts) / 1000
	}
	if pci, r := d.GetPciInfo(); r == nvml.SUCCESS {
		out.Bus = fmt.Sprintf("%08X:%02X:%02X.0", pci.Domain, pci.Bus, pci.Device)
	}
	return out, nil
}
