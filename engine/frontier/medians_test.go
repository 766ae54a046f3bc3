package frontier

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// TestCohortMedians: wherever the medians of the window before make them be looked for, they
// are those of all ranks' medians. Windows are like the one before, many times longer, all
// ties, or of other stages.
func TestCohortMedians(t *testing.T) {
	keep := new(buffers)
	eachRandomWindow(t, func(t *testing.T, rng *rand.Rand, w *trace.Window) {
		wide := randomWindow(rng, 1+rng.IntN(130), len(w.Schema.Stages), 1+rng.IntN(140))
		for range 4 {
			for _, w := range []*trace.Window{w, wide} {
				m := newRows(w)
				m.lead = rng.IntN(w.Steps())
				got := cohortMedians(m, keep)
				for s, medians := range rankMedians(m) {
					for r := range medians {
						column := make([]int64, 0, w.Steps())
						for t := m.lead; t < w.Steps(); t++ {
							column = append(column, m.at(t, s)[r])
						}
						if want := robust.MedianTime(column); medians[r] != want {
							t.Fatalf("stage %d, rank %d: median %d, want %d", s, r, medians[r], want)
						}
					}
					slices.Sort(medians)
					if want := robust.MedianTime(medians); got[s] != want {
						t.Fatalf("stage %d: cohort median %d, want %d", s, got[s], want)
					}
				}
				scale := []int64{1, 1, 1000, 0}[rng.IntN(4)]
				for i := range w.Durations {
					w.Durations[i] = (w.Durations[i] + rng.Int64N(3)) * scale % (1 << 45)
				}
			}
		}
	})
}
