package trainlog

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What loops print with a counter instead of the word step, with names that are short, behind progress bars, and by keras and rich.
func TestLoops(t *testing.T) {
	for name, c := range map[string]struct {
		line    func(i int) string
		step    time.Duration // whole
		data    time.Duration // −1: none
		from, n int64
	}{
		"PyTorch's example": {func(i int) string {
			return fmt.Sprintf("Epoch: [3][%4d/5005]\tTime  0.412 ( 1.212)\tData  0.201 ( 0.912)\tLoss 6.9912e+00 (7.0012e+00)\tAcc@1   0.00 (  0.00)", i)
		}, 412 * ms, 201 * ms, 1, 30},
		"a counter":                 {func(i int) string { return fmt.Sprintf("[%04d/0030] loss=1.2 step_time=132.41ms data_time=0.50ms", i) }, 132410 * time.Microsecond, 500 * time.Microsecond, 1, 30},
		"an epoch's counter before": {func(i int) string { return fmt.Sprintf("Epoch [1/90] (%d/30) time: 0.25 data: 0.05", i) }, 250 * ms, 50 * ms, 1, 30},
		"short names, units": {func(i int) string {
			return fmt.Sprintf("11/29/2026 22:34:03 - INFO - __main__ - Process 0: step %d, data 0.004s, batch 0.032s, loss 1.709", i)
		}, 32 * ms, 4 * ms, 1, 30},
		"short names, bars": {func(i int) string {
			return fmt.Sprintf("iter %d/30 | data 6.0ms | fwd 20.0ms | bwd 1.0ms | opt 0.2ms | batch 40.0ms", i)
		}, 40 * ms, 6 * ms, 1, 30},
		"short names, no unit": {func(i int) string { return fmt.Sprintf("step %d data: 0.1 time: 0.3", i) }, 300 * ms, 100 * ms, 1, 30},
		"behind a progress bar": {func(i int) string {
			return fmt.Sprintf(" 9%%|▉ | %d/30 [00:01<00:00, 21.73it/s, loss=1.7]INFO step %d, data 0.010s, batch 0.250s", i+1, i)
		}, 250 * ms, 10 * ms, 1, 30},
		"before progress bars": {func(i int) string {
			return fmt.Sprintf("step %d time: 0.5\n 9%%|▉ | %d/30 [00:01<00:00, 4.00it/s]", i, i)
		}, 500 * ms, -1, 1, 30},
		"seconds per step, named": {func(i int) string { return fmt.Sprintf("INFO:root:train step %d: loss=0.100, sec/step=0.125", i) }, 125 * ms, -1, 1, 30},
		"steps per second":        {func(i int) string { return fmt.Sprintf("[step %d] loss=2.3, steps_per_sec=8.00", i) }, 125 * ms, -1, 1, 30},
		"rich": {func(i int) string {
			return fmt.Sprintf("Epoch 0/-2 ━━━━━━━ %d/30 0:00:12 • 0:00:00 4.00it/s v_num: 0.000", i)
		}, 250 * ms, -1, 1, 30},
		"Keras": {func(i int) string {
			return fmt.Sprintf("\x1b[1m%d/30\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m━━━━\x1b[0m \x1b[1m3s\x1b[0m 31ms/step - loss: 0.5", i)
		}, 31 * ms, -1, 1, 30},
	} {
		if !Recognise([]byte(c.line(1))) {
			t.Errorf("%s: not recognised", name)
			continue
		}
		w := read(t, nil, lines(1, 30, 1, c.line))[0]
		whole := mean(w, "step.whole", 0)
		data := mean(w, "data.next_wait", 0)
		if data >= 0 {
			whole = data
			for _, part := range []string{"model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "optim.step_cpu_wall", "step.rest"} {
				whole += max(0, mean(w, part, 0))
			}
		}
		if data != c.data || (whole-c.step).Abs() > 10*time.Microsecond || w.FirstStep != c.from || int64(w.Steps()) != c.n {
			t.Errorf("%s: %v, of it data %v, want %v, %v; %d steps from %d; %v", name, whole, data, c.step, c.data, w.Steps(), w.FirstStep, w.Notes)
		}
	}
	for _, other := range []string{"data 5 loaded in step 3 of 9", "Epoch [3/10] time: 12.3 data: 0.1", "step 3: forward pass, batch 32", "(12/31) at 10:00:00: 3 data 0.5", "step 3 [12/5005] data 12 samples", "data wait 46.9 → 0.7 ms, step 166 → 142 ms"} {
		if Recognise([]byte(other)) {
			t.Errorf("%q was recognised", other)
		}
	}
}

