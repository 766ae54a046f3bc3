package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// Sentences about the evidence of stage times: without a full stop.

func sayLastToArrive(e evidence.LastToArrive) string {
	who, they := fmt.Sprintf("rank %d", e.Rank), "it is"
	if len(e.Ranks) > 0 {
		who, they = "one of "+ranksWord(e.Ranks), "they are"
	}
	text := fmt.Sprintf("%s is last to arrive at %d of the %d synchronisation points where %s late, because of %s", who, e.N, e.Of, they, stageWord(e.Stage))
	if e.Stage == "" {
		text += ", most of it " + stageWord(e.Mainly)
	}
	text += fmt.Sprintf(", %s longer there than its peers on average", length(e.Excess))
	if e.Line != nil {
		text += ", " + sayTrend(e.Line)
	}
	text += fmt.Sprintf("; %s if all ranks were alike", pValue(e.P))
	if e.Ends {
		text += "; its record ends there, and the others' go on"
	}
	return text
}

func sayTrend(l *evidence.Line) string {
	trend := "falling"
	if l.Grows() {
		trend = "growing"
	}
	return fmt.Sprintf("%s evenly from %s in step %d to %s in step %d", trend, length(l.From), l.Steps[0], length(l.To), l.Steps[1])
}

func sayReplay(e evidence.Replay) string {
	who := "it"
	if len(e.Ranks) > 1 {
		who = ranksWord(e.Ranks)
	}
	return fmt.Sprintf("replay: with %s as fast as the median of the peers, %s of the exposed time goes; %s is charged to %s", who, fraction(e.Saves), fraction(e.Charged), who)
}

func sayOwnPace(e evidence.OwnPace) string {
	text := fmt.Sprintf("rank %d waits in %s for what comes at its own pace: of each change in the rest of its step the stage makes up for %s (%s to %s)",
		e.Rank, stageWord(e.Stage), table.Percent(e.Slope), table.Percent(e.Low), table.Percent(e.High))
	if len(e.Peers) > 0 {
		wait := "waits"
		if len(e.Peers) > 1 {
			wait = "wait"
		}
		text += fmt.Sprintf("; %s %s there too, and would go on no faster without it", ranksWord(e.Peers), wait)
	}
	return text
}

func sayLateTogether(e evidence.LateTogether) string {
	of := ""
	if place := e.Host + e.Group; place != "" {
		of = fmt.Sprintf(", all ranks of %s and no other", place)
	}
	if len(e.Spans) > 0 {
		return fmt.Sprintf("%s are late one after another, %s: fixing all of them would cut those steps by %s, and the run by %s", ranksWord(e.Ranks), saySpans(e.Spans), fraction(e.Gain), fraction(e.RunGain))
	}
	return fmt.Sprintf("%s are late together%s: fixing all of them would cut those steps by %s, and the run by %s", ranksWord(e.Ranks), of, fraction(e.Gain), fraction(e.RunGain))
}

// saySpans states when ranks are late that are so one after another.
func saySpans(spans []evidence.Span) string {
	return strings.Join(each(spans, func(s evidence.Span) string {
		return fmt.Sprintf("rank %d in %s", s.Rank, stepsWord(s.Steps[0], s.Steps[1]))
	}), ", ")
}

func saySyncPoint(e evidence.SyncPoint) string {
	in := stageWord(e.Stage)
	switch {
	case e.By == "named":
		return fmt.Sprintf("ranks synchronise in %s, as given by --meet-after", in)
	case e.By == "calls":
		return fmt.Sprintf("ranks synchronise in %s: all enter calls there that return once the last has come", in)
	case e.By == "name":
		return fmt.Sprintf("ranks are taken to synchronise in %s, where gradients are reduced: its times do not exclude it", in)
	case !table.Finite(e.Slope):
		return fmt.Sprintf("ranks synchronise in %s: over all windows, the later a rank arrives the less it spends there (too few steps in one window for a slope)", in)
	}
	if e.Every != 0 {
		in += fmt.Sprintf(" in one step of %d", e.Every)
	}
	return fmt.Sprintf("ranks synchronise in %s: a rank that arrives 1 ms later spends %s ms less there [%s, %s]", in, hundredths(e.Slope), hundredths(e.Low), hundredths(e.High))
}

