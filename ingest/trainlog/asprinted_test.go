package trainlog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/trace"
)

// mean returns the mean of a stage over all steps of a rank; −1: there is no such stage.
func mean(w *trace.Window, stage string, rank int) time.Duration {
	s := w.Schema.Index(stage)
	if s < 0 {
		return -1
	}
	sum := int64(0)
	for i := range w.Steps() {
		sum += w.Step(i)[s*len(w.Ranks)+rank]
	}
	return time.Duration(sum / int64(w.Steps()))
}

// noted reports whether a window has a note with a text.
func noted(w *trace.Window, text string) bool {
	for _, n := range w.Notes {
		if strings.Contains(n.Text, text) {
			return true
		}
	}
	return false
}

// Names and numbers with nothing but a blank between them, in the colours of a terminal, with clocks among them.
func TestAsPrinted(t *testing.T) {
	for name, c := range map[string]struct {
		line    func(i int) string
		step    time.Duration // whole
		data    time.Duration // −1: none
		clock   bool
		from, n int64
	}{
		"blanks":            {func(i int) string { return fmt.Sprintf("step %d time 0.5", i) }, 500 * ms, -1, false, 1, 30},
		"blanks and units":  {func(i int) string { return fmt.Sprintf("Step %d  data_time 12 ms  step_time 480ms", i) }, 480 * ms, 12 * ms, false, 1, 30},
		"took, with a part": {func(i int) string { return fmt.Sprintf("step %d took 480ms (data 12ms)", i) }, 480 * ms, 12 * ms, false, 1, 30},
		"no other blanks":   {func(i int) string { return fmt.Sprintf("step %d time 9 step_time: 0.5", i) }, 500 * ms, -1, false, 1, 30},
		"colours":           {func(i int) string { return fmt.Sprintf("\x1b[31mstep: %d \x1b[0m \x1b[32mtime: 0.25\x1b[39m", i) }, 250 * ms, -1, false, 1, 30},
		"wall_ns grows": {func(i int) string {
			return fmt.Sprintf("step=%d wall_ns=%d data_time=0.01", i, 36_000_000_000_000+400_000_000*i)
		}, 400 * ms, 10 * ms, true, 2, 29},
		"total grows": {func(i int) string { return fmt.Sprintf("step %d total_time: %.3f", i, 0.4*float64(i)) }, 400 * ms, -1, true, 2, 29},
		"total of a step": {func(i int) string {
			return fmt.Sprintf("step %d total_time: %.3f data_time: 0.1", i, 0.4+0.01*float64(i%3))
		}, 410 * ms, 100 * ms, false, 1, 30},
		"elapsed beside": {func(i int) string { return fmt.Sprintf("step %d elapsed: %.3f time: 0.3", i, 0.4*float64(i)) }, 300 * ms, -1, true, 1, 30},
	} {
		if !Recognise([]byte(c.line(1))) {
			t.Errorf("%s: not recognised", name)
		}
		w := read(t, nil, lines(1, 30, 1, c.line))[0]
		whole := mean(w, "step.whole", 0)
		if data := mean(w, "data.next_wait", 0); data >= 0 {
			if whole = mean(w, "step.rest", 0) + data; data != c.data {
				t.Errorf("%s: data %v, want %v", name, data, c.data)
			}
		}
		if (whole-c.step).Abs() > time.Millisecond || w.FirstStep != c.from || int64(w.Steps()) != c.n || noted(w, "only grows") != c.clock {
			t.Errorf("%s: %v, want %v; %d steps from %d; %v", name, whole, c.step, w.Steps(), w.FirstStep, w.Notes)
		}
	}
}

