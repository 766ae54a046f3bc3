package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Communication judges what calls and kernels of NCCL show: which rank enters
// collectives last, which link or communicator is slow.
func Communication(r *comm.Result) RunVerdict { return communicationBy(r, gates.Default()) }

// communicationBy is Communication with other thresholds.
func communicationBy(r *comm.Result, g gates.Gates) RunVerdict {
	var found []heardSuspect
	for _, s := range suspects.Find(r) {
		h := heardSuspect{r: r, Suspect: s, gates: g}
		h.f = h.finding()
		found = append(found, h)
	}
	slices.SortStableFunc(found, func(a, b heardSuspect) int { return byWeight(&a.f, &b.f) })
	v := RunVerdict{Undecided: undecidedCommunication(r), Communications: communications(r)}
	for _, h := range found {
		v.Findings = append(v.Findings, h.f)
	}
	if len(found) > 0 {
		v.Confidence, v.Next = v.Findings[0].Confidence, found[0].next()
	} else if last := v.Communications.LastMost; last != nil { // a profile shows whether the delay is its own
		v.Next = []answer.Action{{Action: answer.Profile, Ranks: []int{last.Rank}, Peers: besides(r, []int{last.Rank})}}
	}
	return v
}

// heardSuspect is a suspect of the communication and its finding.
type heardSuspect struct {
	r *comm.Result
	suspects.Suspect
	gates gates.Gates
	f     Finding
}

func (h heardSuspect) finding() Finding {
	f := Finding{source: evidence.FromNCCL, Kind: KindRank, Cause: CauseLate, Place: Place{Ranks: h.Ranks}, Cost: Cost{Explained: h.Cost, Score: h.Share, Gain: h.Share, RunGain: h.Share},
		BelowMinGain: h.Share < h.gates.StaticGain}
	if len(h.Hosts) == 1 {
		f.Host = h.Hosts[0]
	}
	if h.Scope == suspects.OneRank {
		f.Rank = &h.Ranks[0]
	}
	switch {
	case h.Late != nil:
		f.Evidence = []evidence.Observation{h.lastToEnter()}
	case h.Scope == suspects.WholeComm:
		f.Kind, f.Cause, f.Op, f.Evidence = KindGroup, CauseCollective, h.work(), h.slowEvidence()
		f.Group = groupName(h.communicator())
	default:
		f.Kind, f.Cause, f.Op, f.Evidence = KindEdge, CauseLink, h.work(), h.slowEvidence()
	}
	f.Confidence = evidence.Strong
	h.lacks(&f)
	if h.Share < enoughShare {
		f.Confidence, f.BelowMinGain = evidence.Insufficient, true
	}
	return f
}

func (h heardSuspect) cell() *comm.Cell { return &h.r.Speed.Cells[h.Worst.Cell] }
func (h heardSuspect) work() string     { return h.r.WorkOf(h.cell()) }

func (h heardSuspect) limit() comm.Limit { return h.cell().Limit }

func (h heardSuspect) communicator() *parallel.Communicator {
	return &h.r.Communicators[h.r.Speed.Subjects[h.Subjects[0]].Communicator]
}

// subject is what is slow.
func (h heardSuspect) subject() evidence.Subject {
	s := evidence.Subject{Scope: evidence.Scope(h.Scope), Ranks: h.Ranks, Hosts: h.Hosts}
	if h.Scope == suspects.WholeComm {
		s.Called = kindName(h.communicator())
	}
	return s
}

// bytes is the least of a size class.
func bytes(class int) int64 { return 1 << min(class, 62) }

// slowLink is what is slow, and how slow.
func (h heardSuspect) slowLink() evidence.SlowLink {
	c, l := h.cell(), h.limit()
	e := evidence.SlowLink{Between: h.subject(), Op: h.work(), Bytes: bytes(c.Class), Bandwidth: c.Bus, Peers: h.Worst.Peers, PeersHave: h.Worst.Bus,
		Lost: h.Cost, Share: h.Share}
	if l.Bandwidth > 0 {
		e.Link, e.Limit, e.Reaches = l.Source(), l.Bandwidth, c.Efficiency
	}
	if h.Smallest >= 0 {
		e.From = bytes(h.Smallest)
	}
	switch {
	case h.Scope == suspects.OneRank || h.Scope == suspects.OneHost || h.Scope == suspects.TwoHosts:
		e.AllOfKind = len(h.Subjects)
	case h.Scope == suspects.WholeComm && len(h.Hosts) > 1:
		e.AnyLinkOf = true
	}
	return e
}

