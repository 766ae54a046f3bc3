package comm

import "github.com/sfstat/sfstat/trace/nccl"

// Measure is how fast a collective moved data.
//
// The kernel of a member runs from its own start to the common end, so that the one that comes
// early is long for no fault of its own. Data move once all are there:
//
//	wait of a member = latest start − its own start
//	transfer         = latest end − latest start
//	algorithm bandwidth = S / transfer,   bus bandwidth = algorithm bandwidth · f
//
// with the size S and the factor f of [Convention]. The bus bandwidth can be held against
// a link: in a ring each link carries f·S, whatever the number of ranks
// (nccl-tests, doc/PERFORMANCE.md).
//
// Units: nanoseconds, bytes, and bytes per nanosecond, which are GB/s of 10⁹ bytes.
//
// Assumptions: starts and ends of one call are on one clock; where they are not, Apart
// shows it, because the members of a collective end within microseconds of each other.
type Measure struct {
	Transfer  int64 // nanoseconds; 0: it could not be measured
	Wait      int64 // mean over members, nanoseconds
	Apart     int64 // between the first and the last end of the members
	Algorithm float64
	Bus       float64 // GB/s
}

// Rescale returns the same call with bandwidths over another time than its transfer: by equation 4.10 of the NCCL Trace Profiler
// a kernel's own, in which it also waits for the last.
func (m Measure) Rescale(duration int64) Measure {
	part := float64(m.Transfer) / float64(duration)
	m.Algorithm, m.Bus = m.Algorithm*part, m.Bus*part
	return m
}

// measureSpeed returns how fast c moved data; zero where it has fewer than two members, which move nothing, or they do not overlap as those of
// one call do: their clocks are further apart than the transfer took. The sender of a message or a root may be done before
// the last one starts.
func (c *Collective) measureSpeed(how Convention) (m Measure) {
	n := len(c.Parts)
	if n < 2 {
		return Measure{}
	}
	start, first, last := c.Parts[0].Start, c.Parts[0].End, c.Parts[0].End
	for _, p := range c.Parts {
		start, first, last = max(start, p.Start), min(first, p.End), max(last, p.End)
	}
	m.Transfer, m.Apart = last-start, last-first
	if m.Transfer <= 0 || endsTogether(c.Op) && first <= start {
		return Measure{}
	}
	var waits float64
	for _, p := range c.Parts {
		waits += float64(start - p.Start)
	}
	m.Wait = int64(waits / float64(n))
	m.Algorithm = float64(how.LogicalSize(c.Op, c.Bytes, n)) / float64(m.Transfer)
	m.Bus = m.Algorithm * how.Factor(c.Op, c.algo(), n)
	return m
}

// algo returns the algorithm that NCCL ran it by.
func (c *Collective) algo() nccl.Algo {
	if c.Tuning == nil {
		return nccl.UnknownAlgo
	}
	return c.Tuning.Algo
}

// endsTogether reports whether no member can be done before the last one began.
func endsTogether(op nccl.Op) bool {
	switch op {
	case nccl.AllReduce, nccl.AllGather, nccl.ReduceScatter, nccl.AlltoAll, nccl.AllToAllPivot:
		return true
	}
	return false
}