// Times that one rank prints in milliseconds and the others in seconds accuse nobody: they are read as what they are where that is
// shown, and refused where it is not.
func TestUnitsOfRanks(t *testing.T) {
	job := func(n int, line func(rank, i int) string) (*trace.Window, error) {
		var texts []string
		for rank := range 4 {
			texts = append(texts, lines(0, n-1, 1, func(i int) string { return line(rank, i) }))
		}
		return logs(true, texts...)
	}
	scale := func(rank int) float64 {
		if rank == 2 {
			return 1000
		}
		return 1
	}
	r := rand.New(rand.NewPCG(1, 1))
	noise := func() float64 { return 1 + r.Float64()/4 }
	w, err := job(20, func(rank, i int) string {
		return fmt.Sprintf("step %d data_time: %.5f time: %.5f", i, 0.01*noise()*scale(rank), 0.4*noise())
	})
	if err != nil || mean(w, "data.next_wait", 2) > 15*ms || !noted(w, "a thousand times as long on rank 2") {
		t.Errorf("a part: %v, %+v", err, w)
	}
	w, err = job(20, func(rank, i int) string { return fmt.Sprintf("step %d time: %.5f", i, 0.4*noise()*scale(rank)) })
	if err != nil || mean(w, "step.whole", 2) > 500*ms || !noted(w, "rank 2") {
		t.Errorf("the whole: %v, %+v", err, w)
	}
	_, err = job(20, func(rank, i int) string {
		return fmt.Sprintf("step %d data_time: %.5f forward_time: 0.5", i, 0.01*noise()*scale(rank))
	})
	if err == nil || !strings.Contains(err.Error(), `write the unit behind them ("data: 12.5ms")`) {
		t.Errorf("not shown: %v", err)
	}
	// A rank that is so much later by itself, and whose times have a unit, is.
	w, err = job(20, func(rank, i int) string {
		return fmt.Sprintf("step %d data_time: %.5fs time: %.5fs", i, 0.01*noise()*scale(rank), 0.4*noise()+0.01*scale(rank))
	})
	if err != nil || mean(w, "data.next_wait", 2) < 9*time.Second {
		t.Errorf("a late rank: %v", err)
	}
}

// Of gradient accumulation DeepSpeed prints each microstep; a step is all of them, whichever side of its number the last one stands on.
func TestMicrosteps(t *testing.T) {
	micro := func(i, k int) string {
		return fmt.Sprintf("[Rank 0] time (ms) | forward_microstep: 50.00 | backward_microstep: 100.00 | step_microstep: %.2f\n", map[bool]float64{true: 30, false: 0.02}[k == 3])
	}
	for name, behind := range map[string]bool{"before the number": false, "the last one behind it": true} {
		for _, every := range []int{1, 5} {
			text := ""
			for i := 1; i <= 30; i++ {
				number := ""
				if i%every == 0 {
					number = fmt.Sprintf("[Rank 0] step=%d, skipped=0, lr=[0.001], mom=[(0.9, 0.999)]\n", i)
				}
				for k := range 4 {
					if behind && k == 3 {
						text += number
					}
					text += micro(i, k)
				}
				if !behind {
					text += number
				}
			}
			w := read(t, nil, text)[0]
			if f, b, o := mean(w, "model.fwd_loss_cpu_wall", 0), mean(w, "model.backward_cpu_wall", 0), mean(w, "optim.step_cpu_wall", 0); f != 200*ms || b != 400*ms || (o-30*ms).Abs() > ms ||
				w.Every != int64(every) || noted(w, "logged twice") {
				t.Errorf("%s, every %d: forward %v, backward %v, optimizer %v, every %d, %v", name, every, f, b, o, w.Every, w.Notes)
			}
		}
	}
	// Steps that have times of their own are those.
	text := lines(1, 10, 1, func(i int) string {
		return fmt.Sprintf("[Rank 0] step=%d, skipped=0, lr=[0.001], mom=[]\n%s%s[Rank 0] time (ms) | forward: 101.00 | backward: 201.00 | step: 30.00", i, micro(i, 0), micro(i, 3))
	})
	if w := read(t, nil, text)[0]; mean(w, "model.fwd_loss_cpu_wall", 0) != 101*ms || w.Steps() != 10 {
		t.Errorf("with times of steps: %v, %d steps", mean(w, "model.fwd_loss_cpu_wall", 0), w.Steps())
	}
}

