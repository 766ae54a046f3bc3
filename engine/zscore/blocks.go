package zscore

import (
	"math"

	"github.com/sfstat/sfstat/engine/blocks"
)

// width returns the spread that a level has, as of a single step: the mean of values with correlation ρ from step to step varies
// as if there were (1−ρ)/(1+ρ) as many.
func (f *fit) width() float64 {
	const mostCorrelated = 0.95
	rho := min(f.correlation, mostCorrelated)
	return levelWidth * f.sigma * math.Sqrt((1+rho)/(1-rho))
}

// tau returns as how many steps an independent one counts, of the offsets with levels taken off.
func (f *fit) tau(peers int) float64 {
	u := make([]float64, len(f.u))
	for k, v := range f.u {
		if v == v {
			u[k] = v
		}
	}
	return blocks.Tau(u, peers)
}

// blockSpread returns the standard deviation of a level by the offsets of blocks, pooled over peers, and its degrees of freedom.
func (f *fit) blockSpread(peers int, cut blocks.Blocks) (sd, freedom float64) {
	sum := 0.0
	for i := range peers {
		for b := range cut.N {
			mean, present := 0.0, 0
			for t := cut.Start() + b*cut.Length; t < cut.Start()+(b+1)*cut.Length; t++ {
				if u := f.clip(t*peers + i); u == u {
					mean, present = mean+u, present+1
				}
			}
			if present > 0 {
				mean /= float64(present)
				sum += mean * mean
			}
		}
	}
	freedom = max(2, float64(cut.N-1)*float64(peers-1))
	return levelWidth * cut.Widen * math.Sqrt(sum/float64(peers*(cut.N-1))/float64(cut.N)), freedom
}

// loosen makes the spread as wide as it is about levels that are not taken from the same steps: noise that stays
// correlated over τ of T steps loses τ/T of its variance to them.
func (f *fit) loosen(cut blocks.Blocks) {
	by := 1 - min(0.5, (cut.Tau-1)/float64(cut.Steps))
	for t := range f.square {
		f.square[t] /= by
	}
	f.sigma /= math.Sqrt(by)
}
