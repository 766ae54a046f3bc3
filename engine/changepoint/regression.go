package changepoint

import (
	"math"
	"math/rand/v2"

	"github.com/sfstat/sfstat/internal/robust"
)

const (
	mostCorrelated = 0.97 // φ at most: above it a series of days has no level
	standardErrors = 2    // that φ is put above its estimate
	clipped        = 3    // standard deviations that a value counts with at most
	// warmUp·1/(1 − φ) values come before those of a draw: what it starts from is then
	// less than a hundredth of them.
	warmUp = 5
)

// regression is an autoregressive series to draw from.
type regression struct {
	phi       float64
	residuals []float64 // about their mean
	drawn     []float64
}

// newRegression fits a series to values; cuts are where levels are taken off before φ is
// estimated, ascending. Residuals are about the mean of all.
func newRegression(values []float64, cuts []int) *regression {
	d := &regression{phi: correlation(values, cuts), drawn: make([]float64, len(values))}
	mean := meanOf(values)
	for t := 1; t < len(values); t++ {
		d.residuals = append(d.residuals, values[t]-mean-d.phi*(values[t-1]-mean))
	}
	center(d.residuals)
	return d
}

// draw returns the next series. It is valid until the next call.
func (d *regression) draw(rng *rand.Rand) []float64 {
	x := 0.0
	for range int(warmUp / (1 - d.phi)) {
		x = d.phi*x + d.residuals[rng.IntN(len(d.residuals))]
	}
	for t := range d.drawn {
		x = d.phi*x + d.residuals[rng.IntN(len(d.residuals))]
		d.drawn[t] = x
	}
	return d.drawn
}

// correlation returns φ of a series, from 0 to mostCorrelated.
func correlation(values []float64, cuts []int) float64 {
	left := residuals(values, cuts)
	clip(left)
	left = residuals(left, cuts)
	n, squares, products := float64(len(left)), 0.0, 0.0
	for t, v := range left {
		squares += v * v
		if t > 0 {
			products += v * left[t-1]
		}
	}
	if squares == 0 {
		return 0
	}
	r := products / squares
	r += float64(len(cuts)+1) * (1 + 3*r) / n
	return min(mostCorrelated, max(0, r+standardErrors*math.Sqrt(max(0, 1-r*r)/n)))
}

// clip holds values about zero within some standard deviations, as the median deviation
// of a normal distribution has them.
func clip(values []float64) {
	size := make([]float64, len(values))
	for i, v := range values {
		size[i] = math.Abs(v)
	}
	const normal = 1.4826
	most := clipped * normal * robust.Median(size)
	if most == 0 {
		return
	}
	for i, v := range values {
		values[i] = max(-most, min(most, v))
	}
}

// twoCuts returns the two places, ascending, that divide ranks into three levels with the
// least sum of squares within them. Of many ranks both lie on a grid.
func twoCuts(ranks []float64) []int {
	n := len(ranks)
	if n < 3*least {
		at, _ := largest(ranks)
		return []int{at}
	}
	sums := make([]float64, n+1)
	for i, r := range ranks {
		sums[i+1] = sums[i] + r
	}
	between := func(i, j int) float64 { d := sums[j] - sums[i]; return d * d / float64(j-i) }
	stride := (n + grid - 1) / grid
	best, cuts := -1.0, []int{least, n - least}
	for a := least; a <= n-2*least; a += stride {
		for b := a + least; b <= n-least; b += stride {
			if t := between(0, a) + between(a, b) + between(b, n); t > best {
				best, cuts = t, []int{a, b}
			}
		}
	}
	return cuts
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// center takes the mean off values.
func center(values []float64) {
	mean := meanOf(values)
	for i := range values {
		values[i] -= mean
	}
}
