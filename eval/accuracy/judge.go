package main

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// judge is the scorer: what is wrong with a verdict on a job of known truth, "" where it
// is right.
func judge(t truth, v *verdict) string {
	if t.kind == operators {
		return judgeOperators(t, v)
	}
	named, guilty := v.named(), t.guilty()
	for r := range named {
		if !slices.Contains(guilty, r) {
			return "innocent named"
		}
	}
	switch t.kind {
	case healthy:
		if v.Status != "no_straggler" || len(named) > 0 {
			return "false alarm: " + v.Status
		}
		return ""
	case uneven:
		if v.Status != "no_straggler" && v.Status != "imbalance" {
			return "false alarm: " + v.Status
		}
		return ""
	case turns:
		switch {
		case v.Status == "no_straggler":
			return "false all-clear"
		case v.Status != "imbalance" && v.Status != "straggler":
			return "wrong: " + v.Status
		}
		return ""
	case startUp:
		top := v.first()
		if (v.Status == "straggler" || v.Status == "slow_everywhere") && (top == nil || top.Cause != "start_up") {
			return "warm-up as finding"
		}
		return ""
	case hidden:
		return judgeHidden(t.faults[0], v)
	case transfer:
		return judgeTransfer(t.faults[0], v)
	case everyone:
		return judgeEveryone(t.faults[0], v)
	case quiet:
		if v.Status != "no_straggler" && v.Status != "undecided" && v.Status != "too_little_data" {
			return "false alarm: " + v.Status
		}
		return ""
	case hang:
		if v.Status != "hang" {
			return "wrong: " + v.Status
		}
	}
	return judgeLate(t, v)
}

// judgeHidden: the ranks are named, or the verdict says that so much may hide there. An
// all-clear has to allow for all of it.
func judgeHidden(f fault, v *verdict) string {
	named := v.named()
	if !slices.ContainsFunc(f.ranks, func(r int) bool { _, ok := named[r]; return !ok }) {
		return ""
	}
	hides := 0.0
	for _, stage := range f.stages {
		hides = max(hides, v.hides(stage))
	}
	switch v.Status {
	case "no_straggler":
		if hides >= 0.95*f.hides {
			return ""
		}
	case "undecided":
		if hides >= 1 {
			return ""
		}
	}
	return "false all-clear"
}

func judgeTransfer(f fault, v *verdict) string {
	switch v.Status {
	case "undecided", "slow_everywhere":
		return ""
	case "no_straggler":
		if v.hides(f.stages[0]) >= 0.95*f.hides {
			return ""
		}
		return "false all-clear"
	}
	return "wrong: " + v.Status
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
	return f.priced(gain, gain)
}

// judgeLate asks for every rank whose fault is large enough, with its stage, and where
// that is one fault for the saving.
func judgeLate(t truth, v *verdict) string {
	named, due := v.named(), t.due()
	for _, f := range due {
		missing := slices.ContainsFunc(f.ranks, func(r int) bool { _, ok := named[r]; return !ok })
		elsewhere := slices.ContainsFunc(f.ranks, func(r int) bool { return !share(named[r].stages, f.stages) })
		switch {
		case missing && v.Status == "no_straggler":
			return "false all-clear"
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
	a := named[due[0].ranks[0]]
	return due[0].priced(a.gain, a.most)
}

// priced asks whether what fixing the fault saves is about from gain to most.
func (f fault) priced(gain, most float64) string {
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
		if !s.flagged() {
			continue
		}
		at := slices.IndexFunc(t.faults, func(f fault) bool { return f.is(s) })
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
	if top := v.first(); f.listed && (top == nil || !f.is(top)) {
		return "not listed first"
	}
	if !f.due {
		return ""
	}
	gain, most := found[0].gains()
	return f.priced(gain, most)
}

// is reports whether a finding on an operator trace is a fault.
func (f fault) is(s *finding) bool {
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

// tolerance is how far a saving may be off.
func tolerance(saves float64) float64 { return max(0.03, 0.2*saves) }

// differs is in what a verdict differs from another on the same job, whose ranks may be
// numbered otherwise: to is the number in v of rank r of u, nil where they are the same.
// "" is where they say the same: status, ranks with their stages, gains within one point
// of the run, and cause and first step of the first finding.
func differs(v, u *verdict, to []int) string {
	if v.Status != u.Status {
		return fmt.Sprintf("%s, was %s", u.Status, v.Status)
	}
	ours, theirs := v.named(), u.named()
	if len(ours) != len(theirs) {
		return "other ranks"
	}
	for _, r := range slices.Sorted(maps.Keys(theirs)) {
		b := theirs[r]
		if to != nil {
			r = to[r]
		}
		a, ok := ours[r]
		switch {
		case !ok:
			return "other ranks"
		case !slices.Equal(sorted(a.stages), sorted(b.stages)):
			return "other stages"
		case math.Abs(a.gain-b.gain) > 0.01:
			return "other gain"
		}
	}
	var f, g finding
	if len(v.Findings) > 0 {
		f = v.Findings[0]
	}
	if len(u.Findings) > 0 {
		g = u.Findings[0]
	}
	i, j := f.Struck.First, g.Struck.First
	switch {
	case f.Cause != g.Cause:
		return "other cause"
	case (i == nil) != (j == nil) || i != nil && max(*i-*j, *j-*i) > 2:
		return "other first step"
	}
	return ""
}

// share reports whether two lists have something in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

func sorted[T int | string](list []T) []T {
	return slices.Sorted(slices.Values(list))
}
