// Package opnames asks which operators, by name, take longer on one rank than
// on the ranks that do the same work.
//
// In step t the operators of one name that one stage launched take x[t,i]
// together on rank i, ns on the device; of collectives that were found on all
// their members, what is left without the wait for the last of them. Peers of a
// rank are the ranks whose role differs in nothing but dp. With
//
//	r[t,i] = x[t,i] − median over the peers j ≠ i of x[t,j]
//
// engine/zscore holds the deviations, of the window and of single steps, against
// Student's t. The family are all names, stages, ranks and steps of the run
// together: a thousand launches of one kernel are one test, and one finding.
//
// Assumptions: peers launch the same work in the same steps, or differ where
// the result says that they launched another number; noise between steps is
// independent. Fewer than three peers are compared without a test.
package opnames

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/operator"
)

// Alpha is the chance that anything is found in a healthy run, where nothing else is asked for.
const Alpha = 0.01

// Kind is what an operator's time means.
type Kind uint8

const (
	Compute    Kind = iota // all of it is the rank's own
	Collective             // without the wait for the last member
	Mixed                  // communication whose wait is not known: not compared
)

var kindNames = [...]string{"compute", "collective", "mixed"}

func (k Kind) String() string { return enum.Name(kindNames[:], k) }

// Names returns all of them.
func (Kind) Names() []string { return kindNames[:] }

// Operator is all operators of one name that one stage launched.
type Operator struct {
	Stage string // stage in which it was launched; "": any
	Name  string // whole name of the operator
	Kind  Kind   // what it does
}

// Means are what an operator takes in a step, on average over steps.
type Means struct {
	Own       float64 // its time on the rank, a step; without Waited
	Peers     float64 // its time on the peers, a step, median
	Count     float64 // launches a step
	PeerCount float64 // launches a step on the peers
	Waited    float64 // its wait for the last member
}

// Factor returns own time over the peers' time; +Inf where the peers spend no time, NaN where nobody does.
func (m Means) Factor() float64 { return m.Own / m.Peers }

// Difference is an operator of one rank beside its peers.
type Difference struct {
	Rank int // the rank
	Operator
	Means          // over Steps
	Whole  Means   // over all steps
	Steps  []int64 // steps in which it differs; those that are off where they hold most of the excess, else all
	Tested bool    // there are enough peers for a test
	Sure   bool    // the test finds that it takes longer
	Score  float64 // z-score, the largest of those that are sure; 0 for none
	Course []int64 // of what is sure to take longer: by how much in each step of the result, ns; less than 0 is shorter
}

// Excess returns the excess of the operator over its peers, ns a step of all steps.
func (d *Difference) Excess() float64 { return d.Whole.Own - d.Whole.Peers }

// Result is the comparison of a run.
type Result struct {
	Alpha float64 // family-wise error
	Steps []int64
	Tests int // tests that were made; operators times groups of peers
	// Differences has every operator on every rank that has peers, by excess, the
	// largest first.
	Differences []Difference // operators that differ, the largest excess first
}

// SureDifferences returns the differences that certainly cost time, the largest first.
func (r *Result) SureDifferences() []Difference {
	var out []Difference
	for _, d := range r.Differences {
		if d.Sure && d.Excess() > 0 {
			out = append(out, d)
		}
	}
	return out
}

// RankDifferences returns the differences of a rank in a stage, by excess; stage "" is all.
func (r *Result) RankDifferences(rank int, stage string) []Difference {
	var out []Difference
	for _, d := range r.Differences {
		if d.Rank == rank && (stage == "" || d.Stage == stage) {
			out = append(out, d)
		}
	}
	return out
}

// Compare holds every operator of every rank against its peers', at a chance that anything is found
// in a healthy run. It fails where that is none. O(n·R) for n rows of R ranks.
func Compare(t *operator.Totals, alpha float64) (*Result, error) {
	out := &Result{Alpha: alpha, Steps: t.Steps}
	operators, groups := gather(t), peersOf(t.Ranks)
	var series []zscore.Series
	var of []*gathered
	for i := range operators {
		for _, g := range groups {
			if op := &operators[i]; op.Kind != Mixed && op.runsOn(g) {
				series, of = append(series, op.series(len(series), g)), append(of, op)
			}
		}
	}
	out.Tests = len(series)
	r, err := zscore.Analyze(series, zscore.Options{Alpha: alpha})
	if err != nil {
		return nil, err
	}
	longer := longer(r)
	for i, op := range of {
		for _, rank := range series[i].Workers {
			c := comparison{gathered: op, rank: rank}
			c.peers = slices.DeleteFunc(slices.Clone(series[i].Workers), func(other int) bool { return other == rank })
			found := longer[place{i, rank}]
			for _, o := range found {
				if o.Step != zscore.EveryStep {
					c.off = append(c.off, o.Step)
				}
			}
			slices.Sort(c.off)
			d := c.difference(t)
			d.Tested = len(c.peers) >= 2
			for _, o := range found {
				if o.Sure {
					d.Sure, d.Score = true, max(d.Score, o.Score)
				}
			}
			for step := 0; d.Sure && d.Excess() > 0 && step < c.steps; step++ {
				d.Course = append(d.Course, c.excess(step))
			}
			out.Differences = append(out.Differences, d)
		}
	}
	slices.SortStableFunc(out.Differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.Excess(), a.Excess()), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// place is a rank in a series.
type place struct{ series, rank int }

// longer returns the outliers of too long duration.
func longer(r *zscore.Result) map[place][]zscore.Outlier {
	out := make(map[place][]zscore.Outlier)
	for _, o := range r.Outliers {
		if at := (place{o.Series, o.Worker}); o.Effect > 0 {
			out[at] = append(out[at], o)
		}
	}
	return out
}
