package align

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// simulated is a process of known pairs: two communicators on streams of their own, iterations that repeat, calls and
// kernels lost by chance, stamps whose clock is off.
type simulated struct {
	Process
	truth map[[2]int]bool
}

func simulate(seed uint64, lostCalls, lostKernels float64) simulated {
	return simulateLong(seed, 0, lostCalls, lostKernels)
}

// simulateLong has at least so many launches, and 15 iterations.
func simulateLong(seed uint64, launches int, lostCalls, lostKernels float64) simulated {
	rng := rand.New(rand.NewPCG(seed, 99))
	iteration := make([]comms.Call, 20+rng.IntN(30))
	for i := range iteration {
		op := []nccl.Op{nccl.AllReduce, nccl.AllGather, nccl.ReduceScatter, nccl.Broadcast}[rng.IntN(4)]
		iteration[i] = comms.Call{Op: op, Datatype: []nccl.Datatype{nccl.Float32, nccl.Bfloat16}[rng.IntN(2)], Count: 1 << (3 + rng.IntN(4)*5),
			Group: rng.IntN(2)}
	}
	s := simulated{truth: map[[2]int]bool{}}
	s.Groups = []comms.Group{{Size: 4}, {Size: 4}}
	var counts [2]int64
	now, skew := int64(1e9), rng.Int64N(1e6)-500_000
	var busy [2]int64
	for range max(15, launches/len(iteration)+1) {
		for _, c := range iteration {
			now += 30_000 + rng.Int64N(60_000)
			c.Launch, c.Stream, c.Enter, c.HasEnter, c.Thread = counts[c.Group], uint64(7+c.Group), now, true, 1
			c.Send, c.Recv = uint64(now), uint64(now)
			counts[c.Group]++
			launch := now + 6_000 + rng.Int64N(8_000)
			start := max(launch+5_000, busy[c.Group])
			busy[c.Group] = start + 10_000 + c.Count/100
			logged, traced := rng.Float64() >= lostCalls, rng.Float64() >= lostKernels
			if logged && traced {
				s.truth[[2]int{len(s.Kernels), len(s.Calls)}] = true
			}
			if logged {
				s.Calls = append(s.Calls, &c)
			}
			if traced {
				k := comms.Kernel{KernelName: nccl.KernelName{Op: c.Op, Datatype: nccl.UnknownType, Algo: nccl.Ring}, Stream: int64(20 + c.Group),
					Start: start + skew, End: busy[c.Group] + skew, Launch: launch + skew, HasLaunch: true, Thread: 1, Grid: 1 + int32(c.Count>>10), Block: 512}
				if c.Op.Reduces() {
					k.Datatype = c.Datatype
				}
				s.Kernels = append(s.Kernels, k)
			}
		}
	}
	return s
}

// f1 scores a matching, and how many of its certain pairs are true.
func (s *simulated) f1(m *Matching) (f float64, certain, certainRight int) {
	right, found := 0, 0
	for _, k := range m.Matches {
		for _, c := range m.Launches[k.Launch].Calls {
			found++
			true := s.truth[[2]int{k.Kernel, c}]
			if true {
				right++
			}
			if m.IsCertain(k) {
				certain++
				if true {
					certainRight++
				}
			}
		}
	}
	return 2 * float64(right) / float64(found+len(s.truth)), certain, certainRight
}

// With stamps and launches nearly every pair is found, whatever is lost; a pair that is called certain is
// true; and clocks that are half a millisecond off are found out.
func TestSimulated(t *testing.T) {
	for _, lost := range []struct{ calls, kernels, least float64 }{{0, 0, 1}, {0.2, 0, 0.99}, {0, 0.2, 0.99}, {0.2, 0.2, 0.99}, {0.02, 0.4, 0.99}} {
		certain, right := 0, 0
		for seed := range uint64(20) {
			s := simulate(seed, lost.calls, lost.kernels)
			m, err := Calls(s.Process, Options{})
			if err != nil {
				t.Fatal(err)
			}
			f, c, r := s.f1(m)
			if f < lost.least {
				t.Errorf("%v, seed %d: F1 %.4f", lost, seed, f)
			}
			certain, right = certain+c, right+r
		}
		if float64(right) < 0.999*float64(certain) || certain == 0 {
			t.Errorf("%v: %d of %d certain pairs are true", lost, right, certain)
		}
	}
}

// Without clocks repeated iterations are ambiguous: certain pairs are true all the same.
func TestWithoutClocks(t *testing.T) {
	o := Options{Clockless: true}
	certain, right := 0, 0
	for seed := range uint64(30) {
		s := simulate(seed, 0, 0.2)
		m, err := Calls(s.Process, o)
		if err != nil {
			t.Fatal(err)
		}
		_, c, r := s.f1(m)
		certain, right = certain+c, right+r
	}
	t.Logf("%d of %d certain pairs are true", right, certain)
	if float64(right) < 0.999*float64(certain) {
		t.Errorf("%d of %d certain pairs are true", right, certain)
	}
}

