package telemetry

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// snapshot is what node_exporter prints, shortened: two CPUs at a time in seconds, each
// busy for so many.
func snapshot(seconds, busy string) string {
	return `# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1000
node_cpu_seconds_total{cpu="0",mode="steal"} 4
node_cpu_seconds_total{cpu="0",mode="user"} ` + busy + `
node_cpu_seconds_total{cpu="1",mode="idle"} 1000
node_cpu_seconds_total{cpu="1",mode="steal"} 8
node_cpu_seconds_total{cpu="1",mode="user"} ` + busy + `
node_memory_MemAvailable_bytes 2.5e+09
node_memory_MemTotal_bytes 1e+10
node_network_receive_drop_total{device="eth0"} 5
node_network_receive_drop_total{device="lo"} 1000
node_network_transmit_drop_total{device="eth0"} 2
node_time_seconds ` + seconds + `
node_uname_info{domainname="(none)",machine="x86_64",nodename="h2",release="6.8.0",sysname="Linux",version="#1 \"x\""} 1
`
}

func find(t *health.Record, host string, device int, q health.Quantity) []health.Reading {
	for _, s := range t.Series {
		if s.Host == host && s.Device == device && s.Quantity == q {
			return s.Readings
		}
	}
	return nil
}

func TestMetrics(t *testing.T) {
	const at = 1795351500e9
	two := snapshot("1.7953515e+09", "100") + snapshot("1.7953515150e+09", "107")
	dcgm := `DCGM_FI_DEV_SM_CLOCK{gpu="3",UUID="GPU-1",pci_bus_id="00000000:3B:00.0",Hostname="h2"} 1005 1795351500000
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="3",UUID="GPU-1",Hostname="h2"} 64 1795351500000
DCGM_FI_DEV_MEMORY_TEMP{gpu="3",Hostname="h2"} 9223372036854775794 1795351500000
DCGM_FI_DEV_SM_CLOCK{gpu="3",GPU_I_ID="1",Hostname="h2"} 1 1795351500000
`
	// Nanoseconds: 41 s is beyond a blank of 32 bits, and no blank of a time.
	times := `DCGM_FI_DEV_THERMAL_VIOLATION{gpu="3",Hostname="h2"} 41000000000 1795351500000
DCGM_FI_DEV_THERMAL_VIOLATION{gpu="3",Hostname="h2"} 41380000000 1795351501000
DCGM_FI_DEV_POWER_VIOLATION{gpu="3",Hostname="h2"} 5e+09 1795351500000
DCGM_FI_DEV_POWER_VIOLATION{gpu="3",Hostname="h2"} 5.5e+09 1795351501000
DCGM_FI_DEV_THERMAL_VIOLATION{gpu="4",Hostname="h2"} 41000000000 1795351500000
DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS{gpu="4",Hostname="h2"} 3000000000 1795351500000
DCGM_FI_DEV_THERMAL_VIOLATION{gpu="5",Hostname="h2"} 9223372036854775792 1795351500000
DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{gpu="3",Hostname="h2"} 7 1795351500000
DCGM_FI_DEV_ROW_REMAP_PENDING{gpu="3",Hostname="h2"} 1 1795351500000
`
	for _, c := range []struct {
		name, text string
		host       string
		device     int
		q          health.Quantity
		want       []health.Reading
	}{
		{"seconds of all CPUs", two, "h2", -1, health.CPUBusy, []health.Reading{{At: at, Value: 100}, {At: at + 15e9, Value: 107}}},
		{"steal", two, "h2", -1, health.CPUSteal, []health.Reading{{At: at, Value: 6}, {At: at + 15e9, Value: 6}}},
		{"part of the memory", two, "h2", -1, health.MemoryAvailable, []health.Reading{{At: at, Value: 0.25}, {At: at + 15e9, Value: 0.25}}},
		{"drops but of the loopback", two, "h2", -1, health.NetworkDrops, []health.Reading{{At: at, Value: 7}, {At: at + 15e9, Value: 7}}},
		{"DCGM", dcgm, "h2", 3, health.SMClock, []health.Reading{{At: at, Value: 1005}}},
		{"reasons", dcgm, "h2", 3, health.Throttled, []health.Reading{{At: at, Value: 1}}},
		{"blank", dcgm, "h2", 3, health.MemoryTemperature, nil},
		{"time for heat", times, "h2", 3, health.ThermalTime, []health.Reading{{At: at, Value: 41}, {At: at + 1e9, Value: 41.38}}},
		{"time at the power limit", times, "h2", 3, health.PowerCapTime, []health.Reading{{At: at, Value: 5}, {At: at + 1e9, Value: 5.5}}},
		{"the first of two names", times, "h2", 4, health.ThermalTime, []health.Reading{{At: at, Value: 3}}},
		{"no time for heat", times, "h2", 5, health.ThermalTime, nil},
		{"replays of links", times, "h2", 3, health.NVLinkReplays, []health.Reading{{At: at, Value: 7}}},
		{"a row that waits", times, "h2", 3, health.RemapPending, []health.Reading{{At: at, Value: 1}}},
		{"a dump by series", "node_vmstat_pswpin{instance=\"h2:9100\"} 3 1795351500.0\nnode_vmstat_pswpin{instance=\"h2:9100\"} 4 1795351515.0\n# EOF\n", "h2", -1, health.SwapIn, []health.Reading{{At: at, Value: 3}, {At: at + 15e9, Value: 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !Metrics.Recognises([]byte(c.text)) {
				t.Error("not recognised")
			}
			got, err := Read(strings.NewReader(c.text), "x.prom", Metrics, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, find(got, c.host, c.device, c.q)); diff != "" {
				t.Error(diff)
			}
			if len(got.Notes) > 0 {
				t.Errorf("notes %v, expected none", got.Notes)
			}
		})
	}
}

// TestXid: the last error's number is an event where it changes.
func TestXid(t *testing.T) {
	got, err := Read(strings.NewReader(`DCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="h2"} 31 1795351500000
DCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="h2"} 31 1795351510000
DCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="h2"} 79 1795351520000
`), "x.prom", Metrics, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []health.Event{{Host: "h2", At: 1795351520e9, Kind: health.XidError, Code: 79, Text: xidMetric}}; !cmp.Equal(want, got.Events) {
		t.Error(cmp.Diff(want, got.Events))
	}
}

func TestDamagedMetrics(t *testing.T) {
	for _, c := range []struct {
		name, text string
		kind       error
		notes      int
	}{
		{"cut in a label", snapshot("1.7953515e+09", "1") + `node_load1{a="b`, nil, 1},
		{"cut in a value", snapshot("1.7953515e+09", "1") + "node_load1 ", nil, 1},
		{"no known metric", "# TYPE go_goroutines gauge\ngo_goroutines 8\n", input.ErrEmpty, 0},
		{"infinite", "node_vmstat_pswpin +Inf\nnode_vmstat_pswpin 1\n", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(c.text), "x.prom", Metrics, Options{})
			if !errors.Is(err, c.kind) {
				t.Fatalf("error %v, expected %v", err, c.kind)
			}
			if err == nil && len(got.Notes) != c.notes {
				t.Errorf("notes %v, expected %d", got.Notes, c.notes)
			}
		})
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add(snapshot("1.7953515e+09", "100"))
	f.Add("DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",Hostname=\"h\\\"2\"} 31 1795351500000\n")
	f.Fuzz(func(t *testing.T, text string) {
		Metrics.Recognises([]byte(text))
		got, err := Read(strings.NewReader(text), "x.prom", Metrics, Options{})
		if err == nil && len(got.Series)+len(got.Events) == 0 {
			t.Error("neither an error nor a reading")
		}
	})
}
