package detectors

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/health"
)

func fixture(t testing.TB, name string) string {
	b, err := os.ReadFile("../../fixtures/detectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func read(text string) (*health.Record, error) {
	return Read(strings.NewReader(text), "x", ingest.Limits{})
}

// What each tool says stands in the fixtures: a real summary of TraceML, and logs in the forms of the others.
func TestRead(t *testing.T) {
	for name, want := range map[string][]health.Event{
		"final_summary.json": {conclusion("TraceML says INPUT STRAGGLER: r2 waited 62.6 ms for input, compared with 0.2 ms on r3.", "vm", 2)},
		"megatron.log": {conclusion("Megatron's straggler detector: rank 2 takes longest for its passes in 2 of 2 reports, 4268.2 ms against 3453.1 ms", "", 2),
			conclusion("Megatron's straggler detector: rank 2 has the lowest throughput in 2 of 2 reports, 239.9 TF against 297.1 TF", "", 2),
			conclusion("Megatron's straggler detector: rank 2 has the lowest GPU clock in 2 of 2 reports, 1605.0 MHz against 1980.0 MHz", "", 2)},
		"nvrx.log":      {conclusion("NVRx: relative GPU performance of rank 2 scores 0.62, the best rank 0.99 (1: as fast as can be; reports: 1)", "n0", 2)},
		"deepspeed.log": {conclusion("DeepSpeed's comms logger: the rank that logs (0) spent 6402.1 ms in reduce_scatter_tensor of 678.86 MB (calls: 80), and 3200.2 ms more waiting for others there", "")},
	} {
		t.Run(name, func(t *testing.T) {
			text := fixture(t, name)
			if !Recognise([]byte(text)) {
				t.Error("not recognised")
			}
			got, err := read(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Events); diff != "" {
				t.Errorf("want −, got +:\n%s", diff)
			}
		})
	}
}

// Least and most exist in every report: without a difference that matters, or where they change, nothing is concluded.
func TestAlike(t *testing.T) {
	text := fixture(t, "megatron.log")
	for name, alike := range map[string]string{
		"small":    strings.NewReplacer("4268.20ms", "3468.20ms", "4270.00ms", "3470.00ms", "1605MHz", "1950MHz", "240.02TF", "296.02TF", "239.90TF", "296.00TF").Replace(text),
		"changing": strings.NewReplacer("4268.20ms/2", "4268.20ms/3", "1605MHz/2 | MxClk/Rnk: 1980MHz/0 | MnDRtt/Rnk: 14.27ms/23 | MxDRtt/Rnk: 34.65ms/3 | MnEtpt/Rnk: 240.02TF/2", "1605MHz/4 | MxClk/Rnk: 1980MHz/0 | MnDRtt/Rnk: 14.27ms/23 | MxDRtt/Rnk: 34.65ms/3 | MnEtpt/Rnk: 240.02TF/4").Replace(text),
	} {
		if got, err := read(alike); err != nil || len(got.Events) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestDamage(t *testing.T) {
	whole := fixture(t, "final_summary.json")
	for name, c := range map[string]struct{ text, want string }{
		"cut":          {whole[:len(whole)/2], "x@byte "},
		"no diagnosis": {`{"schema_version": 1.9}`, "without primary_diagnosis: write it with TraceML"},
		"another log":  {"step 1\nstep 2\n", "x:2: no report of"},
	} {
		if _, err := read(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
	for _, other := range []string{"", "{}", "GPU performance: good", "Comm. Op\n", "Rank=3 Node=n Score=0.1"} {
		if Recognise([]byte(other)) {
			t.Errorf("%q is taken for a report", other)
		}
	}
}

// Whatever stands in a file: no panic, and events are what a tool says.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"final_summary.json", "megatron.log", "nvrx.log", "deepspeed.log"} {
		f.Add(fixture(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := read(text)
		if err != nil {
			return
		}
		for _, e := range got.Events {
			if e.Kind != health.ToolReport || e.Text == "" {
				t.Errorf("%+v", e)
			}
		}
	})
}

// In what GPUs differ over the readings of a monitor: one that idles while most work, and one with a lower clock; else nothing is said to differ.
func TestMonitored(t *testing.T) {
	type gpu struct{ percent, clock float64 }
	for name, c := range map[string]struct {
		gpus []gpu
		want string
	}{
		"alike":         {[]gpu{{99, 1410}, {98, 1400}, {100, 1405}}, "3 GPUs do much the same (98 to 100 % of the time)"},
		"one idles":     {[]gpu{{99, 1410}, {98, 1410}, {2, 1410}}, "GPU 2 computes 2 % of the time, 2 others 90 % or more"},
		"a lower clock": {[]gpu{{99, 1410}, {98, 705}, {100, 1410}}, "GPU 1 runs at 705 MHz, the others that compute at 1410 MHz"},
		"an idle one's": {[]gpu{{99, 1410}, {98, 1410}, {50, 210}}, "3 GPUs do much the same"},
		"two of two":    {[]gpu{{5, 0}, {99, 0}}, "2 GPUs do much the same"},
		"a clock alone": {[]gpu{{-1, 1410}}, ""},
	} {
		r := &health.Record{}
		for i, g := range c.gpus {
			busy, clock := health.Series{Device: i, Quantity: health.Utilization}, health.Series{Device: i, Quantity: health.SMClock}
			for n := range 5 {
				if g.percent >= 0 {
					busy.Readings = append(busy.Readings, health.Reading{Value: (g.percent + float64(n%2)/4) / 100})
				}
				clock.Readings = append(clock.Readings, health.Reading{Value: g.clock})
			}
			r.Series = append(r.Series, busy, clock)
		}
		if got := strings.Join(ConcludeReadings(r), "; "); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
