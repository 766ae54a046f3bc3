package arrivals

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// ring returns a job whose ranks work for 40 ms in a step, and then send to the next rank and receive from the one before,
// those of even numbers in that order and the others in the other; senders are held until the message is received. One
// rank works for 30 ms longer; −1: none does. Where it is a chain, the first rank receives from none and the last sends
// to none.
func ring(seed uint64, late int, chain bool) *Job {
	const ranks, steps = 6, 50
	rng := rand.New(rand.NewPCG(seed, 8))
	now := make([]float64, ranks)
	calls := make([][]comms.Call, ranks)
	for step := range int64(steps) {
		for r := range now {
			now[r] += 40 + rng.NormFloat64()
			if r == late {
				now[r] += 30
			}
		}
		enter := func(r int, op nccl.Op, peer int) {
			c := comms.UnknownCall(0)
			c.Group, c.Op, c.Name, c.Seq, c.Peer, c.Step = 0, op, "gloo:"+op.String(), step+1, peer, step
			c.Enter, c.HasEnter, c.State = int64(now[r]*ms), true, comms.Completed
			calls[r] = append(calls[r], c)
		}
		for _, from := range [2]int{0, 1} { // messages of even ranks, then of odd ones
			for a := from; a < ranks; a += 2 {
				b := (a + 1) % ranks
				if chain && b == 0 {
					continue
				}
				enter(a, nccl.Send, b)
				enter(b, nccl.Recv, a)
				met := max(now[a], now[b]) + 0.1
				now[a], now[b] = met, met
			}
		}
	}
	return jobOf(calls)
}

// jobOf returns a job of one host and one group, of the calls of each rank.
func jobOf(calls [][]comms.Call) *Job {
	var members []int
	for r := range calls {
		members = append(members, r)
	}
	j := &Job{}
	for r := range calls {
		if err := j.Add(&comms.Record{
			Sources:   []comms.Source{{Name: "packets"}},
			Processes: []comms.Process{{Rank: r, Host: "n0"}},
			Groups:    []comms.Group{{Name: "0", Members: members, Size: len(members), Enqueued: -1, Completed: -1}},
			Calls:     calls[r],
		}); err != nil {
			panic(err)
		}
	}
	return j
}

// TestNeighbours: of ranks that meet in messages to their neighbours alone the one that works longer in each step is
// late by that, whichever it is; the others wait for it and for each other, and are not, nor is anybody of a healthy
// job. Of a chain, whose ends exchange less, nobody is compared.
func TestNeighbours(t *testing.T) {
	for seed := range uint64(5) {
		for late := -1; late < 6; late++ {
			r := ring(seed, late, false).Analyze(Options{})
			switch {
			case !r.Neighbours:
				t.Errorf("seed %d, rank %d late: ranks were not compared", seed, late)
			case late < 0 && (len(r.Late) > 0 || len(r.Doubted) > 0):
				t.Errorf("seed %d: nobody is late: %+v", seed, r.Late)
			case late >= 0 && (len(r.Late) != 1 || r.Late[0].Rank() != late || math.Abs(float64(r.Late[0].Size)/ms-30) > 3 || r.Late[0].Steps.Count < 45):
				t.Errorf("seed %d: %+v, want rank %d by 30 ms in every step", seed, r.Late, late)
			case late >= 0 && math.Abs(r.Late[0].Saves.Alone-30.0/70) > 0.05:
				t.Errorf("seed %d: saves %.3f, want %.3f", seed, r.Late[0].Saves.Alone, 30.0/70)
			}
			if r := ring(seed, late, true).Analyze(Options{}); r.Neighbours || len(r.Late) > 0 {
				t.Errorf("seed %d, rank %d late in a chain: %+v", seed, late, r.Late)
			}
		}
	}
}

// batches returns a job whose ranks work for 40 ms in a step, and then send to both neighbours of a ring and receive from
// both in one batch, which is done when the neighbours have entered theirs; when it was is recorded of each message. One
// rank works for 30 ms longer; −1: none does.
func batches(seed uint64, late int) *Job {
	const ranks, steps = 5, 50
	rng := rand.New(rand.NewPCG(seed, 9))
	now := make([]float64, ranks)
	calls := make([][]comms.Call, ranks)
	for step := range int64(steps) {
		for r := range now {
			now[r] += 40 + rng.NormFloat64()
			if r == late {
				now[r] += 30
			}
		}
		done := make([]float64, ranks)
		for r := range ranks {
			left, right := (r+ranks-1)%ranks, (r+1)%ranks
			done[r] = max(now[r], now[left], now[right]) + 0.1
			for i, m := range []struct {
				op   nccl.Op
				peer int
				seq  int64
			}{{nccl.Send, right, 2 * step}, {nccl.Send, left, 2*step + 1}, {nccl.Recv, left, 2 * step}, {nccl.Recv, right, 2*step + 1}} {
				c := comms.UnknownCall(0)
				c.Group, c.Op, c.Name, c.Seq, c.Peer, c.Step = 0, m.op, "gloo:"+m.op.String(), m.seq+1, m.peer, step
				c.Enter, c.HasEnter, c.State = int64((now[r]+0.01*float64(i))*ms), true, comms.Completed
				c.Exit = int64((max(now[r], now[m.peer]) + 0.1) * ms)
				calls[r] = append(calls[r], c)
			}
		}
		copy(now, done)
	}
	return jobOf(calls)
}

