package align

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// divide parts launches and kernels by stream, and finds which streams are the
// same: those first that have most in common.
func divide(p *Process, launches []Launch, clock clocks) []part {
	byLog := map[uint64][]int{}
	streamOf := map[int]uint64{} // of a communicator, as its last call said
	for i := len(launches) - 1; i >= 0; i-- {
		if l := &launches[i]; l.Lead >= 0 {
			streamOf[l.Comm] = p.Calls[l.Lead].Stream
		}
		byLog[streamOf[launches[i].Comm]] = append(byLog[streamOf[launches[i].Comm]], i)
	}
	byTrace := map[int64][]int{}
	for _, j := range byStart(p.Kernels) {
		byTrace[p.Kernels[j].Stream] = append(byTrace[p.Kernels[j].Stream], j)
	}
	logs, traces := slices.Sorted(maps.Keys(byLog)), slices.Sorted(maps.Keys(byTrace))
	for _, s := range logs {
		slices.Reverse(byLog[s])
	}
	all, near := alikeness(p, launches, byLog, byTrace, logs, traces), func(best, rival float64) bool { return rival > nearlyAlike*best }
	switch {
	case clock.use && !clock.queued:
		all, near = coincident(p, launches, clock, byLog, byTrace, logs, traces), func(float64, float64) bool { return false } // the times of each pair tell
	case len(all) > 1:
		if scores, ok := scored(p, launches, byLog, byTrace, logs, traces); ok {
			all, near = scores, func(best, rival float64) bool { return best-rival < certainMargin }
		}
	}
	var parts []part
	chosen := assign(all, len(logs), len(traces))
	for _, c := range chosen {
		pair := newPart(p, launches, byLog[logs[c.log]], byTrace[traces[c.trace]])
		pair.log, pair.trace = logs[c.log], traces[c.trace]
		pair.doubtful = doubtful(all, chosen, c, near)
		parts = append(parts, pair)
	}
	return parts
}

// newPart is some launches and some kernels.
func newPart(p *Process, launches []Launch, launchIDs, kernelIDs []int) part {
	ls, ks := make([]*Launch, len(launchIDs)), make([]*comms.Kernel, len(kernelIDs))
	for k, i := range launchIDs {
		ls[k] = &launches[i]
	}
	for k, j := range kernelIDs {
		ks[k] = &p.Kernels[j]
	}
	return part{evidence: newEvidence(p.Calls, ls, ks), launchIDs: launchIDs, kernelIDs: kernelIDs}
}

const (
	nearlyAlike = 0.9     // of the likeness of two streams: another one may be it
	scoredCells = 8 << 20 // of all tables, to compare streams by their alignments
)

// scored says for each two streams how well they align; not if that takes long.
func scored(p *Process, launches []Launch, byLog map[uint64][]int, byTrace map[int64][]int, logs []uint64, traces []int64) (all []candidate, ok bool) {
	n, m := 0, 0
	for _, l := range byLog {
		n += len(l)
	}
	for _, t := range byTrace {
		m += len(t)
	}
	if n > scoredCells/max(m, 1) {
		return nil, false
	}
	for l, s := range logs {
		for t, s2 := range traces {
			pair := newPart(p, launches, byLog[s], byTrace[s2])
			r, err := needleman.Solve(pair.evidence, alone)
			if err != nil {
				return nil, false
			}
			apart := alone * int64(len(byLog[s])+len(byTrace[s2])) // what is taken off without a pair
			all = append(all, candidate{l, t, float64(r.Score + apart)})
		}
	}
	return all, true
}

// doubtful says whether another choice is nearly as good: c's stream with one that is left, or two pairs the other way
// round.
func doubtful(all, chosen []candidate, c candidate, near func(best, rival float64) bool) bool {
	like := map[[2]int]float64{}
	for _, x := range all {
		like[[2]int{x.log, x.trace}] = x.like
	}
	traceOf, logOf := map[int]int{}, map[int]int{}
	for _, x := range chosen {
		traceOf[x.log], logOf[x.trace] = x.trace, x.log
	}
	for _, x := range all {
		best, rival := c.like, x.like
		switch {
		case x.log == c.log && x.trace != c.trace:
			if l, taken := logOf[x.trace]; taken {
				best, rival = best+like[[2]int{l, x.trace}], rival+like[[2]int{l, c.trace}]
			}
		case x.trace == c.trace && x.log != c.log:
			if t, taken := traceOf[x.log]; taken {
				best, rival = best+like[[2]int{x.log, t}], rival+like[[2]int{c.log, t}]
			}
		default:
			continue
		}
		if near(best, rival) {
			return true
		}
	}
	return false
}