// Megatron's timers with the least and the most over the ranks: the slowest rank's work, and the communication of the one that comes last.
func TestRanges(t *testing.T) {
	text := lines(10, 200, 10, func(i int) string {
		return fmt.Sprintf(" iteration %d/ 5000 | elapsed time per iteration (ms): 1000.0 |\n(min, max) time across ranks (ms):\n", i) +
			"    forward-backward ...............: (700.00, 900.00)\n    forward-compute ................: (300.00, 400.00)\n    backward-compute ...............: (390.00, 600.00)\n" +
			"    all-grads-sync .................: (10.00, 290.00)\n    optimizer ......................: (20.00, 20.10)"
	})
	w := read(t, nil, text)[0]
	// 400 + 600 are of two ranks, of which none takes longer than 900.
	for stage, want := range map[string]time.Duration{"model.fwd_loss_cpu_wall": 360 * ms, "model.backward_cpu_wall": 540 * ms, "gradients.reduce": 10 * ms, "optim.step_cpu_wall": 20_100_000, "step.rest": 69_900_000} {
		if got := mean(w, stage, 0); got != want {
			t.Errorf("%s: %v, want %v", stage, got, want)
		}
	}
	if !noted(w, "largest spread is that of backward-compute, 390.0 to 600.0 ms") {
		t.Errorf("%v", w.Notes)
	}
}

// Lightning's table without bars before rows, and without how often an action ran.
func TestFirstTables(t *testing.T) {
	const (
		three = "Action              \t|  Mean duration (s)\t|  Total time (s) \n----\nget_train_batch     \t|  0.5            \t|  50.0           \nrun_training_batch  \t|  0.4            \t|  40.0           \n" +
			"optimizer_step      \t|  0.39           \t|  39.0           \nmodel_forward       \t|  0.1            \t|  10.0           \nmodel_backward      \t|  0.2            \t|  20.0           \n"
		five = "Action              \t|  Mean duration (s)\t|Num calls      \t|  Total time (s) \t|  Percentage %   \t|\n----\nget_train_batch     \t|  0.5            \t|100            \t|  50.0           \t|  55.0           \t|\n" +
			"run_training_batch  \t|  0.4            \t|100            \t|  40.0           \t|  45.0           \t|\noptimizer_step_and_closure_0\t|  0.39           \t|100            \t|  39.0           \t|  44.0           \t|\n" +
			"model_forward       \t|  0.1            \t|100            \t|  10.0           \t|  11.0           \t|\nmodel_backward      \t|  0.2            \t|100            \t|  20.0           \t|  22.0           \t|\n"
	)
	for name, text := range map[string]string{"three columns": three, "five columns": five} {
		w := read(t, nil, "Profiler Report\n\n"+text+"\nbye | all\n")[0]
		for stage, want := range map[string]time.Duration{"data.next_wait": 500 * ms, "model.fwd_loss_cpu_wall": 100 * ms, "model.backward_cpu_wall": 200 * ms, "optim.step_cpu_wall": 90 * ms, "step.rest": 10 * ms} {
			if got := mean(w, stage, 0); got != want {
				t.Errorf("%s: %s is %v, want %v", name, stage, got, want)
			}
		}
		if !noted(w, "the mean of 100") {
			t.Errorf("%s: %v", name, w.Notes)
		}
	}
}

