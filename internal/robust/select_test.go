package robust

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// selects checks Select at a position against a sort.
func selects[T cmp.Ordered](t *testing.T, in []T, k int) {
	t.Helper()
	want := slices.Sorted(slices.Values(in))
	x := slices.Clone(in)
	got := Select(x, k)
	switch {
	case got != want[k] || x[k] != got:
		t.Fatalf("value %d of %d is %v, and %v is in its place, want %v", k, len(in), got, x[k], want[k])
	case k > 0 && slices.Max(x[:k]) > got:
		t.Fatalf("%v stands before value %d of %d, %v", slices.Max(x[:k]), k, len(in), got)
	case slices.Min(x[k:]) < got:
		t.Fatalf("%v stands behind value %d of %d, %v", slices.Min(x[k:]), k, len(in), got)
	}
	if slices.Sort(x); !slices.Equal(x, want) {
		t.Fatalf("of %d values some are lost", len(in))
	}
}

// TestSelect: any position, among values that differ, repeat, rise, fall and
// are all one.
func TestSelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, few, few + 1, few + 2, 40, 1000} {
		for name, value := range map[string]func(i int) int64{
			"any":     func(int) int64 { return int64(rng.Uint64()) },
			"few":     func(int) int64 { return rng.Int64N(3) },
			"one":     func(int) int64 { return 5 },
			"rising":  func(i int) int64 { return int64(i) },
			"falling": func(i int) int64 { return int64(-i) },
			"organ":   func(i int) int64 { return int64(min(i, n-i)) },
			"turned":  func(i int) int64 { return int64((i + n - 1) % n) },
		} {
			t.Run(fmt.Sprintf("n=%d/%s", n, name), func(t *testing.T) {
				x, f := make([]int64, n), make([]float64, n)
				for i := range x {
					x[i] = value(i)
					f[i] = float64(x[i])
				}
				f[n/2] = math.Inf(1)
				for _, k := range []int{0, n / 4, (n - 1) / 2, n / 2, n * 99 / 100, n - 1} {
					selects(t, x, k)
					selects(t, f, k)
				}
			})
		}
	}
}

// TestSelectBadDivisions: Musser's sequence (1997, Softw. Pract. Exper. 27:983),
// of which the median of three is always the second smallest, is not divided to
// the end: of 2¹⁶ values that would be 2¹⁵ passes over all that are left.
func TestSelectBadDivisions(t *testing.T) {
	const half = 1 << 15
	x := make([]int64, 2*half)
	for i := range half {
		x[i] = int64(i + 1)
		if i%2 == 1 {
			x[i] = int64(half + i)
		}
		x[half+i] = int64(2 * (i + 1))
	}
	for _, k := range []int{half, 2*half - 1} {
		selects(t, x, k)
	}
}
