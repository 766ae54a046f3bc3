package points_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
)

// sometimes returns a job whose ranks synchronise in every n-th step at the end of a stage, and leave it up to loose ns apart.
func sometimes(seed uint64, ranks, steps, wait, every, phase int, walled bool, loose float64) *points.Steps {
	rng := rand.New(rand.NewPCG(seed, 3))
	return walk(rng, ranks, steps, walled, func(step, stage int) bool { return stage == wait && step%every == phase },
		func() int64 { return 5e6 + int64(loose*rng.Float64()) })
}

// TestMeetings: in which stage ranks meet, and in one step of how many, whichever of them that is, however many ranks there are; of a
// job whose ranks meet in every step, or never, nothing of the kind.
func TestMeetings(t *testing.T) {
	for _, ranks := range []int{2, 3, 8} {
		for _, walled := range []bool{true, false} {
			for _, every := range []int{2, 3, 7, 16} {
				wait, phase := every%3, every-1-every%2
				t.Run(fmt.Sprintf("%d ranks, one of %d, walled %v", ranks, every, walled), func(t *testing.T) {
					s := sometimes(uint64(ranks), ranks, 240, wait, every, phase, walled, 0)
					f := points.Find(s, points.Gates{})
					if f.Meetings.Every != every || f.Meetings.Point.Stage != wait || f.Meetings.Point.Evidence != points.Shown || len(f.Points) != 0 {
						t.Fatalf("%+v and points %+v, want stage %d in one step of %d", f.Meetings, f.Points, wait, every)
					}
					d := points.Divide(s, points.Gates{})
					if first := d.Head[0]; d.Every != every || first%every != phase || first < every || first >= 2*every || d.Tail[0] != first-every || d.Intervals != (240-1-phase)/every {
						t.Errorf("%d intervals of %d steps from step %d, after %d", d.Intervals, d.Every, first, d.Tail[0])
					}
					if d.Steps() != 240 {
						t.Errorf("%d steps, want 240 with those before the first meeting and behind the last", d.Steps())
					}
				})
			}
			for _, wait := range []int{-1, 1} {
				if f := points.Find(made(uint64(ranks), ranks, 240, wait, walled), points.Gates{}); f.Meetings.Every != 0 {
					t.Errorf("%d ranks, wait in stage %d of each step: %+v", ranks, wait, f.Meetings)
				}
			}
		}
	}
}

// TestMeetingsApart: ranks leave a meeting less than 0.15 times as far apart as they arrive at it. Between two lie eleven stages of 1 ms of
// noise each; what is loose at each end of them, of l ms, leaves ranks √2·l apart, and adds l to the arrivals. A little looser they meet as well, and
// not in one of eight steps because that is more clearly so.
func TestMeetingsApart(t *testing.T) {
	for apart, want := range map[float64]int{0.07: 4, 0.13: 4, 0.17: 0, 0.2: 0, 0.8: 0} {
		l := apart * math.Sqrt(11/(2-apart*apart))
		s := sometimes(1, 32, 240, 1, 4, 1, true, l*math.Sqrt(12)*1e6)
		if f := points.Find(s, points.Gates{}); f.Meetings.Every != want {
			t.Errorf("%v as far apart: one step of %d, want %d", apart, f.Meetings.Every, want)
		}
	}
}

// TestMeetingsDivided: by hand. Ranks meet in b in steps 1, 4 and 7; of the interval from 1 to 4 each time is a third of what its steps
// take, and of c what step 1 takes is in front.
func TestMeetingsDivided(t *testing.T) {
	s := &points.Steps{Ranks: 2, Stages: []points.Stage{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for step := range 9 {
		x := int64(3 * (step + 1))
		s.Durations = append(s.Durations, 100*x, 200*x, 10*x, 20*x, x, 2*x)
	}
	s.Known, s.KnownMeetings = []points.Point{{Stage: 1, Evidence: points.Shown}}, points.Meetings{Point: points.Point{Stage: 1, Evidence: points.Shown}, Every: 3}
	for at := range 9 { // both leave b of steps 1, 4 and 7 together
		if at%3 == 1 {
			var since [2]int64 // ns of each rank since its exit from the meeting before
			for u := max(0, at-2); u <= at; u++ {
				row := s.Durations[u*6 : u*6+6]
				since[0], since[1] = since[0]+row[0]+row[2]+row[4], since[1]+row[1]+row[3]+row[5]
			}
			if at > 1 {
				row := s.Durations[(at-3)*6:]
				since[0], since[1] = since[0]+row[4], since[1]+row[5]
			}
			row := s.Durations[at*6:]
			since[0], since[1] = since[0]-row[4], since[1]-row[5]
			s.Durations[at*6+2] += since[1] - since[0]
		}
	}
	d := points.Divide(s, points.Gates{})
	if !slices.Equal(d.Head, []int{4, 7}) || !slices.Equal(d.Tail, []int{1, 4}) || d.Every != 3 || len(d.Pieces) != 4 {
		t.Fatalf("heads %v, tails %v, %+v", d.Head, d.Tail, d.Pieces)
	}
	// a of steps 2, 3, 4: 300·(3+4+5); b of 2 and 3: 30·(3+4); c of 2 and 3: 3·(3+4), and of step 1 in front: 3·2. A third of each.
	for i, want := range [][]int64{{1200, 2400}, {70, 140}, {7, 14}, {2, 4}} {
		if got := d.Work[i][:2]; !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", d.Pieces[i], got, want)
		}
	}
	if want := []int64{1279, 2558}; !slices.Equal(d.Arrivals[0][:2], want) {
		t.Errorf("arrivals %v, want %v", d.Arrivals[0][:2], want)
	}
	if got := d.Spent[0][1]; got != 20*15/3 {
		t.Errorf("the last rank is in b for %d, want 100", got)
	}
}

// TestMeetingsUnseen: ranks that meet in every step and leave it some milliseconds apart arrive far apart in every third alone. The steps between show
// neither that they wait nor that they do not, and nothing says that they meet in one of three.
func TestMeetingsUnseen(t *testing.T) {
	const ranks = 4
	rng := rand.New(rand.NewPCG(5, 5))
	s := &points.Steps{Ranks: ranks, Stages: []points.Stage{{Name: "a"}, {Name: "b"}}}
	before := make([]int64, ranks)
	for step := range 60 {
		arrive, last := make([]int64, ranks), int64(0)
		for r := range arrive {
			arrive[r] = int64(1e5 * rng.Float64())
			if step%3 == 2 && r > 1 {
				arrive[r] += int64(1e8 + 1e7*rng.NormFloat64())
			}
			last = max(last, before[r]+arrive[r])
		}
		b := make([]int64, ranks)
		for r := range b {
			left := last + 20e6 + int64(3e6*rng.Float64())
			b[r] = left - before[r] - arrive[r]
			before[r] = left
		}
		s.Durations = append(append(s.Durations, arrive...), b...)
	}
	if f := points.Find(s, points.Gates{}); f.Meetings.Every != 0 {
		t.Errorf("%+v, want no meetings in one of several steps", f.Meetings)
	}
}