// TestNeighboursInBatches: what a rank is held in messages of a batch is no work of its own, whichever of them holds it.
func TestNeighboursInBatches(t *testing.T) {
	for seed := range uint64(5) {
		for late := -1; late < 5; late++ {
			r := batches(seed, late).Analyze(Options{})
			if late < 0 && len(r.Late)+len(r.Doubted) > 0 || late >= 0 && (len(r.Late) != 1 || r.Late[0].Rank() != late || math.Abs(float64(r.Late[0].Size)/ms-30) > 3) {
				t.Errorf("seed %d: neighbours %v, %+v, want rank %d by 30 ms", seed, r.Neighbours, r.Late, late)
			}
		}
	}
}

// passing returns a job of two ranks that pass three batches there and back in a step: the first works 6 ms for each and
// sends it, and 10 ms for each that comes back; the second works 16 ms for each. Sends are asked for at the end of a
// step. In steps that strike one rank works so much longer, in ms, before its first message.
func passing(seed uint64, late int, longer func(step int) float64) *Job {
	const steps, batches = 60, 3
	rng := rand.New(rand.NewPCG(seed, 10))
	var now [2]float64
	calls, seq := make([][]comms.Call, 2), [2]int64{}
	enter := func(r int, op nccl.Op, step int) *comms.Call {
		c := comms.UnknownCall(0)
		from := r
		if op == nccl.Recv {
			from = 1 - r
		}
		c.Group, c.Op, c.Name, c.Peer, c.Step = 0, op, "gloo:"+op.String(), 1-r, int64(step)
		if op == nccl.Send {
			seq[from]++
		}
		c.Seq = seq[from]
		c.Enter, c.HasEnter, c.State = int64(now[r]*ms), true, comms.Completed
		calls[r] = append(calls[r], c)
		return &calls[r][len(calls[r])-1]
	}
	for step := range steps {
		first := [2]int{len(calls[0]), len(calls[1])}
		if late >= 0 {
			now[late] += longer(step)
		}
		var sent [2][batches]float64
		for b := range batches {
			now[0] += 6 + 0.1*rng.NormFloat64()
			enter(0, nccl.Send, step)
			sent[0][b] = now[0]
		}
		last := seq[0]
		for b := range batches {
			c := enter(1, nccl.Recv, step)
			c.Seq = last - batches + 1 + int64(b)
			now[1] = max(now[1], sent[0][b]) + 0.1
			c.Exit = int64(now[1] * ms)
			now[1] += 16 + 0.1*rng.NormFloat64()
			enter(1, nccl.Send, step)
			sent[1][b] = now[1]
		}
		last = seq[1]
		for b := range batches {
			c := enter(0, nccl.Recv, step)
			c.Seq = last - batches + 1 + int64(b)
			now[0] = max(now[0], sent[1][b]) + 0.1
			c.Exit = int64(now[0] * ms)
			now[0] += 10 + 0.1*rng.NormFloat64()
		}
		for r := range calls {
			for i := first[r]; i < len(calls[r]); i++ {
				if c := &calls[r][i]; c.Op == nccl.Send {
					c.Exit = int64(now[r] * ms)
				}
			}
		}
	}
	return jobOf(calls)
}

// TestPassing: of ranks that pass batches to each other the one that works longer is late by that, and saves what a replay
// of the messages does: its first wait is shorter by as much as it takes longer. Each may have work of its own.
func TestPassing(t *testing.T) {
	for name, longer := range map[string]func(step int) float64{
		"every step":  func(int) float64 { return 40 },
		"every third": func(step int) float64 { return 60 * float64((step%3)/2) },
	} {
		for seed := range uint64(3) {
			healthy := passing(seed, -1, longer).Analyze(Options{})
			if !healthy.Neighbours || !healthy.Roles || len(healthy.Late)+len(healthy.Doubted) > 0 {
				t.Errorf("%s, seed %d: compared %v, with roles %v, late %+v", name, seed, healthy.Neighbours, healthy.Roles, healthy.Late)
			}
			for late := range 2 {
				r := passing(seed, late, longer).Analyze(Options{})
				if len(r.Late) != 1 || r.Late[0].Rank() != late || !r.Roles {
					t.Errorf("%s, seed %d: %+v, want rank %d", name, seed, r.Late, late)
					continue
				}
				size, saves := max(longer(0), longer(2)), 1-float64(healthy.End-healthy.Begin)/float64(r.End-r.Begin)
				if l := r.Late[0]; math.Abs(float64(l.Size)/ms-size) > 3 || math.Abs(l.Saves.Alone-saves) > 0.03 {
					t.Errorf("%s, seed %d, rank %d: %d ms, saves %.3f, want %.0f ms, %.3f", name, seed, late, l.Size/ms, l.Saves.Alone, size, saves)
				}
			}
		}
	}
}
