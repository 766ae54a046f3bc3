package points

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCutStages: a stage is divided where its ranks begin to wait, steps are as long as before, and the ranks synchronise
// in what is left of it; from columns as from rows.
func TestCutStages(t *testing.T) {
	const R, T = 3, 20
	rng := rand.New(rand.NewPCG(1, 1))
	stages := []Stage{{Name: "data", Role: Data}, {Name: "backward", Role: Backward}, {Name: "optim", Role: Optimizer}}
	columns := NewSteps(stages, R, T, true, nil)
	rows := &Steps{Stages: stages, Ranks: R, Breaks: []int{7}}
	cut := Cut{Stage: 1}
	for step := range T {
		var durations, wall []int64
		for range len(stages) * R {
			durations = append(durations, 100+rng.Int64N(100))
		}
		for r := range R {
			wall = append(wall, durations[r]+durations[R+r]+durations[2*R+r]+5)
			cut.Own = append(cut.Own, rng.Int64N(durations[R+r]/2))
			cut.Wait = append(cut.Wait, rng.Int64N(durations[R+r]/2))
		}
		columns.Set(step, durations, wall, []int{0, 1, 2})
		rows.Durations, rows.Wall = append(rows.Durations, durations...), append(rows.Wall, wall...)
	}
	for name, s := range map[string]*Steps{"rows": rows, "columns": columns} {
		got := CutStages(s, []Cut{cut})
		if len(got.Stages) != 5 || got.Stages[1] != stages[1] || got.Stages[2].Role != Wait || got.Stages[2].Name != "backward" || got.Stages[3] != stages[1] || got.Stages[4] != stages[2] {
			t.Fatalf("%s: stages %+v", name, got.Stages)
		}
		if len(got.Known) != 1 || got.Known[0].Stage != 2 || !got.Known[0].Evidence.Sure() {
			t.Errorf("%s: known %+v", name, got.Known)
		}
		for step := range T {
			for r := range R {
				own, wait, left := got.At(step, 1)[r], got.At(step, 2)[r], got.At(step, 3)[r]
				if own != cut.Own[step*R+r] || wait != cut.Wait[step*R+r] || own+wait+left != s.At(step, 1)[r] || got.At(step, 0)[r] != s.At(step, 0)[r] || got.At(step, 4)[r] != s.At(step, 2)[r] {
					t.Fatalf("%s: step %d, rank %d: %d, %d and %d of %d", name, step, r, own, wait, left, s.At(step, 1)[r])
				}
				if got.Wall[step*R+r] != rows.Wall[step*R+r] {
					t.Fatalf("%s: step %d, rank %d takes %d, want %d", name, step, r, got.Wall[step*R+r], rows.Wall[step*R+r])
				}
			}
		}
		if name == "rows" && !slices.Equal(got.Breaks, rows.Breaks) {
			t.Errorf("breaks %v, want %v", got.Breaks, rows.Breaks)
		}
	}
}

// TestCutShowsDelay: what one rank works longer in the stage in which all wait, before it or after it, is in a piece of the
// division.
func TestCutShowsDelay(t *testing.T) {
	const R, T = 4, 30
	s := &Steps{Stages: []Stage{{Name: "forward", Role: Forward}, {Name: "backward", Role: Backward}}, Ranks: R}
	cut := Cut{Stage: 1}
	for step := range int64(T) {
		forward, own, last := make([]int64, R), make([]int64, R), int64(0)
		for r := range forward {
			forward[r], own[r] = 1000+(step*int64(r+3))%7, 2000+(step*int64(r+5))%11
			if r == 2 {
				own[r] += 500
			}
			last = max(last, forward[r]+own[r])
		}
		after := []int64{50, 350, 50, 50}
		s.Durations = append(s.Durations, forward...)
		for r := range forward {
			s.Durations = append(s.Durations, last-forward[r]+after[r])
			cut.Wait = append(cut.Wait, last-forward[r]-own[r])
		}
		cut.Own = append(cut.Own, own...)
	}
	d := Divide(CutStages(s, []Cut{cut}), Gates{})
	k := slices.IndexFunc(d.Pieces, func(p Piece) bool { return p.Stage == 1 })
	if k < 0 || len(d.Points) != 1 || d.Points[0].Stage != 2 {
		t.Fatalf("pieces %+v, points %+v", d.Pieces, d.Points)
	}
	for n := range d.Intervals {
		if d.Head[n] >= 0 && (d.Work[k][n*R+2] < 2500 || d.After[0][n] != 0) {
			t.Fatalf("interval %d: rank 2 works %d, all stay for %d", n, d.Work[k][n*R+2], d.After[0][n])
		}
		if tail := slices.IndexFunc(d.Pieces, func(p Piece) bool { return p.Stage == 3 }); d.Step(n, tail) >= 0 && d.Work[tail][n*R+1] != 350 {
			t.Fatalf("interval %d: rank 1 works %d after it, want 350", n, d.Work[tail][n*R+1])
		}
	}
}

// TestCutWaits: waits in a stage, and in the time of no stage, in which not all wait for each other are stages of their own
// in which nobody works, and no points.
func TestCutWaits(t *testing.T) {
	s := &Steps{Stages: []Stage{{Name: "forward", Role: Forward}, {Name: "backward", Role: Backward}}, Ranks: 2,
		Durations: []int64{10, 20, 30, 40, 11, 21, 31, 41}, Wall: []int64{45, 66, 47, 68}}
	got := CutStages(s, []Cut{{Stage: 0, Wait: []int64{0, 5, 1, 0}}, {Stage: 2, Wait: []int64{2, 0, 0, 3}}})
	want := []Stage{{Name: "forward", Role: Forward}, {Name: "forward", Role: Wait}, {Name: "backward", Role: Backward}, {Name: "rest", Role: Wait}}
	if !slices.Equal(got.Stages, want) || len(got.Known) != 0 {
		t.Fatalf("stages %+v, known %+v", got.Stages, got.Known)
	}
	if want := []int64{10, 15, 0, 5, 30, 40, 2, 0, 10, 21, 1, 0, 31, 41, 0, 3}; !slices.Equal(got.Durations, want) {
		t.Errorf("durations %v, want %v", got.Durations, want)
	}
	untold := CutStages(s, []Cut{{Stage: 1, Own: []int64{25, 30, 20, 41}}})
	if want := []Stage{s.Stages[0], s.Stages[1], s.Stages[1]}; !slices.Equal(untold.Stages, want) || len(untold.Known) != 1 || untold.Known[0].Stage != 2 {
		t.Errorf("a wait that is not told from work: stages %+v, known %+v", untold.Stages, untold.Known)
	}
	if want := []int64{10, 20, 25, 30, 5, 10, 11, 21, 20, 41, 11, 0}; !slices.Equal(untold.Durations, want) {
		t.Errorf("durations %v, want %v", untold.Durations, want)
	}
	if !slices.Equal(got.Wall, s.Wall) || !slices.Equal(got.Rest(0), []int64{3, 6}) || !slices.Equal(got.Rest(1), []int64{5, 3}) {
		t.Errorf("wall %v, rest %v and %v", got.Wall, got.Rest(0), got.Rest(1))
	}
}
