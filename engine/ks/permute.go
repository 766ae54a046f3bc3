package ks

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/robust"
)

// Test is the permutation test of one worker. Its null: within every step, the
// peers are exchangeable.
//
// The statistic is the worker's departure from its group's median completion times,
//
//	max_k |F_A(k) − median_B F_B(k)|,
//
// and not S_A: a mean over the peers contains the straggler, and would find its
// healthy peers guilty of being unlike it. The median (the lower one of an even
// number) stands while most of the group is well. It is taken at no more than
// 256 windows, which are quantiles of the group's completions.
//
// A permutation hands, in every step, the records of the group to its labels at
// random. All labels of all permutations and of the
// observed order are one population in which, under the null, the observed
// worker is a random member:
//
//	P = #{departures ≥ its own} ∕ #{departures},
//
// exact for any number of permutations.
type Test struct {
	Departure float64 // 0 … 1
	P         float64 // chance of such a departure if the peers are exchangeable
	// Q is the smallest false-discovery rate at which the worker is found, by
	// Benjamini and Hochberg over all tested workers.
	Q       float64
	Flagged bool // Q ≤ Result.Discovery
	Draws   int  // departures that P was counted among
}

const (
	testPoints = 256 // windows at which departures are taken: an index fits a byte
	firstRound = 99  // permutations before the first look
	clearCount = 10  // departures beyond a worker's own that make its P clear
	headroom   = 4   // how far below the strictest threshold P can be resolved
	fixedOneF  = 30  // F is held in units of 2⁻³⁰
)

// testAll tests every group and adjusts the P values together.
func (s *sample) testAll(groups [][]int, r *Result, o Options) {
	tested := 0
	for _, group := range groups {
		if len(group) > 2 {
			tested += len(group)
		}
	}
	doubt := func(group []int, d Doubt) {
		for _, w := range group {
			r.Scores[w].Undecided = d
		}
	}
	for i, group := range groups {
		strictest := o.Discovery / float64(tested) // of all thresholds that a P may have to pass
		if slices.ContainsFunc(group, func(w int) bool { return s.ops(w) != s.ops(group[0]) }) {
			r.Doubts = append(r.Doubts, UnequalCounts)
		}
		switch {
		case len(group) < 2:
			doubt(group, NoPeer)
		case len(group) == 2:
			doubt(group, TwoWorkers)
		case o.Replicates == 0:
			doubt(group, NotTested)
		case o.Clock == Wall:
			doubt(group, RunningClock)
		default:
			cut := blocks.Independent(s.steps(group))
			if o.Correlated {
				cut = s.blocksOf(group)
				r.Blocks = append(r.Blocks, cut)
			}
			if cut.Refused != blocks.Judged {
				doubt(group, FewBlocks)
				continue
			}
			p := s.newPermuter(group, cut)
			// A label draws all records of one worker with this probability: no P
			// falls below it.
			if math.Pow(float64(len(group)), -float64(p.filled)) > strictest {
				doubt(group, FewSteps)
				continue
			}
			strictest *= float64(len(group)) // all labels are drawn at once
			if strictest*float64(o.Replicates+1) < 1 {
				r.Doubts = append(r.Doubts, FewReplicates)
			}
			p.run(int(min(math.Ceil(headroom/strictest), float64(o.Replicates))), uint64(i), o, r)
		}
	}
	adjust(r)
}

// permuter permutes the records of one group.
type permuter struct {
	group   []int
	cut     blocks.Blocks
	steps   int
	filled  int       // blocks with any completion
	records [][]uint8 // [worker of group][step]: windows of the completions, worker-major
	widened [][]uint8 // the same with the offsets of blocks widened, as the null has them
	points  int
}

// steps returns how many steps a group has.
func (s *sample) steps(group []int) (n int) {
	for _, w := range group {
		n = max(n, len(s.stepEnd[w]))
	}
	return n
}

