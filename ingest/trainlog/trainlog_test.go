package trainlog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// logs makes a window of logs, each of the rank that is its index, or −1 where ranked is not set.
func logs(ranked bool, texts ...string) (*trace.Window, error) {
	var b Builder
	for i, text := range texts {
		rank := i
		if !ranked {
			rank = -1
		}
		if err := b.Read(strings.NewReader(text), fmt.Sprintf("%d.log", i), rank, ""); err != nil {
			return nil, err
		}
	}
	all, err := b.Windows("x")
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

const ms = 1_000_000

func TestForms(t *testing.T) {
	// xtuner leaves the wait for data out of the time of a step, so that the two sums are alike on all ranks: 381 s.
	const xtuner = "[XTuner][RANK %d][2026-05-14 10:00:00][INFO] [Train] (Epoch 1) Step %d/500  data_time: %.3f  lr: 0.000010  time: %.3f  text_tokens: 65536  img_tokens: 0.0  tgs: 172.0\n"
	for name, c := range map[string]struct {
		ranked bool
		logs   []string
		stages []string
		want   []int64 // of the first step, by stage, rank fastest
		ranks  int
		first  int64
	}{
		"xtuner, ranks of a node in one file": {false, []string{fmt.Sprintf(xtuner+xtuner, 144, 173, 332.0, 49.0, 160, 173, 0.5, 380.5)},
			[]string{"data.next_wait", "step.rest"}, []int64{332_000 * ms, 500 * ms, 49_000 * ms, 380_500 * ms}, 2, 173},
		"MMEngine, whole steps contain the wait": {true, []string{"Epoch(train) [1][ 10/100] step: 10 time: 0.3 data_time: 0.2 loss: 1", "Epoch(train) step: 10 time: 0.3 data_time: 0.05"},
			[]string{"data.next_wait", "step.rest"}, []int64{200 * ms, 50 * ms, 100 * ms, 250 * ms}, 2, 10},
		"whole steps": {true, []string{" iteration       10/    1000 | consumed samples:  160 | elapsed time per iteration (ms): 1147.6 | learning rate: 0", "iteration 10 elapsed time per iteration (ms): 1150"},
			[]string{"step.whole"}, []int64{1_147_600_000, 1_150 * ms}, 2, 10},
		"parts alone": {true, []string{"step=3 forward_time=1.5ms backward_time=3ms", "step=3 forward_time=2500us backward_time=3ms"},
			[]string{"model.fwd_loss_cpu_wall", "model.backward_cpu_wall"}, []int64{1_500_000, 2_500_000, 3 * ms, 3 * ms}, 2, 3},
		"lines of JSON": {true, []string{`{"step": 7, "train/step_time_ms": 12.5, "loss": 1}`, `{"step": 7, "train/step_time_ms": 13}`}, []string{"step.whole"}, []int64{12_500_000, 13 * ms}, 2, 7},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range c.logs {
				if !Recognise([]byte(text)) {
					t.Errorf("not recognised: %s", text)
				}
			}
			w, err := logs(c.ranked, c.logs...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.stages, w.Schema.Stages); diff != "" || len(w.Ranks) != c.ranks || w.FirstStep != c.first {
				t.Errorf("%d ranks from step %d, stages (want −, got +):\n%s", len(w.Ranks), w.FirstStep, diff)
			}
			if diff := cmp.Diff(c.want, w.Step(0)); diff != "" {
				t.Errorf("times (want −, got +):\n%s", diff)
			}
		})
	}
}

