package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// verdictDocument is a verdict for a tired reader: what, how sure, where the
// time goes, why, what is not known, what to record next.
func verdictDocument(v *diagnose.Verdict, problems []Problem) document {
	if Headline(&v.RunVerdict) == "" && len(v.Windows) == 0 && v.Operators == nil {
		return append(document{headline{"No window could be analysed.", diagnose.Insufficient}}, problemBlocks(problems)...)
	}
	d := document{headline{verdictHeadline(v), v.Confidence},
		prose(fmt.Sprintf("Confidence: %v. %s", v.Confidence, meaning(confidenceWords[:], v.Confidence)))}
	if len(v.Runs) > 1 {
		d = append(d, heading(counted(len(v.Runs), "run")), runTable(v.Runs))
		d = append(d, prose(fmt.Sprintf("What follows is run %s, whose suspect explains most. For another run, give its files alone.", v.Run)))
	}
	d = append(d, runBlocks(&v.RunVerdict)...)
	return append(d, problemBlocks(problems)...)
}

// runTable is one line per run, in the order given.
func runTable(runs []diagnose.RunVerdict) *table {
	t := &table{columns: []column{
		{head: "run", kind: kindText}, {head: "cause", kind: kindText}, {head: "where", kind: kindName},
		{head: "gain", kind: kindFraction}, {head: "confidence", kind: kindText},
	}}
	for _, r := range runs {
		row := []cell{textCell(r.Run), textCell("none found"), {}, {}, textCell(r.Confidence.String())}
		if len(r.Suspects) > 0 {
			s := r.Suspects[0]
			row[1], row[2] = textCell(who(s)), textCell(where(s))
			row[3], row[4] = realCell(s.Gain), textCell(s.Confidence.String())
		}
		t.rows = append(t.rows, row)
	}
	return t.tidy()
}

// who is the suspect without its stage: "rank 5", "group pp=1", "all ranks".
func who(s diagnose.Finding) string {
	switch {
	case s.Rank != nil && s.Group != "":
		return fmt.Sprintf("rank %d (%s)", *s.Rank, s.Group)
	case s.Rank != nil:
		return fmt.Sprintf("rank %d", *s.Rank)
	case s.Group != "":
		return "group " + s.Group
	case s.Kind == diagnose.KindEdge && len(s.Ranks) > 0:
		return "link of ranks " + trace.RankList(s.Ranks)
	case s.Kind == diagnose.KindStage:
		return "stage"
	}
	return s.Kind.String()
}

// where is the operator of a suspect, else its stage; the whole name of a kernel
// is in the JSON.
func where(s diagnose.Finding) string {
	if s.Role != "" {
		return operatorWhere(s)
	}
	if s.Op != "" {
		return opnames.Label(s.Op)
	}
	return s.Stage
}

func runBlocks(v *diagnose.RunVerdict) document {
	if v.Operators != nil {
		return operatorBlocks(v)
	}
	var d document
	d = append(d, windowsBlocks(v)...)
	w := windowOf(v)
	if w == nil {
		return append(d, whyBlocks(v)...)
	}
	shown, stage := w.Main, ""
	if len(v.Suspects) > 0 {
		stage = v.Suspects[0].Stage
		shown = frontierOfGroup(w, v.Suspects[0].Group)
	}
	d = append(d, groupBlocks(w)...)
	d = append(d, accountBlocks(shown, stage)...)
	d = append(d, whyBlocks(v)...)
	if w.Paper != nil && shown == w.Main {
		d = append(d, cutBlocks(w.Main, w.Paper)...)
	}
	d = append(d, wordBlocks(shown.Labels, shown.Reasons)...)
	d = append(d, nextBlocks(v)...)
	if b := basis(shown); len(b) > 0 {
		d = append(d, heading("How this was read"), b)
	}
	return d
}

// windowsBlocks is one line per window where there are several.
func windowsBlocks(v *diagnose.RunVerdict) document {
	if len(v.Windows) < 2 {
		return nil
	}
	var show []int64
	if len(v.Suspects) > 0 {
		show = v.Suspects[0].Windows
	}
	var results []*frontier.Result
	var noted []int
	for i, w := range v.Windows {
		results = append(results, w.Main)
		if slices.Contains(show, w.Main.Window) {
			noted = append(noted, i)
		}
	}
	note := "shows the first suspect"
	if len(noted) == len(results) {
		note = ""
	}
	return document{heading(counted(len(results), "window")), windowTable(results, noted, note)}
}

// windowOf is the window to show: the first that shows the first suspect, else
// the one to record next, else the first.
func windowOf(v *diagnose.RunVerdict) *diagnose.Window {
	if len(v.Windows) == 0 {
		return nil
	}
	var want []int64
	if len(v.Suspects) > 0 {
		want = v.Suspects[0].Windows
	}
	if len(want) == 0 && v.CapturePlan != nil {
		want = []int64{v.CapturePlan.Window}
	}
	i := slices.IndexFunc(v.Windows, func(w diagnose.Window) bool { return slices.Contains(want, w.Main.Window) })
	return &v.Windows[max(0, i)]
}

func frontierOfGroup(w *diagnose.Window, group string) *frontier.Result {
	i := slices.IndexFunc(w.Groups, func(r *frontier.Result) bool { return r.Group == group })
	if group == "" || i < 0 {
		return w.Main
	}
	return w.Groups[i]
}

