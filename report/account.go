package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// The account of one window: what it is of, where its time went, and how it
// was read. Shared by the documents of verdicts and of frontiers.

// windowTitle returns the title of a window: "run job · window 3 · steps 20–139 · 8 ranks · 207 ms per step".
func windowTitle(r *frontier.Result) heading { return heading(sayWindow(r)) }

func stepRange(r *frontier.Result) string {
	switch r.Steps {
	case 0:
		return "none"
	case 1:
		return fmt.Sprint(r.FirstStep)
	}
	return fmt.Sprintf("%d–%d", r.FirstStep, r.LastStep())
}

// lead returns the index of the leading stage, or −1.
func lead(r *frontier.Result) int {
	switch {
	case r.Leader.Stage >= 0 && r.Leader.Stage < len(r.Stages):
		return r.Leader.Stage
	case len(r.Routing) > 0:
		return r.Routing[0]
	}
	return -1
}

// stageNames returns the names of stages given by index.
func stageNames(r *frontier.Result, stages []int) []string {
	names := make([]string, 0, len(stages))
	for _, s := range stages {
		names = append(names, r.Stages[s].Name)
	}
	return names
}

// rankItems returns ranks in few words: "all", "rank 5", "0-3, 7", or how many.
func rankItems(ranks []int, of int) []string {
	if len(ranks) == 0 {
		return nil
	}
	if len(ranks) == of && of > 1 {
		return []string{"all"}
	}
	if len(ranks) == 1 {
		return []string{fmt.Sprintf("rank %d", ranks[0])}
	}
	ranges := strings.Split(trace.RankList(slices.Sorted(slices.Values(ranks))), ",")
	if len(ranges) > 3 {
		return []string{table.Counted(len(ranks), "rank")}
	}
	return ranges
}

// accountBlocks returns the stages of a window and the notes needed to read them. stands names the stage that stands out.
func accountBlocks(r *frontier.Result, stands string) document {
	d := document{windowTitle(r)}
	switch {
	case len(r.Stages) == 0:
		return append(d, prose("No stage times of this window could be used."))
	case r.BelowFloor():
		return append(d, prose(sayTooShort(r.Makespan)), rawTable(r))
	}
	d = append(d, stageTable(r, stands))
	if len(r.Ranks) == 1 {
		d = append(d, prose("One rank alone: this shows how its time divides. Nothing can be said across ranks."))
	}
	return d
}

// stageTable returns the table of times by stage.
func stageTable(r *frontier.Result, stands string) *table.Table {
	t := stageColumns()
	if stands == "" && lead(r) >= 0 {
		stands = r.Stages[lead(r)].Name
	}
	alone := len(r.Ranks) == 1
	synced := false
	for _, s := range r.Stages {
		gain := table.OptionalCell(s.Gain)
		if s.SyncGain != nil {
			gain, synced = table.OptionalCell(s.SyncGain), true
			gain.Note = 1
		}
		bar := table.RealCell(float64(s.Advance))
		bar.Strong = s.Name == stands
		row := t.Cells(s.Name, perStep(s.Advance, r), bar, s.Share, gain, rankItems(s.Latest, len(r.Ranks)), perStep(s.Lag, r), s.MaxShare, s.MeanShare)
		if alone { // nothing but how its time divides
			row = append(row[:4], make([]table.Cell, len(row)-4)...)
		}
		t.Add(row...)
	}
	if synced && !alone {
		t.Footnotes = []string{"together with the wait that the stage induces in others"}
	}
	return t.Tidy()
}

func perStep(ns int64, r *frontier.Result) table.Cell {
	return table.RealCell(float64(ns) / float64(r.Steps))
}

// rawTable returns the table of the stages of a window below the denominator floor.
func rawTable(r *frontier.Result) *table.Table {
	t := rawColumns()
	for _, s := range r.Stages {
		row := t.Cells(s.Name, s.Advance, rankItems(s.Latest, len(r.Ranks)))
		if len(r.Ranks) == 1 {
			row[2] = table.Cell{}
		}
		t.Add(row...)
	}
	return t.Tidy()
}

// windowLimit is how many lines a table of windows has at most.
const windowLimit = 40

