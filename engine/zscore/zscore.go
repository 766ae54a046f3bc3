// Package zscore asks which operator ran unlike itself on the other ranks: the
// same operator, the same place in the step, another start or another duration.
//
// One operator instance has a value x_i, in ns, on each of N peers. The usual
// rule, |x_i − mean| > 3 standard deviations, is a trap: no value among N lies
// further than √(N−1) population deviations from the mean, so that it cannot
// fire for N ≤ 10, nor for k equal stragglers where √((N−k)/k) ≤ 3, at any N.
// At N = 4 no rule that sees one step alone works. The default therefore takes
// the spread from all steps of the window: in step t,
//
//	r[t,i] = x[t,i] − median over the peers j ≠ i of x[t,j]
//	z[t,i] = r[t,i] / s
//
// with s the spread of r about each peer's own level, pooled over peers and the
// other steps, and z held against Student's t at a stated family-wise error
// rate; see pooled.go. Durations may be skewed: then their logarithms are used.
//
// A collective's duration mixes waiting for the last member with moving data,
// and the wait is longest on the ranks that are not at fault: give its wait and
// its transfer, see [Split], and never its duration.
//
// Assumptions: values of one step are of one clock or relative to the start of
// the step; healthy peers differ by noise that is independent between steps.
package zscore

import (
	"cmp"
	"fmt"
	"math"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace/enum"
)

// Quantity is what was measured.
type Quantity uint8

const (
	Start    Quantity = iota // when the operator started
	Duration                 // how long it took; not of collectives
	Wait                     // how long a member waited for the last: an abnormally short wait is a late member
	Transfer                 // how long a collective took once all were there
)

var quantityNames = [...]string{"start", "duration", "wait", "transfer"}

func (q Quantity) String() string { return enum.Name(quantityNames[:], q) }

// Names returns the names of all values.
func (Quantity) Names() []string { return quantityNames[:] }

// Absent marks a value that was not recorded.
const Absent = math.MinInt64

// Series is one quantity of one operator instance over the steps of a window.
type Series struct {
	// Op is the caller's number of the operator: name and place in the step. The
	// series of one Op share its error rate.
	Op       int
	Quantity Quantity
	Workers  []int   // the peers, one for each column
	X        []int64 // ns, [step][peer], peer fastest
}

// Method scores.
type Method uint8

const (
	Pooled      Method = iota // deviation from the peers over spread pooled over the steps
	LeaveOneOut               // each value against mean and deviation of the others, in its step alone
	Population                // (x − mean)/deviation with divisor N: the paper's
	methodCount
)

var methodNames = [methodCount]string{"pooled", "leave-one-out", "population"}

func (m Method) String() string { return enum.Name(methodNames[:], m) }

// Names returns the names of all values.
func (Method) Names() []string { return methodNames[:] }

// Scale is what values are compared on.
type Scale uint8

const (
	AutoScale Scale = iota // logarithms of durations and transfers where the noise is skewed, else Linear
	Linear
	Log
)

// Options of an analysis. The zero value pools over the window.
type Options struct {
	Method Method
	Scale  Scale
	// Alpha is the chance that a healthy operator instance has any flag, over
	// all its peers and quantities. The same rate over all instances and steps
	// together makes a flag Sure. 0: gates.Strong.
	Alpha  float64
	Cutoff float64 // threshold of Population, which has no error rate; 0: 3
	// Correlated judges levels by blocks of steps whose length the data say (package blocks), and where too few are independent
	// each step by itself. Without it steps are taken to be independent but for the correlation of neighbours.
	Correlated bool
}

// Defaults returns the options with what is zero replaced by its default.
func (o Options) Defaults() Options {
	o.Alpha, o.Cutoff = cmp.Or(o.Alpha, gates.Strong), cmp.Or(o.Cutoff, 3)
	return o
}

func (o Options) validate() error {
	switch {
	case o.Method >= methodCount:
		return fmt.Errorf("zscore: Method %d is none", o.Method)
	case o.Scale > Log:
		return fmt.Errorf("zscore: Scale %d is none", o.Scale)
	case !(o.Alpha > 0 && o.Alpha < 1):
		return fmt.Errorf("zscore: Alpha %v outside (0, 1)", o.Alpha)
	case o.Method == Population && !(o.Cutoff > 0):
		return fmt.Errorf("zscore: Cutoff %v is not positive", o.Cutoff)
	}
	return nil
}

// widest is how far apart the values of a series may lie: twice that fits int64.
const widest = math.MaxInt64 / 4

func (s *Series) validate(i int) error {
	n := len(s.Workers)
	if n == 0 || len(s.X)%n != 0 {
		return fmt.Errorf("zscore: series %d has %d values of %d peers, expected a multiple", i, len(s.X), n)
	}
	if s.Quantity > Transfer {
		return fmt.Errorf("zscore: series %d: Quantity %d is none", i, s.Quantity)
	}
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, x := range s.X {
		if x != Absent {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if lo <= hi && uint64(hi)-uint64(lo) > widest {
		return fmt.Errorf("zscore: series %d has values of %d and %d ns, expected all within 73 years", i, lo, hi)
	}
	return nil
}

func (s *Series) steps() int          { return len(s.X) / len(s.Workers) }
func (s *Series) step(t int) []int64  { return s.X[t*len(s.Workers):][:len(s.Workers)] }
func (s *Series) positive() (ok bool) { return s.Quantity == Duration || s.Quantity == Transfer }

// Analyze scores all series. It fails on options and on series that are not
// well formed; too little data makes a series undecided.
//
// O(T·N·log N) time for each series of T steps and N peers.
func Analyze(series []Series, o Options) (*Result, error) {
	o = o.Defaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	for i := range series {
		if err := series[i].validate(i); err != nil {
			return nil, err
		}
	}
	f := newFamily(series, o)
	r := &Result{Method: o.Method, Alpha: o.Alpha, Instances: f.instances, Series: make([]Report, len(series))}
	found := make([][]Outlier, len(series))
	parallel.Each(len(series), 0, func() func(int) {
		var memory scratch
		return func(i int) { r.Series[i], found[i] = examine(i, &series[i], f, &memory) }
	})
	r.rank(series, found)
	return r, nil
}
