//go:build cgo && linux && nvml

package sample

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest/telemetry"
	"github.com/sfstat/sfstat/trace/health"
)

// node is a DGX A100 of the library's own mock, whose GPUs answer as a test sets them.
type node struct {
	*server.Server
	gpus   []*server.Device
	fields []map[uint32]uint64 // what each GPU answers, by field; another is not supported
	asked  map[uint32]int      // how often a field was asked for, of all GPUs
	events chan nvml.EventData
	lacks  map[string]bool // functions that the driver's library lacks
}

func dgx() *node {
	n := &node{Server: dgxa100.New(), asked: make(map[uint32]int), events: make(chan nvml.EventData), lacks: make(map[string]bool)}
	n.LookupSymbolFunc = func(symbol string) error {
		if n.lacks[symbol] {
			return nvml.ERROR_FUNCTION_NOT_FOUND
		}
		return nil
	}
	n.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		return &mock.EventSet{
			FreeFunc: func() nvml.Return { return nvml.SUCCESS },
			WaitFunc: func(ms uint32) (nvml.EventData, nvml.Return) {
				select {
				case e := <-n.events:
					return e, nvml.SUCCESS
				case <-time.After(time.Duration(ms) * time.Millisecond):
					return nvml.EventData{}, nvml.ERROR_TIMEOUT
				}
			},
		}, nvml.SUCCESS
	}
	for i, d := range n.Devices {
		g := d.(*server.Device)
		n.gpus, n.fields = append(n.gpus, g), append(n.fields, map[uint32]uint64{})
		g.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) { return nvml.PciInfo{Bus: uint32(0x3b + i)}, nvml.SUCCESS }
		g.GetClockInfoFunc = func(c nvml.ClockType) (uint32, nvml.Return) {
			return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1410, nvml.CLOCK_MEM: 1215}[c], nvml.SUCCESS
		}
		g.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return 0x4, nvml.SUCCESS }
		g.GetCurrentClocksThrottleReasonsFunc = func() (uint64, nvml.Return) { return 0x20, nvml.SUCCESS }
		g.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, nvml.SUCCESS }
		g.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
		g.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 98}, nvml.SUCCESS }
		g.GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return nvml.EventTypeXidCriticalError, nvml.SUCCESS }
		g.RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return nvml.SUCCESS }
		g.GetFieldValuesFunc = func(values []nvml.FieldValue) nvml.Return {
			for j := range values {
				v := &values[j]
				n.asked[v.FieldId]++
				x, ok := n.fields[i][v.FieldId]
				v.NvmlReturn, v.ValueType = uint32(nvml.ERROR_NOT_SUPPORTED), uint32(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG)
				if ok {
					v.NvmlReturn = uint32(nvml.SUCCESS)
					binary.NativeEndian.PutUint64(v.Value[:], x)
				}
			}
			return nvml.SUCCESS
		}
	}
	return n
}

