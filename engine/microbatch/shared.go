package microbatch

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/internal/robust"
)

// Shared is what passes have in common.
type Shared struct {
	// Spread is the deviation of e over the passes of a direction, as a factor
	// less one: 0.3 is a third longer or shorter.
	Spread float64 // 0 with one microbatch in a step
	// Directions is the correlation of forward with backward of the same
	// microbatch, the median over the workers; Stages that of the same
	// microbatch on neighbouring stages, the median over pairs of workers. nil:
	// undecided, because there is one microbatch in a step, or one stage, or no variation.
	Directions, Stages *float64
	// PDirections and PStages are their one-sided P by permutation of the
	// passes of a worker; 1 when untested. The null: e is independent between
	// directions, and between stages.
	PDirections, PStages float64
}

// maxTested workers take part in the test of correlations.
const maxTested = 64

// measureShared measures what passes have in common.
func (in *Input) measureShared() Shared {
	forward, backward := in.residuals(in.Forward), in.residuals(in.Backward)
	out := Shared{PDirections: 1, PStages: 1}
	workers, n := len(forward), in.Microbatches*in.Steps
	square := 0.0
	for _, column := range slices.Concat(forward, backward) {
		square += floats.Dot(column, column)
	}
	// Of each step one degree of freedom went into its mean.
	if free := 2 * workers * (n - in.Steps); free > 0 {
		out.Spread = math.Expm1(math.Sqrt(square / float64(free)))
	}
	if in.Microbatches < 2 || n < 4 {
		return out
	}
	var directional, neighbours [][2][]float64
	both := func(w int) []float64 { return floats.AddTo(make([]float64, n), forward[w], backward[w]) }
	for w := range workers {
		directional = append(directional, [2][]float64{forward[w], backward[w]})
		if next := w + in.Replicas; next < workers {
			neighbours = append(neighbours, [2][]float64{both(w), both(next)})
		}
	}
	random := rand.New(rand.NewPCG(0, 0))
	out.Directions, out.PDirections = in.correlation(thin(directional), random)
	out.Stages, out.PStages = in.correlation(thin(neighbours), random)
	return out
}

// residuals returns the residuals e of a direction, [worker][microbatch·Steps + step].
func (in *Input) residuals(passes [][]int64) [][]float64 {
	e := make([][]float64, len(passes))
	for w, list := range passes {
		e[w] = make([]float64, len(list))
		for i, x := range list {
			e[w][i] = logOf(float64(x))
		}
		in.centreSteps(e[w])
	}
	for block := range slices.Chunk(e, in.Replicas) {
		in.takeOutPlaces(block)
	}
	return e
}

// centreSteps subtracts from the passes of a worker the mean of their step.
func (in *Input) centreSteps(column []float64) {
	for t := range in.Steps {
		sum := 0.0
		for m := range in.Microbatches {
			sum += column[m*in.Steps+t]
		}
		for m := range in.Microbatches {
			column[m*in.Steps+t] -= sum / float64(in.Microbatches)
		}
	}
}

// takeOutPlaces subtracts what the passes of one place in the step have in
// common over replicas and steps: the first is longer in many jobs, and all
// replicas have a first.
func (in *Input) takeOutPlaces(block [][]float64) {
	n := len(block) * in.Steps
	if n < 4 {
		return
	}
	for m := range in.Microbatches {
		common := 0.0
		for _, column := range block {
			for _, v := range column[m*in.Steps : (m+1)*in.Steps] {
				common += v / float64(n)
			}
		}
		for _, column := range block {
			for t := range in.Steps {
				column[m*in.Steps+t] -= common
			}
		}
	}
}

// thin keeps at most maxTested pairs, evenly.
func thin(pairs [][2][]float64) [][2][]float64 {
	if len(pairs) <= maxTested {
		return pairs
	}
	out := make([][2][]float64, maxTested)
	for i := range out {
		out[i] = pairs[i*len(pairs)/maxTested]
	}
	return out
}

// correlation returns the median over pairs of columns of their correlation, and the part of permutations of the second column,
// within each step, with a median as large, itself among them. Under the null the microbatches of a step are exchangeable, so
// that P is exact.
func (in *Input) correlation(pairs [][2][]float64, random *rand.Rand) (*float64, float64) {
	var each []float64
	measure := func() (float64, bool) {
		each = each[:0]
		for _, p := range pairs {
			if c := pearson(p[0], p[1]); !math.IsNaN(c) {
				each = append(each, c)
			}
		}
		if len(each) == 0 || 2*len(each) < len(pairs) {
			return 0, false
		}
		return robust.Median(each), true
	}
	observed, ok := measure()
	if !ok {
		return nil, 1
	}
	for i := range pairs {
		pairs[i][1] = slices.Clone(pairs[i][1])
	}
	as := 1
	for range permutations {
		for _, p := range pairs {
			for t := range in.Steps {
				random.Shuffle(in.Microbatches, func(i, j int) {
					i, j = i*in.Steps+t, j*in.Steps+t
					p[1][i], p[1][j] = p[1][j], p[1][i]
				})
			}
		}
		if drawn, ok := measure(); !ok || cmp.Compare(drawn, observed) >= 0 {
			as++
		}
	}
	return &observed, float64(as) / float64(permutations+1)
}

// pearson returns the correlation of two columns, NaN where one does not vary.
func pearson(x, y []float64) float64 {
	if least := 1e-18 / float64(len(x)-1); stat.Variance(x, nil) < least || stat.Variance(y, nil) < least {
		return math.NaN()
	}
	return stat.Correlation(x, y, nil)
}