func groupBlocks(w *diagnose.Window) document {
	if len(w.Groups) == 0 {
		return nil
	}
	return document{heading(counted(len(w.Groups), "role group")), windowTable(w.Groups, nil, "")}
}

// whyBlocks are the evidence for the first suspect and the other suspects.
func whyBlocks(v *diagnose.RunVerdict) document {
	var d document
	if len(v.Suspects) > 0 && len(v.Suspects[0].Evidence) > 0 {
		d = append(d, heading("Why"), evidenceWords(v.Suspects[0].Evidence))
	}
	if len(v.Suspects) < 2 {
		return d
	}
	const most = 5
	t := &table{columns: []column{{head: "cause", kind: kindText}, {head: "where", kind: kindName},
		{head: "explains %s", kind: kindLength}, {head: "gain", kind: kindFraction}, {head: "confidence", kind: kindText}}}
	others := v.Suspects[1:]
	for _, s := range others[:min(most, len(others))] {
		t.rows = append(t.rows, []cell{textCell(who(s)), textCell(where(s)), realCell(float64(s.Explained)), realCell(s.Gain),
			textCell(s.Confidence.String())})
	}
	if len(others) > most {
		t.caption = fmt.Sprintf("%d more are in the JSON.", len(others)-most)
	}
	return append(d, heading("Other suspects"), t.tidy())
}

// cutBlocks set the two cuts side by side where they disagree: that is
// evidence by itself.
func cutBlocks(main, paper *frontier.Result) document {
	a, b := stageNames(main, main.Routing), stageNames(paper, paper.Routing)
	slices.Sort(a)
	slices.Sort(b)
	if leadName(main) == leadName(paper) && slices.Equal(a, b) {
		return nil
	}
	t := &table{columns: []column{{head: "stage", kind: kindName}, {head: paper.Cut.String() + " cut", kind: kindFraction},
		{kind: kindBar}, {head: main.Cut.String() + " cut", kind: kindFraction}, {kind: kindBar}}}
	for _, p := range paper.Stages {
		row := []cell{textCell(p.Name), optionalCell(p.Share), optionalCell(p.Share), {}, {}}
		row[2].strong = p.Name == leadName(paper)
		if i := slices.IndexFunc(main.Stages, func(s frontier.Stage) bool { return s.Name == p.Name }); i >= 0 {
			row[3], row[4] = optionalCell(main.Stages[i].Share), optionalCell(main.Stages[i].Share)
			row[4].strong = p.Name == leadName(main)
		}
		t.rows = append(t.rows, row)
	}
	return document{heading("The two cuts disagree"),
		prose("The step cut starts every step at zero: what one rank loses after the last meeting then shows as everybody's wait in the next step."),
		t.tidy()}
}

func leadName(r *frontier.Result) string {
	if i := lead(r); i >= 0 {
		return r.Stages[i].Name
	}
	return ""
}

// wordBlocks explain labels and reasons.
func wordBlocks(labels []frontier.Label, reasons []frontier.Reason) document {
	var d document
	if len(labels) > 0 {
		d = append(d, heading("What the labels say"), labelTerms(labels))
	}
	if len(reasons) > 0 {
		d = append(d, heading("Why no stronger label is given"), reasonTerms(reasons))
	}
	return d
}

// nextBlocks are what could not be decided and what to record to decide it.
func nextBlocks(v *diagnose.RunVerdict) document {
	var d document
	if open := undecidedWords(v); len(open) > 0 {
		d = append(d, heading("Not decidable from this"), bullets(open))
	}
	if p := planOf(v); p != nil {
		d = append(d, heading("Record next"), planTerms(p))
	}
	return d
}

func planTerms(p *diagnose.CapturePlan) terms {
	steps := fmt.Sprintf("%d–%d", p.Steps[0], p.Steps[1])
	if p.Window >= 0 {
		steps += fmt.Sprintf(" of window %d", p.Window)
	}
	out := terms{{"steps", steps}}
	if p.Steps[0] < 0 {
		out = nil
	}
	add := func(name, text string) {
		if text != "" {
			out = append(out, term{name, text})
		}
	}
	add("ranks", strings.ReplaceAll(trace.RankList(slices.Sorted(slices.Values(p.Ranks))), ",", ", "))
	add("stages", strings.Join(p.Stages, ", "))
	add("with", p.Tool)
	add("why", p.Why)
	return out
}

// problemBlocks list the refused inputs, each with its reason.
func problemBlocks(problems []Problem) document {
	var b bullets
	for _, p := range problems {
		if p.PassedOver == 0 { // else sfstat inspect lists them
			b = append(b, p.sentence())
		}
	}
	if len(b) == 0 {
		return nil
	}
	return document{heading("Refused: " + counted(len(b), "input")), b}
}

// sentence is the reason with the path in front, once.
func (p Problem) sentence() string {
	switch reason := p.reason(); {
	case strings.HasPrefix(reason, p.Path):
		return reason
	default:
		return p.Path + ": " + reason
	}
}

func (p Problem) reason() string {
	if p.Err == nil {
		return ""
	}
	return p.Err.Error()
}
