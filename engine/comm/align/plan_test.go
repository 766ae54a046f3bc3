package align

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/trace/nccl"
)

// planned makes calls of one communicator of 4 ranks out of "op count opCount".
func planned(calls ...Call) []Call {
	for i := range calls {
		c := &calls[i]
		c.Ranks = max(c.Ranks, 4)
		c.Send, c.Recv = uint64(0x100+i), uint64(0x100+i)
		if c.Count == 1<<40 { // stands for none
			c.Count = 0
		}
	}
	return calls
}

// NCCL's rules of launching, by hand from its sources: enqueue.cc and group.cc.
func TestPlan(t *testing.T) {
	const none = 1 << 40
	one := Call{Op: nccl.AllReduce, Count: 8, OpCount: 3}
	one.Ranks = 1
	tests := []struct {
		name  string
		calls []Call
		want  []string
		why   []Reason
	}{
		{"each call by itself", planned(Call{Op: nccl.AllReduce, Count: 8}, Call{Op: nccl.AllGather, Count: 8, OpCount: 1}),
			[]string{"AllReduce [0]", "AllGather [1]"}, []Reason{Launches, Launches}},
		{"a group of collectives is named after its largest", planned(Call{Op: nccl.AllGather, Count: 8}, Call{Op: nccl.ReduceScatter, Count: 80}, Call{Op: nccl.AllGather, Count: 8}),
			[]string{"ReduceScatter [0 1 2] mixed"}, []Reason{Launches, Launches, Launches}},
		{"of equals the first", planned(Call{Op: nccl.AllGather, Count: 8}, Call{Op: nccl.AllGather, Count: 8}),
			[]string{"AllGather [0 1]"}, []Reason{Launches, Launches}},
		{"sends and receives", planned(Call{Op: nccl.Send, Count: 8}, Call{Op: nccl.Recv, Count: 8}, Call{Op: nccl.Recv, Count: 8, OpCount: 1}),
			[]string{"SendRecv [0 1]", "SendRecv [2]"}, []Reason{Launches, Launches, Launches}},
		{"both kinds in a group are two kernels", planned(Call{Op: nccl.Send, Count: 8}, Call{Op: nccl.AllReduce, Count: 8}),
			[]string{"SendRecv [0]", "AllReduce [1]"}, []Reason{Launches, Launches}},
		{"one rank, nothing, copies, signals", append([]Call{one}, planned(Call{Op: nccl.AllReduce, Count: none}, Call{Op: nccl.AllGather, Count: 8, NoKernel: true}, Call{Op: nccl.Signal, Count: 1})...),
			nil, []Reason{OneRank, NoElements, CopyEngine, OneSided}},
		{"a line that stands twice", slices.Repeat(planned(Call{Op: nccl.AllReduce, Count: 8}), 2),
			[]string{"AllReduce [0]"}, []Reason{Launches, Duplicate}},
		{"launches that were not logged", planned(Call{Op: nccl.AllReduce, Count: 8, OpCount: 5}, Call{Op: nccl.AllReduce, Count: 8, OpCount: 8}),
			[]string{"AllReduce [0]", "lost 6", "lost 7", "AllReduce [1]"}, []Reason{Launches, Launches}},
		{"a jump that nobody can have lost", planned(Call{Op: nccl.AllReduce, Count: 8}, Call{Op: nccl.AllReduce, Count: 8, OpCount: 1 << 60}),
			[]string{"AllReduce [0]", "AllReduce [1]"}, []Reason{Launches, Launches}},
	}
	for _, tt := range tests {
		launches, why := Plan(tt.calls, 10)
		var got []string
		for _, l := range launches {
			text := fmt.Sprintf("%v %v", l.Op, l.Calls)
			if l.Lead < 0 {
				text = fmt.Sprintf("lost %d", l.Count)
			}
			if l.Mixed {
				text += " mixed"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s, want −, got +:\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.why, why); diff != "" {
			t.Errorf("%s, reasons, want −, got +:\n%s", tt.name, diff)
		}
	}
}
