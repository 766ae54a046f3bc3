package align

import (
	"math"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// How much is looked at to find how far clocks are apart.
const (
	mostVoters    = 200    // calls, each with every kernel
	mostKernels   = 5_000  // in the middle of the trace, which bounds the pairs to a million
	offsetBin     = 10_000 // 10 µs: two of them are more than launches jitter
	offsetVotes   = 8      // fewer prove nothing
	offsetSpread  = 3 * offsetBin
	leastLatency  = -5 * offsetBin
	usualLatency  = 20 * offsetBin // clocks that agree show launches from leastLatency to this after their stamps
	nearlyAsMuch  = 0.8            // of the votes, for a distance that clocks which agree have
	moreThanTwice = 2              // as many votes as the next distance
)

// roughOffset returns about how far the trace's clock is ahead of the log's, and how exactly that is known. Every call and every kernel of its
// operation vote for the distance between them: true pairs agree within microseconds, others do not, so
// that the true distance has the most votes. A program that repeats itself gives nearly as many to others: a distance of milliseconds is preferred
// to those that have less than twice its votes, and one that clocks have which agree to any that has little more. A log in local time and a trace
// that does not know when it began are hours or years apart.
func roughOffset(p *Process) clocks {
	v := votes(p)
	best := v.top(math.MinInt64, math.MaxInt64)
	for _, usual := range [...]struct {
		least, most int64
		nearly      float64
	}{{-reach, reach, 1. / moreThanTwice}, {leastLatency, usualLatency, nearlyAsMuch}} {
		if bin := v.top(usual.least, usual.most); float64(v.count(bin)) >= usual.nearly*float64(v.count(best)) {
			best = bin
		}
	}
	if v.count(best) < offsetVotes {
		return clocks{use: true, spread: reach / 30}
	}
	return clocks{use: true, offset: (best + 1) * offsetBin, spread: offsetSpread}
}

// ballot is the distances that were voted for, in bins, ascending.
type ballot []int64

// count returns the votes for a distance, which may lie on either side of a border between bins.
func (v ballot) count(bin int64) int {
	from, _ := slices.BinarySearch(v, bin)
	to, _ := slices.BinarySearch(v, bin+2)
	return to - from
}

// top returns the distance with the most votes of those from least to most nanoseconds.
func (v ballot) top(least, most int64) (best int64) {
	votes := 0
	for i, bin := range v {
		if i > 0 && bin == v[i-1] || bin < least/offsetBin || bin > most/offsetBin {
			continue
		}
		if n := v.count(bin); n > votes {
			best, votes = bin, n
		}
	}
	return best
}

// votes returns the votes of some calls over the whole log and of the kernels whose launch is known.
func votes(p *Process) (v ballot) {
	kernels := p.Kernels
	if len(kernels) > mostKernels {
		from := (len(kernels) - mostKernels) / 2
		kernels = kernels[from : from+mostKernels]
	}
	for _, c := range voters(p) {
		for j := range kernels {
			if k := &kernels[j]; k.HasLaunch && mayRun(k, c) {
				v = append(v, floorBin(k.Launch-c.Enter))
			}
		}
	}
	slices.Sort(v)
	return v
}

// launchedWithin returns the kernels, of some sorted by launch, that were launched within so much of a time.
func launchedWithin(kernels []*comms.Kernel, at, within int64) []*comms.Kernel {
	first, last := max(at, math.MinInt64+within)-within, min(at, math.MaxInt64-within)+within
	from := sort.Search(len(kernels), func(i int) bool { return kernels[i].Launch >= first })
	to := sort.Search(len(kernels), func(i int) bool { return kernels[i].Launch > last })
	return kernels[from:to]
}

func floorBin(ns int64) int64 {
	if ns < 0 {
		return -((-ns + offsetBin - 1) / offsetBin)
	}
	return ns / offsetBin
}

// mayRun reports whether the kernel's name allows the call.
func mayRun(k *comms.Kernel, c *comms.Call) bool {
	if k.Op == nccl.Generic {
		return true
	}
	return k.Op == kernelOp(c.Op) && (!k.Op.Reduces() || k.Datatype == nccl.UnknownType || k.Datatype.Signless() == c.Datatype.Signless())
}

// voters returns at most mostVoters of the calls that launch something, over the whole log.
func voters(p *Process) (some []*comms.Call) {
	var all []*comms.Call
	for _, c := range p.Calls {
		if p.reason(c) == Launches && c.HasEnter {
			all = append(all, c)
		}
	}
	step := max((len(all)+mostVoters-1)/mostVoters, 1)
	for k := 0; k < len(all); k += step {
		some = append(some, all[k])
	}
	return some
}