// symbol is what both sides know of one kernel by its name.
type symbol struct {
	op       nccl.Op
	datatype nccl.Datatype
}

// alikeness says for each two streams how many launches and kernels of the same name follow one another
// in both.
func alikeness(p *Process, launches []Launch, byLog map[uint64][]int, byTrace map[int64][]int, logs []uint64, traces []int64) (all []candidate) {
	bags := make([]map[[2]symbol]int, len(traces))
	for t, s := range traces {
		bags[t] = bigrams(byTrace[s], func(j int) symbol {
			k := &p.Kernels[j]
			return symbol{k.Op, k.Datatype.Signless()}
		})
	}
	for l, s := range logs {
		bag := bigrams(byLog[s], func(i int) symbol { return symbolOf(&launches[i], p.Calls) })
		for t, s2 := range traces {
			common := 0
			for g, n := range bag {
				common += min(n, bags[t][g])
			}
			all = append(all, candidate{l, t, float64(2*common) / float64(len(byLog[s])+len(byTrace[s2]))})
		}
	}
	return all
}

// coincident says for each two streams how many calls of the one have a kernel of the other that may be theirs, launched when it
// was due.
func coincident(p *Process, launches []Launch, clock clocks, byLog map[uint64][]int, byTrace map[int64][]int, logs []uint64, traces []int64) (all []candidate) {
	sorted := make([][]*comms.Kernel, len(traces))
	for t, s := range traces {
		for _, j := range byTrace[s] {
			sorted[t] = append(sorted[t], &p.Kernels[j])
		}
		slices.SortStableFunc(sorted[t], func(a, b *comms.Kernel) int { return cmp.Compare(a.Launch, b.Launch) })
	}
	for l, s := range logs {
		common := make([]int, len(traces))
		for _, i := range byLog[s] {
			for t := range traces {
				if launches[i].Lead >= 0 && hasDue(&launches[i], p.Calls, sorted[t], clock) {
					common[t]++
				}
			}
		}
		for t, s2 := range traces {
			all = append(all, candidate{l, t, float64(2*common[t]) / float64(len(byLog[s])+len(byTrace[s2]))})
		}
	}
	return all
}

// hasDue reports whether one of the kernels, sorted by launch, may run the call and was launched when it was due.
func hasDue(l *Launch, calls []Call, kernels []*comms.Kernel, clock clocks) bool {
	due := calls[l.Calls[len(l.Calls)-1]].Time + clock.offset
	from, _ := slices.BinarySearchFunc(kernels, due-clock.spread, func(k *comms.Kernel, at int64) int { return cmp.Compare(k.Launch, at) })
	for _, k := range kernels[from:] {
		if k.Launch > due+clock.spread {
			break
		}
		if mayRun(k, &calls[l.Lead]) {
			return true
		}
	}
	return false
}

// assign pairs streams, those first that have most in common. Ties fall to the lower stream.
func assign(all []candidate, logs, traces int) (pairs []candidate) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b candidate) int { return cmp.Compare(b.like, a.like) })
	usedLog, usedTrace := make([]bool, logs), make([]bool, traces)
	for _, c := range sorted {
		if !usedLog[c.log] && !usedTrace[c.trace] && c.like > 0 {
			usedLog[c.log], usedTrace[c.trace] = true, true
			pairs = append(pairs, c)
		}
	}
	return pairs
}

type candidate struct {
	log, trace int
	like       float64 // the more the liker; 0 for nothing in common
}

func symbolOf(l *Launch, calls []Call) symbol {
	s := symbol{l.Op, nccl.UnknownType}
	if l.Lead >= 0 && l.Op.Reduces() {
		s.datatype = calls[l.Lead].Datatype.Signless()
	}
	return s
}

// bigrams counts neighbours, and each one by itself.
func bigrams(ids []int, of func(int) symbol) map[[2]symbol]int {
	bag := map[[2]symbol]int{}
	var before symbol
	for _, i := range ids {
		s := of(i)
		bag[[2]symbol{{}, s}]++
		bag[[2]symbol{before, s}]++
		before = s
	}
	return bag
}