// Megatron's own timers wrote the fixture (megatron.py beside it): rank 1 sleeps 15 ms longer in its forward pass.
func TestTimers(t *testing.T) {
	text, err := os.ReadFile("../../fixtures/trainlog/megatron/train.log")
	if err != nil {
		t.Fatal(err)
	}
	w, err := logs(false, string(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "gradients.reduce", "optim.step_cpu_wall"}
	if at := w.Schema.Index("pipeline.wait"); at >= 0 { // where the machine took a process off its processor
		want = append(want[:3:3], append([]string{"pipeline.wait"}, want[3:]...)...)
	}
	if diff := cmp.Diff(want, w.Schema.Stages); diff != "" || w.Steps() != 24 || len(w.Ranks) != 4 || w.FirstStep != 1 {
		t.Fatalf("%d steps from %d of %d ranks, stages (want −, got +):\n%s", w.Steps(), w.FirstStep, len(w.Ranks), diff)
	}
	for step := range 24 {
		forward := w.Step(step)[4:8]
		for rank, d := range forward {
			if slow := rank == 1; slow != (d > 20*ms) && d < 30*ms {
				t.Errorf("step %d: forward of rank %d takes %d ns", step, rank, d)
			}
		}
	}
}

// Timers contain others: batch-generator is in forward-compute, and that with backward-compute in forward-backward. Subtracted by hand.
func TestNested(t *testing.T) {
	text := " [2026-11-27 00:17:54] iteration        5/      24 | elapsed time per iteration (ms): 60.0 |\n[default3]:INFO:megatron.core.timers:times across ranks (ms):\n"
	for _, timer := range []struct {
		name string
		ms   [2]float64
	}{{"forward-backward", [2]float64{50, 52.5}}, {"forward-compute", [2]float64{13, 19}}, {"backward-compute", [2]float64{21, 22}}, {"batch-generator", [2]float64{2.1, 2.5}},
		{"interval-time", [2]float64{60, 60}}} {
		text += fmt.Sprintf("[default3]:  %s:\n[default3]:     rank  0: %.2f\n[default3]:     rank  1: %.2f\n", timer.name, timer.ms[0], timer.ms[1])
	}
	w, err := logs(false, text)
	if err != nil {
		t.Fatal(err)
	}
	want := []int64{2_100_000, 2_500_000, 10_900_000, 16_500_000, 21 * ms, 22 * ms, 16 * ms, 11_500_000}
	if diff := cmp.Diff(want, w.Step(0)); diff != "" || w.FirstStep != 5 {
		t.Errorf("step %d, %v (want −, got +):\n%s", w.FirstStep, w.Schema.Stages, diff)
	}
}

// What cannot be used is refused with what to do, and what is incomplete noted.
func TestDamage(t *testing.T) {
	const line = "step 1 time: 0.5\n"
	for name, c := range map[string]struct {
		ranked bool
		logs   []string
		want   string
	}{
		"no rank":           {false, []string{"hello\n" + line, line}, "neither a line nor the name of the file tells the rank"},
		"no times":          {true, []string{"step 1\nstep 2 loss: 0.5\n"}, "0.log:2: no line up to here"},
		"no step in common": {true, []string{line, "step 2 time: 0.5"}, "no step is in the logs of all 2 ranks"},
		"no time in common": {true, []string{line, "step 1 data_time: 0.5"}, "no time is in the logs of all ranks"},
		"timers without ranks": {false, []string{"(min, max) time across ranks (ms):\n    forward-compute ................................: (12.55, 18.47)\n    optimizer ....: (3.11, 3.64)\n"},
			"largest spread is that of forward-compute, 12.6 to 18.5 ms on average"},
	} {
		_, err := logs(c.ranked, c.logs...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
	w, err := logs(true, "step 10 time: 1\nstep 20 time: 1\nstep 20 time: 2\nstep 30 time: 1\nstep 40 time: 1\n", "step 10 time: 1\nstep 20 time: 1\nstep 30 time: 1\n", "step 10 time: 1.2\nstep 20 time: 2\nstep 30 time: 1.2")
	if err != nil {
		t.Fatal(err)
	}
	if w.FirstStep != 10 || w.Every != 10 || w.Steps() != 3 || !w.Has(input.NoteStepsRepeated) || !w.Has(input.NoteStepGap) || !w.Has(input.NoteUnits) || w.Step(1)[0] != 2000*ms {
		t.Errorf("%d steps from %d, %v, notes %v", w.Steps(), w.FirstStep, w.Durations, w.Notes)
	}
	if text := fmt.Sprint(w.Notes); !strings.Contains(text, "rank 2 took more than 5 % longer") {
		t.Errorf("who differs is not said: %s", text)
	}
	for _, other := range []string{"", "time: 5", "step 4", "train for 3 steps\nat a time: 5", "step,rank,time\n1,2,3\n", `{"a":1}` + "\nstep 4 time: 1"} {
		if Recognise([]byte(other)) {
			t.Errorf("%q is taken for a log", other)
		}
	}
}

// TestContinued: a log goes on in another file where the steps there come behind, whichever is read first; a rank with the same steps in two
// files is refused in the second.
func TestContinued(t *testing.T) {
	text := func(prefix string, from, to int) (out string) {
		for step := from; step < to; step++ {
			out += fmt.Sprintf("%sstep %d data_time: 0.01 time: 0.%d\n", prefix, step, 300+step)
		}
		return out
	}
	for name, c := range map[string]struct {
		files   []string // name and text
		steps   int
		refused string
	}{
		"of a rank":                 {[]string{"a.log.1", text("[RANK 3] ", 0, 9), "a.log", text("[RANK 3] ", 9, 20)}, 20, ""},
		"the later one first":       {[]string{"a.log", text("[RANK 3] ", 9, 20), "b", text("[RANK 3] ", 0, 9)}, 20, ""},
		"from a checkpoint on":      {[]string{"a.log", text("[RANK 3] ", 0, 9), "b.log", text("[RANK 3] ", 5, 20)}, 20, ""},
		"of all ranks":              {[]string{"train-2026-01-01.log", text("", 0, 9), "train-2026-01-02.log", text("", 9, 20)}, 20, ""},
		"the same steps":            {[]string{"a.log", text("[RANK 3] ", 0, 9), "b.log", text("[RANK 3] ", 0, 20)}, 9, "b.log:1: rank 3 is in a.log too"},
		"a part of them":            {[]string{"a.log", text("[RANK 3] ", 0, 20), "b.log", text("[RANK 3] ", 5, 9)}, 20, "b.log:1: rank 3 is in a.log too"},
		"three, and out of order":   {[]string{"x.2", text("", 14, 20), "x.10", text("", 0, 7), "x.3", text("", 7, 14)}, 20, ""},
		"other columns in the next": {[]string{"a.log", text("[RANK 3] ", 0, 9), "b.log", strings.ReplaceAll(text("[RANK 3] ", 9, 20), "data_time: 0.01 ", "")}, 20, ""},
	} {
		b := Builder{}
		for i := 0; i < len(c.files); i += 2 {
			if err := b.Read(strings.NewReader(c.files[i+1]), c.files[i], -1, ""); err != nil {
				t.Fatal(err)
			}
		}
		windows, err := b.Windows("x")
		if err != nil || len(windows) != 1 || windows[0].Steps() != c.steps {
			t.Errorf("%s: %v, %d windows, want %d steps", name, err, len(windows), c.steps)
			continue
		}
		var refused []string
		for _, r := range b.Refused {
			refused = append(refused, r.Err.Error())
		}
		if text := strings.Join(refused, ", "); !strings.Contains(text, c.refused) || (text == "") != (c.refused == "") {
			t.Errorf("%s: refused %q, want %q", name, text, c.refused)
		}
	}
}

// Whatever stands in a log: no panic, and a window that is one.
func FuzzRead(f *testing.F) {
	for _, data := range largedata.Seeds(f, "data/cases", 64<<10, ".log") {
		f.Add(string(data), true)
	}
	f.Add("[RANK 3] step 1 data_time: 0.1 time: 0.5\n[RANK 4] step 1 data_time: 0.1 time: 0.5", true)
	f.Add("times across ranks (ms):\n  forward-compute:\n     rank  0: 13.07\n     rank  1: 18\n  forward-backward:\n     rank  0: 3\n", false)
	f.Fuzz(func(t *testing.T, text string, ranked bool) {
		b := Builder{Limits: ingest.Limits{Line: 1 << 16}}
		rank := -1
		if ranked {
			rank = 0
		}
		if b.Read(strings.NewReader(text), "x", rank, "") != nil {
			return
		}
		all, err := b.Windows("x")
		if err == nil && len(all) == 0 {
			t.Error("no window, and no error")
		}
		for _, w := range all {
			if err := w.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}
