package align

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// outcome is what an alignment comes to.
type outcome struct {
	matches, mismatches, gaps int
	longest                   int // run of gaps on one side
	pairs                     []growPair
}

func outcomeOf(t *testing.T, kernels, calls []nccl.Op) (o outcome) {
	t.Helper()
	pairs, err := growingGaps(kernels, calls)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(pairs)
	o.pairs = pairs
	kernel, call := 0, 0
	for _, p := range append(pairs, growPair{kernel: len(kernels), call: len(calls)}) {
		o.gaps += p.kernel - kernel + p.call - call
		o.longest = max(o.longest, p.kernel-kernel, p.call-call)
		kernel, call = p.kernel+1, p.call+1
	}
	for _, p := range pairs {
		if p.match {
			o.matches++
		} else {
			o.mismatches++
		}
	}
	return o
}

// The validation tests of §4.3.1 of the NCCL Trace Profiler, by their names, with the results that it states.
const (
	allReduce     = nccl.AllReduce
	allGather     = nccl.AllGather
	broadcast     = nccl.Broadcast
	reduceScatter = nccl.ReduceScatter
	send, recv    = nccl.Send, nccl.Recv
)

// 3 matches, 0 mismatches, 2 gaps.
func TestAsymmetricPenalty(t *testing.T) {
	o := outcomeOf(t, []nccl.Op{allReduce, allReduce, broadcast, allReduce}, []nccl.Op{allReduce, allReduce, send, allReduce})
	if o.matches != 3 || o.mismatches != 0 || o.gaps != 2 {
		t.Errorf("%+v", o)
	}
}

// At least 75 % of the matches are in the second segment.
func TestFalsePositivePrevention(t *testing.T) {
	o := outcomeOf(t, []nccl.Op{allReduce, allReduce, broadcast, reduceScatter}, []nccl.Op{
		allReduce, allReduce, allReduce, reduceScatter,
		allReduce, allReduce, broadcast, reduceScatter,
		allReduce, broadcast, allReduce, reduceScatter})
	second := 0
	for _, p := range o.pairs {
		if p.match && p.call >= 4 && p.call < 8 {
			second++
		}
	}
	if o.matches == 0 || 4*second < 3*o.matches {
		t.Errorf("%d of %d matches in the second segment: %+v", second, o.matches, o.pairs)
	}
}

// All five kernels are matched, without mismatch, and half of the calls are skipped.
func TestConsecutiveDuplication(t *testing.T) {
	kernels := []nccl.Op{allReduce, broadcast, allGather, reduceScatter, allReduce}
	var calls []nccl.Op
	for _, op := range kernels {
		calls = append(calls, op, op)
	}
	if o := outcomeOf(t, kernels, calls); o.matches != 5 || o.mismatches != 0 || o.gaps != 5 {
		t.Errorf("%+v", o)
	}
}

// Perfect alignment: i = j of all pairs.
func TestSequenceBonus(t *testing.T) {
	ops := slices.Concat(slices.Repeat([]nccl.Op{allReduce}, 5), []nccl.Op{broadcast}, slices.Repeat([]nccl.Op{reduceScatter}, 3))
	o := outcomeOf(t, ops, ops)
	for _, p := range o.pairs {
		if p.kernel != p.call || !p.match {
			t.Errorf("%+v", p)
		}
	}
	if o.matches != len(ops) {
		t.Errorf("%d matches", o.matches)
	}
}

// No run of more than two gaps.
func TestAdaptiveGapPenalty(t *testing.T) {
	o := outcomeOf(t, slices.Repeat([]nccl.Op{allReduce}, 5), []nccl.Op{allReduce, broadcast, send, recv, allReduce, allReduce, allReduce})
	if o.longest > 2 || o.matches < 4 {
		t.Errorf("%+v", o)
	}
}

// Two empty sequences, one empty, and scores by hand: a weight of 2, a gap of three inside, −5·(1 + 1.3 + 1.6), no growth at the end.
func TestGrowingGaps(t *testing.T) {
	if o := outcomeOf(t, nil, nil); o.matches+o.gaps != 0 {
		t.Errorf("%+v", o)
	}
	if o := outcomeOf(t, nil, []nccl.Op{send, recv}); o.gaps != 2 {
		t.Errorf("%+v", o)
	}
	c := growCell{}.pair(broadcast, broadcast)
	for range 3 {
		c = c.gap(callAlone, false)
	}
	if c.score != 1000-500-650-800 || c.run != 3 {
		t.Errorf("%+v", c)
	}
	if c = c.gap(callAlone, true); c.score != -950-500 {
		t.Errorf("%+v", c)
	}
	if c = (growCell{match: allReduce}).pair(allReduce, allReduce); c.score != 600 {
		t.Errorf("%+v", c)
	}
	if c = (growCell{}).pair(broadcast, send); c.score != -1875 {
		t.Errorf("%+v", c)
	}
}

// TestBySliding: by hand, what a lost call and a lost kernel do. A lost call has the kernel take the next of its
// operation, so that the call of another is passed over; a lost kernel is made good where the operation changes.
func TestBySliding(t *testing.T) {
	process := func(kernels, calls []nccl.Op) (p Process) {
		for i, op := range kernels {
			p.Kernels = append(p.Kernels, comms.Kernel{KernelName: nccl.KernelName{Op: op}, Start: int64(i)})
		}
		for _, op := range calls {
			p.Calls = append(p.Calls, &comms.Call{Op: op})
		}
		return p
	}
	for _, c := range []struct {
		kernels, calls []nccl.Op
		window         int
		want           [][2]int // call, kernel
	}{
		{[]nccl.Op{allReduce, broadcast, allReduce, broadcast}, []nccl.Op{allReduce, broadcast, allReduce, broadcast}, 8, [][2]int{{0, 0}, {1, 1}, {2, 2}, {3, 3}}},
		{[]nccl.Op{allReduce, broadcast, allReduce, broadcast}, []nccl.Op{broadcast, allReduce, broadcast}, 8, [][2]int{{1, 0}, {2, 1}}},
		{[]nccl.Op{allReduce, broadcast, allReduce, broadcast}, []nccl.Op{broadcast, allReduce, broadcast}, 1, [][2]int{{0, 1}, {1, 2}, {2, 3}}},
		{[]nccl.Op{allReduce, broadcast, broadcast}, []nccl.Op{allReduce, allReduce, broadcast, broadcast}, 8, [][2]int{{0, 0}, {2, 1}, {3, 2}}},
	} {
		var got [][2]int
		for _, p := range BySliding(process(c.kernels, c.calls), c.window) {
			got = append(got, [2]int{p.Row, p.Column})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("kernels %v, calls %v, window %d: %v, want %v", c.kernels, c.calls, c.window, got, c.want)
		}
	}
}