// run samples the node, so often and so many times; between samples it calls between. It returns what is read back of
// what was written, and what was told.
func (n *node) run(t *testing.T, every time.Duration, count int, between func(sample int)) (*health.Record, []string) {
	t.Helper()
	time.Sleep(time.Until(time.Date(2026, 11, 22, 12, 45, 0, 0, time.UTC))) // a bubble begins in 2000, before there was Prometheus
	gpus, err := open(n, every)
	if err != nil {
		t.Fatal(err)
	}
	defer gpus.Close()
	var out bytes.Buffer
	var told []string
	tell := func(_ Source, err error) { told = append(told, err.Error()) }
	for i := range count {
		if between != nil {
			between(i)
		}
		synctest.Wait()
		if err := Run(t.Context(), &out, []Source{gpus}, Options{Host: "h2", Every: every, Count: 1}, tell); err != nil {
			t.Fatal(err)
		}
		time.Sleep(every)
	}
	got, err := telemetry.Read(&out, "h2.prom", telemetry.Metrics, telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return got, told
}

// last returns the last readings of a GPU.
func last(r *health.Record, gpu int) map[health.Quantity]float64 {
	out := make(map[health.Quantity]float64)
	for _, s := range r.Series {
		if s.Device == gpu && s.Host == "h2" {
			out[s.Quantity] = s.Readings[len(s.Readings)-1].Value
		}
	}
	return out
}

// TestNVML: what GPUs answer is what is read back of the text, in the units of health; what one does not support is
// left out, never 0.
func TestNVML(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := dgx()
		n.fields[3] = map[uint32]uint64{nvml.FI_DEV_PERF_POLICY_POWER: 2_500_000_000, nvml.FI_DEV_PERF_POLICY_THERMAL: 41_000_000_000, nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN: 7e9,
			nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN: 0, nvml.FI_DEV_MEMORY_TEMP: 77, nvml.FI_DEV_ECC_SBE_VOL_TOTAL: 5, nvml.FI_DEV_ECC_DBE_VOL_TOTAL: 0, nvml.FI_DEV_REMAPPED_COR: 2, nvml.FI_DEV_REMAPPED_UNC: 1,
			nvml.FI_DEV_REMAPPED_PENDING: 1, nvml.FI_DEV_REMAPPED_FAILURE: 0, nvml.FI_DEV_PCIE_REPLAY_COUNTER: 12,
			nvml.FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL: 30, nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL: 4, nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL: 9}
		got, told := n.run(t, 100*time.Millisecond, 1, nil)
		if len(told) > 0 || len(got.Notes) > 0 {
			t.Errorf("told %q, notes %v, expected neither", told, got.Notes)
		}
		bare := map[health.Quantity]float64{health.SMClock: 1410, health.MemoryClock: 1215, health.Throttled: 0, health.PowerCapped: 1, health.Temperature: 61, health.Utilization: 0.98}
		if diff := cmp.Diff(bare, last(got, 2)); diff != "" {
			t.Errorf("a GPU without fields: %s", diff)
		}
		want := maps.Clone(bare)
		maps.Copy(want, map[health.Quantity]float64{health.PowerCapTime: 2.5, health.ThermalTime: 41, health.HardwareThermalTime: 7, health.PowerBrakeTime: 0, health.MemoryTemperature: 77, health.ECCCorrected: 5, health.ECCUncorrected: 0,
			health.RowsRemappedCorrected: 2, health.RowsRemapped: 1, health.RemapPending: 1, health.RemapFailed: 0, health.PCIeReplays: 12, health.NVLinkReplays: 30, health.NVLinkRecoveries: 4, health.NVLinkErrors: 9})
		if diff := cmp.Diff(want, last(got, 3)); diff != "" {
			t.Errorf("a GPU with all fields: %s", diff)
		}
		if len(got.Buses) != 8 || got.Buses[3].Bus != 0x3e<<12 {
			t.Errorf("buses %+v, expected 8, the fourth at 3e:00", got.Buses)
		}
	})
}

// TestLinks: of a GPU that counts by NVLink the links are added up, and recoveries are counted once.
func TestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := dgx()
		n.fields[0] = map[uint32]uint64{nvml.FI_DEV_NVLINK_LINK_COUNT: 18, nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY: 2, nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY: 1, nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS: 5}
		n.fields[1] = map[uint32]uint64{nvml.FI_DEV_NVLINK_LINK_COUNT: 18, nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS: 5}
		got, _ := n.run(t, time.Second, 1, nil)
		hopper, blackwell := last(got, 0), last(got, 1)
		if hopper[health.NVLinkReplays] != 36 || hopper[health.NVLinkRecoveries] != 18 || blackwell[health.NVLinkRecoveries] != 90 {
			t.Errorf("%v and %v, expected 18 links with 2 replays and 1 recovery each, and 18 with 5 recoveries", hopper, blackwell)
		}
		if _, ok := blackwell[health.NVLinkReplays]; ok {
			t.Error("replays of a GPU that does not count them")
		}
	})
}

// TestSeldom: at ten samples a second counters of errors are asked for once a second, times at every sample.
func TestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := dgx()
		for i := range n.fields {
			n.fields[i] = map[uint32]uint64{nvml.FI_DEV_PERF_POLICY_THERMAL: 1, nvml.FI_DEV_ECC_SBE_VOL_TOTAL: 0}
		}
		gpus, err := open(n, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		defer gpus.Close()
		clear(n.asked)
		for range 20 {
			if _, err := gpus.Metrics(); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[uint32]int{nvml.FI_DEV_PERF_POLICY_THERMAL: 160, nvml.FI_DEV_ECC_SBE_VOL_TOTAL: 16}; !maps.Equal(n.asked, want) {
			t.Errorf("asked %v, expected %v: 8 GPUs, 20 samples in 2 s, and nothing that is not supported", n.asked, want)
		}
	})
}

