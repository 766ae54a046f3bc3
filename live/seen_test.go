package live

import (
	"slices"
	"testing"
	"time"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// steps is a window of steps that last as long as given on each of three ranks, but that one
// rank stops its clock.
func steps(index, first int64, ns ...int64) recorded.Job {
	w := &trace.Window{Run: "job", Index: index, FirstStep: first, Ranks: make([]trace.Rank, 3), Schema: trace.Schema{Stages: []string{"a", "b"}}}
	for _, x := range ns {
		w.Durations = append(w.Durations, x/4, x/4, 0, x-x/4, x-x/4, 0)
	}
	return windowPiece(w)
}

// TestSeen: a line goes on with the windows of a run, and begins anew where they are read again.
func TestSeen(t *testing.T) {
	s := Seen{}
	for _, c := range []struct {
		item recorded.Job
		want []float64
	}{
		{steps(0, 0, 10, 20), []float64{10, 20}},
		{steps(0, 2, 30), []float64{10, 20, 30}},
		{steps(1, 3, 40), []float64{10, 20, 30, 40}},
		{steps(0, 0, 50), []float64{50}},
	} {
		s.See(c.item)
		if got := s["job"].Steps.Means(); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	item := steps(1, 1, 60)
	item.Windows[0].Epochs = []int64{5e9, 7e9, 6e9}
	if s.See(item); !s["job"].When.Equal(time.Unix(7, 0)) {
		t.Errorf("%v, want when the last rank began", s["job"].When)
	}
}

// TestLine: however long, a line has few points, each the mean of its steps.
func TestLine(t *testing.T) {
	var l Line
	for i := range int64(1000) {
		l.add(i)
	}
	got := l.Means()
	if len(got) != 63 || got[0] != 7.5 || got[61] != 61*16+7.5 || got[62] != (992+999)/2. {
		t.Errorf("%d points, %v: want 63 of 16 steps each but the last of 8", len(got), got)
	}
	if (&Line{}).Means() == nil || len((&Line{}).Means()) != 0 {
		t.Error("a line of nothing has points")
	}
}
