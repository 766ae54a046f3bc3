package simulate

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
	"go.yaml.in/yaml/v3"
)

// TestSpecErrors: what cannot be run is refused, with the words that a person
// needs to find it.
func TestSpecErrors(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*Spec)
		kind  error
		says  string
	}{
		{"no ranks", func(s *Spec) { s.Ranks = 0 }, input.ErrTooLarge, "0 ranks"},
		{"too many ranks", func(s *Spec) { s.Ranks = trace.MaxRanks + 1 }, input.ErrTooLarge, "ranks"},
		{"no host", func(s *Spec) { s.RanksPerHost = 0 }, input.ErrFormat, "per host"},
		{"no steps", func(s *Spec) { s.Schedule.Steps = 0 }, input.ErrFormat, "one step"},
		{"negative gap", func(s *Spec) { s.Schedule.Gap = -1 }, input.ErrFormat, "gap -1"},
		{"endless", func(s *Spec) { s.Schedule.Windows = 1 << 28 }, input.ErrTooLarge, "steps"},
		{"huge window", func(s *Spec) { s.Ranks, s.Schedule.Steps = 1<<20, 1<<12 }, input.ErrTooLarge, "shorter windows"},
		{"accumulation", func(s *Spec) { s.Accumulation = math.MaxInt }, input.ErrTooLarge, "accumulation"},
		{"no stages", func(s *Spec) { s.Stages = nil }, input.ErrEmpty, "stages"},
		{"stage twice", func(s *Spec) { s.Stages[1].Name = StageData }, input.ErrDuplicate, StageData},
		{"residual", func(s *Spec) { s.Stages[1].Name = stagename.Residual }, input.ErrDuplicate, "derived"},
		{"split microsteps", func(s *Spec) { s.Accumulation, s.Stages[1].PerMicrostep = 2, false }, input.ErrFormat, "together"},
		{"NaN work", func(s *Spec) { s.Stages[2].Work.Mean = Millis(math.NaN()) }, input.ErrRange, StageBackward},
		{"overlap", func(s *Spec) { s.Stages[2].SyncPoints = []SyncPoint{{Overlap: 1.5}} }, input.ErrRange, "overlap is 1.5"},
		{"stall", func(s *Spec) { s.Stages[2].SyncPoints = []SyncPoint{{Stall: hangs{Probability: 2}}} }, input.ErrRange, "stall is 2"},
		{"axis unknown", func(s *Spec) { s.Stages[2].SyncPoints = []SyncPoint{{Across: []string{"tp"}}} }, input.ErrMissing, `"tp"`},
		{"loader", func(s *Spec) { s.Stages[0].Loader = &loaderSpec{} }, input.ErrTooLarge, "depth 0"},
		{"layout product", func(s *Spec) { s.Layout = []Axis{{"dp", 3}} }, input.ErrFormat, "8 ranks"},
		{"layout twice", func(s *Spec) { s.Layout = []Axis{{"dp", 2}, {"dp", 4}} }, input.ErrDuplicate, `"dp"`},
		{"layout empty axis", func(s *Spec) { s.Layout = []Axis{{"", 8}} }, input.ErrFormat, "axis 0"},
		{"speed", func(s *Spec) { s.Noise.SpeedSD = -1 }, input.ErrRange, "speed"},
		{"drift", func(s *Spec) { s.Noise.Drift.Steps = math.Inf(1) }, input.ErrRange, "drift"},
		{"spikes", func(s *Spec) { s.Noise.Spikes.Probability = 3 }, input.ErrRange, "spikes"},
		{"clock", func(s *Spec) { s.Clock.DriftPPM = 1e6 }, input.ErrRange, "ppm"},
		{"side", func(s *Spec) { s.Side.Unready = 2 }, input.ErrRange, "unready of side"},
		{"factor", func(s *Spec) { s.Work = []WorkFactor{{Factor: -1}} }, input.ErrRange, "work 0 is -1"},
		{"factor axis", func(s *Spec) { s.Work = []WorkFactor{{Factor: 1, Where: map[string]int{"pp": 0}}} }, input.ErrMissing, "pp=0"},
		{"factor rank", func(s *Spec) { s.Work = []WorkFactor{{Factor: 1, Ranks: []int{8}}} }, input.ErrTooLarge, "rank 8"},
		{"factor stage", func(s *Spec) { s.Work = []WorkFactor{{Factor: 1, Stages: []string{"x"}}} }, input.ErrMissing, `"x"`},
		{"hidden rank", func(s *Spec) { s.Faults = []Fault{{Family: Data, Ranks: []int{8}}} }, input.ErrTooLarge, "world of 8"},
		{"hidden twice", func(s *Spec) { s.Faults = []Fault{{Family: Data, Ranks: []int{1, 1}}} }, input.ErrDuplicate, "[1 1]"},
		{"delay", func(s *Spec) { s.Faults = []Fault{{Family: Data, Delay: -1}} }, input.ErrRange, "delay_ms is -1"},
		{"fault window", func(s *Spec) { s.Faults = []Fault{{Family: Data, Windows: []int{1}}} }, input.ErrTooLarge, "window 1 of 1"},
		{"fault period", func(s *Spec) { s.Faults = []Fault{{Family: Data, When: When{Every: -2}}} }, input.ErrNegative, "every -2"},
		{"fault chance", func(s *Spec) { s.Faults = []Fault{{Family: Data, When: When{Probability: 2}}} }, input.ErrRange, "probability is 2"},
		{"fault stage", func(s *Spec) { s.Faults = []Fault{{Family: Data, Stage: "x"}} }, input.ErrMissing, `"x"`},
		{"fault in no device", func(s *Spec) { s.Faults = []Fault{{Family: ForwardDevice, Stage: StageData}} }, input.ErrMissing, "device"},
		{"fault without a synchronisation point", func(s *Spec) { s.Faults = []Fault{{Family: BackwardComm, Stage: StageData}} }, input.ErrMissing, "transfer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := DefaultSpec()
			test.spoil(&s)
			err := s.Validate()
			if !errors.Is(err, test.kind) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %v that says %q", err, test.kind, test.says)
			}
			if _, again := New(s); again == nil {
				t.Error("New accepts what Validate refuses")
			}
		})
	}
}

