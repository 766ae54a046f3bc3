// Package blocks answers how many consecutive steps of a run count as one independent observation, and whether a run
// has enough of them for a test that hands blocks of steps to ranks at random.
//
// With u[t, r] what rank r takes in step t beyond its peers, its level taken off and clipped at three deviations, and c_j
// its autocorrelation at lag j, the median over ranks,
//
//	τ = 1 + 2·Σ c_j, until c_j < 0.1
//	c_j ← c_j·(1 − b) + b with b = min(½, τ/T), four times: the mean taken off hides as much
//	L = max(⌈1.5·τ⌉, ⌈T/40⌉); ⌈1.5·τ⌉ is 1 of τ = 1
//	n = ⌊T/L⌋
//
// Neighbouring blocks stay related, and a level is taken from the same blocks: offsets of blocks are widened by
// √( n/(n − 1) / max(0.3, 1 − (τ² − 1)/(2·L·τ)) ), which is exact for AR(1). Of fewer than 8 blocks, or 20 steps,
// nothing is judged. O(T · ranks · lags) time; of more than 4,096 steps several are put together.
package blocks

import (
	"math"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/enum"
)

// Named numbers of the rule, from the calibration that the package doc quotes the rule of.
const (
	FewestSteps  = 20   // steps that say how long noise stays correlated
	FewestBlocks = 8    // blocks that a test needs
	mostBlocks   = 40   // blocks that are kept: more make no test clearer, and take memory
	lengthInTau  = 1.5  // correlation times in a block
	leastLag     = 0.1  // autocorrelation that ends the sum
	farLag       = 0.05 // autocorrelation as recorded behind which nothing is looked at
	leastInside  = 0.3  // part of the variance of blocks that is left when neighbours share the rest
	clipAt       = 3    // deviations at which offsets are clipped
	mostRows     = 4096 // steps of which lags are taken
	rounds       = 4    // in which the correlation that the mean hides is put back
)

// Refusal is why a run is not judged.
type Refusal uint8

const (
	Judged    Refusal = iota
	FewSteps          // fewer than FewestSteps
	FewBlocks         // noise stays correlated so long that fewer than FewestBlocks are independent
)

var refusalNames = [...]string{"", "few_steps", "few_blocks"}

func (r Refusal) String() string { return enum.Name(refusalNames[:], r) }

// Names returns all reasons.
func (Refusal) Names() []string { return refusalNames[1:] }

// Blocks is how the steps of a run are cut.
type Blocks struct {
	Steps   int
	Tau     float64 // steps per independent one; where the rest refuses the run, a lower bound
	Length  int     // of a block, steps
	N       int     // blocks
	Widen   float64 // factor of the offsets of blocks
	Refused Refusal
}

// Of cuts a number of steps, whose noise stays correlated over tau of them.
func Of(steps int, tau float64) Blocks {
	b := Blocks{Steps: steps, Tau: max(1, tau), Length: 1, Widen: 1}
	if b.Tau > 1 {
		b.Length = int(math.Ceil(lengthInTau * b.Tau))
	}
	b.Length = max(b.Length, (steps+mostBlocks-1)/mostBlocks)
	b.N = steps / b.Length
	switch {
	case steps < FewestSteps:
		b.Refused = FewSteps
	case b.N < FewestBlocks:
		b.Refused = FewBlocks
	default:
		n, l := float64(b.N), float64(b.Length)
		b.Widen = math.Sqrt(n / (n - 1) / max(leastInside, 1-(b.Tau*b.Tau-1)/(2*l*b.Tau)))
	}
	return b
}

// Independent cuts steps that are known to be independent: each is a block, and their offsets are not widened.
func Independent(steps int) Blocks {
	return Blocks{Steps: steps, Tau: 1, Length: 1, N: steps, Widen: 1}
}

// Start returns the first step of the blocks: what does not fill a block is left out at the start.
func (b Blocks) Start() int { return b.Steps - b.N*b.Length }

// Tau returns as how many steps one independent step of u counts, [step][rank] with the levels of ranks taken off. u is
// overwritten.
func Tau(u []float64, ranks int) float64 {
	if ranks == 0 || len(u) < 4*ranks {
		return 1
	}
	u, together := putTogether(u, ranks)
	steps := len(u) / ranks
	variance := center(u, ranks)
	most := float64(steps) / (FewestBlocks * lengthInTau)
	var recorded []float64
	ratios := make([]float64, ranks)
	sum := 1.0
	for lag := 1; lag < steps/3; lag++ {
		clear(ratios)
		for at := lag * ranks; at < len(u); at += ranks {
			now, before := u[at:at+ranks], u[at-lag*ranks:at-lag*ranks+ranks]
			for r, x := range now {
				ratios[r] += x * before[r]
			}
		}
		for r := range ratios {
			ratios[r] /= float64(steps) * variance[r]
		}
		c := robust.Median(ratios)
		recorded = append(recorded, c)
		if c < farLag && lag > 2 {
			break
		}
		if sum += 2 * max(0, c); sum > 2*most { // refused, however long it goes on
			break
		}
	}
	return together * sumCorrected(recorded, steps)
}

// sumCorrected sums the autocorrelations with what the mean hides put back.
func sumCorrected(recorded []float64, steps int) float64 {
	t := 1.0
	for range rounds {
		b := min(0.5, t/float64(steps))
		t = 1
		for _, c := range recorded {
			c = c*(1-b) + b
			if c < leastLag {
				break
			}
			t += 2 * c
		}
	}
	return t
}

// putTogether returns the means of so many steps each that no more than mostRows are left, and how many.
func putTogether(u []float64, ranks int) ([]float64, float64) {
	steps := len(u) / ranks
	m := (steps + mostRows - 1) / mostRows
	if m <= 1 {
		return u, 1
	}
	n := steps / m
	for i := range n {
		row := u[i*ranks : (i+1)*ranks]
		for r := range row {
			sum := 0.0
			for k := range m {
				sum += u[(i*m+k)*ranks+r]
			}
			row[r] = sum / float64(m)
		}
	}
	return u[:n*ranks], float64(m)
}

// center clips the columns of u and takes their means off; it returns their variances.
func center(u []float64, ranks int) []float64 {
	const tiny = 1e-30 // of columns that do not vary
	steps := len(u) / ranks
	column, variance := make([]float64, steps), make([]float64, ranks)
	for r := range ranks {
		for t := range column {
			column[t] = math.Abs(u[t*ranks+r])
		}
		edge := clipAt * (robust.SigmaOfMAD*robust.Median(column) + tiny)
		mean := 0.0
		for at := r; at < len(u); at += ranks {
			u[at] = min(max(u[at], -edge), edge)
			mean += u[at]
		}
		mean /= float64(steps)
		for at := r; at < len(u); at += ranks {
			u[at] -= mean
			variance[r] += u[at] * u[at]
		}
		variance[r] = variance[r]/float64(steps) + tiny
	}
	return variance
}
