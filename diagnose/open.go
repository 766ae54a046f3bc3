package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/engine/sync"
)

// The rules for open questions, in the order of [questionRules].

// drop returns the questions but for some.
func drop(open []answer.Undecided, which func(u *answer.Undecided) bool) []answer.Undecided {
	return slices.DeleteFunc(slices.Clone(open), func(u answer.Undecided) bool { return which(&u) })
}

// closeNamed closes who is late in a stage: where an operator trace or NCCL's kernels name the first claim, and where
// kernels were compared and show nobody.
func (j *judge) closeNamed(claims []Finding, open []answer.Undecided) []answer.Undecided {
	known := len(claims) > 0 && (j.operators != nil && len(j.windows) > 0 && claims[0].needsOperators() || j.joinsKernels() && claims[0].isCommunicationOnly())
	nobody := j.joinsKernels() && len(j.heard.Findings) == 0 && j.traffic.Speed.Compared > 0
	if !known && !nobody {
		return open
	}
	return drop(open, (*answer.Undecided).HidesRank)
}

// closeEntered closes who is late in the stages that entries see into. What they leave open there is the ranks
// without a record, and the transfer after the last entry, which comparison with a healthy run decides.
func (j *judge) closeEntered(_ []Finding, open []answer.Undecided) []answer.Undecided {
	r := j.entered
	if r == nil {
		return open
	}
	seen, missing := j.stagesSeen(), j.mayMissLateRank()
	var out []answer.Undecided
	for _, u := range open {
		if u.Needs == answer.SourceArrivals && slices.ContainsFunc(r.Places, func(p arrivals.Place) bool { return p.Stage == u.Stage }) {
			u.Needs = answer.SourceRing
		}
		switch in := slices.Contains(seen, u.Stage); {
		case u.Question == answer.SyncPointUnknown && len(seen) > 0:
			continue
		case u.HidesRank() && !missing && !in && j.hasNoEntries(u.Stage):
			continue
		case !u.HidesRank() || !in:
		case missing && !u.Unlikely:
			u.Question, u.N, u.Needs = answer.RanksNotRecorded, len(r.Missing), answer.SourceAllRanks
		case u.Unlikely || j.transfer(&u) < j.minGain*float64(u.Step):
			continue
		default:
			u.Question, u.Hides, u.Needs = answer.TransferHidden, int64(j.transfer(&u)), answer.SourceBaseline
		}
		out = append(out, u)
	}
	return out
}

// mayMissLateRank reports whether a rank without a record may be late: none of the others is, and all of them would
// wait for it alike.
func (j *judge) mayMissLateRank() bool {
	return len(j.entered.Missing) > 0 && j.entered.Hang == nil && !j.entersLate()
}

// entersLate reports whether entries show a rank that is late by enough to act on.
func (j *judge) entersLate() bool {
	return slices.ContainsFunc(j.late, func(f Finding) bool { return !f.BelowMinGain })
}

// askMissing asks what ranks without a record did, where entries alone are there: any may be late by as much as a step.
func (j *judge) askMissing(_ []Finding, open []answer.Undecided) []answer.Undecided {
	if r := j.entered; r != nil && len(j.windows) == 0 && r.Step > 0 && j.mayMissLateRank() {
		return append(slices.Clip(open), answer.Undecided{Question: answer.RanksNotRecorded, Hides: r.Step, Step: r.Step, N: len(r.Missing), Needs: answer.SourceAllRanks})
	}
	return open
}

// askTransfer asks whether transfers are slow where entries alone show that nobody is late, or much time follows
// the last wait of a stage in which gradients are reduced.
func (j *judge) askTransfer(_ []Finding, open []answer.Undecided) []answer.Undecided {
	if j.modelled != nil && len(j.windows) > 0 {
		return append(slices.Clip(open), j.transfersAfterWaits()...)
	}
	if r := j.entered; r != nil && len(j.windows) == 0 && len(r.Late) == 0 && r.Hang == nil && r.Step > 0 {
		return append(slices.Clip(open), answer.Undecided{Question: answer.TransferHidden})
	}
	return open
}

