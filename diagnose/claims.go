package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
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
