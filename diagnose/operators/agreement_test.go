package operators

import (
	"math/rand/v2"
	"testing"
)

// TestMayOppose: what the outliers of any signs rule out, all engines together do not find.
func TestMayOppose(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	opposed, may := 0, 0
	for range 100_000 {
		s := &Signs{Symptoms: rng.IntN(4)}
		for rank := range 3 {
			s.Ranks = append(s.Ranks, RankSigns{Rank: rank, Departs: rng.IntN(2) == 0, Later: rng.Int64N(3) - 1, Excess: rng.Int64N(12), Walks: rng.IntN(3)})
		}
		cost, named := 1+rng.Int64N(12), []int{2}
		opposes := s.Agree(0, cost) == 0 && s.Agree(1, cost) >= 2
		if opposes {
			opposed++
		}
		switch {
		case s.MayOppose(0, named, cost):
			may++
		case opposes:
			t.Fatalf("rank 1 opposes rank 0 at a cost of %d, in %+v", cost, s)
		}
	}
	if opposed == 0 || may == 100_000 {
		t.Errorf("%d of 100000 signs oppose, and %d may: nothing is tested", opposed, may)
	}
}
