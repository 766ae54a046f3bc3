package align

import (
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// How much is looked at to find clocks that are far apart.
const (
	offsetCalls   = 200
	offsetKernels = 20_000
	offsetBin     = 20_000 // 20 µs, which is more than launches jitter
	offsetVotes   = 8      // fewer prove nothing
)

// roughOffset is about how far the trace's clock is ahead of the log's: 0 where launches
// follow stamps closely as they are. A log in local time and a trace that does not know when it
// began are hours or years apart; then every call and every kernel of its operation vote for the
// distance between them. True pairs agree within microseconds, others do not, so that the true distance has the
// most votes; a distance that has not twice as many as those near 0 is not believed.
func roughOffset(p *Process) int64 {
	calls := voters(p.Calls)
	if len(calls) == 0 || closely(p, calls) {
		return 0
	}
	votes := map[int64]int{}
	kernels := p.Kernels
	if len(kernels) > offsetKernels {
		from := (len(kernels) - offsetKernels) / 2
		kernels = kernels[from : from+offsetKernels]
	}
	for _, i := range calls {
		c := &p.Calls[i]
		op := kernelOp(c.Op)
		for j := range kernels {
			if k := &kernels[j]; k.HasLaunch && (k.Op == op || k.Op == nccl.Generic) {
				votes[(k.Launch-c.Time)/offsetBin]++
			}
		}
	}
	best, most, near := int64(0), 0, 0
	for _, bin := range sortedKeys(votes) {
		n := votes[bin] + votes[bin+1]
		if n > most {
			best, most = bin, n
		}
		if bin >= -reach/offsetBin && bin <= reach/offsetBin {
			near = max(near, n)
		}
	}
	if most < offsetVotes || most <= 2*near {
		return 0
	}
	return (best + 1) * offsetBin
}

// voters is some of the calls that launch something, over the whole log.
func voters(calls []Call) []int {
	var all []int
	for i := range calls {
		if calls[i].reason() == Launches && calls[i].HasTime {
			all = append(all, i)
		}
	}
	step := max((len(all)+offsetCalls-1)/offsetCalls, 1)
	var some []int
	for k := 0; k < len(all); k += step {
		some = append(some, all[k])
	}
	return some
}

// closely says whether nine of ten calls have a launch near their stamp.
func closely(p *Process, calls []int) bool {
	var launches []int64
	for i := range p.Kernels {
		if p.Kernels[i].HasLaunch {
			launches = append(launches, p.Kernels[i].Launch)
		}
	}
	slices.Sort(launches)
	near := 0
	for _, i := range calls {
		j, _ := slices.BinarySearch(launches, p.Calls[i].Time-reach)
		if j < len(launches) && launches[j] <= p.Calls[i].Time+reach {
			near++
		}
	}
	return 10*near >= 9*len(calls)
}
