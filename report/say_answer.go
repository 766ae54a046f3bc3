package report

import (
	"cmp"
	"fmt"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/stagename"
)

// The first screen of a run that names nobody: no straggler, what is not seen, an open question, too little data.

// sayNoStraggler states that nobody is late, and what happened once where that cost as much as a straggler.
func sayNoStraggler(h *diagnose.Healthy, minGain float64) string {
	text := fmt.Sprintf("No straggler of %s or more.", percentOf(minGain))
	switch {
	case h.Searched != nil && h.Least > 0:
		text = fmt.Sprintf("No straggler in %s: %s of a %s step would have been reported.", stagesWord(h.Stages), length(h.Least), length(h.Searched.Step))
	case h.Searched != nil && h.Searched.Step > 0:
		text = fmt.Sprintf("No straggler of %s or more in steps of %s.", percentOf(minGain), length(h.Searched.Step))
	}
	return text + sayLargeEvent(h.Once)
}

// sayLargeEvent states what happened in a step or a few where that cost as much as a straggler; "" otherwise.
func sayLargeEvent(f *diagnose.Finding) string {
	if f == nil || f.BelowMinGain {
		return ""
	}
	return " But " + sayPastDelay(f) + "."
}

// sayPastDelay states what happened in a step or a few: "once: rank 3 in data, 3.20 s in 1 of 200 steps, 14 % of the run".
func sayPastDelay(f *diagnose.Finding) string {
	times := "once"
	if n := f.Incidents; n == 2 {
		times = "twice"
	} else if n > 2 {
		times = fmt.Sprintf("%d times", n)
	}
	where := "several stages"
	if f.Stage != "" {
		where = stageWord(f.Stage)
	}
	return fmt.Sprintf("%s: %s in %s, %s, %s of the run", times, cmp.Or(subject(f.Who()), "all ranks"), where, sayHowMuch(f), fraction(f.RunGain))
}

func sayWhyNoStraggler(v *diagnose.RunVerdict, h *diagnose.Healthy) string {
	text := sayLooked(v, h, nil)
	if h.Inside != nil {
		text += fmt.Sprintf("; a rank may be late inside %s, which only arrivals would show", stageWord(h.Inside.Stage))
	}
	return text
}

// sayUnseen states what the recording cannot show.
func sayUnseen(h *diagnose.Healthy, minGain float64) string {
	if len(h.Stages) == 0 || h.Step <= 0 {
		return blindTo(h) + sayLargeEvent(h.Once)
	}
	text := "Nobody is late"
	if h.Small != nil || h.Once != nil {
		text += fmt.Sprintf(" by %s or more", percentOf(minGain))
	}
	return text + fmt.Sprintf(" in %s (%s of a %s step would have been found). %s", stagesWord(h.Stages), length(h.Least), length(h.Step), blindTo(h)) + sayLargeEvent(h.Once)
}

// sayLooked states what was looked at, why places are blind, and what happened all the same.
func sayLooked(v *diagnose.RunVerdict, h *diagnose.Healthy, blind []answer.Coverage) string {
	text := saySearchedRun(v, h)
	for _, c := range reasons(blind) {
		text += "; " + sayBlind(&c)
	}
	if w, ok := evidence.WitnessOf(v.Observed, evidence.FromNCCL); ok && w.Agrees {
		text += ". " + upper(sayWitness(w))
	} else if ok {
		text += ". " + upper(nothingByCalls)
	}
	if h.Small != nil {
		who := subject(h.Small.Who())
		if who != "" {
			who = " " + who
		}
		text += fmt.Sprintf("; below the threshold:%s in %s, %s, %s", who, stageWord(h.Small.Stage), sayHowMuch(h.Small), fraction(h.Small.Saving().Run))
	}
	if h.Once != nil && h.Once.BelowMinGain {
		text += "; " + sayPastDelay(h.Once)
	}
	if e, ok := evidence.Find[evidence.InputBound](v.Observed); ok {
		text += "; " + sayInputBound(e)
	}
	if h.Periodic != nil {
		text += fmt.Sprintf("; %s: %s of the run", lower(sayPeriodic(h.Periodic)), fraction(h.Periodic.RunGain))
	}
	if h.StartUp != nil {
		text += "; " + lower(sayStartUp(h.StartUp))
	}
	if h.Transfer != nil {
		text += fmt.Sprintf("; up to %s of a step may be a slow transfer in %s, which only a comparison with a healthy run could show", length(h.Transfer.Hides), stageWord(h.Transfer.Stage))
	}
	return text
}

