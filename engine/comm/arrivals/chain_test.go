package arrivals

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// chain is a pipeline: every rank receives, computes for 10 ms, sends on, and
// all enter one collective at the end of the step. One rank computes 40 ms
// longer; −1: none does. Where messages are not recorded they are counted.
func chain(seed uint64, ranks, slow int, recorded bool) *Job {
	rng := rand.New(rand.NewPCG(seed, 1))
	noise := func() int64 { return int64(ms * rng.Float64()) }
	calls := make([][]comms.Call, ranks)
	enter := func(r int, at int64, op nccl.Op, name string, seq int64, peer int) {
		if op != nccl.AllReduce && !recorded {
			return
		}
		c := comms.UnknownCall(0)
		c.Group, c.Op, c.Name, c.Seq, c.Peer, c.Enter, c.HasEnter, c.State = 0, op, name, seq, peer, at, true, comms.Completed
		calls[r] = append(calls[r], c)
	}
	now := make([]int64, ranks)
	for step := range int64(40) {
		sent, last := int64(0), int64(0)
		for r := range ranks {
			now[r] += 2*ms + noise()
			if r > 0 {
				enter(r, now[r], nccl.Recv, fmt.Sprintf("nccl:recv %d<-%d", r, r-1), step+1, r-1)
				now[r] = max(now[r], sent) + noise()/10
			}
			if now[r] += 10*ms + noise(); r == slow {
				now[r] += 40 * ms
			}
			if r < ranks-1 {
				enter(r, now[r], nccl.Send, fmt.Sprintf("nccl:send %d->%d", r, r+1), step+1, r+1)
				sent = now[r]
			}
			now[r] += 5*ms + noise()
			enter(r, now[r], nccl.AllReduce, "nccl:all_reduce", step+1, -1)
			last = max(last, now[r])
		}
		for r := range now {
			now[r] = last + noise()/10
		}
	}
	j, members := &Job{}, make([]int, ranks)
	for r := range members {
		members[r] = r
	}
	for r := range ranks {
		enqueued := int64(40)
		if !recorded {
			enqueued = 120
		}
		err := j.Add(&comms.Record{Sources: []comms.Source{{Name: fmt.Sprint("rank_", r)}}, Processes: []comms.Process{{Rank: r, Host: "n0"}},
			Groups: []comms.Group{{Name: "0", Members: members, Size: ranks, Enqueued: enqueued, Completed: enqueued}}, Calls: calls[r]})
		if err != nil {
			panic(err)
		}
	}
	return j
}

// Of a chain of sends and receives the slow rank is named where they are
// recorded, wherever it is; and nobody where none is slow, though each rank of
// a chain arrives later than the one before.
func TestChain(t *testing.T) {
	for seed := range uint64(5) {
		for _, ranks := range []int{3, 4, 8} {
			for slow := -1; slow < ranks; slow++ {
				r := chain(seed, ranks, slow, true).Analyze(Options{})
				var late []int
				for _, l := range r.Late {
					if l.StruckGain(r.End-r.Begin) > 0.02 {
						late = append(late, l.Rank())
					}
				}
				want := []int{slow}
				if slow < 0 {
					want = nil
				}
				if !slices.Equal(late, want) || !r.Messages || r.Hang != nil {
					t.Errorf("seed %d, %d ranks, rank %d slow: late %v, messages %v, hang %v", seed, ranks, slow, late, r.Messages, r.Hang)
				}
			}
		}
	}
}

// Where messages are only counted, the slow rank and those behind it are one
// set, and nobody alone.
func TestChainNotRecorded(t *testing.T) {
	for seed := range uint64(5) {
		for _, ranks := range []int{3, 4, 8} {
			for slow := -1; slow < ranks; slow++ {
				r := chain(seed, ranks, slow, false).Analyze(Options{})
				var want []int
				for rank := max(slow, 0); slow > 0 && rank < ranks; rank++ {
					want = append(want, rank)
				}
				var set []int
				if r.Set != nil && r.Set.Delay > 10*ms {
					set = r.Set.Ranks
				}
				if !slices.Equal(set, want) || len(r.Late) > 0 || !slices.Equal(r.Silent, []string{"0"}) {
					t.Errorf("seed %d, %d ranks, rank %d slow: set %v, late %v, silent %v", seed, ranks, slow, set, r.Late, r.Silent)
				}
			}
		}
	}
}

// Sender and receiver do different work before a message: without a collective nobody is
// late by it, and its place tells nothing.
func TestChainWithoutCollective(t *testing.T) {
	for slow := -1; slow < 4; slow++ {
		j := chain(1, 4, slow, true)
		for r := range j.Ranks {
			j.Ranks[r].Calls = slices.DeleteFunc(j.Ranks[r].Calls, func(c sync.Call) bool { return j.Kinds[c.Kind].Op == nccl.AllReduce })
		}
		r := j.Analyze(Options{})
		if len(r.Late) > 0 || r.Messages || len(r.Places) == 0 {
			t.Errorf("rank %d slow: late %v, messages %v, %d places", slow, r.Late, r.Messages, len(r.Places))
		}
		for _, p := range r.Places {
			if !p.Unlike || p.Limit > 0 {
				t.Errorf("rank %d slow: %s: unlike %v, limit %d", slow, p.Op, p.Unlike, p.Limit)
			}
		}
	}
	for _, p := range chain(1, 4, 1, true).Analyze(Options{}).Places {
		if p.Unlike {
			t.Errorf("%s is unlike, beside a collective", p.Op)
		}
	}
}

