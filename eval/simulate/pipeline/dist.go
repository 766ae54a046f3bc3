package pipeline

import (
	"math"
	"math/rand/v2"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace/input"
)

// Millis is a length of time, as in the specification of windows.
type Millis = simulate.Millis

const (
	nsPerMilli = simulate.NsPerMilli
	maxMillis  = simulate.MaxMillis
)

// maxJitter bounds relative deviations; a lognormal beyond it is nearly always
// nearly nothing.
const maxJitter = 100

// Dist is a lognormal distribution of lengths of time.
type Dist struct {
	Mean   Millis  `yaml:"mean_ms" json:"mean_ms"`
	Jitter float64 `yaml:"jitter,omitempty" json:"jitter,omitempty"` // standard deviation ÷ mean
}

func (d Dist) validate() error {
	switch {
	case !(d.Mean >= 0 && d.Mean <= maxMillis):
		return input.Bad(input.ErrRange, "a mean of %v ms, expected 0 to %g", d.Mean, float64(maxMillis))
	case !(d.Jitter >= 0 && d.Jitter <= maxJitter):
		return input.Bad(input.ErrRange, "a jitter of %v, expected 0 to %d: it is relative to the mean", d.Jitter, maxJitter)
	}
	return nil
}

// law is a Dist made ready to draw from, in nanoseconds.
type law struct {
	mean, sd float64
	μ, σ     float64 // of the logarithm
}

// law of the distribution times a factor.
func (d Dist) law(factor float64) law {
	mean := float64(d.Mean) * nsPerMilli * factor
	v := math.Log1p(d.Jitter * d.Jitter)
	return law{mean, mean * d.Jitter, math.Log(mean) - v/2, math.Sqrt(v)}
}

// draw gives a length in nanoseconds, in [0, maxMillis].
func (l *law) draw(rng *rand.Rand) float64 {
	if l.mean == 0 || l.σ == 0 {
		return l.mean
	}
	return min(math.Exp(l.μ+l.σ*rng.NormFloat64()), maxMillis*nsPerMilli)
}

// whole rounds to nanoseconds, to a length that cannot overflow.
func whole(x float64) int64 { return int64(min(x, maxMillis*nsPerMilli) + 0.5) }
