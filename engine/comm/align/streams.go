package align

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// streams are the launches of each stream of the log and the kernels of each of the trace, by index, in order.
type streams struct {
	p        *Process
	launches []Launch
	logs     [][]int
	traces   [][]int
	logIDs   []uint64
	traceIDs []int64
}

func streamsOf(p *Process, launches []Launch) *streams {
	s := &streams{p: p, launches: launches}
	byLog := map[uint64][]int{}
	streamOf := map[int]uint64{} // of a communicator, as its last call said
	for i, l := range slices.Backward(launches) {
		if l.Lead >= 0 {
			streamOf[l.Comm] = p.Calls[l.Lead].Stream
		}
		byLog[streamOf[l.Comm]] = append(byLog[streamOf[l.Comm]], i)
	}
	byTrace := map[int64][]int{}
	for _, j := range startOrder(p.Kernels) {
		byTrace[p.Kernels[j].Stream] = append(byTrace[p.Kernels[j].Stream], j)
	}
	s.logIDs, s.traceIDs = slices.Sorted(maps.Keys(byLog)), slices.Sorted(maps.Keys(byTrace))
	for _, id := range s.logIDs {
		slices.Reverse(byLog[id])
		s.logs = append(s.logs, byLog[id])
	}
	for _, id := range s.traceIDs {
		s.traces = append(s.traces, byTrace[id])
	}
	return s
}

// divide parts launches and kernels by stream, and finds which streams are the
// same: those first that have most in common.
func divide(p *Process, launches []Launch, clock clocks) []part {
	s := streamsOf(p, launches)
	all, near := s.alikeness(), func(best, rival float64) bool { return rival > nearlyAlike*best }
	if clock.use && !clock.queued {
		all, near = s.coincidences(clock), func(float64, float64) bool { return false } // the times of each pair tell
	}
	var parts []part
	chosen := assign(all, len(s.logs), len(s.traces))
	for _, c := range chosen {
		pair := s.part(c.log, c.trace)
		pair.log, pair.trace = s.logIDs[c.log], s.traceIDs[c.trace]
		pair.doubtful = doubtful(all, chosen, c, near)
		parts = append(parts, pair)
	}
	return parts
}

// compare returns how alike each two streams are.
func (s *streams) compare(like func(log, trace int) float64) (all []candidate) {
	for l := range s.logs {
		for t := range s.traces {
			all = append(all, candidate{l, t, like(l, t)})
		}
	}
	return all
}

// share returns how much two streams have in common, of all that they have.
func (s *streams) share(common, log, trace int) float64 {
	return float64(2*common) / float64(len(s.logs[log])+len(s.traces[trace]))
}

// part returns the launches and the kernels of two streams.
func (s *streams) part(log, trace int) part {
	p := part{launchIDs: s.logs[log], kernelIDs: s.traces[trace]}
	ls, ks := make([]*Launch, len(p.launchIDs)), make([]*comms.Kernel, len(p.kernelIDs))
	for k, i := range p.launchIDs {
		ls[k] = &s.launches[i]
	}
	for k, j := range p.kernelIDs {
		ks[k] = &s.p.Kernels[j]
	}
	p.evidence = newEvidence(s.p.Calls, ls, ks)
	return p
}

// nearlyAlike is of the likeness of two streams: another one may be it.
const nearlyAlike = 0.9

// doubtful reports whether another choice is nearly as good: c's stream with one that is left, or two pairs the other way
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

// alikeness counts for each two streams how many launches and kernels of the same name follow one another
// in both.
func (s *streams) alikeness() []candidate {
	logs, traces := make([]map[[2]symbol]int, len(s.logs)), make([]map[[2]symbol]int, len(s.traces))
	for l, ids := range s.logs {
		logs[l] = bigrams(ids, func(i int) symbol { return symbolOf(&s.launches[i], s.p.Calls) })
	}
	for t, ids := range s.traces {
		traces[t] = bigrams(ids, func(j int) symbol {
			k := &s.p.Kernels[j]
			return symbol{k.Op, k.Datatype.Signless()}
		})
	}
	return s.compare(func(l, t int) float64 {
		common := 0
		for g, n := range logs[l] {
			common += min(n, traces[t][g])
		}
		return s.share(common, l, t)
	})
}

// coincidences returns for each two streams how many calls of the one have a kernel of the other that may be theirs, launched when it
// was due.
func (s *streams) coincidences(clock clocks) []candidate {
	sorted := make([][]*comms.Kernel, len(s.traces))
	for t, ids := range s.traces {
		for _, j := range ids {
			sorted[t] = append(sorted[t], &s.p.Kernels[j])
		}
		slices.SortStableFunc(sorted[t], func(a, b *comms.Kernel) int { return cmp.Compare(a.Launch, b.Launch) })
	}
	return s.compare(func(l, t int) float64 {
		common := 0
		for _, i := range s.logs[l] {
			if x := &s.launches[i]; x.Lead >= 0 {
				due := s.p.Calls[x.Calls[len(x.Calls)-1]].Enter + clock.offset
				may := func(k *comms.Kernel) bool { return mayRun(k, s.p.Calls[x.Lead]) }
				if slices.ContainsFunc(launchedWithin(sorted[t], due, clock.spread), may) {
					common++
				}
			}
		}
		return s.share(common, l, t)
	})
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

func symbolOf(l *Launch, calls []*comms.Call) symbol {
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
