package report

import (
	"cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

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
