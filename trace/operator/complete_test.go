package operator

import (
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
	"testing"
)

// TestComplete: a replica that lacks a stage is left out, and the rest is as
// if it had never been there; whole traces and hopeless ones stay.
func TestComplete(t *testing.T) {
	make := func(replicas, stages int, lost func(dp, pp int) bool) *Trace {
		o := &Trace{Layout: Layout{DP: replicas, PP: stages}, Steps: []int64{7}, Names: []string{"forward-compute"}}
		for pp := range stages {
			for dp := range replicas {
				if lost(dp, pp) {
					continue
				}
				role, _ := trace.NewRole(trace.Coord{Axis: trace.DataParallel, Index: dp}, trace.Coord{Axis: trace.PipelineParallel, Index: pp})
				r := int32(len(o.Ranks))
				o.Ranks = append(o.Ranks, trace.Rank{ID: pp*replicas + dp, Role: role})
				for _, c := range o.small() {
					*c = append(*c, 0)
				}
				o.Rank[r], o.Group[r] = r, -1
				o.Start, o.Dur = append(o.Start, int64(100*dp+pp)), append(o.Dur, 5)
			}
		}
		return o
	}
	part := make(4, 2, func(dp, pp int) bool { return dp == 1 && pp == 1 })
	got := part.Complete()
	var ids []int
	for _, r := range got.Ranks {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, []int{0, 2, 3, 4, 6, 7}) || !slices.Equal(got.Start, []int64{0, 200, 300, 1, 201, 301}) || !slices.Equal(got.Rank, []int32{0, 1, 2, 3, 4, 5}) {
		t.Errorf("ranks %v, starts %v at %v", ids, got.Start, got.Rank)
	}
	if n := got.Notes[len(got.Notes)-1]; n.Kind != input.NoteMissingRanks {
		t.Errorf("notes %v", got.Notes)
	}
	if g, err := got.Grid(); err != nil || g.Replicas != 3 {
		t.Errorf("the rest is no grid: %v", err)
	}
	if len(part.Ranks) != 7 || len(part.Start) != 7 {
		t.Error("the trace itself was changed")
	}
	whole := make(3, 2, func(int, int) bool { return false })
	hopeless := make(2, 2, func(dp, pp int) bool { return dp == pp })
	if whole.Complete() != whole || hopeless.Complete() != hopeless {
		t.Error("a trace with nothing to leave out is not returned as it is")
	}
}
