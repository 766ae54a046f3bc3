package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// How much of a batch fits on a screen.
const (
	mostRuns    = 10
	mostHosts   = 5
	mostRefused = 8
)

// recurs is the level at which a host counts as recurring.
const recurs = 0.05

// Batch writes what the rows of a batch come to.
func (o Output) Batch(sum *findings.Summary) error {
	return o.show(batchDocument(sum))
}

func batchDocument(sum *findings.Summary) document {
	runs := sum.Runs()
	flagged := 0
	for _, r := range runs {
		if r.Flagged() {
			flagged++
		}
	}
	all := batchHeadline(sum, runs, flagged)
	if n := len(sum.Refused); n > 0 {
		all += " " + counted(n, "input") + " left out or not whole."
	}
	d := document{headline{all, evidence.Insufficient}}
	if flagged > 0 {
		t := worstRuns(runs[:min(flagged, mostRuns)])
		t.caption = "lost: time of all ranks that fixing it would save."
		if flagged > mostRuns {
			t.caption += fmt.Sprintf(" %d more in the rows.", flagged-mostRuns)
		}
		d = append(d, heading("Worst runs"), t)
	}
	hosts := slices.DeleteFunc(sum.Hosts(), func(h findings.Host) bool { return h.P > recurs })
	switch {
	case len(hosts) > 0:
		d = append(d, heading("Hosts that recur"), recurringHosts(hosts[:min(len(hosts), mostHosts)]))
	case flagged > 1:
		d = append(d, prose("No host delays more runs than chance allows."))
	}
	if stages := sum.Stages(); len(stages) > 0 {
		d = append(d, heading("Stages"), countTable("stage", stages))
	}
	if weeks := sum.Weeks(); len(weeks) > 1 {
		d = append(d, heading("Weeks"), weekTable(weeks))
	}
	switch changes, err := sum.Changes(); {
	case err != nil:
		d = append(d, prose("Step times were not searched for changes: "+err.Error()))
	case len(changes) > 0:
		d = append(d, heading("Changes of step time"), dayChanges(changes))
	}
	if len(runs) > 0 {
		d = append(d, heading("Runs by status"), countTable("status", sum.Statuses()))
	}
	if n := len(sum.Refused); n > 0 {
		var b bullets
		for _, r := range sum.Refused[:min(n, mostRefused)] {
			b = append(b, r.Path+": "+r.Error)
		}
		if n > mostRefused {
			b = append(b, fmt.Sprintf("%d more", n-mostRefused))
		}
		d = append(d, heading("Not in it, or not whole"), b)
	}
	return d
}

func batchHeadline(sum *findings.Summary, runs []*findings.Run, flagged int) string {
	all := fmt.Sprintf("%s of %s", counted(sum.Windows, "window"), counted(len(runs), "run"))
	if flagged == 0 {
		return all + ": nothing to act on."
	}
	lost := 0.0
	for _, r := range runs {
		if r.Flagged() {
			lost += r.Lost()
		}
	}
	return fmt.Sprintf("%s: %d with a finding to act on, which cost %s of all ranks' time.", all, flagged, length(lost))
}

func worstRuns(runs []*findings.Run) *table {
	t := &table{columns: []column{
		{head: "run", kind: kindKey}, {head: "who", kind: kindText}, {head: "stage", kind: kindName},
		{head: "host", kind: kindName, spare: true}, {head: "gain", kind: kindFraction}, {head: "lost, %s", kind: kindLength},
		{head: "certainty", kind: kindText, spare: true}, {head: "folder", kind: kindName, spare: true},
	}}
	for _, r := range runs {
		f := r.Worst
		gain := cell{}
		if f.RunGain != nil {
			gain = realCell(*f.RunGain)
		}
		t.rows = append(t.rows, []cell{textCell(r.Name), textCell(whoDelays(f)), textCell(said(f.Stage)), textCell(said(f.Host)), gain,
			realCell(r.Lost()), textCell(said(f.Confidence)), textCell(r.Folder)})
	}
	return t
}

// whoDelays is who or what a finding is about.
func whoDelays(f *findings.Row) string {
	switch {
	case f.Rank != nil:
		return fmt.Sprintf("rank %d", *f.Rank)
	case said(f.Kind) == "group":
		return said(f.Group)
	case said(f.Kind) == "host":
		return "all of its ranks"
	}
	return "all ranks"
}

func said(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func recurringHosts(hosts []findings.Host) *table {
	t := &table{columns: []column{{head: "host", kind: kindName}, {head: "runs", kind: kindInteger}, {head: "of", kind: kindInteger},
		{head: "lost, %s", kind: kindLength}, {head: "by chance", kind: kindText}},
		caption: "by chance: that any host is the one that delays so many runs, at most, if all were alike."}
	for _, h := range hosts {
		t.rows = append(t.rows, []cell{textCell(h.Name), wholeCell(h.Runs), wholeCell(h.Of), realCell(h.Lost), textCell(pValue(h.P))})
	}
	return t
}

func dayChanges(changes []findings.Change) *table {
	const date = "2006-01-02"
	t := &table{columns: []column{{head: "runs", kind: kindName}, {head: "from", kind: kindText}, {head: "between", kind: kindText, spare: true},
		{head: "before, %s", kind: kindLength}, {head: "after, %s", kind: kindLength}, {head: "change", kind: kindFraction}, {head: "by chance", kind: kindText}},
		caption: "of a step of the median run of each day."}
	for _, c := range changes {
		t.rows = append(t.rows, []cell{textCell(c.Family), textCell(c.Day.Format(date)), textCell(c.Low.Format(date) + " – " + c.High.Format(date)),
			realCell(c.Before), realCell(c.After), realCell(c.After/c.Before - 1), textCell(pValue(c.P))})
	}
	return t
}

func countTable(of string, list []findings.Count) *table {
	t := &table{columns: []column{{head: of, kind: kindName}, {head: "runs", kind: kindInteger}, {head: "lost, %s", kind: kindLength}}}
	for _, c := range list {
		name := c.Name
		if name == "" {
			name = "(several)"
		}
		lost := cell{}
		if c.Lost > 0 {
			lost = realCell(c.Lost)
		}
		t.rows = append(t.rows, []cell{textCell(name), wholeCell(c.Runs), lost})
	}
	return t
}

func weekTable(weeks []*findings.Week) *table {
	t := &table{columns: []column{{head: "week of", kind: kindText}, {head: "windows", kind: kindInteger}, {head: "flagged", kind: kindInteger}, {head: "mostly", kind: kindName}}}
	for _, w := range weeks {
		stage, most := "", 0
		for name, n := range w.Stages {
			if n > most || n == most && name < stage {
				stage, most = name, n
			}
		}
		t.rows = append(t.rows, []cell{textCell(w.Start.Format("2006-01-02")), wholeCell(w.Windows), wholeCell(w.Flagged), textCell(stage)})
	}
	return t
}
