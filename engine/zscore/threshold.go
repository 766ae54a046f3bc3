package zscore

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// family is what all series share: how many tests there are.
type family struct {
	o            Options
	quantities   map[int]int // series of an Op
	tests        int         // in the whole analysis
	instances    int
	calibrations []Calibration
}

func newFamily(series []Series, o Options) *family {
	f := &family{o: o, quantities: make(map[int]int)}
	longest := make(map[int]int)
	for i := range series {
		s := &series[i]
		f.quantities[s.Op]++
		longest[s.Op] = max(longest[s.Op], s.steps())
		f.tests += (s.steps() + 1) * len(s.Workers) // and EveryStep
	}
	for _, steps := range longest {
		f.instances += steps
	}
	if o.Method == ModifiedZ {
		f.calibrate(series)
	}
	return f
}

// instanceAlpha is the error rate of one quantity of an instance.
func (f *family) instanceAlpha(s *Series) float64 {
	return f.o.Alpha / float64(f.quantities[s.Op])
}

// Thresholds of ModifiedZ come from simulation of normal values.
const (
	mostDraws  = 40_000
	leastDraws = 4_000
	drawnTotal = 4_000_000 // values drawn for one threshold, about
)

// calibrate simulates a threshold for every number of peers that is present in
// some step.
func (f *family) calibrate(series []Series) {
	var memory scratch
	for i := range series {
		s := &series[i]
		alpha := f.instanceAlpha(s)
		for t := range s.steps() {
			n := 0
			for _, x := range s.step(t) {
				if x != Absent {
					n++
				}
			}
			if _, ok := f.calibrated(n, alpha); !ok && n > 2 {
				f.calibrations = append(f.calibrations, simulate(n, alpha, f.o.Seed, &memory))
			}
		}
	}
	slices.SortFunc(f.calibrations, func(a, b Calibration) int {
		return cmp.Or(cmp.Compare(a.Peers, b.Peers), cmp.Compare(a.Alpha, b.Alpha))
	})
}

func (f *family) calibrated(peers int, alpha float64) (float64, bool) {
	for _, c := range f.calibrations {
		if c.Peers == peers && c.Alpha == alpha {
			return c.Threshold, true
		}
	}
	return 0, false
}

// simulate finds what the largest |modified z| of n normal values exceeds with
// probability alpha.
func simulate(n int, alpha float64, seed uint64, memory *scratch) Calibration {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	largest := make([]float64, max(leastDraws, min(mostDraws, drawnTotal/n)))
	y := make([]float64, n)
	for d := range largest {
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		for _, z := range scoreStep(ModifiedZ, y, memory) {
			largest[d] = max(largest[d], math.Abs(z))
		}
	}
	slices.Sort(largest)
	at := int(math.Ceil((1-alpha)*float64(len(largest)))) - 1
	return Calibration{Peers: n, Alpha: alpha, Threshold: largest[max(0, at)], Draws: len(largest)}
}
