package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// stepped is a job on one host whose recorder knows steps: those of its calls that it has.
type stepped struct {
	now   []float64 // of each rank, ms
	calls [][]comms.Call
	seq   map[[2]int]int64
}

func newStepped(ranks int) *stepped {
	return &stepped{now: make([]float64, ranks), calls: make([][]comms.Call, ranks), seq: map[[2]int]int64{}}
}

// enter lets the members of a group enter a call and wait for the last of them; a step below 0 was not recorded.
func (s *stepped) enter(group int, members []int, elements, step int64) {
	last := 0.0
	for _, r := range members {
		s.put(group, r, elements, step)
		last = max(last, s.now[r])
	}
	for _, r := range members {
		s.now[r] = last
	}
}

// put lets a rank enter a call of a group.
func (s *stepped) put(group, r int, elements, step int64) {
	x := comms.UnknownCall(0)
	s.seq[[2]int{group, r}]++
	x.Group, x.Name, x.Op, x.Seq, x.Step = group, "gloo:all_reduce", nccl.AllReduce, s.seq[[2]int{group, r}], step
	if step >= 0 {
		x.Stage = "step.other"
	}
	x.Enter, x.HasEnter, x.Tensors = int64(s.now[r]*ms), true, &comms.Tensors{InSizes: [][]int64{{elements}}}
	s.calls[r] = append(s.calls[r], x)
}

func (s *stepped) job(groups [][]int) *Job {
	j := &Job{}
	for r := range s.calls {
		c := &comms.Record{Sources: []comms.Source{{Kind: comms.SourcePacket}}, Processes: []comms.Process{{Rank: r, Host: "n0"}}, Calls: s.calls[r]}
		for g, members := range groups {
			c.Groups = append(c.Groups, comms.Group{Name: fmt.Sprint(g), Size: len(members), Members: members, Enqueued: -1, Completed: -1})
		}
		if err := j.Add(c); err != nil {
			panic(err)
		}
	}
	return j
}

// TestStepsNumberCalls: gathers of one size among the ranks of a shard, of which one is late in every third step before
// the second: the calls are those of a step, not of three.
func TestStepsNumberCalls(t *testing.T) {
	groups := [][]int{{0, 1}, {2, 3}, {0, 2}, {1, 3}}
	rng, s := rand.New(rand.NewPCG(1, 9)), newStepped(4)
	for step := range int64(60) {
		for k := range 6 {
			for r := range s.now {
				s.now[r] += []float64{9, 14, 11, 21, 17, 25}[k] + 0.3*rng.NormFloat64()
			}
			if k == 1 && step%3 == 2 {
				s.now[2] += 120
			}
			s.enter(0, groups[0], 100, step)
			s.enter(1, groups[1], 100, step)
		}
		s.enter(2, groups[2], 200, step)
		s.enter(3, groups[3], 200, step)
	}
	r := s.job(groups).Analyze(Options{})
	if len(r.Late) != 1 || r.Late[0].Rank() != 2 {
		t.Fatalf("late %+v, want rank 2", r.Late)
	}
	l := r.Late[0]
	if l.Steps.Pattern != claim.Periodic || l.Steps.Period != 3 || l.Size < 110*ms || l.Size > 130*ms {
		t.Errorf("%d ms in %+v, want 120 ms in every third step", l.Size/ms, l.Steps)
	}
}

// TestCallsOutsideSteps: what is called before the first recorded step, and behind the last, is no part of what a step
// repeats, and hides nothing of it.
func TestCallsOutsideSteps(t *testing.T) {
	all := []int{0, 1}
	job := func(delay float64) *Result {
		rng, s := rand.New(rand.NewPCG(2, 9)), newStepped(2)
		for step := range int64(72) {
			for r := range s.now {
				s.now[r] += 80 + rng.NormFloat64()
			}
			s.now[1] += delay
			recorded := step
			if step < 6 || step >= 66 {
				recorded = -1
			}
			for k := range 8 { // those who average their weights in every sixth step
				if step%6 == 5 {
					s.now[0], s.now[1] = s.now[0]+0.2*rng.Float64(), s.now[1]+0.2*rng.Float64()
					s.enter(0, all, int64(100+k%2), recorded)
				}
			}
		}
		return s.job([][]int{all}).Analyze(Options{})
	}
	if r := job(30); len(r.Late) != 1 || r.Late[0].Rank() != 1 || r.Late[0].Size < 170*ms {
		t.Errorf("late %+v, want rank 1 by 180 ms between averages", r.Late)
	}
	r := job(0)
	if len(r.Late) > 0 {
		t.Errorf("nobody is late: %+v", r.Late)
	}
	repeat := 0
	for _, p := range r.Places {
		if !p.Repeats {
			continue
		}
		if repeat++; p.Stage != "step.other" || p.Limit == 0 {
			t.Errorf("a place of %d points in %q, limit %d", p.Points, p.Stage, p.Limit)
		}
	}
	if repeat != 8 {
		t.Errorf("%d places repeat, want the eight of an average", repeat)
	}
}

