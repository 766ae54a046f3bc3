package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/power"
)

const powerSchema = "sfstat.power/1"

// Power writes how large a delay must be to be found. CSV is one row per length
// of window, stage and answer.
func Power(w io.Writer, a *power.Account, f Format, s Style) error {
	switch f {
	case JSON:
		return writeJSON(w, powerOf(a))
	case CSV:
		return writeCSV(w, thresholdRows(a))
	}
	return write(w, powerDocument(a), f, s)
}

type powerJSON struct {
	Schema   string `json:"schema"`
	Headline string `json:"headline"`

	Run        string  `json:"run"`
	Ranks      int     `json:"ranks"`
	Rounds     int     `json:"recorded_steps"`
	StepTime   int64   `json:"step_time_ns"`
	Meeting    string  `json:"meeting"`
	Suspect    *string `json:"suspect_in_recording"`
	Power      number  `json:"power"`
	Asked      *int64  `json:"asked_delay_ns"`
	Most       int64   `json:"largest_delay_ns"`
	Replicates int     `json:"replicates"`
	Block      int     `json:"block"`
	Seed       uint64  `json:"seed"`

	Windows []powerWindowJSON `json:"windows"`
}

type powerWindowJSON struct {
	Steps      int              `json:"steps"`
	FalseCalls rateJSON         `json:"false_calls"`
	Stages     []powerStageJSON `json:"stages"`
}

type powerStageJSON struct {
	Stage      string          `json:"stage"`
	Meets      bool            `json:"ranks_meet"`
	AfterMeet  bool            `json:"after_last_meeting"`
	Thresholds []thresholdJSON `json:"thresholds"`
	Asked      *triedJSON      `json:"asked"`
	Astray     *triedJSON      `json:"most_wrong"`
}

type thresholdJSON struct {
	Answer string   `json:"answer"`
	State  string   `json:"state"`
	Delay  *int64   `json:"delay_ns"`
	Below  *int64   `json:"below_ns"`
	Guess  *int64   `json:"guess_ns"`
	Rate   rateJSON `json:"rate"`
}

type triedJSON struct {
	Delay int64    `json:"delay_ns"`
	Call  rateJSON `json:"called"`
	Wrong rateJSON `json:"wrong"`
}

type rateJSON struct {
	Count   int    `json:"count"`
	Of      int    `json:"of"`
	Lower   number `json:"lower"`
	Upper   number `json:"upper"`
	AtLeast number `json:"at_least"`
	AtMost  number `json:"at_most"`
}

func rateFrom(r bootstrap.Rate) rateJSON {
	return rateJSON{r.K, r.N, number(r.Lower), number(r.Upper), number(r.AtLeast), number(r.AtMost)}
}

func triedFrom(t *power.Tried) *triedJSON {
	if t == nil {
		return nil
	}
	return &triedJSON{t.Delay, rateFrom(t.Rates[power.Called]), rateFrom(t.Wrong)}
}

func powerOf(a *power.Account) powerJSON {
	out := powerJSON{Schema: powerSchema, Headline: powerHeadline(a), Run: a.Run, Ranks: a.Ranks, Rounds: a.Rounds,
		StepTime: a.StepTime, Meeting: a.Meeting, Suspect: optionalString(a.Suspect), Power: number(a.Power),
		Most: a.Most, Replicates: a.Replicates, Block: a.Block, Seed: a.Seed, Windows: []powerWindowJSON{}}
	if a.Asked > 0 {
		out.Asked = &a.Asked
	}
	for _, w := range a.Windows {
		window := powerWindowJSON{w.Steps, rateFrom(w.FalseCalls), []powerStageJSON{}}
		for i := range w.Stages {
			window.Stages = append(window.Stages, powerStageOf(&w.Stages[i]))
		}
		out.Windows = append(out.Windows, window)
	}
	return out
}

func powerStageOf(s *power.Stage) powerStageJSON {
	out := powerStageJSON{Stage: s.Name, Meets: s.Meets, AfterMeet: s.AfterMeet, Asked: triedFrom(s.Asked), Astray: triedFrom(s.Astray)}
	for i, t := range s.Thresholds {
		j := thresholdJSON{Answer: power.Answer(i).String(), State: t.State.String(), Rate: rateFrom(t.Rate)}
		if t.State != power.Beyond {
			j.Delay = &t.Delay
		}
		if t.State != power.Already {
			j.Below = &t.Below
		}
		if t.Guess >= 0 {
			j.Guess = &t.Guess
		}
		out.Thresholds = append(out.Thresholds, j)
	}
	return out
}

// thresholdRow is one threshold and where it belongs.
type thresholdRow struct {
	window *power.Window
	stage  *power.Stage
	answer power.Answer
}

func (r thresholdRow) threshold() power.Threshold { return r.stage.Thresholds[r.answer] }

func thresholdRows(a *power.Account) *table {
	var rows []thresholdRow
	for i := range a.Windows {
		w := &a.Windows[i]
		for k := range w.Stages {
			for _, answer := range power.Answers() {
				rows = append(rows, thresholdRow{w, &w.Stages[k], answer})
			}
		}
	}
	type x = thresholdRow
	return flat([]field[x]{
		{"steps", kindInteger, func(r x) cell { return wholeCell(r.window.Steps) }},
		{"stage", kindText, func(r x) cell { return textCell(r.stage.Name) }},
		{"answer", kindText, func(r x) cell { return textCell(r.answer.String()) }},
		{"state", kindText, func(r x) cell { return textCell(r.threshold().State.String()) }},
		{"delay_ns", kindInteger, func(r x) cell {
			if r.threshold().State == power.Beyond {
				return cell{}
			}
			return wholeCell(r.threshold().Delay)
		}},
		{"below_ns", kindInteger, func(r x) cell {
			if r.threshold().State == power.Already {
				return cell{}
			}
			return wholeCell(r.threshold().Below)
		}},
		{"rate", kindReal, func(r x) cell { return realCell(shareOf(r.threshold().Rate)) }},
		{"rate_lower", kindReal, func(r x) cell { return realCell(r.threshold().Rate.Lower) }},
		{"rate_upper", kindReal, func(r x) cell { return realCell(r.threshold().Rate.Upper) }},
		{"replicates", kindInteger, func(r x) cell { return wholeCell(r.threshold().Rate.N) }},
		{"false_calls", kindInteger, func(r x) cell { return wholeCell(r.window.FalseCalls.K) }},
		{"power", kindReal, func(x) cell { return realCell(a.Power) }},
		{"seed", kindText, func(x) cell { return textCell(strconv.FormatUint(a.Seed, 10)) }},
	}, rows)
}

