package operators

import (
	"cmp"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/zscore"
)

// Signs are what K-S, pooled outliers and blame find on the ranks of a window or an
// operator trace, beside the frontier: all three look at the single steps, and none at what the
// frontier charges.
type Signs struct {
	Ranks    []RankSigns // by rank
	Symptoms int         // late operators that blame walked back from
	Alpha    float64     // family-wise error of the outliers
}

// RankSigns are those of one rank.
type RankSigns struct {
	Rank int // ID

	// Completion times (engine/ks): S and Q are those of the test.
	Departs bool
	S       float64
	Q       float64
	Later   int64 // on average

	// Sure outliers on durations (engine/zscore) that are too long: stages over the
	// whole window, stage instances in single steps.
	Whole  int
	Steps  int
	Excess int64 // over all steps that these are longer than on the peers, no time counted twice

	// Walks back from late operators (engine/blame) that end in long operators of
	// the rank, most of them in Op.
	Walks int
	Op    string
}

// Alpha is the chance that any operator, or stage, of a healthy job is flagged.
// The tests of workers as a whole take as much again: together they stay below one
// in a hundred.
const Alpha = 0.004

// Results are what the engines found in a trace.
type Results struct {
	View        *View
	Completions *ks.Result
	Series      []zscore.Series
	Operators   []Operator // of the series
	Outliers    *zscore.Result
	Walks       *Walks
}

// Examine runs the engines over a trace. Blame walks back from the symptoms of at
// most so many steps, evenly taken.
func Examine(v *View, completions ks.Options, mostSteps int) (r Results, err error) {
	r.View = v
	r.Series, r.Operators = v.Series()
	if r.Outliers, err = zscore.Analyze(r.Series, zscore.Options{Alpha: Alpha}); err != nil {
		return r, err
	}
	if r.Completions, err = ks.Analyze(v.Completions(), completions); err != nil {
		return r, err
	}
	n := len(v.Grid.Steps)
	steps := make([]int, min(n, mostSteps))
	for k := range steps {
		steps[k] = k * n / len(steps)
	}
	r.Walks, err = v.Flags(r.Outliers, r.Series, r.Operators).Walk(steps, blame.Options{Tie: v.Tie()})
	return r, err
}

// Signs returns the results by rank, in the order of the workers.
func (r Results) Signs() *Signs {
	of := make([]RankSigns, r.View.Workers())
	for w := range of {
		of[w].Rank = r.View.Rank(w).ID
		if c := &r.Completions.Scores[w]; c.Flagged() {
			of[w].Departs, of[w].S, of[w].Q, of[w].Later = true, c.Mean, c.Test.Q, c.Later
		}
	}
	for _, x := range r.View.Suspects(r.Outliers, r.Series, r.Operators) {
		of[x.Worker].Excess = x.Excess
	}
	r.count(of)
	for _, c := range r.Walks.Culprits { // by descending number of symptoms
		if c.Kind == blame.LongOp {
			of[c.Worker].Op = cmp.Or(of[c.Worker].Op, c.Op)
			of[c.Worker].Walks += c.Symptoms
		}
	}
	return &Signs{Ranks: of, Symptoms: r.Walks.Symptoms, Alpha: r.Outliers.Alpha}
}

// count counts the sure outliers of every worker. The sum over all operators of a name is
// one only where none of them is long by itself: its time would count twice.
func (r Results) count(of []RankSigns) {
	type place struct {
		worker int
		name   string
		every  bool
	}
	single := make(map[place]bool)
	for _, total := range []bool{false, true} {
		for _, o := range r.Outliers.Outliers {
			s := r.Series[o.Series]
			if !o.Sure || o.Effect <= 0 || s.Quantity != zscore.Duration {
				continue
			}
			op := r.Operators[s.Op]
			at := place{o.Worker, op.Name, o.Step == zscore.EveryStep}
			if (op.Instance == Total) != total || total && single[at] {
				continue
			}
			single[at] = single[at] || !total
			if at.every {
				of[o.Worker].Whole++
			} else {
				of[o.Worker].Steps++
			}
		}
	}
}
