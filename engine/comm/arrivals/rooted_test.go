package arrivals

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// broadcasts is a job in which every step has a broadcast and an all-reduce.
// Before the broadcast one rank is late now and then. In a tree, member 5 of six
// gets the data from 1, which waits until it is there; 0, 2, 3 and 4 go on.
func broadcasts(seed uint64, late int, wait func(now []float64)) *Job {
	const ranks, steps = 6, 45
	rng := rand.New(rand.NewPCG(seed, 2))
	now := make([]float64, ranks)
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	calls := make([][]comms.Call, ranks)
	enter := func(r int, name string, op nccl.Op) {
		x := comms.UnknownCall(r)
		x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = r, name, op, int64(len(calls[r])+1), int64(now[r]*ms), true
		calls[r] = append(calls[r], x)
	}
	for step := range steps {
		for r := range now {
			now[r] += 40 + 3*rng.NormFloat64()
			if r == late && step%3 == 0 {
				now[r] += 60
			}
			enter(r, "gloo:broadcast", nccl.Broadcast)
		}
		wait(now)
		last := 0.0
		for r := range now {
			now[r] += 70 + 3*rng.NormFloat64()
			enter(r, "gloo:all_reduce", nccl.AllReduce)
			last = max(last, now[r])
		}
		for r := range now {
			now[r] = last + 0.2
		}
	}
	for r := range now {
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: "n0"})
		c.Groups = append(c.Groups, comms.Group{Process: r, Name: "0", Size: ranks, Members: []int{0, 1, 2, 3, 4, 5}, Rank: r, Enqueued: -1, Completed: -1})
		c.Calls = append(c.Calls, calls[r]...)
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		panic(err)
	}
	return j
}

// A member that waits in a broadcast for the one that it hands the data to is
// not late, however the broadcast is made.
func TestBroadcasts(t *testing.T) {
	for name, wait := range map[string]func([]float64){
		"in a tree": func(now []float64) {
			was := append([]float64(nil), now...)
			for member, others := range [][]int{{1, 2, 4}, {0, 3, 5}, {0}, {0, 1}, {0}, {0, 1}} {
				for _, o := range others {
					now[member] = max(now[member], was[o])
				}
			}
		},
		"all wait": func(now []float64) {
			last := 0.0
			for _, at := range now {
				last = max(last, at)
			}
			for r := range now {
				now[r] = last
			}
		},
		"nobody waits": func([]float64) {},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				r := broadcasts(seed, 5, wait).Analyze(Options{})
				if len(r.Late) != 1 || r.Late[0].Rank() != 5 || math.Abs(float64(r.Late[0].Entered.Delay)/ms-60) > 6 {
					t.Errorf("seed %d: %+v", seed, r.Late)
				}
			}
		})
	}
}

// TestReduceToOne: the root of a reduce waits for a late rank and is not late itself; the others
// hand in and go on.
func TestReduceToOne(t *testing.T) {
	for seed := range uint64(5) {
		for late := -1; late < 6; late++ {
			j := reduces(seed, late)
			r := j.Analyze(Options{})
			var got []int
			for _, l := range r.Late {
				got = append(got, l.Rank())
			}
			if late < 0 && got != nil || late >= 0 && (len(got) != 1 || got[0] != late) {
				t.Errorf("seed %d, rank %d late: %v", seed, late, got)
			}
		}
	}
}

// reduces is a job in which every step reduces a loss to rank 0, before which one rank is
// late, and then all reduce gradients.
func reduces(seed uint64, late int) *Job {
	const ranks, steps = 6, 60
	rng := rand.New(rand.NewPCG(seed, 4))
	now := make([]float64, ranks)
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	calls := make([][]comms.Call, ranks)
	enter := func(r int, name string, op nccl.Op) {
		x := comms.UnknownCall(r)
		x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = r, name, op, int64(len(calls[r])+1), int64(now[r]*ms), true
		calls[r] = append(calls[r], x)
	}
	for range steps {
		last := 0.0
		for r := range now {
			now[r] += 40 + rng.NormFloat64()
			if r == late {
				now[r] += 30
			}
			enter(r, "gloo:reduce", nccl.Reduce)
			last = max(last, now[r])
		}
		now[0], last = last, 0
		for r := range now {
			now[r] += 50 + rng.NormFloat64()
			enter(r, "gloo:all_reduce", nccl.AllReduce)
			last = max(last, now[r])
		}
		for r := range now {
			now[r] = last + 0.2
		}
	}
	for r := range now {
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: "n0"})
		c.Groups = append(c.Groups, comms.Group{Process: r, Name: "0", Size: ranks, Members: []int{0, 1, 2, 3, 4, 5}, Rank: r, Enqueued: -1, Completed: -1})
		c.Calls = append(c.Calls, calls[r]...)
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		panic(err)
	}
	return j
}

