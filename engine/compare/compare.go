// Package compare asks by how much measures of a job differ between two sets of
// runs, and which of the differences are more than chance.
//
// A unit is what varies by itself: a pair of runs, a run, or a batch of
// consecutive steps where there is one run on each side ([Batches]). Of a measure with the
// values x in the units of the base and y in those of the other side,
//
//	Change = mean(y) − mean(x),   t = Change / se
//
// with se and the degrees of freedom of the differences of pairs (paired), by
// Welch (1947, Biometrika 34:28–35) otherwise, and from the larger side alone
// where the other has one unit.
//
// Measures of one run go together (a stage that takes longer makes the step
// longer), so they are corrected together and not one by one: the residuals of
// all measures are multiplied by one standard normal number for each unit, which
// keeps how they go together, as far as so few units can tell (Chernozhukov,
// Chetverikov and Kato 2013, Ann. Statist. 41:2786–2819), and the largest of them
// over many draws says at which level one measure must stand so that all hold
// together (Westfall and Young 1993, Resampling-Based Multiple Testing, min-P;
// Hothorn, Bretz and Westfall 2008, Biom. J. 50:346–363). Of a single measure it
// is the t test.
//
// Assumptions: units are independent, and means of units nearly normal, which
// means of many steps are. A measure with one stall in one run widens its own
// interval and makes no difference out of it. O(draws · units · measures).
//
// The package is pure; values have any unit, larger is worse.
package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sfstat/sfstat/internal/student"
	"github.com/sfstat/sfstat/trace/enum"
)

// Design says which units belong together.
type Design uint8

const (
	Unpaired Design = iota
	Paired          // unit i of the base with unit i of the other side
)

// Row is one measure in the units of both sides, in the same order in every
// row; NaN where a unit lacks it.
type Row struct{ Base, New []float64 }

// Options of a comparison. The zero value is usable.
type Options struct {
	Design     Design
	Confidence float64 // that the intervals of all rows hold together; 0: 0.95
	// Primary: the first row is the one that is asked about. It has half of the level
	// by itself, all others together the other half.
	Primary bool
	Seed    uint64
}

// Verdict is what the data say of a row.
type Verdict uint8

const (
	Untested    Verdict = iota // one unit on each side, or none
	NoneShown                  // no difference that the data could show
	Regression                 // surely more than in the base
	Improvement                // surely less
)

var verdictNames = [...]string{"untested", "none_shown", "regression", "improvement"}

func (v Verdict) String() string { return enum.Name(verdictNames[:], v) }

// Names returns the names of all values.
func (Verdict) Names() []string { return verdictNames[:] }

// Difference is what is known of a row.
type Difference struct {
	Base, New float64 // means over the units that count; NaN of none
	Units     [2]int  // that count, on either side
	Change    float64 // New − Base
	Low, High float64 // bounds of Change that hold for all rows together; infinite where untested
	P         float64 // chance of any row so far from none, if no row differed; 1 where untested
	// Shows is the change that a comparison of this size finds with a chance of
	// four in five; infinite where untested.
	Shows   float64
	Verdict Verdict
}

const (
	replicates = 4000
	power      = 0.8
	// ownPart over the degrees of freedom is how far correlations are drawn
	// towards none: those of few units look stronger than those of the measures.
	ownPart = 2
)

// Compare compares every row. Rows need not have all units; a row that has one
// unit on each side is untested.
func Compare(rows []Row, o Options) ([]Difference, error) {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if !(o.Confidence > 0.5 && o.Confidence < 1) {
		return nil, fmt.Errorf("compare: Confidence %v outside (0.5, 1)", o.Confidence)
	}
	out := make([]Difference, len(rows))
	var tests []*test
	for i, r := range rows {
		if len(r.Base) != len(rows[0].Base) || len(r.New) != len(rows[0].New) || o.Design == Paired && len(r.Base) != len(r.New) {
			return nil, fmt.Errorf("compare: row %d has %d and %d units, row 0 %d and %d", i, len(r.Base), len(r.New), len(rows[0].Base), len(rows[0].New))
		}
		if t := newTest(r, o.Design, &out[i]); t != nil {
			tests = append(tests, t)
		}
	}
	if o.Primary && len(tests) > 1 && tests[0].of == &out[0] {
		decide(tests[:1], o, 2)
		decide(tests[1:], o, 2)
	} else {
		decide(tests, o, 1)
	}
	return out, nil
}

// decide decides tests that have one of so many equal parts of the level together.
func decide(tests []*test, o Options, parts float64) {
	largest := extremes(tests, o.Seed)
	level := (1 - o.Confidence) / parts
	alone := level
	if n := len(largest); n > 0 {
		at := min(int((1-level)*float64(n)), n-1)
		alone = max(2*distuv.UnitNormal.Survival(largest[at]), level/float64(len(tests)))
	}
	for _, t := range tests {
		t.decide(alone)
		t.of.P = min(1, parts*adjustP(t.p, largest, len(tests)))
	}
}

// test is a row that can be tested.
type test struct {
	of      *Difference
	se      float64
	freedom float64
	p       float64 // by itself
	// terms are what the units add to Change, about its mean, in the order of
	// the row's units (base, then the other side; or pairs); their squares sum to 1.
	terms []float64
}

