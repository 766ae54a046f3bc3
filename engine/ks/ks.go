// Package ks asks whose completion times differ: do the operators of one worker complete
// when those of its peers do?
//
// With F_A(k) the part of worker A's completions that fall in windows 0 … k of
// fixed length w, k = ⌊(t − t0)/w⌋,
//
//	D(A,B) = max_k |F_A(k) − F_B(k)|,  0 ≤ D ≤ 1, no unit
//	S_A    = mean of D(A,B) over the peers B ≠ A of A
//
// (KAIR, ASE 2025, stage 1). At w = 1 ns, D is the two-sample Kolmogorov–Smirnov
// statistic of the raw completion times. Times are int64 nanoseconds; D is
// counted in integers and divided once.
//
// Barriers re-align the workers in every step, so on one running clock D shrinks
// as 1/steps. Times are therefore folded to the start of their step before the
// steps are pooled; a running clock is there for the paper's figure.
//
// The textbook p-values of D assume independent draws, which completions of one
// step are not: they neither alarm on a 10 % straggler behind barriers nor stay
// silent on healthy workers without them. The test permutes, within every step,
// which peer did which record; see [Test]. It assumes that healthy peers are
// exchangeable within a step and that steps are independent, or with Options.Correlated
// that blocks of them are.
package ks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace/enum"
)

// Step is what one worker completed in one step.
type Step struct {
	Start int64   // where the step begins on this worker's clock, ns: its own start, or where the ranks last met
	Done  []int64 // completion times of its operators, ns, in any order
}

// Worker is one rank. Steps[t] is step t of the window for every worker; a step
// that a worker missed is one without completions.
type Worker struct {
	Peers int // workers with the same number do the same work and are compared
	Steps []Step
}

// Clock says what completions are measured from.
type Clock uint8

const (
	Folded Clock = iota // the start of their step
	Wall                // Options.Origin, over all steps
)

var clockNames = [...]string{"folded", "wall"}

func (c Clock) String() string { return enum.Name(clockNames[:], c) }

// Names returns the names of all values.
func (Clock) Names() []string { return clockNames[:] }

// Against says whom a worker's mean is taken over.
type Against uint8

const (
	Peers    Against = iota // workers of the same Worker.Peers
	Everyone                // all workers, as in the paper
)

var againstNames = [...]string{"peers", "everyone"}

func (a Against) String() string { return enum.Name(againstNames[:], a) }

// Names returns the names of all values.
func (Against) Names() []string { return againstNames[:] }

// NoTest permutations make no test.
const NoTest = -1

// Options of an analysis. The zero value folds the clock, compares peers and tests.
type Options struct {
	Clock   Clock
	Against Against
	// Window is w in ns. 1 gives the raw limit; 0 chooses a length that puts
	// about 1,000 windows over the middle 99 % of the completions.
	Window int64
	Origin int64 // t0 of the Wall clock; completions before it are refused
	Matrix bool  // keep all distances: 8·N² bytes
	// Correlated permutes blocks of steps whose length the data say (package blocks), and tests nothing where too few are
	// independent. Without it steps are taken to be.
	Correlated bool

	// Replicates is the most permutations of the test, fewer where the answer is
	// clear; 0: 200,000.
	Replicates int
	Discovery  float64 // false-discovery rate that Test.Flagged keeps; 0: gates.Strong
	Seed       uint64  // of the permutations, each of which has a stream of its own; 0: 1
}

// Defaults returns the options with what is zero replaced by its default.
func (o Options) Defaults() Options {
	o.Replicates, o.Discovery, o.Seed = cmp.Or(o.Replicates, 200_000), cmp.Or(o.Discovery, gates.Strong), cmp.Or(o.Seed, 1)
	o.Replicates = max(o.Replicates, 0)
	return o
}

func (o Options) validate() error {
	switch {
	case o.Clock > Wall:
		return fmt.Errorf("ks: Clock %d is none", o.Clock)
	case o.Against > Everyone:
		return fmt.Errorf("ks: Against %d is none", o.Against)
	case o.Window < 0:
		return fmt.Errorf("ks: Window %d ns is negative", o.Window)
	case o.Replicates > 0 && !(o.Discovery > 0 && o.Discovery < 1):
		return fmt.Errorf("ks: Discovery %v outside (0, 1)", o.Discovery)
	}
	return nil
}

// errBefore is a completion before its step's start or before the origin.
var errBefore = errors.New("completion before the time it is measured from")

// Doubt is a reason why something is undecided or to be read with care.
type Doubt uint8

