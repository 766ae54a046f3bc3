package comm

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two processes with a world, a split of two colours, an unknown one, and the world again after
// a restart.
func TestGroup(t *testing.T) {
	sides := []Side{
		{Process: 0, ID: 7, Rank: 0, Ranks: 2, Parent: None},
		{Process: 1, ID: 7, Rank: 1, Ranks: 2, Parent: None},
		{Process: 0, Rank: 0, Ranks: 1, Parent: 0, Split: 1, Color: 0},
		{Process: 1, Rank: 0, Ranks: 1, Parent: 1, Split: 1, Color: 1},
		{Process: 0, Rank: 0, Ranks: 2, Parent: 0, Split: 2},
		{Process: 1, Rank: 1, Ranks: 2, Parent: 1, Split: 2},
		{Process: 0, Rank: -1, Ranks: 2, Parent: None},
		{Process: 0, ID: 7, Rank: 0, Ranks: 2, Parent: None},
		{Process: 0, ID: 9, Rank: 2, Ranks: 3, Parent: None},
		{Process: 0, ID: 9, Rank: 5, Ranks: 3, Parent: None},
	}
	got := Group(sides)
	want := []Communicator{
		{Method: ByID, ID: 7, Ranks: 2, Sides: []int{0, 1}},
		{Method: BySplit, Ranks: 1, Sides: []int{2}},
		{Method: BySplit, Ranks: 1, Sides: []int{3}},
		{Method: BySplit, Ranks: 2, Sides: []int{4, 5}},
		{Method: Alone, Ranks: 2, Sides: []int{6}},
		{Method: ByID, ID: 7, Ranks: 2, Sides: []int{7, None}, Missing: 1},
		{Method: ByID, ID: 9, Ranks: 3, Sides: []int{None, None, 8}, Missing: 2},
		{Method: Alone, ID: 9, Ranks: 3, Sides: []int{9}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	rank, ok := World(sides, got, 2)
	if diff := cmp.Diff([]int{0, 1}, rank); !ok || diff != "" {
		t.Errorf("world %v %v", rank, ok)
	}
	if _, ok := World(sides, got, 3); ok {
		t.Error("three processes have a world of two")
	}
}

// What a damaged line claims costs no memory, and sides that come again and again no time.
func TestGroupOfClaims(t *testing.T) {
	var sides []Side
	for i := range 4000 {
		sides = append(sides, Side{ID: uint64(i + 1), Ranks: maxRanks, Parent: None}, Side{ID: 1 << 40, Ranks: 2, Parent: None})
	}
	places, believed := 0, 0
	for _, c := range Group(sides) {
		places += len(c.Sides)
		if c.Method == ByID && c.Ranks == 2 {
			believed++
		}
	}
	if places > maxPlaces+len(sides) || believed != 4000 {
		t.Errorf("%d places for %d sides, %d of 4000 communicators of two", places, len(sides), believed)
	}
}

// meetings of a clock with noise, a tenth of them nonsense.
func meetings(rng *rand.Rand, n int, offset int64, drift float64) []Meeting {
	list := make([]Meeting, n)
	for i := range list {
		at := int64(1.7e18) + int64(i)*1_000_000
		list[i] = Meeting{At: at, Ahead: offset + int64(drift*float64(i)*1e6) + int64(rng.NormFloat64()*800)}
		if rng.IntN(10) == 0 {
			list[i].Ahead += rng.Int64N(20_000_000)
		}
	}
	return list
}

// Offset and drift come back within the noise; no drift is claimed where there is none.
func TestFit(t *testing.T) {
	claimed := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		for _, drift := range []float64{0, 25e-6, -40e-6} {
			c, err := Fit(meetings(rng, 400, 2_400_000, drift))
			if err != nil {
				t.Fatal(err)
			}
			if middle := float64(c.AheadAt(c.Epoch+c.Span/2)-2_400_000) - drift*float64(c.Span/2); math.Abs(c.Drift-drift) > 1.5e-6 || math.Abs(middle) > 200 {
				t.Errorf("seed %d: offset %d, drift %g, want 2400000, %g", seed, c.Offset, c.Drift, drift)
			}
			if drift == 0 && c.Drifts {
				claimed++
			}
			if at := int64(1.7e18) + 200_000_000; c.First(at+c.AheadAt(at))-at > 1 || at-c.First(at+c.AheadAt(at)) > 1 {
				t.Errorf("there and back again is %d ns off", c.First(at+c.AheadAt(at))-at)
			}
		}
	}
	if claimed > 4 {
		t.Errorf("a drift is claimed for %d of 200 clocks without", claimed)
	}
}

// Too little to go by is refused; meetings at one moment give an offset and no drift.
func TestFitOdd(t *testing.T) {
	if _, err := Fit(make([]Meeting, MinMeetings-1)); !errors.Is(err, ErrTooFew) {
		t.Errorf("got %v", err)
	}
	c, err := Fit(make([]Meeting, MinMeetings))
	if err != nil || c.Offset != 0 || c.Drifts {
		t.Errorf("%+v, %v", c, err)
	}
}
