package align

import (
	"sort"

	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/trace/comms"
)

// Process is what is known of one process: the calls it logged and the kernels it ran.
type Process struct {
	Calls   []*comms.Call  // in the order of the log
	Groups  []comms.Group  // that calls may be on
	Kernels []comms.Kernel // of NCCL, in any order
	Clock   int            // of the kernels' times: processes with the same one compare
}

// Match is one kernel with the calls that it ran.
type Match struct {
	Kernel int
	Launch int   // index of Matching.Launches
	Margin int32 // tenths of a nat by which the best alignment beats any without this match
}

// Matching is the result for one process.
type Matching struct {
	Launches []Launch
	Why      []Reason // of every call
	Matches  []Match

	streams    map[uint64]int64 // of the log, which of the trace each is
	clock      clocks           // as fitted
	beginnings []Beginnings
}

// IsCertain reports whether the match holds in every alignment that is nearly as good.
func (m *Matching) IsCertain(k Match) bool { return k.Margin >= certainMargin }

// Calls pairs the calls of a process with its kernels: groups become launches ([Plan]), the log's
// streams the trace's, and each stream's launches are aligned with its kernels,
// twice or more: what kernels calls of one kind usually run in, and how long after the
// stamp they are launched, is learned from one alignment for the next.
func Calls(p Process, o Options) (*Matching, error) {
	var clock clocks
	switch {
	case o.Clockless:
	case hasTimes(&p):
		clock = roughOffset(&p)
	default:
		clock = queuedClock(&p)
	}
	return calls(p, o, clock)
}

// calls aligns as [Calls] does; clock holds how times compare, as far as known.
func calls(p Process, o Options, clock clocks) (*Matching, error) {
	launches, why := Plan(&p, len(p.Kernels))
	m := &Matching{Launches: launches, Why: why, streams: map[uint64]int64{}}
	clock.threads = sharesThread(&p)
	parts := divide(&p, launches, clock)
	results := make([]*needleman.Result, len(parts))
	for round := range rounds {
		for i := range parts {
			if round > 0 {
				parts[i].learn(results[i])
			}
			parts[i].setClock(clock)
			var err error
			if results[i], err = needleman.Solve(parts[i].evidence, alone); err != nil {
				return nil, err
			}
		}
		switch {
		case clock.queued && clock.longest == 0:
			clock = learnQueue(parts, results)
		case clock.use && !clock.queued:
			clock = learnClock(parts, results, clock)
		}
	}
	if !clock.use {
		for i := range parts {
			var err error
			if results[i], err = parts[i].refineByStarts(results[i]); err != nil {
				return nil, err
			}
		}
	}
	m.clock = clock
	m.collect(parts, results)
	return m, nil
}

// hasTimes reports whether the calls have stamps and the kernels launches, so that times count.
func hasTimes(p *Process) bool {
	calls, kernels := 0, 0
	for _, c := range p.Calls {
		if c.HasEnter {
			calls++
		}
	}
	for i := range p.Kernels {
		if p.Kernels[i].HasLaunch || p.Kernels[i].Replay {
			kernels++
		}
	}
	return calls > 0 && calls == len(p.Calls) && kernels > 0 && kernels == len(p.Kernels)
}

// sharesThread reports whether the two sides number threads alike: in a container they may
// not.
func sharesThread(p *Process) bool {
	logged := map[int64]bool{}
	for _, c := range p.Calls {
		logged[c.Thread] = true
	}
	for i := range p.Kernels {
		if t := p.Kernels[i].Thread; t != 0 && logged[t] {
			return true
		}
	}
	return false
}

// part is one stream: some launches and some kernels.
type part struct {
	*evidence
	log       uint64
	trace     int64
	launchIDs []int // of Matching.Launches
	kernelIDs []int
	doubtful  bool // other streams would fit as well, or nearly
}

// collect makes the matching of the parts' alignments.
func (m *Matching) collect(parts []part, results []*needleman.Result) {
	for i, r := range results {
		part := &parts[i]
		if part.doubtful {
			for k := range r.Pairs {
				r.Pairs[k].Margin = min(r.Pairs[k].Margin, certainMargin-1)
			}
		}
		m.streams[part.log] = part.trace
		for _, p := range r.Pairs {
			m.Matches = append(m.Matches, Match{Kernel: part.kernelIDs[p.Column], Launch: part.launchIDs[p.Row], Margin: p.Margin})
		}
		if b, several := part.beginningsOf(m.Launches); several {
			m.beginnings = append(m.beginnings, b)
		}
	}
	sort.Slice(m.Matches, func(a, b int) bool { return m.Matches[a].Kernel < m.Matches[b].Kernel })
}