// saySearchedRun states what of a run was compared; "" where that is not known.
func saySearchedRun(v *diagnose.RunVerdict, h *diagnose.Healthy) string {
	switch o := v.Operators; {
	case h.Searched != nil && h.Small != nil:
		return saySearched(h.Searched)
	case h.Searched != nil:
		return sayNobodyLate(*h.Searched)
	case o != nil:
		return sayOperatorsOf(o)
	}
	return ""
}

func sayOperatorsOf(o *diagnose.Operators) string {
	return fmt.Sprintf("%s of %s in %s", table.Counted(o.Ops, "operator"), table.Counted(len(o.Workers), "worker"), table.Counted(len(o.Steps), "step"))
}

// saySeen states in how many stages a delay worth acting on would have been found.
func saySeen(s seen) string {
	switch {
	case s.Of > 0 && s.N == s.Of:
		return "all stages seen"
	case s.N > 0:
		return fmt.Sprintf("%d of %s seen", s.N, table.Counted(s.Of, "stage"))
	case s.Of > 0:
		return "not seen"
	}
	return ""
}

// sayBlind states why a place is not seen.
func sayBlind(c *answer.Coverage) string {
	switch c.Reason {
	case answer.RanksWait:
		return fmt.Sprintf("all ranks wait in %s for the last one, and record the same time there", stageWord(c.Stage))
	case answer.RanksMayWait:
		return fmt.Sprintf("whether ranks wait in %s is not known: its times neither show nor exclude it", stageWord(c.Stage))
	case answer.RanksUnknown:
		if c.Stage == "" {
			return "the others may wait for a rank that left no recording"
		}
		return fmt.Sprintf("the others may wait in %s for a rank that left no recording", stageWord(c.Stage))
	case answer.TooNoisy:
		return fmt.Sprintf("the times in %s vary too much from step to step", stageWord(c.Stage))
	case answer.Uneven:
		return fmt.Sprintf("whether the fastest rank has less to do in %s was not recorded", stageWord(c.Stage))
	case answer.NoMeeting:
		return "no stage's times show that ranks wait for each other in it"
	case answer.Spread:
		return "no stage by itself shows what a rank is behind over all of them"
	case answer.TooCoarse:
		return "the times are rounded to more than the ranks' arrivals differ by"
	case answer.Rounded:
		return fmt.Sprintf("the times in %s are rounded by as much, and vary too little for their mean to be right", stageWord(c.Stage))
	case answer.NotRecorded:
		return "how long whole steps take was not recorded"
	case answer.NoPeers:
		return "nobody to compare a rank with"
	case answer.MessagesBlind:
		return "waits in sends and receives were not recorded"
	}
	return ""
}

// BlindReason returns in few words why a place of a step is not seen.
func BlindReason(c answer.Coverage) string {
	switch c.Reason {
	case answer.RanksMayWait:
		return "ranks may wait"
	case answer.RanksWait:
		return "ranks wait there"
	case answer.NoMeeting:
		return "no wait is shown"
	case answer.TooNoisy:
		return "too noisy"
	case answer.Spread:
		return "a little in each stage"
	case answer.Uneven:
		return "ranks unequal"
	case answer.TooCoarse:
		return "times too coarse"
	case answer.Rounded:
		return "times rounded"
	case answer.NotRecorded:
		return "no length of steps"
	case answer.RanksUnknown:
		return "ranks without a recording"
	case answer.NoPeers:
		return "no rank to compare"
	case answer.MessagesBlind:
		return "sends and receives not recorded"
	}
	return ""
}

// sayShortage states what there is too little of.
func sayShortage(s *diagnose.Shortage) string {
	switch s.Of {
	case diagnose.NoPeers:
		text := "one rank reported, so nobody can be compared"
		if s.Device != nil {
			text += "; " + sayDeviceShares(*s.Device)
		}
		return text + "."
	case diagnose.UnlikeStages, diagnose.DisorderedStages, diagnose.NestedStages:
		return s.Says + "."
	case diagnose.RanksMissing:
		return fmt.Sprintf("%d of %d ranks did not report.", s.Missing, s.All)
	case diagnose.TooShort:
		return fmt.Sprintf("all steps together take %s.", length(s.Time))
	case diagnose.TooFewSteps:
		return fmt.Sprintf("%s of %s.", table.Counted(s.Steps, "step"), table.Counted(s.Ranks, "rank"))
	case diagnose.NoSteps:
		return "there are no steps to judge."
	case diagnose.IncompleteSteps:
		return "what was recorded is incomplete, or its stages do not add up."
	}
	return ""
}

