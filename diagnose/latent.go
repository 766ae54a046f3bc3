package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/latent"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/stagename"
)

// differ returns who differs in the own work of steps that are divided, whose times are whole multiples of a unit in ns.
func differ(d *division, unit int64, o latent.Options) *latent.Result {
	w := latent.FromDivision(d.Division)
	if w.Ranks < 2 || w.Step <= 0 {
		return nil
	}
	if d.run.Peers != nil {
		w.Peers = d.run.Peers
	}
	w.Resolution = unit
	out, err := latent.Test(&w, o)
	if err != nil { // an account that no test takes, such as of times that cannot be
		return nil
	}
	return out
}

// unit returns the unit in which the times of a stretch are whole multiples, ns.
func (s stretch) unit() int64 {
	return points.Unit(s.windows[0].durations)
}

// differing returns who differs in the own work of the run; nil where nothing was tested.
func differing(list []*looked, at placed) *latent.Result {
	var of []*latent.Result
	for _, l := range list {
		alike := l.latent != nil && slices.Equal(l.placed.ranks, at.ranks)
		if i := slices.IndexFunc(of, func(r *latent.Result) bool { return !r.Screened && len(r.Columns) > 0 }); alike && i >= 0 && !l.latent.Screened {
			alike = slices.Equal(of[i].Columns, l.latent.Columns) || l.latent.Blocks.Refused != blocks.Judged
		}
		if alike {
			of = append(of, l.latent)
		}
	}
	return latent.Join(of)
}

// latent returns what the second stage shows beside claims: of the steps, or of a run without windows of its operators. nil
// where it had nothing to test.
func (j *judge) latent(claims []Finding) *answer.Latent {
	var out *answer.Latent
	switch {
	case j.differs != nil:
		out = latentOf(j.differs)
		for _, c := range j.differs.Claims() {
			out.Differences = append(out.Differences, j.difference(&c))
		}
	case len(j.windows) > 0 || j.operators == nil || j.operators.Latent == nil:
		return nil
	default:
		operators := *j.operators.Latent
		out = &operators
		out.Differences = slices.Clone(out.Differences)
	}
	for i := range out.Differences {
		d := &out.Differences[i]
		d.Named = slices.ContainsFunc(claims, func(f Finding) bool { return f.names(d.Rank) })
	}
	return out
}

// latentOf returns how a result was tested.
func latentOf(r *latent.Result) *answer.Latent {
	out := &answer.Latent{Screened: r.Screened, Steps: r.Blocks.Steps, Step: r.Step, Margin: r.Margin, Tau: r.Blocks.Tau, Block: r.Blocks.Length, Blocks: r.Blocks.N}
	if r.Blocks.Refused != blocks.Judged {
		out.Refused = answer.Refusal(r.Blocks.Refused.String())
	}
	return out
}

// differenceOf returns by how much a claim's rank differs, and how surely.
func differenceOf(c *claim.Claim) answer.Difference {
	d := c.Difference
	out := answer.Difference{Sum: d.Sum, Confidence: confidenceIn(c.Certainty), Slower: d.Slower(), Level: d.Level, Total: d.Total,
		D: d.D, P: c.P, Alone: d.Alone, Blame: d.Blame, Last: d.Last, Of: d.Of, Together: d.Together}
	for _, p := range d.Places {
		out.Places = append(out.Places, answer.LatentPlace(p))
	}
	for _, q := range d.Quarters {
		out.Quarters = append(out.Quarters, answer.LatentQuarter(q))
	}
	return out
}

// difference returns a claim of the second stage as an answer.
func (j *judge) difference(c *claim.Claim) answer.Difference {
	d, out := c.Difference, differenceOf(c)
	out.Rank, out.Host = j.placed.ranks[c.Rank()], j.placed.hostOf(c.Rank())
	if len(j.placed.ranks) == 2 {
		out.Peer = &j.placed.ranks[1-c.Rank()]
	}
	for _, p := range c.Parts {
		if d.Sum && p.Size == 0 { // it has no part in the sum
			continue
		}
		out.Stages = append(out.Stages, answer.Excess{Stage: j.stageName(p.Stage), Time: p.Size})
	}
	return out
}

// names reports whether a finding says that a rank is late, however certain.
func (f *Finding) names(rank int) bool {
	return (f.Cause == CauseLate || f.Cause == CauseCompute || f.Cause == CauseLaunch) && slices.Contains(f.lateRanks(), rank)
}

// heedLatent holds the second stage against claims of the same steps: where it names their rank it is evidence, with the
// piece; where it names another one at the strong level, that no claim has, and does not find the one that is late in
// all steps, that claim is at most supported. Silence contradicts nothing.
func (j *judge) heedLatent(claims []Finding) []Finding {
	r := j.latent(claims)
	if r == nil || len(r.Differences) == 0 {
		return claims
	}
	out, of := slices.Clone(claims), evidence.Source("")
	if j.differs == nil {
		of = evidence.FromOperators
	}
	for i := range out {
		f := &out[i]
		if f.Rank == nil || !f.names(*f.Rank) || f.source != of {
			continue
		}
		own := slices.IndexFunc(r.Differences, func(d answer.Difference) bool { return f.names(d.Rank) })
		other := slices.IndexFunc(r.Differences, func(d answer.Difference) bool {
			return !d.Named && d.Slower && d.Confidence == evidence.Strong
		})
		switch {
		case own >= 0 && r.Differences[own].Confidence >= evidence.Supported:
			d := &r.Differences[own]
			e := evidence.Distribution{Rank: d.Rank, Level: d.Level, Margin: r.Margin, D: d.D, P: d.P, Last: d.Last, Of: d.Of, Workers: d.StandsFor != nil, Walks: d.Walks, Symptoms: d.Symptoms, Several: d.Sum}
			if !d.Sum && d.Stages[0].Stage != stagename.Residual {
				e.Stage = d.Stages[0].Stage
			}
			f.Evidence = withBeside(f.Evidence, []evidence.Observation{e}, nil)
		case own < 0 && other >= 0 && f.Struck.Pattern == PatternConstant:
			d := &r.Differences[other]
			f.lack(evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported, Rank: &d.Rank, P: d.P})
		}
	}
	return out
}

// hearsLatent reports whether the second stage names a rank that is waited for.
func (j *judge) hearsLatent() bool {
	return slices.ContainsFunc(j.differs.Claims(), func(c claim.Claim) bool { return c.Certainty > claim.Event })
}