// newTest fills what needs no test, and returns nil where there is none.
func newTest(r Row, design Design, d *Difference) *test {
	*d = Difference{Low: math.Inf(-1), High: math.Inf(1), P: 1, Shows: math.Inf(1)}
	t := &test{of: d}
	if design == Paired {
		base, now, diff := slices.Clone(r.Base), slices.Clone(r.New), make([]float64, len(r.Base))
		for i := range diff {
			if diff[i] = now[i] - base[i]; math.IsNaN(diff[i]) {
				base[i], now[i] = math.NaN(), math.NaN()
			}
		}
		x, y, of := summarise(base), summarise(now), summarise(diff)
		d.Base, d.New, d.Units, d.Change = x.mean, y.mean, [2]int{of.n, of.n}, of.mean
		if of.n < 2 {
			return nil
		}
		t.freedom, t.se = float64(of.n-1), math.Sqrt(of.variance/float64(of.n))
		t.terms = of.residuals(diff, 1)
		return t.scale()
	}
	x, y := summarise(r.Base), summarise(r.New)
	d.Base, d.New, d.Units, d.Change = x.mean, y.mean, [2]int{x.n, y.n}, y.mean-x.mean
	if x.n < 1 || y.n < 1 || x.n+y.n < 3 {
		return nil
	}
	t.se, t.freedom = welch(x, y)
	t.terms = slices.Concat(x.residuals(r.Base, -1/float64(x.n)), y.residuals(r.New, 1/float64(y.n)))
	return t.scale()
}

// welch returns the standard error of a difference of means and its degrees of freedom. A single unit is taken to vary as the
// other side does.
func welch(x, y summary) (se, freedom float64) {
	switch {
	case x.n == 1:
		x.variance = y.variance
		freedom = float64(y.n - 1)
	case y.n == 1:
		y.variance = x.variance
		freedom = float64(x.n - 1)
	}
	a, b := x.variance/float64(x.n), y.variance/float64(y.n)
	if freedom == 0 {
		freedom = (a + b) * (a + b) / (a*a/float64(x.n-1) + b*b/float64(y.n-1))
		if !(freedom > 0) { // neither side varies
			freedom = float64(x.n + y.n - 2)
		}
	}
	return math.Sqrt(a + b), freedom
}

func (t *test) scale() *test {
	squares := 0.0
	for _, e := range t.terms {
		squares += e * e
	}
	if squares > 0 {
		for i := range t.terms {
			t.terms[i] /= math.Sqrt(squares)
		}
	}
	return t
}

// summary is the mean and variance of the values that are there.
type summary struct {
	n              int
	mean, variance float64
}

func summarise(values []float64) summary {
	var s summary
	squares := 0.0
	for _, v := range values { // Welford 1962, Technometrics 4:419–420
		if math.IsNaN(v) {
			continue
		}
		s.n++
		d := v - s.mean
		s.mean += d / float64(s.n)
		squares += d * (v - s.mean)
	}
	if s.n == 0 {
		s.mean = math.NaN()
	}
	if s.n > 1 {
		s.variance = squares / float64(s.n-1)
	}
	return s
}

// residuals returns weight · (value − mean), 0 where there is no value.
func (s summary) residuals(values []float64, weight float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		if !math.IsNaN(v) {
			out[i] = weight * (v - s.mean)
		}
	}
	return out
}

// extremes returns the largest |z| over all tests in every draw, ascending.
func extremes(tests []*test, seed uint64) []float64 {
	if len(tests) < 2 {
		return nil
	}
	freedom := 1.0
	for _, t := range tests {
		freedom = max(freedom, t.freedom)
	}
	own := math.Sqrt(min(1, ownPart/freedom))
	shared := math.Sqrt(1 - own*own)
	out := make([]float64, replicates)
	normal := make([]float64, len(tests[0].terms))
	for k := range out {
		rng := rand.New(rand.NewPCG(seed, uint64(k)))
		for i := range normal {
			normal[i] = rng.NormFloat64()
		}
		for _, t := range tests {
			z := 0.0
			for i, e := range t.terms {
				z += e * normal[i]
			}
			out[k] = max(out[k], math.Abs(shared*z+own*rng.NormFloat64()))
		}
	}
	slices.Sort(out)
	return out
}

// decide fills the difference at the level that a single row must stand at.
func (t *test) decide(level float64) {
	d := t.of
	t.p = 1
	switch {
	case t.se > 0:
		t.p = student.TwoSided(d.Change/t.se, t.freedom)
	case d.Change != 0:
		t.p = 0
	}
	critical := student.Upper(level/2, t.freedom)
	d.Low, d.High = d.Change-critical*t.se, d.Change+critical*t.se
	d.Shows = (critical + student.Upper(1-power, t.freedom)) * t.se
	switch {
	case d.Low > 0:
		d.Verdict = Regression
	case d.High < 0:
		d.Verdict = Improvement
	default:
		d.Verdict = NoneShown
	}
}

// adjustP corrects p for all tests: the part of the draws in which some row
// lies as far out, and never more than Bonferroni's.
func adjustP(p float64, largest []float64, tests int) float64 {
	bound := min(1, p*float64(tests))
	if len(largest) == 0 || bound < 1.0/replicates {
		return bound
	}
	z := math.Inf(1)
	if p > 0 {
		z = distuv.UnitNormal.Quantile(1 - p/2)
	}
	at, _ := slices.BinarySearch(largest, z)
	return max(p, min(bound, float64(len(largest)-at)/float64(len(largest))))
}