func (s *sample) newPermuter(group []int, cut blocks.Blocks) *permuter {
	p := &permuter{group: group, cut: cut, steps: s.steps(group)}
	var pooled []int32
	for _, w := range group {
		pooled = append(pooled, s.completions(w)...)
	}
	slices.Sort(pooled)
	var cuts []int32
	for q := 1; q <= testPoints; q++ {
		at := (q*len(pooled)+testPoints-1)/testPoints - 1
		cuts = append(cuts, pooled[max(0, at)])
	}
	cuts = slices.Compact(cuts)
	p.points = len(cuts)
	p.records = make([][]uint8, len(group)*p.steps)
	filled := make([]bool, cut.N)
	for i, w := range group {
		for t := range p.steps {
			record := s.record(w, t)
			bins := make([]uint8, len(record))
			for j, k := range record {
				bin, _ := slices.BinarySearch(cuts, k)
				bins[j] = uint8(bin)
			}
			p.records[i*p.steps+t] = bins
			if at := t - cut.Start(); at >= 0 && len(bins) > 0 {
				filled[at/cut.Length] = true
			}
		}
	}
	p.widened = p.records
	if cut.Widen > 1 {
		p.widened = s.widen(p, cuts)
	}
	for _, any := range filled {
		if any {
			p.filled++
		}
	}
	return p
}

// run permutes until every worker's P is clear or as often as it may, looking
// after 99 permutations, twice as many, and so on. Looks depend on counts
// alone, and every permutation has its own stream of random numbers: the number
// of threads changes nothing.
func (p *permuter) run(most int, stream uint64, o Options, r *Result) {
	memory := make([]*departures, min(runtime.GOMAXPROCS(0), most))
	for i := range memory {
		memory[i] = p.newDepartures()
	}
	observed := slices.Clone(memory[0].drawDepartures(nil))
	c := newCensus(observed)
	done := 0
	for round := min(firstRound, most); done < round; round = min(2*round+1, most) {
		var wait parallel.Group
		for thread, d := range memory {
			wait.Go(func() {
				for i := done + thread; i < round; i += len(memory) {
					c.add(&d.tally, d.drawDepartures(rand.New(rand.NewPCG(o.Seed, stream<<32|uint64(i)))))
				}
			})
		}
		wait.Wait()
		done = round
		for _, d := range memory {
			c.collect(&d.tally)
		}
		if c.countAtLeast(slices.Max(observed)) > clearCount {
			break
		}
	}
	for i, w := range p.group {
		r.Scores[w].Undecided = NoDoubt
		r.Scores[w].Test = &Test{
			Departure: float64(observed[i]) / (1 << fixedOneF),
			P:         float64(c.countAtLeast(observed[i])) / float64(c.draws),
			Draws:     c.draws,
		}
	}
}

// census counts departures by how many of the observed ones they reach.
type census struct {
	ascending []int32 // observed
	reached   []int   // reached[i]: drawn departures that are ≥ exactly i observed ones
	draws     int     // drawn and observed
}

func newCensus(observed []int32) *census {
	c := &census{ascending: slices.Clone(observed), reached: make([]int, len(observed)+1), draws: len(observed)}
	slices.Sort(c.ascending)
	return c
}

// add counts drawn departures into one thread's tally.
func (c *census) add(tally *[]int, drawn []int32) {
	if *tally == nil {
		*tally = make([]int, len(c.reached))
	}
	for _, d := range drawn {
		i, _ := slices.BinarySearch(c.ascending, d+1)
		(*tally)[i]++
	}
}

// collect moves a tally into the census.
func (c *census) collect(tally *[]int) {
	for i, n := range *tally {
		c.reached[i] += n
		c.draws += n
	}
	clear(*tally)
}

// countAtLeast counts the departures ≥ d, one of those observed.
func (c *census) countAtLeast(d int32) int {
	rank, _ := slices.BinarySearch(c.ascending, d)
	total := len(c.ascending) - rank
	for _, n := range c.reached[rank+1:] {
		total += n
	}
	return total
}

