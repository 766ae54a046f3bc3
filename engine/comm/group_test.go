package comm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/trace/comms"
)

// Two processes with a world, a split of two colours, an unknown one, and the world again after
// a restart.
func TestGroupSides(t *testing.T) {
	sides := []comms.Group{
		{Process: 0, ID: 7, Rank: 0, Size: 2},
		{Process: 1, ID: 7, Rank: 1, Size: 2},
		{Process: 0, Rank: 0, Size: 1, Split: &comms.Split{Parent: 0, Number: 1}},
		{Process: 1, Rank: 0, Size: 1, Split: &comms.Split{Parent: 1, Number: 1, Color: 1}},
		{Process: 0, Rank: 0, Size: 2, Split: &comms.Split{Parent: 0, Number: 2}},
		{Process: 1, Rank: 1, Size: 2, Split: &comms.Split{Parent: 1, Number: 2}},
		{Process: 0, Rank: -1, Size: 2},
		{Process: 0, ID: 7, Rank: 0, Size: 2},
		{Process: 0, ID: 9, Rank: 2, Size: 3},
		{Process: 0, ID: 9, Rank: 5, Size: 3},
	}
	got := GroupSides(sides)
	want := []SideGroup{
		{Method: ByID, Ranks: 2, Sides: []int{0, 1}},
		{Method: BySplit, Ranks: 1, Sides: []int{2}},
		{Method: BySplit, Ranks: 1, Sides: []int{3}},
		{Method: BySplit, Ranks: 2, Sides: []int{4, 5}},
		{Method: Alone, Ranks: 2, Sides: []int{6}},
		{Method: ByID, Ranks: 2, Sides: []int{7, comms.None}, Missing: 1},
		{Method: ByID, Ranks: 3, Sides: []int{comms.None, comms.None, 8}, Missing: 2},
		{Method: Alone, Ranks: 3, Sides: []int{9}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
}

// What a damaged line claims costs no memory, and sides that come again and again no time.
func TestGroupSidesOfClaims(t *testing.T) {
	var sides []comms.Group
	for i := range 4000 {
		sides = append(sides, comms.Group{ID: uint64(i + 1), Size: maxGroupRanks}, comms.Group{ID: 1 << 40, Size: 2})
	}
	places, believed := 0, 0
	for _, c := range GroupSides(sides) {
		places += len(c.Sides)
		if c.Method == ByID && c.Ranks == 2 {
			believed++
		}
	}
	if places > maxGroupPlaces+len(sides) || believed != 4000 {
		t.Errorf("%d places for %d sides, %d of 4000 communicators of two", places, len(sides), believed)
	}
}
