package comm

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/enum"
)

// A subject is slow when it is surely slower than most of those that do the same, by more than a margin:
//
//	H₀: its bus bandwidth is at least (1 − Material) times that of half of its peers, or more.
//
// Links that are equal on paper differ by a few per cent for ever, which enough repetitions would prove; the margin
// makes that no finding. Against one peer the test is that of Mann and Whitney (1947) on the logarithms, one-sided, in normal
// approximation with correction for continuity, which at these sizes is on the safe side in the tail. Calls that follow each
// other are not independent: they are pooled into at most mostBlocks runs, and medians of runs are compared. That more than half
// of the peers are faster has the P value (m − k + 1)·p₍ₖ₎ of m peers, k = ⌊m/2⌋ + 1 (Benjamini, Heller 2008, Biometrics 64), whatever
// the dependence. Over all subjects, operations and classes P is multiplied by the number of tests that could reach
// Alpha at all (Tarone 1990, Biometrics 46); those that could not are TooFew. At least three peers show beside that what
// peers differ by: a slow one is spreads robust deviations below their median.
const (
	mostBlocks = 30
	spreads    = 3
)

// Standing is how a cell compares with those of peers.
type Standing uint8

const (
	Unmatched Standing = iota // nothing does the same
	TooFew                    // so few calls cannot tell
	Blurred                   // clocks are too coarse for calls so short
	Usual                     // not surely slower
	Slower
)

var standingNames = [...]string{"no peers", "too few calls", "too short for the clocks", "usual", "slower"}

func (s Standing) String() string { return enum.Name(standingNames[:], s) }

// Names returns the names of all values.
func (Standing) Names() []string { return standingNames[:] }

// Suspect is a subject that is slower than its peers.
type Suspect struct {
	Subject int
	Ratio   float64 // its bus bandwidth over that of those that do the same, where that is least
	P       float64 // chance that one of a job in which nothing is slow looks so, corrected for all comparisons
	Cost    int64   // time that its calls took more than at the others' bandwidth; all that are in Evidence
	// Evidence holds each comparison that it was slow in, by class.
	Evidence []Evidence
}

// Evidence is one comparison.
type Evidence struct {
	Cell  int     // index of Cells
	Peers int     // others in the comparison
	Bus   float64 // median of the others' medians, GB/s
	P     float64 // corrected for all comparisons
}

// contender is a cell among its peers.
type contender struct {
	cell   int
	blocks []float64 // logarithms of bus bandwidth, sorted
}

// comparison is one contender against its peers.
type comparison struct {
	cell, peers int
	p, least    float64 // least is what P could have been
	usual       float64 // median bus of the others
	outside     bool    // of what the others differ by
}

// slowSubjects compares each subject with those of its family, by operation, size class, link and number of ranks.
func (s *Speed) slowSubjects() {
	var trials []comparison
	for _, list := range s.contests() {
		s.stand(list)
		list = slices.DeleteFunc(list, func(c contender) bool { return s.Cells[c.cell].Standing == Blurred })
		for i := range list {
			if len(list) > 1 {
				trials = append(trials, s.try(list, i))
			}
		}
	}
	factor := attainable(trials, alpha)
	suspects := map[int]*Suspect{}
	for _, t := range trials {
		c := &s.Cells[t.cell]
		c.Peers, c.PeerBus, c.P = t.peers, t.usual, min(1, factor*t.p)
		if c.Standing = TooFew; factor*t.least <= alpha {
			c.Standing = Usual
			s.Compared++
		}
		if c.Standing == Usual && c.P <= alpha && t.outside {
			c.Standing = Slower
			s.accuse(suspects, t.cell)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(suspects)) {
		x := *suspects[i]
		if x.mostPeers() < 2 {
			s.Unsettled = append(s.Unsettled, x)
			continue
		}
		s.Suspects = append(s.Suspects, x)
	}
	byCost := func(a, b Suspect) int { return cmp.Compare(b.Cost, a.Cost) }
	slices.SortStableFunc(s.Suspects, byCost)
	slices.SortStableFunc(s.Unsettled, byCost)
}

func (s *Suspect) mostPeers() (n int) {
	for _, e := range s.Evidence {
		n = max(n, e.Peers)
	}
	return n
}

// contests returns the cells that can be held against each other, in the order of cells.
func (s *Speed) contests() [][]contender {
	type key struct {
		edge                                             bool
		family, ranks, link, bandwidth, operation, class int
	}
	var all ordered.List[key, []contender]
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Bus == 0 {
			continue
		}
		of := &s.Subjects[c.Subject]
		key := key{of.Edge, of.Family, of.Ranks, int(of.Limit.Link), int(of.Limit.Bandwidth * 1000), int(c.Op), c.Class}
		list, _ := all.Of(key)
		*list = append(*list, contender{i, c.blocks()})
	}
	return all.All
}

