package main

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/trace"
)

// trial is the answers to one job with the fault, and to the same job without.
type trial struct {
	named, right   bool // a rank is called; it is the slow one, in its stage
	strong, surely bool // it is called strongly; and rightly
	alarm          bool // something is called in the healthy job
}

// try simulates a job with and without its fault and asks for both verdicts.
func (c cell) try(seed uint64) (trial, error) {
	windows, slow, err := c.job(seed, true)
	if err != nil {
		return trial{}, err
	}
	healthy, _, err := c.job(seed+1e6, false)
	if err != nil {
		return trial{}, err
	}
	var t trial
	first, err := called(windows)
	if err != nil {
		return trial{}, err
	}
	if first != nil {
		t.named = true
		// "" is a rank that is late over several stages: less is said, and nothing wrong.
		t.right = first.Rank != nil && *first.Rank == slow && (first.Stage == "" || first.Stage == stageOf[c.family])
		t.strong = first.Confidence == evidence.Strong
		t.surely = t.strong && t.right
	}
	first, err = called(healthy)
	t.alarm = first != nil
	return t, err
}

// called is the first suspect of a run that may be acted on: supported or
// strong, and as large as the gate. nil without one.
func called(windows []*trace.Window) (*diagnose.Finding, error) {
	s := diagnose.New(diagnose.Options{})
	for _, w := range windows {
		if err := s.Add(w); err != nil {
			return nil, err
		}
	}
	for _, f := range s.Verdict().Suspects {
		if f.Confidence >= evidence.Supported && !f.BelowMinGain {
			return &f, nil
		}
	}
	return nil, nil
}

// score is the answers to the jobs of a cell.
type score struct {
	cell
	jobs, right, wrong, silent int
	strong, surely, alarms     int
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
	if t.strong {
		s.strong++
	}
	if t.surely {
		s.surely++
	}
	if t.alarm {
		s.alarms++
	}
}

// sum adds scores up.
func sum(scores []score) score {
	var all score
	for _, s := range scores {
		all.jobs += s.jobs
		all.right += s.right
		all.wrong += s.wrong
		all.silent += s.silent
		all.strong += s.strong
		all.surely += s.surely
		all.alarms += s.alarms
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
// right than in shorter windows of the same job.
func worse(timings []score) []score {
	var out []score
	for i := range timings {
		if i%len(lengths) == 0 {
			continue
		}
		before, now := timings[i-1], timings[i]
		if float64(now.right)/float64(now.jobs) < float64(before.right)/float64(before.jobs) && atMost(now.right, now.jobs) < atLeast(before.right, before.jobs) {
			out = append(out, now)
		}
	}
	return out
}