// TestLimitOfRareCalls checks the least detectable delay where ranks synchronise in every fifth step only. A delay of each step adds
// up to the next synchronisation point, so a fifth of it is enough in a step. Of three ranks none is stated with fewer than ten
// intervals between these.
func TestLimitOfRareCalls(t *testing.T) {
	limit := func(meetings int64, windows bool) (least int64) {
		rng, s := rand.New(rand.NewPCG(3, 9)), newStepped(3)
		w := &trace.Window{Run: "job", WorldSize: 3, Schema: trace.Schema{Stages: []string{"backward"}}, Epochs: []int64{1, 1, 1}}
		for r := range s.now {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n0"})
		}
		for step := range 5 * meetings {
			begin := slices.Clone(s.now)
			for r := range s.now {
				s.now[r] += 100 + rng.NormFloat64()
			}
			if step%5 == 4 {
				s.enter(0, []int{0, 1, 2}, 100, step)
			}
			for r := range s.now {
				w.Durations = append(w.Durations, int64((s.now[r]-begin[r])*ms))
			}
		}
		j := s.job([][]int{{0, 1, 2}})
		if windows {
			j.AddWindow(w)
		}
		for _, p := range j.Analyze(Options{}).Places {
			least = max(least, p.Limit)
		}
		return least
	}
	for meetings, part := range map[int64]int64{11: 5, 10: 0} { // the first has none before it
		want := int64(0)
		if alone := limit(meetings, false); part > 0 {
			want = alone / part
		}
		if got := limit(meetings, true); got != want || part > 0 && got == 0 {
			t.Errorf("%d meetings: found from %d, want %d", meetings, got, want)
		}
	}
}

// TestAwaitedLater: a call that every fifth step puts on its way, and that the next one waits for. What the other ranks work in
// whole steps in between is no wait for the late one, by stage times; without these it would be.
func TestAwaitedLater(t *testing.T) {
	job := func(windows bool) *Result {
		rng, s := rand.New(rand.NewPCG(4, 9)), newStepped(3)
		w := &trace.Window{Run: "job", WorldSize: 3, Schema: trace.Schema{Stages: []string{"backward"}}, Epochs: []int64{1, 1, 1}}
		for r := range s.now {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n0"})
		}
		before := 0.0 // the last entry of the call before
		for step := range int64(150) {
			begin := slices.Clone(s.now)
			for r := range s.now {
				work := 100 + rng.NormFloat64()
				if r == 1 {
					work += 50
				}
				w.Durations = append(w.Durations, int64(work*ms))
				s.now[r] += work
			}
			if step%5 == 4 {
				last := 0.0
				for r := range s.now {
					s.now[r] = max(s.now[r], before) + 0.1*rng.Float64()
					s.put(0, r, 100, step)
					last = max(last, s.now[r])
				}
				before = last
			}
			for r := range s.now {
				w.Wall = append(w.Wall, int64((s.now[r]-begin[r])*ms))
			}
		}
		j := s.job([][]int{{0, 1, 2}})
		if windows {
			j.AddWindow(w)
		}
		return j.Analyze(Options{})
	}
	for windows, want := range map[bool]int64{true: 250 * ms, false: 750 * ms} {
		r := job(windows)
		if len(r.Late) != 1 || r.Late[0].Rank() != 1 {
			t.Errorf("beside steps %v: %+v, want rank 1", windows, r.Late)
			continue
		}
		l := r.Late[0]
		if absolute(l.Size-want) > 10*ms || windows && math.Abs(l.Saves.Alone-1.0/3) > 0.02 {
			t.Errorf("beside steps %v: %d ms, saves %.3f, want %d ms, a third", windows, l.Size/ms, l.Saves.Alone, want/ms)
		}
	}
}

