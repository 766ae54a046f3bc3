package diagnose

import (
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/stagename"
)

// chargeRest charges all ranks with what is left when the ranks that enter calls late are taken out: others wait
// for these where they synchronise, so that stage times show a longer stage or slow steps on all of them alike. Where
// calls divide the stage, these times are without the wait, but for the wait in calls that too few steps make: who is late before these is
// late by entries alone.
func (j *judge) chargeRest(claims []Finding) (left []Finding) {
	alone := slices.DeleteFunc(slices.Clone(j.late), func(l Finding) bool { return indexOfRank(claims, &l) >= 0 })
	for _, f := range claims {
		late := j.late
		if j.isCut(f.Stage) {
			late = alone
		}
		switch f.Cause {
		case CauseRegression: // it came about when one of them became late
			if slices.ContainsFunc(late, func(l Finding) bool { return j.delays(&l, &f) && 2*l.Excess >= f.Excess }) {
				continue
			}
		case CauseSlowSteps, CausePeriodic:
			if part := j.slowedBy(&f, late); part > 0 {
				if (1-part)*f.Score < j.minGain {
					continue
				}
				f.reduce(1 - part)
			}
		}
		left = append(left, f)
	}
	return left
}

// joinEntries joins the claims with the ranks that entries of calls show late. Where calls divide the steps, the claims are made of both:
// entries tell the call and its line, and what they alone find late is ambiguous. Else entries join as any other recording does: a rank that is late
// by stage times, and by entries waited for another one, is named no more, and of ranks with work of their own, as the stages of a pipeline have,
// entries alone show who is late.
func (j *judge) joinEntries(claims []Finding) []Finding {
	if j.entered == nil {
		return claims
	}
	if j.placed.cut == nil {
		if j.entered.Roles {
			claims = slices.DeleteFunc(slices.Clone(claims), func(f Finding) bool { return f.modelled && f.Cause == CauseLate && f.Kind == KindRank })
		}
		return j.join(claims, testimony{late: j.late,
			agrees: func(*Finding) evidence.Witness { return evidence.Witness{Source: evidence.FromArrivals} },
			denies: func(f Finding) Finding {
				f.lackIf(f.inherits(j.entered), evidence.Lack{Reason: evidence.DelayInherited, AtMost: evidence.Insufficient})
				return f
			}})
	}
	out, alone := slices.Clone(claims), slices.Clone(j.late)
	for i := range out {
		f := &out[i]
		k := indexOfRank(j.late, f)
		if f.Kind != KindRank || f.Cause == CauseStartUp || k < 0 { // which is of other steps
			continue
		}
		if first := indexOfRank(alone, f); first >= 0 {
			alone = slices.Delete(alone, first, first+1)
		}
		if f.Cause != CauseLate {
			f.agree(&j.late[k], evidence.Witness{Source: evidence.FromArrivals})
			continue
		}
		f.witness(&j.late[k], evidence.Witness{Source: evidence.FromArrivals, Agrees: true, Confidence: j.late[k].Confidence})
	}
	for i := range alone { // the same calls divide the steps, and these do not show it
		alone[i].lack(evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Ambiguous})
	}
	return j.order(append(out, alone...))
}

// addUnawaited adds the rank that enters calls last more often than chance, where no call shows that others wait for it
// and no rank is late otherwise. No steps can be divided by calls that nobody is seen to wait for.
func (j *judge) addUnawaited(claims []Finding) []Finding {
	late := func(f Finding) bool {
		return f.Cause == CauseLate && !f.BelowMinGain && f.Confidence > evidence.Insufficient
	}
	if j.entered == nil || j.entered.Unawaited == nil || slices.ContainsFunc(claims, late) {
		return claims
	}
	f := j.enteredLate(j.entered, []claim.Claim{*j.entered.Unawaited})[0]
	f.lack(evidence.Lack{Reason: evidence.NobodyWaits, AtMost: evidence.Ambiguous})
	return j.order(append(slices.Clone(claims), f))
}

