package main

import (
	"fmt"
	"math"
	"slices"
)

// judge is the scorer: what is wrong with a verdict on a job of known truth, "" where it
// is right.
func judge(t truth, v *verdict) string {
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
		case v.Status != "imbalance" && v.Status != "straggler" || len(named) > 0:
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
	case hang:
		return judgeHang(t.faults[0], v)
	}
	return judgeLate(t, v)
}

// judgeHidden: the rank is named, or the verdict says that so much may hide there. An
// all-clear has to allow for all of it.
func judgeHidden(f fault, v *verdict) string {
	if _, ok := v.named()[f.ranks[0]]; ok {
		return ""
	}
	hides := v.hides(f.stages[0])
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
	case top == nil || !slices.Contains(f.stages, top.Stage):
		return "wrong stage"
	case !top.sure():
		return "unsure"
	case f.from >= 0 && top.Struck.First == nil:
		return "no onset"
	case f.from >= 0 && max(*top.Struck.First-f.from, f.from-*top.Struck.First) > 2:
		return "wrong onset"
	}
	if gain, _ := top.gains(); f.saves > 0 && math.Abs(gain-f.saves) > tolerance(f.saves) {
		return "saving off"
	}
	return ""
}

func judgeHang(f fault, v *verdict) string {
	switch top := v.first(); {
	case v.Status != "hang":
		return "wrong: " + v.Status
	case top == nil || !slices.Equal(sorted(top.of()), sorted(f.ranks)):
		return "wrong rank"
	}
	return ""
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
	if len(due) != 1 || due[0].saves == 0 {
		return ""
	}
	a, off := named[due[0].ranks[0]], tolerance(due[0].saves)
	if due[0].saves < a.gain-off || due[0].saves > a.most+off {
		return "saving off"
	}
	return ""
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
	for r, b := range theirs {
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