// TestFirstCallElsewhere: of two ways to divide four ranks, as of sharded data and split layers, calls of one are waited for before those of the
// other, whatever was called before the first of them: a rank that works 17 ms longer before these is late.
func TestFirstCallElsewhere(t *testing.T) {
	groups := [][]int{{0, 2}, {1, 3}, {0, 1}, {2, 3}}
	rng, s := rand.New(rand.NewPCG(5, 9)), newStepped(4)
	for step := range int64(180) {
		for g, members := range groups[:2] {
			if step == 0 { // the weights are handed out
				s.enter(g, members, 99, step)
			}
			s.enter(g, members, 100, step)
		}
		for r := range s.now {
			s.now[r] += 10 + 2*rng.NormFloat64()
		}
		s.now[0] += 17
		for g, members := range groups[2:] {
			s.enter(2+g, members, 200, step)
			for noise := 3 * rng.Float64(); len(members) > 0; members = members[1:] { // what both do in as long
				s.now[members[0]] += noise
			}
		}
	}
	r := s.job(groups).Analyze(Options{})
	if len(r.Late) != 1 || r.Late[0].Rank() != 0 || r.Late[0].Size < 16*ms || r.Late[0].Size > 18*ms {
		t.Fatalf("late %+v, want rank 0 by 17 ms", r.Late)
	}
	for i := range r.Places {
		if p := &r.Places[i]; p.Repeats && p.Waits != 1 {
			t.Errorf("before %d calls of %s nobody is known to have waited", p.Points, p.Op)
		}
	}
}

// TestLateInEachMicrobatch: rank 0 hands out something before each of two micro-batches, and works 20 ms longer before each. By the first of these
// calls alone it may as well be one that nobody waits for: what it is late by there it is late by again at the second.
func TestLateInEachMicrobatch(t *testing.T) {
	all := []int{0, 1}
	rng, s := rand.New(rand.NewPCG(6, 9)), newStepped(2)
	for step := range int64(60) {
		for micro := range 2 {
			s.now[0] += 20
			for r := range s.now {
				s.put(0, r, 1, step)
				x := &s.calls[r][len(s.calls[r])-1]
				x.Name, x.Op, x.Stage = "gloo:broadcast", nccl.Broadcast, fmt.Sprint("data@", micro)
			}
			s.now[1] = max(s.now[1], s.now[0])
			for r := range s.now {
				s.now[r] += 70 + 3*rng.NormFloat64()
			}
		}
		s.enter(0, all, 100, step)
		for r := range s.now {
			s.now[r] += 10 + rng.NormFloat64()
		}
	}
	r := s.job([][]int{all}).Analyze(Options{})
	if len(r.Late) != 1 || r.Late[0].Rank() != 0 || r.Late[0].Size < 37*ms || r.Late[0].Size > 43*ms {
		t.Fatalf("late %+v, want rank 0 by 40 ms a step", r.Late)
	}
}

// TestPartOfRareCalls: of as few meetings as show the least delay that is found, a rank that loses a third of the run, for two fifths of it or in
// some of its steps, is told, as one that is late or may be.
func TestPartOfRareCalls(t *testing.T) {
	for ranks := 2; ranks <= 6; ranks++ {
		for seed := range uint64(10) {
			n := delay.FewestIntervals(ranks)
			for name, on := range map[string]func(meeting int) bool{
				"for a time": func(i int) bool { return i >= n/3 && i < n/3+(2*n+4)/5 },
				"some":       func(i int) bool { return i%5 == 1 || i%5 == 3 },
			} {
				rng, s := rand.New(rand.NewPCG(seed, 9)), newStepped(ranks)
				all := make([]int, ranks)
				for r := range all {
					all[r] = r
				}
				for i := range n + 1 {
					for r := range s.now {
						s.now[r] += 500 + 5*rng.NormFloat64()
					}
					if on(i) {
						s.now[1] += 800
					}
					for k := range int64(3) {
						s.enter(0, all, 10+k, int64(i))
						for r := range s.now {
							s.now[r] += 1 + 0.1*rng.Float64()
						}
					}
				}
				r := s.job([][]int{all}).Analyze(Options{})
				if told := append(r.Late, r.Doubted...); len(told) != 1 || told[0].Rank() != 1 {
					t.Errorf("%d meetings of %d ranks, %s, seed %d: %d late, %d perhaps, want rank 1", n, ranks, name, seed, len(r.Late), len(r.Doubted))
				}
			}
		}
	}
}