// Columns of numbers alone are asked for, with a flag that answers.
func TestColumns(t *testing.T) {
	text := "loading\n" + lines(0, 19, 1, func(i int) string { return fmt.Sprintf("%d\t12.5, %.1f", i, 480+float64(i%2)) })
	var bare Bare
	for line := range strings.Lines(text) {
		bare.Line([]byte(line))
	}
	if ask := bare.Ask(); bare.Lines != 20 || !strings.Contains(ask, "3 columns of numbers without a header") || !strings.Contains(ask, "--columns number,data,step ") {
		t.Errorf("%d lines, %q", bare.Lines, ask)
	}
	// A header between blanks names them.
	for head, want := range map[string]string{
		"step  data_time_ms   time": "--columns number,data_ms,step ", "Iter  foo  iter_time": "--columns number,-,step ", "a b c": "--columns number,data,step ", "only two": "3 columns of numbers without a header",
	} {
		var bare Bare
		for line := range strings.Lines(head + "\n" + lines(0, 5, 1, func(i int) string { return fmt.Sprintf("%d   12.5   %d", i, 480+i%2) })) {
			bare.Line([]byte(line))
		}
		if ask := bare.Ask(); !strings.Contains(ask, want) || strings.Contains(ask, "without a header") != (head == "only two") {
			t.Errorf("%q: %q, want %q", head, ask, want)
		}
	}
	c, err := ParseColumns("number,data_ms,step_ms")
	if err != nil {
		t.Fatal(err)
	}
	b := Builder{Columns: c}
	if err := b.Read(strings.NewReader(text), "x", -1, ""); err != nil {
		t.Fatal(err)
	}
	all, err := b.Windows("x")
	if err != nil || mean(all[0], "data.next_wait", 0) != 12_500_000 || mean(all[0], "step.rest", 0) != 468*ms || all[0].FirstStep != 0 || all[0].Steps() != 20 {
		t.Errorf("%v, %+v", err, all)
	}
	for _, wrong := range []string{"rank,number", "data,data", "data,,step", ","} {
		if _, err := ParseColumns(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	for _, other := range []string{"", "1", "1 x", "a b\nc d\ne f\n", "1 2 3 4 5 6 7 8 9\n1 2 3 4 5 6 7 8 9\n1 2 3 4 5 6 7 8 9\n", "1 2\n1 2\n"} {
		var bare Bare
		for line := range strings.Lines(other) {
			bare.Line([]byte(line))
		}
		if ask := bare.Ask(); ask != "" {
			t.Errorf("%q: %s", other, ask)
		}
	}
}

// Whatever stands in columns and in their names: no panic, and times that fit.
func FuzzColumns(f *testing.F) {
	f.Add("number,data_ms,step", "1 2 3\n4 5e3 6.1\n")
	f.Add("rank,-,step_us", "0,1,2\n1;7;3\n")
	f.Fuzz(func(t *testing.T, names, text string) {
		c, err := ParseColumns(names)
		var bare Bare
		for line := range strings.Lines(text) {
			bare.Line([]byte(line))
		}
		if bare.Ask(); err != nil || c == nil {
			return
		}
		b := Builder{Columns: c}
		if b.Read(strings.NewReader(text), "x", -1, "") != nil {
			return
		}
		all, _ := b.Windows("x")
		for _, w := range all {
			if err := w.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}

// What DLIO writes of a rank when it ends: a step is from the wait for its batch to the end of its computation; evaluation is left out.
func TestDLIO(t *testing.T) {
	const text = `{"1": {"load": {"block1": [0.1, 0.2], "eval": [9]}, "proc": {"block1": [0.4, 0.5], "eval": [9]}, "throughput": {"block1": 3.0}, "compute": {"block1": [0.3, 0.3]}},
		"2": {"load": {"block1": [0.3]}, "proc": {"block1": [0.6]}}, "hostname": "n7"}`
	if !RecogniseDLIO([]byte(text)) || RecogniseDLIO([]byte(`{"load": 1}`)) || DLIORank("/x/116_output.json") != 116 || DLIORank("116_per_epoch_stats.json") != -1 {
		t.Error("not recognised, or too much is")
	}
	b := Builder{}
	for rank := range 2 {
		if err := b.ReadDLIO(strings.NewReader(text), fmt.Sprintf("%d_output.json", rank), rank); err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.Windows("x")
	if err != nil {
		t.Fatal(err)
	}
	w := all[0]
	if len(w.Ranks) != 2 || w.Ranks[1].Host != "n7" || w.Steps() != 3 || mean(w, "data.next_wait", 1) != 200*ms || mean(w, "step.rest", 0) != 300*ms {
		t.Errorf("%+v, data %v, rest %v", w.Ranks, mean(w, "data.next_wait", 1), mean(w, "step.rest", 0))
	}
	for _, wrong := range []string{text[:100], `{"1": {"load": {"block1": "x"}, "proc": {"block1": [1]}}}`, `{"1": {"load": {"block1": [-1]}, "proc": {"block1": [1]}}}`, `{"hostname": "block load"}`} {
		b := Builder{}
		if err := b.ReadDLIO(strings.NewReader(wrong), "0_output.json", 0); err == nil || !strings.Contains(err.Error(), "output of DLIO") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// Whatever stands in such a file: no panic, and times that fit.
func FuzzDLIO(f *testing.F) {
	f.Add(`{"1": {"load": {"block1": [0.1, 0.2]}, "proc": {"block1": [0.4, 0.5]}}, "hostname": "n7"}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := Builder{}
		if b.ReadDLIO(strings.NewReader(text), "0_output.json", 0) != nil {
			return
		}
		all, _ := b.Windows("x")
		for _, w := range all {
			if err := w.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}
