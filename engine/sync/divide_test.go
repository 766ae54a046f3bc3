package sync

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
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

// TestReplicas: pairs that meet one rank of each in other groups run one program; not those that meet as a whole, that share two ranks of a
// pair, or that exchange messages.
func TestReplicas(t *testing.T) {
	pairs := [][]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}}
	for name, c := range map[string]struct {
		groups   [][]int // of another call
		messages bool
		want     []int // [pair] the first of its replicas
	}{
		"data-parallel groups": {[][]int{{0, 2, 4, 6}, {1, 3, 5, 7}}, false, []int{0, 0, 0, 0}},
		"two halves":           {[][]int{{0, 2}, {1, 3}, {4, 6}, {5, 7}}, false, []int{0, 0, 2, 2}},
		"all ranks":            {[][]int{{0, 1, 2, 3, 4, 5, 6, 7}}, false, []int{0, 1, 2, 3}},
		"two of a pair":        {[][]int{{0, 1, 2}}, false, []int{0, 1, 2, 3}},
		"a pipeline":           {[][]int{{0, 2, 4, 6}, {1, 3, 5, 7}}, true, []int{0, 1, 2, 3}},
	} {
		w := &Waits{Matching: &Matching{Program: &Program{Ranks: make([]Rank, 8)}}}
		var p Place
		for _, group := range c.groups {
			var k Cohort
			for _, r := range group {
				k = append(k, Nth(r, 0))
			}
			p.Cohorts = append(p.Cohorts, k)
		}
		if w.Places = []Place{p}; c.messages {
			w.Blocks = []bool{false}
		}
		d := &Division{}
		d.Ranks, d.Pieces = 8, []points.Piece{{Stage: 0}}
		got := d.joinReplicas(w, pairs)
		for i, want := range c.want {
			if got.First(i) != want {
				t.Errorf("%s: pair %d is with %d, want %d", name, i, got.First(i), want)
			}
		}
	}
}
