// Package bootstrap asks what something costs: by how much does the same work
// take longer with it than without it, and how sure is that?
//
// A pair is one piece of work timed twice, b without and w with; its overhead is
// x = w/b − 1, without unit: 0.002 is 0.2 % slower. Three numbers sum up the
// pairs, see [Statistic]:
//
//	mean    Σx / n
//	median  the middle x
//	total   Σw / Σb − 1, of all the time that was measured
//
// Pairs of one run share what made that run fast or slow, so they are no
// independent evidence: bounds that take four windows of a run for four runs
// hold in 83–85 % of the cases where they promise 95 %. A block is therefore a
// whole run; blocks are resampled with replacement, their pairs always together
// (Efron and Tibshirani 1993, An Introduction to the Bootstrap, ch. 8). A mean
// of n_g pairs in block g and a total are both Σ u_g / Σ v_g over the blocks,
// and with e_g = u_g − m·v_g at the estimate m have the standard error
//
//	se = √( G/(G−1) · Σ e_g² ) / Σ v_g,  G blocks;
//
// for one pair in each block the mean's is the usual s/√n. From B resamples come
// the intervals of [Method].
//
// Assumptions: blocks are independent draws of what is to be concluded about,
// and the two halves of a pair differ in nothing else.
package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/enum"
)

// Pair is one piece of work, timed without and with what is examined. Times are
// positive, of any one unit: per step, or of equally many steps.
type Pair struct {
	Block int // the run that the pair is of, by any number
	Base  float64
	With  float64
}

// Statistic sums up the overheads of the pairs.
type Statistic uint8

const (
	Mean   Statistic = iota // mean overhead of a pair
	Median                  // middle overhead: what most pairs feel, blind to rare stalls
	Total                   // overhead of all time together: long pairs weigh more
	statisticCount
)

var statisticNames = [statisticCount]string{"mean", "median", "total"}

func (s Statistic) String() string { return enum.Name(statisticNames[:], s) }

// Names returns the names of all values.
func (Statistic) Names() []string { return statisticNames[:] }

// ParseStatistic returns the statistic of a name, the inverse of String.
func ParseStatistic(s string) (Statistic, error) {
	return enum.Parse[Statistic]("statistic", statisticNames[:], s)
}

// Methods returns the methods that the statistic supports, in order of preference.
func (s Statistic) Methods() []Method {
	if s == Median {
		return []Method{Order, Percentile}
	}
	return []Method{Studentised, Percentile}
}

// Method makes an interval.
type Method uint8

const (
	// Studentised divides each resample's distance from the estimate by its own
	// standard error and applies the quantiles of that to the standard error of
	// the estimate. Not of the median, which has no steady standard error.
	Studentised Method = iota
	// Percentile takes the quantiles of the resamples.
	Percentile
	// Order bounds the median by two of the overheads themselves, by the sign
	// test: it holds whatever the distribution. Only of independent pairs, so one
	// in each block.
	Order
	methodCount
)

var methodNames = [methodCount]string{"studentised", "percentile", "order"}

func (m Method) String() string { return enum.Name(methodNames[:], m) }

// Names returns the names of all values.
func (Method) Names() []string { return methodNames[:] }

// ParseMethod returns the method of a name, the inverse of String.
func ParseMethod(s string) (Method, error) { return enum.Parse[Method]("method", methodNames[:], s) }

// Options of an analysis. The zero value is usable.
type Options struct {
	Statistics []Statistic // which, in this order; nil means all
	Confidence float64     // of every interval and of every one-sided bound, each by itself; 0: 0.95
	Replicates int         // B, resamples; 0: 10,000
	Seed       uint64      // of the resamples, each of which has a stream of its own; 0: 1
}

// Defaults returns the options with defaults in place of zeros.
func (o Options) Defaults() Options {
	o.Confidence, o.Replicates, o.Seed = cmp.Or(o.Confidence, 0.95), cmp.Or(o.Replicates, 10_000), cmp.Or(o.Seed, 1)
	if o.Statistics == nil {
		o.Statistics = []Statistic{Mean, Median, Total}
	}
	return o
}

// MostReplicates that an analysis makes: it keeps the memory of an analysis below a gigabyte.
const MostReplicates = 10_000_000

func (o Options) validate() error {
	switch {
	case !(o.Confidence > 0.5 && o.Confidence < 1):
		return fmt.Errorf("bootstrap: Confidence %v outside (0.5, 1)", o.Confidence)
	case o.Replicates < 1 || o.Replicates > MostReplicates:
		return fmt.Errorf("bootstrap: Replicates %d outside 1 to %d", o.Replicates, MostReplicates)
	case slices.ContainsFunc(o.Statistics, func(s Statistic) bool { return s >= statisticCount }):
		return fmt.Errorf("bootstrap: Statistics %v has one that there is none of", o.Statistics)
	}
	return nil
}

// Errors of pairs; they come wrapped in which pair and what was found.
var (
	ErrNoPairs = errors.New("no pairs")
	ErrTime    = errors.New("a time is not a positive number")
	ErrUnlike  = errors.New("times are too unlike to be of the same work in one unit")
)

const (
	widestPair  = 1e6  // times slower or faster within a pair
	widestBases = 1e12 // times longer between pairs
)

func validate(pairs []Pair) error {
	if len(pairs) == 0 {
		return fmt.Errorf("bootstrap: %w", ErrNoPairs)
	}
	if len(pairs) > math.MaxInt32 {
		return fmt.Errorf("bootstrap: %d pairs, expected at most %d", len(pairs), math.MaxInt32)
	}
	shortest, longest := math.Inf(1), 0.0
	for i, p := range pairs {
		for _, t := range []float64{p.Base, p.With} {
			if !(t > 0) || math.IsInf(t, 1) {
				return fmt.Errorf("bootstrap: pair %d: %w: %v", i, ErrTime, t)
			}
		}
		if r := p.With / p.Base; r > widestPair || r < 1/widestPair {
			return fmt.Errorf("bootstrap: pair %d: %w: %v and %v", i, ErrUnlike, p.Base, p.With)
		}
		shortest, longest = min(shortest, p.Base), max(longest, p.Base)
	}
	if longest/shortest > widestBases {
		return fmt.Errorf("bootstrap: %w: from %v to %v", ErrUnlike, shortest, longest)
	}
	return nil
}

// Analyze estimates the overhead. It fails on options and on pairs that are not
// well formed; few blocks widen the intervals and are a doubt.
//
// Time is O(B·n) for n pairs, memory O(B + n).
func Analyze(pairs []Pair, o Options) (*Result, error) {
	o = o.Defaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := validate(pairs); err != nil {
		return nil, err
	}
	return analyze(newSample(pairs), o, newSource(o.Seed)), nil
}

func analyze(s *sample, o Options, draw source) *Result {
	r := &Result{Pairs: len(s.x), Blocks: s.blocks(), Overheads: s.x, Confidence: o.Confidence,
		Replicates: o.Replicates, Seed: o.Seed, Doubts: s.doubts(o)}
	var drawn *resamples
	if s.blocks() > 1 {
		drawn = s.resample(o, draw)
	}
	for _, statistic := range o.Statistics {
		r.Estimates = append(r.Estimates, s.estimate(statistic, drawn, 1-o.Confidence))
	}
	return r
}
