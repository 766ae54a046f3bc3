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

// Headline is what delays a run, what fixing it saves and what else there is, in a sentence each.
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

// answered is an answer to a run, for sentences.
type answered struct {
	*diagnose.Answer
	Run *diagnose.RunVerdict
}

// cited is a finding and what speaks for it, for sentences.
type cited struct {
	Finding *diagnose.Finding
	Why     *diagnose.Why
	Seen    evidence.Observation
}

// mostNamed of the findings beside the first are named on the first screen.
const mostNamed = 3

// answerTo words the answer to a run.
func answerTo(v *diagnose.RunVerdict) firstScreen {
	a := v.Answer()
	x := answered{&a, v}
	out := firstScreen{next: strings.Join(each(a.Next, actionWords), "; or "), level: a.Certainty}
	if f := cmp.Or(a.First, a.Largest); f != nil {
		out.why = say("why", cited{Finding: f, Why: &a.Why})
	}
	switch {
	case a.Healthy != nil:
		out.badge = say("seen", stagesSeen(v.Coverage))
	case a.First != nil && a.First.Confidence > evidence.Insufficient:
		out.found, out.badge = a.First.Confidence, a.First.Confidence.String()
	}
	switch a.Basis {
	case diagnose.OnTooLittle:
		name := "short " + string(a.Shortage.Of)
		out.what, out.why = "Too little data: "+say(name, a.Shortage), say("why "+name, a.Shortage)
		if one := a.Shortage.One; one != nil && a.Shortage.Of == diagnose.NoPeers {
			out.what = say("one rank", a.Shortage)
			if len(one.Changes) > 0 {
				out.also = say("one rank changes", one.Changes[0])
			}
		}
	case diagnose.OnOpenQuestion:
		name := "undecided " + string(a.Open.Question)
		if say(name, x) == "" {
			name = "undecided other"
		}
		out.what, out.why = "Undecided: "+say(name, x), say("why "+name, x)
	case diagnose.OnFinding:
		out.what, out.saves = suspectWhat(v, &a)+".", saves(a.Saving, v.MinGain)
		if len(a.Also) > 0 {
			out.also = say("also", a)
		}
	case diagnose.OnUnseen:
		out.level = evidence.Supported // amber: it is no all-clear
		fallthrough
	default:
		out.what = say("answer "+string(a.Basis), x)
		out.why = cmp.Or(say("why "+string(a.Basis), x), out.why)
	}
	return out
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

// suspectWhat is who delays whom by how much.
func suspectWhat(v *diagnose.RunVerdict, a *diagnose.Answer) string {
	if f := a.First; f.Cause != diagnose.CauseLate && f.Cause != diagnose.CauseDevice {
		return say("delays "+f.Cause.String(), f)
	}
	return lateWhat(a, operatorBehind(v, a.First))
}

// lateWhat is the sentence on ranks that others wait for.
func lateWhat(a *diagnose.Answer, inside string) string {
	return say("delays late", struct {
		*diagnose.Answer
		Inside string
	}{a, inside})
}

// operatorBehind is the line or the operator that explains most of a finding, in
// brackets.
func operatorBehind(v *diagnose.RunVerdict, f *diagnose.Finding) string {
	if e, ok := evidence.Find[evidence.SpentIn](f.Evidence); ok && e.Source.Call == "" {
		return fmt.Sprintf(" (%s)", e.Source.Short())
	} else if ok {
		return fmt.Sprintf(" (%s, %s)", e.Source.Call, e.Source.Short())
	}
	if op := v.Inside(f); op != "" {
		return fmt.Sprintf(" (%s)", opnames.Label(op))
	}
	return ""
}

// saves is what fixing what the answer names saves.
func saves(s diagnose.Saving, minGain float64) string {
	kind := s.Kind
	if kind == diagnose.SavesSteps && about(s.Steps) == about(s.Run) {
		kind = diagnose.SavesEveryStep
	}
	text := say("saves "+string(kind), s)
	switch {
	case text == "":
		return ""
	case s.Below && kind != diagnose.SavesLittleAlone:
		text += fmt.Sprintf(", below the threshold of %s", percentOf(minGain))
	}
	return text + "."
}

// shortEvidence is the first line of evidence under a headline that names the
// suspect already.
func shortEvidence(f *diagnose.Finding, e evidence.Observation) string {
	return cmp.Or(say("brief "+string(e.Kind()), cited{Finding: f, Seen: e}), evidenceWords(e))
}
