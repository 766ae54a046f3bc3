package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// TestContains: a stage around others is found with wall times and without; stages
// that follow one another, and one that is merely as long as another, are not.
func TestContains(t *testing.T) {
	window := func(wall bool, stages []string, row func(step, rank int) []int64) *trace.Window {
		const steps, ranks = 12, 3
		w := &trace.Window{Schema: trace.Schema{Stages: stages}, Ranks: make([]trace.Rank, ranks), WorldSize: ranks}
		w.Durations = make([]int64, steps*len(stages)*ranks)
		if wall {
			w.Wall = make([]int64, steps*ranks)
		}
		for s := range steps {
			for r := range ranks {
				values := row(s, r)
				for i := range stages {
					w.Durations[(s*len(stages)+i)*ranks+r] = values[i]
				}
				if wall {
					w.Wall[s*ranks+r] = values[len(stages)]
				}
			}
		}
		return w
	}
	base := func(s, r int) (forward, backward int64) {
		return int64(30_000 + 700*((s*5+r*3)%7)), int64(50_000 + 900*((s*3+r*5)%11))
	}
	tests := map[string]struct {
		wall   bool
		stages []string
		row    func(s, r int) []int64
		want   string
	}{
		"around all, wall": {true, []string{"forward", "backward", "whole"}, func(s, r int) []int64 {
			f, b := base(s, r)
			return []int64{f, b, f + b + 200, f + b + 300}
		}, "whole"},
		"around two of three, wall": {true, []string{"data", "both", "forward", "backward"}, func(s, r int) []int64 {
			f, b := base(s, r)
			return []int64{9_000, f + b + 100, f, b, f + b + 9_500}
		}, "both"},
		"around all": {false, []string{"whole", "forward", "backward"}, func(s, r int) []int64 {
			f, b := base(s, r)
			return []int64{f + b + 200, f, b}
		}, "whole"},
		"around two of four": {false, []string{"data", "both", "forward", "backward", "optim"}, func(s, r int) []int64 {
			f, b := base(s, r)
			return []int64{9_000, f + b + int64(s%3), f, b, 4_000}
		}, "both"},
		"around two before it": {false, []string{"data", "forward", "backward", "both"}, func(s, r int) []int64 {
			f, b := base(s, r)
			return []int64{9_000, f, b, f + b}
		}, "both"},
		"as long as two by chance": {false, []string{"data", "forward", "backward", "optim"}, func(s, r int) []int64 {
			return []int64{10_000 + int64(s%4), 20_000 + int64(r%3), 30_100 + int64((s+r)%5)*10, 4_000}
		}, ""},
		"flat, wall": {true, []string{"data", "forward", "backward"}, func(s, r int) []int64 {
			f, b := base(s, r)
			return []int64{8_000, f, b, f + b + 8_100}
		}, ""},
		"flat": {false, []string{"data", "forward", "backward"}, func(s, r int) []int64 {
			f, b := base(s, r)
			return []int64{b - f, f, b + int64(s%2)*3_000}
		}, ""},
		"as long as the only other": {false, []string{"data", "forward", "backward", "optim"}, func(s, r int) []int64 {
			f, _ := base(s, r)
			return []int64{0, f, f, 0}
		}, ""},
		"two alike": {false, []string{"forward", "backward"}, func(s, r int) []int64 {
			f, _ := base(s, r)
			return []int64{f, f}
		}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, found := contains(window(test.wall, test.stages, test.row))
			if found != (test.want != "") || p.Stage != test.want {
				t.Errorf("contains: %q, %v; expected %q", p.Stage, found, test.want)
			}
		})
	}
}

// TestSumsAreLeftOut: a recorded stage around others is left out of every window, with one
// note, and the verdict is that without it, for windows that are lent too.
func TestSumsAreLeftOut(t *testing.T) {
	job := spec(8, 40, 3, simulate.Fault{Family: simulate.Data, Delay: 60, Ranks: []int{3}})
	job.Schedule.Windows = 3
	flat := windows(t, job)
	var nested []*trace.Window
	for _, w := range flat {
		around := *w
		around.Schema.Stages, around.Durations = append(slices.Clone(w.Schema.Stages), "train"), nil
		for s := range w.Steps() {
			step, train := w.Step(s), make([]int64, len(w.Ranks))
			for i, d := range step[len(w.Ranks):] { // all stages but the first
				train[i%len(w.Ranks)] += d
			}
			around.Durations = slices.Concat(around.Durations, step, train)
		}
		nested = append(nested, &around)
	}
	want := verdictOn(t, flat...)
	for name, o := range map[string]Options{"kept": {}, "lent": {Brief: true, Beside: NewBeside(1, func(*trace.Window) {})}} {
		s := New(o)
		for _, w := range nested {
			if err := s.Add(w); err != nil {
				t.Fatal(err)
			}
		}
		got, notes := s.Verdict(), 0
		for _, p := range got.Problems {
			if p.Problem == answer.ProblemKind(input.NoteStagesSummed.String()) {
				notes++
			}
		}
		if len(got.Findings) != 1 || show(got.Findings[0]) != show(want.Findings[0]) || notes != 1 {
			t.Errorf("%s: %d findings, %d notes, expected %s and one note", name, len(got.Findings), notes, show(want.Findings[0]))
		}
		if len(nested[0].Schema.Stages) != len(flat[0].Schema.Stages)+1 {
			t.Errorf("%s: the window was changed", name)
		}
	}
}

// TestDisordered: names that are sorted are out of order, and orders in which steps run
// are not, wherever the wait for data is recorded.
func TestDisordered(t *testing.T) {
	for _, c := range []struct {
		stages []string
		want   string
	}{
		{[]string{"data", "forward", "backward", "optim"}, ""},
		{[]string{"forward", "backward", "optim", "data"}, ""},
		{[]string{"backward", "data", "forward", "optim"}, "backward"},
		{[]string{"backward", "optim", "data", "forward"}, "backward"},
		{[]string{"data", "forward", "optim.step_cpu_wall", "backward"}, "optim.step_cpu_wall"},
		{[]string{"optimizer", "backward"}, "optimizer"},
		{[]string{"forward_d", "backward_d", "optim_d", "forward_g", "backward_g", "optim_g"}, ""},
		{[]string{"zero_grad", "forward", "backward", "optim"}, ""},
		{[]string{"compute", "comm"}, ""},
		{[]string{"backward", "callbacks"}, ""},
	} {
		if p, found := stageDisorder(c.stages); found != (c.want != "") || p.Stage != c.want {
			t.Errorf("%q: %q, %v; expected %q", c.stages, p.Stage, found, c.want)
		}
	}
}
