package align

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// planned makes calls of the first of groups.
func planned(calls ...comms.Call) (list []*comms.Call) {
	for i := range calls {
		c := &calls[i]
		c.Send, c.Recv = uint64(0x100+i), uint64(0x100+i)
		list = append(list, c)
	}
	return list
}

// groups are a communicator of four ranks and one of one.
var groups = []comms.Group{{Size: 4}, {Size: 1}}

// NCCL's rules of launching, by hand from its sources: enqueue.cc and group.cc.
func TestPlan(t *testing.T) {
	tests := []struct {
		name  string
		calls []*comms.Call
		want  []string
		why   []Reason
	}{
		{"each call by itself", planned(comms.Call{Op: nccl.AllReduce, Count: 8}, comms.Call{Op: nccl.AllGather, Count: 8, Launch: 1}),
			[]string{"AllReduce [0]", "AllGather [1]"}, []Reason{Launches, Launches}},
		{"a group of collectives is named after its largest", planned(comms.Call{Op: nccl.AllGather, Count: 8}, comms.Call{Op: nccl.ReduceScatter, Count: 80}, comms.Call{Op: nccl.AllGather, Count: 8}),
			[]string{"ReduceScatter [0 1 2] mixed"}, []Reason{Launches, Launches, Launches}},
		{"of equals the first", planned(comms.Call{Op: nccl.AllGather, Count: 8}, comms.Call{Op: nccl.AllGather, Count: 8}),
			[]string{"AllGather [0 1]"}, []Reason{Launches, Launches}},
		{"sends and receives", planned(comms.Call{Op: nccl.Send, Count: 8}, comms.Call{Op: nccl.Recv, Count: 8}, comms.Call{Op: nccl.Recv, Count: 8, Launch: 1}),
			[]string{"SendRecv [0 1]", "SendRecv [2]"}, []Reason{Launches, Launches, Launches}},
		{"both kinds in a group are two kernels", planned(comms.Call{Op: nccl.Send, Count: 8}, comms.Call{Op: nccl.AllReduce, Count: 8}),
			[]string{"SendRecv [0]", "AllReduce [1]"}, []Reason{Launches, Launches}},
		{"one rank, nothing, copies, signals", planned(comms.Call{Op: nccl.AllReduce, Count: 8, Launch: 3, Group: 1}, comms.Call{Op: nccl.AllReduce}, comms.Call{Op: nccl.AllGather, Count: 8, Tuning: &comms.Tuning{CopyEngine: true}}, comms.Call{Op: nccl.Signal, Count: 1}),
			nil, []Reason{OneRank, NoElements, CopyEngine, OneSided}},
		{"a line that stands twice", slices.Repeat(planned(comms.Call{Op: nccl.AllReduce, Count: 8}), 2),
			[]string{"AllReduce [0]"}, []Reason{Launches, Duplicate}},
		{"launches that were not logged", planned(comms.Call{Op: nccl.AllReduce, Count: 8, Launch: 5}, comms.Call{Op: nccl.AllReduce, Count: 8, Launch: 8}),
			[]string{"AllReduce [0]", "lost 6", "lost 7", "AllReduce [1]"}, []Reason{Launches, Launches}},
		{"a jump that nobody can have lost", planned(comms.Call{Op: nccl.AllReduce, Count: 8}, comms.Call{Op: nccl.AllReduce, Count: 8, Launch: 1 << 60}),
			[]string{"AllReduce [0]", "AllReduce [1]"}, []Reason{Launches, Launches}},
	}
	for _, tt := range tests {
		launches, why := Plan(&Process{Calls: tt.calls, Groups: groups}, 10)
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
