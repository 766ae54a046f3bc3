package main

import (
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// rules are the statuses that are right for kinds of jobs, and what any other is. A job without a late rank may also be
// unseen, where the limits of the verdict leave room for one.
var rules = map[kind]struct {
	right []string
	wrong string
}{
	healthy:  {[]string{"no_straggler"}, "false alarm"},
	uneven:   {[]string{"no_straggler", "imbalance"}, "false alarm"},
	quiet:    {[]string{"no_straggler", "unseen", "undecided", "too_little_data"}, "false alarm"},
	turns:    {[]string{"imbalance", "straggler"}, "wrong"},
	transfer: {[]string{"undecided", "slow_everywhere"}, "wrong"},
	hang:     {[]string{"hang"}, "wrong"},
}

// judge returns the fault of a verdict on a job of known truth, "" where it is right.
func judge(t truth, v *verdict) string {
	if t.kind == operators {
		return judgeOperators(t, v)
	}
	guilty := t.guilty()
	for r := range v.suspectRanks() {
		if !slices.Contains(guilty, r) {
			return "innocent named"
		}
	}
	if rule, ok := rules[t.kind]; ok && !slices.Contains(rule.right, v.Status) {
		switch {
		case rule.wrong == "false alarm" && v.Status == "unseen" && v.blind(), t.kind == transfer && t.faults[0].isUnseen(v):
			return ""
		case rule.wrong != "wrong" || v.Status != "no_straggler":
			return rule.wrong + ": " + v.Status
		}
		return "false all-clear"
	}
	switch t.kind {
	case startUp:
		top := v.first()
		if (v.Status == "straggler" || v.Status == "slow_everywhere") && (top == nil || top.Cause != "start_up") {
			return "warm-up as finding"
		}
		return ""
	case hidden:
		return judgeHidden(t.faults[0], v)
	case everyone:
		return judgeEveryone(t.faults[0], v)
	case late, hang:
		return judgeLate(t, v)
	case free, coarse:
		if v.Status == "undecided" || v.Status == "unseen" || t.kind == free && v.Status == "no_straggler" {
			return ""
		}
		return judgeLate(t, v)
	}
	return ""
}

// hiddenTime returns how many nanoseconds of each step may hide in the stages of a fault, as the verdict says.
func (f fault) hiddenTime(v *verdict) (most float64) {
	for _, stage := range f.stages {
		most = max(most, v.hides(stage))
	}
	return most
}

// isUnseen reports whether a verdict says that the recording does not show a place, and leaves room for the fault there.
func (f fault) isUnseen(v *verdict) bool {
	return v.Status == "unseen" && f.hides > 0 && f.hiddenTime(v) >= 0.95*f.hides
}

// judgeHidden returns the fault of a verdict on a job that hides a delay: the ranks must be named, or the verdict say that the
// recording does not show so much there. An all-clear is false, whatever it adds.
func judgeHidden(f fault, v *verdict) string {
	named := v.suspectRanks()
	missing := slices.ContainsFunc(f.ranks, func(r int) bool { _, ok := named[r]; return !ok })
	switch {
	case !missing || f.isUnseen(v) || v.Status == "undecided" && f.hiddenTime(v) >= 1:
		return ""
	case v.Status == "unseen" || v.Status == "undecided":
		return "not named"
	}
	return "false all-clear"
}

// judgeEveryone asks for the stage, the first step where the truth has one, and the saving.
func judgeEveryone(f fault, v *verdict) string {
	top := v.first()
	switch {
	case v.Status == "no_straggler":
		return "false all-clear"
	case top == nil || len(f.stages) > 0 && !slices.Contains(f.stages, top.Stage):
		return "wrong stage"
	case !top.sure():
		return "unsure"
	case f.from >= 0 && top.Struck.First == nil:
		return "no onset"
	case f.from >= 0 && max(*top.Struck.First-f.from, f.from-*top.Struck.First) > 2:
		return "wrong onset"
	}
	gain, _ := top.gains()
	return f.judgeSaving(gain, gain)
}

// judgeLate asks for every rank whose fault is large enough, with its stage, and where
// that is one fault for the saving.
func judgeLate(t truth, v *verdict) string {
	named, due := v.suspectRanks(), t.due()
	for _, f := range due {
		missing := slices.ContainsFunc(f.ranks, func(r int) bool { _, ok := named[r]; return !ok })
		elsewhere := slices.ContainsFunc(f.ranks, func(r int) bool { return !share(named[r].stages, f.stages) })
		switch {
		case missing && v.Status == "no_straggler":
			return "false all-clear"
		case missing && f.isUnseen(v):
			continue
		case missing && len(named) > 0:
			return "second missed"
		case missing:
			return "not named"
		case len(f.stages) > 0 && elsewhere:
			return "wrong stage"
		}
	}
	if len(due) != 1 {
		return ""
	}
	a, found := named[due[0].ranks[0]]
	if !found {
		return ""
	}
	return due[0].judgeSaving(a.gain, a.most)
}

// judgeSaving asks whether what fixing the fault saves is about from gain to most.
func (f fault) judgeSaving(gain, most float64) string {
	if f.saves == nil {
		return ""
	}
	if off := tolerance(*f.saves); *f.saves < gain-off || *f.saves > most+off {
		return "saving off"
	}
	return ""
}

// judgeOperators asks for every fault that is large enough, and where there is one, for its
// place among findings and its saving; nothing else may be named.
func judgeOperators(t truth, v *verdict) string {
	found := make([]*finding, len(t.faults))
	for i := range v.Findings {
		s := &v.Findings[i]
		if !s.isFlagged() {
			continue
		}
		at := slices.IndexFunc(t.faults, func(f fault) bool { return f.matches(s) })
		if at < 0 {
			return "innocent named"
		}
		if found[at] == nil {
			found[at] = s
		}
	}
	for i, f := range t.faults {
		if !f.due || found[i] != nil {
			continue
		}
		switch {
		case v.Status == "no_straggler":
			return "false all-clear"
		case slices.ContainsFunc(found, func(s *finding) bool { return s != nil }):
			return "second missed"
		}
		return "not named"
	}
	if len(t.faults) > 1 {
		return ""
	}
	f := t.faults[0]
	if top := v.first(); f.listed && (top == nil || !f.matches(top)) {
		return "not listed first"
	}
	if !f.due {
		return ""
	}
	gain, most := found[0].gains()
	return f.judgeSaving(gain, most)
}

// matches reports whether a finding on an operator trace is a fault.
func (f fault) matches(s *finding) bool {
	onRank := s.Rank != nil && slices.Contains(f.ranks, *s.Rank)
	switch f.what {
	case pipeline.SlowWorker, pipeline.SlowOp:
		return onRank && (s.Kind == "rank" || s.Kind == "op")
	case pipeline.SlowStage:
		return s.Kind == "stage" && slices.Contains(f.stages, s.Stage)
	case pipeline.Workload:
		return s.Kind == "workload"
	case pipeline.SlowEdge:
		return onRank && s.Kind == "edge" && s.Op == f.op
	case pipeline.SlowGroup:
		return s.Kind == "group" && slices.Contains(f.stages, s.Stage)
	case pipeline.LateStart:
		return onRank && s.Kind == "edge"
	}
	return false
}

// tolerance returns how far a saving may be off.
func tolerance(saves float64) float64 { return max(0.03, 0.2*saves) }

// share reports whether two lists have something in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}