// handsOut returns when the members of an operation go on that started at given times, as Gloo makes it: data goes
// along a binomial tree, or from and to the root at once, and who sends is held until the other end has entered.
func handsOut(op nccl.Op, root int, entered []float64) []float64 {
	n := len(entered)
	out := slices.Clone(entered)
	meet := func(a, b int) {
		out[a], out[b] = max(out[a], entered[b]), max(out[b], entered[a])
	}
	for v := range n {
		member := (v + root) % n
		switch {
		case op != nccl.Broadcast:
			meet(root, member)
		case v > 0: // data comes from each on the way to the root, and what it hands on is taken
			meet((v&^(1<<(bits.Len(uint(v))-1))+root)%n, member)
			for w := v; w > 0; w &^= 1 << (bits.Len(uint(w)) - 1) {
				out[member] = max(out[member], entered[(w+root)%n])
			}
			out[member] = max(out[member], entered[root])
		}
	}
	return out
}

// handingOut returns a job in which every step has a rooted operation, an exchange of all with all and an all-reduce.
// One rank is late before one of them in every step. Some ranks are not recorded.
func handingOut(seed uint64, op nccl.Op, ranks, root, late, before int, gone ...int) *Job {
	rng := rand.New(rand.NewPCG(seed, 5))
	now := make([]float64, ranks)
	calls := make([][]comms.Call, ranks)
	members := make([]int, ranks)
	for range 48 {
		for k, op := range []nccl.Op{op, nccl.AlltoAll, nccl.AllReduce} {
			last := 0.0
			for r := range now {
				now[r] += []float64{12, 15, 25}[k] * (1 + 0.04*rng.NormFloat64())
				if r == late && k == before {
					now[r] += 40
				}
				x := comms.UnknownCall(r)
				x.Group, x.Name, x.Op, x.Seq, x.Enter, x.HasEnter = r, "gloo:"+op.String(), op, int64(len(calls[r])+1), int64(now[r]*ms), true
				calls[r] = append(calls[r], x)
				last = max(last, now[r])
			}
			if k == 0 {
				copy(now, handsOut(op, root, now))
				continue
			}
			for r := range now {
				now[r] = last
			}
		}
	}
	for r := range now {
		members[r] = r
	}
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	for r := range now {
		if slices.Contains(gone, r) {
			continue
		}
		p := len(c.Processes)
		for i := range calls[r] {
			calls[r][i].Process, calls[r][i].Group = p, p
		}
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: "n0"})
		c.Groups = append(c.Groups, comms.Group{Process: p, Name: "0", Size: ranks, Members: members, Rank: r, Enqueued: -1, Completed: -1})
		c.Calls = append(c.Calls, calls[r]...)
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		panic(err)
	}
	return j
}

// TestRootIsHeld: a rank that is late in every step before a rooted operation is named, and not the root that its
// receipt holds, nor who has the data from it; who is late after it is named too, and nobody of a healthy job.
func TestRootIsHeld(t *testing.T) {
	for _, op := range []nccl.Op{nccl.Broadcast, nccl.Gather, nccl.Scatter} {
		for _, ranks := range []int{4, 6} {
			for _, root := range []int{0, 2} {
				for late := -1; late < ranks; late++ {
					for before := range 3 {
						r := handingOut(uint64(10*late+before+20), op, ranks, root, late, before).Analyze(Options{})
						var got []int
						for _, l := range r.Late {
							got = append(got, l.Rank())
						}
						if late < 0 && got != nil || late >= 0 && (len(got) != 1 || got[0] != late || math.Abs(float64(r.Late[0].Size)/ms-40) > 3) {
							t.Errorf("%v of %d ranks from %d, rank %d late before call %d: %v", op, ranks, root, late, before, got)
						}
					}
				}
			}
		}
	}
}

