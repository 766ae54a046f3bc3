package report

import (
	"fmt"
	"math"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

func deviceTime(e evidence.DeviceTime) string {
	stage, host, device := stageWord(e.Stage), length(float64(e.Host)), length(float64(e.Device))
	if e.Rank == nil {
		return fmt.Sprintf("%s takes %s a step on every host and %s on the device (%d samples): the rest is spent on the host, in Python, in launching or in copies",
			stage, host, device, e.Samples)
	}
	return fmt.Sprintf("device events (%s): %s a sampled step on rank %d, %s on its peers (median), over %d samples; the host of rank %d records %s in %s, since it does not wait there",
		e.Channel, device, *e.Rank, length(float64(e.Peers)), e.Samples, *e.Rank, host, stage)
}

func groupWork(e evidence.GroupWork) string {
	return fmt.Sprintf("ranks of %s work %s a step, the other groups %s; the others wait for them where all synchronise",
		e.Group, length(float64(e.Own)), length(float64(e.Others)))
}

func slower(e evidence.Slower) string {
	stage, now, before := stageWord(e.Stage), length(float64(e.Time)), length(float64(e.BaseTime))
	if e.Baseline {
		return fmt.Sprintf("%s takes %s a step on all ranks, %s in the baseline (%d steps): %s more, between %s and %s at 95 %%", stage,
			now, before, e.BaseN, length(float64(e.Time-e.BaseTime)), length(float64(e.Low)), length(float64(e.High)))
	}
	return fmt.Sprintf("%s takes %s a step in steps %d–%d and %s in steps %d–%d, on all ranks alike", stage, now, e.Steps[0], e.Steps[1], before, e.BaseSteps[0], e.BaseSteps[1])
}

func slowSteps(e evidence.SlowSteps) string {
	return fmt.Sprintf("%d of %d steps, in %s: %s as long as the median step, %s more, on all ranks alike",
		e.N, e.Of, stepsWord(e.First, e.Last), table.Times(e.Factor), length(float64(e.Excess)))
}

func lateIntermittently(e evidence.LateIntermittently) string {
	return fmt.Sprintf("ranks are late intermittently because of %s, each of %d about as often: were none late, step time would fall by %s", stageWord(e.Stage), e.Ranks, about(e.Saves))
}

func recurringHost(e evidence.RecurringHost) string {
	if !e.Runs {
		return fmt.Sprintf("the late rank is on %s in %d of %d stretches of the run with a late rank", e.Host, e.N, e.Of)
	}
	return fmt.Sprintf("the late rank is on %s in %d of %d runs with a late rank, %s if any host were as likely", e.Host, e.N, e.Of, pValue(e.P))
}

func lastToArrive(e evidence.LastToArrive) string {
	because := "because of " + stageWord(e.Stage)
	if e.Stage == "" {
		because = "because of several stages, most of it " + stageWord(e.Mainly)
	}
	return fmt.Sprintf("rank %d is last to arrive at %d of the %d synchronisation points where any rank is late, %s, %s longer there than its peers on average; %s if all ranks were alike",
		e.Rank, e.N, e.Of, because, length(float64(e.Excess)), pValue(e.P))
}

func replay(e evidence.Replay) string {
	if e.Stage != "" {
		return stageReplay(e)
	}
	it := "it"
	if len(e.Ranks) > 1 {
		it = ranksWord(e.Ranks)
	}
	return fmt.Sprintf("replay: with %s as fast as the median of the peers, %s of the exposed time goes; %s is charged to %s", it, about(e.Saves), about(e.Charged), it)
}

// stageReplay is the replay with a stage at its median.
func stageReplay(e evidence.Replay) string {
	s := fmt.Sprintf("replay: with %s at its median in every step, %s of the exposed time goes", stageWord(e.Stage), about(e.Saves))
	switch {
	case e.Lead != "":
		s += fmt.Sprintf("; %s is charged more and would save %s, as it is nearly as long in every step", stageWord(e.Lead), about(e.LeadSaves))
	case e.Agrees:
		s += "; raw durations and spread agree"
	}
	return s
}

func lateTogether(e evidence.LateTogether) string {
	s := ranksWord(e.Ranks) + " are late together"
	if place := e.Host + e.Group; place != "" {
		s += fmt.Sprintf(", all ranks of %s and no other", place)
	}
	return s + fmt.Sprintf(": fixing all of them would cut those steps by %s, and the run by %s", about(e.Gain), about(e.RunGain))
}

func syncPoint(e evidence.SyncPoint) string {
	stage := stageWord(e.Stage)
	switch e.By {
	case "named":
		return fmt.Sprintf("ranks synchronise in %s, as given by --meet-after", stage)
	case "name":
		return fmt.Sprintf("ranks are taken to synchronise in %s, where gradients are reduced: its times do not exclude it", stage)
	case "leads":
		return fmt.Sprintf("ranks probably synchronise in %s: the last rank is %s behind the median when it begins and %s when it ends",
			stage, length(float64(e.Before)), length(float64(e.After)))
	}
	if math.IsNaN(e.Slope) {
		return fmt.Sprintf("ranks synchronise in %s: over all windows, the later a rank arrives the less it spends there (too few steps in one window for a slope)", stage)
	}
	return fmt.Sprintf("ranks synchronise in %s: a rank that arrives 1 ms later spends %s ms less there [%s, %s]", stage, hundredths(e.Slope), hundredths(e.Low), hundredths(e.High))
}

func rankToRank(e evidence.RankToRank) string {
	s := fmt.Sprintf("the delay in %s moves from rank to rank (%s), never on two at once, %s", stageWord(e.Stage), rankList(e.Ranks), pValue(e.P))
	switch len(e.Hosts) {
	case 0:
	case 1:
		s += ", all on " + e.Hosts[0]
	default:
		s += fmt.Sprintf(", over %d hosts: not one host", len(e.Hosts))
	}
	return s + fmt.Sprintf("; fixing it on all of them would cut the run by %s", about(e.Saves))
}

func nobodyLate(e evidence.NobodyLate) string {
	return searched(e) + ", nobody last more often than chance"
}

// searched is what was looked at for late ranks.
func searched(e evidence.NobodyLate) string {
	s := fmt.Sprintf("%s, %s", counted(e.Ranks, "rank"), counted(e.Steps, "step"))
	if e.Skew > 0 {
		s += fmt.Sprintf("; arrival skew %s (median)", length(float64(e.Skew)))
	}
	return s
}

// betweenSteps says how long no step runs.
func betweenSteps(e evidence.BetweenSteps) string {
	s := fmt.Sprintf("%s of the time lies between steps (evaluation, checkpoints)", about(e.Share))
	if e.Excess > 0 {
		s += fmt.Sprintf("; rank %d is there %s longer in all than the others, who wait for it", e.Rank, length(float64(e.Excess)))
	}
	return s
}
