package profiler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/profile"
)

// TestCategories: accounts by hand, in µs. The host's steps are 0–100 and
// 100–200, forward 10–30 and 110–130.
func TestCategories(t *testing.T) {
	const reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
	for name, tt := range map[string]struct {
		f    func(f feed) feed
		want []profile.Categories
	}{
		"streams that overlap count once": {func(f feed) feed {
			return f.kernel("A", 1, 11, 20, 40).kernel("B", 2, 12, 30, 60).kernel("C", 3, 13, 30, 50).kernel("D", 1, 112, 150, 160)
		}, []profile.Categories{{Start: 0, End: 100, First: 20, Last: 60, Compute: 40, Idle: 60}, {Start: 100, End: 200, First: 150, Last: 160, Compute: 10, Idle: 90}}},
		"a kernel that crosses a step is the earlier one's": {func(f feed) feed {
			return f.kernel("A", 1, 12, 20, 150).kernel("A", 1, 112, 160, 190)
		}, []profile.Categories{{Start: 0, End: 150, First: 20, Last: 150, Compute: 130, Idle: 20}, {Start: 150, End: 200, First: 160, Last: 190, Compute: 30, Idle: 20}}},
		"a late collective beside the next step's work counts where it runs": {func(f feed) feed {
			return f.kernel("A", 1, 12, 20, 90).kernel(reduce, 2, 14, 80, 140).kernel("B", 1, 111, 120, 170)
		}, []profile.Categories{{Start: 0, End: 140, First: 20, Last: 140, Compute: 90, Communication: 60, Idle: 20, ExposedComm: 30},
			{Start: 140, End: 200, First: 140, Last: 170, Compute: 30, Idle: 30}}},
		"copies alone": {func(f feed) feed {
			return f.kernel("Memcpy HtoD", 1, 12, 20, 30).kernel("Memset", 2, 13, 25, 35).kernel("Memcpy DtoH", 1, 112, 120, 130)
		}, []profile.Categories{{Start: 0, End: 100, First: 20, Last: 35, Memory: 15, Idle: 85}, {Start: 100, End: 200, First: 120, Last: 130, Memory: 10, Idle: 90}}},
		"a copy does not cover communication": {func(f feed) feed {
			return f.kernel(reduce, 2, 12, 20, 60).kernel("Memcpy HtoD", 1, 13, 30, 50).kernel("A", 1, 14, 50, 55)
		}, []profile.Categories{{Start: 0, End: 100, First: 20, Last: 60, Compute: 5, Communication: 40, Memory: 20, Idle: 60, ExposedComm: 35}, {Start: 100, End: 200, Idle: 100}}},
		"work that no step launched counts where it runs": {func(f feed) feed {
			return f.kernel("A", 1, -20, -10, 40).kernel("A", 1, 112, 120, 130)
		}, []profile.Categories{{Start: 0, End: 100, First: 0, Last: 40, Compute: 40, Idle: 60}, {Start: 100, End: 200, First: 120, Last: 130, Compute: 10, Idle: 90}}},
		"no length": {func(f feed) feed { return f.kernel("A", 1, 12, 20, 20) },
			[]profile.Categories{{Start: 0, End: 100, Idle: 100}, {Start: 100, End: 200, Idle: 100}}},
		"nothing": {func(f feed) feed { return f }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.f(newFeed().on(1, "ProfilerStep#0", 0, 100).on(1, "ProfilerStep#1", 100, 200).on(1, "forward", 10, 30).on(1, "forward", 110, 130)).finish()
			var got []profile.Categories
			for _, s := range r.Steps {
				if s.Time != nil {
					got = append(got, inUnits(*s.Time, us))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// inUnits is the account in units of so many nanoseconds.
func inUnits(c profile.Categories, unit int64) profile.Categories {
	for _, p := range []*int64{&c.Start, &c.End, &c.First, &c.Last, &c.Compute, &c.Communication, &c.Memory, &c.Idle, &c.ExposedComm} {
		*p /= unit
	}
	return c
}
