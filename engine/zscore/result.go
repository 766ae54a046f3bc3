package zscore

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/enum"
)

// EveryStep is the Step of an outlier that is off in the whole window: its mean
// deviation is judged, not that of one step.
const EveryStep = -1

// Outlier is one flagged value.
type Outlier struct {
	Series    int // index in the input
	Step      int // in the window, or EveryStep
	Worker    int
	Effect    int64    // deviation from the median of the peers; of the whole window its median over the steps
	Score     float64  // signed score; infinite where the peers do not vary at all
	Threshold float64  // threshold that the score passed
	P         *float64 // two-sided chance of such a score; nil for methods that have none
	Sure      bool     // still flagged when the error rate is that of the whole analysis
}

// Report says how a series was judged.
type Report struct {
	Peers     int     // replicas with a value
	Steps     int     // steps with values
	Method    Method  // the method used; another than asked for where that was impossible
	Log       bool    // logarithms were compared
	Sigma     float64 // spread, in nanoseconds or of the logarithm; 0 for methods that see one step
	Freedom   float64 // degrees of freedom of sigma; 0 for methods that see one step
	Threshold float64 // score that flags in one step with all peers; 0: there is none
	Sure      float64 // score that flags in the whole analysis; 0: there is none
	Doubts    []Doubt // why the series is undecided or to be read with care
}

// Suspect is what is held against one worker.
type Suspect struct {
	Worker   int
	Outliers int // number of its outliers
	Sure     int // number of its sure outliers
	Worst    int // index of its first outlier in Result.Outliers
}

// Result is the account of all series.
type Result struct {
	Method    Method
	Alpha     float64
	Instances int // operator instances judged; Alpha·Instances of them would be flagged were all healthy

	Outliers []Outlier // sure ones first, then by descending |Effect| over the window
	Workers  []Suspect // workers with outliers, by their worst one
	Series   []Report  // by series
}

// ExpectedFlags returns how many instances would be flagged were all healthy; nil for methods without an error rate.
func (r *Result) ExpectedFlags() *float64 {
	if r.Method == Population {
		return nil
	}
	n := r.Alpha * float64(r.Instances)
	return &n
}

// Doubt is a reason why a series is undecided or to be read with care.
type Doubt uint8

const (
	TooFewPeers  Doubt = iota + 1 // below three nobody can say who deviates: undecided
	FewSteps                      // too few steps to pool: LeaveOneOut was used
	MostlyEqual                   // more than half of the deviations are equal: the spread is their mean, not robust
	Dependent                     // deviations of consecutive steps are correlated: EveryStep was widened for it
	HeavyTails                    // more deviations beyond 3 spreads than normal noise has: flags of single steps are more than stated
	CannotFire                    // the largest score there can be is below the cutoff
	Uncalibrated                  // the method has no error rate
	Masks                         // the method is blind to two equal stragglers
	FewBlocks                     // too few steps to tell how long noise stays correlated, or it does so long that too few blocks are independent: LeaveOneOut was used
	doubtCount
)

var doubtNames = [doubtCount]string{"", "few_peers", "few_steps", "mostly_equal", "dependent", "heavy_tails", "cannot_fire", "uncalibrated", "masks_two", "few_blocks"}

func (d Doubt) String() string { return enum.Name(doubtNames[:], d) }

// Names returns the names of all values.
func (Doubt) Names() []string { return doubtNames[1:] }

// rank orders the outliers and sums them up by worker.
func (r *Result) rank(series []Series, found [][]Outlier) {
	r.Outliers = slices.Concat(found...)
	weight := func(o *Outlier) float64 {
		w := float64(max(o.Effect, -o.Effect))
		if o.Step == EveryStep {
			w *= float64(series[o.Series].steps())
		}
		return w
	}
	slices.SortStableFunc(r.Outliers, func(a, b Outlier) int {
		if a.Sure != b.Sure {
			if a.Sure {
				return -1
			}
			return 1
		}
		return cmp.Compare(weight(&b), weight(&a))
	})
	var workers ordered.List[int, Suspect]
	for i, o := range r.Outliers {
		w, first := workers.Of(o.Worker)
		if first {
			w.Worker, w.Worst = o.Worker, i
		}
		w.Outliers++
		if o.Sure {
			w.Sure++
		}
	}
	r.Workers = workers.All
}
