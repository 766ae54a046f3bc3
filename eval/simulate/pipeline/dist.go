package pipeline

import "github.com/sfstat/sfstat/eval/simulate"

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
	return simulate.CheckLimits(simulate.Limit{Key: "mean_ms", Value: float64(d.Mean), High: maxMillis},
		simulate.Limit{Key: "jitter", Value: d.Jitter, High: maxJitter})
}

// law is a Dist made ready to draw from, in nanoseconds.
type law struct {
	mean, sd float64
	simulate.Law
}

// law returns the law of the distribution times a factor.
func (d Dist) law(factor float64) law {
	mean := float64(d.Mean) * nsPerMilli * factor
	return law{mean, mean * d.Jitter, simulate.LogNormalLaw(mean, d.Jitter)}
}

// roundLength rounds to nanoseconds, to a length that cannot overflow.
func roundLength(x float64) int64 { return int64(min(x, maxMillis*nsPerMilli) + 0.5) }