// TestSpecIsNotChanged: New resolves defaults in a copy.
func TestSpecIsNotChanged(t *testing.T) {
	spec := func() Spec {
		s := DefaultSpec()
		s.Faults = []Fault{{Family: NoFault}, {Family: CallbackSync, Ranks: []int{5, 1}, Delay: 10}, {Family: Data}}
		return s
	}
	s := spec()
	if _, err := New(s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec(), s); diff != "" {
		t.Errorf("New changed its argument (-before +after):\n%s", diff)
	}
}

func TestParseSpec(t *testing.T) {
	const text = `
run: two-culprits
ranks: 16
layout: [{axis: tp, size: 2}, {axis: dp, size: 8}]
schedule: {windows: 3, steps: 30, gap: 4}   # warm-up stays 20
faults:
  - {family: data, ranks: [3], delay_ms: 120, every: 10}
  - {family: forward_host, delay_ms: 30.5, windows: [1]}
`
	got, err := ParseSpec("two.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultSpec()
	want.Run, want.Ranks = "two-culprits", 16
	want.Layout = []Axis{{"tp", 2}, {"dp", 8}}
	want.Schedule = Schedule{Windows: 3, Steps: 30, Warmup: 20, Gap: 4}
	want.Faults = []Fault{{Family: Data, Ranks: []int{3}, Delay: 120, When: When{Every: 10}}, {Family: ForwardHost, Delay: 30.5, Windows: []int{1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	for _, bad := range []struct{ text, says string }{
		{"ranks: 8\nrnaks: 9\n", "two.yaml:2: there is no rnaks here"},
		{"ranks: many\n", "two.yaml:1: "},
		{"ranks: 8\n---\nranks: 9\n", "more than one YAML document"},
		{"ranks: -3\n", "-3 ranks"},
		{"stages: [{name: a, work: {mean_ms: 1, shape: cauchy}}]\n", "cauchy"},
		{"faults: [{family: gremlins}]\n", "gremlins"},
		{"\t", "two.yaml"},
	} {
		_, err := ParseSpec("two.yaml", []byte(bad.text))
		if err == nil || !strings.Contains(err.Error(), bad.says) || !strings.HasPrefix(err.Error(), "two.yaml:") {
			t.Errorf("%q: error is %v, want one that names two.yaml and %q", bad.text, err, bad.says)
		}
	}
	if got, err := ParseSpec("empty", nil); err != nil || !cmp.Equal(got, DefaultSpec()) {
		t.Errorf("an empty spec is %+v, %v, want the defaults", got, err)
	}
}

// TestSpecRoundTrip: a spec written as YAML or JSON reads back as it was.
func TestSpecRoundTrip(t *testing.T) {
	for name, want := range map[string]Spec{"default": DefaultSpec(), "busy": busy(64)} {
		for format, marshal := range map[string]func(any) ([]byte, error){"yaml": yaml.Marshal, "json": json.Marshal} {
			text, err := marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseSpec(name, text)
			if err != nil {
				t.Fatalf("%s: %v\n%s", format, err, text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", format, diff)
			}
		}
	}
}

// FuzzParseSpec: no text makes the reader panic or hang, and what it accepts
// can be written and read again.
func FuzzParseSpec(f *testing.F) {
	text, err := yaml.Marshal(busy(8))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("ranks: 4\nfaults: [{family: data, delay_ms: 3}]\n"))
	f.Add([]byte(`{"ranks": 2, "layout": [{"axis": "tp", "size": 2}]}`))
	f.Add([]byte("accumulation: 99999999999\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSpec("fuzz", text)
		if err != nil {
			return
		}
		again, err := json.Marshal(s) // YAML as written by its library does not always read back
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseSpec("again", again); err != nil {
			t.Errorf("a valid spec is refused when read again: %v\n%s", err, again)
		}
	})
}
