package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/engine/gates"
)

// lateArrivals returns the findings of ranks that arrive late by their own delay.
func (j *judge) lateArrivals(r *arrivals.Result) (out []Finding) {
	for _, c := range slices.Concat(r.Late, r.Doubted) {
		l, p, rank := c.Entered, &r.Places[c.Entered.Place], c.Rank()
		f := Finding{source: evidence.FromArrivals, Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Host: c.HostName(), Stage: lostIn(l, p), Op: operation(p.Op), Group: groupOf(c.Group, l.Desc), Source: sourceOf(p.Line)},
			Cost: Cost{Excess: c.Size, Step: c.Length, Explained: c.Charged(), Score: c.Saves.Most(), Gain: c.StruckGain(r.End - r.Begin),
				RunGain: c.Saves.Alone, RunLow: min(c.Saves.Low, c.Saves.Alone), RunAtMost: c.Saves.Most(), After: c.Saves.After,
				Struck: Struck{Count: c.Steps.Count, Of: c.Steps.Of, First: l.Recorded[0], Last: l.Recorded[1], Pattern: modelPattern(c.Steps.Pattern), Period: c.Steps.Period}},
			Confidence: evidence.Strong, BelowMinGain: c.Saves.Most() < j.minGain}
		f.Evidence = append(f.Evidence, evidence.LastToEnter{Source: evidence.FromArrivals, Rank: rank, N: l.Last, Of: l.Points, Op: f.Op, Group: f.Group, Delay: l.Delay, Strikes: l.Strikes, P: c.P, Line: f.Source, After: sourceOf(comeFrom(p))},
			evidence.Replay{Ranks: c.Together, Saves: c.Saves.Alone, Charged: c.Saves.Most()})
		if len(c.Together) > 1 {
			f.Ranks = c.Together
			f.Evidence = append(f.Evidence, evidence.LateTogether{Ranks: c.Together, Gain: c.Saves.Most(), RunGain: c.Saves.Most()})
		}
		switch {
		case c.Certainty == claim.Event:
			f.lack(evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous, N: c.Steps.Count, P: gates.Supported})
		case c.Certainty < claim.Strong:
			f.lack(evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Supported, N: c.Steps.Count, P: c.P})
		}
		if r.Apart {
			f.lack(evidence.Lack{Reason: evidence.WaitNotRecorded, AtMost: evidence.Supported})
		}
		if l.Clock {
			f.lack(evidence.Lack{Reason: evidence.ClockOffset, AtMost: evidence.Supported})
		}
		j.locate(&f)
		out = append(out, f)
	}
	return out
}

// lostIn returns the stage in which a late rank loses its time: by stage times, else the
// stage of the call that it enters late.
func lostIn(l *claim.Entered, p *arrivals.Place) string {
	if l.Divided {
		return l.Stage
	}
	return stageOf(p)
}

// finding returns the finding of a claim about the communication.
func (h heardSuspect) finding() Finding {
	share := h.Saves.Most()
	f := Finding{source: evidence.FromNCCL, Kind: KindRank, Cause: CauseLate, Place: Place{Ranks: h.Ranks, Host: h.HostName()}, Cost: Cost{Explained: suspects.Cost(&h.Claim), Score: share, Gain: share, RunGain: share},
		BelowMinGain: share < h.gates.StaticGain}
	if h.Kind == claim.Rank || h.Bandwidth != nil && h.Bandwidth.Scope == claim.OneRank {
		f.Rank = &h.Ranks[0]
	}
	switch h.Kind {
	case claim.Rank:
		f.Evidence = []evidence.Observation{h.lastToEnter()}
	case claim.Communicator:
		f.Kind, f.Cause, f.Op, f.Evidence = KindGroup, CauseCollective, h.work(), h.slowEvidence()
		f.Group = groupName(h.communicator())
	default:
		f.Kind, f.Cause, f.Op, f.Evidence = KindEdge, CauseLink, h.work(), h.slowEvidence()
	}
	f.Confidence = evidence.Strong
	h.lacks(&f)
	if share < enoughShare {
		f.Confidence, f.BelowMinGain = evidence.Insufficient, true
	}
	return f
}

// lastToEnter returns what speaks against a rank.
func (h heardSuspect) lastToEnter() evidence.LastToEnter {
	l := h.Entered
	return evidence.LastToEnter{Source: evidence.FromNCCL, Rank: h.Ranks[0], N: l.Last, Of: l.Points, Delay: l.Delay, Share: h.Saves.Most(), P: h.P, Among: len(h.r.Ranks),
		Own: l.Own, Waited: l.Waited, Transfer: l.Transfer}
}

// lacks adds why the claim is not more certain.
func (h heardSuspect) lacks(f *Finding) {
	if b := h.Bandwidth; b != nil {
		f.lackIf(b.Settled == claim.Open, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Ambiguous, N: 1})
		f.lackIf(b.Settled == claim.ByLimit, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Supported, N: 1})
	}
	f.lackIf(h.P > h.gates.SyncPoint.Significance, evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Supported, P: h.gates.SyncPoint.Significance})
	if b := h.Bandwidth; b != nil {
		f.lackIf(h.limit().Bandwidth == 0, evidence.Lack{Reason: evidence.LimitUnknown, AtMost: evidence.Supported})
		f.lackIf(b.Settled == claim.ByPeers && b.Peers == 2, evidence.Lack{Reason: evidence.FewPeers, AtMost: evidence.Supported, N: 2})
	}
}