// transfersAfterWaits returns the stages, of those that calls divide, whose time after the last wait may be a slow transfer.
func (j *judge) transfersAfterWaits() (out []answer.Undecided) {
	m := j.modelled
	for _, p := range m.Points {
		if role := m.Stages[max(0, p.Stage-1)].Role; m.Stages[p.Stage].Role != points.Wait || !j.isCut(j.stageName(p.Stage)) || role != points.Backward && role != points.Collective {
			continue
		}
		u := answer.Undecided{Question: answer.TransferHidden, Stage: j.stageName(p.Stage), Step: m.Step, Needs: answer.SourceBaseline}
		u.Hides = m.Typical[p.Stage+1] // gradients are reduced once they are computed
		u.Hides = int64(j.transfer(&u))
		if healthy, compared := j.differences[u.Stage]; j.worthActing(u.Hides) && !(compared && !j.worthActing(int64(healthy.High))) {
			out = append(out, u)
		}
	}
	return out
}

// askClock asks whether ranks are late in every step or their clock is off.
func (j *judge) askClock(_ []Finding, open []answer.Undecided) []answer.Undecided {
	if r := j.entered; r != nil && !j.entersLate() && float64(r.MayHide.Delay) >= j.minGain*float64(max(1, r.Step)) {
		needs := answer.SourceHosts
		if len(r.Clocks) > 0 && !slices.ContainsFunc(r.Clocks, func(c sync.Clock) bool { return c.Host == "" }) { // these are known
			needs = answer.SourceBaseline
		}
		return append(slices.Clip(open), answer.Undecided{Question: answer.ClockOrDelay, Hides: r.MayHide.Delay, Step: r.Step, Ranks: r.MayHide.Ranks, Needs: needs})
	}
	return open
}

// askRoles asks for a baseline where ranks synchronise by messages alone and each may have work of its own, so that no rank
// is a peer of another: one that takes longer in all steps may do so by design. Where calls divide the steps, all that each works
// is known: the claims tell who takes longer, and where nobody does, none delays the others.
func (j *judge) askRoles(claims []Finding, open []answer.Undecided) []answer.Undecided {
	r := j.entered
	if r == nil || !messagesAlone(r) && !r.Roles || slices.ContainsFunc(claims, func(f Finding) bool { return f.IsFlagged() }) {
		return open
	}
	open = drop(open, func(u *answer.Undecided) bool { return u.Question == answer.RolesMixed || u.HidesRank() })
	if j.placed.cut != nil {
		return open
	}
	return append(open, answer.Undecided{Question: answer.RolesMixed, Hides: r.Step, Step: r.Step, Needs: answer.SourceBaseline})
}

// askInherited asks for the ranks without a record where a rank that is late by stage times waited for another one.
func (j *judge) askInherited(claims []Finding, open []answer.Undecided) []answer.Undecided {
	if j.entered == nil || len(j.entered.Missing) == 0 || len(j.entered.Late) > 0 {
		return open
	}
	out := slices.Clone(open)
	for i := range claims {
		f := &claims[i]
		if _, inherited := evidence.FindIf(f.Evidence, func(e evidence.Lack) bool { return e.Reason == evidence.DelayInherited }); inherited {
			out = append(out, answer.Undecided{Question: answer.RanksNotRecorded, Stage: f.Stage, Hides: f.Excess, Step: f.Step, N: len(j.entered.Missing), Needs: answer.SourceAllRanks})
		}
	}
	return out
}

// askMessages asks for the messages that nobody recorded. That nobody enters late does not leave a transfer then:
// the wait may be one in a message.
func (j *judge) askMessages(_ []Finding, open []answer.Undecided) []answer.Undecided {
	if !j.hidesMessages() {
		return open
	}
	open = drop(open, func(u *answer.Undecided) bool {
		return u.HidesRank() || u.Question == answer.TransferHidden || u.Question == answer.SyncPointUnknown
	})
	return append(open, answer.Undecided{Question: answer.MessagesNotRecorded, Hides: j.entered.Step, Step: j.entered.Step, Needs: answer.SourceMessages})
}

// hideWhole lets a stage in which all ranks synchronise hide all of its time: what a step needs of it at least is an
// assumption.
func (j *judge) hideWhole(_ []Finding, open []answer.Undecided) []answer.Undecided {
	out := slices.Clone(open)
	for i := range out {
		if out[i].HidesRank() {
			out[i].Hides = out[i].Time
		}
	}
	return out
}