// A bar that begins again behind its end is another epoch; one that begins again in the middle is the same steps, after a restart.
func TestBarsOfEpochs(t *testing.T) {
	bar := func(i int) string { return fmt.Sprintf(" 9%%|▉ | %d/20 [00:01<00:00, 4.00it/s]", i) }
	if w := read(t, nil, lines(1, 20, 1, bar)+lines(1, 20, 1, bar))[0]; w.Steps() != 40 || w.FirstStep != 1 {
		t.Errorf("%d steps from %d, want 40 from 1", w.Steps(), w.FirstStep)
	}
	if w := read(t, nil, lines(1, 10, 1, bar)+lines(1, 20, 1, bar))[0]; w.Steps() != 20 || !noted(w, "logged twice") {
		t.Errorf("%d steps, want 20, %v", w.Steps(), w.Notes)
	}
}

// Where nothing tells the lines of ranks apart, that of the rank which waits longest for its data counts, and how much more it waits is said; where
// all ranks wait alike, nothing is.
func TestLinesApart(t *testing.T) {
	for _, late := range []bool{true, false} {
		text := ""
		for i := range 20 {
			for k := range 4 {
				data := 0.005
				if late && k == i%4 {
					data = 0.085
				}
				text += fmt.Sprintf("step %d data_time: %.3f time: %.4f\n", i, data, 0.12+0.001*float64((i+k)%4))
			}
		}
		w := read(t, nil, text)[0]
		want := time.Duration(5 * ms)
		if late {
			want = 85 * ms
		}
		if got := mean(w, "data.next_wait", 0); got != want || noted(w, "80 ms more of data") != late || !noted(w, "4 lines of each step") {
			t.Errorf("late %v: data %v, want %v, %v", late, got, want, w.Notes)
		}
	}
}

// Times of all steps since the line before, and clocks in hours, minutes and seconds.
func TestSumsAndClocks(t *testing.T) {
	for name, c := range map[string]struct {
		line  func(i int) string
		step  time.Duration
		first int64
	}{
		"sums": {func(i int) string { return fmt.Sprintf("INFO:tensorflow:loss = 0.3, step = %d (8.000 sec)", 100*i) }, 80 * ms, 200},
		"clock": {func(i int) string {
			return fmt.Sprintf(`{"current_steps": %d, "total_steps": 900, "elapsed_time": "%d:%02d:%02d"}`, 10*i, 25*i/3600, 25*i/60%60, 25*i%60)
		}, 2500 * ms, 20},
		"a day and more": {func(i int) string {
			return fmt.Sprintf(`{"current_steps": %d, "total_steps": 900, "elapsed_time": "%d:%02d:00"}`, 10*i, 24+i/2, 30*(i%2))
		}, 180 * time.Second, 20},
	} {
		w := read(t, nil, lines(1, 30, 1, c.line))[0]
		if got := mean(w, "step.whole", 0); got != c.step || w.FirstStep != c.first {
			t.Errorf("%s: %v from step %d, want %v from %d", name, got, w.FirstStep, c.step, c.first)
		}
	}
}

// A table of numbers between bars is asked for its columns.
func TestBars(t *testing.T) {
	b := Bare{}
	for i := range 20 {
		b.Line([]byte(fmt.Sprintf("| %5d | 2.31 | 0.352 | 0.012 |", i+1)))
	}
	if ask := b.Ask(); !strings.Contains(ask, "4 columns of numbers") {
		t.Errorf("%q", ask)
	}
}

// A text and its JSON, which log the same steps, are one log; logs of other steps are of ranks that nothing tells.
func TestCopies(t *testing.T) {
	text := lines(1, 20, 1, func(i int) string {
		return fmt.Sprintf("step %d time: %.3f data_time: 0.010", i, 0.4+0.01*float64(i%5))
	})
	again := lines(1, 20, 1, func(i int) string {
		return fmt.Sprintf(`{"step": %d, "time": %.6f, "loss": 1.5}`, i, 0.4002+0.01*float64(i%5))
	})
	w := read(t, nil, again, text)[0]
	if w.Steps() != 20 || mean(w, "data.next_wait", 0) != 10*ms || !noted(w, "2 logs have the same times") {
		t.Errorf("%d steps, %v", w.Steps(), w.Notes)
	}
	b := Builder{}
	for i, log := range []string{text, strings.ReplaceAll(text, "time: 0.4", "time: 0.6")} {
		if err := b.Read(strings.NewReader(log), fmt.Sprintf("%d.log", i), -1, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Windows("x"); err == nil || !strings.Contains(err.Error(), "tells the rank") {
		t.Errorf("other times: %v", err)
	}
}
