package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// How much of a batch fits on a screen.
const (
	mostRuns    = 10
	mostHosts   = 5
	mostRefused = 8
)

// Batch writes what the rows of a batch come to. CSV is one row per run, the worst first.
func (o Output) Batch(sum *findings.Summary) error {
	changes, err := sum.Changes()
	if err != nil {
		return err
	}
	onsets, err := sum.Onsets()
	if err != nil {
		return err
	}
	return o.writeWhole(forms{
		json:     func() any { return publish.BatchOf(sum, batchHeadline(sum, sum.Runs()), changes, onsets) },
		rows:     func() *publish.Rows { return publish.BatchOf(sum, "", changes, onsets).Rows() },
		document: func() document { return batchDocument(sum, changes, onsets) },
	})
}

func batchDocument(sum *findings.Summary, changes []findings.Change, onsets []findings.Onset) document {
	runs := sum.Runs()
	flagged := 0
	for _, r := range runs {
		if r.Flagged() {
			flagged++
		}
	}
	byChance := func(h diagnose.Recurrence) bool { return h.MayBeChance() }
	hosts, gpus := slices.DeleteFunc(sum.Hosts(), byChance), slices.DeleteFunc(sum.GPUs(), byChance)
	none := prose("")
	if len(hosts) == 0 && len(gpus) == 0 && flagged > 1 {
		none = "No host or GPU delays more runs than chance allows."
	}
	weeks := sum.Weeks()
	if len(weeks) < 2 {
		weeks = nil
	}
	return put(headline{text: batchHeadline(sum, runs), level: evidence.Insufficient},
		section("Worst runs", worstRuns(runs[:flagged])),
		section("Ranks that differ by less than a delay", latentRanks(sum)),
		section("Hosts that recur", recurrenceTable("host", hosts)),
		section("GPUs that recur", recurrenceTable("GPU", gpus)), none,
		section("Stages", countTable("stage", sum.Stages())),
		section("Weeks", weekTable(weeks)),
		section("Changes from day to day", dayChanges(changes)),
		section("Hosts and GPUs that delay more or fewer runs from a week on", onsetTable(onsets)),
		section("Runs by status", countTable("status", sum.Statuses())),
		section("Not in it, or not whole", refusals(sum.Refused)))
}

func refusals(list []findings.Refused) (b bullets) {
	for _, r := range list[:min(len(list), mostRefused)] {
		b = append(b, r.Path+": "+r.Error)
	}
	if more := len(list) - mostRefused; more > 0 {
		b = append(b, fmt.Sprintf("%d more", more))
	}
	return b
}

func batchHeadline(sum *findings.Summary, runs []*findings.Run) string {
	flagged, lost := 0, int64(0)
	for _, r := range runs {
		if r.Flagged() {
			lost += r.LostTime()
			flagged++
		}
	}
	return sayBatch(sum.Windows, len(runs), flagged, lost, len(sum.Refused))
}

func worstRuns(runs []*findings.Run) *table.Table {
	t := worstRunsColumns()
	if more := len(runs) - mostRuns; more > 0 {
		t.Caption += fmt.Sprintf(" %d more in the rows.", more)
	}
	for _, r := range runs[:min(len(runs), mostRuns)] {
		f := r.Worst
		t.Row(r.Name, sayWhoDelays(f), f.Stage, f.Host, f.RunGain, r.LostTime(), f.Confidence, r.Folder)
	}
	return t
}

// latentRanks returns a table of the latent differences that pass the correction for all runs.
func latentRanks(sum *findings.Summary) *table.Table {
	t := latentRanksColumns()
	all, tested := sum.Latent()
	passing := slices.DeleteFunc(all, func(l findings.Latent) bool { return !l.Passes() })
	t.Caption = fmt.Sprintf("own work: of a step, beyond the median of its peers. q: chance, corrected for %s (Benjamini–Hochberg): of those listed %s is chance, at most on average.",
		table.Counted(tested, "tested run"), table.Percent(findings.DiscoveryRate))
	if more := len(passing) - mostRuns; more > 0 {
		t.Caption += fmt.Sprintf(" %d more in the JSON.", more)
	}
	for _, l := range passing[:min(len(passing), mostRuns)] {
		t.Row(l.Run.Name, l.Rank, cmp.Or(l.Stage, "several"), l.Host, l.Level, pValue(l.Q), l.Run.Folder)
	}
	return t
}

// recurrenceTable returns a table of hosts, or of GPUs.
func recurrenceTable(what string, list []diagnose.Recurrence) *table.Table {
	t := recurringColumns()
	t.Caption = fmt.Sprintf("by chance: that any %s is the one that delays so many runs, at most, if all were alike.", what)
	for _, h := range list[:min(len(list), mostHosts)] {
		t.Row(h.Host, gpuCell(h.LocalRank), h.Runs, h.Of, h.Lost, pValue(h.P))
	}
	t.Tidy()
	return t
}

// gpuCell returns the local rank of a GPU, absent for a whole host.
func gpuCell(localRank int) table.Cell {
	if localRank < 0 {
		return table.Cell{}
	}
	return table.WholeCell(localRank)
}

