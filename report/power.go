package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/detectability"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
)

// Power writes how large a delay must be to be found. CSV is one row per length
// of window, stage and answer.
func (o Output) Power(a *detectability.Account) error {
	return o.writeWhole(forms{
		"power",
		func() any { return powerOf(a) },
		func() *csvTable { return thresholdRows(a) },
		func() document { return powerDocument(a) },
	})
}

// powerDocument is the answer, what it rests on, and a table for each length.
func powerDocument(a *detectability.Account) document {
	d := document{headline{powerHeadline(a), evidence.Insufficient}, prose(powerBasis(a))}
	if b := powerDoubts(a); len(b) > 0 {
		d = append(d, heading("Read with care"), b)
	}
	for i := range a.Windows {
		w := &a.Windows[i]
		t := thresholdTable(a, w)
		if i == len(a.Windows)-1 {
			t.caption = thresholdWordsMean(a)
		}
		d = append(d, heading(fmt.Sprintf("Smallest delay a step that is found, in windows of %s", counted(w.Steps, "step"))), t)
	}
	return d
}

// powerHeadline answers for windows of the first length.
func powerHeadline(a *detectability.Account) string {
	if len(a.Windows) == 0 {
		return "Nothing was asked."
	}
	w := &a.Windows[0]
	if a.Asked > 0 {
		return askedHeadline(a, w)
	}
	var called, never []string
	from, to := int64(0), int64(0)
	for i := range w.Stages {
		t := w.Stages[i].Thresholds[detectability.Called]
		if t.State == detectability.Beyond {
			never = append(never, w.Stages[i].Name)
			continue
		}
		if len(called) == 0 || t.Delay < from {
			from = t.Delay
		}
		to = max(to, t.Delay)
		called = append(called, w.Stages[i].Name)
	}
	if len(called) == 0 {
		return fmt.Sprintf("In windows of %s of this job no delay of one rank up to %s a step would be named.", counted(w.Steps, "step"), length(float64(a.Most)))
	}
	s := fmt.Sprintf("In windows of %s of this job, a rank is named, with its stage, when it loses %s a step or more", counted(w.Steps, "step"), span(from, to))
	if len(never) > 0 {
		s += "; not in " + strings.Join(never, ", ") + whyNever(w, never)
	}
	return s + "."
}

// span is a length, or two where they look different.
func span(from, to int64) string {
	low, high := length(float64(from)), length(float64(to))
	if low == high {
		return high
	}
	return low + " to " + high
}

func whyNever(w *detectability.Window, names []string) string {
	for i := range w.Stages {
		for _, name := range names {
			if w.Stages[i].Name == name && !w.Stages[i].Syncs {
				return ""
			}
		}
	}
	return ", where the ranks synchronise and times do not show who was late"
}

// chosen is a delay that somebody chose, as it is: "20 ms".
func chosen(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'g', 6, 64) + " ms" }

// askedHeadline says whether the delay that was asked about is named.
func askedHeadline(a *detectability.Account, w *detectability.Window) string {
	var yes, no, sync []string
	least := int64(-1)
	for i := range w.Stages {
		s := &w.Stages[i]
		t := s.Thresholds[detectability.Called]
		if t.State != detectability.Beyond && (least < 0 || t.Delay < least) {
			least = t.Delay
		}
		switch {
		case s.Asked != nil && shareOf(s.Asked.Rates[detectability.Called]) >= a.Power:
			yes = append(yes, s.Name)
		case s.Syncs:
			sync = append(sync, s.Name)
		default:
			no = append(no, s.Name)
		}
	}
	what := fmt.Sprintf("a rank that loses %s in every step of a window of %d", chosen(a.Asked), w.Steps)
	switch {
	case len(yes) == 0 && least >= 0:
		return fmt.Sprintf("No: %s would not be called. That takes %s.", what, length(float64(least)))
	case len(yes) == 0:
		return fmt.Sprintf("No: %s would not be called, nor would one that loses %s.", what, length(float64(a.Most)))
	case len(no) > 0:
		return fmt.Sprintf("In part: %s would be called in %s; not in %s.", what, strings.Join(yes, ", "), strings.Join(append(no, sync...), ", "))
	case len(sync) > 0:
		return fmt.Sprintf("Yes: %s would be called, with its stage; but in %s, where the ranks synchronise, times do not show who was late.", what, strings.Join(sync, ", "))
	}
	return fmt.Sprintf("Yes: %s would be called, with its stage.", what)
}