// leaveOutPunctual leaves out of ranks that are late together those that enter no call late: those of a tensor-parallel group that wait
// for one of them in a stage, which calls do not divide, since not all ranks wait in it.
func (j *judge) leaveOutPunctual(claims []Finding) []Finding {
	own := make([]int, len(j.late))
	for i := range j.late {
		own[i] = *j.late[i].Rank
	}
	out := slices.Clone(claims)
	for i := range out {
		f := &out[i]
		if at := indexOfRank(j.late, f); at >= 0 && f.Kind == KindRank && f.source != evidence.FromArrivals {
			f.narrowTo(&j.late[at], own)
		}
	}
	return out
}

// hidesMessages reports whether ranks wait for each other in sends and receives that nobody recorded.
func (j *judge) hidesMessages() bool {
	return j.entered != nil && (len(j.entered.Silent) > 0 || j.entered.Apart && j.entered.Set != nil)
}

// doubtBehindMessages names no rank if the waits in sends and receives are unknown: stage times include those
// waits. Ranks that are late together behind them are a claim. Where ranks exchange messages alone, and not all alike, as
// in a pipeline, they are no peers, and stage times name nobody.
func (j *judge) doubtBehindMessages(claims []Finding) []Finding {
	if j.entered != nil && j.placed.cut == nil && (messagesAlone(j.entered) || j.entered.Roles) {
		return doubtByTimes(claims)
	}
	if !j.hidesMessages() {
		return claims
	}
	out := slices.Clone(claims)
	for i := range out {
		if f := &out[i]; f.Cause == CauseLate && (f.Kind == KindRank || f.Kind == KindGroup || f.Kind == KindHost) {
			f.lack(evidence.Lack{Reason: evidence.WaitNotRecorded, AtMost: evidence.Insufficient})
		}
	}
	if s := j.lateSet(j.entered); s != nil {
		out = append(out, *s)
	}
	return out
}

// doubtByTimes names no rank by its stage times alone.
func doubtByTimes(claims []Finding) []Finding {
	out := slices.Clone(claims)
	for i := range out {
		f := &out[i]
		_, entered := evidence.EntersLast(f.Evidence, evidence.FromArrivals)
		f.lackIf(f.modelled && !entered && f.Cause == CauseLate && f.Confidence > evidence.Insufficient, evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Insufficient})
	}
	return out
}

// addHang adds ranks that never entered a call in which others wait, and calls that ranks entered differently.
func (j *judge) addHang(claims []Finding) []Finding {
	if j.entered == nil {
		return claims
	}
	return slices.Concat(j.missingRanks(j.entered), desync(j.entered), claims)
}

// messagesAlone reports whether the ranks of a job synchronise by sends and receives and by no collective that a
// step repeats: then none of them does the work of another, and nobody can be compared.
func messagesAlone(r *arrivals.Result) bool {
	of := func(p arrivals.Place) bool { return p.Repeats && p.Unlike }
	return len(r.Silent) == 0 && slices.ContainsFunc(r.Places, of) && !slices.ContainsFunc(r.Places, func(p arrivals.Place) bool { return p.Repeats && !p.Unlike })
}

// inherits reports whether a rank that is late by stage times has no own delay
// before any call, while others do that may have held it up so long, or may have
// without a record, or the waits of its receives are known. It waited for one of the
// others.
func (f *Finding) inherits(r *arrivals.Result) bool {
	if f.Kind != KindRank || f.Rank == nil || f.Cause != CauseLate {
		return false
	}
	held := r.Messages || len(r.Missing) > 0 || slices.ContainsFunc(r.Late, func(l claim.Claim) bool { return l.Rank() != *f.Rank && l.Saves.Largest() >= accomplice*f.RunGain })
	if r.Neighbours { // by what each works in a step, which is at no place
		return held
	}
	entered := false
	for i := range r.Places {
		if p := &r.Places[i]; p.Unlike {
			// Without a collective only a receive inside the stage can hold up its rank there.
			if p.Stage == f.Stage && p.Kind == nccl.Recv && slices.ContainsFunc(p.Ranks, func(at arrivals.RankAt) bool { return at.Rank == *f.Rank }) {
				return true
			}
			continue
		}
		if p := &r.Places[i]; !p.Repeats || p.Kind.Message() && r.Messages { // what is before a message counts at the collective after it
			continue
		}
		for _, at := range r.Places[i].Ranks {
			if at.Rank != *f.Rank {
				held = held || at.Delay > f.Excess/2
				continue
			}
			entered = true
			if at.Delay > f.Excess/4 {
				return false
			}
		}
	}
	return entered && held
}

