package stages

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// way is a message of a rank: to or from another.
type way struct {
	op   nccl.Op
	peer int
}

func to(rank int) way   { return way{nccl.Send, rank} }
func from(rank int) way { return way{nccl.Recv, rank} }

// sender is a rank of one step with messages to and from ranks, one a µs.
func sender(id int, messages ...way) *profile.Rank {
	r := &profile.Rank{ID: id, World: 4, Steps: []profile.Step{{Index: 5, Start: 0, End: 1000 * us}}}
	r.Comm.Groups = []comms.Group{{Name: "p", Rank: -1}}
	var kernels []comms.Kernel
	for i, m := range messages {
		c := comms.UnknownCall(0)
		c.Op, c.Group, c.Peer, c.Step, c.Kernel, c.KernelSure = m.op, 0, m.peer, 5, i, true
		r.Comm.Calls = append(r.Comm.Calls, c)
		kernels = append(kernels, comms.Kernel{Start: int64(i) * us, End: int64(i+1) * us})
	}
	r.Comm.Processes = []comms.Process{{Kernels: kernels}}
	return r
}

// TestMessages: sends synchronise the receives of their peer, each direction in its
// own order; one that is missing leaves out that direction in that step alone.
func TestMessages(t *testing.T) {
	m := match([]*profile.Rank{sender(0, to(1), from(1), to(1)), sender(1, from(0), to(0), from(0), to(2), to(2)), sender(2, from(1))})
	of := func(process, call int32) member { return member{Process: process, Call: call} }
	want := [][]member{{of(0, 0), of(1, 0)}, {of(0, 2), of(1, 2)}, {of(0, 1), of(1, 1)}}
	if len(m.sets) != len(want) {
		t.Fatalf("%d sets: %v", len(m.sets), m.sets)
	}
	for _, set := range want {
		if !slices.ContainsFunc(m.sets, func(have []member) bool { return slices.Equal(have, set) }) {
			t.Errorf("no set %v in %v", set, m.sets)
		}
	}
	if m.isComplete(1, 3) || m.isComplete(2, 0) {
		t.Error("two sends and one receive are matched")
	}
}

// TestBatch: a kernel that sends and receives at once takes the messages that
// were called before it; it waits for the last of those it exchanges them with.
func TestBatch(t *testing.T) {
	f := newFeed().on(1, "ProfilerStep#5", 0, 1000)
	call := func(name string, at int64, peer int) {
		f.b.Call(profiler.Call{Name: name, Thread: 1, Start: at * us, End: (at + 2) * us, Group: "p", Size: 3, Seq: -1, Bytes: -1, Self: -1, Peer: peer})
	}
	call("send", 10, 2)
	call("recv", 13, 0)
	f.kernel("ncclDevKernel_SendRecv(x)", 1, 20, 30, 90)
	call("send", 40, 0)
	f.kernel("ncclDevKernel_SendRecv(x)", 1, 41, 100, 120) // launched by the call itself
	r := f.finish()
	r.ID = 1
	if g := r.Comm.Groups[r.Comm.Calls[0].Group]; g.Name != "p" {
		t.Errorf("the batch is of group %q", g.Name)
	}
	var batch []way
	for i, at := range r.Pieces() {
		if c := &r.Comm.Calls[i]; at == 0 && i > 0 {
			batch = append(batch, way{c.Op, c.Peer})
		}
	}
	if want := []way{to(2), from(0)}; !slices.Equal(batch, want) {
		t.Fatalf("the batch has %v, want %v", batch, want)
	}
	if c := r.Comm.Calls[1]; c.Op != nccl.Send || c.Peer != 0 || r.Pieces()[1] != 1 {
		t.Errorf("the single send is %+v", c)
	}
	d, err := Divide([]*profile.Rank{r}, Options{})
	if err != nil || len(d.Launched.Rows) != 1 || d.Launched.Rows[0].Count != 2 {
		t.Errorf("launched %+v, %v, want two kernels", d.Launched, err)
	}
	first, third := sender(0, to(1)), sender(2, from(1))
	first.Comm.Processes[0].Kernels[0].Start, third.Comm.Processes[0].Kernels[0].Start = 25*us, 70*us
	first.Comm.Groups[0].Size, third.Comm.Groups[0].Size = 3, 3
	m := match([]*profile.Rank{first, r, third})
	first.Comm.Processes[0].Kernels[0].End, third.Comm.Processes[0].Kernels[0].End = 90*us, 90*us
	ends := unawaitedEnds([]*profile.Rank{first, r, third}, m, make([]clock.Placed, 3))
	if ends[0][0] != 85*us || ends[1][0] != 50*us || ends[2][0] != 90*us {
		t.Errorf("without waiting they end at %v, want 85, 50 and 90 µs", ends)
	}
}

// TestBounds: a clock is put between what messages in both directions allow,
// and left alone where one bound or the same host does not forbid it.
func TestBounds(t *testing.T) {
	const ahead = 2000 * us
	job := func(both bool) []*profile.Rank {
		a, b := sender(0, to(1), from(1)), sender(1, from(0), to(0))
		if !both {
			a.Comm.Calls, b.Comm.Calls = a.Comm.Calls[:1], b.Comm.Calls[:1]
		}
		b.ShiftCalls(ahead, func(int64) bool { return true })
		return []*profile.Rank{a, b}
	}
	ranks := job(true)
	if c := together(ranks)[1]; c.Offset != ahead || c.Bounds != 2 || c.HalfWidth != 1*us {
		t.Errorf("both directions: %+v, want %d ahead", c, ahead)
	}
	// One message from 0 to 1 forbids only that 1 is behind by more than it took.
	if c := together(job(false))[1]; c.Offset != 0 {
		t.Errorf("one direction: %+v", c)
	}
	ranks = job(true)
	ranks[0].Host, ranks[1].Host = "n0", "n0"
	if c := together(ranks)[1]; c.Offset != ahead {
		t.Errorf("one host, whose clock the messages forbid: %+v", c)
	}
	ranks[1].ShiftCalls(us/2-ahead, func(int64) bool { return true }) // late by half of what a message takes
	if c := together(ranks)[1]; c.Offset != 0 {
		t.Errorf("one host: %+v", c)
	}
}
