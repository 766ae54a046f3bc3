package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/stagename"
)

// verdictDocument returns a verdict for a tired reader: finding, reason and next action, then where the time goes; the rest on
// request.
func verdictDocument(v *diagnose.Verdict, problems []Problem, s Style) document {
	if len(v.Runs) == 0 && len(v.Windows) == 0 && v.Operators == nil {
		return append(document{headline{text: "No window could be analysed."}}, problemBlocks(problems)...)
	}
	if s.Explain {
		return document{prose(Explain(&v.RunVerdict))}
	}
	d := answerBlocks(&v.RunVerdict)
	if text := unreadLine(problems); text != "" {
		list := d[len(d)-1].(brief)
		d[len(d)-1] = append(list[:len(list):len(list)], glyph.Term{Name: "Not read", Text: text})
	}
	if len(v.Runs) > 1 {
		d = append(d, runTable(v))
	}
	if v.Recurring != nil {
		d = append(d, prose(upper(evidenceWords(*v.Recurring))+"."))
	}
	d = append(d, runBlocks(&v.RunVerdict, s)...)
	return append(d, refusedBlocks(problems)...)
}

// answerBlocks returns the first three lines.
func answerBlocks(v *diagnose.RunVerdict) document {
	a := answerTo(v)
	d := document{headline{a.what, a.level, a.badge}}
	for _, more := range []string{a.saves, a.also} {
		if more != "" {
			d = append(d, headline{text: more, level: a.level})
		}
	}
	var list brief
	if a.why != "" {
		list = append(list, glyph.Term{Name: "Why", Text: a.why})
	}
	if e, ok := evidence.Find[evidence.OneRank](v.Observed); ok {
		for _, l := range e.Longest {
			list = append(list, glyph.Term{Name: "Longest", Text: sayLongestOperators(l)})
		}
	}
	if e, ok := evidence.Find[evidence.BetweenSteps](v.Observed); ok {
		list = append(list, glyph.Term{Name: "Outside", Text: upper(evidenceWords(e)) + "."})
	}
	if text := reportedOfOne(v.Observed); text != "" {
		list = append(list, glyph.Term{Name: "Reported", Text: text})
	}
	if text := latentLine(v.Latent); text != "" {
		list = append(list, glyph.Term{Name: "Latent", Text: text})
	}
	if a.next != "" {
		list = append(list, glyph.Term{Name: "Next", Text: a.next})
	}
	return append(d, list)
}

// reportedOfOne returns what other tools, and the kernels of hosts, say beside the steps of the only rank, which names nobody.
func reportedOfOne(observed []evidence.Observation) string {
	if _, one := evidence.Find[evidence.OneRank](observed); !one {
		return ""
	}
	var all []string
	for _, o := range observed {
		if e, ok := o.(evidence.Reported); ok {
			all = append(all, evidenceWords(e))
		}
	}
	return strings.Join(all[:min(len(all), mostNamed)], "; ")
}

// runTable returns a table of one line per run, in the order given.
func runTable(v *diagnose.Verdict) *table.Table {
	t := runsColumns()
	t.Caption = fmt.Sprintf("Above and below: run %s.", v.Run)
	for _, r := range v.Runs {
		row := t.Cells(r.Run, wordsOfName(r.Status), nil, nil, nil)
		a := r.Answer()
		if a.Healthy != nil && len(a.Healthy.Blind) > 0 && r.Status == answer.Unseen {
			row[2] = table.TextCell(bareStage(a.Healthy.Blind[0].Stage))
		}
		if a.First != nil {
			status := sayStatus(r.Status, a.First, subjectWord(a.First))
			row[1], row[2] = table.TextCell(status), table.TextCell(shortPlace(a.First))
			row[3], row[4] = table.RealCell(a.Saving.Run), table.TextCell(a.First.Confidence.String())
		}
		t.Add(row...)
	}
	return t.Tidy()
}