// narrowTo removes ranks that stage times find late together with one rank, and that
// have no delay of their own.
func (f *Finding) narrowTo(l *Finding, own []int) {
	if len(f.Ranks) < 2 || !slices.ContainsFunc(f.Ranks, func(r int) bool { return !slices.Contains(own, r) }) {
		return
	}
	f.Ranks, f.Cost, f.BelowMinGain = l.Ranks, l.Cost, l.BelowMinGain
	f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e evidence.Observation) bool {
		switch e.(type) {
		case evidence.LateTogether, evidence.Replay:
			return true
		}
		return false
	})
}

// lateSet returns a finding of ranks that are late together behind unrecorded messages.
func (j *judge) lateSet(r *arrivals.Result) *Finding {
	s := r.Set
	if s == nil || r.Step == 0 || float64(s.Delay) < j.minGain*float64(r.Step) {
		return nil
	}
	p := &r.Places[s.Place]
	gain := float64(s.Delay) / float64(r.Step)
	return &Finding{source: evidence.FromArrivals, Kind: KindGroup, Cause: CauseLate, Place: Place{Ranks: s.Ranks, Stage: stageOf(p), Op: operation(p.Op), Group: groupOf(p.Group, p.Desc), Source: sourceOf(p.Line)},
		Cost:       Cost{Excess: s.Delay, Step: r.Step, Score: gain, Gain: gain, RunGain: gain, Struck: Struck{Count: p.Points, Of: p.Points, First: -1, Last: -1, Pattern: PatternConstant}},
		Confidence: evidence.Ambiguous, Evidence: []evidence.Observation{evidence.LateBehindMessages{Ranks: s.Ranks, Delay: s.Delay}}}
}

// stageOf returns the stage of a place; without packets the phase that its frames name. An all-reduce of backward that is
// entered after a wait for one before it may be late because of anything since.
func stageOf(p *arrivals.Place) string {
	if p.Stage != "" || p.Line.Phase == arrivals.PhaseUnknown {
		return p.Stage
	}
	if p.Waits > 0 && p.Line.Phase == arrivals.PhaseBackward && p.AfterAt.Phase == arrivals.PhaseBackward && p.Kind == nccl.AllReduce {
		return ""
	}
	return p.Line.Phase.String()
}

// operation returns the name of an operation without that of its library.
func operation(name string) string {
	if _, op, ok := strings.Cut(name, ":"); ok {
		return op
	}
	return name
}

// groupOf returns the name of a group for people: its description, else its name.
func groupOf(name, desc string) string {
	if desc == "" || desc == "undefined" {
		return name
	}
	return desc
}

func sourceOf(l arrivals.Line) *evidence.SourceLine {
	if l.File == "" {
		return nil
	}
	return &evidence.SourceLine{File: l.File, Line: l.Line, Function: l.Function, Call: l.Call}
}

// previousLine returns the line of the call before a place, where it differs.
func previousLine(p *arrivals.Place) arrivals.Line {
	if p.AfterAt.File == p.Line.File && p.AfterAt.Line == p.Line.Line {
		return arrivals.Line{}
	}
	return p.AfterAt
}

