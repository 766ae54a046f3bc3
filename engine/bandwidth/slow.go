package bandwidth

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/internal/student"
)

// What is slow is found by the logarithm of bus bandwidth, x, beside that of peers:
//
//	z = (median − x) / MAD
//
// which up to half of the peers being slow cannot hide. Among few values MAD is small by chance, so that a
// fixed threshold of 3 or 3.5 fires wherever four peers are compared: z is held against the largest z among as many normal
// values, simulated. From simulated on, against Student's t with 0.37·(n−1) degrees of freedom, 0.37
// being the efficiency of MAD (Rousseeuw, Croux 1993, JASA 88), times n (Bonferroni).
// P values of several comparisons are corrected by Holm (1979).

// Suspect is a subject that is slower than its peers.
type Suspect struct {
	Subject int
	Cost    int64 // nanoseconds more than at its peers' bandwidth, over all its calls that are in Evidence
	P       float64
	Ratio   float64 // its bus bandwidth over its peers', where that is least
	// Evidence holds each comparison that it was slow in.
	Evidence []Evidence
}

// Evidence is one comparison.
type Evidence struct {
	Cell  int     // index of Cells
	Peers int     // in the comparison, itself included
	Bus   float64 // median of the peers' medians, GB/s
	Z, P  float64 // P is corrected for all comparisons
}

// leastPeers is how many values there are to be in a comparison: of two that differ nothing says
// which is at fault.
const leastPeers = 3

// contest is values that are held against each other.
type contest struct {
	cells []int // the cell of each value, or the one cell of all
	z     []float64
	least float64 // P value of the slowest
}

// slowSubjects compares each subject with those of its family, by operation, size class, link and number of ranks.
func (r *Result) slowSubjects(subjects []Subject, o Options, s *simulations) {
	at := map[[7]int]int{}
	var peers [][]int
	matched := make([]bool, len(subjects))
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Bus == 0 {
			continue
		}
		of := &subjects[c.Subject]
		key := [7]int{int(of.Kind), of.Family, of.Ranks, int(of.Limit.Link), int(of.Limit.Bandwidth * 1000), int(c.Op), c.Class}
		k, known := at[key]
		if !known {
			k = len(peers)
			at[key], peers = k, append(peers, nil)
		}
		peers[k] = append(peers[k], i)
	}
	var all []contest
	for _, p := range peers {
		if len(p) < leastPeers {
			continue
		}
		x := make([]float64, len(p))
		for k, i := range p {
			x[k] = math.Log(r.Cells[i].Bus)
			matched[r.Cells[i].Subject] = true
		}
		r.Compared += len(p)
		all = append(all, s.contest(x, p))
	}
	for _, m := range matched {
		if !m {
			r.Unmatched++
		}
	}
	suspects := map[int]*Suspect{}
	for k, scale := range holm(all, o.Alpha/2) {
		r.accuse(&all[k], scale, o, s, suspects)
	}
	for _, i := range sortedKeys(suspects) {
		r.Suspects = append(r.Suspects, *suspects[i])
	}
	slices.SortStableFunc(r.Suspects, func(a, b Suspect) int { return cmp.Compare(b.Cost, a.Cost) })
}

// accuse notes the slow ones of a contest whose P values count times scale; 0: none does.
func (r *Result) accuse(c *contest, scale float64, o Options, s *simulations, suspects map[int]*Suspect) {
	if scale == 0 {
		return
	}
	buses := make([]float64, len(c.cells))
	for k, i := range c.cells {
		buses[k] = r.Cells[i].Bus
	}
	usual := median(buses)
	for k, i := range c.cells {
		cell := &r.Cells[i]
		p := min(1, scale*s.p(len(c.z), c.z[k]))
		if p > o.Alpha/2 || cell.Bus > (1-o.Material)*usual {
			continue
		}
		x := suspects[cell.Subject]
		if x == nil {
			x = &Suspect{Subject: cell.Subject, P: 1, Ratio: 1}
			suspects[cell.Subject] = x
		}
		x.Evidence = append(x.Evidence, Evidence{Cell: i, Peers: len(c.cells), Bus: usual, Z: c.z[k], P: p})
		x.P, x.Ratio = min(x.P, p), min(x.Ratio, cell.Bus/usual)
		x.Cost += int64((1 - cell.Bus/usual) * float64(cell.Transfer) * float64(len(cell.Calls)))
	}
}

// slowCalls compares the calls of each cell that all have one size, and else by bus bandwidth all the same: a
// class spans a factor of two.
func (r *Result) slowCalls(o Options, s *simulations) {
	var all []contest
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Bus == 0 || len(c.Calls) < leastPeers {
			continue
		}
		x := make([]float64, len(c.Calls))
		for k, call := range c.Calls {
			x[k] = math.Log(r.Measures[call].Bus)
		}
		all = append(all, s.contest(x, []int{i}))
	}
	for k, scale := range holm(all, o.Alpha/2) {
		if scale == 0 {
			continue
		}
		c := &r.Cells[all[k].cells[0]]
		for n, z := range all[k].z {
			if scale*s.p(len(c.Calls), z) <= o.Alpha/2 && r.Measures[c.Calls[n]].Bus <= (1-o.Material)*c.Bus {
				c.Slow = append(c.Slow, c.Calls[n])
			}
		}
	}
}

// contest scores values; x is kept in order.
func (s *simulations) contest(x []float64, cells []int) contest {
	c := contest{cells: cells, z: make([]float64, len(x))}
	scores(x, c.z, make([]float64, len(x)), steadiest)
	c.least = s.p(len(x), slices.Max(c.z))
	return c
}

// scores writes z of each x, and sorts in scratch of the same length. No MAD is taken for less than steady:
// clocks tick, and what is more than half equal has none.
func scores(x, z, scratch []float64, steady float64) {
	copy(scratch, x)
	m := median(scratch)
	for i, v := range x {
		scratch[i] = math.Abs(v - m)
	}
	mad := max(median(scratch), steady)
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
type simulations struct {
	seed  uint64
	known map[int][]float64
}

// p is the chance that the largest of n normal values' z is at least z.
func (s *simulations) p(n int, z float64) float64 {
	if !(z > 0) {
		return 1
	}
	if n >= simulated {
		const sigma = 1.482602218505602 // of a normal distribution over its MAD
		return min(1, float64(n)*student.TwoSided(z/sigma, 0.37*float64(n-1))/2)
	}
	largest, ok := s.known[n]
	if !ok {
		largest = largestScores(n, s.seed)
		s.known[n] = largest
	}
	at, _ := slices.BinarySearch(largest, z)
	return float64(len(largest)-at+1) / float64(len(largest)+1)
}

func largestScores(n int, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
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

func sortedKeys(m map[int]*Suspect) []int {
	var out []int
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
