package main

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/eval/simulate"
)

// trial is the answers to one job with the fault, and to the same job without.
type trial struct {
	healthy        bool // the answer to the healthy job is new, not that of the cell before
	alarm          bool // something is called in the healthy job
	status         answer.Status
	named, right   bool // a rank is named; it is the slow one, in its stage
	small          bool // certain, and below the gate
	strong, surely bool // reported as strong; and the rank is right
	// saving is what fixing it saves of the steps, by the verdict, less what it does;
	// NaN where that is not asked.
	saving float64
}

// try simulates the jobs of some cells that differ in the fault alone, and the
// healthy one, and asks for the verdict on each.
func try(cells []cell, seed uint64) ([]trial, error) {
	none, _, err := cells[0].healthy().answer(seed)
	if err != nil {
		return nil, err
	}
	out := make([]trial, len(cells))
	for i, c := range cells {
		v, slow, err := c.answer(seed)
		if err != nil {
			return nil, err
		}
		t := trial{healthy: i == 0, alarm: called(none) != nil, status: none.Status, saving: math.NaN()}
		if f := named(v); f != nil {
			t.named = true
			// "" is a rank that is late over several stages: less is said, and nothing wrong.
			t.right = f.Rank != nil && *f.Rank == slow && (f.Stage == "" || f.Stage == c.family.Stage())
			t.small = f.BelowMinGain
			t.strong = f.Confidence == evidence.Strong
			t.surely = t.strong && t.right
			if t.right && c.wall && c.at == everyStep {
				t.saving = f.RunGain - (1 - step(none)/step(v))
			}
		}
		out[i] = t
	}
	return out, nil
}

// answer is the verdict on a job, and the rank that is slow in it.
func (c cell) answer(seed uint64) (*diagnose.Verdict, int, error) {
	windows, slow, err := c.job(seed)
	if err != nil {
		return nil, 0, err
	}
	s := diagnose.New(diagnose.Options{Engines: diagnose.FrontierAlone})
	for _, w := range windows {
		if err := s.Add(w); err != nil {
			return nil, 0, err
		}
	}
	return s.Verdict(), slow, nil
}

// step is the mean length of a step.
func step(v *diagnose.Verdict) float64 {
	ns, steps := int64(0), 0
	for _, w := range v.Windows {
		ns, steps = ns+w.Main.Makespan, steps+w.Main.Steps
	}
	return float64(ns) / float64(max(1, steps))
}

// called is the first suspect that may be acted on: supported or strong, and as
// large as the gate. nil without one.
func called(v *diagnose.Verdict) *diagnose.Finding {
	i := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool { return f.Flagged() })
	if i < 0 {
		return nil
	}
	return &v.Findings[i]
}

// leastNamed is the part of the time from which on a certain suspect below the
// gate counts as named: healthy ranks differ by less.
const leastNamed = 0.02

// named is the first suspect that is called, or certain and worth 2 %. What all
// ranks record alike where they synchronise names nobody: nil.
func named(v *diagnose.Verdict) *diagnose.Finding {
	i := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool {
		return f.Flagged() || f.Confidence >= evidence.Supported && f.Score >= leastNamed
	})
	if i < 0 || v.Findings[i].Kind == diagnose.KindStage && v.Findings[i].Stage == simulate.StageBackward {
		return nil
	}
	return &v.Findings[i]
}

// score is the answers to the jobs of a cell.
type score struct {
	cell
	jobs, right, small, wrong, silent int // small: of the right ones
	strong, surely                    int
	healthy, alarms                   int // jobs without the fault, those with an alarm
	status                            map[answer.Status]int
	savings                           []float64
}

func (s *score) add(t trial) {
	s.jobs++
	switch {
	case !t.named:
		s.silent++
	case t.right:
		s.right++
	default:
		s.wrong++
	}
	count := func(n *int, holds bool) {
		if holds {
			*n++
		}
	}
	count(&s.small, t.right && t.small)
	count(&s.strong, t.strong)
	count(&s.surely, t.surely)
	if !math.IsNaN(t.saving) {
		s.savings = append(s.savings, math.Abs(t.saving))
	}
	if t.healthy {
		s.healthy++
		count(&s.alarms, t.alarm)
		if s.status == nil {
			s.status = map[answer.Status]int{}
		}
		s.status[t.status]++
	}
}

// sum adds scores up.
func sum(scores []score) score {
	all := score{status: map[answer.Status]int{}}
	for _, s := range scores {
		all.jobs += s.jobs
		all.right += s.right
		all.small += s.small
		all.wrong += s.wrong
		all.silent += s.silent
		all.strong += s.strong
		all.surely += s.surely
		all.healthy += s.healthy
		all.alarms += s.alarms
		all.savings = append(all.savings, s.savings...)
		for status, n := range s.status {
			all.status[status] += n
		}
	}
	return all
}

// atMost is the exact one-sided 95 % bound of the rate of k in n.
func atMost(k, n int) float64 {
	r, err := bootstrap.Binomial(k, max(1, n), 0.95)
	if err != nil {
		return 1
	}
	return r.AtMost
}

// atLeast is the same from below.
func atLeast(k, n int) float64 {
	r, err := bootstrap.Binomial(k, max(1, n), 0.95)
	if err != nil {
		return 0
	}
	return r.AtLeast
}

// worse lists the cells in which more steps make it worse, beyond chance: fewer
// right than in shorter windows of the same job, which stand before it, so many
// together.
func worse(timings []score, together int) []score {
	var out []score
	for i := range timings {
		if i%together == 0 {
			continue
		}
		before, now := timings[i-1], timings[i]
		if float64(now.right)/float64(now.jobs) < float64(before.right)/float64(before.jobs) && atMost(now.right, now.jobs) < atLeast(before.right, before.jobs) {
			out = append(out, now)
		}
	}
	return out
}
