package diagnose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/internal/robust"
)

// TestFromOthers: all at once is as one at a time, with ties too.
func TestFromOthers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 0))
	for n := 2; n < 40; n++ {
		x, got := make([]int64, n), make([]int64, n)
		for range 20 {
			for i := range x {
				x[i] = random.Int64N(int64(n))
			}
			subtractOthers(got, x, nil)
			for i := range x {
				if want := x[i] - robust.Lower(slices.Concat(x[:i], x[i+1:])); got[i] != want {
					t.Fatalf("%v: value %d differs by %d, expected %d", x, i, got[i], want)
				}
			}
		}
	}
}
