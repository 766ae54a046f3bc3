package stages

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// sender is a rank of one step with messages to and from ranks, one a µs.
func sender(id int, messages ...profile.Message) *profile.Rank {
	r := &profile.Rank{ID: id, World: 4, Steps: []profile.Step{{Index: 5, Start: 0, End: 1000 * us}}}
	for i, m := range messages {
		c := profile.Collective{Op: nccl.Recv, Group: "p", Self: -1, Peer: m.Peer, Seq: -1, Start: int64(i) * us, End: int64(i+1) * us, OnDevice: true}
		if m.Sends {
			c.Op = nccl.Send
		}
		r.Collectives = append(r.Collectives, c)
	}
	return r
}

// TestMessages: sends synchronise the receives of their peer, each direction in its
// own order; one that is missing leaves out that direction in that step alone.
func TestMessages(t *testing.T) {
	to, from := func(rank int) profile.Message { return profile.Message{Sends: true, Peer: rank} }, func(rank int) profile.Message { return profile.Message{Sends: false, Peer: rank} }
	m := match([]*profile.Rank{sender(0, to(1), from(1), to(1)), sender(1, from(0), to(0), from(0), to(2), to(2)), sender(2, from(1))})
	want := [][]member{{{0, 0}, {1, 0}}, {{0, 2}, {1, 2}}, {{0, 1}, {1, 1}}}
	if len(m.sets) != len(want) {
		t.Fatalf("%d sets: %v", len(m.sets), m.sets)
	}
	for _, set := range want {
		if !slices.ContainsFunc(m.sets, func(have []member) bool { return slices.Equal(have, set) }) {
			t.Errorf("no set %v in %v", set, m.sets)
		}
	}
	if m.found(1, 3) || m.found(2, 0) {
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
	if got, want := r.Collectives[0].Messages, []profile.Message{{Sends: true, Peer: 2}, {Sends: false, Peer: 0}}; !slices.Equal(got, want) || r.Collectives[0].Group != "p" {
		t.Fatalf("the batch has %v of group %q, want %v", got, r.Collectives[0].Group, want)
	}
	if c := r.Collectives[1]; c.Op != nccl.Send || c.Peer != 0 || c.Messages != nil {
		t.Errorf("the single send is %+v", c)
	}
	first, third := sender(0, profile.Message{Sends: true, Peer: 1}), sender(2, profile.Message{Sends: false, Peer: 1})
	first.Collectives[0].Start, third.Collectives[0].Start = 25*us, 70*us
	first.Collectives[0].Size, third.Collectives[0].Size = 3, 3
	m := match([]*profile.Rank{first, r, third})
	first.Collectives[0].End, third.Collectives[0].End = 90*us, 90*us
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
		a, b := sender(0, profile.Message{Sends: true, Peer: 1}, profile.Message{Sends: false, Peer: 1}), sender(1, profile.Message{Sends: false, Peer: 0}, profile.Message{Sends: true, Peer: 0})
		if !both {
			a.Collectives, b.Collectives = a.Collectives[:1], b.Collectives[:1]
		}
		for i := range b.Collectives {
			b.Collectives[i].Start, b.Collectives[i].End = b.Collectives[i].Start+ahead, b.Collectives[i].End+ahead
		}
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
	for i := range ranks[1].Collectives { // late by half of what a message takes
		ranks[1].Collectives[i].Start, ranks[1].Collectives[i].End = ranks[1].Collectives[i].Start-ahead+us/2, ranks[1].Collectives[i].End-ahead+us/2
	}
	if c := together(ranks)[1]; c.Offset != 0 {
		t.Errorf("one host: %+v", c)
	}
}
