package bootstrap

import "github.com/sfstat/sfstat/trace/enum"

// Interval bounds a statistic. An infinite bound says that the data permit none
// at this confidence.
type Interval struct {
	Method Method // how the bounds were made
	// Lower and Upper hold the statistic between them with the confidence.
	Lower float64 // lower end of the two-sided interval
	Upper float64 // upper end of the two-sided interval
	// AtLeast and AtMost are one-sided: each alone holds with the confidence.
	AtLeast float64 // one-sided lower bound
	AtMost  float64 // one-sided upper bound
}

// Estimate is one statistic with its intervals.
type Estimate struct {
	Statistic Statistic  // mean or median of the pairs' overheads, or the overhead of all time together (total)
	Value     float64    // the estimate
	SE        *float64   // its standard error, with paired runs as the unit; nil of the median and of a single pair of runs
	Intervals []Interval // an interval for every method of the statistic, the recommended one first; empty for a single pair of runs
}

// IntervalOf returns the interval of a method, nil where there is none.
func (e *Estimate) IntervalOf(m Method) *Interval {
	for i := range e.Intervals {
		if e.Intervals[i].Method == m {
			return &e.Intervals[i]
		}
	}
	return nil
}

// Doubt is a reason to read the intervals with care.
type Doubt uint8

const (
	OneBlock      Doubt = iota // nothing to compare: there are no intervals
	VeryFewBlocks              // percentiles hold far too seldom
	FewBlocks                  // they still hold too seldom
	Skewed                     // a few blocks lie far out on one side: no bound of a mean holds as often as it says
	FewReplicates              // too few resamples for the confidence
	doubtCount
)

var doubtNames = [doubtCount]string{"one_run", "very_few_runs", "few_runs", "skewed", "few_replicates"}

func (d Doubt) String() string { return enum.Name(doubtNames[:], d) }

// Names returns the names of all values.
func (Doubt) Names() []string { return doubtNames[:] }

// Result is what is known of the overhead.
type Result struct {
	Confidence float64   // confidence of every interval and every one-sided bound, each by itself
	Blocks     int       // pairs of runs: the blocks that are resampled
	Pairs      int       // pairs of windows, or rows of the file
	Overheads  []float64 // x of every pair, in the order given
	Replicates int       // resamples
	Seed       uint64    // seed of the resamples
	Doubts     []Doubt   // reasons to read the bounds with care; ascending

	Estimates []Estimate // the statistics; in the order of Options.Statistics
}

// EstimateOf returns the estimate of a statistic, nil when it was not asked for.
func (r *Result) EstimateOf(s Statistic) *Estimate {
	for i := range r.Estimates {
		if r.Estimates[i].Statistic == s {
			return &r.Estimates[i]
		}
	}
	return nil
}

// Standing is where an overhead stands against a gate that it should not
// exceed.
type Standing uint8

const (
	Within        Standing = iota // the one-sided upper bound is at most the gate
	PerhapsWithin                 // the estimate is, the bound is not
	PerhapsAbove                  // the estimate is above it, the one-sided lower bound is not
	Above                         // the lower bound is above it
	standingCount
)

var standingNames = [standingCount]string{"within", "perhaps within", "perhaps above", "above"}

func (s Standing) String() string { return enum.Name(standingNames[:], s) }

// Names returns the names of all values.
func (Standing) Names() []string { return standingNames[:] }

// StandingAt holds the estimate and one of its intervals against a gate; of nil only the
// estimate counts.
func (e *Estimate) StandingAt(gate float64, i *Interval) Standing {
	switch {
	case i != nil && i.AtMost <= gate:
		return Within
	case i != nil && i.AtLeast > gate:
		return Above
	case e.Value <= gate:
		return PerhapsWithin
	}
	return PerhapsAbove
}