// TestRootMayBeHeld: a root that a member holds which is not recorded is late as far as others show, and may have waited for that member;
// not where its own delay lies before other calls.
func TestRootMayBeHeld(t *testing.T) {
	for seed := range uint64(5) {
		for _, c := range []struct {
			late, before int
			gone         []int
			who          int
			held         bool
		}{
			{2, 0, []int{2}, 0, true},
			{0, 2, []int{2}, 0, false},
			{0, 1, nil, 0, false},
		} {
			r := handingOut(seed, nccl.Broadcast, 4, 0, c.late, c.before, c.gone...).Analyze(Options{})
			if len(r.Late) != 1 || r.Late[0].Rank() != c.who || r.Late[0].Entered.Held != c.held {
				t.Errorf("seed %d, rank %d late before call %d, without %v: %+v", seed, c.late, c.before, c.gone, r.Late)
			}
		}
	}
}

// accumulating returns a window of two ranks and two micro-batches a step. Rank 0 broadcasts a flag in data of each, in which rank 1 holds
// it; gradients are reduced in backward of the last. Rank 1 takes longer in forward of both, or in data after the flag.
func accumulating(seed uint64, late float64, afterFlag, epochs bool) *trace.Window {
	rng := rand.New(rand.NewPCG(seed, 6))
	stages := []string{"data@0", "forward@0", "backward@0", "data@1", "forward@1", "backward@1", "optim@1"}
	w := &trace.Window{Run: "job", WorldSize: 2, Schema: trace.Schema{Stages: stages}}
	now := [2]int64{1e18, 1e18}
	for r := range now {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n0"})
		w.Arrivals = append(w.Arrivals, &comms.Record{Sources: []comms.Source{{Kind: comms.SourcePacket}},
			Processes: []comms.Process{{Rank: r, Host: "n0"}}, Groups: []comms.Group{{Name: "0", Size: 2, Members: []int{0, 1}, Rank: r}}})
		if epochs {
			w.Epochs = append(w.Epochs, now[r])
		}
	}
	usual := []float64{5, 22, 36, 5, 22, 36, 3}
	for step := range int64(40) {
		took := make([][2]int64, len(stages))
		for k := range stages {
			var entered [2]int64
			for r := range now {
				took[k][r] = int64(ms * usual[k] * (1 + 0.03*rng.NormFloat64()))
				longer := int64(ms * late * (1 + 0.03*rng.NormFloat64()))
				if r == 1 && usual[k] == 22 && !afterFlag {
					took[k][r] += longer
				}
				entered[r] = now[r] + took[k][r]
				if r == 1 && usual[k] == 5 && afterFlag {
					took[k][r] += longer
				}
				op, name := nccl.Broadcast, "gloo:broadcast"
				switch stages[k] {
				case "backward@1":
					op, name = nccl.AllReduce, "gloo:all_reduce"
				case "data@0", "data@1":
				default:
					continue
				}
				c := w.Arrivals[r]
				x := comms.UnknownCall(0)
				x.Group, x.Op, x.Name, x.Seq, x.Step, x.Stage, x.Enter, x.HasEnter = 0, op, name, int64(len(c.Calls)+1), step, stages[k], entered[r], true
				c.Calls = append(c.Calls, x)
			}
			if usual[k] == 5 || stages[k] == "backward@1" { // the other is waited for
				for r := range now {
					took[k][r] += max(entered[0], entered[1]) - entered[r] + ms/4
				}
			}
			for r := range now {
				now[r] += took[k][r]
			}
			w.Durations = append(w.Durations, took[k][:]...)
		}
	}
	return w
}

// TestRootIsHeldInEachMicrobatch: a rank that is late by as much before each of two calls is late twice: who leaves the stage of the first
// as late as it came waited for it. Where no stage times are known, the two may be one delay that the root does not
// wait for.
func TestRootIsHeldInEachMicrobatch(t *testing.T) {
	for _, c := range []struct{ afterFlag, epochs bool }{{false, true}, {true, true}, {false, false}} {
		for seed := range uint64(10) {
			j := &Job{}
			j.AddWindow(accumulating(seed, 20, c.afterFlag, c.epochs))
			r := j.Analyze(Options{})
			sum := int64(0)
			for _, l := range r.Late {
				if l.Rank() != 1 {
					t.Errorf("seed %d: rank %d is late", seed, l.Rank())
				}
				sum += l.Size
			}
			if twice := sum > 35*ms; twice != c.epochs || c.epochs && sum > 45*ms {
				t.Errorf("%+v, seed %d: late by %.1f ms a step", c, seed, float64(sum)/ms)
			}
		}
	}
}
