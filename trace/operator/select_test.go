package operator

import (
	"github.com/sfstat/sfstat/trace"
	"testing"
)

func TestSelectionOfOperators(t *testing.T) {
	ops := &Trace{Run: "job", Ranks: []trace.Rank{{ID: 0}, {ID: 3}}, Steps: []int64{5, 7}, Names: []string{"f", "g"}}
	for r := range int32(2) {
		for s := range int32(2) {
			for n := range int32(2) {
				if n == 1 && s == 1 {
					continue // g is in step 5 alone
				}
				for _, c := range []struct {
					column *[]int32
					value  int32
				}{{&ops.Rank, r}, {&ops.Step, s}, {&ops.Name, n}, {&ops.Lane, 0}, {&ops.Seq, 0}, {&ops.Chunk, -1}, {&ops.GlobalChunk, -1}, {&ops.Microbatch, -1}, {&ops.Group, -1}} {
					*c.column = append(*c.column, c.value)
				}
				ops.Start, ops.Dur = append(ops.Start, int64(100*r+10*s+n)), append(ops.Dur, 1)
			}
		}
	}
	if ops.Select(&trace.Selection{}) != ops || ops.Select(&trace.Selection{Runs: []string{"x"}}) != nil || ops.Select(&trace.Selection{Steps: &trace.StepRange{First: 6, Last: 6}}) != nil {
		t.Error("all, another run, no step")
	}
	got := ops.Select(&trace.Selection{Steps: &trace.StepRange{First: 6, Last: 9}, Ranks: []int{3}})
	if err := got.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	if got.Len() != 1 || got.Start[0] != 110 || got.Ranks[0].ID != 3 || got.Steps[0] != 7 || len(got.Names) != 1 || got.Names[0] != "f" {
		t.Errorf("%+v", got)
	}
	totals := &Totals{Run: "job", Ranks: ops.Ranks, Steps: ops.Steps, Rows: []Total{{Rank: 0, Step: 0}, {Rank: 1, Step: 1, Count: 9}}}
	if got := totals.Select(&trace.Selection{Ranks: []int{3}}); len(got.Rows) != 1 || got.Rows[0] != (Total{Count: 9}) && got.Rows[0] != (Total{Step: 1, Count: 9}) {
		t.Errorf("%+v", got)
	}
}
