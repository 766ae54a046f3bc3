package clock_test

import (
	"testing"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// clockJob is two ranks on one stage in four steps: a gather that ends for both
// at once, and the last collective, at whose end rank 1 is written down late.
func clockJob(t *testing.T, ahead, clip int64) (*operator.Trace, *operator.Grid) {
	t.Helper()
	return clockJobOf(t, 2, func(rank, _ int) int64 { return int64(rank) * ahead }, clip)
}

// clockJobOf returns the same of so many ranks, each of which is ahead by a time in each step.
func clockJobOf(t *testing.T, ranks int, ahead func(rank, step int) int64, clip int64) (*operator.Trace, *operator.Grid) {
	t.Helper()
	o := &operator.Trace{Layout: operator.Layout{DP: ranks, PP: 1}, Steps: []int64{0, 1, 2, 3}, Names: []string{"params-all-gather", "optimizer-clip-main-grad"}}
	for dp := range ranks {
		role, err := trace.NewRole(trace.Coord{Axis: trace.DataParallel, Index: dp}, trace.Coord{Axis: trace.PipelineParallel})
		if err != nil {
			t.Fatal(err)
		}
		o.Ranks = append(o.Ranks, trace.Rank{ID: dp, Role: role})
		for step := range 4 {
			for name, start := range []int64{1_000_000, 9_000_000} {
				for _, c := range []*[]int32{&o.Rank, &o.Step, &o.Name, &o.Lane, &o.Seq, &o.Chunk, &o.GlobalChunk, &o.Microbatch, &o.Group} {
					*c = append(*c, 0)
				}
				row := len(o.Start)
				o.Rank[row], o.Step[row], o.Name[row], o.Group[row] = int32(dp), int32(step), int32(name), -1
				start += ahead(dp, step)
				dur := int64(500_000)
				if name == 1 {
					dur += int64(dp) * clip
				}
				o.Start, o.Dur = append(o.Start, start), append(o.Dur, dur)
			}
		}
	}
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	g, err := o.Grid()
	if err != nil {
		t.Fatal(err)
	}
	w, err := o.Wire(g)
	if err != nil {
		t.Fatal(err)
	}
	o.Join(g, w)
	return o, g
}

// TestAlignOperators: a clock that is off is brought back; a last collective that ends
// late on one rank is no clock, since the other collectives say so; and a time
// that is more than an hour off is no clock either.
func TestAlignOperators(t *testing.T) {
	o, g := clockJob(t, 3_000_000, 0)
	aligned, off := clock.AlignOperators(o, g)
	if off != 3_000_000 {
		t.Errorf("a clock 3 ms off is said to be %d ns off", off)
	}
	if _, off := clock.AlignOperators(clockJob(t, 3_500_000_000_000, 0)); off != 3_500_000_000_000 {
		t.Errorf("a clock 58 minutes off is said to be %d ns off", off)
	}
	for row := range aligned.Start {
		if d := aligned.Start[row] - aligned.Start[row%8]; d != 0 {
			t.Errorf("row %d still starts %d ns apart", row, d)
		}
	}
	for _, test := range []struct {
		name        string
		ahead, clip int64
	}{{"right clocks", 0, 0}, {"a late end", 0, 3_000_000}, {"an end that is off by more than the clock", 1_000_000, 2_000_000}, {"more than an hour", 3_700_000_000_000, 0}} {
		o, g := clockJob(t, test.ahead, test.clip)
		if got, off := clock.AlignOperators(o, g); got != o || off != 0 {
			t.Errorf("%s: aligned by %d ns", test.name, off)
		}
	}
}