// blocks returns the logarithms of bus bandwidth of the calls of a cell, or medians of runs of them.
func (c *Cell) blocks() []float64 {
	n := min(len(c.Calls), mostBlocks)
	out := make([]float64, n)
	for b := range out {
		out[b] = math.Log(robust.Median(measures(c.Calls[b*len(c.Calls)/n:(b+1)*len(c.Calls)/n], bus)))
	}
	slices.Sort(out)
	return out
}

// stand marks the cells of which clocks blur the transfer by more than half of the margin: the ends of one call are that far apart.
// The members of a group end together or not, as the operation has it; two that send each other end together.
func (s *Speed) stand(list []contender) {
	for _, x := range list {
		c := &s.Cells[x.cell]
		if !s.Subjects[c.Subject].Edge && !endsTogether(c.Op) {
			continue
		}
		if c.median(func(m *Measure) float64 { return float64(m.Apart) }) > max(s.material, leastMaterial)/2*float64(c.Transfer) {
			c.Standing = Blurred
		}
	}
}

// leastMaterial is the least margin that clocks are held to.
const leastMaterial = 0.1

// try holds one contender against the others.
func (s *Speed) try(list []contender, i int) comparison {
	t := comparison{cell: list[i].cell, peers: len(list) - 1, outside: true}
	var ps, least, buses, logs []float64
	for k := range list {
		if k == i {
			continue
		}
		p, lowest := slowerBy(list[i].blocks, list[k].blocks, -math.Log(1-s.material))
		ps, least = append(ps, p), append(least, lowest)
		buses = append(buses, s.Cells[list[k].cell].Bus)
		logs = append(logs, math.Log(s.Cells[list[k].cell].Bus))
	}
	m, most := len(ps), len(ps)/2+1
	slices.Sort(ps)
	slices.Sort(least)
	t.p, t.least = min(1, float64(m-most+1)*ps[most-1]), min(1, float64(m-most+1)*least[most-1])
	t.usual = robust.Median(buses)
	if m >= 3 {
		middle := robust.Median(logs)
		for k, x := range logs {
			logs[k] = math.Abs(x - middle)
		}
		t.outside = middle-math.Log(s.Cells[t.cell].Bus) > spreads*robust.SigmaOfMAD*robust.Median(logs)
	}
	return t
}

// slowerBy returns the chance that x, lifted by margin, lies as far below y by chance, and the least that this could be. Both are
// sorted. O(n + m).
func slowerBy(x, y []float64, margin float64) (p, least float64) {
	above, k := 0.0, 0 // pairs in which the lifted x is above, equal ones half
	for _, v := range x {
		for k < len(y) && y[k] < v+margin {
			k++
		}
		equal := 0
		for k+equal < len(y) && y[k+equal] == v+margin {
			equal++
		}
		above += float64(k) + float64(equal)/2
	}
	n, m := float64(len(x)), float64(len(y))
	sigma := math.Sqrt(n * m * (n + m + 1) / 12)
	tail := func(u float64) float64 { return math.Erfc((n*m/2-u-0.5)/sigma/math.Sqrt2) / 2 }
	return tail(above), tail(0)
}

// attainable returns the factor of P values: the least number k so that no more than k tests could reach
// alpha/k.
func attainable(all []comparison, alpha float64) float64 {
	var least []float64
	for _, t := range all {
		least = append(least, t.least)
	}
	slices.Sort(least)
	for k := 1; k < len(all); k++ {
		if n, _ := slices.BinarySearch(least, math.Nextafter(alpha/float64(k), 1)); n <= k {
			return float64(k)
		}
	}
	return float64(max(len(all), 1))
}

// accuse adds a comparison to its subject.
func (s *Speed) accuse(suspects map[int]*Suspect, cell int) {
	c := &s.Cells[cell]
	x := suspects[c.Subject]
	if x == nil {
		x = &Suspect{Subject: c.Subject, P: 1, Ratio: 1}
		suspects[c.Subject] = x
	}
	x.Evidence = append(x.Evidence, Evidence{Cell: cell, Peers: c.Peers, Bus: c.PeerBus, P: c.P})
	x.P, x.Ratio = min(x.P, c.P), min(x.Ratio, c.Bus/c.PeerBus)
	for _, m := range c.Calls {
		x.Cost += max(0, int64((1-m.Bus/c.PeerBus)*float64(m.Transfer)))
	}
}