func sayWhyShortage(s *diagnose.Shortage) string {
	switch s.Of {
	case diagnose.NoPeers:
		return sayWhyNoPeers(s)
	case diagnose.UnlikeStages:
		return "ranks are compared stage by stage"
	case diagnose.DisorderedStages:
		return "whom ranks wait for is read from the order of stages"
	case diagnose.NestedStages:
		return "time in both counts twice"
	case diagnose.RanksMissing:
		return "the others may wait for a rank that is not recorded"
	case diagnose.IncompleteSteps:
		return "nothing certain can be said about such steps"
	case diagnose.TooShort:
		return "times are read as nanoseconds; if they were recorded in µs or ms, convert them"
	case diagnose.TooFewSteps:
		return "so few steps cannot rule out chance"
	}
	return ""
}

func sayWhyNoPeers(s *diagnose.Shortage) string {
	text := "one rank, " + table.Counted(s.Steps, "step")
	if s.One == nil {
		return text + fmt.Sprintf(" of %s each", length(share(s.Time, int64(s.Steps))))
	}
	switch first := length(s.One.First); {
	case s.One.StartUp == 1:
		text += fmt.Sprintf("; the first, of %s, is start-up and left out", first)
	case s.One.StartUp > 1:
		text += fmt.Sprintf("; the first %d, of %s, are start-up and left out", s.One.StartUp, first)
	}
	return text
}

// sayOnlyRank states what takes the steps of the only rank.
func sayOnlyRank(s *diagnose.Shortage) string {
	one := s.One
	text := "One rank: "
	if one.Stage == stagename.Whole {
		text += fmt.Sprintf("a step takes %s, most of it in no part that is logged", length(one.Step))
	} else {
		text += fmt.Sprintf("%s takes %s of a %s step (%s)", stageWord(one.Stage), length(one.Time), length(one.Step), fraction(share(one.Time, one.Step)))
	}
	if s.Device != nil {
		text += "; " + sayDeviceShares(*s.Device)
	}
	return text + ". Nobody can be compared."
}

// sayUndecided states what leaves a run undecided.
func sayUndecided(u *answer.Undecided) string {
	switch u.Question {
	case answer.RanksNotRecorded:
		return fmt.Sprintf("no recorded rank arrives late, but %s without a record may.", sayOneOf(u.N))
	case answer.ClockOrDelay:
		switch len(u.Ranks) {
		case 0:
			return fmt.Sprintf("up to %s of every %s step may be one rank's delay, or its clock.", length(u.Hides), length(u.Step))
		case 1:
			return fmt.Sprintf("%s may delay everyone by up to %s of every %s step, or its clock is off.", ranksWord(u.Ranks), length(u.Hides), length(u.Step))
		}
		return fmt.Sprintf("%s may delay everyone by up to %s of every %s step, or their clocks are off.", ranksWord(u.Ranks), length(u.Hides), length(u.Step))
	case answer.TransferHidden:
		return fmt.Sprintf("no rank is late, but up to %s of every %s step may be a slow transfer in %s.", length(u.Hides), length(u.Step), stageWord(u.Stage))
	case answer.RankHidden:
		part := "any of it"
		if u.Hides < u.Time {
			part = fmt.Sprintf("up to %s of it", length(u.Hides))
		}
		return fmt.Sprintf("all ranks spend %s of every %s step in %s alike, and %s may be one rank's delay.", length(u.Time), length(u.Step), stageWord(u.Stage), part)
	case answer.RolesMixed:
		return "ranks send to each other and share no collective, so none of them can be compared with another."
	case answer.MessagesNotRecorded:
		return "ranks wait for each other in sends and receives that are not recorded."
	}
	return "where the ranks synchronise is not shown, so who waits for whom cannot be told."
}

// sayWhyUndecided states why the data do not decide; behind is who is slow by stage times, and may wait for others in
// messages.
func sayWhyUndecided(u *answer.Undecided, behind *diagnose.Finding) string {
	switch u.Question {
	case answer.MessagesNotRecorded:
		if behind == nil {
			return "who arrives late at a collective may have waited for another in them"
		}
		return fmt.Sprintf("in every %s step %s takes %s longer in %s than its peers, but may wait for another there",
			length(behind.Step), rankAt(*behind.Rank, behind.Host, behind.LocalRank), length(behind.Excess), stageWord(behind.Stage))
	case answer.RanksNotRecorded:
		return "all others would wait for it alike"
	case answer.ClockOrDelay:
		text := "a delay in every step looks like the offset of a clock"
		if u.Needs == answer.SourceHosts {
			text += ", and it is not known which ranks share one"
		}
		return text
	case answer.RolesMixed:
		return "which layers each has is not recorded, so that work between a receive and the next send may be long by design"
	case answer.TransferHidden:
		return "it follows the last entry of a collective, and takes all ranks the same time"
	case answer.RankHidden:
		return "they synchronise inside it, so stage times cannot show who is late"
	}
	return "no stage's times show that ranks wait for each other in it"
}
