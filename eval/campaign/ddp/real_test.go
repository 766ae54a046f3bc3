package ddp

import (
	"errors"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

// needTorch skips a test where no interpreter has PyTorch.
func needTorch(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("real DDP jobs take seconds")
	}
	out, err := exec.CommandContext(t.Context(), Python(), "-c", "import torch.distributed").CombinedOutput()
	if err != nil {
		t.Skipf("no PyTorch: real DDP jobs did not run; SFSTAT_PYTHON names an interpreter that has it (%s: %v %.200s)", Python(), err, out)
	}
}

// short is a run with steps of about 20 ms.
func short(t *testing.T, yaml string) *campaign.Task {
	t.Helper()
	s, err := simulate.ParseSpec("spec", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Stages {
		for _, d := range []*simulate.Dist{&s.Stages[i].Work, &s.Stages[i].Device} {
			d.Mean, d.SD = d.Mean/10, d.SD/10
		}
	}
	return &campaign.Task{ID: "job", Spec: s}
}

// made are the windows of a run, and the folder of its campaign.
func made(t *testing.T, task *campaign.Task) (got []*trace.Window, dir string) {
	t.Helper()
	dir = t.TempDir()
	err := Maker{Dir: dir}.Make(t.Context(), task, func(w *trace.Window) error {
		got = append(got, w)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, dir
}

func windows(t *testing.T, dir string) []*trace.Window {
	t.Helper()
	in, err := auto.Open([]string{dir}, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out []*trace.Window
	for {
		item, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, item.Windows...)
	}
}

// TestRealJob: accumulation, gaps, roles and the event channel through real
// processes, and packets that say so.
func TestRealJob(t *testing.T) {
	needTorch(t)
	s := short(t, `
ranks: 4
accumulation: 2
layout: [{axis: dp, size: 2}, {axis: pp, size: 2}]
schedule: {windows: 2, steps: 8, warmup: 2, gap: 3}
side: {every: 2}
faults: [{family: forward_device, delay_ms: 40, windows: [1], ranks: [3]}, {family: callback_sync, delay_ms: 5, ranks: [2]}, {family: backward_comm, delay_ms: 1, ranks: [0]}]`)
	got, _ := made(t, s)
	if len(got) != 2 {
		t.Fatalf("%d windows, expected 2", len(got))
	}
	for i, w := range got {
		checkRealWindow(t, w, int64(2+i*11))
	}
	// Two microsteps, each 3 ms of device work and half of the delay.
	for i, want := range []float64{6, 46} {
		if got := deviceTime(got[i], 3); got < want || got > want+3 {
			t.Errorf("window %d: the device of rank 3 takes at least %v ms in a step, expected %v", i, got, want)
		}
	}
	if took := forwardAndBackward(got[1], 3); took < 46e6 {
		t.Errorf("forward and backward of rank 3 take %v ns when its device takes 46 ms", took)
	}
}

func checkRealWindow(t *testing.T, w *trace.Window, first int64) {
	t.Helper()
	if w.FirstStep != first || w.Steps() != 8 || len(w.Ranks) != 4 || w.Accumulation != 2 {
		t.Errorf("window of %d ranks, %d steps from %d, accumulation %d", len(w.Ranks), w.Steps(), w.FirstStep, w.Accumulation)
	}
	if role := w.Ranks[2].Role.String(); !strings.Contains(role, "dp=0") || !strings.Contains(role, "pp=1") {
		t.Errorf("rank 2 is %s, expected dp=0 pp=1", role)
	}
	if len(w.Side) != 1 || w.Side[0].Name != "model.fwd_loss_cuda_event_ms" {
		t.Errorf("side channels %v, expected that of forward", w.Side)
	}
	if len(w.Notes) > 0 {
		t.Errorf("notes %v, expected none", w.Notes)
	}
}

// deviceTime is the shortest sample of a rank, in milliseconds.
func deviceTime(w *trace.Window, rank int) float64 {
	least := math.Inf(1)
	for _, sample := range w.Side[0].Samples {
		if sample.Rank == rank && sample.Ready {
			least = min(least, sample.Value)
		}
	}
	return least
}

// forwardAndBackward is the least that a rank spends there in a step, ns:
// device work begins with the one and is awaited in the other.
func forwardAndBackward(w *trace.Window, rank int) int64 {
	least := int64(math.MaxInt64)
	for step := range w.Steps() {
		var sum int64
		for i, name := range w.Schema.Stages {
			if strings.HasPrefix(name, simulate.StageForward) || strings.HasPrefix(name, simulate.StageBackward) {
				sum += w.Step(step)[i*len(w.Ranks)+rank]
			}
		}
		least = min(least, sum)
	}
	return least
}

// TestRealProfile: PyTorch's profiler beside the recorder tells the same of the
// steps, of the same numbers, and of the stages.
func TestRealProfile(t *testing.T) {
	needTorch(t)
	s := short(t, `
ranks: 2
schedule: {windows: 1, steps: 6, warmup: 2}
faults: [{family: data, delay_ms: 60, ranks: [1]}]`)
	s.Profiler = campaign.PyTorch
	packets, dir := made(t, s)
	c, err := crosscheck.Compare([]crosscheck.Source{{Name: "packets", Windows: packets}, {Name: "pytorch", Windows: windows(t, s.ProfileFolder(dir))}}, crosscheck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Accounts[1].Held; c.Steps != 6 || len(c.Ranks) != 2 || !h.SameRouting || h.Difference > 0.05 {
		t.Errorf("%d steps of ranks %v, %+v", c.Steps, c.Ranks, *h)
	}
}

// TestRealArms: each window is carried out under every arm, recorded once by each with the
// recorder, and what the arms took is told of all but the warm-up.
func TestRealArms(t *testing.T) {
	needTorch(t)
	s := short(t, "{run: job, ranks: 2, schedule: {windows: 3, steps: 5, warmup: 1}, side: {every: 1}}")
	s.Arms = []campaign.Arm{campaign.Off, campaign.Wall, campaign.Events}
	got, dir := made(t, s)
	if len(got) != 3 || got[2].FirstStep != 11 || got[2].Steps() != 5 || len(got[2].Side) > 0 {
		t.Errorf("%d windows, the last of %d steps from %d", len(got), got[len(got)-1].Steps(), got[len(got)-1].FirstStep)
	}
	if events := windows(t, filepath.Join(dir, campaign.PacketsName, s.ID, "events")); len(events) != 3 || len(events[2].Side) != 1 {
		t.Errorf("%d windows of arm events, expected 3 with a side channel", len(events))
	}
	rounds, err := s.Rounds(nil, dir)
	if err != nil || len(rounds) != 4 {
		t.Fatalf("%+v, %v, expected two arms of two rounds", rounds, err)
	}
	for i, r := range rounds {
		if want := []campaign.Arm{campaign.Wall, campaign.Events}[i%2]; r.Arm != want || r.Number != 1+i/2 || r.Run != s.Spec.Run {
			t.Errorf("row %d is arm %v of round %d, expected %v of %d", i, r.Arm, r.Number, want, 1+i/2)
		}
		if r.Base.Place == r.With.Place || r.Base.Wall < 15e6 || r.With.Wall < 15e6 { // what the steps sleep at the least
			t.Errorf("a step of %v and %v ns, in places %d and %d", r.Base.Wall, r.With.Wall, r.Base.Place, r.With.Place)
		}
		if r.With.Thread <= 0 || r.With.Process < r.With.Thread || r.Closing <= 0 || r.Writing <= 0 || r.StageCall <= 0 {
			t.Errorf("%+v, expected processor time, and time of closing, writing and a stage call", r)
		}
	}
}
