package arrivals

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// entered is one call of each of two ranks.
type entered struct {
	name    string
	op      nccl.Op
	in, out int64
	types   [2]string
	state   comms.State
	peer    int
}

// What torchfrtrace of PyTorch 2.15 calls a mismatch is one here, of the same kind.
func TestMismatches(t *testing.T) {
	reduce := entered{name: "nccl:all_reduce", op: nccl.AllReduce, in: 8, out: 8, types: [2]string{"Float", "Float"}, state: comms.Scheduled, peer: -1}
	gather := entered{name: "nccl:_all_gather_base", op: nccl.AllGather, in: 8, out: 16, types: reduce.types, state: comms.Scheduled, peer: -1}
	all := entered{name: "nccl:all_to_all", op: nccl.AlltoAll, in: 8, out: 8, types: reduce.types, state: comms.Scheduled, peer: -1}
	send := entered{name: "nccl:send 0->1", op: nccl.Send, in: 8, out: 8, types: reduce.types, state: comms.Scheduled, peer: 1}
	receive := entered{name: "nccl:recv 1<-0", op: nccl.Recv, in: 8, out: 8, types: reduce.types, state: comms.Scheduled, peer: 0}
	edit := func(e entered, f func(*entered)) entered { f(&e); return e }
	for name, c := range map[string]struct {
		a, b  entered
		want  Difference
		sides int
	}{
		"operation":             {reduce, edit(reduce, func(e *entered) { e.name, e.op = "nccl:broadcast", nccl.Broadcast }), DifferentOperation, 2},
		"sizes":                 {reduce, edit(reduce, func(e *entered) { e.in, e.out = 4, 4 }), DifferentSizes, 2},
		"types":                 {reduce, edit(reduce, func(e *entered) { e.types = [2]string{"Half", "Half"} }), DifferentTypes, 2},
		"types of one call":     {edit(reduce, func(e *entered) { e.types[1] = "Half" }), edit(reduce, func(e *entered) { e.types[1] = "Half" }), DifferentTypes, 1},
		"states":                {reduce, edit(reduce, func(e *entered) { e.state = comms.Completed }), DifferentStates, 2},
		"output of all-reduce":  {edit(reduce, func(e *entered) { e.out = 4 }), edit(reduce, func(e *entered) { e.out = 4 }), UnfitSizes, 1},
		"output of all-gather":  {edit(gather, func(e *entered) { e.out = 8 }), edit(gather, func(e *entered) { e.out = 8 }), UnfitSizes, 1},
		"totals of all-to-all":  {all, edit(all, func(e *entered) { e.out = 4 }), UnfitTotals, 2},
		"a message cut short":   {send, edit(receive, func(e *entered) { e.out = 4 }), DifferentSizes, 2},
		"nothing: all-reduce":   {a: reduce, b: reduce},
		"nothing: all-gather":   {a: gather, b: gather},
		"nothing: all-to-all":   {a: edit(all, func(e *entered) { e.in = 4 }), b: edit(all, func(e *entered) { e.out = 4 })},
		"nothing: message":      {a: send, b: receive},
		"nothing: coalesced":    {a: edit(reduce, func(e *entered) { e.in, e.out = 0, 0 }), b: edit(reduce, func(e *entered) { e.in, e.out = 0, 0 })},
		"nothing: output apart": {a: edit(gather, func(e *entered) { e.name = "nccl:all_gather" }), b: edit(gather, func(e *entered) { e.name = "nccl:all_gather" })},
	} {
		t.Run(name, func(t *testing.T) {
			j := &Job{}
			rec := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
			for r, e := range []entered{c.a, c.b} {
				x := comms.UnknownCall(r)
				x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter, x.State, x.Peer = r, e.name, e.op, 1, int64(1000+r), true, e.state, e.peer
				x.Tensors = &comms.Tensors{InSizes: [][]int64{{e.in}}, OutSizes: [][]int64{{e.out}}, InTypes: []string{e.types[0]}, OutTypes: []string{e.types[1]}}
				rec.Processes = append(rec.Processes, comms.Process{Rank: r})
				rec.Groups = append(rec.Groups, comms.Group{Process: r, Name: "0", Size: 2, Members: []int{0, 1}, Rank: r, Enqueued: -1, Completed: -1})
				rec.Calls = append(rec.Calls, x)
			}
			if err := j.Add(rec); err != nil {
				t.Fatal(err)
			}
			got := j.Analyze(Options{}).Mismatches
			if c.sides == 0 {
				if len(got) > 0 {
					t.Errorf("%+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Difference != c.want || len(got[0].Sides) != c.sides || !slices.Contains(got[0].Sides[0].Ranks, 0) {
				t.Errorf("%+v, want %v of %d sides", got, c.want, c.sides)
			}
		})
	}
}
