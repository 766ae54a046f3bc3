package simulate

import "math/rand/v2"

// Clock is what is wrong with the clocks of the ranks.
type Clock struct {
	SkewSD   Millis  `yaml:"skew_sd_ms" json:"skew_sd_ms"` // deviation of the time at which ranks start, and of the wall clocks of hosts
	DriftPPM float64 `yaml:"drift_ppm" json:"drift_ppm"`   // deviation of the rate error, parts per million
}

// Validate refuses clocks that nobody has.
func (c Clock) Validate() error {
	return CheckLimits(Limit{"skew_sd_ms", float64(c.SkewSD), 0, MaxMillis}, Limit{"drift_ppm", c.DriftPPM, 0, 1e5})
}

// Draw returns one of the clocks, whose offset is so many deviations ahead on average.
func (c Clock) Draw(rng *rand.Rand, ahead float64) Dial {
	offset := int64(float64(c.SkewSD.ns()) * (ahead + max(-Ahead, rng.NormFloat64())))
	return Dial{offset, min(0.5, max(-0.5, c.DriftPPM*1e-6*rng.NormFloat64()))}
}

// Ahead is how many deviations clocks are ahead where none may be behind.
const Ahead = 8

// Dial is what one clock shows: true time, an offset in nanoseconds, and the error of its
// rate in whole nanoseconds.
type Dial struct {
	Offset int64
	Rate   float64
}

// Read returns the reading at a true time.
func (d Dial) Read(t int64) int64 { return t + d.Offset + int64(float64(t)*d.Rate) }
