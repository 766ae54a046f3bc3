package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/gates"
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

// differEntered returns who differs in the own work between calls that ranks wait for; nil where no steps show in the calls,
// or the clocks are not known. A clock that is off shows as work that is always longer by as much. Where the steps were
// tested as well, each test has half of the level.
func differEntered(r *arrivals.Result, tested bool) *latent.Result {
	if r.Division == nil || r.HalfWidth < 0 || len(r.Division.Points) == 0 {
		return nil
	}
	w := latent.FromDivision(&r.Division.Division)
	if w.Ranks < 2 || w.Step <= 0 {
		return nil
	}
	if r.Division.PeersOf != nil {
		w.Peers = r.Division.PeersOf
	}
	w.Resolution = r.HalfWidth
	o := latent.Options{Screen: true}
	if tested {
		o.Level, o.Blame = gates.Supported/12, gates.Supported/2
	}
	out, err := latent.Test(&w, o)
	if err != nil {
		return nil
	}
	return out
}

// unit returns the unit in which the times of a stretch are whole multiples, ns.
func (s stretch) unit() int64 {
	return points.Unit(s.windows[0].Durations)
}

// joinLatent returns who differs in the own work of the run; nil where nothing was tested.
func joinLatent(list []*completeStretch, at stepPlaces) *latent.Result {
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
		if e := j.differsEntered; e != nil && len(e.Claims()) > 0 && len(j.differs.Claims()) == 0 { // it is how they were tested
			out = latentOf(e)
		}
		for _, c := range j.differs.Claims() {
			out.Differences = append(out.Differences, j.difference(&c))
		}
		out.Differences = j.addEntered(out.Differences)
	case len(j.windows) == 0 && j.operators == nil && j.differsEntered != nil:
		out = latentOf(j.differsEntered)
		out.Differences = j.addEntered(nil)
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

// differenceOf returns how a claim's rank differs, and how surely.
func differenceOf(c *claim.Claim) answer.Difference {
	return answer.Difference{Difference: *c.Difference, Confidence: confidenceIn(c.Certainty), P: c.P}
}

// difference returns a claim of the second stage as an answer.
func (j *judge) difference(c *claim.Claim) answer.Difference {
	out := differenceOf(c)
	out.Rank, out.Host = j.placed.ranks[c.Rank()], j.placed.hostOf(c.Rank())
	if len(j.placed.ranks) == 2 {
		out.Peer = &j.placed.ranks[1-c.Rank()]
	}
	for _, p := range c.Parts {
		if out.Sum && p.Size == 0 { // it has no part in the sum
			continue
		}
		out.Stages = append(out.Stages, answer.Excess{Stage: j.stageName(p.Stage), Time: p.Size})
	}
	return out
}

// addEntered adds the ranks that differ between calls to differences of the steps, in which stages that all wait in are
// not seen.
func (j *judge) addEntered(list []answer.Difference) []answer.Difference {
	if j.differsEntered == nil {
		return list
	}
	for _, c := range j.differsEntered.Claims() {
		d := j.differenceEntered(&c)
		if !slices.ContainsFunc(list, func(have answer.Difference) bool { return have.Rank == d.Rank && have.Confidence >= d.Confidence }) {
			list = append(slices.DeleteFunc(list, func(have answer.Difference) bool { return have.Rank == d.Rank }), d)
		}
	}
	return list
}

// differenceEntered returns a claim of the second stage about work between calls as an answer.
func (j *judge) differenceEntered(c *claim.Claim) answer.Difference {
	r, out := j.entered, differenceOf(c)
	out.Rank, out.Host = r.Ranks[c.Rank()], j.places[r.Ranks[c.Rank()]].host
	if len(r.Ranks) == 2 {
		out.Peer = &r.Ranks[1-c.Rank()]
	}
	for _, p := range c.Parts {
		if out.Sum && p.Size == 0 { // it has no part in the sum
			continue
		}
		at := &r.Places[p.Stage]
		name := stageOf(at)
		if name == "" {
			name = operation(at.Op)
		}
		out.Stages = append(out.Stages, answer.Excess{Stage: name, Time: p.Size})
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
	switch {
	case j.differs != nil:
	case j.operators != nil:
		of = evidence.FromOperators
	default:
		of = evidence.FromArrivals
	}
	for i := range out {
		f := &out[i]
		if f.Rank == nil || !f.names(*f.Rank) || f.source != of {
			continue
		}
		own := slices.IndexFunc(r.Differences, func(d answer.Difference) bool { return f.names(d.Rank) })
		other := slices.IndexFunc(r.Differences, func(d answer.Difference) bool {
			return !d.Named && d.Slower() && d.Confidence == evidence.Strong
		})
		switch {
		case own >= 0 && r.Differences[own].Confidence >= evidence.Supported:
			d := &r.Differences[own]
			e := evidence.Distribution{Rank: d.Rank, Level: d.Level, Margin: r.Margin, D: d.D, P: d.P, Last: d.Last, Of: d.Of, Workers: d.StandsFor != nil, Walks: d.Walks, Symptoms: d.Symptoms, Several: d.Sum}
			if !d.Sum && d.Stages[0].Stage != stagename.Residual {
				e.Stage = d.Stages[0].Stage
			}
			f.Evidence = insertBeside(f.Evidence, []evidence.Observation{e}, nil)
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
