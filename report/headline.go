package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/trace/stagename"
)

// firstScreen is the first screen of a run: what, what fixing it saves, what else there is, why
// and what to do next. Each but the first may be empty.
type firstScreen struct {
	what, saves, also, why, next string
	level                        evidence.Confidence
	found                        evidence.Confidence // of the finding that what names; Insufficient: none
	// badge is how certain the finding is that what names; of what names nobody, in how much of a step that holds. "": not known.
	badge string
}

// Headline returns a sentence each on the delay of a run, the saving of its fix and further findings.
func Headline(v *diagnose.RunVerdict) string { return answerTo(v).headline() }

// Reason returns why the headline of a run says so.
func Reason(v *diagnose.RunVerdict) string { return answerTo(v).why }

func (a firstScreen) headline() string {
	text := a.what
	for _, more := range []string{a.saves, a.also} {
		if more != "" {
			text += " " + more
		}
	}
	return text
}

// mostNamed of the findings beside the first are named on the first screen.
const mostNamed = 3

// answerTo words the answer to a run.
func answerTo(v *diagnose.RunVerdict) firstScreen {
	a := v.Answer()
	out := firstScreen{next: strings.Join(each(a.Next, actionWords), "; or "), level: a.Certainty}
	if f := cmp.Or(a.First, a.Largest); f != nil {
		out.why = sayWhy(f, &a.Why)
	}
	switch {
	case a.Healthy != nil:
		out.badge = saySeen(stagesSeen(v.Coverage))
	case a.First != nil && a.First.Confidence > evidence.Insufficient:
		out.found, out.badge = a.First.Confidence, a.First.Confidence.String()
	}
	switch a.Basis {
	case diagnose.OnTooLittle:
		out.shortageWords(&a.Shortage)
	case diagnose.OnOpenQuestion:
		out.what, out.why = "Undecided: "+sayUndecided(&a.Open), sayWhyUndecided(&a.Open, a.Behind)
	case diagnose.OnFinding:
		out.what, out.saves = suspectWhat(v, &a)+".", saves(a.Saving, v.MinGain)
		if len(a.Also) > 0 {
			out.also = sayAlso(&a)
		}
	case diagnose.OnNoStraggler:
		out.what, out.why = sayNoStraggler(a.Healthy, v.MinGain), cmp.Or(sayWhyNoStraggler(v, a.Healthy), out.why)
	case diagnose.OnUnseen:
		out.level = evidence.Supported // amber: it is no all-clear
		out.what, out.why = sayUnseen(a.Healthy, v.MinGain), cmp.Or(sayLooked(v, a.Healthy, a.Healthy.Blind), out.why)
	case diagnose.OnOperators:
		out.what = sayOperatorAnswer(v, &a)
	case diagnose.OnCommunication:
		out.what = sayCommunicationAnswer(v, &a)
	case diagnose.OnCalls:
		out.what = sayCallsAnswer(v.Communications)
	case diagnose.OnStatus:
		out.what = upper(v.Status.String()) + "."
	}
	return out
}

// shortageWords words what there is too little of.
func (out *firstScreen) shortageWords(s *diagnose.Shortage) {
	out.what, out.why = "Too little data: "+sayShortage(s), sayWhyShortage(s)
	if s.One != nil && s.Of == diagnose.NoPeers {
		out.what = sayOnlyRank(s)
		if len(s.One.Changes) > 0 {
			out.also = sayChange(s.One.Changes[0])
		}
	}
}

// seen is in how many stages of a step a delay worth acting on would have been found.
type seen struct{ N, Of int }

func stagesSeen(coverage []answer.Coverage) (s seen) {
	for _, c := range coverage {
		if c.Stage == stagename.Residual {
			continue // no stage of the program
		}
		s.Of++
		if c.Seen {
			s.N++
		}
	}
	return s
}

// suspectWhat returns in words the subject of a delay, its victims and its size.
func suspectWhat(v *diagnose.RunVerdict, a *diagnose.Answer) string {
	if f := a.First; f.Cause != diagnose.CauseLate && f.Cause != diagnose.CauseDevice {
		return sayDelay(f)
	}
	return sayLate(a, operatorBehind(v, a.First))
}

// operatorBehind returns the line or the operator that explains most of a finding, in brackets.
func operatorBehind(v *diagnose.RunVerdict, f *diagnose.Finding) string {
	if e, ok := evidence.Find[evidence.SpentIn](f.Evidence); ok && e.Source.Call == "" {
		return fmt.Sprintf(" (%s)", e.Source.Short())
	} else if ok {
		return fmt.Sprintf(" (%s, %s)", e.Source.Call, e.Source.Short())
	}
	if op := v.MainOperator(f); op != "" {
		return fmt.Sprintf(" (%s)", opnames.Label(op))
	}
	return ""
}

// saves returns the saving from fixing the answer's findings.
func saves(s diagnose.Saving, minGain float64) string {
	kind := s.Kind
	if kind == diagnose.SavesSteps && fraction(s.Steps) == fraction(s.Run) {
		kind = diagnose.SavesEveryStep
	}
	text := saySaving(kind, &s)
	switch {
	case text == "":
		return ""
	case s.Below && kind != diagnose.SavesLittleAlone:
		text += fmt.Sprintf(", below the threshold of %s", percentOf(minGain))
	}
	return text + "."
}
