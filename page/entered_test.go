package page

import (
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/trace"
)

// TestEntered: of each step the own delays before all of its calls add up, columns have
// the largest of theirs, and waits after the last call of a stage are drawn at its end.
func TestEntered(t *testing.T) {
	var e entryDelays
	e.keep([]drawing{{step: 11}})
	for step := range int64(4) {
		for rank, own := range []int64{0, 7, -3} {
			if step == 3 && rank == 2 {
				continue
			}
			at := 1000*step + int64(10*rank)
			e.see(arrivals.Call{Rank: 8 - rank, Step: 10 + step, Stage: "b", Enter: at, Release: at + 400, Whole: true, Delay: own})
			e.see(arrivals.Call{Rank: 8 - rank, Step: 10 + step, Stage: "b", Enter: at + 100, Release: 1000*step + 250, Whole: true, Delay: own * step})
		}
	}
	e.see(arrivals.Call{Rank: 8, Step: -1, Delay: 1e9})
	if got := fmt.Sprint(e.largestDelays(10, 1), e.largestDelays(10, 2), e.largestDelays(12, 4), e.largestDelays(99, 1)); got != "[0 7 0] [0 14 0] [0 28 0] []" {
		t.Errorf("own delays %s", got)
	}
	if c := e.columns(); len(c.all) != 4 || c.all[3].first != 13 || !isNaN(at32(c.all[3].late, 2)) {
		t.Errorf("columns %+v", c.all)
	}
	o := &outline{run: &run{stages: []Stage{{Name: "a"}, {Name: "b"}}, members: []trace.Rank{{ID: 8}, {ID: 5}}}}
	d := drawing{step: 11, lanes: []lane{{rank: 0, spans: []span{{series: 0, to: 100, busy: 10}, {series: 1, from: 100, busy: 100, to: 500}}}, {rank: 1, spans: []span{{series: 1, busy: 5, to: 50}}}}}
	e.shade(&d, o)
	// Rank 8 entered its last call at 1100, and the last release is at 1400.
	if got, want := fmt.Sprint(d.lanes), "[{0 0 [{0 0 10 100 0} {1 100 100 200 0} {1 200 500 500 0}]} {1 0 [{1 0 5 50 0}]}]"; got != want {
		t.Errorf("lanes %s, want %s", got, want)
	}
}
