package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/internal/draws"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// lossy is a generated job: two processes of one host that log into one file, line by line as it comes.
type lossy struct {
	seed                   uint64
	program                program
	lostCalls, lostKernels float64
	burst                  int   // launches that are lost together
	skew                   int64 // of the trace's clock, nanoseconds
}

func (l lossy) String() string {
	return fmt.Sprintf("%s, %.0f %% of calls and %.0f %% of kernels in runs of %d, clocks %v µs apart", l.program.name, 100*l.lostCalls, 100*l.lostKernels, l.burst, l.skew/1000)
}

// program is what one iteration calls.
type program struct {
	name string
	step []action
}

// action is one launch.
type action struct {
	op      nccl.Op
	comm    int // which has a stream of its own
	count   uint64
	calls   int  // of the group
	strange bool // a reduction in bfloat16 among those in float32
}

const lossyLaunches = 1500 // of each process

func lossyPrograms() []program {
	data := program{name: "data parallel"}
	for i := range 12 {
		data.step = append(data.step, action{op: nccl.AllReduce, count: 1 << (12 + i%3), calls: 1})
	}
	data.step = append(data.step, action{op: nccl.AllReduce, comm: 1, count: 1, calls: 1})
	tensor := program{name: "tensor parallel"}
	for range 10 {
		tensor.step = append(tensor.step, action{op: nccl.AllGather, count: 1 << 18, calls: 1}, action{op: nccl.ReduceScatter, count: 1 << 18, calls: 1, strange: true})
	}
	tensor.step = append(tensor.step, action{op: nccl.AllReduce, comm: 1, count: 1 << 22, calls: 3}, action{op: nccl.Broadcast, comm: 2, count: 64, calls: 1})
	pipe := program{name: "pipeline"}
	for range 8 {
		pipe.step = append(pipe.step, action{op: nccl.Send, count: 1 << 16, calls: 2}, action{op: nccl.AllReduce, comm: 1, count: 1 << 16, calls: 1})
	}
	same := program{name: "all the same", step: []action{{op: nccl.AllReduce, count: 1 << 20, calls: 1}}}
	rng := rand.New(rand.NewPCG(3, 3))
	mixed := program{name: "without order"}
	for range lossyLaunches {
		ops := []nccl.Op{nccl.AllReduce, nccl.AllGather, nccl.ReduceScatter, nccl.Broadcast, nccl.Send}
		mixed.step = append(mixed.step, action{op: ops[rng.IntN(len(ops))], comm: rng.IntN(3), count: 1 << (4 * (1 + rng.IntN(5))), calls: 1 + rng.IntN(2)})
	}
	return []program{data, tensor, pipe, same, mixed}
}

// lossyJobs is every kind of loss in every program, with other clocks each time.
func lossyJobs() (jobs []lossy) {
	skews := []int64{0, 400_000, -700_000, 3600e9, -1_766_084_870e9}
	for _, p := range lossyPrograms() {
		for _, lost := range [][2]float64{{0.05, 0}, {0, 0.2}, {0.2, 0.2}, {0.5, 0}, {0, 0.5}, {0.3, 0.5}} {
			for _, burst := range []int{1, 200} {
				n := len(jobs)
				jobs = append(jobs, lossy{seed: uint64(n), program: p, lostCalls: lost[0], lostKernels: lost[1], burst: burst, skew: skews[n%len(skews)]})
			}
		}
	}
	return jobs
}

// every are n jobs, evenly spread over all.
func every(jobs []lossy, n int) (out []lossy) {
	for i := range n {
		out = append(out, jobs[i*len(jobs)/n])
	}
	return out
}

// stampedLine is a line of the log and when it was written.
type stampedLine struct {
	at     int64
	text   string
	rank   int
	kernel int // that ran its call, −1 if the trace lost it
}

// losing says of each launch whether it is lost: in runs, as many as it takes.
func losing(rng *rand.Rand, n int, part float64, burst int) []bool {
	lost := make([]bool, n)
	for missing := int(part * float64(n)); missing > 0; {
		at := rng.IntN(n)
		for k := at; k < min(n, at+burst) && missing > 0; k++ {
			if !lost[k] {
				lost[k] = true
				missing--
			}
		}
	}
	return lost
}

// run carries out one process: lines of its log that were not lost, and kernels.
func (l lossy) run(rank int, rng *rand.Rand) (lines []stampedLine, kernels []comms.Kernel) {
	noCall, noKernel := losing(rng, lossyLaunches, l.lostCalls, l.burst), losing(rng, lossyLaunches, l.lostKernels, l.burst)
	now := int64(1_766_084_870e9) + rng.Int64N(1e6)
	var counts [3]uint64
	var busy [3]int64
	for i := range lossyLaunches {
		a := l.program.step[i%len(l.program.step)]
		now += 12_000 + rng.Int64N(60_000)
		if i%len(l.program.step) == 0 {
			now += rng.Int64N(3e6)
		}
		kernel := -1
		called := now
		if !noKernel[i] {
			kernel = len(kernels)
		}
		for c := range a.calls {
			now += 1_000 + rng.Int64N(2_000)
			called = now
			if !noCall[i] {
				lines = append(lines, stampedLine{now, a.line(rank, counts[a.comm], c, now), rank, kernel})
			}
		}
		counts[a.comm]++
		launched := called + 4_000 + rng.Int64N(12_000)
		if rng.IntN(50) == 0 { // the host was held up
			launched += rng.Int64N(400_000)
		}
		now = max(now, launched)
		start := max(launched+3_000+rng.Int64N(4_000), busy[a.comm]+1_500)
		busy[a.comm] = start + 8_000 + int64(a.count)/20 + rng.Int64N(5_000)
		if kernel >= 0 {
			name, _ := nccl.ParseKernel(a.kernel())
			kernels = append(kernels, comms.Kernel{KernelName: name, Stream: int64(20 + a.comm), Start: start + l.skew, End: busy[a.comm] + l.skew, Launch: launched + l.skew,
				HasLaunch: true, Thread: int64(100 + rank), Grid: a.blocks(), Block: 512})
		}
	}
	return lines, kernels
}