// Recurrences returns a sentence each on hosts and GPUs that delay more runs than chance allows.
func Recurrences(hosts, gpus []diagnose.Recurrence) (out []string) {
	for _, h := range slices.Concat(hosts, gpus) {
		what, alike := h.Host, "host"
		if h.LocalRank >= 0 {
			what, alike = fmt.Sprintf("Local rank %d of %s", h.LocalRank, h.Host), "GPU"
		}
		if !h.MayBeChance() {
			out = append(out, glyph.Visible(fmt.Sprintf("%s delays %d of %d runs with a late rank, %s if any %s were as likely.", what, h.Runs, h.Of, pValue(h.P), alike)))
		}
	}
	return out
}

func dayChanges(changes []findings.Change) *table.Table {
	t := dayChangesColumns()
	for _, c := range changes {
		t.Row(c.Family, cmp.Or(c.Stage, "step time"), c.Day, c.Low.String()+" – "+c.High.String(), c.Before, c.After, float64(c.After)/float64(c.Before)-1, pValue(c.P))
	}
	return t
}

func onsetTable(onsets []findings.Onset) *table.Table {
	t := onsetColumns()
	for _, o := range onsets {
		t.Row(o.Host, gpuCell(o.LocalRank), o.Week, o.Low.String()+" – "+o.High.String(), o.Before, o.After, pValue(o.P))
	}
	return t
}

func countTable(of string, list []findings.Count) *table.Table {
	t := countColumns()
	t.Columns[0].Head = of
	for _, c := range list {
		name := c.Name
		if name == "" {
			name = "(several)"
		}
		lost := table.Cell{}
		if c.Lost > 0 {
			lost = table.RealCell(float64(c.Lost))
		}
		t.Row(name, c.Runs, lost)
	}
	return t
}

func weekTable(weeks []*findings.Week) *table.Table {
	t := weekColumns()
	for _, w := range weeks {
		stage, most := "", 0
		for name, n := range w.Stages {
			if n > most || n == most && name < stage {
				stage, most = name, n
			}
		}
		t.Row(w.Start, w.Runs, w.Flagged, stage)
	}
	return t
}

func worstRunsColumns() *table.Table {
	return &table.Table{Caption: "lost: time of all ranks that fixing it would save.", Columns: []table.Column{
		{Head: "run", Kind: table.Key},
		{Head: "who", Kind: table.Text},
		{Head: "stage", Kind: table.Name},
		{Head: "host", Kind: table.Name, Spare: true},
		{Head: "gain", Kind: table.Fraction},
		{Head: "lost, %s", Kind: table.Length},
		{Head: "certainty", Kind: table.Text, Spare: true},
		{Head: "folder", Kind: table.Name, Spare: true},
	}}
}

func latentRanksColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "run", Kind: table.Key},
		{Head: "rank", Kind: table.Integer},
		{Head: "stage", Kind: table.Name},
		{Head: "host", Kind: table.Name, Spare: true},
		{Head: "own work, %s", Kind: table.Length},
		{Head: "q", Kind: table.Text},
		{Head: "folder", Kind: table.Name, Spare: true},
	}}
}

func recurringColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "host", Kind: table.Name},
		{Head: "local rank", Kind: table.Integer},
		{Head: "runs", Kind: table.Integer},
		{Head: "of", Kind: table.Integer},
		{Head: "lost, %s", Kind: table.Length},
		{Head: "by chance", Kind: table.Text},
	}}
}

func dayChangesColumns() *table.Table {
	return &table.Table{Caption: "before, after: in a step of the median run of each day.", Columns: []table.Column{
		{Head: "runs", Kind: table.Name},
		{Head: "of", Kind: table.Name},
		{Head: "from", Kind: table.Text},
		{Head: "between", Kind: table.Text, Spare: true},
		{Head: "before, %s", Kind: table.Length},
		{Head: "after, %s", Kind: table.Length},
		{Head: "change", Kind: table.Fraction},
		{Head: "by chance", Kind: table.Text},
	}}
}

func onsetColumns() *table.Table {
	return &table.Table{Caption: "before, after: part of the runs of a week that it delays, median over weeks.", Columns: []table.Column{
		{Head: "host", Kind: table.Name},
		{Head: "local rank", Kind: table.Integer},
		{Head: "from", Kind: table.Text},
		{Head: "between", Kind: table.Text, Spare: true},
		{Head: "before", Kind: table.Fraction},
		{Head: "after", Kind: table.Fraction},
		{Head: "by chance", Kind: table.Text},
	}}
}

func countColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "runs", Kind: table.Name},
		{Head: "runs", Kind: table.Integer},
		{Head: "lost, %s", Kind: table.Length},
	}}
}

func weekColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "week of", Kind: table.Text},
		{Head: "runs", Kind: table.Integer},
		{Head: "flagged", Kind: table.Integer},
		{Head: "mostly", Kind: table.Name},
	}}
}
