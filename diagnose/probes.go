package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/peers"
	"github.com/sfstat/sfstat/trace"
)

// probeTime is the time of a probe in a window.
type probeTime struct {
	channel string
	ranks   []int
	spent   []float64 // of each rank, ns a step that it ran in
	steps   int       // the most of any rank
}

// probesOf sums up the probes of a window. O(samples).
func probesOf(w *trace.Window) (out []probeTime) {
	for _, c := range w.Side {
		if !strings.HasSuffix(c.Name, trace.ProbeSuffix) {
			continue
		}
		sum, n := make([]float64, len(w.Ranks)), make([]int, len(w.Ranks))
		for _, s := range c.Samples {
			if s.Ready {
				sum[s.Rank] += s.Value * 1e6
				n[s.Rank]++
			}
		}
		p := probeTime{channel: c.Name}
		for r, rank := range w.Ranks {
			if n[r] > 0 {
				p.ranks, p.spent = append(p.ranks, rank.ID), append(p.spent, sum[r]/float64(n[r]))
				p.steps = max(p.steps, n[r])
			}
		}
		out = append(out, p)
	}
	return out
}

// probeResolution is the part of their time to which probes are known.
const probeResolution = 0.02

// probes returns the probes in which a late rank takes longer than the others. They change no confidence: a probe
// is a part of the time that was judged.
func (j *judge) probes(f *Finding) []evidence.Observation {
	if f.Rank == nil || f.Cause != CauseLate || f.Detail < 0 || f.Detail >= len(j.books) {
		return nil
	}
	return longerProbes(j.books[f.Detail].probed, *f.Rank, f.Ranks)
}

// longerProbes returns the probes in which a rank takes longer than the ranks that are not late with it, the longest difference
// first.
func longerProbes(all []probeTime, rank int, together []int) []evidence.Observation {
	var found []evidence.ProbeTime
	for _, p := range all {
		at := slices.Index(p.ranks, rank)
		var others []float64
		for i, id := range p.ranks {
			if id != rank && !slices.Contains(together, id) {
				others = append(others, p.spent[i])
			}
		}
		if at < 0 || len(others) < peers.FewestTested {
			continue
		}
		c := peers.Compare(p.spent[at], others, peers.Options{Resolution: probeResolution * p.spent[at]})
		if chance := min(1, c.P*float64(len(all))); chance <= gates.Strong {
			found = append(found, evidence.ProbeTime{Channel: p.channel, Rank: rank, Own: int64(c.Own), Peers: int64(c.Median), N: c.N, Steps: p.steps, P: chance})
		}
	}
	slices.SortStableFunc(found, func(a, b evidence.ProbeTime) int { return cmp.Compare(b.Own-b.Peers, a.Own-a.Peers) })
	out := make([]evidence.Observation, 0, mostMonitored)
	for _, e := range found[:min(mostMonitored, len(found))] {
		out = append(out, e)
	}
	return out
}
