package bootstrap

import (
	"math"
	"math/rand/v2"
)

// noise is what the overheads of pairs scatter like.
type noise struct {
	name string
	// draw is a value with the mean 0; median is its median.
	draw   func(*rand.Rand) float64
	median float64
}

const (
	scatter = 0.005 // standard deviation of a pair's overhead
	sigma   = 0.8   // of the logarithm of the skewed noise
)

var (
	normal = noise{"normal", func(r *rand.Rand) float64 { return scatter * r.NormFloat64() }, 0}
	// skewed is lognormal(0, σ), shifted and scaled: skewness 3.7.
	skewed = func() noise {
		mean := math.Exp(sigma * sigma / 2)
		unit := scatter / (mean * math.Sqrt(math.Exp(sigma*sigma)-1))
		return noise{"skewed", func(r *rand.Rand) float64 { return unit * (math.Exp(sigma*r.NormFloat64()) - mean) }, unit * (1 - mean)}
	}()
	// tails is Student's t with 3 degrees of freedom, whose variance is 3.
	tails = noise{"heavy tails", func(r *rand.Rand) float64 {
		square := 0.0
		for range 3 {
			z := r.NormFloat64()
			square += z * z
		}
		return scatter / math.Sqrt(3) * r.NormFloat64() / math.Sqrt(square/3)
	}, 0}
	// stalls hit one pair in twenty, for 3 %.
	stalls = noise{"stalls", func(r *rand.Rand) float64 {
		x := scatter*r.NormFloat64() - 0.05*0.03
		if r.Float64() < 0.05 {
			x += 0.03
		}
		return x
	}, stallsMedian()}
)

// stallsMedian solves 0.95·Φ(z) + 0.05·Φ(z − 0.03/s) = 1/2.
func stallsMedian() float64 {
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	low, high := 0.0, 1.0
	for range 60 {
		if z := (low + high) / 2; 0.95*phi(z)+0.05*phi(z-0.03/scatter) < 0.5 {
			low = z
		} else {
			high = z
		}
	}
	return scatter*low - 0.05*0.03
}

// drawPairs makes independent pairs: steps of about 200 ms whose length varies
// by 10 %, and an overhead with a mean.
func drawPairs(r *rand.Rand, n int, of noise, mean float64) []Pair {
	pairs := make([]Pair, n)
	for i := range pairs {
		base := 2e8 * math.Exp(0.1*r.NormFloat64())
		pairs[i] = Pair{Block: i, Base: base, With: base * (1 + mean + of.draw(r))}
	}
	return pairs
}

// drawRuns makes runs of windows whose overheads share a run's part of their
// variance.
func drawRuns(r *rand.Rand, runs, windows int, shared float64) []Pair {
	var pairs []Pair
	for run := range runs {
		common := scatter * math.Sqrt(shared) * r.NormFloat64()
		for range windows {
			x := common + scatter*math.Sqrt(1-shared)*r.NormFloat64()
			base := 2e8 * math.Exp(0.1*r.NormFloat64())
			pairs = append(pairs, Pair{Block: run, Base: base, With: base * (1 + x)})
		}
	}
	return pairs
}
