package selfcheck

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/engine/comm/gotoh"
	"github.com/sfstat/sfstat/engine/comm/launchplan"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// recording is a process whose pairs of call and kernel are known.
type recording struct {
	align.Process
	truth map[[2]int]bool // kernel, call
}

// lossy is a job of two communicators on streams of their own whose iterations are alike; a fifth of its calls
// and a fifth of its kernels were not recorded, and the clocks of log and trace are up to half a millisecond apart.
func lossy(rng *rand.Rand) *recording {
	const iterations, lost = 10, 0.2
	iteration := make([]launchplan.Call, 20+rng.IntN(20))
	for i := range iteration {
		iteration[i] = launchplan.Call{Op: []nccl.Op{nccl.AllReduce, nccl.AllGather, nccl.ReduceScatter, nccl.Broadcast}[rng.IntN(4)],
			Datatype: []nccl.Datatype{nccl.Float32, nccl.Bfloat16}[rng.IntN(2)], Count: 1 << (3 + rng.IntN(4)*5), Ranks: 4, Comm: rng.IntN(2)}
	}
	r := &recording{truth: map[[2]int]bool{}}
	now, apart := int64(1e9), rng.Int64N(millisecond)-millisecond/2
	var counts [2]uint64
	var free [2]int64
	for range iterations {
		for _, c := range iteration {
			now += 30_000 + rng.Int64N(60_000)
			c.OpCount, c.Stream, c.Time, c.HasTime, c.Send, c.Recv = counts[c.Comm], uint64(7+c.Comm), now, true, uint64(now), uint64(now)
			counts[c.Comm]++
			launch := now + 6_000 + rng.Int64N(8_000)
			start := max(launch+5_000, free[c.Comm])
			free[c.Comm] = start + 10_000 + int64(c.Count)/100
			logged, traced := rng.Float64() >= lost, rng.Float64() >= lost
			if logged && traced {
				r.truth[[2]int{len(r.Kernels), len(r.Calls)}] = true
			}
			if logged {
				r.Calls = append(r.Calls, c)
			}
			if traced {
				r.Kernels = append(r.Kernels, kernelOf(&c, launch+apart, start+apart, free[c.Comm]+apart))
			}
		}
	}
	return r
}

// kernelOf is the kernel that runs a call: its name has the type of what is reduced, and nothing of the rest.
func kernelOf(c *launchplan.Call, launch, start, end int64) comms.Kernel {
	k := comms.Kernel{KernelName: nccl.KernelName{Op: c.Op, Datatype: nccl.UnknownType, Algo: nccl.Ring}, Stream: int64(20 + c.Comm),
		Launch: launch, HasLaunch: true, Start: start, End: end, Grid: 1 + int32(c.Count>>10), Block: 512}
	if c.Op.Reduces() {
		k.Datatype = c.Datatype
	}
	return k
}

// pairing counts pairs of call and kernel.
type pairing struct{ found, right, truth, certain, wrong int }

func (p pairing) f1() float64 { return 2 * float64(p.right) / float64(p.found+p.truth) }

func (p *pairing) add(q pairing) {
	p.found, p.right, p.truth = p.found+q.found, p.right+q.right, p.truth+q.truth
	p.certain, p.wrong = p.certain+q.certain, p.wrong+q.wrong
}

// judge aligns the process and counts.
func (r *recording) judge(sc align.Scoring) (p pairing) {
	m := must(align.Calls(r.Process, sc))
	p.truth = len(r.truth)
	for _, k := range m.Matches {
		for _, c := range m.Launches[k.Launch].Calls {
			right := r.truth[[2]int{k.Kernel, c}]
			p.found++
			if right {
				p.right++
			}
			if m.IsCertain(k) {
				p.certain++
				if !right {
					p.wrong++
				}
			}
		}
	}
	return p
}

// falselyCertain is how often a pair that is called certain may be false: the promise of engine/align.
const falselyCertain = 0.001

// leastF1 is what is promised of pairs where both sides tell when a call was launched.
const leastF1 = 0.99

// certainPairs: with clocks nearly all pairs are found, whatever is lost; with them and without, what is called
// certain is true.
func certainPairs(s *sampler) finding {
	type outcome struct{ timed, blind pairing }
	trials := repeat(s, s.alignments(), func(rng *rand.Rand) (o outcome) {
		r := lossy(rng)
		o.timed = r.judge(align.DefaultScoring())
		blind := align.DefaultScoring()
		blind.UseTime, blind.UseThread = false, false
		o.blind = r.judge(blind)
		return o
	})
	var timed, blind pairing
	for _, t := range trials {
		timed.add(t.timed)
		blind.add(t.blind)
	}
	certainly, wrong := timed.certain+blind.certain, timed.wrong+blind.wrong
	if timed.certain == 0 || blind.certain == 0 {
		return finding{text: "nothing is certain"}
	}
	rate := must(bootstrap.Binomial(wrong, certainly, certain))
	return finding{fmt.Sprintf("%d of %d false; F1 %.3f with clocks, %.3f without", wrong, certainly, timed.f1(), blind.f1()),
		rate.AtLeast <= falselyCertain && timed.f1() >= leastF1}
}

// alignments is how many processes are aligned: one takes as long as several small trials.
func (s *sampler) alignments() int { return (s.Simulated + 14) / 15 }

// grid is a table of scores, all of it allowed.
type grid [][]int32

func (g grid) Size() (rows, columns int)      { return len(g), len(g[0]) }
func (g grid) Window(int) (from, to int)      { return 0, len(g[0]) }
func (g grid) Row(dst []int32, row, from int) { copy(dst, g[row][from:]) }
func (g grid) Best(row int) int32             { return max(slices.Max(g[row]), 0) }

