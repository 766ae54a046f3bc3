package diagnose

import (
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestSetsWithWall: where the ranks of sets wait for one another alone, with wall times, the rank that its
// set waits for is named, and not those that wait.
func TestSetsWithWall(t *testing.T) {
	for _, every := range []int64{1, 3} {
		var sets [][]*trace.Window
		for i := range 3 {
			s := spec(4, 150, uint64(i+1))
			s.Schedule.Windows, s.Side.Every = 4, 0
			if i == 1 {
				s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 100, Ranks: []int{1}, When: simulate.When{Every: every}}}
			}
			sets = append(sets, windows(t, s))
		}
		session := New(Options{})
		for i := range sets[0] {
			if err := session.Add(asOneJob(sets, i)); err != nil {
				t.Fatal(err)
			}
		}
		v := session.Verdict()
		if len(v.Findings) != 1 || v.Findings[0].Rank == nil || *v.Findings[0].Rank != 5 || v.Findings[0].Stage != simulate.StageData {
			t.Errorf("every %d: %+v, expected rank 5 in %s alone", every, v.Findings, simulate.StageData)
		}
	}
}

// asOneJob is window i of one job, whose sets are the ranks of several.
func asOneJob(sets [][]*trace.Window, i int) *trace.Window {
	w := *sets[0][i]
	w.Run, w.Ranks, w.Durations, w.Wall, w.Side, w.Epochs = "sets", nil, nil, nil, nil, nil
	w.WorldSize = 0
	for k, of := range sets {
		for _, r := range of[i].Ranks {
			r.Role = trace.Role{{Axis: "dp", Index: k}, {Axis: "tp", Index: r.ID}}
			r.ID += w.WorldSize
			w.Ranks = append(w.Ranks, r)
		}
		w.WorldSize += of[i].WorldSize
	}
	for t := range sets[0][i].Steps() {
		for s := range w.Schema.Stages {
			for _, of := range sets {
				R := len(of[i].Ranks)
				w.Durations = append(w.Durations, of[i].Step(t)[s*R:(s+1)*R]...)
			}
		}
		for _, of := range sets {
			w.Wall = append(w.Wall, of[i].WallOf(t)...)
		}
	}
	return &w
}

// TestSetsLater: of later stretches, too, ranks are compared inside their sets.
func TestSetsLater(t *testing.T) {
	var sets [][]*trace.Window
	for i := range 3 {
		s := spec(4, 150, uint64(i+1))
		s.Schedule.Windows, s.Side.Every = 10, 0
		s.Stages[1].Work.Mean *= simulate.Millis(1 + i)
		if i == 1 {
			s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 100, Ranks: []int{1}}}
		}
		sets = append(sets, windows(t, s))
	}
	for _, recent := range []int{0, 1024} {
		session := New(Options{Recent: recent})
		for i := range sets[0] {
			if err := session.Add(asOneJob(sets, i)); err != nil {
				t.Fatal(err)
			}
		}
		v := session.Verdict()
		if len(v.Findings) != 1 || v.Findings[0].Rank == nil || *v.Findings[0].Rank != 5 {
			t.Errorf("of the last %d steps: %+v, expected rank 5 alone", recent, v.Findings)
		}
	}
}
