package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/recurrence"
)

// leastStretches is in how many stretches of a run a different rank must be late
// before the delay is said to move: with two, two separate faults are equally
// likely.
const leastStretches = 3

// movingLevel is the significance level at which ranks are late one at a time.
const movingLevel = 0.01

// moving finds delays with one cause on changing ranks: the same stage, a different
// rank in each stretch of the run, never two at once. If all of those ranks are on
// one host, the host is the finding.
func (j *judge) moving() {
	var stages []string
	for _, f := range j.found {
		if f.Cause == CauseLate && f.Kind == KindRank && !slices.Contains(stages, f.Stage) {
			stages = append(stages, f.Stage)
		}
	}
	for _, stage := range stages {
		late, p := j.stretches(stage)
		if len(late) < leastStretches || p > movingLevel {
			continue
		}
		m := evidence.RankToRank{Stage: stage, P: p}
		saved := 0.0
		for _, f := range late {
			m.Ranks = append(m.Ranks, *f.Rank)
			if f.Host != "" && !slices.Contains(m.Hosts, f.Host) {
				m.Hosts = append(m.Hosts, f.Host)
			}
			saved += f.saved
		}
		m.Saves = min(1, saved/max(1, j.whole()))
		for _, f := range late {
			f.moves = true
			f.Evidence = append(slices.Clone(f.Evidence), m)
		}
		if len(m.Hosts) == 1 && j.otherHosts(m.Hosts[0]) {
			j.recurring(late, m)
		}
	}
}

// stretches returns the ranks that are late because of a stage and large enough to
// act on, in order of time, if each is late in a separate stretch of steps, and the
// probability of that if stretches were placed at random. nil if they are not
// separate.
func (j *judge) stretches(stage string) (late []*finding, p float64) {
	for _, f := range j.found {
		if f.Cause != CauseLate || f.Kind != KindRank || f.Stage != stage || f.Confidence < evidence.Supported || f.share < j.minGain {
			continue
		}
		if f.recurrence = j.recurrenceOf(*f.Rank, stage); f.recurrence == nil {
			return nil, 1
		}
		late = append(late, f)
	}
	slices.SortFunc(late, func(a, b *finding) int { return cmp.Compare(a.recurrence.First, b.recurrence.First) })
	lengths := make([]int, len(late))
	for i, f := range late {
		if i > 0 && f.recurrence.First <= late[i-1].recurrence.Last {
			return nil, 1
		}
		lengths[i] = f.recurrence.Last - f.recurrence.First + 1
	}
	if len(late) == 0 {
		return nil, 1
	}
	return late, recurrence.ChanceApart(lengths, late[0].recurrence.Of)
}

// otherHosts reports whether the run has ranks on another host.
func (j *judge) otherHosts(host string) bool {
	return slices.ContainsFunc(j.windows, func(w Window) bool {
		for _, m := range w.Main.Members {
			if m.Host != "" && m.Host != host {
				return true
			}
		}
		return false
	})
}

// recurring makes a finding of the host on which late ranks change.
func (j *judge) recurring(late []*finding, m evidence.RankToRank) {
	host := &finding{Finding: Finding{Kind: KindHost, Cause: CauseLate, Place: Place{Host: m.Hosts[0], Stage: m.Stage}, Confidence: evidence.Supported}}
	for _, f := range late {
		host.Explained += f.Explained
		host.saved += f.saved
		host.makespan += f.makespan
		host.steps += f.steps
		host.struck += f.struck
		host.share = max(host.share, f.share)
		host.seen = append(host.seen, f.seen...)
		host.Windows = append(host.Windows, f.Windows...)
		host.Ranks = append(host.Ranks, *f.Rank)
	}
	host.best, host.culprit, host.Detail = late[0].best, late[0].culprit, late[0].Detail
	host.Evidence = []evidence.Observation{evidence.RecurringHost{Host: m.Hosts[0], N: len(late), Of: len(late)}, late[0].Evidence[0], m, evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported}}
	j.found = append(j.found, host)
}

// whole is the exposed time of the run.
func (j *judge) whole() (ns float64) {
	for _, w := range j.windows {
		ns += float64(w.Main.Makespan)
	}
	return ns
}