// mostFound is how many times the delay that saves the least gain one may be that is found, for entries to show all that
// is worth acting on: of stage times it is 1.15² times that and what others arrive later by.
const mostFound = 2

// entriesSeeAll reports whether entries show who is late wherever in a step: own work is counted from one call that a step
// repeats to the next, and a delay is found before all of them but some that less leads to than is worth acting on. Messages count at the collective after them, and
// between neighbours a step is one piece.
func (j *judge) entriesSeeAll() bool {
	if j.entered == nil || j.entered.Apart || len(j.entered.Silent) > 0 || j.untold() {
		return false
	}
	found, hides := false, int64(0)
	for i := range j.entered.Places {
		p := &j.entered.Places[i]
		switch {
		case !p.Repeats:
		case p.Unlike:
			return false
		case p.Limit > 0 && float64(p.Limit) <= mostFound*j.minGain*float64(j.entered.Step):
			found = true
		case !j.countsElsewhere(p):
			hides += p.Since
		}
	}
	return found && float64(hides) < j.minGain*float64(j.entered.Step)
}

// hasNoEntries reports whether entries show who is late in a stage in which none of them is, or those of messages alone.
func (j *judge) hasNoEntries(stage string) bool {
	return j.entriesSeeAll() && !slices.ContainsFunc(j.entered.Places, func(p arrivals.Place) bool { return p.Stage == stage && !j.countsElsewhere(&p) })
}

// clocksLost reports whether entries bound the offset of no clock, and show nobody who waits: they contradict one another,
// as when a clock was set wrong by more than a step, and show nobody's delay.
func (j *judge) clocksLost() bool {
	return len(j.entered.Clocks) > 1 && !slices.ContainsFunc(j.entered.Clocks, func(c sync.Clock) bool { return c.HalfWidth >= 0 }) &&
		!slices.ContainsFunc(j.entered.Places, func(p arrivals.Place) bool { return p.Repeats && p.Waits > 0 })
}

// stagesSeen returns the stages in which entries show who is late: a repeating call is entered in them, and no time is
// lost there at another that shows nothing.
func (j *judge) stagesSeen() (stages []string) {
	if j.entered == nil || j.clocksLost() {
		return nil
	}
	places, untold := j.entered.Places, map[string]bool{}
	for i := range places {
		p := &places[i]
		untold[p.Stage] = untold[p.Stage] || j.losesUntold(p) || j.contradictsSteps(p)
	}
	for i := range places {
		if p := &places[i]; p.Repeats && p.Stage != "" && p.Limit > 0 && !p.Unlike && !untold[p.Stage] && !slices.Contains(stages, p.Stage) {
			stages = append(stages, p.Stage)
		}
	}
	return stages
}

// contradictsSteps reports whether ranks enter a place by enough apart to act on, and no call shows that any rank waits, where the steps
// show that all wait in its stage: then entries do not tell who is late in it.
func (j *judge) contradictsSteps(p *arrivals.Place) bool {
	if j.modelled == nil || !p.Repeats || p.Unlike || p.Stage == "" || j.waitedPart(p) < j.minGain || len(j.entered.Late)+len(j.entered.Doubted) > 0 {
		return false
	}
	waits := slices.ContainsFunc(j.entered.Places, func(q arrivals.Place) bool { return q.Repeats && q.Waits > 0 })
	return !waits && !j.isCut(p.Stage) && slices.ContainsFunc(j.modelled.Points, func(at points.Point) bool {
		return at.Evidence == points.Shown && j.stageName(at.Stage) == p.Stage
	})
}

// transfer returns how much of what hides in a stage may be its transfer, ns a step.
func (j *judge) transfer(u *answer.Undecided) float64 {
	i := slices.IndexFunc(j.entered.Transfers, func(t arrivals.Transfer) bool { return t.Stage == u.Stage })
	switch {
	case j.sample != nil && !slices.ContainsFunc(j.noted, func(p answer.Problem) bool { return p.Problem == answer.BaselineTooShort }):
		return 0
	case i < 0:
		return float64(u.Hides)
	}
	return float64(min(u.Hides, j.entered.Transfers[i].Time))
}