// windowTable returns a table of a line per window or group. noted lists the indices of the windows that carry the note.
func windowTable(results []*frontier.Result, noted []int, note string) *table.Table {
	t := windowColumns()
	oneRun := !slices.ContainsFunc(results, func(r *frontier.Result) bool { return r.Run != results[0].Run })
	oneWindow := oneRun && !slices.ContainsFunc(results, func(r *frontier.Result) bool { return r.Window != results[0].Window })
	roles := slices.ContainsFunc(results, func(r *frontier.Result) bool { return r.Group != "" })
	for i, r := range results {
		row := t.Cells(r.Run, r.Window, r.Group, perStep(r.Makespan, r), nil, nil, labelItems(r.Labels), nil, stepRange(r))
		if r.Group == "" && roles {
			row[2] = table.TextCell("all ranks")
		}
		if oneRun {
			row[0] = table.Cell{}
		}
		if oneWindow && len(results) > 1 {
			row[1] = table.Cell{}
		}
		if s := lead(r); s >= 0 {
			row[4], row[5] = table.TextCell(r.Stages[s].Name), table.OptionalCell(r.Stages[s].Share)
		}
		if r.Leader.Rank != nil {
			row[7] = table.TextCell(fmt.Sprintf("rank %d", *r.Leader.Rank))
		}
		if slices.Contains(noted, i) && note != "" {
			row[1].Note = 1
			t.Footnotes = []string{note}
		}
		t.Add(row...)
	}
	return ends(t, windowLimit).Tidy()
}

// labelItems orders labels for a narrow column: diagnoses first, then doubts;
// the accounting label, which all usable windows carry, is left out, and so is
// a label that another one includes.
func labelItems(given []labels.Label) []string {
	likely := slices.Contains(given, labels.LikelySyncWait)
	order := slices.DeleteFunc(slices.Clone(given), func(l labels.Label) bool {
		return l == labels.FrontierAccounting || likely && l == labels.SyncWaitDependent
	})
	slices.SortStableFunc(order, func(a, b labels.Label) int {
		return cmp.Compare(labelRank(a), labelRank(b))
	})
	return strs(order)
}

func labelRank(l labels.Label) int {
	switch {
	case l.Strong():
		return 0
	case l == labels.TelemetryLimited, l == labels.RoleAwareNeeded:
		return 1
	}
	return 2
}

// texts returns notes in the words of the readers and recorders that wrote them.
func texts(notes []input.Note) []string {
	return each(notes, func(n input.Note) string { return n.Text })
}

// basis returns how a window was read: sentences that its account rests on.
func basis(r *frontier.Result) (b bullets) {
	if why := cutReason(r); why != "" {
		b = append(b, fmt.Sprintf("Cut %v: %s", r.Cut, why))
	}
	if why := fitReason(r.ModelFit); why != "" {
		b = append(b, "Model fit: "+why)
	}
	if r.Device != nil {
		b = append(b, sayDeviceTimers(r.Device))
	}
	b = append(b, sayNoStage(&r.Quality))
	if len(r.Quality.Missing) > 0 && len(r.Quality.Notes) == 0 {
		b = append(b, sayNotReported(r))
	}
	return append(b, r.Quality.Texts()...)
}

func stageColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "stage", Kind: table.Name},
		{Head: "%s/step", Kind: table.Length},
		{Kind: table.Bar},
		{Head: "share", Kind: table.Fraction, Means: "share: part of the step that the group spends here."},
		{Head: "gain", Kind: table.Fraction, Means: "gain: saved if the stage ran at its baseline."},
		{Head: "latest", Kind: table.List},
		{Head: "lag %s", Kind: table.Length, Means: "lag: the latest rank behind the median, per step.", Spare: true},
		{Head: "by max", Kind: table.Fraction, Spare: true},
		{Head: "by mean", Kind: table.Fraction, Means: "by max, by mean: the share by the slowest rank's and by the mean duration.", Spare: true},
	}}
}

func rawColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "stage", Kind: table.Name},
		{Head: "advance, ns", Kind: table.Integer},
		{Head: "latest", Kind: table.List},
	}}
}

func windowColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "run", Kind: table.Name},
		{Head: "window", Kind: table.Integer},
		{Head: "group", Kind: table.Text},
		{Head: "%s/step", Kind: table.Length},
		{Head: "lead stage", Kind: table.Name},
		{Head: "share", Kind: table.Fraction},
		{Head: "labels", Kind: table.List, Last: true},
		{Head: "leader", Kind: table.Text, Last: true},
		{Head: "steps", Kind: table.Text, Last: true},
	}}
}
