package simulate

import (
	"math"
	"math/rand/v2"

	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
)

// Millis is a length of time in milliseconds, the unit of a Spec.
type Millis float64

// NsPerMilli is the length of a millisecond.
const NsPerMilli = 1e6

// MaxMillis bounds every length in a Spec and every draw: 28 hours.
const MaxMillis = 1e8

// ns rounds to whole nanoseconds.
func (m Millis) ns() int64 { return int64(math.Round(float64(m) * NsPerMilli)) }

// Shape is the family of a distribution.
type Shape uint8

const (
	Constant    Shape = iota // always Mean
	Normal                   // cut at 0
	LogNormal                // right-skewed, as waits in a scheduler are
	Gamma                    // right-skewed with a lighter tail
	Exponential              // Mean − SD, plus an exponential tail of mean SD
)

var shapeNames = [...]string{"constant", "normal", "lognormal", "gamma", "exponential"}

func (s Shape) String() string { return enum.Name(shapeNames[:], s) }

// MarshalText writes the name of the shape.
func (s Shape) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a shape, the inverse of MarshalText.
func (s *Shape) UnmarshalText(text []byte) (err error) {
	*s, err = input.OneOf[Shape]("shape", shapeNames[:], string(text))
	return err
}

// Dist is a distribution of lengths of time by its mean and standard
// deviation, whatever its shape. The zero Dist is always 0.
type Dist struct {
	Mean  Millis `yaml:"mean_ms" json:"mean_ms"`
	SD    Millis `yaml:"sd_ms,omitempty" json:"sd_ms,omitempty"`
	Shape Shape  `yaml:"shape,omitempty" json:"shape,omitempty"`
}

func (d Dist) validate() error {
	if err := CheckLimits(Limit{"mean_ms", float64(d.Mean), 0, MaxMillis}, Limit{"sd_ms", float64(d.SD), 0, MaxMillis}); err != nil {
		return err
	}
	switch {
	case int(d.Shape) >= len(shapeNames):
		return input.Bad(input.ErrType, "shape %d", d.Shape)
	case d.Shape == Constant && d.SD > 0:
		return input.Bad(input.ErrFormat, "a deviation of %v ms needs a shape other than constant", d.SD)
	case d.Shape == Exponential && d.SD > d.Mean:
		return input.Bad(input.ErrFormat, "an exponential of mean %v ms has a deviation of at most that, not %v ms", d.Mean, d.SD)
	case d.Mean == 0 && d.SD > 0 && d.Shape != Normal:
		return input.Bad(input.ErrFormat, "a %v distribution of mean 0 has no deviation", d.Shape)
	}
	return nil
}

// Law is a Dist made ready to draw from, in nanoseconds. Its parameters (a, b) are mean and
// deviation of a normal, μ and σ of a lognormal, shape and scale of a gamma, shift and mean of
// an exponential tail.
type Law struct {
	shape Shape
	a, b  float64
}

// law returns the law of 1/parts of the time: the share of one microstep.
func (d Dist) law(parts int) Law {
	mean, sd := float64(d.Mean)*NsPerMilli/float64(parts), float64(d.SD)*NsPerMilli/float64(parts)
	if sd == 0 {
		return Law{Constant, mean, 0}
	}
	switch d.Shape {
	case LogNormal:
		return LogNormalLaw(mean, sd/mean)
	case Gamma:
		return Law{Gamma, (mean / sd) * (mean / sd), sd * sd / mean}
	case Exponential:
		return Law{Exponential, mean - sd, sd}
	}
	return Law{Normal, mean, sd}
}

// LogNormalLaw returns a law with a mean in nanoseconds, and a deviation relative to it.
func LogNormalLaw(mean, deviation float64) Law {
	if mean == 0 || deviation == 0 {
		return Law{Constant, mean, 0}
	}
	v := math.Log1p(deviation * deviation)
	return Law{LogNormal, math.Log(mean) - v/2, math.Sqrt(v)}
}

// Draw gives a length in nanoseconds, in [0, MaxMillis].
func (s Law) Draw(rng *rand.Rand) float64 {
	var x float64
	switch s.shape {
	case Constant:
		return s.a
	case LogNormal:
		x = math.Exp(s.a + s.b*rng.NormFloat64())
	case Gamma:
		x = s.b * gamma(s.a, rng)
	case Exponential:
		x = s.a + s.b*rng.ExpFloat64()
	default:
		x = s.a + s.b*rng.NormFloat64()
	}
	return min(max(x, 0), MaxMillis*NsPerMilli)
}

// gamma draws from the gamma distribution of the given shape and scale 1
// (Marsaglia and Tsang 2000, ACM TOMS 26:363–372; shapes under 1 by their
// remark: Γ(k) = Γ(k+1)·U^(1/k)).
func gamma(shape float64, rng *rand.Rand) float64 {
	boost := 1.0
	if shape < 1 {
		boost = math.Pow(1-rng.Float64(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return boost * d * v
		}
	}
}