// missingRanks returns the ranks that never entered the call at which a job hangs.
func (j *judge) missingRanks(r *arrivals.Result) (out []Finding) {
	h := r.Hang
	if h == nil {
		return nil
	}
	roots := h.Roots()
	if len(roots) == 0 && h.Groups[0].GaveUp && len(r.Mismatches) > 0 {
		return nil // what they entered differently is why
	}
	if len(roots) == 0 {
		b := &h.Groups[0]
		return []Finding{{Kind: KindGroup, Cause: CauseMissing, Confidence: evidence.Ambiguous, Place: Place{Op: operation(b.Op), Group: groupOf(b.Group, b.Desc)},
			Evidence: []evidence.Observation{evidence.NeverEntered{Rank: -1, Op: operation(b.Op), N: b.Seq, Group: groupOf(b.Group, b.Desc), Waiting: b.Waiting, Since: b.Since,
				AtLeast: h.WaitTime(b), At: sourceOf(b.Line), LastN: -1, Unknown: b.Unknown, GaveUp: b.GaveUp}}}}
	}
	for _, root := range roots {
		a, b := root.Absent, root.In
		var together []int // missing from the same call
		for _, other := range roots {
			if other.In == b {
				together = append(together, other.Rank)
			}
		}
		f := Finding{Kind: KindRank, Cause: CauseMissing, Confidence: evidence.Strong,
			Place: Place{Rank: &a.Rank, Host: a.Host, Op: operation(b.Op), Group: groupOf(b.Group, b.Desc), Source: sourceOf(a.Line)}}
		if len(together) > 1 {
			f.Ranks = together
		}
		e := evidence.NeverEntered{Rank: a.Rank, Op: f.Op, N: b.Seq, Group: f.Group, Waiting: b.Waiting, Since: b.Since, AtLeast: h.WaitTime(b),
			At: sourceOf(b.Line), LastOp: operation(a.Op), LastN: a.Seq, Last: f.Source, In: a.In, NoDump: a.Dump == arrivals.NoDump, GaveUp: b.GaveUp, Stack: stackLine(r.StackOf(a.Rank))}
		if a.May && !e.NoDump {
			e.Dump = a.Dump.String()
		}
		f.Evidence = append(f.Evidence, e)
		switch {
		case a.May:
			f.lack(evidence.Lack{Reason: evidence.DumpIncomplete, AtMost: evidence.Ambiguous})
		case b.GaveUp: // logs of several attempts may be in one
			f.Confidence = evidence.Supported
		case h.WaitTime(b) < max(r.Step, 1)*arrivals.Still:
			f.lack(evidence.Lack{Reason: evidence.DumpIncomplete, AtMost: evidence.Supported})
		}
		j.locate(&f)
		out = append(out, f)
	}
	return out
}

// stackLine returns the line that a stack is in, nil without a stack.
func stackLine(s *arrivals.Stack) *evidence.SourceLine {
	if s == nil {
		return nil
	}
	return sourceOf(s.Line)
}

// desync returns the calls that ranks of a group entered differently: different operations or, in a hang, any difference.
func desync(r *arrivals.Result) (out []Finding) {
	for i := range r.Mismatches {
		m := &r.Mismatches[i]
		if m.Difference == arrivals.DifferentStates || m.Difference != arrivals.DifferentOperation && r.Hang == nil {
			continue
		}
		few := &m.Sides[len(m.Sides)-1]
		f := Finding{Kind: KindGroup, Cause: CauseDesync, Confidence: evidence.Strong,
			Place: Place{Ranks: few.Ranks, Op: operation(few.Op), Group: groupOf(m.Group, m.Desc), Source: sourceOf(few.Line)}}
		if len(few.Ranks) == 1 {
			f.Kind, f.Rank = KindRank, &few.Ranks[0]
		}
		most := &m.Sides[0]
		f.Evidence = append(f.Evidence, evidence.EnteredDifferently{Difference: m.Difference.String(), Group: f.Group, N: m.Seq, Ranks: few.Ranks, Op: operation(few.Op), Sizes: few.Sizes, Types: few.Types,
			OthersOp: operation(most.Op), OthersSizes: most.Sizes, OthersTypes: most.Types, Others: most.Ranks, Source: f.Source})
		out = append(out, f)
	}
	return out
}

