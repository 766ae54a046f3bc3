package align

import (
	"cmp"
	"maps"
	"slices"

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
	near := voters(p.Calls, nearCalls)
	launches := launchTimes(p)
	if len(near) == 0 {
		return clocks{use: true, spread: reach / 30}
	}
	if closely(p, launches, near) {
		return votesNear(p, near).choose(leastLatency/offsetBin, usualLatency/offsetBin, nearlyAsMuch)
	}
	return votesFar(p, voters(p.Calls, farCalls)).choose(-withinReach, withinReach, 1./moreThanTwice)
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
func votesFar(p *Process, calls []int) ballot {
	votes := ballot{}
	kernels := p.Kernels
	if len(kernels) > farKernels {
		from := (len(kernels) - farKernels) / 2
		kernels = kernels[from : from+farKernels]
	}
	for _, i := range calls {
		c := &p.Calls[i]
		for j := range kernels {
			if k := &kernels[j]; k.HasLaunch && mayRun(k, c) {
				votes[floorBin(k.Launch-c.Time)]++
			}
		}
	}
	return votes
}

// votesNear is the votes of kernels launched within reach of the stamp.
func votesNear(p *Process, calls []int) ballot {
	votes := ballot{}
	var order []*comms.Kernel
	for j := range p.Kernels {
		if p.Kernels[j].HasLaunch {
			order = append(order, &p.Kernels[j])
		}
	}
	slices.SortFunc(order, func(a, b *comms.Kernel) int { return cmp.Compare(a.Launch, b.Launch) })
	for _, i := range calls {
		c := &p.Calls[i]
		from, _ := slices.BinarySearchFunc(order, c.Time-reach, func(k *comms.Kernel, t int64) int { return cmp.Compare(k.Launch, t) })
		for _, k := range order[from:] {
			if k.Launch > c.Time+reach {
				break
			}
			if mayRun(k, c) {
				votes[floorBin(k.Launch-c.Time)]++
			}
		}
	}
	return votes
}

func floorBin(ns int64) int64 {
	if ns < 0 {
		return -((-ns + offsetBin - 1) / offsetBin)
	}
	return ns / offsetBin
}

// mayRun reports whether the kernel's name allows the call.
func mayRun(k *comms.Kernel, c *Call) bool {
	if k.Op == nccl.Generic {
		return true
	}
	return k.Op == kernelOp(c.Op) && (!k.Op.Reduces() || k.Datatype == nccl.UnknownType || k.Datatype.Signless() == c.Datatype.Signless())
}

// voters is at most so many of the calls that launch something, over the whole log.
func voters(calls []Call, most int) []int {
	var all []int
	for i := range calls {
		if calls[i].reason() == Launches && calls[i].HasTime {
			all = append(all, i)
		}
	}
	step := max((len(all)+most-1)/most, 1)
	var some []int
	for k := 0; k < len(all); k += step {
		some = append(some, all[k])
	}
	return some
}

func launchTimes(p *Process) []int64 {
	var launches []int64
	for i := range p.Kernels {
		if p.Kernels[i].HasLaunch {
			launches = append(launches, p.Kernels[i].Launch)
		}
	}
	slices.Sort(launches)
	return launches
}

// closely says whether half of the calls have a launch near their stamp.
func closely(p *Process, launches []int64, calls []int) bool {
	near := 0
	for _, i := range calls {
		j, _ := slices.BinarySearch(launches, p.Calls[i].Time-reach)
		if j < len(launches) && launches[j] <= p.Calls[i].Time+reach {
			near++
		}
	}
	return 2*near >= len(calls)
}
