package telemetry

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

const smiTable = `timestamp, index, pci.bus_id, clocks.current.sm [MHz], clocks_throttle_reasons.active, temperature.gpu, power.draw [W], utilization.gpu [%], ecc.errors.uncorrected.volatile.total
2026/11/22 12:45:00.500, 0, 00000000:3B:00.0, 1755 MHz, 0x0000000000000000, 61, 402.10 W, 98 %, 0
2026/11/22 12:45:00.507, 1, 00000000:86:00.0, 1005 MHz, 0x0000000000000044, 88, 251.00 W, 99 %, [N/A]
timestamp, index, pci.bus_id, clocks.current.sm [MHz], clocks_throttle_reasons.active, temperature.gpu, power.draw [W], utilization.gpu [%], ecc.errors.uncorrected.volatile.total
2026/11/22 12:45:01.500, 0, 00000000:3B:00.0, 1740 MHz, 0x0000000000000001, 61, 401.00 W, 100 %, 0
`

// at is a time of the day of the samples, UTC.
func at(text string) int64 {
	t, err := time.Parse("15:04:05.000", text)
	if err != nil {
		panic(err)
	}
	return t.AddDate(2026, 10, 21).UnixNano()
}

func series(t *health.Record, device int, q health.Quantity) []health.Reading {
	for _, s := range t.Series {
		if s.Device == device && s.Quantity == q {
			return s.Readings
		}
	}
	return nil
}

func TestTable(t *testing.T) {
	got, err := Read(strings.NewReader(smiTable), "h2.csv", Table, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		device int
		q      health.Quantity
		want   []health.Reading
	}{
		{"clock", 0, health.SMClock, []health.Reading{{At: at("12:45:00.500"), Value: 1755}, {At: at("12:45:01.500"), Value: 1740}}},
		{"throttled", 1, health.Throttled, []health.Reading{{At: at("12:45:00.507"), Value: 1}}},
		{"power cap", 1, health.PowerCapped, []health.Reading{{At: at("12:45:00.507"), Value: 1}}},
		{"idle is not throttled", 0, health.Throttled, []health.Reading{{At: at("12:45:00.500")}, {At: at("12:45:01.500")}}},
		{"percent", 0, health.Utilization, []health.Reading{{At: at("12:45:00.500"), Value: 0.98}, {At: at("12:45:01.500"), Value: 1}}},
		{"not available", 1, health.ECCUncorrected, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, series(got, c.device, c.q)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if want := []health.Bus{{Device: 0, Bus: 0x3b << 12}, {Device: 1, Bus: 0x86 << 12}}; !cmp.Equal(want, got.Buses) {
		t.Errorf("buses %v, expected %v", got.Buses, want)
	}
	if !got.Zoneless || len(got.Notes) != 0 {
		t.Errorf("zoneless %v, notes %v, expected stamps without a zone and none", got.Zoneless, got.Notes)
	}
}

func TestTableVariants(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	for _, c := range []struct {
		name, text string
		o          Options
		device     int
		q          health.Quantity
		want       health.Reading
	}{
		{"without units", "timestamp, uuid, clocks.sm\n2026/11/22 12:45:00.000, GPU-a, 1755\n2026/11/22 12:45:00.000, GPU-b, 1005\n", Options{}, 1, health.SMClock, health.Reading{At: at("12:45:00.000"), Value: 1005}},
		{"in a zone", "timestamp, index, clocks.sm\n2026/11/22 14:45:00.000, 0, 1755\n", Options{Zone: zone}, 0, health.SMClock, health.Reading{At: at("12:45:00.000"), Value: 1755}},
		{"epoch", "timestamp,gpu,DCGM_FI_DEV_GPU_TEMP\n1795351500.5,3,61\n", Options{}, 3, health.Temperature, health.Reading{At: at("12:45:00.500"), Value: 61}},
		{"by reason", "timestamp, index, clocks_event_reasons.hw_thermal_slowdown, clocks_event_reasons.sw_thermal_slowdown\n2026/11/22 12:45:00.000, 0, Not Active, Active\n", Options{}, 0, health.Throttled, health.Reading{At: at("12:45:00.000"), Value: 1}},
		{"without a time", "index, temperature.gpu\n2, 61\n", Options{}, 2, health.Temperature, health.Reading{Value: 61}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !Table.Recognises([]byte(c.text)) {
				t.Error("not recognised")
			}
			got, err := Read(strings.NewReader(c.text), "x.csv", Table, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]health.Reading{c.want}, series(got, c.device, c.q)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDamagedTable(t *testing.T) {
	for _, c := range []struct {
		name, text string
		kind       error
		notes      int
	}{
		{"cut in a row", smiTable + "2026/11/22 12:45:0", nil, 1},
		{"no reading", "timestamp, index, clocks.sm\n", input.ErrEmpty, 0},
		{"another table", "a, b\n1, 2\n", input.ErrFormat, 0},
		{"an index that is none", "timestamp, index, clocks.sm\n2026/11/22 12:45:00.000, x, 1\n2026/11/22 12:45:00.000, 0, 1\n", nil, 1},
		{"a time that is none", "timestamp, index, clocks.sm\nyesterday, 0, 1\n2026/11/22 12:45:00.000, 0, 1\n", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(c.text), "x.csv", Table, Options{})
			if !errors.Is(err, c.kind) {
				t.Fatalf("error %v, expected %v", err, c.kind)
			}
			if err == nil && len(got.Notes) != c.notes {
				t.Errorf("notes %v, expected %d", got.Notes, c.notes)
			}
		})
	}
}

func FuzzTable(f *testing.F) {
	f.Add(smiTable)
	f.Add("timestamp,gpu,DCGM_FI_DEV_GPU_TEMP\n1795351500.5,3,61\n")
	f.Fuzz(func(t *testing.T, text string) {
		Table.Recognises([]byte(text))
		got, err := Read(strings.NewReader(text), "x.csv", Table, Options{})
		if err == nil && len(got.Series) == 0 {
			t.Error("neither an error nor a reading")
		}
	})
}
