package robust

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOrderStatistics compares the partial sort with a full one.
func TestOrderStatistics(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 3000 {
		n := 1 + rng.IntN(70)
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(rng.IntN(1 + rng.IntN(100)))
		}
		sorted := slices.Clone(v)
		slices.Sort(sorted)
		m := MiddleOf(v, make([]int64, n))
		if want := mean2(sorted[(n-1)/2], sorted[n/2]); m.Median() != want {
			t.Fatalf("median of %v is %d, want %d", v, m.Median(), want)
		}
		if got := MedianTimeOf(v, make([]int64, n)); got != m.Median() {
			t.Fatalf("median of %v is %d, want %d", v, got, m.Median())
		}
		below, above := rng.IntN((n-1)/2+1), n/2+1+rng.IntN(n-n/2)
		among := slices.Clone(sorted[below:above])
		rng.Shuffle(len(among), func(i, j int) { among[i], among[j] = among[j], among[i] })
		if got := MedianTimeAmong(among, below, n); got != m.Median() {
			t.Fatalf("median of %v, of which %d are below %v, is %d, want %d", v, below, among, got, m.Median())
		}
		i := rng.IntN(n)
		rest := slices.Delete(slices.Clone(v), i, i+1)
		if len(rest) == 0 {
			continue
		}
		slices.Sort(rest)
		if got, want := m.LowerWithout(v[i]), rest[(len(rest)-1)/2]; got != want {
			t.Fatalf("lower median of %v without %d is %d, want %d", v, v[i], got, want)
		}
		at, high, equal, low := m.MediansWithout()
		if x := v[i]; x > at && high != m.MedianWithout(x) || x == at && equal != m.MedianWithout(x) || x < at && low != m.MedianWithout(x) {
			t.Fatalf("of %v without %d: %d, %d or %d, by whether it is above %d, expected %d", v, v[i], high, equal, low, at, m.MedianWithout(v[i]))
		}
		if got, want := m.MedianWithout(v[i]), mean2(rest[(len(rest)-1)/2], rest[len(rest)/2]); got != want {
			t.Fatalf("median of %v without %d is %d, want %d", v, v[i], got, want)
		}
	}
}

// TestTimesBeyond: times of any size come to an end, though not to an answer.
func TestTimesBeyond(t *testing.T) {
	v := make([]int64, 1000)
	for i := range v {
		v[i] = []int64{math.MinInt64, math.MaxInt64, 0}[i%3]
	}
	MedianTime(v)
}
