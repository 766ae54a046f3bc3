package telemetry

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

const dcgmLines = `#Entity         SMCLK             TMPTR             POWER             NVLTX
ID                                                                                  
GPU 0           1755              61                402.103           1234
GPU 1           1005              88                251.500           N/A
GPU-I 0         1755              N/A               N/A               N/A
#Entity         SMCLK             TMPTR             POWER             NVLTX
ID                                                                                  
GPU 0           1740              62                401.000           1234
`

const smiLines = `#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk 
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %    MHz    MHz 
 20261122   12:45:00      0    402     61     58     99     40   1593   1755 
 20261122   12:45:00      1    251     88      -     99     40   1593   1005 
`

func TestLines(t *testing.T) {
	const at = 1795351500e9
	for _, c := range []struct {
		name, text string
		device     int
		q          health.Quantity
		want       []health.Reading
	}{
		{"dcgmi", dcgmLines, 0, health.SMClock, []health.Reading{{Value: 1755}, {Value: 1740}}},
		{"dcgmi power", dcgmLines, 1, health.Power, []health.Reading{{Value: 251.5}}},
		{"dcgmi with ts before each line", "2026-11-22T12:45:00Z " + strings.ReplaceAll(strings.TrimSpace(dcgmLines), "\n", "\n2026-11-22T12:45:00Z "), 1, health.Temperature, []health.Reading{{At: at, Value: 88}}},
		{"dcgmi with seconds before each line", "1795351500 " + strings.ReplaceAll(strings.TrimSpace(dcgmLines), "\n", "\n1795351500 "), 1, health.Temperature, []health.Reading{{At: at, Value: 88}}},
		{"nvidia-smi", smiLines, 1, health.SMClock, []health.Reading{{At: at, Value: 1005}}},
		{"nvidia-smi, none", smiLines, 1, health.MemoryTemperature, nil},
		{"nvidia-smi, a time of day", "#Time        gpu    pwr     sm   pclk\n#HH:MM:SS    Idx      W      %    MHz\n 10:00:01      0    301    100   1410\n 10:00:01      1    305    100    600\n", 1, health.SMClock, []health.Reading{{Value: 600}}},
		{"nvidia-smi, commas", "#Date, Time, gpu, pwr, mtemp, sm, pclk\n#YYYYMMDD, HH:MM:SS, Idx, W, C, %, MHz\n20261122, 12:45:00, 0, 301, -, 100, 1410\n20261122, 12:45:00, 1, 80, -, 3, 600\n", 1, health.Power, []health.Reading{{At: at, Value: 80}}},
		{"nvidia-smi busy", smiLines, 0, health.Utilization, []health.Reading{{At: at, Value: 0.99}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !Lines.Recognises([]byte(c.text)) {
				t.Error("not recognised")
			}
			got, err := Read(strings.NewReader(c.text), "x.txt", Lines, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var readings []health.Reading
			for _, s := range got.Series {
				if s.Device == c.device && s.Quantity == c.q {
					readings = s.Readings
				}
			}
			if diff := cmp.Diff(c.want, readings); diff != "" {
				t.Error(diff)
			}
			if len(got.Notes) > 0 {
				t.Errorf("notes %v, expected none", got.Notes)
			}
		})
	}
}

func TestDamagedLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		kind       error
		notes      int
	}{
		{"a line cut short", dcgmLines + "GPU 1   100", nil, 1},
		{"a header alone", "#Entity SMCLK\nID\n", input.ErrEmpty, 0},
		{"nothing known", "#Entity NVLTX\nID\nGPU 0 12\n", input.ErrEmpty, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(c.text), "x.txt", Lines, Options{})
			if !errors.Is(err, c.kind) {
				t.Fatalf("error %v, expected %v", err, c.kind)
			}
			if err == nil && len(got.Notes) != c.notes {
				t.Errorf("notes %v, expected %d", got.Notes, c.notes)
			}
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add(dcgmLines)
	f.Add(smiLines)
	f.Fuzz(func(t *testing.T, text string) {
		Lines.Recognises([]byte(text))
		got, err := Read(strings.NewReader(text), "x.txt", Lines, Options{})
		if err == nil && len(got.Series) == 0 {
			t.Error("neither an error nor a reading")
		}
	})
}
