// Package microbatch divides the time that forward and backward passes take into
// what belongs to a pipeline stage, to a worker, to a microbatch, and rest.
//
// A worker is one replica of one stage. With L(w,t) the logarithm of the time
// that worker w computes in step t, all passes together, in ns,
//
//	r(w)     = median over t of  L(w,t) − median over the other replicas v of its stage of L(v,t)
//	stage s  = median over its workers of their mean time in a step
//	e(p)     = logarithm of the time of pass p, less the mean of its worker's passes of that direction in its step,
//	           and less what passes of its place in the step have in common
//
// A worker is slow when r is large against the spread of r over all workers of
// the job: who differs from peers by as much as peers differ is not slow. That
// is the persistent part; the median over the steps does not see a step alone.
//
// A microbatch that is longer than others in its step makes its forward and its
// backward pass longer, on every stage of its replica. A worker that is slow,
// always or in some steps, does not tell microbatches apart, and noise does not
// relate them. The correlations of e say which it is.
//
// Assumptions: replicas of a stage do the same work on different data;
// differences between healthy workers are about normal on logarithms, with one
// spread for the whole job.
package microbatch

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
)

// Input is the passes of a job: as many workers as stages × replicas, by stage, each with its forward
// and its backward passes, ns. With several model chunks on a stage, their passes are added up.
type Input struct {
	Stages, Microbatches, Steps, Replicas int

	Forward, Backward [][]int64 // [worker][microbatch·Steps + step]
}

// Level is how one part of the job compares with its like.
type Level struct {
	Time   float64  // ns that it computes in a step: of a worker the mean, of a stage the median over its workers
	Factor float64  // of its time to that of its like: exp r of a worker; of a stage, to the median of the other stages
	Score  *float64 // logarithm of Factor in spreads; nil when there is nothing to compare with
	P      float64  // one-sided chance of such a score, before correction; 1 without one
	Slow   bool     // P passes with the correction for all workers, or all stages (Bonferroni)
}

// Result is the division.
type Result struct {
	Workers []Level // [stage·Replicas + replica]
	Stages  []Level
	// Between is the spread of r over the workers, a deviation of logarithms;
	// 0 when it cannot be told. Freedom are its degrees.
	Between, Freedom float64
	Shared           Shared
}

// floorSpread is the smallest spread between workers that is believed: clocks
// and frequencies of equal devices differ by this much.
const floorSpread = 1e-3

// permutations of the test of correlations.
const permutations = 199

// Analyze divides the time. alpha is the chance that any worker of a healthy job
// is found slow; that any stage is, is the same.
//
// O(n + steps × workers × log replicas) for n passes, and O(n) for each
// permutation, for which at most 64 workers are drawn.
func Analyze(in Input, alpha float64) *Result {
	r := &Result{Workers: make([]Level, in.Stages*in.Replicas), Stages: make([]Level, in.Stages)}
	r.workers(&in, alpha)
	r.stages(&in, alpha)
	r.Shared = in.measureShared()
	return r
}

// work returns the time that each worker computes in each step, [worker][step].
func (in *Input) work() [][]float64 {
	out := make([][]float64, len(in.Forward))
	for w := range out {
		out[w] = make([]float64, in.Steps)
		for _, passes := range [][]int64{in.Forward[w], in.Backward[w]} {
			for i, x := range passes {
				out[w][i%in.Steps] += float64(x)
			}
		}
	}
	return out
}

// workers compares every worker with the other replicas of its stage.
func (r *Result) workers(in *Input, alpha float64) {
	work := in.work()
	deviations := make([]float64, 0, len(work))
	for w := range work {
		r.Workers[w] = Level{Time: stat.Mean(work[w], nil), Factor: 1, P: 1}
	}
	if in.Replicas < 2 {
		return
	}
	columns := make([][]float64, in.Replicas)
	row, sorted := make([]float64, in.Replicas), make([]float64, in.Replicas)
	for stage := range in.Stages {
		for k := range columns {
			columns[k] = columns[k][:0]
		}
		for t := range in.Steps {
			for k := range row {
				row[k] = logOf(work[stage*in.Replicas+k][t])
			}
			copy(sorted, row)
			slices.Sort(sorted)
			for k, own := range row {
				lower, upper := robust.MiddlesWithout(sorted, own)
				columns[k] = append(columns[k], own-(lower+upper)/2)
			}
		}
		for k, column := range columns {
			l := &r.Workers[stage*in.Replicas+k]
			l.Factor = math.Exp(robust.Median(column))
			deviations = append(deviations, math.Log(l.Factor))
		}
	}
	// Two replicas mirror each other, so that only half of their deviations
	// say anything; of more, each costs one degree for its stage's median.
	free := float64(in.Stages * (in.Replicas - 1))
	if free < 2 {
		return
	}
	r.Between, r.Freedom = max(robustDeviation(deviations), floorSpread), robust.EfficiencyOfMAD*free
	for w := range r.Workers {
		r.Workers[w].judge(r.Between, r.Freedom, alpha/float64(len(r.Workers)))
	}
}

// judge scores a level against a spread of logarithms.
func (l *Level) judge(spread, freedom, alpha float64) {
	score := math.Log(l.Factor) / spread
	l.Score = &score
	l.P = student.UpperTail(score, freedom)
	l.Slow = l.P <= alpha
}

// stages compares every stage with the others.
func (r *Result) stages(in *Input, alpha float64) {
	times := make([]float64, in.Replicas)
	for s := range r.Stages {
		for d := range times {
			times[d] = r.Workers[s*in.Replicas+d].Time
		}
		r.Stages[s] = Level{Time: robust.Lower(times), Factor: 1, P: 1}
	}
	if in.Stages < 2 {
		return
	}
	// The median of N replicas has π/2N of the variance of one, and the
	// stage that it is held against as much again.
	wide := r.Between * math.Sqrt(math.Pi/float64(in.Replicas))
	for s := range r.Stages {
		var others []float64
		for o := range r.Stages {
			if o != s {
				others = append(others, r.Stages[o].Time)
			}
		}
		if base := robust.Lower(others); base > 0 && r.Stages[s].Time > 0 {
			r.Stages[s].Factor = r.Stages[s].Time / base
			if r.Freedom > 0 {
				r.Stages[s].judge(wide, r.Freedom, alpha/float64(in.Stages))
			}
		}
	}
}

// logOf returns the logarithm of a time; zero counts as one nanosecond.
func logOf(ns float64) float64 { return math.Log(max(ns, 1)) }

// robustDeviation returns the deviation of normal values about 0 that has the lower median of absolute values of x: with few workers, a
// slow one must not pass for their usual difference.
func robustDeviation(x []float64) float64 {
	sizes := make([]float64, len(x))
	for i, v := range x {
		sizes[i] = math.Abs(v)
	}
	return robust.SigmaOfMAD * robust.Lower(sizes)
}
