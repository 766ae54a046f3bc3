package frontier_test

import (
	"testing"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// TestLagAndGap: of ranks that are done after 10, 20, 30 and 50 ms, the latest lags the median by 25 and the second by 20; a stage
// that the others catch up in adds nothing to the lag, and one that it falls behind in adds 6.
func TestLagAndGap(t *testing.T) {
	const ms = 1_000_000
	w := &trace.Window{Run: "hand", WorldSize: 4, Ranks: []trace.Rank{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}}, Schema: trace.Schema{Stages: []string{"a", "b", "c"}}}
	for range 3 {
		w.Durations = append(w.Durations,
			10*ms, 20*ms, 30*ms, 50*ms,
			35*ms, 25*ms, 15*ms, 5*ms, // done after 45, 45, 45 and 55
			4*ms, 4*ms, 4*ms, 10*ms) // after 49, 49, 49 and 65
	}
	a, err := frontier.Analyze(w, frontier.Options{Cut: frontier.CutStep})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ advance, lag, increase, gap int64 }{{50, 25, 25, 20}, {5, 10, 0, 10}, {10, 16, 6, 16}} {
		s := a.Main.Stages[i]
		if s.Advance != 3*want.advance*ms || s.Lag != 3*want.lag*ms || s.LagIncrease != 3*want.increase*ms || s.Gap != 3*want.gap*ms {
			t.Errorf("%s: advance %d, lag %d, more lag %d, gap %d ns in 3 steps, want %v ms in each", s.Name, s.Advance, s.Lag, s.LagIncrease, s.Gap, want)
		}
	}
}

// TestTwoRanks: of two ranks the latest lags the median, which is between them, by half of the gap.
func TestTwoRanks(t *testing.T) {
	w := &trace.Window{Run: "hand", WorldSize: 2, Ranks: []trace.Rank{{ID: 0}, {ID: 1}}, Schema: trace.Schema{Stages: []string{"a", "b"}},
		Durations: []int64{10e6, 30e6, 20e6, 4e6}}
	a, err := frontier.Analyze(w, frontier.Options{Cut: frontier.CutStep})
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Main.Stages[0]; s.Advance != 30e6 || s.Lag != 10e6 || s.Gap != 20e6 {
		t.Errorf("%+v, want 30, 10 and 20 ms", s)
	}
	if s := a.Main.Stages[1]; s.Advance != 4e6 || s.Lag != 2e6 || s.LagIncrease != 0 || s.Gap != 4e6 {
		t.Errorf("%+v, want 4, 2, 0 and 4 ms", s)
	}
}
