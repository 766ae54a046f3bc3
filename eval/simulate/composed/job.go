// Package composed makes recordings of stage times of jobs whose truth is known by replay:
// what a step of every rank takes by itself is drawn once, and what waiting adds to it is
// computed with the faults and without them.
//
//	end = start + work                       a stage
//	end = max over a set (end) + transfer    where ranks wait for one another
//	end = max(end, release of the step)      where a source of a fixed rate is waited for
//	end = max(end, end of the neighbour) + work / n    n times, where a pipeline hands on microbatches
//
// A step of a rank begins where its last one ended. Of a stage, [Job.Recording] has the time
// from its start to its end, waits included. Draws of faults and of noise are streams of their own:
// a job and its healthy twin share all their noise.
//
// Unlike package simulate, which has one program and its faults, jobs here differ in where ranks
// wait, in what of their time is recorded, and on which clock. Units: nanoseconds.
package composed

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/trace/stagename"
)

// Stages are those that are recorded, in the order of the step.
var Stages = []string{"data", "forward", "backward", "optim"}

// Segments of a step: the stages, and what lies in none of them.
const (
	data = iota
	forward
	backward
	optim
	outside
	segments
)

// stageOf returns what the time of a segment is called in a verdict.
func stageOf(segment int) string {
	if segment == outside {
		return stagename.Residual
	}
	return Stages[segment]
}

// meeting is a segment at whose end ranks wait for one another.
type meeting struct {
	segment  int
	sets     [][]int   // who waits for whom; nil: all for all
	every    int       // in one step of so many, the last of them
	transfer []float64 // [step]
}

// Fault is what makes ranks slower, by step, rank and segment.
type Fault struct {
	Ranks  []int    // none: all
	Stages []string // in which it is; none: all
	Saves  float64  // part of the run that goes without it, while the others stay
	Hides  float64  // ns a step, in the steps that it strikes

	extra [][][segments]float64 // [step][rank]
}

// pipeline is the ranks of a pipeline's stages, of which each takes the microbatches of a step, in forward, from the rank at its place in the stage
// before it, and in backward from that in the stage after it. The zero value: there is none.
type pipeline struct {
	stages [][]int
	micro  int // microbatches of a step
}

// pass lets microbatches pass a segment: end is when ranks begin it, and then when they end it, and own what they take in all.
func (p pipeline) pass(k int, end, own []float64) {
	for range p.micro {
		for i := range p.stages {
			at, before := i, i-1
			if k == backward {
				at, before = len(p.stages)-1-i, len(p.stages)-i
			}
			for place, r := range p.stages[at] {
				if i > 0 {
					end[r] = max(end[r], end[p.stages[before][place]])
				}
				end[r] += own[r] / float64(p.micro)
			}
		}
	}
}

// Job is a job with its noise drawn.
type Job struct {
	Family string
	Seed   uint64
	Ranks  int
	Steps  int
	Faults []Fault
	Saves  float64 // part of the run that goes without all faults

	perHost int
	at      int // the segment before which time is spent outside of the stages; segments: behind the last
	walled  bool
	clock   int64    // resolution of the recorder's; 0: a nanosecond
	sampled int      // one step of so many is recorded; 0: all
	ends    [2]int   // rank, and the step with which its record ends; 0: none does
	lost    [][]bool // [step][rank] not recorded; nil: none
	table   bool     // recorded as CSV, which says of each row which step it is

	pipeline pipeline

	work     [][][segments]float64 // [step][rank]
	meetings []meeting
	release  []float64 // [step] before which no rank ends data; nil: there is no source
	length   float64   // of the run
}

// times are what a replay gives.
type times struct {
	durations [][][]float64 // [step][rank][stage]
	wall      [][]float64   // [step][rank]
	length    float64       // until the last rank ends
}

