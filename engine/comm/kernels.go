package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/trace/comms"
)

// match pairs the calls of each rank with its kernels.
func (r *Result) match(m *members, t *tiedCalls, by Scoring) error {
	switch by {
	case ByThesis:
		return r.matchNames(align.ByThesis)
	case BySliding:
		return r.matchNames(func(p align.Process) ([]needleman.Pair, error) { return align.BySliding(p, align.SlidingWindow), nil })
	}
	var ps []align.Process
	var ranks []int
	at := map[int]int{}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		switch {
		case !k.hasCalls() || k.Profile == comms.None:
		case k.Join != Unjoined:
			if err := r.matchTied(i, t); err != nil {
				return err
			}
		default:
			k.Join = ByAlignment
			at[i] = len(ps)
			p, _ := r.alignInput(i)
			ps, ranks = append(ps, p), append(ranks, i)
		}
	}
	var groups [][]align.Member
	if by != ClocklessAlone {
		groups = m.alignSides(at)
	}
	all, err := align.Joint(ps, groups, align.Options{Clockless: by != ByEvidence})
	if err != nil {
		return err
	}
	for i, found := range all {
		k := &r.Ranks[ranks[i]]
		k.Matching = found
		for _, x := range found.Matches {
			for _, c := range found.Launches[x.Launch].Calls {
				r.Matches = append(r.Matches, Match{ranks[i], k.Calls[c], x.Kernel, found.IsCertain(x)})
			}
		}
	}
	return nil
}

// matchTied takes the matches that NVTX ranges or a dump tell, and aligns what calls and kernels they leave.
func (r *Result) matchTied(rank int, t *tiedCalls) error {
	k := &r.Ranks[rank]
	kernels, calls := map[int]bool{}, map[int]bool{}
	for _, x := range t.ties[rank] {
		r.Matches = append(r.Matches, Match{rank, x.call, x.kernel, x.sure})
		kernels[x.kernel], calls[x.call] = true, true
	}
	if k.Join == ByNumber { // a sample, in no order that tells
		return nil
	}
	p := align.Process{Clock: r.clockOf(rank), Groups: r.Groups}
	var callOf, kernelOf []int
	for _, c := range k.Calls {
		if _, found := t.began[c]; !found && !calls[c] {
			p.Calls, callOf = append(p.Calls, &r.Calls[c]), append(callOf, c)
		}
	}
	for j, x := range r.Kernels(rank) {
		if !kernels[j] {
			p.Kernels, kernelOf = append(p.Kernels, x), append(kernelOf, j)
		}
	}
	if len(p.Calls) == 0 || len(p.Kernels) == 0 {
		return nil
	}
	m, err := align.Calls(p, align.Options{})
	if err != nil {
		return err
	}
	for _, x := range m.Matches {
		for _, c := range m.Launches[x.Launch].Calls {
			r.Matches = append(r.Matches, Match{rank, callOf[c], kernelOf[x.Kernel], m.IsCertain(x)})
		}
	}
	return nil
}

func (r *Result) matchNames(pair func(align.Process) ([]needleman.Pair, error)) error {
	for i := range r.Ranks {
		k := &r.Ranks[i]
		process, both := r.alignInput(i)
		if !both {
			continue
		}
		pairs, err := pair(process)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			r.Matches = append(r.Matches, Match{i, k.Calls[p.Row], p.Column, false})
		}
	}
	return nil
}

// alignInput returns a rank as the engine takes it: its calls in the order of [Rank.Calls], and its kernels.
// It is false where one side is missing.
func (r *Result) alignInput(rank int) (p align.Process, both bool) {
	k := &r.Ranks[rank]
	if !k.hasCalls() || k.Profile == comms.None {
		return p, false
	}
	p = r.callsOf(k.Calls)
	p.Clock, p.Kernels = r.clockOf(rank), r.Kernels(rank)
	return p, true
}

// reasons returns why each call of a rank launches a kernel, or why it launches none, in the order of [Rank.Calls].
func (r *Result) reasons(rank int) []align.Reason {
	p := r.callsOf(r.Ranks[rank].Calls)
	_, why := align.Plan(&p, 0)
	return why
}

// callsOf returns some of the job's calls as the engine takes them.
func (r *Result) callsOf(calls []int) align.Process {
	p := align.Process{Groups: r.Groups}
	for _, i := range calls {
		p.Calls = append(p.Calls, &r.Calls[i])
	}
	return p
}

// countMatches orders the matches by rank, call and kernel, and counts what has none.
func (r *Result) countMatches() {
	slices.SortFunc(r.Matches, func(x, y Match) int {
		return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Call, y.Call), cmp.Compare(x.Kernel, y.Kernel))
	})
	matched := map[[2]int]bool{}
	for _, m := range r.Matches {
		k := &r.Ranks[m.Rank]
		k.Pairs++
		if m.Certain {
			k.Certain++
		}
		matched[[2]int{m.Rank, m.Kernel}] = true
	}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		for j, x := range r.Kernels(i) {
			if !matched[[2]int{i, j}] && !x.Replay {
				r.Leftover++
			}
		}
		if k.Join == Unjoined || k.Join == ByNumber {
			continue
		}
		launches := 0
		for _, w := range r.reasons(i) {
			if w == align.Launches {
				launches++
			}
		}
		r.Unmatched += max(launches-k.Pairs, 0)
	}
}
