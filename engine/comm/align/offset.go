package align

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// How much is looked at to find how far clocks are apart.
const (
	nearCalls     = 2000   // that vote where the clocks may agree
	farCalls      = 200    // … and where nothing bounds their distance, each with every kernel
	farKernels    = 20_000 // in the middle of the trace, which bounds those pairs to 4 million
	offsetBin     = 10_000 // 10 µs: two of them are more than launches jitter
	offsetVotes   = 8      // fewer prove nothing
	offsetSpread  = 3 * offsetBin
	leastLatency  = -5 * offsetBin
	usualLatency  = 20 * offsetBin // clocks that agree show launches from leastLatency to this after their stamps
	nearlyAsMuch  = 0.8            // of the votes, for a distance that clocks which agree have
	withinReach   = reach / offsetBin
	moreThanTwice = 2 // as many votes as the next distance
)

// roughOffset is about how far the trace's clock is ahead of the log's, and how exactly that is known. Every call and every kernel of its
// operation vote for the distance between them: true pairs agree within microseconds, others do not, so
// that the true distance has the most votes. Where launches follow stamps within milliseconds only such distances are
// looked at, and one that clocks have which agree is preferred. A log in local time and a trace
// that does not know when it began are hours or years apart; then a distance needs twice as many votes as those near 0.
func roughOffset(p *Process) clocks {
	near, launches := voters(p, nearCalls), byLaunch(p.Kernels)
	if len(near) == 0 {
		return clocks{use: true, spread: reach / 30}
	}
	if closely(launches, near) {
		return votesNear(launches, near).choose(leastLatency/offsetBin, usualLatency/offsetBin, nearlyAsMuch)
	}
	return votesFar(p, voters(p, farCalls)).choose(-withinReach, withinReach, 1./moreThanTwice)
}

// ballot is the votes for each distance, in bins.
type ballot map[int64]int

// choose is the distance with the most votes, or the best of those from least to most if it has nearly as many.
func (v ballot) choose(least, most int64, nearly float64) clocks {
	best, preferred := int64(0), int64(0)
	count := func(bin int64) int { return v[bin] + v[bin+1] }
	top, usual := 0, 0
	for _, bin := range slices.Sorted(maps.Keys(v)) {
		n := count(bin)
		if n > top {
			best, top = bin, n
		}
		if bin >= least && bin <= most && n > usual {
			preferred, usual = bin, n
		}
	}
	if float64(usual) >= nearly*float64(top) {
		best = preferred
	}
	if top < offsetVotes {
		return clocks{use: true, spread: reach / 30}
	}
	return clocks{use: true, offset: (best + 1) * offsetBin, spread: offsetSpread}
}

// votesFar is the votes of all kernels, whenever they were.
func votesFar(p *Process, calls []*comms.Call) ballot {
	votes := ballot{}
	kernels := p.Kernels
	if len(kernels) > farKernels {
		from := (len(kernels) - farKernels) / 2
		kernels = kernels[from : from+farKernels]
	}
	for _, c := range calls {
		for j := range kernels {
			if k := &kernels[j]; k.HasLaunch && mayRun(k, c) {
				votes[floorBin(k.Launch-c.Enter)]++
			}
		}
	}
	return votes
}

// votesNear is the votes of kernels, sorted by launch, that were launched within reach of the stamp.
func votesNear(kernels []*comms.Kernel, calls []*comms.Call) ballot {
	votes := ballot{}
	for _, c := range calls {
		for _, k := range launchedWithin(kernels, c.Enter, reach) {
			if mayRun(k, c) {
				votes[floorBin(k.Launch-c.Enter)]++
			}
		}
	}
	return votes
}

// byLaunch is the kernels whose launches are known, in the order of these.
func byLaunch(kernels []comms.Kernel) (list []*comms.Kernel) {
	for j := range kernels {
		if kernels[j].HasLaunch {
			list = append(list, &kernels[j])
		}
	}
	slices.SortStableFunc(list, func(a, b *comms.Kernel) int { return cmp.Compare(a.Launch, b.Launch) })
	return list
}

// launchedWithin is those of kernels, sorted by launch, that were launched within so much of a time.
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

// voters is at most so many of the calls that launch something, over the whole log.
func voters(p *Process, most int) (some []*comms.Call) {
	var all []*comms.Call
	for _, c := range p.Calls {
		if p.reason(c) == Launches && c.HasEnter {
			all = append(all, c)
		}
	}
	step := max((len(all)+most-1)/most, 1)
	for k := 0; k < len(all); k += step {
		some = append(some, all[k])
	}
	return some
}

// closely says whether half of the calls have a launch near their stamp.
func closely(kernels []*comms.Kernel, calls []*comms.Call) bool {
	near := 0
	for _, c := range calls {
		if len(launchedWithin(kernels, c.Enter, reach)) > 0 {
			near++
		}
	}
	return 2*near >= len(calls)
}