// powerBasis says what the answer rests on.
func powerBasis(a *detectability.Account) string {
	s := fmt.Sprintf("Called means at least supported, in %s of windows or more. %s of run %s (%s, %s a step, synchronising in %s) drawn anew in blocks of %d, with a delay of one rank: %s for each delay, seed %d.",
		percentOf(a.Power), counted(a.Rounds, "step"), a.Run, counted(a.Ranks, "rank"), length(float64(a.StepTime)), a.SyncPoint, a.Block, counted(a.Replicates, "window"), a.Seed)
	calls := each(a.Windows, func(w detectability.Window) string {
		return fmt.Sprintf("%d of %d windows of %d steps (at most %s at 95 %% confidence)", w.FalseCalls.K, w.FalseCalls.N, w.Steps, percent(w.FalseCalls.AtMost))
	})
	if len(calls) > 0 {
		s += " Without a delay, something was called in " + strings.Join(calls, ", ") + "."
	}
	return s
}

func powerDoubts(a *detectability.Account) bullets {
	var b bullets
	if a.Suspect != nil {
		b = append(b, "The recording itself is not free of faults, so thresholds are for one fault beside another: "+Headline(a.Suspect))
	}
	for _, w := range a.Windows {
		if w.Steps > 2*a.Rounds {
			b = append(b, fmt.Sprintf("Windows of %d steps are made of %d recorded ones: slow changes of the job are not in them.", w.Steps, a.Rounds))
		}
	}
	for i := range a.Windows {
		if worst := mostAstray(&a.Windows[i]); worst != nil {
			t := worst.Astray
			b = append(b, fmt.Sprintf("At worst, with %s in %s, %d of %d windows of %d steps had something called that was not delayed.",
				length(float64(t.Delay)), worst.Name, t.Wrong.K, t.Wrong.N, a.Windows[i].Steps))
		}
	}
	return b
}

// mostAstray is the stage with the most wrong calls at some delay; nil without
// any.
func mostAstray(w *detectability.Window) *detectability.Stage {
	var worst *detectability.Stage
	for i := range w.Stages {
		s := &w.Stages[i]
		if s.Astray != nil && s.Astray.Wrong.K > 0 && (worst == nil || s.Astray.Wrong.K > worst.Astray.Wrong.K) {
			worst = s
		}
	}
	return worst
}

// thresholdTable is one row per stage.
func thresholdTable(a *detectability.Account, w *detectability.Window) *table {
	t := &table{columns: []column{
		{head: "stage", kind: kindName}, {head: "called", kind: kindText}, {head: "top-2", kind: kindText}, {head: "top-1", kind: kindText},
		{head: "paper-2", kind: kindText, spare: a.Asked > 0}, {head: "paper-1", kind: kindText, spare: a.Asked > 0},
	}}
	if a.Asked > 0 {
		t.columns = append(t.columns, column{head: "at " + chosen(a.Asked), kind: kindFraction})
	}
	for i := range w.Stages {
		s := &w.Stages[i]
		row := []cell{textCell(s.Name)}
		for _, answer := range []detectability.Answer{detectability.Called, detectability.RoutedSecond, detectability.RoutedFirst, detectability.PaperSecond, detectability.PaperFirst} {
			row = append(row, textCell(thresholdWords(s.Thresholds[answer])))
		}
		if s.Asked != nil {
			row = append(row, realCell(shareOf(s.Asked.Rates[detectability.Called])))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func thresholdWordsMean(a *detectability.Account) string {
	s := fmt.Sprintf("top-2, top-1: the stage is among the first two, first, by the automatic cut; paper-2, paper-1: by the paper's. any: without a delay; none: not up to %s.",
		length(float64(a.Most)))
	if a.Asked > 0 {
		s += fmt.Sprintf(" at %s: windows in which that delay is named.", chosen(a.Asked))
	}
	return s
}

func thresholdWords(t detectability.Threshold) string {
	switch t.State {
	case detectability.Already:
		return "any"
	case detectability.Beyond:
		return "none"
	}
	return length(float64(t.Delay))
}

func shareOf(r bootstrap.Rate) float64 { return float64(r.K) / float64(max(1, r.N)) }
