package report

import (
	"cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// evidenceKinds are the zero values of all kinds of evidence, for the JSON Schema. The
// sentences have two blocks for each: "evidence NAME" words it, "kind NAME" says what it is.
var evidenceKinds = []evidence.Observation{
	evidence.Lack{}, evidence.Witness{},
	// Of windows.
	evidence.LastToArrive{}, evidence.Replay{}, evidence.LateTogether{}, evidence.SyncPoint{}, evidence.DeviceTime{}, evidence.GroupWork{},
	evidence.Slower{}, evidence.BetweenSteps{}, evidence.InputBound{}, evidence.SlowSteps{}, evidence.LateIntermittently{}, evidence.RankToRank{},
	evidence.RecurringHost{}, evidence.DeviceShares{}, evidence.NobodyLate{},
	// Of the operators behind their stages.
	evidence.LaunchedOperators{}, evidence.OperatorDifference{}, evidence.CollectiveWait{}, evidence.SpentIn{},
	// Of operator traces.
	evidence.StepReplay{}, evidence.OperatorTimes{}, evidence.PassTimes{}, evidence.Outliers{}, evidence.CompletionTimes{}, evidence.BlameWalks{},
	evidence.TransferTimes{}, evidence.LaunchDelay{}, evidence.MicrobatchCorrelation{},
	// Of calls, kernels and entries of collectives.
	evidence.LastToEnter{}, evidence.SlowLink{}, evidence.Bandwidth{}, evidence.NeverEntered{}, evidence.EnteredDifferently{},
	evidence.LateBehindMessages{},
	// Of monitoring.
	evidence.Monitored{}, evidence.Reported{}, evidence.ProbeTime{},
}

// evidenceWords words one observation: a sentence without a full stop.
func evidenceWords(e evidence.Observation) string {
	return cmp.Or(say("evidence "+string(e.Kind()), e), string(e.Kind()))
}

// lackWords says what a higher confidence lacks.
func lackWords(l evidence.Lack) string { return say("lack "+string(l.Reason), l) }

// questionWords word what the data leave open, with what would answer it.
func questionWords(u answer.Undecided) string {
	text := cmp.Or(say("question "+string(u.Question), u), string(u.Question))
	if u.Needs == "" {
		return text
	}
	return text + ". " + upper(turnOn(u.Needs))
}

// actionWords words one action: an imperative without a full stop.
func actionWords(a answer.Action) string {
	return cmp.Or(say("action "+string(a.Action), a), string(a.Action))
}

// turnOn says how to get a source that would decide.
func turnOn(s answer.Source) string { return cmp.Or(say("turn on "+string(s), nil), string(s)) }

// problemWords word what was lost, skipped or refused.
func problemWords(p answer.Problem) string {
	return cmp.Or(say("problem "+string(p.Problem), p), p.Text, string(p.Problem)+say("window of", p))
}