// Names do not show which of six equal calls in a row lost its kernel; when the others start does.
func TestByStarts(t *testing.T) {
	step := []nccl.Op{nccl.AllGather, nccl.AllGather, nccl.AllGather, nccl.AllGather, nccl.AllGather, nccl.AllGather, nccl.AllReduce, nccl.Broadcast}
	p := Process{Groups: groups}
	lost := map[int]bool{17: true, 34: true, 57: true}
	want := map[int]int{} // call of each kernel
	at := int64(0)
	for i := range 10 * len(step) {
		op := step[i%len(step)]
		p.Calls = append(p.Calls, &comms.Call{Op: op, Datatype: nccl.Float32, Count: 8, Launch: int64(i), Send: uint64(i + 1)})
		if at += int64(i%len(step)+1) * 100_000; !lost[i] {
			want[len(p.Kernels)] = i
			p.Kernels = append(p.Kernels, comms.Kernel{KernelName: nccl.KernelName{Op: op, Datatype: nccl.UnknownType}, Start: at, End: at + 50_000})
		}
	}
	m, err := Calls(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int{}
	for _, x := range m.Matches {
		got[x.Kernel] = m.Launches[x.Launch].Calls[0]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("call of each kernel, want −, got +:\n%s", diff)
	}
}

// A log in another time zone, and a trace that does not know when it began.
func TestFarClocks(t *testing.T) {
	for _, off := range []int64{3600e9, -7200e9, -1_766_084_876_000_000_000} {
		for seed := range uint64(10) {
			s := simulate(seed, 0.2, 0.2)
			for i := range s.Kernels {
				k := &s.Kernels[i]
				k.Start, k.End, k.Launch = k.Start+off, k.End+off, k.Launch+off
			}
			m, err := Calls(s.Process, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f, _, _ := s.f1(m); f < 0.99 || m.clock.offset-off > 1e6 || off-m.clock.offset > 1e6 {
				t.Errorf("%d ns apart, seed %d: F1 %.4f, offset %d", off, seed, f, m.clock.offset)
			}
		}
	}
}

// Threads that the two sides number differently, as in a container, say nothing.
func TestOtherThreads(t *testing.T) {
	s := simulate(3, 0.2, 0.2)
	for i := range s.Kernels {
		s.Kernels[i].Thread = 999
	}
	m, err := Calls(s.Process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f, _, _ := s.f1(m); f < 0.99 {
		t.Errorf("F1 %.4f", f)
	}
}

// Kernels that a graph replays have no calls and take none.
func TestReplay(t *testing.T) {
	s := simulate(1, 0, 0)
	for i := range 50 {
		k := s.Kernels[i]
		k.Replay, k.HasLaunch = true, false
		s.Kernels = append(s.Kernels, k)
	}
	m, err := Calls(s.Process, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f, _, _ := s.f1(m); f != 1 || !m.clock.use {
		t.Errorf("F1 %v, timed %v", f, m.clock.use)
	}
}

// Nothing on either side is an answer too.
func TestEmpty(t *testing.T) {
	s := simulate(1, 0, 0)
	for _, p := range []Process{{}, {Groups: s.Groups, Calls: s.Calls}, {Kernels: s.Kernels}} {
		m, err := Calls(p, Options{})
		if err != nil || len(m.Matches) != 0 {
			t.Errorf("%d calls, %d kernels: %v, %v", len(p.Calls), len(p.Kernels), m, err)
		}
	}
}

// A program of ten equal steps of which a recording has steps 6 and 7: without times nine beginnings are possible, and the true one is
// among them; with times, or where every step differs, none is left open.
func TestUndecided(t *testing.T) {
	step := []nccl.Op{nccl.AllGather, nccl.AllReduce, nccl.AllReduce, nccl.ReduceScatter}
	recording := func(count func(i int) int64, stamped bool) Process {
		p := Process{Groups: groups}
		for i := range 10 * len(step) {
			op := step[i%len(step)]
			p.Calls = append(p.Calls, &comms.Call{Op: op, Datatype: nccl.Float32, Count: count(i), Launch: int64(i), Send: uint64(i + 1),
				Enter: int64(i) * 10_000_000, HasEnter: stamped, Tuning: &comms.Tuning{Channels: int32(count(i))}})
			if i/len(step) == 6 || i/len(step) == 7 {
				at := int64(i)*10_000_000 + 20_000
				p.Kernels = append(p.Kernels, comms.Kernel{KernelName: nccl.KernelName{Op: op, Datatype: nccl.UnknownType}, Start: at, End: at + 100_000,
					Launch: at - 9_000, HasLaunch: stamped, Grid: int32(count(i))})
			}
		}
		return p
	}
	same := func(int) int64 { return 8 }
	for name, c := range map[string]struct {
		p    Process
		want []int
	}{
		"equal steps":     {recording(same, false), []int{0, 4, 8, 12, 16, 20, 24, 28, 32}},
		"times":           {recording(same, true), nil},
		"steps that grow": {recording(func(i int) int64 { return int64(1 + i/len(step)) }, false), nil},
	} {
		m, err := Calls(c.p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, b := range m.UndecidedStreams() {
			got = append(got, b.Calls...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, want −, got +:\n%s", name, diff)
		}
	}
}
