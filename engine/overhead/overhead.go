// Package overhead asks what something costs a job: it pairs measurements of
// the same work without and with it, and has engine/bootstrap say by how much
// the work takes longer and how sure that is.
//
// What is measured of a window is its time per step, in ns: the longest of its
// ranks' wall times over the window (of the sums of their stages, where no wall
// time was recorded), divided by its steps. Runs are paired, window by window,
// and each pair of runs is one block: see [Match].
package overhead

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/internal/ordered"
)

// Measurement is one piece of work, timed without and with what is examined.
type Measurement struct {
	Pair   string  // name of the pair of runs; rows with the same name are resampled together
	Run    string  // the run without it; "" when times came from a file
	Other  string  // the run with it; "" when times came from a file
	Window int     // position of the window in its run, from 0
	Base   float64 // time per step without
	With   float64 // time per step with

}

// Overhead returns With/Base − 1.
func (m Measurement) Overhead() float64 { return (m.With - m.Base) / m.Base }

// Options of an account.
type Options struct {
	Bootstrap bootstrap.Options
	Statistic bootstrap.Statistic // of the headline
	Method    *bootstrap.Method   // of the headline; nil is the one recommended
	Gate      *float64            // what the overhead should not exceed; nil is none
}

// Account is what the overhead is and how that is known.
type Account struct {
	Estimate *bootstrap.Estimate // of the headline, among Result.Estimates
	Interval *bootstrap.Interval // the bounds behind headline and standing; nil for a single pair of runs
	Gate     *float64            // what the overhead should not exceed, a fraction; nil without one
	Standing bootstrap.Standing  // where the overhead stands against the gate. within: at_most is within it; perhaps within: the estimate alone is; perhaps above: the estimate is above it; above: at_least is. 0: no gate

	*bootstrap.Result
	Matched      By            // how runs were matched
	Measurements []Measurement // the pairs, in order
}

// Examine estimates the overhead from measurements, matched in some way.
func Examine(measurements []Measurement, by By, o Options) (*Account, error) {
	blocks := make(ordered.Numbers[string])
	pairs := make([]bootstrap.Pair, len(measurements))
	for i, m := range measurements {
		block, _ := blocks.Of(m.Pair)
		pairs[i] = bootstrap.Pair{Block: block, Base: m.Base, With: m.With}
	}
	r, err := bootstrap.Analyze(pairs, o.Bootstrap)
	if err != nil {
		return nil, err
	}
	a := &Account{Result: r, Measurements: measurements, Matched: by, Gate: o.Gate}
	if a.Estimate = r.EstimateOf(o.Statistic); a.Estimate == nil {
		return nil, fmt.Errorf("overhead: the %v is not among what was estimated", o.Statistic)
	}
	if a.Interval, err = intervalBy(a.Estimate, o.Method); err != nil {
		return nil, err
	}
	if o.Gate != nil {
		a.Standing = a.Estimate.StandingAt(*o.Gate, a.Interval)
	}
	return a, nil
}

// intervalBy returns the interval by a method, nil where no pairs have any.
func intervalBy(e *bootstrap.Estimate, m *bootstrap.Method) (*bootstrap.Interval, error) {
	if len(e.Intervals) == 0 {
		return nil, nil
	}
	if m == nil {
		return &e.Intervals[0], nil
	}
	if i := e.IntervalOf(*m); i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("overhead: there is no %v interval of the %v of these pairs", *m, e.Statistic)
}