func runBlocks(v *diagnose.RunVerdict, s Style) document {
	if v.Operators != nil && len(v.Windows) == 0 {
		return operatorBlocks(v, s)
	}
	w := v.MainWindow()
	var d document
	if w != nil {
		d = document{stepTable(v, w), prose(inputLine(v, w))}
	}
	d = put(d, prose(sayEarlier(v)), remark(sayTraceBeside(v)), problemRemarks(v.Problems, v.Answer().Shortage.Says))
	switch {
	case !s.Verbose && w != nil && s.Labels:
		return put(d, hint("-v shows the evidence"), wordBlocks(w.Main.Labels, w.Main.Reasons))
	case !s.Verbose && w != nil:
		return append(d, hint("-v shows the evidence"))
	case w == nil:
		return put(d, evidenceBlocks(v), coverageBlocks(v), latentBlocks(v.Latent), nextBlocks(v))
	}
	return put(d, evidenceBlocks(v), coverageBlocks(v), latentBlocks(v.Latent), nextBlocks(v), detailBlocks(v, w))
}

// coverageBlocks returns a line for each place of a step: whether a late rank would be found there, and if not, why.
func coverageBlocks(v *diagnose.RunVerdict) document {
	t := coverageColumns()
	for _, c := range v.Coverage {
		seen, found, hides, why, needs := "yes", table.Cell{}, table.Cell{}, "", ""
		if c.Least > 0 {
			found = table.RealCell(float64(c.Least))
		}
		if c.Hides > 0 {
			hides = table.RealCell(float64(c.Hides))
		}
		if !c.Seen {
			seen, why, needs = "no", BlindReason(c), strings.ReplaceAll(string(c.Needs), "_", " ")
		}
		t.Row(cmp.Or(c.Stage, "anywhere"), seen, found, hides, why, needs)
	}
	return section("What this recording shows", t.Tidy())
}

// problemRemarks returns the first problems of a run, without steps left out by its cut, which the line on the input has, and
// without the headline's.
func problemRemarks(list []answer.Problem, said string) (d document) {
	const most = 3
	list = slices.DeleteFunc(slices.Clone(list), func(p answer.Problem) bool {
		return p.Problem == answer.StepsDropped || said != "" && p.Text == said
	})
	for _, p := range list[:min(most, len(list))] {
		d = append(d, remark("Note: "+addStop(problemWords(p))))
	}
	if more := len(list) - most; more > 0 {
		d = append(d, remark(fmt.Sprintf("Note: %s more in the JSON.", table.Counted(more, "problem"))))
	}
	return d
}