func (a action) blocks() int32 { return 1 + int32(min(a.count>>16, 7)) }

func (a action) datatype() (number int, name string) {
	if a.strange {
		return 9, "bf16"
	}
	return 7, "f32"
}

func (a action) kernel() string {
	_, name := a.datatype()
	switch {
	case a.op.PointToPoint():
		return "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
	case a.op.Reduces():
		return fmt.Sprintf("ncclDevKernel_%v_Sum_%s_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", a.op, name)
	}
	return fmt.Sprintf("ncclDevKernel_%v_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", a.op)
}

// line is what NCCL prints of the c-th call of a group.
func (a action) line(rank int, opCount uint64, c int, at int64) string {
	op, number := a.op, 0
	if number, _ = a.datatype(); op == nccl.Send && c == 1 {
		op = nccl.Recv
	}
	return fmt.Sprintf("%d.%06d node0:%d:%d [%d] NCCL INFO %v: opCount %x sendbuff %#x recvbuff %#x count %d datatype %d op 0 root %d comm %#x [nranks=2] stream %#x",
		at/1e9, at%1e9/1000, 100+rank, 100+rank, rank, op, opCount, 0x7f0000000000+at%1e12, 0x7f0000000000+at%1e12, a.count, number, 1-rank,
		0x55000000+0x1000*(a.comm+1)+rank*0x100000, 0x56000000+0x100*a.comm)
}

// scenario is the job as it was read.
func (l lossy) scenario(t *testing.T) *scenario {
	rng := rand.New(rand.NewPCG(l.seed, 71))
	s := &scenario{name: l.String()}
	var lines []stampedLine
	for rank := range 2 {
		more, kernels := l.run(rank, rng)
		lines = append(lines, more...)
		s.ranks = append(s.ranks, rankOfKernels(kernels))
	}
	slices.SortStableFunc(lines, func(a, b stampedLine) int { return cmp.Compare(a.at, b.at) })
	var text strings.Builder
	for _, x := range lines {
		text.WriteString(x.text + "\n")
	}
	src, err := ingest.NewSource(strings.NewReader(text.String()), "job.log", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b := nccllog.NewBuilder(ingest.Limits{})
	if err := b.Read(src, "job.log"); err != nil {
		t.Fatal(err)
	}
	log := b.Comm()
	if len(log.Calls) != len(lines) || len(log.Processes) != 2 {
		t.Fatalf("%v: %d calls of %d processes read, %d written", l, len(log.Calls), len(log.Processes), len(lines))
	}
	for i := range log.Calls {
		c := &log.Calls[i]
		x := lines[c.Line-1]
		r := &s.ranks[x.rank]
		r.process.Groups = log.Groups
		if x.kernel >= 0 {
			r.truth[[2]int{x.kernel, len(r.process.Calls)}] = true
			r.pairs++
		}
		r.process.Calls = append(r.process.Calls, c)
	}
	return s
}

func rankOfKernels(kernels []comms.Kernel) rank {
	return rank{process: align.Process{Kernels: kernels}, truth: map[[2]int]bool{}}
}

// Whatever is lost, on either side or both, a call here and there or two hundred at once, with clocks that are apart: with stamps and launches nearly
// every pair is found, and with and without them what is called certain is true.
func TestLossy(t *testing.T) {
	var worst, certain, right = 1.0, 0, 0
	jobs := every(lossyJobs(), draws.Of(t, 15, 60))
	for _, job := range jobs {
		s := job.scenario(t)
		var timed score
		timed.judge(s, alone(t, s, align.Options{}))
		t.Logf("%v: %d true pairs, F1 %.4f, %d of %d certain pairs are true", job, timed.truth, timed.f1(), timed.certainRight, timed.certain)
		worst = min(worst, timed.f1())
		certain, right = certain+timed.certain, right+timed.certainRight
		if timed.f1() < 0.99 {
			t.Errorf("%v: F1 %.4f", job, timed.f1())
		}
	}
	t.Logf("%d jobs: F1 %.4f at least; %d of %d certain pairs are true", len(jobs), worst, right, certain)
	if float64(right) < 0.999*float64(certain) {
		t.Errorf("%d of %d certain pairs are true", right, certain)
	}
}

// Without clocks little may be found of what repeats itself, but what is called certain is true however the losses come.
func TestLossyWithoutClocks(t *testing.T) {
	var certain, right int
	for _, job := range every(lossyJobs(), draws.Of(t, 4, 12)) {
		s := job.scenario(t)
		var blind score
		blind.judge(s, alone(t, s, symbolsOnly()))
		t.Logf("%v: %d true pairs, F1 %.4f, %d of %d certain pairs are true", job, blind.truth, blind.f1(), blind.certainRight, blind.certain)
		certain, right = certain+blind.certain, right+blind.certainRight
	}
	if float64(right) < 0.999*float64(certain) {
		t.Errorf("%d of %d certain pairs are true", right, certain)
	}
}
