package pipeline

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace/input"
)

func TestParseSpec(t *testing.T) {
	const text = `
seed: 9
layout: {dp: 8, pp: 2, vpp: 2, microbatches: 16, early_reduce: true}
steps: {count: 100, first: 20, every: 5}
ops:
  forward-compute: {mean_ms: 20, jitter: 0.05}
  gc: {launch: {mean_ms: 3}}
stage_work: [1, 1.2]
clock: {skew_sd_ms: 1, running: true}
faults:
  - {kind: slow-worker, dp: 3, pp: 0, op: backward-compute, factor: 1.3, from: 50}
  - {kind: late-start, delay_ms: 120, probability: 0.1}
`
	got, err := ParseSpec("job.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultSpec()
	want.Seed = 9
	want.Layout = Layout{DP: 8, PP: 2, TP: 4, Chunks: 2, Microbatches: 16, Buckets: 1, EarlyReduce: true}
	want.Steps = Steps{100, 20, 5}
	want.Ops.Forward.Mean, want.Ops.Forward.Jitter = 20, 0.05
	want.Ops.Collect.Launch.Mean = 3
	want.StageWork = []float64{1, 1.2}
	want.Clock = Clock{simulate.Clock{SkewSD: 1}, true}
	want.Faults = []Fault{
		{Kind: SlowWorker, Where: Where{DP: new(3), PP: new(0), Op: "backward-compute"}, Size: Size{Factor: 1.3}, When: When{From: 50}},
		{Kind: LateStart, Size: Size{Delay: 120}, When: When{Probability: 0.1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := ParseSpec("empty", nil); err != nil || !cmp.Equal(got, DefaultSpec()) {
		t.Errorf("an empty spec is not the default: %v", err)
	}
	again, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseSpec("again", again); err != nil || !cmp.Equal(back, want) {
		t.Errorf("written as YAML it does not read back: %v\n%s", err, cmp.Diff(want, back))
	}
}

// TestDocumentedSpec: the specification that the page shows is one, and JSON
// will do as well.
func TestDocumentedSpec(t *testing.T) {
	page, err := os.ReadFile("../../../docs/campaign.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## Simulated operator traces\n")
	_, text, ok := strings.Cut(text, "```yaml\n")
	text, _, ok2 := strings.Cut(text, "```")
	if !ok || !ok2 {
		t.Fatal("the page shows no specification")
	}
	s, err := ParseSpec("docs/campaign.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if s.Layout.DP != 8 || len(s.Faults) != 2 || s.Faults[0].Sigma != 8 {
		t.Errorf("read as %+v", s)
	}
	asJSON, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseSpec("json", asJSON); err != nil || !cmp.Equal(back, s) {
		t.Errorf("as JSON it reads back differently: %v\n%s", err, cmp.Diff(s, back))
	}
}

func TestSpecErrors(t *testing.T) {
	fault := func(f Fault) func(*Spec) { return func(s *Spec) { s.Faults = []Fault{f} } }
	delay := Size{Delay: 1}
	tests := []struct {
		change func(*Spec)
		kind   error
		says   string
	}{
		{func(s *Spec) { s.Layout.DP = 0 }, input.ErrTooLarge, "dp is 0"},
		{func(s *Spec) { s.Layout.PP = 1 << 30 }, input.ErrTooLarge, "pp is"},
		{func(s *Spec) { s.Layout.DP, s.Layout.TP = 1<<15, 1<<15 }, input.ErrTooLarge, "dp × pp × tp"},
		{func(s *Spec) { s.Layout.Microbatches = 1 << 20 }, input.ErrTooLarge, "operators a step"},
		{func(s *Spec) { s.Layout.Chunks, s.Layout.Microbatches = 1<<20, 1<<20 }, input.ErrTooLarge, "passes each way"},
		{func(s *Spec) { s.Layout.DP, s.Layout.Microbatches = 1<<15, 1000 }, input.ErrTooLarge, "operators a step"},
		{func(s *Spec) { s.Layout.Chunks, s.Layout.Microbatches = 2, 30 }, input.ErrFormat, "multiples of the stages"},
		{func(s *Spec) { s.Layout.PP, s.Layout.Chunks = 1, 2 }, input.ErrFormat, "two stages or more"},
		{func(s *Spec) { s.Steps.Count = 0 }, input.ErrFormat, "0 steps"},
		{func(s *Spec) { s.Steps.Every = 0 }, input.ErrFormat, "every 0"},
		{func(s *Spec) { s.Steps.Every = math.MaxInt64 }, input.ErrTooLarge, "step indices"},
		{func(s *Spec) { s.Steps.Count, s.Steps.Every = math.MaxInt, 2 }, input.ErrTooLarge, "step indices"},
		{func(s *Spec) { s.Ops.Clip.Mean = -1 }, input.ErrRange, "optimizer-clip-main-grad: mean_ms is -1"},
		{func(s *Spec) { s.Ops.Gather.Launch.Jitter = math.NaN() }, input.ErrRange, "params-all-gather"},
		{func(s *Spec) { s.Between.Mean = Millis(math.Inf(1)) }, input.ErrRange, "between"},
		{func(s *Spec) { s.StageWork = []float64{1, 2} }, input.ErrRagged, "2 factors"},
		{func(s *Spec) { s.StageWork = []float64{1, 2, 3, -1} }, input.ErrRange, "stage 3"},
		{func(s *Spec) { s.SpeedSD = 2 }, input.ErrRange, "speed"},
		{func(s *Spec) { s.Clock.SkewSD = Millis(math.NaN()) }, input.ErrRange, "skew"},
		{func(s *Spec) { s.Clock.DriftPPM = 1e6 }, input.ErrRange, "drift"},
		{fault(Fault{Kind: SlowWorker}), input.ErrFormat, "expected one of them"},
		{fault(Fault{Kind: SlowWorker, Size: Size{Delay: 1, Sigma: 2}}), input.ErrFormat, "fault 0 (slow-worker)"},
		{fault(Fault{Kind: SlowWorker, Size: Size{Factor: 0.5}}), input.ErrRange, "factor is 0.5"},
		{fault(Fault{Kind: SlowWorker, Size: Size{Sigma: math.NaN()}}), input.ErrRange, "sigma is NaN"},
		{fault(Fault{Kind: SlowWorker, Size: Size{Delay: -1}}), input.ErrRange, "delay_ms is -1"},
		{fault(Fault{Kind: 77, Size: delay}), input.ErrType, "unknown kind"},
		{fault(Fault{Kind: SlowWorker, Where: Where{Op: "grads-reduce-scatter"}, Size: delay}), input.ErrType, "cannot slow down"},
		{fault(Fault{Kind: SlowWorker, Where: Where{Op: "matmul"}, Size: delay}), input.ErrType, "matmul"},
		{fault(Fault{Kind: SlowWorker, Where: Where{Op: "other"}, Size: delay}), input.ErrType, "other"},
		{fault(Fault{Kind: SlowEdge, Where: Where{Op: "forward-recv"}, Size: delay}), input.ErrType, "forward-recv"},
		{fault(Fault{Kind: SlowGroup, Where: Where{Op: "optimizer-clip-main-grad"}, Size: delay}), input.ErrType, "clip"},
		{fault(Fault{Kind: SlowGroup, Where: Where{DP: new(1)}, Size: delay}), input.ErrFormat, "leave out dp"},
		{fault(Fault{Kind: SlowGroup, Where: Where{Op: "separate-grads-all-reduce"}, Size: delay}), input.ErrMissing, "no stage has"},
		{fault(Fault{Kind: SlowEdge, Where: Where{PP: new(3)}, Size: delay}), input.ErrMissing, "stages [0 1 2] have"},
		{fault(Fault{Kind: SlowEdge, Where: Where{PP: new(-1)}, Size: delay}), input.ErrMissing, "stage -1"},
		{fault(Fault{Kind: SlowWorker, Where: Where{DP: new(4)}, Size: delay}), input.ErrTooLarge, "dp is 4"},
		{fault(Fault{Kind: SlowOp, Where: Where{Seq: new(32)}, Size: delay}), input.ErrMissing, "it has 32"},
		{fault(Fault{Kind: Workload, Where: Where{PP: new(1)}, Size: Size{Factor: 2}}), input.ErrFormat, "no such place"},
		{fault(Fault{Kind: Workload, Size: delay}), input.ErrFormat, "expected a factor"},
		{fault(Fault{Kind: Workload, Size: Size{Factor: 2}, Shared: 1.5}), input.ErrRange, "shared is 1.5"},
		{fault(Fault{Kind: SlowOp, Size: delay, Shared: 0.5}), input.ErrRange, "shared 0.5"},
		{fault(Fault{Kind: SlowOp, Size: delay, When: When{From: -1}}), input.ErrNegative, "from -1"},
		{fault(Fault{Kind: SlowOp, Size: delay, When: When{Probability: 1.1}}), input.ErrRange, "probability"},
		{func(s *Spec) {
			s.Ops.Collect.Dist = Dist{}
			s.Faults = []Fault{{Kind: SlowWorker, Where: Where{Op: "gc"}, Size: Size{Factor: 3}}}
		}, input.ErrFormat, "give the size as delay_ms"},
	}
	for _, test := range tests {
		s := DefaultSpec()
		test.change(&s)
		err := s.Validate()
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("error is %v, want %v that says %q", err, test.kind, test.says)
		}
		if _, newErr := newGenerator(s); (newErr == nil) != (err == nil) {
			t.Errorf("New says %v, Validate %v", newErr, err)
		}
	}
	for _, text := range []string{"faults: [{kind: gremlins}]", "layout: {dp: x}", "speed: 3", "faults: 3", "[", "\xff"} {
		if _, err := ParseSpec("job.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "job.yaml") {
			t.Errorf("%q: %v, want an error that names the file", text, err)
		}
	}
}

// TestAbsurdlyLong: steps whose time could not be held are refused, not
// wrapped around.
func TestAbsurdlyLong(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"operators": func(s *Spec) { s.Ops.Forward.Mean = maxMillis },
		"one jump": func(s *Spec) { // of many operators one is that long
			s.Layout.DP = 64
			s.Ops.Forward.Jitter, s.Ops.Backward.Jitter, s.Ops.Backward.Mean = maxJitter, maxJitter, maxMillis
		},
		"steps": func(s *Spec) { s.Steps.Every = maxSteps / 10 },
		"a path": func(s *Spec) { // 10¹⁹ ns
			s.Layout, s.Ops.Forward.Mean, s.Steps.Count = layout(1, 1, 100_000), maxMillis, 1
		},
		"delays": func(s *Spec) {
			s.Faults = []Fault{{Kind: LateStart, Where: Where{Op: "gc"}, Size: Size{Delay: maxMillis}}}
			s.Steps.Count = 2000
			s.Layout = layout(2, 8, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := DefaultSpec()
			s.Layout.DP, s.Layout.PP, s.Layout.Microbatches = 2, 16, 64
			s.Steps.Count = 5
			change(&s)
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Make(s); !errors.Is(err, input.ErrOverflow) {
				t.Errorf("error is %v, want an overflow", err)
			}
		})
	}
}

// FuzzParseSpec: whatever the text, it is refused or makes a job that runs.
func FuzzParseSpec(f *testing.F) {
	f.Add([]byte("layout: {dp: 2, pp: 2, microbatches: 2}\nfaults: [{kind: slow-edge, delay_ms: 3}]\n"))
	f.Add([]byte("layout: {dp: 1, pp: 2, vpp: 2, microbatches: 4}\nfaults: [{kind: workload, factor: 1.5, shared: 0.2}, {kind: slow-op, sigma: 3, every: 2}]\n"))
	f.Add([]byte("steps: {count: 3, every: 1000000}\nbetween: {mean_ms: 1e8, jitter: 100}\nclock: {skew_sd_ms: 1e8, drift_ppm: 1e5, running: true}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSpec("fuzz", text)
		if err != nil || s.Layout.Microbatches*s.Layout.Chunks*s.Layout.Workers() > 1<<12 || s.Layout.Buckets*s.Layout.Chunks > 1<<10 {
			return
		}
		s.Steps.Count = min(s.Steps.Count, 2)
		if _, _, err := Make(s); err != nil && !errors.Is(err, input.ErrOverflow) {
			t.Fatal(err)
		}
	})
}