func sayDeviceTime(e evidence.DeviceTime) string {
	if e.Rank == nil {
		return fmt.Sprintf("%s takes %s a step on every host and %s on the device (%d samples): the rest is spent on the host, in Python, in launching or in copies",
			stageWord(e.Stage), length(e.Host), length(e.Device), e.Samples)
	}
	return fmt.Sprintf("device events (%s): %s a sampled step on rank %d, %s on its peers (median), over %d samples; the host of rank %d records %s in %s, since it does not wait there",
		e.Channel, length(e.Device), *e.Rank, length(e.Peers), e.Samples, *e.Rank, length(e.Host), stageWord(e.Stage))
}

func sayGroupWork(e evidence.GroupWork) string {
	return fmt.Sprintf("ranks of %s work %s a step, the other groups %s; the others wait for them where all synchronise", e.Group, length(e.Own), length(e.Others))
}

func saySlower(e evidence.Slower) string {
	stage, more := stageWord(e.Stage), e.Time-e.BaseTime
	switch {
	case e.Grows:
		return fmt.Sprintf("%s takes %s more in every step than in the step before, on all ranks alike", stage, length(float64(more)/float64(e.Steps[1]-e.Steps[0])))
	case e.Baseline:
		return fmt.Sprintf("%s takes %s a step on all ranks, %s in the baseline (%d steps): %s more, between %s and %s at 95 %%",
			stage, length(e.Time), length(e.BaseTime), e.BaseN, length(more), length(e.Low), length(e.High))
	}
	return fmt.Sprintf("%s takes %s a step in steps %d–%d and %s in steps %d–%d, on all ranks alike",
		stage, length(e.Time), e.Steps[0], e.Steps[1], length(e.BaseTime), e.BaseSteps[0], e.BaseSteps[1])
}

func sayBetweenSteps(e evidence.BetweenSteps) string {
	text := fmt.Sprintf("the middle rank spends %s of the time between steps (evaluation, checkpoints)", fraction(e.Share))
	if e.Excess > 0 {
		text += fmt.Sprintf("; rank %d is there %s longer in all than the others, who wait for it", e.Rank, length(e.Excess))
	}
	return text
}

func sayInputBound(e evidence.InputBound) string {
	return fmt.Sprintf("%s takes %s of each step on all ranks: input-bound?", stageWord(e.Stage), fraction(e.Share))
}

func saySlowSteps(e evidence.SlowSteps) string {
	return fmt.Sprintf("%d of %d steps, in %s: %s as long as the others, %s more, on all ranks alike", e.N, e.Of, stepsWord(e.First, e.Last), table.Times(e.Factor), length(e.Excess))
}

func sayLateIntermittently(e evidence.LateIntermittently) string {
	text := "ranks are late intermittently because of " + stageWord(e.Stage)
	if e.Even {
		text += fmt.Sprintf(", each of %d about as often", len(e.Late))
	} else if turns := sayTurns(e); turns != "" {
		text += ": " + turns
	}
	return text + fmt.Sprintf("; were none late, step time would fall by %s", fraction(e.Saves))
}

// sayTurns states how often the first of the ranks were late; "" where no rank is known.
func sayTurns(e evidence.LateIntermittently) (text string) {
	for i, rank := range e.Late[:min(3, len(e.Late))] {
		if i == 0 {
			text = fmt.Sprintf("rank %d in %d steps", rank, e.Turns[i])
		} else {
			text += fmt.Sprintf(", rank %d in %d", rank, e.Turns[i])
		}
	}
	if len(e.Late) > 3 {
		text += fmt.Sprintf(" and %s in up to %d", table.Counted(len(e.Late)-3, "other"), e.Turns[3])
	}
	return text
}

// sayWhoTakesTurns states which ranks are late intermittently.
func sayWhoTakesTurns(e evidence.LateIntermittently) string {
	switch {
	case e.Even:
		return "ranks"
	case len(e.Late) <= 4:
		return ranksWord(e.Late)
	}
	return fmt.Sprintf("%d of %s", len(e.Late), table.Counted(e.Ranks, "rank"))
}

func sayRankToRank(e evidence.RankToRank) string {
	text := fmt.Sprintf("the delay in %s moves from rank to rank (%s), never on two at once, %s", stageWord(e.Stage), rankList(e.Ranks), pValue(e.P))
	switch len(e.Hosts) {
	case 0:
	case 1:
		text += ", all on " + e.Hosts[0]
	default:
		text += fmt.Sprintf(", over %d hosts: not one host", len(e.Hosts))
	}
	return text + fmt.Sprintf("; fixing it on all of them would cut the run by %s", fraction(e.Saves))
}