// addStop ends a sentence that does not end by itself.
func addStop(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// detailBlocks returns the blocks of -v: windows, groups, the account of the window with the evidence, its labels, and how it
// was read.
func detailBlocks(v *diagnose.RunVerdict, w *diagnose.Window) document {
	shown, stage := v.Account(w), ""
	if len(v.Findings) > 0 {
		stage = v.Findings[0].Stage
	}
	var cuts, trace document
	if w.Paper != nil && shown == w.Main {
		cuts = cutBlocks(w.Main, w.Paper)
	}
	if o := v.Operators; o != nil {
		trace = section("The operator trace", stepTerms(o), stageBlocks(o), kindBlocks(o), walkBlocks(v))
	}
	return put(windowsBlocks(v), section(table.Counted(len(w.Groups), "role group"), windowTable(w.Groups, nil, "")), accountBlocks(shown, stage), cuts,
		deviceBlocks(v), wordBlocks(shown.Labels, shown.Reasons), section("How this was read", basis(shown)), trace)
}

// stepTable returns the times of the stages in the order of the step as recorded, the recoverable time and its ranks.
func stepTable(v *diagnose.RunVerdict, w *diagnose.Window) block {
	shown := v.Account(w)
	if len(shown.Stages) == 0 {
		return prose("No stage times of this window could be used.")
	}
	if shown.BelowFloor() {
		return rawTable(shown)
	}
	t := stepColumns()
	for _, s := range sortAsRecorded(shown.Stages, w.Stages) {
		if s.Name == stagename.Residual && s.Share != nil && *s.Share < 0.0005 {
			continue
		}
		bar := table.RealCell(float64(s.Advance))
		recoverable, ranks, strong := recoverableIn(v, s, shown)
		bar.Strong = strong
		t.Row(s.Name, perStep(s.Advance, shown), bar, s.Share, recoverable, ranks)
	}
	return t
}

// sortAsRecorded returns stages in the order in which steps record them.
func sortAsRecorded(stages []frontier.Stage, recorded []string) []frontier.Stage {
	out := slices.Clone(stages)
	slices.SortStableFunc(out, func(a, b frontier.Stage) int {
		return slices.Index(recorded, a.Name) - slices.Index(recorded, b.Name)
	})
	return out
}

// recoverableIn returns by how much a step would be shorter without the findings in a stage, and which ranks lengthen it, or
// that they synchronise there.
func recoverableIn(v *diagnose.RunVerdict, s frontier.Stage, w *frontier.Result) (recoverable, ranks table.Cell, strong bool) {
	if s.Syncs {
		ranks = table.TextCell("synchronise")
	}
	list, most := v.StageFindings(s.Name, w)
	if len(list) == 0 {
		return table.Cell{}, ranks, false
	}
	var names []string
	for _, f := range list {
		name := subjectWord(f)
		if f.Cause == diagnose.CauseTurns {
			name = "ranks in turn"
		}
		if len(f.Ranks) > 1 && f.Kind == diagnose.KindRank {
			name = ranksWord(f.Ranks)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 3 {
		names = append(names[:2:2], fmt.Sprintf("%d more", len(names)-2))
	}
	return table.TextCell(length(most)), table.TextCell(strings.Join(names, ", ")), true
}

// inputLine returns a line about the recordings that were read.
func inputLine(v *diagnose.RunVerdict, w *diagnose.Window) string {
	x := extent{main: w.Main, windows: len(v.Windows)}
	hosts := map[string]bool{"": true}
	for _, r := range w.Main.Members {
		hosts[r.Host] = true
	}
	x.hosts = len(hosts) - 1
	for i := range v.Windows {
		m := v.Windows[i].Main
		x.steps += m.Steps
		if m.Window == w.Main.Window { // a window that was split has parts
			x.of++
		}
		if m == w.Main {
			x.part = x.of
		}
	}
	if i := slices.IndexFunc(v.Problems, func(p answer.Problem) bool { return p.Problem == answer.StepsDropped }); i >= 0 {
		x.dropped = &v.Problems[i]
	}
	return sayInput(&x)
}

// windowSteps returns the steps of a window.
func windowSteps(m *frontier.Result) string {
	return stepsWord(m.FirstStep, m.LastStep())
}

// windowsBlocks returns one line per window where there are several.
func windowsBlocks(v *diagnose.RunVerdict) document {
	if len(v.Windows) < 2 {
		return nil
	}
	var show []int64
	if len(v.Findings) > 0 {
		show = v.Findings[0].Windows
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
	return document{heading(table.Counted(len(results), "window")), windowTable(results, noted, note)}
}

// evidenceBlocks returns the evidence for the first finding and the other findings.
func evidenceBlocks(v *diagnose.RunVerdict) document {
	if len(v.Findings) == 0 {
		return nil
	}
	return put(section("Evidence", bullets(each(v.Findings[0].Evidence, evidenceWords))), otherFindings(v))
}

// nextBlocks returns the undecided questions and the next actions.
func nextBlocks(v *diagnose.RunVerdict) document {
	return put(section("Not decided", bullets(each(v.Undecided, questionWords))), section("Next", bullets(each(v.Next, actionWords))))
}

func otherFindings(v *diagnose.RunVerdict) document {
	const most = 5
	if len(v.Findings) < 2 {
		return nil
	}
	t := otherFindingsColumns()
	for i := range v.Findings[1:] {
		s := &v.Findings[1+i]
		t.Row(subjectWord(s), placeWord(s), s.Source.Short(), s.Excess, s.Struck.Count, s.RunGain, s.Confidence.String())
	}
	return document{heading("Other findings"), capRows(t, most, "json").Tidy()}
}

// cutBlocks returns the two cuts side by side where they disagree, which is evidence by itself.
func cutBlocks(main, paper *frontier.Result) document {
	a, b := stageNames(main, main.Routing), stageNames(paper, paper.Routing)
	slices.Sort(a)
	slices.Sort(b)
	if leadName(main) == leadName(paper) && slices.Equal(a, b) {
		return nil
	}
	t := cutsColumns()
	t.Columns[1].Head, t.Columns[3].Head = paper.Cut.String()+" cut", main.Cut.String()+" cut"
	for _, p := range paper.Stages {
		row := t.Cells(p.Name, p.Share, p.Share, nil, nil)
		row[2].Strong = p.Name == leadName(paper)
		if i := slices.IndexFunc(main.Stages, func(s frontier.Stage) bool { return s.Name == p.Name }); i >= 0 {
			row[3], row[4] = table.OptionalCell(main.Stages[i].Share), table.OptionalCell(main.Stages[i].Share)
			row[4].Strong = p.Name == leadName(main)
		}
		t.Add(row...)
	}
	return document{heading("The two cuts disagree"),
		prose("The step cut starts every step at zero: what one rank loses after the last synchronisation point then shows as everybody's wait in the next step."),
		t.Tidy()}
}

func leadName(r *frontier.Result) string {
	if i := lead(r); i >= 0 {
		return r.Stages[i].Name
	}
	return ""
}

// wordBlocks returns the meanings of labels and reasons.
func wordBlocks(labels []labels.Label, reasons []labels.Reason) document {
	return put(section("Labels of the account alone, without arrivals and replay", explainAll(labels, labelMeaning)), section("Why the account alone says no more", explainAll(reasons, reasonMeaning)))
}

func runsColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "run", Kind: table.Key},
		{Head: "verdict", Kind: table.Text},
		{Head: "where", Kind: table.Name},
		{Head: "of the run", Kind: table.Fraction},
		{Head: "certainty", Kind: table.Text},
	}}
}

