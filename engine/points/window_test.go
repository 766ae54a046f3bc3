package points_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
)

// TestFromWindow: durations and wall times are the window's, stages have the roles of their names, and ranks of two axes may
// synchronise in sets of either.
func TestFromWindow(t *testing.T) {
	w := &trace.Window{Schema: trace.Schema{Stages: []string{"data.next_wait", "model.forward", "custom"}}, Durations: make([]int64, 2*3*4), Wall: make([]int64, 2*4)}
	for r := range 4 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Role: trace.Role{{Axis: "dp", Index: r / 2}, {Axis: "tp", Index: r % 2}}})
	}
	s := points.WindowSteps(w)
	if s.Validate() != nil || s.Len() != 2 || s.Ranks != 4 || len(s.Wall) != 8 {
		t.Errorf("%d steps of %d ranks, %v", s.Len(), s.Ranks, s.Validate())
	}
	if want := []points.Stage{{Name: "data.next_wait", Role: points.Data}, {Name: "model.forward", Role: points.Forward}, {Name: "custom"}}; !slices.Equal(s.Stages, want) {
		t.Errorf("stages %v, want %v", s.Stages, want)
	}
	if len(s.Splits) != 2 || !slices.EqualFunc(s.Splits[0], [][]int{{0, 2}, {1, 3}}, slices.Equal) || !slices.EqualFunc(s.Splits[1], [][]int{{0, 1}, {2, 3}}, slices.Equal) {
		t.Errorf("sets %v", s.Splits)
	}
	if s := points.WindowSteps(&trace.Window{}); s.Validate() == nil {
		t.Error("a window of nothing has valid steps")
	}
}

// TestValidate: what does not fit is refused by field, with what was found and what is expected.
func TestValidate(t *testing.T) {
	for want, change := range map[string]func(s *points.Steps){
		"Ranks is 0, expected 1 or more": func(s *points.Steps) { s.Ranks = 0 },
		"Stages is empty":                func(s *points.Steps) { s.Stages = nil },
		"Durations has 11 values, expected a multiple of 6: [step][stage][rank], of 2 stages": func(s *points.Steps) { s.Durations = s.Durations[:11] },
		"Durations has 0 values": func(s *points.Steps) { s.Durations = nil },
		"Wall has 5 values, expected 6: [step][rank], of 2 steps and 3 ranks": func(s *points.Steps) { s.Wall = s.Wall[:5] },
		`Durations of step 1, stage "b", rank 2 is -7 ns, expected 0 or more`: func(s *points.Steps) { s.Durations[11] = -7 },
		"Wall of step 1, rank 0 is -1 ns, expected 0 or more":                 func(s *points.Steps) { s.Wall[3] = -1 },
		"Breaks[0] is step 2, expected steps from 0 to 1":                     func(s *points.Steps) { s.Breaks = []int{2} },
		"Breaks[1] is step 0":                                         func(s *points.Steps) { s.Breaks = []int{1, 0} },
		`Named is "c", expected the name of a stage`:                  func(s *points.Steps) { s.Named = "c" },
		"Known[1] is stage 1, expected stages from 0 to 1, ascending": func(s *points.Steps) { s.Known = []points.Point{{Stage: 1}, {Stage: 1}} },
		"KnownMeetings is stage 2 in every 4 steps": func(s *points.Steps) {
			s.KnownMeetings = points.Meetings{Point: points.Point{Stage: 2}, Every: 4}
		},
		"KnownMeetings is stage 0 in every 1 steps":                    func(s *points.Steps) { s.KnownMeetings.Every = 1 },
		"KnownWithin[0] is stage 2":                                    func(s *points.Steps) { s.KnownWithin = []points.Within{{Stage: 2}} },
		"KnownWithin[0].Sets has rank 3, expected each of 0 to 2 once": func(s *points.Steps) { s.KnownWithin = []points.Within{{Sets: [][]int{{0, 1}, {3}}}} },
		"Splits[1] has rank 1, expected each of 0 to 2 once":           func(s *points.Steps) { s.Splits = [][][]int{{{0, 1}, {2}}, {{0, 1}, {1, 2}}} },
		"KnownPeers has 2 ranks, expected all 3":                       func(s *points.Steps) { s.KnownPeers = [][]int{{0, 1}} },
	} {
		s := points.Steps{Stages: []points.Stage{{Name: "a"}, {Name: "b"}}, Ranks: 3, Durations: make([]int64, 12), Wall: make([]int64, 6), Breaks: []int{1}, Named: "b",
			Known: []points.Point{{Stage: 0}, {Stage: 1}}, KnownWithin: []points.Within{{Sets: [][]int{{0, 1}, {2}}}}, KnownPeers: [][]int{{2}, {0, 1}}}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, g := range []points.Gates{{Slope: 0.1}, {Slope: -1}, {Confidence: 1}, {Confidence: -0.5}} {
		if g.Validate() == nil {
			t.Errorf("%+v is accepted", g)
		}
	}
	if err := (points.Gates{}).Validate(); err != nil {
		t.Error(err)
	}
}
