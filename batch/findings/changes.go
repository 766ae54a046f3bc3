package findings

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/engine/changepoint"
	"github.com/sfstat/sfstat/internal/robust"
)

const day = 24 * time.Hour

// Change is a day from which on the runs of a family have longer or shorter steps.
type Change struct {
	Family        string // name of its runs, # for the numbers in it
	Day           time.Time
	Low, High     time.Time // Day lies between, at 95 %
	Before, After float64   // median over days of the median run's mean step, ns
	P             float64   // chance of such a change anywhere in any family, if there is none
}

// level is the chance of any change in any family where there is none.
const level = 0.05

// Changes are the change points of step time, by day: those of the median run of each
// day, for runs whose names differ in numbers alone.
func (s *Summary) Changes() ([]Change, error) {
	families := make(map[string]map[time.Time][]float64)
	for _, r := range s.order {
		if r.Begin == 0 || r.Steps == 0 {
			continue
		}
		name := family(r.Name)
		if families[name] == nil {
			families[name] = make(map[time.Time][]float64)
		}
		at := time.Unix(0, r.Begin).UTC().Truncate(day)
		families[name][at] = append(families[name][at], float64(r.Time)/float64(r.Steps))
	}
	tests := 0
	for name, days := range families {
		if !changepoint.Shows(len(days), changepoint.Options{Level: level}) {
			delete(families, name)
			continue
		}
		tests++
	}
	var out []Change
	for name, days := range families {
		found, err := changesOf(name, days, changepoint.Options{Level: level, Tests: tests})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Family, b.Family), a.Day.Compare(b.Day)) })
	return out, nil
}

func changesOf(name string, days map[time.Time][]float64, o changepoint.Options) (out []Change, err error) {
	var order []time.Time
	for at := range days {
		order = append(order, at)
	}
	slices.SortFunc(order, time.Time.Compare)
	values := make([]float64, len(order))
	for i, at := range order {
		values[i] = robust.Median(days[at])
	}
	found, err := changepoint.Find(values, o)
	for _, c := range found {
		out = append(out, Change{Family: name, Day: order[c.At], Low: order[c.Low], High: order[min(c.High, len(order)-1)],
			Before: c.Before, After: c.After, P: c.P})
	}
	return out, err
}

// family is the name of a run without the numbers in it.
func family(run string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range run {
		if r >= '0' && r <= '9' {
			r = '#'
		}
		if r != '#' || last != '#' {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}
