package sync

import (
	"slices"
	"testing"
)

// TestStepsOf: the calls that a group makes once a step follow one another as the ends do, however late some of them are; where
// one is lacking in between, the nearest end counts.
func TestStepsOf(t *testing.T) {
	ends := []int64{100, 200, 300, 400, 500, 600, 700}
	for name, c := range map[string]struct {
		at   []int64
		want []int
	}{
		"on time":               {[]int64{101, 201, 301, 401, 501, 601}, []int{0, 1, 2, 3, 4, 5}},
		"two late by a step":    {[]int64{101, 201, 390, 401, 590, 601}, []int{0, 1, 2, 3, 4, 5}},
		"begins later":          {[]int64{301, 490, 501, 601}, []int{2, 3, 4, 5}},
		"the last is late":      {[]int64{101, 201, 301, 490}, []int{0, 1, 2, 3}},
		"one lacking":           {[]int64{101, 201, 401, 501, 601}, []int{0, 1, 3, 4, 5}},
		"more calls than ends":  {[]int64{101, 201, 301, 401, 501, 601, 701, 801}, []int{0, 1, 2, 3, 4, 5, 6, 6}},
		"three of five in time": {[]int64{101, 290, 390, 401, 501}, []int{0, 1, 2, 3, 4}},
		"four of seven":         {[]int64{101, 290, 390, 490, 501, 601, 701}, []int{0, 2, 3, 4, 4, 5, 6}},
	} {
		w := &Waits{Matching: &Matching{Program: &Program{Ranks: []Rank{{Calls: make([]Call, len(c.at))}}}}, times: [][]int64{c.at}}
		var cohorts []Cohort
		for i := range c.at {
			cohorts = append(cohorts, Cohort{Nth(0, i)})
		}
		if got := w.stepsOf(cohorts, ends); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