// isArrival reports whether evidence comes from arrivals alone.
func isArrival(e evidence.Observation) bool {
	switch e := e.(type) {
	case evidence.LastToEnter:
		return e.Source == evidence.FromArrivals
	case evidence.NeverEntered, evidence.EnteredDifferently, evidence.LateBehindMessages:
		return true
	}
	return false
}

// arrivalActions returns the actions for a finding of arrivals.
func arrivalActions(f *Finding, r *arrivals.Result) []answer.Action {
	ranks := f.Ranks
	if f.Rank != nil {
		ranks = []int{*f.Rank}
	}
	if f.Cause == CauseMissing && r.Hang != nil {
		ranks = nil
		for _, root := range r.Hang.Roots() {
			ranks = append(ranks, root.Rank)
		}
	}
	do := func(kind answer.ActionKind, with answer.Source, ranks ...int) answer.Action {
		a := answer.Action{Action: kind, Host: f.Host, Ranks: ranks, With: with}
		if f.Stage != "" {
			a.Stages = []string{f.Stage}
		}
		return a
	}
	switch {
	case f.Cause == CauseMissing && r.Hang != nil && len(ranks) == 0 && r.Hang.Groups[0].GaveUp:
		return []answer.Action{do(answer.TurnOn, answer.SourceDumps)}
	case f.Cause == CauseMissing && r.Hang != nil && r.Hang.Groups[0].GaveUp && r.Hang.Groups[0].Numbered():
		return []answer.Action{do(answer.DumpStack, answer.SourcePySpy, ranks...), do(answer.TurnOn, answer.SourceDumps)}
	case f.Cause == CauseMissing && f.Rank != nil && r.StackOf(*f.Rank) != nil:
		return []answer.Action{do(answer.CheckKernelLog, "", ranks...)}
	case f.Cause == CauseMissing:
		return []answer.Action{do(answer.DumpStack, answer.SourcePySpy, ranks...), do(answer.CheckKernelLog, "", ranks...)}
	case f.Cause == CauseDesync:
		return []answer.Action{do(answer.DumpStack, answer.SourcePySpy, ranks...)}
	case f.Rank == nil:
		return []answer.Action{do(answer.Profile, answer.SourceProfiler, ranks...)}
	}
	profile := do(answer.Profile, answer.SourceProfiler, ranks...).AddPeers(sample(r.Ranks, 2, ranks))
	host := do(answer.InspectHost, answer.SourceDevice, ranks...)
	switch stagename.KindOf(f.Stage) {
	case stagename.Data:
		return []answer.Action{do(answer.SampleStack, answer.SourcePySpy, ranks...), do(answer.CheckLoader, answer.SourceLoader, ranks...)}
	case stagename.Callbacks, stagename.Optimizer, stagename.Rest:
		return []answer.Action{do(answer.SampleStack, answer.SourcePySpy, ranks...), profile}
	}
	return []answer.Action{profile, host}
}

// searchSummary returns what the arrivals were searched for without a finding.
func searchSummary(r *arrivals.Result) evidence.NobodyLate {
	e := evidence.NobodyLate{Ranks: len(r.Ranks), Step: r.Step, Last: lastMostOften(r.Latest.Latest)}
	points := 0 // of the place that is entered most: a step that was held up for long is one
	for i := range r.Places {
		if p := &r.Places[i]; p.Repeats {
			e.Skew, points = max(e.Skew, p.Skew), max(points, p.Points)
		}
	}
	if r.Step > 0 {
		e.Steps = min(points, int((r.End-r.Begin)/r.Step))
	}
	return e
}

// untold reports whether time is lost at a place with too few points to tell a late rank
// from chance.
func (j *judge) untold() bool {
	return slices.ContainsFunc(j.entered.Places, func(p arrivals.Place) bool { return j.losesUntold(&p) })
}