const (
	NoDoubt       Doubt = iota
	NoOperators         // the worker completed nothing
	NoPeer              // nobody else of its kind completed anything
	TwoWorkers          // D is the same for both: which one is slow cannot be said
	FewSteps            // too few steps to permute: no p-value could be small enough
	RunningClock        // offsets of the Wall clock last over steps: permuting within steps means nothing
	NotTested           // Options.Replicates is 0
	FewReplicates       // too few permutations for any finding among so many workers
	UnequalCounts       // some peers completed another number of operators
	FewBlocks           // too few steps to tell how long noise stays correlated, or it does so long that too few blocks are independent
	doubtCount
)

var doubtNames = [doubtCount]string{"", "no_operators", "no_peers", "two_workers", "few_steps", "running_clock", "not_tested", "few_replicates", "unequal_counts", "few_blocks"}

func (d Doubt) String() string { return enum.Name(doubtNames[:], d) }

// Names returns the names of all values.
func (Doubt) Names() []string { return doubtNames[1:] }

// Score is what is known of one worker.
type Score struct {
	Worker int     // index in the input
	Ops    int     // operators that it completed
	Peers  int     // workers that it was compared with
	Mean   float64 // S: mean distance to those workers, 0 to 1; 0 without completions or peers
	// Median holds while most peers are well.
	Median float64 // median of the same distances
	// Later has a direction, which D has not.
	Later int64 // how much later than the median peer it completes on average; negative: earlier

	Test      *Test // nil when undecided
	Undecided Doubt // why there is no test; NoDoubt where there is one
}

// Flagged reports whether the worker was tested and found.
func (s *Score) Flagged() bool { return s.Test != nil && s.Test.Flagged }

// Result is the comparison of all workers.
type Result struct {
	Clock      Clock           // what completions were measured from: the start of their step, or the first start of the trace
	Against    Against         // workers that s is a mean over
	Window     int64           // length of the windows in which completions are counted
	Points     int             // windows in which anything completes
	Replicates int             // most permutations of the test; 0 is no test
	Discovery  float64         // the rate that flagged keeps
	Seed       uint64          // seed of the permutations
	Blocks     []blocks.Blocks // how the steps of each tested group were cut, by Options.Correlated; nil without
	Doubts     []Doubt         // reasons to read the result with care; ascending

	Scores  []Score   // by worker
	Ranking []int     // workers by descending mean, the lower index first among equals; without those that have none
	Matrix  []float64 // D(A,B) at A·N + B, −1 where a worker has no completions; nil unless asked for
}

// Analyze compares the workers. It fails on options and on completions before
// the time they are measured from; too little data makes results undecided.
//
// With N workers, C completions and P occupied windows, time is O(C + N²·P), and memory
// O(C + N·P): it fails where N·P passes 2²⁹.
func Analyze(workers []Worker, o Options) (*Result, error) {
	o = o.Defaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s, err := newSample(workers, o)
	if err != nil {
		return nil, err
	}
	r := &Result{Clock: o.Clock, Against: o.Against, Window: s.window, Points: s.points,
		Replicates: o.Replicates, Discovery: o.Discovery, Seed: o.Seed, Scores: make([]Score, len(workers))}
	if o.Matrix {
		r.Matrix = slices.Repeat([]float64{-1}, len(workers)*len(workers))
	}
	for w := range workers {
		r.Scores[w] = Score{Worker: w, Ops: s.ops(w), Undecided: NoOperators}
		if s.ops(w) > 0 {
			r.Scores[w].Undecided = NoPeer
			if r.Matrix != nil {
				r.Matrix[w*len(workers)+w] = 0
			}
		}
	}
	peers := s.groups(workers)
	compared := peers
	if o.Against == Everyone || o.Matrix {
		compared = [][]int{slices.Concat(peers...)}
	}
	for _, group := range compared {
		s.score(group, r)
	}
	for _, group := range peers {
		s.fillLater(group, r)
	}
	s.testAll(peers, r, o)
	r.rank()
	return r, nil
}

// rank fills Ranking and the doubts that concern the whole result.
func (r *Result) rank() {
	r.Ranking = []int{}
	for w, s := range r.Scores {
		if s.Peers > 0 {
			r.Ranking = append(r.Ranking, w)
		}
		if s.Undecided != NoDoubt {
			r.Doubts = append(r.Doubts, s.Undecided)
		}
	}
	slices.SortStableFunc(r.Ranking, func(a, b int) int {
		return cmp.Compare(r.Scores[b].Mean, r.Scores[a].Mean)
	})
	slices.Sort(r.Doubts)
	r.Doubts = slices.Compact(r.Doubts)
}
