package simulate

import "github.com/sfstat/sfstat/trace/input"

// When is the recorded steps in which a fault strikes, counted from 0.
type When struct {
	From        int64   `yaml:"from,omitempty" json:"from,omitempty"`               // first recorded step
	Until       int64   `yaml:"until,omitempty" json:"until,omitempty"`             // recorded step after the last; 0: the end
	Every       int64   `yaml:"every,omitempty" json:"every,omitempty"`             // every n-th recorded step after From; 0 and 1: each
	Probability float64 `yaml:"probability,omitempty" json:"probability,omitempty"` // of each such step; 0: certain
}

// Intermittent reports whether the fault spares steps inside its range.
func (w When) Intermittent() bool { return w.Every > 1 || w.Probability > 0 && w.Probability < 1 }

// Strikes reports whether the fault strikes in a recorded step. chance draws a number from 0
// to 1; it is asked only where there is a probability.
func (w When) Strikes(step int64, chance func() float64) bool {
	if step < w.From || w.Until > 0 && step >= w.Until || w.Every > 1 && (step-w.From)%w.Every != 0 {
		return false
	}
	return w.Probability == 0 || chance() < w.Probability
}

// Validate refuses what is no time.
func (w When) Validate() error {
	if w.From < 0 || w.Until < 0 || w.Every < 0 {
		return input.Bad(input.ErrNegative, "from %d, until %d, every %d: expected 0 or more", w.From, w.Until, w.Every)
	}
	return CheckLimits(Limit{"probability", w.Probability, 0, 1})
}

// Limit is a value of a specification by the name of its key, and where it may lie.
type Limit struct {
	Key              string
	Value, Low, High float64
}

// CheckLimits refuses the first value that lies elsewhere.
func CheckLimits(limits ...Limit) error {
	for _, l := range limits {
		if !(l.Value >= l.Low && l.Value <= l.High) {
			return input.Bad(input.ErrRange, "%s is %v, expected %g to %g", l.Key, l.Value, l.Low, l.High)
		}
	}
	return nil
}