// departures is one thread's memory.
type departures struct {
	p      *permuter
	count  []int32 // [label][window]
	f      []int32 // [window][label]
	total  []int32 // completions of each label
	scale  []int32 // parts of as many completions as the first label has, a division for each; others have mostly as many
	order  []int
	column []int32
	result []int32
	tally  []int
}

func (p *permuter) newDepartures() *departures {
	n := len(p.group)
	return &departures{p: p, count: make([]int32, n*p.points), f: make([]int32, n*p.points),
		total: make([]int32, n), order: make([]int, n), column: make([]int32, 0, n), result: make([]int32, n)}
}

// drawDepartures returns the departure of every label from the median of all, in units of 2⁻³⁰,
// under a random permutation within every step; without a source of
// randomness, as observed. It is valid until the next call.
func (d *departures) drawDepartures(rng *rand.Rand) []int32 {
	p, n := d.p, len(d.p.group)
	clear(d.count)
	clear(d.total)
	for i := range d.order {
		d.order[i] = i
	}
	records := p.records
	if rng != nil {
		records = p.widened
	}
	for t := p.cut.Start(); t < p.steps; t++ {
		if rng != nil && (t-p.cut.Start())%p.cut.Length == 0 {
			rng.Shuffle(n, func(i, j int) { d.order[i], d.order[j] = d.order[j], d.order[i] })
		}
		for label, worker := range d.order {
			row, completed := d.count[label*p.points:][:p.points], records[worker*p.steps+t]
			d.total[label] += int32(len(completed))
			for _, bin := range completed {
				row[bin]++
			}
		}
	}
	for from := 0; from < n; from += labelsAtOnce {
		d.cumulate(from, min(labelsAtOnce, n-from))
	}
	clear(d.result)
	for k := range p.points {
		d.raise(d.f[k*n:][:n])
	}
	return d.result
}

// labelsAtOnce is how many labels are cumulated side by side, so that what they
// come to in one window is written in one piece.
const labelsAtOnce = 16

// cumulate turns the counts of some labels into the parts of their completions
// that have come up to each window.
func (d *departures) cumulate(from, labels int) {
	p, n := d.p, len(d.p.group)
	var sum [labelsAtOnce]int32
	total := d.total[from:][:labels]
	if d.scale == nil && total[0] > 0 {
		d.scale = make([]int32, total[0]+1)
		for k := range d.scale {
			d.scale[k] = int32(int64(k) << fixedOneF / int64(total[0]))
		}
	}
	for k := range p.points {
		out := d.f[k*n+from:][:labels]
		for j := range out {
			sum[j] += d.count[(from+j)*p.points+k]
			if int(total[j]) == len(d.scale)-1 {
				out[j] = d.scale[sum[j]]
			} else {
				out[j] = int32(int64(sum[j]) << fixedOneF / max(1, int64(total[j])))
			}
		}
	}
}

// raise holds the labels against their median in one window.
func (d *departures) raise(f []int32) {
	d.column = d.column[:0]
	for label, x := range f {
		if d.total[label] > 0 {
			d.column = append(d.column, x)
		}
	}
	median := robust.Select(d.column, (len(d.column)-1)/2)
	for label, x := range f {
		if d.total[label] > 0 {
			d.result[label] = max(d.result[label], x-median, median-x)
		}
	}
}

// adjust fills Q and Flagged over all tested workers: with p₍₁₎ ≤ … ≤ p₍ₘ₎,
//
//	q₍ᵢ₎ = min_{j ≥ i} m·p₍ⱼ₎ ∕ j
//
// (Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57:289–300).
func adjust(r *Result) {
	var tests []*Test
	for _, s := range r.Scores {
		if s.Test != nil {
			tests = append(tests, s.Test)
		}
	}
	slices.SortStableFunc(tests, func(a, b *Test) int { return cmp.Compare(a.P, b.P) })
	q := 1.0
	for i := len(tests) - 1; i >= 0; i-- {
		q = min(q, tests[i].P*(float64(len(tests))/float64(i+1)))
		tests[i].Q = q
		tests[i].Flagged = q <= r.Discovery
	}
}
