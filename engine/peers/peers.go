// Package peers asks whether one unit differs from its peers in a quantity: a GPU
// in its clock from the other GPUs, a host in stolen processor time from the other
// hosts. The unit was picked for another reason; its own value takes no part in
// what is usual.
//
// Of n peers with centre m and spread s, a further value x of a healthy unit has
//
//	t = (x − m) ÷ (s·√(1 + 1/n))
//
// which follows Student's t: the interval that predicts one more observation. It is
// taken twice. With mean and standard deviation it has n − 1 degrees of freedom. With the
// median and 1.4826·b(n)·MAD, where b(n) makes that unbiased for small n (Croux and
// Rousseeuw 1992, COMPSTAT 1:411), it has 0.37·(n − 1), the efficiency of the MAD being 37 %
// (Rousseeuw and Croux 1993, JASA 88:1273): that is far weaker where all peers are
// healthy, and finds the unit where some of them have the same fault. P is twice the smaller.
// With fewer than 4 peers nothing is tested.
//
// A spread is at least the resolution, what the quantity is known to: readings of a clock
// that are all equal have no spread, and the next one may still be a step away.
//
// Values are in any unit, and assumed to be independent between units. P is one-sided
// and of one comparison; who makes m of them multiplies by m (Bonferroni).
package peers

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
)

// FewestTested is the number of peers from which on a difference is tested.
const FewestTested = 4

// Direction is which way a difference would matter.
type Direction uint8

const (
	Higher Direction = iota
	Lower
)

// Options of Compare. The zero value is usable.
type Options struct {
	Direction  Direction
	Resolution float64 // what the quantity is known to, in its unit
}

// Result is a unit beside its peers.
type Result struct {
	Own       float64
	Median    float64 // of the peers
	Low, High float64 // of the peers
	N         int     // peers
	Extreme   bool    // beyond all peers in the direction
	Tested    bool    // there are peers enough
	P         float64 // of a difference so large in the direction; 1 where it is not tested
}

// Compare compares a value with those of its peers, of which there must be one. It
// does not change them. O(n).
func Compare(own float64, peers []float64, o Options) Result {
	n := len(peers)
	if n == 0 {
		panic("peers: no peer")
	}
	x := slices.Clone(peers)
	r := Result{Own: own, N: n, P: 1, Low: slices.Min(x), High: slices.Max(x), Median: robust.Median(x), Tested: n >= FewestTested}
	sign := 1.0
	if r.Extreme = own > r.High; o.Direction == Lower {
		sign, r.Extreme = -1, own < r.Low
	}
	if !r.Tested {
		return r
	}
	mean, sd := stat.MeanStdDev(x, nil)
	classical := tail(sign*(own-mean), max(sd, o.Resolution), n, float64(n-1))
	spread := robust.SigmaOfMAD * biasFactor(n) * robust.MAD(x, r.Median)
	resistant := tail(sign*(own-r.Median), max(spread, o.Resolution), n, robust.EfficiencyOfMAD*float64(n-1))
	r.P = min(1, 2*min(classical, resistant))
	return r
}

// tail returns the chance that one more observation lies so far beyond the centre of n.
func tail(over, spread float64, n int, freedom float64) float64 {
	if spread == 0 {
		if over > 0 {
			return 0
		}
		return 1
	}
	return student.UpperTail(over/(spread*math.Sqrt(1+1/float64(n))), freedom)
}

// biasFactor returns b(n), from n = 2 on.
func biasFactor(n int) float64 {
	small := [...]float64{1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107}
	if n-2 < len(small) {
		return small[n-2]
	}
	return float64(n) / (float64(n) - 0.8)
}