// slowEvidence is what speaks against a link or a communicator.
func (h heardSuspect) slowEvidence() []evidence.Observation {
	list := []evidence.Observation{h.slowLink()}
	n := 0
	for _, x := range slices.Concat(h.r.Speed.Suspects, h.r.Speed.Unsettled) {
		if !slices.Contains(h.Subjects, x.Subject) {
			continue
		}
		for _, e := range x.Evidence {
			if n++; n <= mostComparisons {
				list = append(list, h.comparison(e))
			}
		}
	}
	if n > mostComparisons {
		last := list[len(list)-1].(evidence.Bandwidth)
		last.More = n - mostComparisons
		list[len(list)-1] = last
	}
	return list
}

func (h heardSuspect) comparison(e comm.Evidence) evidence.Bandwidth {
	c := &h.r.Speed.Cells[e.Cell]
	b := evidence.Bandwidth{Op: h.r.WorkOf(c), Bytes: bytes(c.Class), Bandwidth: c.Bus, Calls: len(c.Calls), Peers: e.Peers, PeersHave: e.Bus, P: e.P}
	if h.r.Speed.Subjects[c.Subject].Edge {
		b.Ranks, b.Message = h.r.RanksOf(c.Subject), evidence.OneWay
		switch c.Op {
		case nccl.Recv:
			slices.Reverse(b.Ranks)
		case nccl.SendRecv:
			b.Message = evidence.BothWays
		}
	} else if len(h.Subjects) > 1 {
		b.Ranks = h.r.RanksOf(c.Subject)
	}
	return b
}

// lastToEnter is what speaks against a rank.
func (h heardSuspect) lastToEnter() evidence.LastToEnter {
	l := h.Late
	return evidence.LastToEnter{Source: evidence.FromNCCL, Rank: h.Ranks[0], N: l.Last, Of: l.Of, Delay: l.Usual, Share: h.Share, P: h.Chance, Among: len(h.r.Ranks),
		Own: l.Own, Waited: l.Waited, Transfer: l.Moving}
}

// lacks is why the suspect is not more certain.
func (h heardSuspect) lacks(f *Finding) {
	slow := h.Late == nil
	f.lackIf(h.Settled == suspects.Open, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Ambiguous, N: 1})
	f.lackIf(h.Settled == suspects.ByLimit, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Supported, N: 1})
	f.lackIf(h.Chance > h.gates.SyncPoint.Significance, evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Supported, P: h.gates.SyncPoint.Significance})
	f.lackIf(slow && h.limit().Bandwidth == 0, evidence.Lack{Reason: evidence.LimitUnknown, AtMost: evidence.Supported})
	f.lackIf(slow && h.Settled == suspects.ByPeers && h.Worst.Peers == 2, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Supported, N: 2})
}

// next is what to do about it.
func (h heardSuspect) next() []answer.Action {
	a := answer.Action{Action: answer.TestLink, Ranks: slices.Concat(h.Ranks, h.Partners)}
	if h.Late != nil {
		a.Action, a.Peers = answer.Profile, besides(h.r, h.Ranks)
	}
	for i := range h.r.Communicators {
		if n := h.r.Communicators[i].Steps; n > 0 {
			a.Steps = &[2]int64{0, int64(n - 1)}
			break
		}
	}
	return []answer.Action{a}
}

// besides is one rank that shares a communicator with a suspect and is none.
func besides(r *comm.Result, ranks []int) []int {
	for i := range r.Communicators {
		c := &r.Communicators[i]
		if !slices.Contains(c.Ranks, ranks[0]) {
			continue
		}
		for _, k := range c.Ranks {
			if !slices.Contains(ranks, k) {
				return []int{k}
			}
		}
	}
	return nil
}
