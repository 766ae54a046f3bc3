package clock

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFitThresholds: of seven points no drift is fitted, of eight one is, if it leaves less than half of what none leaves. The
// points rise by 100 in 10 µs, and by turns lie below the line, on it and above.
func TestFitThresholds(t *testing.T) {
	points := func(n int, wobble int64) (out []Point) {
		for i := range int64(n) {
			out = append(out, Point{At: 1000 + 10_000*i, Ahead: 50 + 100*i + wobble*(i%3-1)})
		}
		return out
	}
	for n, drifts := range map[int]bool{7: false, 8: true} {
		c := Fit(points(n, 0))
		if c.Drifts != drifts || c.Points != n || c.Span != int64(10_000*(n-1)) || c.Epoch != 1000 {
			t.Errorf("%d points: %+v, want a drift: %v", n, c, drifts)
		}
		if drifts && (c.Drift != 0.01 || c.Offset != 50 || c.Residual != 0) {
			t.Errorf("%+v, want 50 and 1 in 100", c)
		}
		if !drifts && (c.Offset != 350 || c.Residual != 200) { // the lower median of 50, 150, … 650; of 300, 200, 100, 0, 100, 200, 300
			t.Errorf("%+v, want 350, to within 200", c)
		}
	}
	// Of nine points the lower median distance from the line is the wobble, 80. From the middle, 400, it is 180 of −80, 100, 280, 220, 400
	// and their like.
	if c := Fit(points(9, 80)); !c.Drifts {
		t.Errorf("off by 80 either way: %+v, want a drift", c)
	}
}

// TestFitOfManyPoints: the drift is that of 256 points at equal distances.
func TestFitOfManyPoints(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 1))
	var all, thin []Point
	for i := range int64(300) {
		all = append(all, Point{At: 10_000 * i, Ahead: 100*i + g.Int64N(200)})
	}
	for i := range 256 {
		thin = append(thin, all[i*300/256])
	}
	if got, want := Fit(all), Fit(thin); !got.Drifts || got.Drift != want.Drift || got.Points != 300 {
		t.Errorf("%+v, want a drift of %v", got, want.Drift)
	}
}

// TestJumpThresholds: one change of 10 ms and more that is twenty times any other, with two points and more on either side, is a jump, up to a quarter
// of all times, 73 years.
func TestJumpThresholds(t *testing.T) {
	at := func(ahead ...int64) (out []Point) {
		for i, x := range ahead {
			out = append(out, Point{At: int64(i), Ahead: x})
		}
		return out
	}
	const ms = 1_000_000
	for name, c := range map[string]struct {
		points []Point
		first  int
		by     int64
		ok     bool
	}{
		"10 ms":               {at(0, 0, 10*ms, 10*ms), 2, 10 * ms, true},
		"less":                {at(0, 0, 10*ms-1, 10*ms-1), 0, 0, false},
		"back":                {at(0, 0, -12*ms, -12*ms), 2, -12 * ms, true},
		"20 times the others": {at(0, 5*ms/10, 105*ms/10, 105*ms/10), 2, 10 * ms, true},
		"19 times":            {at(0, 53*ms/100, 1053*ms/100, 1053*ms/100), 0, 0, false},
		"and a later one":     {at(0, 0, 10*ms, 1053*ms/100), 0, 0, false},
		"one point before":    {at(0, 10*ms, 10*ms, 10*ms), 0, 0, false},
		"one point behind":    {at(0, 0, 0, 10*ms), 0, 0, false},
		"67 years":            {at(0, 0, math.MaxInt64/16*15/4-ms, math.MaxInt64/16*15/4-ms), 2, math.MaxInt64/16*15/4 - ms, true},
		"78 years":            {at(0, 0, math.MaxInt64/16*17/4, math.MaxInt64/16*17/4), 0, 0, false},
		"two points":          {at(0, 10*ms), 0, 0, false},
		"none":                {nil, 0, 0, false},
	} {
		if first, by, ok := Jump(c.points); first != c.first || by != c.by || ok != c.ok {
			t.Errorf("%s: %d, %d, %v; want %d, %d, %v", name, first, by, ok, c.first, c.by, c.ok)
		}
	}
}

// TestRoomsByHand: a member left after the last of the others entered, and entered before the first of the others left.
func TestRoomsByHand(t *testing.T) {
	got := Rooms(3, slices.Values([][]Entry{{{0, 100, 200}, {1, 130, 240}, {2, 90, Unknown}}, {{0, 300, 330}, {2, 310, 350}}}))
	// Clock 0: 130 − 200 and 310 − 330 at least; 240 − 100 and 350 − 300 at most. Clock 1: 100 − 240; 200 − 130. Clock 2: 300 − 350; 200 − 90 and 330 − 310.
	want := []Room{{-20, 50}, {-140, 70}, {-50, 20}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for r, bounded := range map[Room]bool{{-20, 50}: true, {5, 5}: true, {6, 5}: false, {-Unknown, 5}: false, {0, Unknown}: false} {
		if r.IsBounded() != bounded {
			t.Errorf("%v: bounded %v", r, !bounded)
		}
	}
}
