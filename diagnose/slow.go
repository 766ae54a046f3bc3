package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
)

// What is slow on all ranks alike, where nobody was found late.

// stages reports what remains if no rank was late in a window: a rank that leads
// without a synchronisation point to measure its lateness, a stage or steps that are
// slow on all ranks, or a stage that may hide a delay.
func (j *judge) stages() {
	var open []int // windows in which nobody was late
	for i, w := range j.windows {
		m := w.Main
		if len(m.Ranks) < 2 {
			continue
		}
		if m.Leader.Stage >= 0 && !j.answered(m) && !j.leading(m) && !incomplete(m) {
			open = append(open, i)
		}
		j.hidden(m)
	}
	slow := j.slowing(open)
	for _, i := range open {
		j.slowForAll(i, slow)
	}
	j.slowTogether(open, slow)
}

// leading names a rank that is slower in a stage without evidence that others wait
// for it.
func (j *judge) leading(m *frontier.Result) bool {
	s := m.Stages[m.Leader.Stage]
	if !m.Leads() || float64(m.Behind(s)) < j.minGain*float64(m.Makespan) {
		return false
	}
	j.add(m, sight{Finding: Finding{Kind: KindRank, Cause: CauseLeads, Place: Place{Rank: m.Leader.Rank, Stage: s.Name},
		Cost: Cost{Explained: m.Behind(s)}, Confidence: evidence.Ambiguous, Evidence: []evidence.Observation{
			evidence.LatestInStage{Rank: *m.Leader.Rank, Stage: s.Name, N: m.Leader.Steps, Of: m.Steps},
			evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Ambiguous}}}, struck: m.Leader.Steps})
	return true
}

// slowForAll names what is slow on all ranks of a window alike: a stage that is
// long on the host and short on the device, or a stage with slow steps.
func (j *judge) slowForAll(i int, slow *slowing) {
	m := j.windows[i].Main
	j.hostOverhead(m)
	if k, found := j.slowStage(m); found {
		gain := *m.Stages[k].Gain
		n, _ := slow.in(i)
		j.add(m, sight{Finding: Finding{Kind: KindStage, Cause: CauseSlowSteps, Place: Place{Stage: m.Stages[k].Name},
			Cost: Cost{Explained: int64(gain * float64(m.Makespan)), Gain: gain}, Confidence: evidence.Supported,
			Evidence: []evidence.Observation{clipped(m, k), evidence.Lack{Reason: evidence.RankHidden, AtMost: evidence.Supported}}},
			struck: n})
	}
}

// slowTogether names steps that are slow over several stages, in all windows where
// no rank was late and no single stage explains them.
func (j *judge) slowTogether(open []int, slow *slowing) {
	if slow == nil || slices.ContainsFunc(j.found, func(f *finding) bool { return f.Cause == CauseSlowSteps }) {
		return
	}
	enough := slow.Excess*float64(slow.Struck) >= j.minGain*float64(slow.makespan)
	for _, i := range open {
		n, excess := slow.in(i)
		enough = enough || n >= leastSlowSteps && part(j.windows[i].Main, excess) >= j.minGain
	}
	if !enough {
		return
	}
	for _, i := range open {
		m := j.windows[i].Main
		n, excess := slow.in(i)
		if n == 0 {
			continue
		}
		f := j.add(m, sight{Finding: Finding{Kind: KindWorkload, Cause: CauseSlowSteps,
			Cost: Cost{Explained: excess, Gain: part(m, excess)}, Confidence: evidence.Supported,
			Evidence: []evidence.Observation{slow.observed(), evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported}}}, struck: n})
		f.recurrence = &recurred{Recurrence: slow.Recurrence, steps: slow.steps}
	}
}

// slowStage is the stage for which fixing saves at least the minimum gain, and
// significantly more than for any other. It is short in most steps and long in some,
// like a log that is written now and then, and is not necessarily the one with the
// largest charge.
func (j *judge) slowStage(m *frontier.Result) (stage int, slow bool) {
	best := m.Leader.Stage
	for i, s := range m.Stages {
		if s.Gain != nil && *s.Gain > *m.Stages[best].Gain {
			best = i
		}
	}
	if m.Stages[best].Syncs && !m.Quality.Wall {
		return m.Leader.Stage, false // its times hold what is not recorded of other ranks
	}
	g := m.Stages[best].Gain
	return best, g != nil && *g >= j.minGain && !slices.Contains(m.Reasons, labels.GainTie)
}

// clipped is what a stage with slow steps costs, and what agrees.
func clipped(m *frontier.Result, stage int) evidence.Replay {
	c := evidence.Replay{Stage: m.Stages[stage].Name, Saves: *m.Stages[stage].Gain}
	if lead := m.Stages[m.Leader.Stage]; stage != m.Leader.Stage {
		c.Lead, c.LeadSaves = lead.Name, *lead.Gain
	} else {
		c.Agrees = slices.Contains(m.Labels, labels.DirectExposure)
	}
	return c
}

// hostOverhead names a stage that every rank's host spends longer in than its
// device works: launching, Python, synchronous copies, emulated arithmetic.
func (j *judge) hostOverhead(m *frontier.Result) {
	d := m.Device
	if d == nil || len(d.Stages) == 0 || m.Steps == 0 || !slices.Contains(m.Labels, labels.ForwardHostOverheadSuspected) {
		return
	}
	s := m.Stages[d.Stages[0]]
	host := float64(s.Advance) / float64(m.Steps)
	explained := int64(host-d.Time) * int64(m.Steps)
	share := part(m, explained)
	if s.Share == nil || *s.Share < j.gates.DominanceShare || share < j.minGain || s.Syncs {
		return
	}
	j.add(m, sight{Finding: Finding{Kind: KindStage, Cause: CauseHost, Place: Place{Stage: s.Name}, Cost: Cost{Explained: explained, Gain: share},
		Confidence: evidence.Supported, Evidence: []evidence.Observation{
			evidence.DeviceTime{Channel: d.Channel, Stage: s.Name, Host: int64(host), Device: int64(d.Time), Samples: d.Ready},
			evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported}}}})
}
