package trainlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Every dialect that is known reads its own sample, and says so.
func TestDialects(t *testing.T) {
	d, err := ParseDialects("dialects.yaml", builtIn)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.list) < 15 {
		t.Errorf("%d dialects", len(d.list))
	}
}

// read returns the windows of logs without a rank in their names.
func read(t *testing.T, d *Dialects, texts ...string) []*trace.Window {
	t.Helper()
	b := Builder{Dialects: d}
	for i, text := range texts {
		if err := b.Read(strings.NewReader(text), fmt.Sprintf("%d.log", i), -1, ""); err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.Windows("x")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lines repeats a line for steps.
func lines(from, to, by int, line func(step int) string) string {
	var s strings.Builder
	for i := from; i <= to; i += by {
		s.WriteString(line(i) + "\n")
	}
	return s.String()
}

// Steps keep their numbers: where these leave some out another window begins, and of every k-th step k is kept.
func TestNumbers(t *testing.T) {
	line := func(i int) string {
		return fmt.Sprintf(" iteration %d/ 900 | elapsed time per iteration (ms): 100.0 |", i)
	}
	for _, c := range []struct {
		text string
		want []int64 // first, last, of each window
	}{
		{lines(142, 145, 1, line) + lines(182, 185, 1, line), []int64{142, 145, 182, 185}},
		{lines(240, 270, 10, line), []int64{240, 270}},
		{lines(1, 1, 1, line) + lines(10, 100, 10, line), []int64{1, 1, 10, 100}},
		{lines(1, 9, 1, func(i int) string { return line(i * i) }), []int64{0, 8}},
	} {
		var got []int64
		for _, w := range read(t, nil, c.text) {
			got = append(got, w.FirstStep, w.StepAt(w.Steps()-1))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

// A number that only grows by as much in each step is a clock; one that is noisy, or grows a little, is a duration.
func TestClock(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		at   func(i int) float64
		want time.Duration // of the last step
	}{
		{"a clock", minClockValues, func(i int) float64 { return 0.5 * float64(i) }, 500 * time.Millisecond},
		{"too few to tell", minClockValues - 1, func(i int) float64 { return 0.5 * float64(i) }, 3500 * time.Millisecond},
		{"a leak", 30, func(i int) float64 { return 1 + float64(i)/40 }, 1750 * time.Millisecond},
		{"falls once", 30, func(i int) float64 { return 0.5 * float64(i%29) }, 500 * time.Millisecond},
		{"by unequal steps", 30, func(i int) float64 { return 0.5 * float64(i*i*i) }, 13500 * time.Second},
	} {
		w := read(t, nil, lines(1, c.n, 1, func(i int) string { return fmt.Sprintf("step %d time: %.3f", i, c.at(i)) }))[0]
		if got := time.Duration(w.Durations[len(w.Durations)-1]); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	nano := lines(1, 20, 1, func(i int) string { return fmt.Sprintf("step:%d/1705 train_time:%dms step_avg:95.27ms", i, 5000+95*i) })
	if w := read(t, nil, nano)[0]; w.Durations[0] != 95*ms || w.FirstStep != 2 {
		t.Errorf("from step %d: %v", w.FirstStep, w.Durations)
	}
}

// Several lines of one step in one file are ranks that nothing tells apart, and no restart.
func TestInterleaved(t *testing.T) {
	w := read(t, nil, lines(0, 5, 1, func(i int) string {
		return lines(0, 3, 1, func(r int) string {
			return fmt.Sprintf("[step %d] loss=1 time=369%d.7, latency=369%d.7 ms/batch", i, r, r)
		})
	}))[0]
	if !w.Has(input.NoteRanksNumbered) || w.Has(input.NoteStepsRepeated) || w.Durations[0] != 3_693_700_000 {
		t.Errorf("%v, notes %v", w.Durations, w.Notes)
	}
}

// A rank is where launchers put it.
func TestPrefixes(t *testing.T) {
	for _, prefix := range []string{"[rank%d]: ", "%d: ", "[default%d]:", "[1,%d]<stdout>:", "[RANK %d] ", "INFO rank=%d "} {
		w := read(t, nil, lines(1, 3, 1, func(i int) string {
			return lines(4, 6, 2, func(r int) string { return fmt.Sprintf(prefix+"step %d time: 0.%d", r, i, r) })
		}))[0]
		if len(w.Ranks) != 2 || w.Ranks[0].ID != 4 || w.Ranks[1].ID != 6 || w.Durations[1] != 600*ms {
			t.Errorf("%q: %+v", prefix, w.Ranks)
		}
	}
}

// Numbers that begin again in every epoch go on; validation is no training; colours and progress bars are no obstacle.
func TestEpochs(t *testing.T) {
	text := ""
	for epoch := range 3 {
		text += lines(1, 4, 1, func(i int) string { return fmt.Sprintf("epoch: %d, step: %d, \x1b[32mtime: 0.5\x1b[0m", epoch, i) })
		text += lines(1, 2, 1, func(i int) string { return fmt.Sprintf("epoch: %d, val step: %d, time: 0.1", epoch, i) })
	}
	if w := read(t, nil, text)[0]; w.Steps() != 12 || w.FirstStep != 1 || slices.Max(w.Durations) != 500*ms || slices.Min(w.Durations) != 500*ms {
		t.Errorf("%d steps from %d: %v", w.Steps(), w.FirstStep, w.Durations)
	}
	zero := ""
	for epoch := range 3 {
		zero += lines(0, 4, 1, func(i int) string {
			return fmt.Sprintf("Epoch: [%d][%d/5] Time 0.500 (0.400) Data 0.100 (0.090)", epoch, i)
		})
	}
	if w := read(t, nil, zero)[0]; w.Steps() != 15 || w.FirstStep != 0 || slices.ContainsFunc(w.Notes, func(n input.Note) bool { return n.Kind == input.NoteStepsRepeated }) {
		t.Errorf("counted from 0: %d steps from %d, notes %v", w.Steps(), w.FirstStep, w.Notes)
	}
	bar := ""
	for i := range 20 {
		bar += fmt.Sprintf("\r %d%%|█         | %d/20 [00:0%d<00:10,  4.00it/s]", i, i+1, i/4)
	}
	if w := read(t, nil, bar)[0]; w.Steps() != 20 || w.Durations[3] != 250*ms {
		t.Errorf("%d steps: %v", w.Steps(), w.Durations)
	}
}

// A part is taken off what contains it; times of microsteps stand for steps where these are not logged.
func TestContained(t *testing.T) {
	w := read(t, nil, lines(1, 3, 1, func(int) string {
		return "[Rank 0] time (ms) | fwd_microstep: 1.0 | bwd_microstep: 9.0 | bwd_inner_microstep: 5.0 | bwd_allreduce_microstep: 4.0 | step_microstep: 2.0"
	}))[0]
	if !slices.Equal(w.Schema.Stages, []string{"model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "backward_allreduce", "optim.step_cpu_wall"}) || !slices.Equal(w.Step(1), []int64{ms, 5 * ms, 4 * ms, 2 * ms}) {
		t.Errorf("%v %v", w.Schema.Stages, w.Step(1))
	}
	both := read(t, nil, lines(1, 3, 1, func(int) string {
		return "[Rank 0] time (ms) | fwd_microstep: 1.0 | bwd_microstep: 9.0 | step_microstep: 2.0\n[Rank 0] time (ms) | fwd_microstep: 1.0 | bwd_microstep: 9.0 | step_microstep: 2.0\n" +
			"[Rank 0] time (ms) | fwd: 2.0 | bwd: 18.0 | bwd_inner: 10.0 | bwd_allreduce: 8.0 | step: 3.0"
	}))[0]
	if both.Steps() != 3 || !slices.Equal(both.Step(2), []int64{2 * ms, 10 * ms, 8 * ms, 3 * ms}) {
		t.Errorf("%v, %d steps: %v", both.Schema.Stages, both.Steps(), both.Durations)
	}
}

// A user's dialect comes first, and is refused with what is wrong with it.
func TestOwnDialect(t *testing.T) {
	const mine = "- dialect: mine\n  has: [it, took]\n  step: \"it {step} |\"\n  times: {\"took {ms}\": step, \"load {ms}\": data}\n  sample: \"it 12 | took 381 | load 3\"\n  gives: \"step 12: data 3ms, step 381ms\"\n"
	d, err := ParseDialects("my.yaml", []byte(mine))
	if err != nil {
		t.Fatal(err)
	}
	w := read(t, d, lines(7, 9, 1, func(i int) string { return fmt.Sprintf("it %d | took 381 | load 3", i) }))[0]
	if w.FirstStep != 7 || !slices.Equal(w.Step(0), []int64{3 * ms, 378 * ms}) {
		t.Errorf("from step %d: %v", w.FirstStep, w.Step(0))
	}
	for _, c := range []struct{ old, now, want string }{
		{"381ms\"", "382ms\"", `dialect "mine"`},
		{"{step} |", "{stp} |", "expected {s}, {ms}"},
		{"it {step} |", "it | 7", "has no {step}"},
		{"took {ms}", "took", "has no time"},
		{"has: [it, took]", "has: []", "needs a name"},
		{"took 381 | load", "tok 381 | load", "are not those of its sample"},
		{"times:", "time:", "my.yaml"},
		{`"took {ms}"`, `"{ms}"`, "no text beside"},
	} {
		if _, err := ParseDialects("my.yaml", []byte(strings.Replace(mine, c.old, c.now, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, expected %q", c.now, err, c.want)
		}
	}
}

// What comes closest to a line with the time of a step is said, with what it lacks.
func TestNearest(t *testing.T) {
	for text, want := range map[string]Nearest{
		"starting\nstep 3 lasted 5 s": {Line: 2, Lacks: LacksName}, "step 3 loss 5": {Line: 1, Lacks: LacksTime},
		"step 2 loss 5\n10:00:03 step 3 loss 5": {Line: 2, Lacks: LacksTimeButStamp}, "update 3 loss 5": {Line: 1, Lacks: LacksTime}, "itr 3 took so long that 5 s": {Line: 1, Lacks: LacksName},
		"hello\nx\ntime: 5 s": {Line: 3, Lacks: LacksStep}, "hello": {},
		"start\n[1/5] fwd 0.01\n[2/5] fwd 0.02\n[3/5] fwd 0.01\n": {Line: 4, Lacks: LacksBoth}, "[1/5] fwd 0.01\n[2/5] fwd 0.02\n[3/5] bwd 0.01\n": {}, "a 1\na 2\na 3\na 4": {}, "1 2\n1 2\n1 2\n1 2": {},
	} {
		r := (*Dialects)(nil).Recogniser()
		for i, line := range strings.Split(text, "\n") {
			r.Line([]byte(line), int64(i+1))
		}
		if r.Steps != 0 || r.Nearest.Line != want.Line || r.Nearest.Lacks != want.Lacks {
			t.Errorf("%q: %+v, want %+v", text, r.Nearest, want)
		}
	}
}

// Whatever a user describes: no panic.
func FuzzDialect(f *testing.F) {
	f.Add("- dialect: x\n  has: [a]\n  times: {\"a {s}\": step}\n  sample: a 3\n", "a 3 a 4\na")
	f.Fuzz(func(_ *testing.T, description, text string) {
		d, err := ParseDialects("x", []byte(description))
		if err != nil {
			return
		}
		b := Builder{Dialects: d}
		if b.Read(strings.NewReader(text), "x", -1, "") == nil {
			b.Windows("x")
		}
	})
}