func sayRecurringHost(e evidence.RecurringHost) string {
	return fmt.Sprintf("the late rank is on %s in %d of %d runs with a late rank, %s if any host were as likely", e.Host, e.N, e.Of, pValue(e.P))
}

// minReason is the least share of a step that is given as a reason why the device idles.
const minReason = 0.01

func sayDeviceShares(e evidence.DeviceShares) string {
	text := fmt.Sprintf("its device idles %s of the time%s and computes %s", fraction(e.Idle), sayIdleReasons(e), fraction(e.Compute))
	if e.Exposed >= minReason {
		text += fmt.Sprintf("; communication that nothing covers takes %s", fraction(e.Exposed))
	}
	if e.ExposedMemory >= minReason {
		text += fmt.Sprintf("; copies that nothing covers take %s", fraction(e.ExposedMemory))
	}
	return text
}

// sayIdleReasons states for what the device waits while it idles, the longest first.
func sayIdleReasons(e evidence.DeviceShares) string {
	type reason struct {
		share float64
		text  string
	}
	reasons := []reason{{e.IdleHost, "waiting for the host to launch"}, {e.IdleSync, "after synchronisations"}, {e.IdleData, "while the host waits for data"},
		{e.IdleLaunched, "with work launched but not begun"}}
	slices.SortStableFunc(reasons, func(a, b reason) int { return cmp.Compare(b.share, a.share) })
	var list []string
	for _, r := range reasons {
		if r.share >= minReason {
			list = append(list, fraction(r.share)+" "+r.text)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

func sayNobodyLate(e evidence.NobodyLate) string {
	text, last := saySearched(&e), e.Last
	if last == nil {
		return text
	}
	if !last.Significant {
		return text + ", nobody last more often than chance"
	}
	return text + fmt.Sprintf("; rank %d is last at %d of %s, by %s (median), %s if all ranks were alike",
		last.Rank, last.N, table.Counted(last.Of, "synchronisation point"), length(last.Behind), pValue(last.P))
}

// saySearched states what was compared, and found nothing in.
func saySearched(e *evidence.NobodyLate) string {
	text := table.Counted(e.Ranks, "rank") + ", " + table.Counted(e.Steps, "step")
	if e.Skew > 0 {
		text += fmt.Sprintf("; arrival skew %s (median)", length(e.Skew))
	}
	return text
}

func sayDistribution(e evidence.Distribution) string {
	method := "waits"
	if e.Symptoms != 0 {
		method = "blame"
	}
	text := fmt.Sprintf("K-S and %s agree: %s %d works %s a step longer than its peers", method, nounOf(e.Workers), e.Rank, length(e.Level))
	if e.Several {
		text += " over several stages, in none of them by itself"
	} else if e.Stage != "" {
		text += " in " + stageWord(e.Stage)
	}
	return text + fmt.Sprintf(", beyond a margin of %s, %s", length(e.Margin), pValue(e.P))
}

func sayOneRank(e evidence.OneRank) string {
	text := fmt.Sprintf("%s takes %s of a %s step", stageWord(e.Stage), length(e.Time), length(e.Step))
	for _, c := range e.Changes {
		text += "; " + lower(trimStop(sayChange(c)))
	}
	for _, l := range e.Longest {
		text += "; longest " + sayLongestOperators(l)
	}
	return text
}

// sayChange states where the steps of the only rank become longer: a whole sentence.
func sayChange(c evidence.Change) string {
	stage := stageWord(c.Stage)
	switch {
	case c.Grows:
		return fmt.Sprintf("From step %d to %d %s grows from %s to %s.", c.Steps[0], c.Steps[1], stage, length(c.Before), length(c.After))
	case c.After != 0:
		return fmt.Sprintf("From step %d on %s takes %s, %s before.", c.Steps[0], stage, length(c.After), length(c.Before))
	case c.Every != 0:
		return fmt.Sprintf("Every %s step, from %d on, takes %s longer in %s: %s of the run.", ordinal(c.Every), c.Steps[0], length(c.Excess), stage, fraction(c.Share))
	}
	take := "take"
	if c.N == 1 {
		take = "takes"
	}
	return fmt.Sprintf("%s of %d %s %s longer in %s: %s of the run.", table.Counted(c.N, "step"), c.Of, take, length(c.Excess), stage, fraction(c.Share))
}