func coverageColumns() *table.Table {
	return &table.Table{Caption: "found from: the least delay of one rank in every step that is found. may hide: the largest that is not.", Columns: []table.Column{
		{Head: "place", Kind: table.Name},
		{Head: "seen", Kind: table.Text},
		{Head: "found from, %s", Kind: table.Length},
		{Head: "may hide, %s", Kind: table.Length},
		{Head: "because", Kind: table.Text},
		{Head: "shown by", Kind: table.Text},
	}}
}

func stepColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "stage", Kind: table.Name},
		{Head: "%s/step", Kind: table.Length},
		{Head: "share", Kind: table.Bar},
		{Kind: table.Fraction},
		{Head: "recoverable", Kind: table.Amount},
		{Head: "ranks", Kind: table.Text},
	}}
}

func otherFindingsColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "who", Kind: table.Text},
		{Head: "where", Kind: table.Name},
		{Head: "line", Kind: table.Name, Spare: true},
		{Head: "%s/step", Kind: table.Length},
		{Head: "steps", Kind: table.Integer},
		{Head: "of the run", Kind: table.Fraction},
		{Head: "certainty", Kind: table.Text},
	}}
}

func cutsColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "stage", Kind: table.Name},
		{Head: "paper", Kind: table.Fraction},
		{Kind: table.Bar},
		{Head: "main", Kind: table.Fraction},
		{Kind: table.Bar},
	}}
}