// wholeTable is the score of the best alignment by the recurrence of Gotoh (1982), every cell of it.
func (g grid) wholeTable(rows, columns gotoh.Gap) int32 {
	n, m := g.Size()
	square := func() [][]int32 {
		q := make([][]int32, n+1)
		for i := range q {
			q[i] = slices.Repeat([]int32{gotoh.Never}, m+1)
		}
		return q
	}
	h, x, y := square(), square(), square()
	h[0][0] = 0
	for i := range n + 1 {
		for j := range m + 1 {
			if i > 0 {
				x[i][j] = max(h[i-1][j]-rows.Open, x[i-1][j]) - rows.Extend
			}
			if j > 0 {
				y[i][j] = max(h[i][j-1]-columns.Open, y[i][j-1]) - columns.Extend
			}
			h[i][j] = max(h[i][j], x[i][j], y[i][j])
			if i > 0 && j > 0 {
				h[i][j] = max(h[i][j], h[i-1][j-1]+g[i-1][j-1])
			}
		}
	}
	return h[n][m]
}

// band: the alignment in a band one cell wide, widened until it is proved, scores as the best of the whole table.
func band(s *sampler) finding {
	return noneOf(repeat(s, s.Trials, func(rng *rand.Rand) bool {
		g := make(grid, 1+rng.IntN(40))
		columns := 1 + rng.IntN(40)
		for i := range g {
			g[i] = make([]int32, columns)
			for j := range g[i] {
				if g[i][j] = -15; rng.IntN(3) == 0 {
					g[i][j] = 1 + rng.Int32N(40)
				}
			}
		}
		o := gotoh.Options{Rows: gotoh.Gap{Open: rng.Int32N(20), Extend: rng.Int32N(10)},
			Columns: gotoh.Gap{Open: rng.Int32N(20), Extend: rng.Int32N(10)}, Width: 1}
		return must(gotoh.Solve(g, o)).Score != int64(g.wholeTable(o.Rows, o.Columns))
	}))
}

// Of two clocks: how far an offset may be off, in ns, and a drift, as a part, beyond four standard errors.
const (
	offsetWithin = 5_000
	driftWithin  = 2e-6
)

// clocksBack: two hosts' clocks are up to a second apart and drift by up to 100 ppm; from the ends of what they did
// together, each within microseconds and one of twenty far off, both come back.
func clocksBack(s *sampler) finding {
	return noneOf(repeat(s, s.Simulated, func(rng *rand.Rand) bool {
		offset, drift := rng.Int64N(2e9)-1e9, (2*rng.Float64()-1)*1e-4
		var points []clock.Point
		begin := int64(1e18)
		for i := range 100 + rng.IntN(200) {
			at := int64(i) * 10 * millisecond
			ahead := offset + int64(drift*float64(at)) + int64(1000*rng.NormFloat64())
			if rng.IntN(20) == 0 {
				ahead += rng.Int64N(10 * millisecond)
			}
			points = append(points, clock.Point{At: begin + at, Ahead: ahead})
		}
		c := must(clock.Fit(points))
		off := math.Abs(float64(c.AheadAt(begin) - offset))
		return off > offsetWithin || math.Abs(c.Drift-drift) > max(driftWithin, 4*c.DriftErr)
	}))
}

// publishedVolumes is the theory column of Table 5.1 of the NCCL Trace Profiler (Heidelberg 2026), in GB.
const publishedVolumes = "1.51, 1.34, 2.68, 8.05, 3.15"

// volumes: the formulas that were found for that column give all of it; and in any layout, what pipeline stages send
// is what others receive, and gradients that are reduced in parts leave a rank as those that are reduced whole.
func volumes(s *sampler) finding {
	lost := repeat(s, s.Trials, func(rng *rand.Rand) bool {
		m := must(randomModel(rng).Complete())
		parts := m
		parts.Sharding = volume.ShardedOptimizer
		var sends, receives, whole, split float64
		for stage := range m.PP {
			for _, f := range m.Flows(stage, volume.SendsAndReceives) {
				switch {
				case f.Dimension == volume.Pipeline && f.Op == nccl.Send:
					sends += f.Logged
				case f.Dimension == volume.Pipeline:
					receives += f.Logged
				case f.Dimension == volume.Data:
					whole += f.Sent
				}
			}
			for _, f := range parts.Flows(stage, volume.SendsAndReceives) {
				if f.Dimension == volume.Data {
					split += f.Sent
				}
			}
		}
		return sends != receives || math.Abs(whole-split) > 1e-9*whole
	})
	var found []string
	for _, row := range volume.Table51 {
		found = append(found, strconv.FormatFloat(row.Model.ThesisBytes(row.Stage)/1e9, 'f', 2, 64))
	}
	text, n := strings.Join(found, ", "), held(lost)
	return finding{fmt.Sprintf("%s; %d of %d", text, n, len(lost)), n == 0 && text == publishedVolumes}
}

// randomModel is a job of up to 512 ranks.
func randomModel(rng *rand.Rand) volume.Model {
	m := volume.Model{Hidden: 64 << rng.IntN(6), Sequence: 128 << rng.IntN(5), Vocabulary: 1000 + rng.Int64N(50_000), Microbatch: 1 + rng.Int64N(4),
		ElementBytes: 2, Iterations: 1 + rng.Int64N(10), DP: 1 << rng.IntN(4), TP: 1 << rng.IntN(4), PP: 1 << rng.IntN(4)}
	m.Layers = m.PP * (1 + rng.Int64N(8))
	m.GlobalBatch = m.Microbatch * m.DP * (1 + rng.Int64N(16))
	return m
}