// replay runs the job with some of its faults.
func (j *Job) replay(with func(fault int) bool) times {
	out := times{durations: make([][][]float64, j.Steps), wall: make([][]float64, j.Steps)}
	at := make([]float64, j.Ranks)
	end, own := make([]float64, j.Ranks), make([]float64, j.Ranks)
	for t := range j.Steps {
		start := slices.Clone(at)
		out.durations[t] = make([][]float64, j.Ranks)
		for r := range j.Ranks {
			out.durations[t][r] = make([]float64, len(Stages))
		}
		for _, k := range j.order() {
			for r := range j.Ranks {
				own[r] = max(0, j.ownTime(t, r, k, with))
				end[r] = at[r] + own[r]
				if k == data && j.release != nil {
					end[r] = max(end[r], j.release[t])
				}
			}
			if j.pipeline.micro > 0 && (k == forward || k == backward) {
				copy(end, at)
				j.pipeline.pass(k, end, own)
			}
			j.wait(t, k, end)
			for r := range j.Ranks {
				if k != outside {
					out.durations[t][r][k] = end[r] - at[r]
				}
				at[r] = end[r]
			}
		}
		out.wall[t] = make([]float64, j.Ranks)
		for r := range j.Ranks {
			out.wall[t][r] = at[r] - start[r]
		}
	}
	out.length = slices.Max(at)
	return out
}

// order returns the segments in the order of the step.
func (j *Job) order() []int {
	out := []int{data, forward, backward, optim}
	return slices.Insert(out, min(j.at, len(out)), outside)
}

// ownTime returns what a rank takes in a segment by itself.
func (j *Job) ownTime(t, r, k int, with func(fault int) bool) float64 {
	x := j.work[t][r][k]
	for i := range j.Faults {
		if with(i) {
			x += j.Faults[i].extra[t][r][k]
		}
	}
	return x
}

// wait lets ranks that meet at the end of a segment leave it together.
func (j *Job) wait(t, k int, end []float64) {
	for _, m := range j.meetings {
		if m.segment != k || t%m.every != m.every-1 {
			continue
		}
		sets := m.sets
		if sets == nil {
			sets = [][]int{numbers(j.Ranks)}
		}
		for _, set := range sets {
			last := 0.0
			for _, r := range set {
				last = max(last, end[r])
			}
			for _, r := range set {
				end[r] = last + m.transfer[t]
			}
		}
	}
}

// price computes what each fault costs, and all of them.
func (j *Job) price() {
	length := func(with func(int) bool) float64 { return j.replay(with).length }
	j.length = length(all)
	for i := range j.Faults {
		j.Faults[i].Saves = 1 - length(func(f int) bool { return f != i })/j.length
	}
	j.Saves = 1 - length(func(int) bool { return false })/j.length
}

func all(int) bool { return true }

// Healthy returns the same job without its faults.
func (j *Job) Healthy() *Job {
	out := *j
	out.Family, out.Faults = j.Family+healthySuffix, nil
	out.price()
	return &out
}

// Coarse reports whether the recorder's clock hides where ranks wait: its resolution is 2 % of a step or more.
func (j *Job) Coarse() bool { return float64(j.clock) >= coarse*j.length/float64(j.Steps) }

const coarse = 0.02

const healthySuffix = "_healthy"

// New returns a job of a family: one of [Families], or the healthy twin of one.
func New(family string, seed uint64) (*Job, error) {
	i := slices.IndexFunc(families, func(f kind) bool { return f.name == family })
	if i < 0 {
		return nil, fmt.Errorf("composed: no family %q, expected one of %q", family, Families())
	}
	key := fnv.New64a()
	_, _ = key.Write([]byte(families[i].family())) // never fails
	rng := rand.New(rand.NewPCG(seed, key.Sum64()))
	j := families[i].make(rng)
	j.Family, j.Seed = families[i].family(), seed
	j.price()
	if families[i].twin {
		return j.Healthy(), nil
	}
	return j, nil
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
