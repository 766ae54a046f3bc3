//go:build cgo && linux && nvml

package sample

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const built = "by NVML, the driver's library, where it is found, else by nvidia-smi"

// library reads GPUs by NVML. What a GPU does not support is asked for once, and left out.
type library struct {
	lib  nvml.Interface
	name string
	gpus []*gpu
	xids *xids
	rare int // at every how many-th sample errors are counted
	n    int // samples taken
}

// gpu is a device, and what it answers.
type gpu struct {
	index  int
	device nvml.Device
	labels string
	calls  []call
	often  answers // of every sample
	seldom answers // of every rare-th
	lost   bool
}

// call is a value that a function of NVML returns.
type call struct {
	metric, symbol string
	read           func(nvml.Device) (float64, nvml.Return)
}

// field is a value of the many that nvmlDeviceGetFieldValues returns in one call.
type field struct {
	metric string
	id     uint32
}

// answers are fields that a GPU supports. Those of one metric follow each other and are added up.
type answers struct {
	metrics []string
	values  []nvml.FieldValue
}

// calls are the values that are no fields. Each names its function, which an older driver may lack: a call of one that
// is missing would end the process. Of two for one metric the first that a GPU answers counts.
var calls = []call{
	{"DCGM_FI_DEV_SM_CLOCK", "nvmlDeviceGetClockInfo", func(d nvml.Device) (float64, nvml.Return) { return number(d.GetClockInfo(nvml.CLOCK_SM)) }},
	{"DCGM_FI_DEV_MEM_CLOCK", "nvmlDeviceGetClockInfo", func(d nvml.Device) (float64, nvml.Return) { return number(d.GetClockInfo(nvml.CLOCK_MEM)) }},
	{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "nvmlDeviceGetCurrentClocksEventReasons", func(d nvml.Device) (float64, nvml.Return) { return number(d.GetCurrentClocksEventReasons()) }},
	{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "nvmlDeviceGetCurrentClocksThrottleReasons", func(d nvml.Device) (float64, nvml.Return) { return number(d.GetCurrentClocksThrottleReasons()) }},
	{"DCGM_FI_DEV_GPU_TEMP", "nvmlDeviceGetTemperature", func(d nvml.Device) (float64, nvml.Return) { return number(d.GetTemperature(nvml.TEMPERATURE_GPU)) }},
	{"DCGM_FI_DEV_POWER_USAGE", "nvmlDeviceGetPowerUsage", func(d nvml.Device) (float64, nvml.Return) {
		milliwatts, r := d.GetPowerUsage()
		return float64(milliwatts) / 1000, r
	}},
	{"DCGM_FI_DEV_GPU_UTIL", "nvmlDeviceGetUtilizationRates", func(d nvml.Device) (float64, nvml.Return) {
		busy, r := d.GetUtilizationRates()
		return float64(busy.Gpu), r
	}},
}

func number[N uint32 | uint64](n N, r nvml.Return) (float64, nvml.Return) { return float64(n), r }

// often are the times for which a clock was held down, by reason, in nanoseconds since the driver was loaded, as
// nvml.h has it of nvmlViolationTime_t and of the fields; DCGM passes them on as they are. The fields
// replace nvmlDeviceGetViolationStatus, which is deprecated and will go with CUDA 14.
var often = []field{
	{"DCGM_FI_DEV_POWER_VIOLATION", nvml.FI_DEV_PERF_POLICY_POWER},
	{"DCGM_FI_DEV_THERMAL_VIOLATION", nvml.FI_DEV_PERF_POLICY_THERMAL},
	{"DCGM_FI_DEV_SYNC_BOOST_VIOLATION", nvml.FI_DEV_PERF_POLICY_SYNC_BOOST},
	{"DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", nvml.FI_DEV_PERF_POLICY_BOARD_LIMIT},
	{"DCGM_FI_DEV_LOW_UTIL_VIOLATION", nvml.FI_DEV_PERF_POLICY_LOW_UTILIZATION},
	{"DCGM_FI_DEV_RELIABILITY_VIOLATION", nvml.FI_DEV_PERF_POLICY_RELIABILITY},
	{"DCGM_FI_DEV_TOTAL_APP_CLOCKS_VIOLATION", nvml.FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS},
	{"DCGM_FI_DEV_TOTAL_BASE_CLOCKS_VIOLATION", nvml.FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS},
	{"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS", nvml.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN},
	{"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS", nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN},
	{"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS", nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN},
	{"DCGM_FI_DEV_MEMORY_TEMP", nvml.FI_DEV_MEMORY_TEMP},
}