func (j *judge) losesUntold(p *arrivals.Place) bool {
	loses := p.Limit == 0 && !p.Unlike && !j.countsElsewhere(p) && j.waitedPart(p) >= j.minGain
	return p.Repeats && (p.Perhaps || loses)
}

// waitedPart returns the part of the run that ranks wait for the last one at a place, at most: it may be entered in some steps only.
func (j *judge) waitedPart(p *arrivals.Place) float64 {
	step := float64(max(1, j.entered.Step))
	steps := max(1, float64(j.entered.End-j.entered.Begin)/step)
	return float64(p.Skew) / step * min(1, float64(p.Points)/steps)
}

// countsElsewhere reports whether the work before a place counts at another: that before a message does at a collective after it, or
// in the step.
func (j *judge) countsElsewhere(p *arrivals.Place) bool {
	return p.Kind.Message() && (j.entered.Messages || j.entered.Neighbours)
}

// locate fills where a rank runs, which windows know.
func (j *judge) locate(f *Finding) {
	for _, w := range j.windows {
		if f.LocalRank == nil {
			f.place(w.Main)
		}
	}
}

// delays reports whether a late rank may be what makes a stage longer on all ranks: it is late there, or the others
// wait for it there, in about as many steps.
func (j *judge) delays(l, f *Finding) bool {
	if f.Stage == "" || l.Stage == f.Stage {
		return true
	}
	return j.synchronisesIn(f.Stage) && l.Struck.rate() <= 2*f.Struck.rate()
}

// synchronisesIn reports whether ranks wait for each other in a stage: by its times, or since a call that each step repeats is
// entered in it.
func (j *judge) synchronisesIn(stage string) bool {
	if j.entered != nil && slices.ContainsFunc(j.entered.Places, func(p arrivals.Place) bool { return p.Repeats && !p.Unlike && p.Stage == stage }) {
		return true
	}
	return j.modelled != nil && slices.ContainsFunc(j.modelled.Points, func(p points.Point) bool { return j.stageName(p.Stage) == stage })
}

// slowedBy returns the part of slow steps of all ranks that late ranks explain. A rank explains no more of a step
// than its own delay in one, and no more steps than it strikes.
func (j *judge) slowedBy(f *Finding, late []Finding) (part float64) {
	for i := range late {
		l := &late[i]
		if f.Excess <= 0 || !j.delays(l, f) || l.Confidence < min(f.Confidence, evidence.Supported) || l.BelowMinGain {
			continue
		}
		part += min(1, float64(l.Excess)/float64(f.Excess)) * min(1, l.Struck.rate()/max(f.Struck.rate(), math.SmallestNonzeroFloat64))
	}
	return min(1, part)
}

// reduce leaves a part of what steps that are slow on all ranks cost.
func (f *Finding) reduce(part float64) {
	// A step that is so much shorter is shorter for what still remains, too.
	f.Gain *= part / (1 - (1-part)*f.Gain)
	f.RunGain, f.RunLow, f.RunAtMost, f.After, f.Score = part*f.RunGain, part*f.RunLow, part*f.RunAtMost, part*f.After, part*f.Score
	f.Excess, f.Explained = int64(part*float64(f.Excess)), int64(part*float64(f.Explained))
	f.Evidence = slices.Clone(f.Evidence)
	for i, e := range f.Evidence {
		if slow, ok := e.(evidence.SlowSteps); ok {
			slow.Factor, slow.Excess = 1+part*(slow.Factor-1), f.Excess
			f.Evidence[i] = slow
		}
	}
}

// arrivalLimits returns what entries alone would have shown, the least delay of a rank before any call that would
// have been reported; nil without entries.
func (j *judge) arrivalLimits() []answer.Limit {
	if j.entered == nil {
		return nil
	}
	var l answer.Limit
	for i := range j.entered.Places {
		l.Reported = max(l.Reported, j.entered.Places[i].Limit)
	}
	return []answer.Limit{l}
}
