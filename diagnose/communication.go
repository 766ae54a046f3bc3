package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Communication judges what calls and kernels of NCCL show: which rank enters
// collectives last, which link or communicator is slow.
func Communication(r *comm.Result) RunVerdict {
	g := gates.Default()
	return communicationBy(r, g, g.StaticGain)
}

// communicationBy returns the same by other thresholds, and another part of the run from which on a suspect is worth
// acting on.
func communicationBy(r *comm.Result, g gates.Gates, minGain float64) RunVerdict {
	var found []heardSuspect
	for _, s := range suspects.Find(r) {
		h := heardSuspect{r: r, Claim: s, gates: g, minGain: minGain}
		h.f = h.finding()
		found = append(found, h)
	}
	slices.SortStableFunc(found, func(a, b heardSuspect) int { return compareWeight(&a.f, &b.f) })
	v := RunVerdict{Undecided: undecidedCommunication(r), Communications: communications(r)}
	for _, h := range found {
		v.Findings = append(v.Findings, h.f)
	}
	if len(found) > 0 {
		v.Confidence, v.Next = v.Findings[0].Confidence, found[0].next()
	} else if last := v.Communications.LastMost; last != nil { // a profile shows whether the delay is its own
		v.Next = []answer.Action{{Action: answer.Profile, Ranks: []int{last.Rank}, Peers: unsuspectedMember(r, []int{last.Rank})}}
	}
	return v
}

// heardSuspect is a claim about the communication and its finding.
type heardSuspect struct {
	r *comm.Result
	claim.Claim
	gates   gates.Gates
	minGain float64
	f       Finding
}

func (h heardSuspect) cell() *comm.Cell { return &h.r.Speed.Cells[h.Bandwidth.Cell] }
func (h heardSuspect) work() string     { return h.r.WorkOf(h.cell()) }

func (h heardSuspect) limit() comm.Limit { return h.cell().Limit }

func (h heardSuspect) communicator() *parallel.Communicator {
	return &h.r.Communicators[h.r.Speed.Subjects[h.Bandwidth.Subjects[0]].Communicator]
}

// subject returns the slow communicator, link or pair.
func (h heardSuspect) subject() evidence.Subject {
	s := evidence.Subject{Scope: evidence.Scope(h.Bandwidth.Scope), Ranks: h.Ranks, Hosts: h.Hosts}
	if h.Kind == claim.Communicator {
		s.Called = kindName(h.communicator())
	}
	return s
}

// bytes returns the least size of a size class.
func bytes(class int) int64 { return 1 << min(class, 62) }

// slowLink returns the slow link and its slowdown.
func (h heardSuspect) slowLink() evidence.SlowLink {
	c, l := h.cell(), h.limit()
	e := evidence.SlowLink{Between: h.subject(), Op: h.work(), Bytes: bytes(c.Class), Bandwidth: c.Bus, Peers: h.Bandwidth.Peers, PeersHave: h.Bandwidth.Bus,
		Lost: h.Charged(), Share: h.Saves.Largest()}
	if l.Bandwidth > 0 {
		e.Link, e.Limit, e.Reaches = l.Source(), l.Bandwidth, c.Efficiency
	}
	if h.Bandwidth.Smallest >= 0 {
		e.From = bytes(h.Bandwidth.Smallest)
	}
	switch {
	case h.Bandwidth.Scope == claim.OneRank || h.Bandwidth.Scope == claim.OneHost || h.Bandwidth.Scope == claim.TwoHosts:
		e.AllOfKind = len(h.Bandwidth.Subjects)
	case h.Kind == claim.Communicator && len(h.Hosts) > 1:
		e.AnyLinkOf = true
	}
	return e
}

// slowEvidence returns the evidence against a link or a communicator.
func (h heardSuspect) slowEvidence() []evidence.Observation {
	list := []evidence.Observation{h.slowLink()}
	n := 0
	for _, x := range slices.Concat(h.r.Speed.Suspects, h.r.Speed.Unsettled) {
		if !slices.Contains(h.Bandwidth.Subjects, x.Subject) {
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
	} else if len(h.Bandwidth.Subjects) > 1 {
		b.Ranks = h.r.RanksOf(c.Subject)
	}
	return b
}

// next returns the next action for the suspect.
func (h heardSuspect) next() []answer.Action {
	a := answer.Action{Action: answer.Profile, Ranks: h.Ranks}
	if h.Bandwidth != nil {
		a.Action, a.Ranks = answer.TestLink, slices.Concat(h.Ranks, h.Bandwidth.Partners)
	} else {
		a.Peers = unsuspectedMember(h.r, h.Ranks)
	}
	for i := range h.r.Communicators {
		if n := h.r.Communicators[i].Steps; n > 0 {
			a.Steps = &[2]int64{0, int64(n - 1)}
			break
		}
	}
	return []answer.Action{a}
}

// unsuspectedMember returns a rank that shares a communicator with a suspect and is not suspected.
func unsuspectedMember(r *comm.Result, ranks []int) []int {
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
