package comm

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
)

// A call that is slow among the others of its cell is found by the logarithm of bus bandwidth, x:
//
//	z = (median − x) / MAD
//
// which up to half of them being slow cannot hide. Among few values MAD is small by chance, so that a
// fixed threshold of 3 or 3.5 fires wherever four are compared: z is held against the largest z among as many normal
// values, simulated. From simulated on, against Student's t with 0.37·(n−1) degrees of freedom, 0.37
// being the efficiency of MAD (Rousseeuw, Croux 1993, JASA 88), times n (Bonferroni).
// P values of several comparisons are corrected by Holm (1979).

// leastPeers is how many values there are to be in a comparison: of two that differ nothing says
// which is at fault.
const leastPeers = 3

// contest is the calls of a cell, held against each other.
type contest struct {
	cell  *Cell
	z     []float64 // of each call
	least float64   // P value of the slowest
}

// slowCalls compares the calls of each cell that all have one size, and else by bus bandwidth all the same: a
// class spans a factor of two.
func (s *Speed) slowCalls(chances simulations) {
	var all []contest
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Bus == 0 || len(c.Calls) < leastPeers {
			continue
		}
		x := measures(c.Calls, func(m *Measure) float64 { return math.Log(m.Bus) })
		z := make([]float64, len(x))
		scores(x, z, make([]float64, len(x)), steadiest)
		all = append(all, contest{c, z, chances.p(len(x), slices.Max(z))})
	}
	for k, scale := range holm(all, alpha/2) {
		if scale == 0 {
			continue
		}
		c := all[k].cell
		for n, z := range all[k].z {
			if scale*chances.p(len(c.Calls), z) <= alpha/2 && c.Calls[n].Bus <= (1-s.material)*c.Bus {
				c.Slow = append(c.Slow, c.Calls[n])
			}
		}
	}
}

// scores writes z of each x, and sorts in scratch of the same length. No MAD is taken for less than steady:
// clocks tick, and what is more than half equal has none.
func scores(x, z, scratch []float64, steady float64) {
	copy(scratch, x)
	m := robust.Median(scratch)
	for i, v := range x {
		scratch[i] = math.Abs(v - m)
	}
	mad := max(robust.Median(scratch), steady)
	for i, v := range x {
		z[i] = (m - v) / mad
	}
}

// steadiest is the least MAD of logarithms that is believed, half a per cent.
const steadiest = 0.005

// holm is what to multiply the P values of each contest with, 0 where it is not below alpha: the step-down of
// Holm over the contests, by the P value of the slowest in each, which is that of the largest of its values already.
func holm(all []contest, alpha float64) []float64 {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].least, all[b].least) })
	scale := make([]float64, len(all))
	for rank, i := range order {
		m := float64(len(all) - rank)
		if m*all[i].least > alpha {
			break
		}
		scale[i] = m
	}
	return scale
}

const (
	simulated = 30     // fewer values than that have simulated thresholds
	draws     = 10_000 // of each; no P value is below 1/draws
)

// simulations are the largest z among n normal values, sorted, by n.
type simulations map[int][]float64

// p is the chance that the largest of n normal values' z is at least z.
func (s simulations) p(n int, z float64) float64 {
	if !(z > 0) {
		return 1
	}
	if n >= simulated {
		return min(1, float64(n)*student.TwoSided(z/robust.SigmaOfMAD, robust.EfficiencyOfMAD*float64(n-1))/2)
	}
	largest, ok := s[n]
	if !ok {
		largest = largestScores(n)
		s[n] = largest
	}
	at, _ := slices.BinarySearch(largest, z)
	return float64(len(largest)-at+1) / float64(len(largest)+1)
}

func largestScores(n int) []float64 {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	x, z, scratch := make([]float64, n), make([]float64, n), make([]float64, n)
	out := make([]float64, draws)
	for i := range out {
		for k := range x {
			x[k] = random.NormFloat64()
		}
		scores(x, z, scratch, math.SmallestNonzeroFloat64)
		out[i] = slices.Max(z)
	}
	slices.Sort(out)
	return out
}