func shareOf(r bootstrap.Rate) float64 { return float64(r.K) / float64(max(1, r.N)) }

// powerDocument is the answer, what it rests on, and a table for each length.
func powerDocument(a *power.Account) document {
	d := document{headline{powerHeadline(a), diagnose.Insufficient}, prose(powerBasis(a))}
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
func powerHeadline(a *power.Account) string {
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
		t := w.Stages[i].Thresholds[power.Called]
		if t.State == power.Beyond {
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
		return fmt.Sprintf("In windows of %s of this job no delay of one rank up to %s a step is called.", counted(w.Steps, "step"), length(float64(a.Most)))
	}
	s := fmt.Sprintf("In windows of %s of this job, a rank is called, with its stage, when it loses %s a step or more", counted(w.Steps, "step"), span(from, to))
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

func whyNever(w *power.Window, names []string) string {
	for i := range w.Stages {
		for _, name := range names {
			if w.Stages[i].Name == name && !w.Stages[i].Meets {
				return ""
			}
		}
	}
	return ", where the ranks meet and times do not show who was late"
}

// chosen is a delay that somebody chose, as it is: "20 ms".
func chosen(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'g', 6, 64) + " ms" }

// askedHeadline says whether the delay that was asked about is called.
func askedHeadline(a *power.Account, w *power.Window) string {
	var yes, no, meet []string
	least := int64(-1)
	for i := range w.Stages {
		s := &w.Stages[i]
		t := s.Thresholds[power.Called]
		if t.State != power.Beyond && (least < 0 || t.Delay < least) {
			least = t.Delay
		}
		switch {
		case s.Asked != nil && shareOf(s.Asked.Rates[power.Called]) >= a.Power:
			yes = append(yes, s.Name)
		case s.Meets:
			meet = append(meet, s.Name)
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
		return fmt.Sprintf("In part: %s would be called in %s; not in %s.", what, strings.Join(yes, ", "), strings.Join(append(no, meet...), ", "))
	case len(meet) > 0:
		return fmt.Sprintf("Yes: %s would be called, with its stage; but in %s, where the ranks meet, times do not show who was late.", what, strings.Join(meet, ", "))
	}
	return fmt.Sprintf("Yes: %s would be called, with its stage.", what)
}

// powerBasis says what the answer rests on.
func powerBasis(a *power.Account) string {
	s := fmt.Sprintf("Called means at least supported, in %s of windows or more. %s of run %s (%s, %s a step, meeting in %s) drawn anew in blocks of %d, with a delay of one rank: %s for each delay, seed %d.",
		percentOf(a.Power), counted(a.Rounds, "step"), a.Run, counted(a.Ranks, "rank"), length(float64(a.StepTime)), a.Meeting, a.Block, counted(a.Replicates, "window"), a.Seed)
	var calls []string
	for _, w := range a.Windows {
		calls = append(calls, fmt.Sprintf("%d of %d windows of %d steps (at most %s at 95 %% confidence)", w.FalseCalls.K, w.FalseCalls.N, w.Steps, percent(w.FalseCalls.AtMost)))
	}
	if len(calls) > 0 {
		s += " Without a delay, something was called in " + strings.Join(calls, ", ") + "."
	}
	return s
}

func powerDoubts(a *power.Account) bullets {
	var b bullets
	if a.Suspect != "" {
		b = append(b, "The recording itself is not free of faults, so thresholds are for one fault beside another: "+a.Suspect)
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
func mostAstray(w *power.Window) *power.Stage {
	var worst *power.Stage
	for i := range w.Stages {
		s := &w.Stages[i]
		if s.Astray != nil && s.Astray.Wrong.K > 0 && (worst == nil || s.Astray.Wrong.K > worst.Astray.Wrong.K) {
			worst = s
		}
	}
	return worst
}

// thresholdTable is one row per stage.
func thresholdTable(a *power.Account, w *power.Window) *table {
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
		for _, answer := range []power.Answer{power.Called, power.RoutedSecond, power.RoutedFirst, power.PaperSecond, power.PaperFirst} {
			row = append(row, textCell(thresholdWords(s.Thresholds[answer])))
		}
		if s.Asked != nil {
			row = append(row, realCell(shareOf(s.Asked.Rates[power.Called])))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func thresholdWordsMean(a *power.Account) string {
	s := fmt.Sprintf("top-2, top-1: the stage is among the first two, first, by the automatic cut; paper-2, paper-1: by the paper's. any: without a delay; none: not up to %s.",
		length(float64(a.Most)))
	if a.Asked > 0 {
		s += fmt.Sprintf(" at %s: windows in which that delay is called.", chosen(a.Asked))
	}
	return s
}

func thresholdWords(t power.Threshold) string {
	switch t.State {
	case power.Already:
		return "any"
	case power.Beyond:
		return "none"
	}
	return length(float64(t.Delay))
}
