package nsighttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Gloss is what a rendered window does not say by itself. The zero value is a
// host that waits for its device in every stage.
type Gloss struct {
	Skew    func(rank int) int64 // ns that the rank's clock is ahead; nil: none
	Kernels int                  // in a stage, 1 at least; 0: the stages have no device work
	Short   bool                 // stages are named by plain words: "forward", "backward"
	Late    int64                // ns after a stage began at which its range does, at most half of it
}

// ByRank renders a window as one process for each rank, with what Nsight
// Systems would have recorded: an NVTX range for each step, in it one for each
// stage that takes time, and in each stage kernels that fill it. In backward
// the last kernel is an all-reduce that ends with the stage.
//
// Walls of zero, as where none were recorded, are the sums of the stages.
func ByRank(w *trace.Window, g Gloss) []Process {
	var out []Process
	begins := begins(w)
	for r, rank := range w.Ranks {
		local := rank.LocalRank
		p := Process{PID: 4000 + 7*r, Name: "python3", Device: int64(local), GPU: int64(local)}
		d := drawing{p: &p, g: g, at: 10_000_000 + begins[r]}
		if g.Skew != nil {
			d.at += g.Skew(r)
		}
		for t := range w.Steps() {
			d.step(w, t, r)
		}
		out = append(out, p)
	}
	return out
}

// begins are when the ranks begin, so that backward passes end on all of them
// at once, in the median of the steps. Windows do not say it: their times are
// lengths.
func begins(w *trace.Window) []int64 {
	R, at := len(w.Ranks), make([]int64, len(w.Ranks))
	behind := make([][]int64, R) // of rank 0, at the end of each backward pass
	for t := range w.Steps() {
		met, end := slices.Clone(at), slices.Clone(at)
		for s, name := range w.Schema.Stages {
			for r := range R {
				end[r] += w.Step(t)[s*R+r]
			}
			if strings.HasPrefix(name, stagename.BackwardStem) {
				copy(met, end)
			}
		}
		for r := range R {
			behind[r] = append(behind[r], met[0]-met[r])
			if wall := w.WallOf(t); wall != nil {
				end[r] = max(end[r], at[r]+wall[r])
			}
		}
		at = end
	}
	begin := make([]int64, R)
	for r := range R {
		begin[r] = robust.Lower(behind[r])
	}
	first := slices.Min(begin)
	for r := range R {
		begin[r] -= first
	}
	return begin
}

// drawing adds to a process as time goes by.
type drawing struct {
	p           *Process
	g           Gloss
	at          int64
	correlation int64
}

func (d *drawing) step(w *trace.Window, t, r int) {
	begin, R := d.at, len(w.Ranks)
	for s, name := range w.Schema.Stages {
		row := w.Step(t)[s*R : (s+1)*R]
		d.stage(name, row, r)
	}
	end := d.at
	if wall := w.WallOf(t); wall != nil {
		end = max(end, begin+wall[r])
	}
	d.at = end
	d.p.Ranges = append(d.p.Ranges, Range{Start: begin, End: end, Text: fmt.Sprintf("iteration %d", w.FirstStep+int64(t))})
}

func (d *drawing) stage(name string, row []int64, r int) {
	dur := row[r]
	if dur == 0 {
		return
	}
	text := name
	if d.g.Short {
		text = plainName(name)
	}
	d.p.Ranges = append(d.p.Ranges, Range{Start: d.at + min(d.g.Late, dur/2), End: d.at + dur, Text: text, Registered: true})
	if d.g.Kernels > 0 && !strings.HasPrefix(name, stagename.DataStem) && !strings.HasPrefix(name, "callbacks") {
		syncs := strings.HasPrefix(name, stagename.BackwardStem)
		own := dur
		if syncs { // what no rank does less of than this is its own
			least := row[0]
			for _, v := range row {
				least = min(least, v)
			}
			own = least * 3 / 4
		}
		for k := range d.g.Kernels {
			d.kernel("gemm_"+plainName(name), own*int64(k)/int64(d.g.Kernels), own*int64(k+1)/int64(d.g.Kernels))
		}
		if syncs {
			d.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", own, dur)
		}
	}
	d.at += dur
}

// kernel launches a kernel that runs from … to after the start of the stage,
// not before its range.
func (d *drawing) kernel(name string, from, to int64) {
	d.correlation++
	from = min(max(from, d.g.Late), to)
	start := d.at + from
	d.p.Calls = append(d.p.Calls, Call{Start: start, End: start + 1, Correlation: d.correlation, Name: "cudaLaunchKernelExC_v11060"})
	d.p.Work = append(d.p.Work, Work{Start: start, End: d.at + to, Stream: 7, Correlation: d.correlation, Name: name})
}

// plainName is what people write for a stage of the recorder.
func plainName(stage string) string {
	for _, p := range []struct{ part, name string }{{"data", "dataloader"}, {"fwd", "forward"}, {"backward", "backward"},
		{"callback", "callbacks"}, {"optim", "optimizer"}} {
		if strings.Contains(stage, p.part) {
			return p.name
		}
	}
	return stage
}

// Shuffle puts the rows of every table of a process out of order.
func Shuffle(p *Process, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(p.Calls), func(i, j int) { p.Calls[i], p.Calls[j] = p.Calls[j], p.Calls[i] })
	rng.Shuffle(len(p.Work), func(i, j int) { p.Work[i], p.Work[j] = p.Work[j], p.Work[i] })
	rng.Shuffle(len(p.Ranges), func(i, j int) { p.Ranges[i], p.Ranges[j] = p.Ranges[j], p.Ranges[i] })
}
