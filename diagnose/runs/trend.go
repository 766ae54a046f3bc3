package runs

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/changepoint"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/natural"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
)

// Order is what runs follow one another by.
type Order uint8

const (
	ByTime Order = iota // when they began
	ByName              // the time of some is not known
)

var orderNames = [...]string{"time", "name"}

func (o Order) String() string { return enum.Name(orderNames[:], o) }

// Series is one measure over the runs.
type Series struct {
	Measure
	Values  []float64            // of each run of the trend; NaN where it has none
	Changes []changepoint.Change // positions are those of runs
	Shows   bool                 // so many runs can show a change at all
}

// TrendOptions of a trend. The zero value is usable.
type TrendOptions struct {
	Level float64 // chance of finding any change in any measure where there is none; 0: gates.Supported
	Seed  uint64
}

// Trend is how measures changed from run to run.
type Trend struct {
	Runs   []*Run // in their order
	Order  Order
	Level  float64
	Seed   uint64
	Series []Series // step time first, then stages in the order of the step
	MixCut bool     // stages of the runs are accounted by different cuts, and are left out
}

// Follow looks for changes in every measure of runs.
func Follow(list []*Run, o TrendOptions) (*Trend, error) {
	if len(list) == 0 {
		return nil, input.Bad(input.ErrEmpty, "no run, expected several")
	}
	t := &Trend{Runs: slices.Clone(list), Level: cmp.Or(o.Level, gates.Supported), Seed: o.Seed}
	if slices.ContainsFunc(list, func(r *Run) bool { return r.Begin == 0 }) {
		t.Order = ByName
	}
	slices.SortStableFunc(t.Runs, func(a, b *Run) int {
		if t.Order == ByTime {
			return cmp.Or(cmp.Compare(a.Begin, b.Begin), natural.Compare(a.Name, b.Name))
		}
		return natural.Compare(a.Name, b.Name)
	})
	all := &Comparison{Base: t.Runs}
	t.MixCut = !all.cutsAgree()
	measures := all.measures()
	for _, m := range measures {
		s := Series{Measure: m}
		var known []float64
		var at []int // runs that have it
		for i, r := range t.Runs {
			v := r.value(m)
			if s.Values = append(s.Values, v); !math.IsNaN(v) {
				known, at = append(known, v), append(at, i)
			}
		}
		search := changepoint.Options{Level: t.Level, Tests: sharers(m, len(measures)), Seed: o.Seed}
		found, err := changepoint.Find(known, search)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			c.At, c.Low, c.High = at[c.At], at[c.Low], at[c.High]
			s.Changes = append(s.Changes, c)
		}
		s.Shows = changepoint.Shows(len(known), search)
		t.Series = append(t.Series, s)
	}
	return t, nil
}

// sharers is how many tests like that of a measure would share the level: step
// time has half of it, all others together the other half.
func sharers(m Measure, measures int) int {
	switch {
	case measures == 1:
		return 1
	case m.Kind == StepTime:
		return 2
	}
	return 2 * (measures - 1)
}
