package align

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// divide parts launches and kernels by stream, and finds which streams are the
// same: those first that have most in common.
func divide(p *Process, launches []Launch, sc *Scoring) []part {
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
	logs, traces := sortedKeys(byLog), sortedKeys(byTrace)
	for _, s := range logs {
		slices.Reverse(byLog[s])
	}
	var parts []part
	for _, pair := range assign(p, launches, byLog, byTrace, logs, traces) {
		part := part{log: pair.Log, trace: pair.Trace, launchIDs: byLog[pair.Log], kernelIDs: byTrace[pair.Trace]}
		ls, ks := make([]*Launch, len(part.launchIDs)), make([]*Kernel, len(part.kernelIDs))
		for k, i := range part.launchIDs {
			ls[k] = &launches[i]
		}
		for k, j := range part.kernelIDs {
			ks[k] = &p.Kernels[j]
		}
		part.evidence = newEvidence(sc, p.Calls, ls, ks)
		parts = append(parts, part)
	}
	return parts
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// symbol is what both sides know of one kernel by its name.
type symbol struct {
	op       nccl.Op
	datatype nccl.Datatype
}

// assign pairs streams by how many launches and kernels of the same name follow
// one another in both, the most first. Ties fall to the lower stream.
func assign(p *Process, launches []Launch, byLog map[uint64][]int, byTrace map[int64][]int, logs []uint64, traces []int64) []Streams {
	bags := make([]map[[2]symbol]int, len(traces))
	for t, s := range traces {
		bags[t] = bigrams(byTrace[s], func(j int) symbol {
			k := &p.Kernels[j]
			return symbol{k.Op, k.Datatype.Signless()}
		})
	}
	var all []candidate
	for l, s := range logs {
		bag := bigrams(byLog[s], func(i int) symbol { return launches[i].symbol(p.Calls) })
		for t, s2 := range traces {
			common := 0
			for g, n := range bag {
				common += min(n, bags[t][g])
			}
			all = append(all, candidate{l, t, float64(2*common) / float64(len(byLog[s])+len(byTrace[s2]))})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.like, a.like) })
	usedLog, usedTrace := make([]bool, len(logs)), make([]bool, len(traces))
	var pairs []Streams
	for _, c := range all {
		if !usedLog[c.log] && !usedTrace[c.trace] && c.like > 0 {
			usedLog[c.log], usedTrace[c.trace] = true, true
			pairs = append(pairs, Streams{Log: logs[c.log], Trace: traces[c.trace]})
		}
	}
	return pairs
}

type candidate struct {
	log, trace int
	like       float64 // 0 to 1
}

func (l *Launch) symbol(calls []Call) symbol {
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
