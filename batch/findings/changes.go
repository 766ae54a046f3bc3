package findings

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/engine/changepoint"
	"github.com/sfstat/sfstat/internal/robust"
)

const day = 24 * time.Hour

// Day is a day, UTC.
type Day struct{ time.Time }

func (d Day) String() string { return d.Format(time.DateOnly) }

// MarshalText returns the day as String does.
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Change is a day from which on the runs of a family have longer or shorter steps, or
// spend more or less of them in a stage.
type Change struct {
	Family string  // name of the runs, # for the numbers in it
	Stage  string  // what became longer or shorter; "": the step
	Day    Day     // from which on
	Low    Day     // that day lies between this and day_high, at 95 %
	High   Day     // its last day
	Before int64   // in a step of the median run of a day, median over the days before
	After  int64   // and after
	P      float64 // chance of such a change anywhere, if there is none; in any family and stage
}

// level is the chance of any change in any family where there is none.
const level = 0.05

// measure is the step time of a family, or the exposed time of a stage in its steps.
type measure struct{ family, stage string }

// Changes returns the change points of step time and of the stages, by day, from the median run of each day, for runs whose
// names differ in numbers alone. Days may depend on the day before. A run without times is of the day in its name or folder.
func (s *Summary) Changes() ([]Change, error) {
	series := make(map[measure]map[time.Time][]float64)
	add := func(m measure, at time.Time, value float64) {
		if series[m] == nil {
			series[m] = make(map[time.Time][]float64)
		}
		series[m][at] = append(series[m][at], value)
	}
	for _, r := range s.order {
		at := cmp.Or(r.Begin, dateIn(r.Name), dateIn(r.Folder))
		if at == 0 || r.Steps == 0 {
			continue
		}
		name, day := family(r.Name), time.Unix(0, at).UTC().Truncate(day)
		add(measure{name, ""}, day, float64(r.Time)/float64(r.Steps))
		for stage, time := range r.stages {
			add(measure{name, stage}, day, time/float64(r.Steps))
		}
	}
	var tested []measure
	for m, days := range series {
		if changepoint.Shows(len(days), changepoint.Options{Level: level}) {
			tested = append(tested, m)
		}
	}
	var out []Change
	for _, m := range tested {
		found, err := changesOf(m, series[m], changepoint.Options{Level: level, Tests: sharers(m, tested), Null: changepoint.Autoregressive})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), a.Day.Compare(b.Day.Time), cmp.Compare(a.Stage, b.Stage))
	})
	return out, nil
}

// Onset is a week from which on a host, or one GPU of it, delays more or fewer of the runs.
type Onset struct {
	Host      string  // the host
	LocalRank int     // of the GPU on it; negative: it is the host
	Week      Day     // first day, UTC, of the week from which on
	Low       Day     // that week lies between this and monday_high, at 95 %
	High      Day     // its last week
	Before    float64 // part of the runs of a week that it delays, median over the weeks before
	After     float64 // and after
	P         float64 // chance of such a change of any host or GPU, if there is none
}

// place is a host, or a GPU of it.
type place struct {
	host      string
	localRank int // −1: the host
}

// fewestDelayed is of how many runs one says when it began.
const fewestDelayed = 3

// Onsets returns the change points, by week, of the part of the runs with a known begin that a host or a GPU delays by a
// finding to act on. Weeks may depend on the week before.
func (s *Summary) Onsets() (out []Onset, err error) {
	weeks := s.Weeks()
	at := make(map[int64]int, len(weeks))
	for i, w := range weeks {
		at[w.Start.Unix()] = i
	}
	delayed := make(map[place][]float64)
	count := make(map[place]int)
	add := func(p place, week int) {
		if delayed[p] == nil {
			delayed[p] = make([]float64, len(weeks))
		}
		delayed[p][week]++
		count[p]++
	}
	for _, r := range s.flaggedRuns() {
		if r.Begin == 0 || r.Worst.Host == nil {
			continue
		}
		week := at[monday(r.Begin).Unix()]
		add(place{*r.Worst.Host, -1}, week)
		if r.Worst.LocalRank != nil {
			add(place{*r.Worst.Host, int(*r.Worst.LocalRank)}, week)
		}
	}
	maps.DeleteFunc(delayed, func(p place, _ []float64) bool { return count[p] < fewestDelayed })
	o := changepoint.Options{Level: level, Tests: max(1, len(delayed)), Null: changepoint.Autoregressive}
	for p, values := range delayed {
		for i := range values {
			values[i] /= float64(weeks[i].Runs)
		}
		found, err := changepoint.Find(values, o)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			out = append(out, Onset{Host: p.host, LocalRank: p.localRank, Week: weeks[c.At].Start, Low: weeks[c.Low].Start, High: weeks[min(c.High, len(weeks)-1)].Start,
				Before: c.Before, After: c.After, P: c.P})
		}
	}
	slices.SortFunc(out, func(a, b Onset) int {
		return cmp.Or(a.Week.Compare(b.Week.Time), cmp.Compare(a.Host, b.Host), cmp.Compare(a.LocalRank, b.LocalRank))
	})
	return out, nil
}

// monday returns the first moment, UTC, of the week of a time, ns since 1970.
func monday(ns int64) Day {
	at := time.Unix(0, ns).UTC().Truncate(day)
	return Day{at.Add(-day * time.Duration((int(at.Weekday())+6)%7))}
}

// sharers returns how many tests, such as that of one measure, share the level: step times have half of it, if there are
// stages, and these the other half.
func sharers(m measure, tested []measure) int {
	steps := 0
	for _, t := range tested {
		if t.stage == "" {
			steps++
		}
	}
	switch {
	case steps == len(tested):
		return steps
	case m.stage == "":
		return 2 * steps
	}
	return 2 * (len(tested) - steps)
}

func changesOf(m measure, days map[time.Time][]float64, o changepoint.Options) (out []Change, err error) {
	order := slices.SortedFunc(maps.Keys(days), time.Time.Compare)
	values := make([]float64, len(order))
	for i, at := range order {
		values[i] = robust.Median(days[at])
	}
	found, err := changepoint.Find(values, o)
	for _, c := range found {
		out = append(out, Change{Family: m.family, Stage: m.stage, Day: Day{order[c.At]}, Low: Day{order[c.Low]}, High: Day{order[min(c.High, len(order)-1)]},
			Before: int64(c.Before), After: int64(c.After), P: c.P})
	}
	return out, err
}

// dates are dates in names: 2026-03-14, 20260314, 2026_03_14.
var dates = regexp.MustCompile(`(20\d\d)([-_]?)(0[1-9]|1[0-2])([-_]?)(0[1-9]|[12]\d|3[01])`)

// dateIn returns the first day, UTC, that a name has; 0 without one.
func dateIn(name string) int64 {
	for _, m := range dates.FindAllStringSubmatch(name, -1) {
		if m[2] != m[4] {
			continue
		}
		if day, err := time.Parse("20060102", m[1]+m[3]+m[5]); err == nil {
			return day.UnixNano()
		}
	}
	return 0
}

// family returns the name of a run without the numbers in it.
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
