package delay

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

// TestPeelTogether: divisions of a run are searched together: each pays for the search with half of an even share and half of its
// share of what is charged. Terms that are certain come first, then what happened in a few intervals.
func TestPeelTogether(t *testing.T) {
	late, once := repeated(40, 1000, 1000, 1000, 1000), repeated(40, 1000, 1000, 1000, 1000)
	for n := range late {
		late[n][2] += 300
	}
	once[7][1] += 4000
	got := Peel([]*points.Division{division(0, once), division(0, late), division(0, repeated(40, 1000, 1000, 1000, 1000))}, 60_000, Options{}).Terms
	if len(got) != 2 {
		t.Fatalf("%+v, want two terms", got)
	}
	weight := 0.5/3 + 0.5*40*298/(40*298+3998)
	want := 3 * 4 * math.Pow(4, -40) / weight
	if x := got[0]; x.In != 1 || x.Rank != 2 || x.Piece != 0 || !slices.Equal(x.Less, slices.Repeat([]float64{300}, 40)) || x.Charged != 40*300 || math.Abs(x.P-want) > 1e-2*want {
		t.Errorf("%+v, want rank 2 of the second by 300, P %v", x, want)
	}
	if x := got[1]; x.In != 0 || x.Rank != 1 || x.Less[7] != 3998 || x.Charged != 3998 || x.P != 1 {
		t.Errorf("%+v, want one step of rank 1 of the first", x)
	}
}

// TestCommonOfDivision: what all ranks share is found beside a start-up of all.
func TestCommonOfDivision(t *testing.T) {
	rows := repeated(41, 1000, 1000, 1000)
	for r := range 3 {
		rows[0][r] = 9000
		for n := 8; n < 41; n += 8 {
			rows[n][r] += 500
		}
	}
	got := Common(division(0, rows), Options{})
	if len(got) != 2 || got[0].Cause != claim.SlowSteps || got[0].Steps.Period != 8 || got[0].Steps.First != 8 || got[0].Size != 500 || got[1].Cause != claim.StartUp || got[1].Size != 8000 {
		t.Errorf("%+v, want every eighth step, and the start", got)
	}
	nothing := points.Steps{Ranks: 2, Stages: []points.Stage{{Name: "a"}, {Name: "b"}}, Known: []points.Point{{Stage: 1, Evidence: points.Shown}}}
	for _, d := range []*points.Division{{}, points.Divide(&nothing, points.Gates{})} {
		if got := Common(d, Options{}); got != nil {
			t.Errorf("of nothing %+v", got)
		}
	}
}

// TestPerhaps: n strikes on one of two ranks have P = 2·2⁻ⁿ/(w·0.45), with w = 0.1/K + 0.9 of K pieces: three 0.58 of two pieces, which are what
// happened in a few intervals, with P = 1; four 0.29, which are returned as more likely than not.
func TestPerhaps(t *testing.T) {
	const pieces = 2
	for n, want := range map[int]float64{3: 1, 4: 2. / 16 / 0.95 / 0.45} {
		work := [][][]int64{repeated(40, 1000, 1000)}
		for i := range n {
			work[0][9*i+5][0] += 3000
		}
		for range pieces - 1 {
			work = append(work, repeated(40, 10, 10))
		}
		got := Peel([]*points.Division{division(0, work...)}, 0, Options{}).Terms
		if len(got) != 1 || got[0].Rank != 0 || math.Abs(got[0].P-want) > 1e-2*want {
			t.Errorf("%d strikes: %+v, want P %v", n, got, want)
		}
	}
}

// TestChanceOfPlanted: the P of a delay that is put in is that of the term which Peel finds where it was recorded.
func TestChanceOfPlanted(t *testing.T) {
	rows := repeated(24, 1000, 1000, 1000, 1000)
	for n := range rows {
		for r := range rows[n] {
			rows[n][r] += int64((7*n + 5*r + 3*n*r) % 11)
		}
	}
	healthy := Peel([]*points.Division{division(0, rows), division(0, repeated(24, 10, 10, 10, 10))}, 0, Options{})
	if len(healthy.Terms) > 0 {
		t.Fatalf("%+v in a healthy job", healthy.Terms)
	}
	for n := range rows {
		rows[n][2] += 300
	}
	found := Peel([]*points.Division{division(0, rows), division(0, repeated(24, 10, 10, 10, 10))}, 0, Options{}).Terms
	if len(found) != 1 || found[0].Rank != 2 {
		t.Fatalf("%+v, want rank 2", found)
	}
	if p := healthy.Chance(0, 2, 0, 300); math.Abs(math.Log(p/found[0].P)) > 0.7 {
		t.Errorf("put in %v, recorded %v", p, found[0].P)
	}
	if p := healthy.Chance(0, 2, 0, 2); p <= 0.05 {
		t.Errorf("%v of a delay within the noise", p)
	}
	alone := Peel([]*points.Division{division(0, repeated(24, 1000))}, 0, Options{})
	if p := alone.Chance(0, 0, 0, 900); p != 1 {
		t.Errorf("%v of the only rank", p)
	}
}
