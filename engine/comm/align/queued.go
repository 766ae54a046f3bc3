package align

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/comms"
)

// A trace without launches still has the starts of its kernels, and a kernel starts after its call: at once where the device is
// idle, later where others are queued before it. So of all shifts of a program that repeats itself, as a trace has it that began in the middle,
// the true one is the least at which no kernel starts before its call. That takes clocks which agree, as the log's and the session's of one
// host do. First a pair is worth the less the longer its kernel was queued (never more than idle for none); when the
// shift is found so, kernels of other shifts are too early or too late to be looked at, and all else is decided as without clocks.
const (
	agreeing  = 1_000_000     // 1 ms: clocks that differ by more may be off by an iteration
	idle      = 100_000       // queued for less is as good as not
	longer    = 0.25          // than any delay in the queue so far
	overlap   = 1_000_000_000 // a kernel is queued for less than a second
	leastLags = 20            // fewer pairs show no shortest delay
)

// queuedClock takes the starts of kernels for times, if no kernel has a launch, every call a stamp, and half of the
// kernels at least start while the log is written.
func queuedClock(p *Process) clocks {
	if len(p.Calls) == 0 || len(p.Kernels) == 0 {
		return clocks{}
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, c := range p.Calls {
		if !c.HasEnter {
			return clocks{}
		}
		first, last = min(first, c.Enter), max(last, c.Enter)
	}
	within := 0
	for i := range p.Kernels {
		k := &p.Kernels[i]
		if k.HasLaunch || k.Replay {
			return clocks{}
		}
		if k.Start >= first-agreeing && k.Start <= last+overlap {
			within++
		}
	}
	if 2*within < len(p.Kernels) {
		return clocks{}
	}
	return clocks{use: true, queued: true}
}

// learnQueue takes from what is aligned how far clocks are apart, by the shortest delays, and the longest delay; no
// clock, if the shortest is not that of clocks which agree.
func learnQueue(parts []part, results []*needleman.Result) clocks {
	var lags []float64
	for i, r := range results {
		e := parts[i].evidence
		for _, p := range r.Pairs {
			if e.launches[p.Row].Lead >= 0 {
				lags = append(lags, float64(e.kernels[p.Column].Start-e.stamps[p.Row]))
			}
		}
	}
	if len(lags) < leastLags {
		return clocks{}
	}
	shortest := robust.Quantile(lags, 0.01)
	if math.Abs(shortest) > agreeing {
		return clocks{}
	}
	return clocks{use: true, queued: true, offset: int64(shortest), longest: int64((1+longer)*slices.Max(lags)) + agreeing}
}

// combine returns the clocks that hold for two members of a communicator: nothing, where one does not know.
func (c clocks) combine(o clocks) clocks {
	if !c.use || !o.use {
		return clocks{}
	}
	return clocks{use: true, queued: true, offset: min(c.offset, o.offset), longest: max(c.longest, o.longest)}
}

// queuedWindow bounds when the kernel of a launch may start.
func (e *evidence) queuedWindow(i int) (least, most int64) {
	least, most = e.stamps[i]+e.clock.offset-agreeing, math.MaxInt64-1
	if e.clock.longest > 0 {
		most = e.stamps[i] + e.clock.longest
	}
	return least, most
}

// queuePenalty returns how much less likely a kernel was queued for as long as it would have been than not at all, as a logarithm.
func (e *evidence) queuePenalty(i int, k *comms.Kernel) float64 {
	if !e.clock.queued || e.launches[i].Lead < 0 {
		return 0
	}
	return -0.15 * math.Log1p(float64(max(k.Start-e.stamps[i]-e.clock.offset, 0))/idle)
}
