package delay

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
)

// TestLost: what the longer times of one rank cost the others, by hand: of the first piece rank 2 in steps 0 and 3 by 100 and 60,
// rank 0 in step 1 by 90; of the second rank 1 takes 40 less than its peers in every step.
func TestLost(t *testing.T) {
	s := newSeries(division(0, [][]int64{{50, 50, 150, 50}, {140, 50, 50, 50}, {50, 50, 50, 50}, {50, 50, 110, 50}}, repeated(4, 770, 730, 770, 770)), nil)
	got := s.lostTime()
	if !slices.Equal(got.Noise, []int64{160, 0, 0}) || !slices.Equal(got.Uneven, []int64{0, 160, 0}) || got.Unclosed != 0 {
		t.Errorf("%+v, want noise 160, uneven 160", got)
	}
	var run Lost
	run.join(&got)
	run.join(&got)
	if run.divide(8); !slices.Equal(run.Noise, []int64{40, 0, 0}) || !slices.Equal(run.Uneven, []int64{0, 40, 0}) {
		t.Errorf("of two stretches %+v a step", run)
	}
	if !slices.Equal(got.Noise, []int64{160, 0, 0}) {
		t.Error("the first stretch was changed")
	}
}

// TestUnevenMicrobatches: rank 1 takes 40 less than its peers in the first micro-batch and as much more in the second, which is no less; where
// it does not, it takes 40 less. Stages of other names count by themselves.
func TestUnevenMicrobatches(t *testing.T) {
	for second, want := range map[[2]int64]int64{{110, 0}: 0, {70, 0}: 160, {110, 1}: 160} { // of rank 1 in the second, whether that is another stage
		d := division(0, repeated(4, 70, 30, 70, 70), repeated(4, 70, second[0], 70, 70))
		d.Stages[0].Name, d.Stages[1].Name = "backward@0", "backward@1"
		if second[1] == 1 {
			d.Stages[1].Name = "backward_device@1"
		}
		if got := newSeries(d, nil).lostTime().Uneven; got[0] != want || got[1] != 0 {
			t.Errorf("%d in the second, another stage %d: %v, want %d", second[0], second[1], got, want)
		}
	}
}

// TestSpread: a rank that is late a little in each of several stages is late by their sum where the ranks synchronise.
func TestSpread(t *testing.T) {
	stage := repeated(10, 100, 100, 103, 100)
	if got := newSeries(division(0, stage, stage, stage, stage), nil).lostTime(); got.Spread != 120 || got.Noise[1] != 30 {
		t.Errorf("%+v, want 4 · 3 in each of 10 steps", got)
	}
}

// TestLostOnce: what happens a few times is told as that, and hides nothing.
func TestLostOnce(t *testing.T) {
	for times, want := range map[int]int64{mostOnce: 0, mostOnce + 1: (mostOnce + 1) * 3000} {
		rows := repeated(60, 100, 100, 100, 100)
		for i := range times {
			rows[7*i+3][1] += 3000
		}
		if got := newSeries(division(0, rows), nil).lostTime(); got.Noise[0] != want || got.Spread != want {
			t.Errorf("%d times: %+v, want %d", times, got, want)
		}
	}
}

// TestUnevenOfTwo: of two ranks nobody can say whether one takes less or the other takes more.
func TestUnevenOfTwo(t *testing.T) {
	if got := newSeries(division(0, repeated(4, 70, 30)), nil).lostTime(); got.Uneven[0] != 0 || got.Noise[0] != 4*40 {
		t.Errorf("%+v", got)
	}
}

// TestUnclosed: rank 1 enters the point 30 later than its stages say, which the waits of the others show, but where time in no
// stage was recorded.
func TestUnclosed(t *testing.T) {
	d := division(0, repeated(5, 100, 100, 100, 100))
	for n := range d.Intervals {
		for r := range d.Ranks {
			if d.Spent[0][n*d.Ranks+r] += 30; r == 1 {
				d.Spent[0][n*d.Ranks+r] = 0
			}
		}
	}
	if got := newSeries(d, nil).lostTime().Unclosed; got != 150 {
		t.Errorf("%d, want 150", got)
	}
	d.Stages[0].Role = points.Rest
	if got := newSeries(d, nil).lostTime().Unclosed; got != 0 {
		t.Errorf("where it was recorded %d", got)
	}
}

// TestNobodyIsLateInCollective: who is in a collective for longer waits for the others, and is no straggler; in other stages it is.
func TestNobodyIsLateInCollective(t *testing.T) {
	for role, want := range map[points.Role]int{points.Undeclared: 1, points.Collective: 0} {
		d := division(0, repeated(40, 100, 100, 100, 100), repeated(40, 50, 50, 150, 50))
		d.Stages[1].Role = role
		if got := Peel([]*points.Division{d}, 0, Options{}).Terms; len(got) != want {
			t.Errorf("role %d: %+v", role, got)
		}
		s := newSeries(d, nil)
		if got := s.limits(Options{}.fillDefaults()); (got[1].MayHide == 50) != (role == points.Collective) {
			t.Errorf("role %d: %+v", role, got[1])
		}
	}
}
