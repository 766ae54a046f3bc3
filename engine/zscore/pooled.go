package zscore

import (
	"math"

	"github.com/sfstat/sfstat/internal/robust"
)

// How a series is pooled. r[t,i] = y[t,i] − median_{j≠i} y[t,j] removes what a
// step does to all. For every peer i a level μ_i of r over the steps is taken
// (median, then one step of Huber's mean, clipped at 2 spreads), so that a peer
// that is always slow does not widen the spread that it is judged by; the rest
// u = r − μ_i is pooled over all peers and steps, winsorised at 2.5 spreads, and
// s is the root of its mean square, with the steps other than t for step t.
//
// On normal values s has about 0.55·Σ_i(T_i − 2) degrees of freedom; with them
// Student's t keeps the error rate for N ≥ 3 and T ≥ 5 (simulated, see the
// tests and docs/method-operators.md).
const (
	minSteps      = 5
	clipLevel     = 2.0
	clipSpread    = 2.5
	clippedSquare = 0.97756 // E min(|Z|, 2.5)² = 1 − 2·(2.5·φ(2.5) − 5.25·(1 − Φ(2.5)))
	freedomShare  = 0.55
	levelWidth    = 1.05 // deviation of μ over that of a mean, with something to spare
	skewed        = 2.5  // times 1/√n: skewness of the noise beyond which logarithms are tried
	dependent     = 0.3  // correlation of consecutive steps that is worth a doubt
	// meanADToSigma makes the mean absolute deviation of normal values their standard
	// deviation: √(π/2) (Iglewicz and Hoaglin 1993, How to Detect and Handle Outliers).
	meanADToSigma = 1.253314
)

// fit is a series as pooled.
type fit struct {
	scale       Scale
	r           []float64 // [step][peer], NaN where absent
	level       []float64 // per peer
	count       []int     // present steps per peer
	u           []float64 // r about the level, widened for the level's own freedom
	spread      float64   // preliminary, of u
	square      []float64 // per step: Σ min(|u|, 2.5·spread)²; then over all steps
	used        []int     // per step: values in it; then over all steps
	sigma       float64
	freedom     float64
	correlation float64 // of consecutive steps
	equal       bool    // the spread is not robust
}

// newFit pools the series on a scale.
func newFit(s *Series, scale Scale, memory *scratch) *fit {
	n, steps := len(s.Workers), s.steps()
	f := &fit{scale: scale, r: make([]float64, len(s.X)), level: make([]float64, n), count: make([]int, n),
		u: make([]float64, len(s.X)), square: make([]float64, steps+1), used: make([]int, steps+1)}
	for t := range steps {
		row := f.r[t*n:][:n]
		transform(row, s.step(t), scale)
		subtractMedianOfOthers(row, memory)
	}
	f.levels(n, steps, memory)
	f.pool(n, steps, memory)
	return f
}

// transform writes the values of one step relative to the first present one.
func transform(dst []float64, x []int64, scale Scale) {
	base := int64(Absent)
	for i, v := range x {
		if v == Absent {
			dst[i] = math.NaN()
			continue
		}
		if base == Absent {
			base = v
		}
		if scale == Log {
			dst[i] = math.Log(float64(v))
		} else {
			dst[i] = float64(v - base)
		}
	}
}

// levels fills level, count and u.
func (f *fit) levels(n, steps int, memory *scratch) {
	column := memory.column[:0]
	for i := range n {
		column = column[:0]
		for t := range steps {
			if v := f.r[t*n+i]; v == v {
				column = append(column, v)
			}
		}
		f.count[i] = len(column)
		if len(column) > 0 {
			f.level[i] = median(column, memory)
		}
	}
	memory.column = column
	rough := memory.pooled[:0]
	for k, v := range f.r {
		if v == v && f.count[k%n] > 2 {
			rough = append(rough, math.Abs(v-f.level[k%n]))
		}
	}
	memory.pooled = rough
	if len(rough) == 0 {
		return
	}
	clip := clipLevel * robust.SigmaOfMAD * median(rough, memory)
	shift := make([]float64, n)
	for k, v := range f.r {
		if v == v {
			shift[k%n] += max(-clip, min(clip, v-f.level[k%n]))
		}
	}
	for i, c := range f.count {
		f.level[i] += shift[i] / float64(max(1, c))
		f.freedom += freedomShare * float64(max(0, c-2))
	}
	for k, v := range f.r {
		f.u[k] = math.NaN()
		if c := float64(f.count[k%n]); v == v && c > 2 {
			f.u[k] = (v - f.level[k%n]) * math.Sqrt(c/(c-1))
		}
	}
}

