// Package simulated tests what is made of the traces that torch.profiler would have recorded
// of simulated jobs whose fault is known: data-parallel ones with microsteps,
// pipelines, and tensor-parallel ones.
//
// Hosts launch work and run ahead; devices run it in the order of its queue;
// collectives, and sends with their receives, begin on each member when that
// member comes and end on all when the last one has come and the data are
// over, as NCCL's kernels do.
package simulated

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Millisecond is in the unit of all times here, nanoseconds.
const Millisecond = 1_000_000

// Part is what a rank does in a step.
type Part uint8

const (
	Data Part = iota // waiting for a batch, on the host
	Forward
	Backward
	Optimizer
)

// Place is a piece of work.
type Place struct {
	Rank, Step, Micro int
	Part              Part
}

// Job is what is simulated. Ranks are numbered with tp fastest, then dp, then
// pp, as Megatron-LM does.
type Job struct {
	TP, DP, PP int // sizes; 0 counts as 1
	Steps      int
	Microsteps int // of a step; 0 counts as 1
	Layers     int // kernels in a pass; 0 counts as 4
	Seed       uint64
	Noise      float64                                 // relative spread of the length of a kernel
	Factor     func(Place) float64                     // on the length of the work at a place; nil: 1
	Kernel     func(at Place, layer int) (name string) // nil: as built in
	Clock      func(rank int) int64                    // by how much a rank's clock is ahead, ns; nil: 0
	Anonymous  bool                                    // process groups have no description
	Flat       bool                                    // no collective over all ranks ends a step
}

// World is the number of ranks.
func (j *Job) World() int { return j.tp() * j.dp() * j.pp() }

func (j *Job) tp() int         { return max(1, j.TP) }
func (j *Job) dp() int         { return max(1, j.DP) }
func (j *Job) pp() int         { return max(1, j.PP) }
func (j *Job) microsteps() int { return max(1, j.Microsteps) }
func (j *Job) layers() int {
	if j.Layers == 0 {
		return 4
	}
	return j.Layers
}

func (j *Job) rank(tp, dp, pp int) int { return tp + j.tp()*(dp+j.dp()*pp) }

func (j *Job) coordinates(rank int) (tp, dp, pp int) {
	return rank % j.tp(), rank / j.tp() % j.dp(), rank / j.tp() / j.dp()
}

// group is a process group.
type group struct {
	name, desc string
	ranks      []int
	stream     int
}

// groupsOf are the groups of a rank along tp, dp and pp, and the one of all.
func (j *Job) groupsOf(rank int) (tensor, data, pipeline, world *group) {
	tp, dp, pp := j.coordinates(rank)
	tensor, data, pipeline = &group{desc: "mesh_tp", stream: 20}, &group{desc: "mesh_dp", stream: 24}, &group{desc: "mesh_pp", stream: 28}
	world = &group{name: "0", desc: "default_pg", stream: 40}
	for i := range j.tp() {
		tensor.ranks = append(tensor.ranks, j.rank(i, dp, pp))
	}
	for i := range j.dp() {
		data.ranks = append(data.ranks, j.rank(tp, i, pp))
	}
	for i := range j.pp() {
		pipeline.ranks = append(pipeline.ranks, j.rank(tp, dp, i))
	}
	for i := range j.World() {
		world.ranks = append(world.ranks, i)
	}
	tensor.name = fmt.Sprintf("t%d.%d", dp, pp)
	data.name = fmt.Sprintf("d%d.%d", tp, pp)
	pipeline.name = fmt.Sprintf("p%d.%d", tp, dp)
	if j.Anonymous {
		tensor.desc, data.desc, pipeline.desc = "undefined", "undefined", "undefined"
	}
	return tensor, data, pipeline, world
}

// Traces are the traces of all ranks, by rank.
func (j *Job) Traces() [][]byte {
	points := make(map[string]*point)
	workers := make([]*worker, j.World())
	for r := range workers {
		w := &worker{job: j, id: r, host: 1000 * Millisecond, queue: make(map[int]int64), pending: make(map[int]*call), calls: make(map[string]int),
			rng: rand.New(rand.NewPCG(j.Seed, uint64(r))), points: points}
		w.tensor, w.data, w.pipeline, w.world = j.groupsOf(r)
		workers[r] = w
	}
	play(workers)
	out := make([][]byte, len(workers))
	for r, w := range workers {
		out[r] = w.document()
	}
	return out
}

// around is a length with the job's noise and fault.
func (w *worker) around(ns int64, at Place) int64 {
	factor := 1.0
	if w.job.Factor != nil {
		factor = w.job.Factor(at)
	}
	return max(1000, int64(float64(ns)*factor*math.Exp(w.job.Noise*w.rng.NormFloat64())))
}