// pipelines are two pipelines of two ranks over a transport without buffers: a sender waits until
// its receiver is there, and goes on. The ranks of a stage reduce their gradients. One rank
// computes 12 ms longer for each of four micro-batches.
func pipelines(seed uint64, slow int) *Job {
	rng := rand.New(rand.NewPCG(seed, 3))
	noise := func() int64 { return int64(ms * rng.Float64() / 2) }
	const ranks = 4
	calls, now := make([][]comms.Call, ranks), make([]int64, ranks)
	enter := func(r, group int, op nccl.Op, name string, seq int64, peer int) {
		c := comms.UnknownCall(0)
		c.Group, c.Op, c.Name, c.Seq, c.Peer, c.Enter, c.HasEnter, c.State = group, op, name, seq, peer, now[r], true, comms.Completed
		calls[r] = append(calls[r], c)
	}
	work := func(r int) int64 {
		if r == slow {
			return 20*ms + noise()
		}
		return 8*ms + noise()
	}
	for step := range int64(50) {
		for first := 0; first < ranks; first += 2 {
			second, n := first+1, 4*step
			var gradients [4]int64
			for i := range gradients {
				now[first] += work(first)
				enter(first, 0, nccl.Send, fmt.Sprintf("send %d->%d", first, second), n+int64(i), second)
				enter(second, 0, nccl.Recv, fmt.Sprintf("recv %d<-%d", second, first), n+int64(i), first)
				there := max(now[first], now[second])
				now[first], now[second] = there, there+work(second)
				enter(second, 0, nccl.Send, fmt.Sprintf("send %d->%d", second, first), n+int64(i), first) // awaited at the end
				gradients[i] = now[second]
				now[second] += noise() / 10
			}
			for i, sent := range gradients {
				enter(first, 0, nccl.Recv, fmt.Sprintf("recv %d<-%d", first, second), n+int64(i), second)
				now[first] = max(now[first], sent) + noise()
			}
		}
		for stage := range 2 {
			there := int64(0)
			for r := stage; r < ranks; r += 2 {
				now[r] += ms + noise()
				enter(r, 1, nccl.AllReduce, "all_reduce", step+1, -1)
				there = max(there, now[r])
			}
			for r := stage; r < ranks; r += 2 {
				now[r] = there + 2*ms + noise()
			}
		}
	}
	j := &Job{}
	for r := range calls {
		err := j.Add(&comms.Record{Sources: []comms.Source{{Name: fmt.Sprint("rank_", r)}}, Processes: []comms.Process{{Rank: r, Host: "n0"}}, Calls: calls[r],
			Groups: []comms.Group{{Name: "0", Members: []int{0, 1, 2, 3}, Size: 4, Enqueued: -1, Completed: -1},
				{Name: fmt.Sprint(1 + r%2), Members: []int{r % 2, r%2 + 2}, Size: 2, Enqueued: -1, Completed: -1}}})
		if err != nil {
			panic(err)
		}
	}
	return j
}

// A slow rank alone is late, and to fix it alone saves what it costs: who waits in a send until
// its receiver is there is late for no message after it, and who does not wait for a send is
// not held by its receiver.
func TestHeldSender(t *testing.T) {
	for seed := range uint64(5) {
		for slow := -1; slow < 4; slow++ {
			late := pipelines(seed, slow).Analyze(Options{}).Late
			if slow < 0 && len(late) > 0 || slow >= 0 && (len(late) != 1 || late[0].Rank() != slow || late[0].Saves.Alone < 0.2) {
				t.Errorf("seed %d, rank %d slow: %+v", seed, slow, late)
			}
		}
	}
}

// TestStageBehindMessages: the stage in which a rank of a chain loses its time is that of its work before its messages,
// although the collective is entered in another, and after work in none.
func TestStageBehindMessages(t *testing.T) {
	for slow := range 3 {
		j := chain(1, 4, slow, true)
		ends := make([]int64, 40)
		for r := range j.Ranks {
			calls := j.Ranks[r].Calls
			for step := range ends {
				ends[step] = max(ends[step], calls[(step+1)*len(calls)/40-1].Enter)
			}
		}
		for r := range j.Ranks {
			w := &trace.Window{WorldSize: 4, Schema: trace.Schema{Stages: []string{"data", "forward"}}, Ranks: []trace.Rank{{ID: r}}, Epochs: []int64{1}}
			calls := j.Ranks[r].Calls
			perStep := len(calls) / 40
			begin := int64(0)
			for step := range 40 {
				of, end := calls[step*perStep:(step+1)*perStep], ends[step]
				// What is before the message that a rank sends is forward, as far as it waited for none.
				forward := 10 * ms
				if r == slow {
					forward = 50 * ms
				}
				at := min(int64(forward), of[len(of)-2].Enter-begin)
				w.Durations = append(w.Durations, of[len(of)-2].Enter-at-begin, at)
				w.Wall = append(w.Wall, end-begin)
				begin = end
			}
			j.AddWindow(w)
		}
		r := j.Analyze(Options{})
		if len(r.Late) != 1 || r.Late[0].Rank() != slow || r.Late[0].Entered.Stage != "forward" {
			t.Errorf("rank %d is slow in forward: %+v", slow, r.Late)
		}
	}
}