// seldom are counters of errors, some of which a driver has to ask the GPU for.
var seldom = []field{
	{"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", nvml.FI_DEV_ECC_SBE_VOL_TOTAL},
	{"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", nvml.FI_DEV_ECC_DBE_VOL_TOTAL},
	{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", nvml.FI_DEV_REMAPPED_COR},
	{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", nvml.FI_DEV_REMAPPED_UNC},
	{"DCGM_FI_DEV_ROW_REMAP_PENDING", nvml.FI_DEV_REMAPPED_PENDING},
	{"DCGM_FI_DEV_ROW_REMAP_FAILURE", nvml.FI_DEV_REMAPPED_FAILURE},
	{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", nvml.FI_DEV_PCIE_REPLAY_COUNTER},
	{"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", nvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL},
	{"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL},
	{"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL},
	{"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", nvml.FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL},
}

// byLink are the counters of NVLinks for a GPU that has no totals: Hopper counts by link, Blackwell recoveries alone.
var byLink = []field{
	{"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY},
	{"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY},
	{"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", nvml.FI_DEV_NVLINK_ERROR_DL_CRC},
	{"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS},
}

// openNVML loads the driver's library; the error says why it cannot.
func openNVML(every time.Duration) (Source, error) { return open(nvml.New(), every) }

// minCountInterval is how often errors are counted at most.
const minCountInterval = time.Second

func open(lib nvml.Interface, every time.Duration) (Source, error) {
	switch r := lib.Init(); r {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, errors.New("the driver's library, libnvidia-ml.so.1, is not found")
	default:
		return nil, fmt.Errorf("the driver's library, libnvidia-ml.so.1, gives no access: %v", r)
	}
	n, r := lib.DeviceGetCount()
	if r != nvml.SUCCESS || n == 0 {
		lib.Shutdown()
		return nil, fmt.Errorf("the driver's library knows of %d GPUs (%v)", n, r)
	}
	l := &library{lib: lib, rare: max(1, int((minCountInterval+every-1)/every)), name: "GPUs by NVML"}
	if driver, r := lib.SystemGetDriverVersion(); r == nvml.SUCCESS {
		l.name += " (driver " + driver + ")"
	}
	for i := range n {
		g := &gpu{index: i, labels: fmt.Sprintf("gpu=%q", fmt.Sprint(i))}
		if g.device, r = lib.DeviceGetHandleByIndex(i); r != nvml.SUCCESS {
			g.device = nil // it is told at the first sample
		} else {
			g.prepare(lib)
		}
		l.gpus = append(l.gpus, g)
	}
	l.xids = listen(lib, l.gpus)
	return l, nil
}

// prepare finds out what a GPU answers.
func (g *gpu) prepare(lib nvml.Interface) {
	if pci, r := g.device.GetPciInfo(); r == nvml.SUCCESS {
		g.labels += fmt.Sprintf(",pci_bus_id=%q", fmt.Sprintf("%08X:%02X:%02X.0", pci.Domain, pci.Bus, pci.Device))
	}
	for _, c := range calls {
		if g.asks(c.metric) || lib.Extensions().LookupSymbol(c.symbol) != nil {
			continue
		}
		if _, r := c.read(g.device); maySupport(r) {
			g.calls = append(g.calls, c)
		}
	}
	g.often.add(g.device, often, 1)
	g.seldom.add(g.device, seldom, 1)
	links := []nvml.FieldValue{{FieldId: nvml.FI_DEV_NVLINK_LINK_COUNT}}
	if g.device.GetFieldValues(links) != nvml.SUCCESS {
		return
	}
	n, r := decode(&links[0])
	for _, f := range byLink {
		if r == nvml.SUCCESS && !slices.Contains(g.seldom.metrics, f.metric) {
			g.seldom.add(g.device, []field{f}, int(n))
		}
	}
}

// asks reports whether a call gives a metric already.
func (g *gpu) asks(metric string) bool {
	return slices.ContainsFunc(g.calls, func(c call) bool { return c.metric == metric })
}

// maySupport reports whether an answer leaves open that there will be a value.
func maySupport(r nvml.Return) bool {
	switch r {
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_INVALID_ARGUMENT, nvml.ERROR_NOT_FOUND, nvml.ERROR_FUNCTION_NOT_FOUND, nvml.ERROR_DEPRECATED, nvml.ERROR_NO_PERMISSION:
		return false
	}
	return true
}

// add adds those of some fields that a device supports, of so many links each.
func (a *answers) add(d nvml.Device, fields []field, links int) {
	var asked answers
	for _, f := range fields {
		for link := range links {
			asked.metrics, asked.values = append(asked.metrics, f.metric), append(asked.values, nvml.FieldValue{FieldId: f.id, ScopeId: uint32(link)})
		}
	}
	if len(asked.values) == 0 || d.GetFieldValues(asked.values) != nvml.SUCCESS {
		return
	}
	for i, v := range asked.values {
		if maySupport(nvml.Return(v.NvmlReturn)) {
			a.metrics, a.values = append(a.metrics, asked.metrics[i]), append(a.values, v)
		}
	}
}

// Name implements Source.
func (l *library) Name() string { return l.name }

// MinInterval implements Source: NVML can be asked as often as one likes.
func (l *library) MinInterval() time.Duration { return 0 }

// Close implements Source.
func (l *library) Close() {
	l.xids.close()
	l.lib.Shutdown()
}

// Metrics implements Source. A GPU that is lost is told once, and the others are read on.
func (l *library) Metrics() (out []Metric, err error) {
	var lost []error
	alive := false
	heard, deaf := l.xids.take()
	for _, g := range l.gpus {
		if !g.lost {
			var r nvml.Return
			if out, r = g.sample(out, l.n%l.rare == 0); r != nvml.SUCCESS {
				g.lost = true
				lost = append(lost, fmt.Errorf("GPU %d (%s) cannot be read any more: %v", g.index, g.labels, r))
			}
		}
		alive = alive || !g.lost
		out = append(out, heard[g.index]...)
	}
	l.n++
	if !alive && lost == nil {
		lost = append(lost, errors.New("no GPU can be read any more"))
	}
	return out, errors.Join(append(lost, deaf)...)
}

// sample appends what a GPU answers; it returns why the GPU is lost.
func (g *gpu) sample(out []Metric, counts bool) ([]Metric, nvml.Return) {
	if g.device == nil {
		return out, nvml.ERROR_GPU_IS_LOST
	}
	for _, c := range g.calls {
		x, r := c.read(g.device)
		if isLost(r) {
			return out, r
		}
		if r == nvml.SUCCESS {
			out = append(out, Metric{Name: c.metric, Labels: g.labels, Value: x})
		}
	}
	out, r := g.ask(out, &g.often)
	if r == nvml.SUCCESS && counts {
		out, r = g.ask(out, &g.seldom)
	}
	return out, r
}

// ask appends the fields that a GPU answers; a metric of which a link does not answer is left out.
func (g *gpu) ask(out []Metric, a *answers) ([]Metric, nvml.Return) {
	if len(a.values) == 0 {
		return out, nvml.SUCCESS
	}
	r := g.device.GetFieldValues(a.values)
	if isLost(r) {
		return out, r
	}
	for i := 0; r == nvml.SUCCESS && i < len(a.values); {
		sum, known := 0.0, true
		metric := a.metrics[i]
		for ; i < len(a.values) && a.metrics[i] == metric; i++ {
			x, r := decode(&a.values[i])
			if isLost(r) {
				return out, r
			}
			sum, known = sum+x, known && r == nvml.SUCCESS
		}
		if known {
			out = append(out, Metric{Name: metric, Labels: g.labels, Value: sum})
		}
	}
	return out, nvml.SUCCESS
}

// isLost reports whether a GPU fell off the bus or waits for a reset: it will not answer again.
func isLost(r nvml.Return) bool {
	return r == nvml.ERROR_GPU_IS_LOST || r == nvml.ERROR_RESET_REQUIRED
}

// decode returns the value of a field by its type.
func decode(v *nvml.FieldValue) (float64, nvml.Return) {
	bits := binary.NativeEndian.Uint64(v.Value[:])
	r := nvml.Return(v.NvmlReturn)
	switch nvml.ValueType(v.ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		return math.Float64frombits(bits), r
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(binary.NativeEndian.Uint32(v.Value[:])), r
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return float64(bits), r
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(bits)), r
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(binary.NativeEndian.Uint32(v.Value[:]))), r
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return float64(binary.NativeEndian.Uint16(v.Value[:])), r
	}
	return 0, nvml.ERROR_UNKNOWN
}