// pool fills spread, square, used, sigma and correlation.
func (f *fit) pool(n, steps int, memory *scratch) {
	size := memory.pooled[:0]
	sum := 0.0
	for _, u := range f.u {
		if u == u {
			size = append(size, math.Abs(u))
			sum += math.Abs(u)
		}
	}
	memory.pooled = size
	if len(size) == 0 {
		return
	}
	f.spread = robust.SigmaOfMAD * median(size, memory)
	if f.spread == 0 {
		f.equal = true
		f.spread = meanADToSigma * sum / float64(len(size))
	}
	product := 0.0
	for t := range steps {
		for i := range n {
			u := f.clip(t*n + i)
			if u != u {
				continue
			}
			f.square[t] += u * u
			f.used[t]++
			if t > 0 {
				if before := f.clip((t-1)*n + i); before == before {
					product += u * before
				}
			}
		}
		f.square[steps] += f.square[t]
		f.used[steps] += f.used[t]
	}
	f.sigma = math.Sqrt(f.square[steps] / float64(f.used[steps]) / clippedSquare)
	if f.sigma > 0 {
		// A level taken from the same steps makes them look opposed, by −1/T.
		f.correlation = max(0, product/f.square[steps]+1/float64(steps))
	}
}

// clip returns the u of a value, winsorised at clipSpread spreads.
func (f *fit) clip(k int) float64 {
	bound := clipSpread * f.spread
	return max(-bound, min(bound, f.u[k]))
}

// sigmaWithout returns sigma from all steps but t.
func (f *fit) sigmaWithout(t int) float64 {
	all := len(f.square) - 1
	rest := max(0, f.square[all]-f.square[t])
	return math.Sqrt(rest / float64(max(1, f.used[all]-f.used[t])) / clippedSquare)
}

// skewness returns the skewness of u, winsorised, and how many values it is of.
func (f *fit) skewness() (float64, int) {
	n, mean := 0, 0.0
	for k := range f.u {
		if u := f.clip(k); u == u {
			mean += u
			n++
		}
	}
	mean /= float64(max(1, n))
	second, third := 0.0, 0.0
	for k := range f.u {
		if u := f.clip(k) - mean; u == u {
			second += u * u
			third += u * u * u
		}
	}
	if second == 0 {
		return 0, n
	}
	return third / float64(n) / math.Pow(second/float64(n), 1.5), n
}

// heavyTailed reports whether more than 1 % of u, and at least five, lie beyond
// 3 sigma; of normal values 0.27 % do.
func (f *fit) heavyTailed() bool {
	beyond := 0
	for _, u := range f.u {
		if math.Abs(u) > 3*f.sigma {
			beyond++
		}
	}
	return beyond >= 5 && 100*beyond > f.used[len(f.used)-1]
}

// chooseFit pools on the given scale or, for AutoScale, on logarithms where the
// values are durations, their noise is skewed to the right, and less so on
// logarithms.
func chooseFit(s *Series, scale Scale, memory *scratch) *fit {
	loggable := s.positive()
	for _, x := range s.X {
		loggable = loggable && (x > 0 || x == Absent)
	}
	if scale == Log && loggable {
		return newFit(s, Log, memory)
	}
	linear := newFit(s, Linear, memory)
	if scale != AutoScale || !loggable {
		return linear
	}
	skew, n := linear.skewness()
	if n == 0 || skew <= skewed/math.Sqrt(float64(n)) {
		return linear
	}
	log := newFit(s, Log, memory)
	if other, _ := log.skewness(); math.Abs(other) < skew {
		return log
	}
	return linear
}

// effect returns the deviation from the median of the peers in ns.
func (f *fit) effect(k int, x int64) int64 {
	if f.scale == Log {
		return int64(math.Round(float64(x) * -math.Expm1(-f.r[k])))
	}
	return int64(math.Round(f.r[k]))
}
