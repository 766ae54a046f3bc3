package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/stagename"
)

// functions are what ran in a stage of four ranks: a line that takes rank 2 so much
// longer from step 10 on, and one in which all others wait for it.
func functions(late int64) *operator.Totals {
	t := &operator.Totals{Run: "r", Stages: []string{"backward"}, Names: []string{"sleep at train.py:14", "run_backward at torch/graph.py:1100", "loop at train.py:14", "nn.Module: x"}, Functions: true}
	for r := range 4 {
		t.Ranks = append(t.Ranks, trace.Rank{ID: r})
	}
	for s := range 20 {
		t.Steps = append(t.Steps, int64(s))
		for r := range 4 {
			at := operator.Total{Rank: int32(r), Step: int32(s), Count: 1, Dur: 1e6}
			for name := range 4 {
				row := at
				switch row.Name = int32(name); {
				case s >= 10 && r == 2 && name == 0:
					row.Dur += late * 3 / 4
				case s >= 10 && r == 2 && name == 2: // of the same line
					row.Dur += late / 4
				case s >= 10 && r != 2 && name == 1:
					row.Dur += late
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		what    string
		rank    int
		excess  int64
		first   int64
		confirm bool
		outside bool
	}{
		{"outside of the stages", 2, 60e6, 10, true, true},
		{"the line takes what the rank is late by", 2, 60e6, 10, true, false},
		{"less than half of it", 2, 130e6, 10, false, false},
		{"half of a stretch is struck", 2, 110e6, 0, false, false},
		{"who waits for it is not there", 1, 60e6, 10, false, false},
		{"no struck step was profiled", 2, 60e6, 20, false, false},
		{"ranks that were not profiled are no peers", 2, 60e6, 15, true, false},
	} {
		all := functions(60e6)
		if c.first == 15 { // two ranks of four; a line that both take as long is not named
			all.Rows = slices.DeleteFunc(all.Rows, func(r operator.Total) bool { return r.Step >= 15 && r.Rank > 0 && r.Rank != 2 })
			for i := range all.Rows {
				if r := &all.Rows[i]; r.Name == 3 {
					r.Dur = 500e6
				}
			}
			all.Names[3] = "sleep at train.py:99"
		}
		j := &judge{run: &run{functions: []*operator.Totals{all}}}
		stage := "backward"
		if c.outside {
			all.Stages[0], stage = "", stagename.Residual
		}
		claims := j.addEvidence([]Finding{{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &c.rank, Stage: stage},
			Cost: Cost{Excess: c.excess, Struck: Struck{First: c.first, Last: 29}}, Evidence: []evidence.Observation{evidence.Replay{}}}})
		f := &claims[0]
		e, found := evidence.Find[evidence.SpentIn](f.Evidence)
		if found != c.confirm {
			t.Errorf("%s: %v, want %v", c.what, found, c.confirm)
		}
		if found && (f.Source == nil || *f.Source != evidence.SourceLine{File: "train.py", Line: 14, Call: "sleep"} || e.Own != 62e6 || e.Peers != 2e6 || e.Steps != min(10, 20-int(c.first))) {
			t.Errorf("%s: %+v at %+v", c.what, e, f.Source)
		}
	}
}