// TestXid: an Xid error is an event at its time, and so is the same one again.
func TestXid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := dgx()
		n.gpus[5].GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
		var at []int64
		got, told := n.run(t, 5*time.Second, 4, func(sample int) {
			time.Sleep(10 * time.Millisecond)
			switch sample {
			case 1, 3:
				n.events <- nvml.EventData{Device: n.gpus[2], EventType: nvml.EventTypeXidCriticalError, EventData: 31}
				at = append(at, time.Now().UnixMilli()*1e6)
			case 2:
				n.events <- nvml.EventData{Device: n.gpus[2], EventType: nvml.EventTypeXidCriticalError, EventData: 79}
				n.events <- nvml.EventData{Device: n.gpus[2], EventType: nvml.EventTypeXidCriticalError, EventData: 79}
				at = append(at, time.Now().UnixMilli()*1e6, time.Now().UnixMilli()*1e6)
			}
		})
		var want []health.Event
		for i, code := range []int{31, 79, 79, 31} {
			want = append(want, health.Event{Host: "h2", At: at[i], Kind: health.XidError, Code: code, Device: 2, Text: xidMetric})
		}
		if diff := cmp.Diff(want, got.Events); diff != "" || told != nil {
			t.Errorf("told %q; %s", told, diff)
		}
	})
}

// TestLost: a GPU that falls off the bus is told once, and the others are read on.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := dgx()
		got, told := n.run(t, time.Second, 5, func(sample int) {
			if sample == 2 {
				n.gpus[6].GetClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
			}
		})
		if len(told) != 1 || !strings.HasPrefix(told[0], `GPU 6 (gpu="6",pci_bus_id="00000000:41:00.0") cannot be read any more`) {
			t.Errorf("told %q, expected once that GPU 6 is lost", told)
		}
		for _, s := range got.Series {
			if want := map[bool]int{true: 2, false: 5}[s.Device == 6]; s.Quantity == health.SMClock && len(s.Readings) != want {
				t.Errorf("GPU %d: %d readings, expected %d", s.Device, len(s.Readings), want)
			}
		}
	})
}

// TestAllLost: when all GPUs are lost, that is told once more.
func TestAllLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := dgx()
		_, told := n.run(t, time.Second, 5, func(sample int) {
			for _, g := range n.gpus {
				if sample == 1 {
					g.GetClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
				}
			}
		})
		if len(told) < 2 || told[len(told)-1] != "no GPU can be read any more" || strings.Count(strings.Join(told, "\n"), "cannot be read any more") != 8 {
			t.Errorf("told %q, expected each of 8 GPUs once, and that there is no other", told)
		}
	})
}

// TestOlderDriver: a function that the library lacks is not called; its older name is.
func TestOlderDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := dgx()
		n.lacks["nvmlDeviceGetCurrentClocksEventReasons"] = true
		for _, g := range n.gpus {
			g.GetCurrentClocksEventReasonsFunc = nil // a call panics, as it ends the process in truth
		}
		got, _ := n.run(t, time.Second, 1, nil)
		if v := last(got, 0); v[health.Throttled] != 1 {
			t.Errorf("%v, expected the reasons by their older name", v)
		}
	})
}

// TestNoNVML: each way in which there is no library says why.
func TestNoNVML(t *testing.T) {
	for _, c := range []struct {
		init nvml.Return
		gpus int
		want string
	}{
		{nvml.ERROR_LIBRARY_NOT_FOUND, 8, "the driver's library, libnvidia-ml.so.1, is not found"},
		{nvml.ERROR_DRIVER_NOT_LOADED, 8, "gives no access"},
		{nvml.SUCCESS, 0, "knows of 0 GPUs"},
	} {
		n := dgx()
		n.InitFunc = func() nvml.Return { return c.init }
		n.DeviceGetCountFunc = func() (int, nvml.Return) { return c.gpus, nvml.SUCCESS }
		if _, err := open(n, time.Second); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
}

// TestNames: each metric is asked for once, by names of dcgm-exporter.
func TestNames(t *testing.T) {
	var names []string
	for _, f := range slices.Concat(often, seldom) {
		names = append(names, f.metric)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(often)+len(seldom) {
		t.Errorf("a name comes twice in %q", names)
	}
}

// BenchmarkSample measures what this program does for a sample of 8 GPUs at ten a second, without the driver's part.
func BenchmarkSample(b *testing.B) {
	n := dgx()
	for i := range n.fields {
		for _, f := range slices.Concat(often, seldom) {
			n.fields[i][f.id] = 1e12
		}
	}
	gpus, err := open(n, 100*time.Millisecond)
	if err != nil {
		b.Fatal(err)
	}
	defer gpus.Close()
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := write(&out, []Source{gpus}, Options{Host: "gpu-node-1", Every: 100 * time.Millisecond}, func(_ Source, err error) { b.Fatal(err) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "B/sample")
}
