package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// mostHeard is how many latent differences stand under a verdict.
const mostHeard = 2

// latentLine returns what is said under a verdict of who differs by less than a delay is found by; "" where nobody does whom no
// finding names.
func latentLine(l *answer.Latent) string {
	if l == nil {
		return ""
	}
	var said []string
	more := 0
	for i := range l.Differences {
		d := &l.Differences[i]
		switch {
		case !d.IsReported():
		case len(said) == mostHeard:
			more++
		default:
			said = append(said, sayLatent(l, d))
		}
	}
	switch {
	case len(said) == 0:
		return ""
	case more > 0:
		said = append(said, table.Counted(more, "other")+": -v")
	}
	return upper(strings.Join(said, "; ")) + "."
}

// DiffersIn returns where a rank differs: a stage, or a kind of operators and whether they start late.
func DiffersIn(x answer.Excess) string {
	switch {
	case x.Late:
		return "late starts of " + x.Stage
	case x.Stage == "":
		return "other operators"
	}
	return x.Stage
}

// latentBlocks returns all who differ, and how that was tested.
func latentBlocks(l *answer.Latent) document {
	if l == nil {
		return nil
	}
	t := latentColumns()
	for i := range l.Differences {
		d := &l.Differences[i]
		where := table.Counted(len(d.Stages), "stage")
		if !d.Sum && len(d.Stages) > 0 {
			if where = bareStage(DiffersIn(d.Stages[0])); d.Stages[0].Late {
				where = d.Stages[0].Stage + " late"
			}
		}
		shown := d.Confidence.String()
		if d.Confidence < evidence.Supported {
			shown = "K-S alone"
		}
		part := table.RealCell(float64(d.Level) / float64(max(1, l.Step)))
		waits, walks, saves := table.Cell{}, table.Cell{}, table.Cell{}
		if d.Of > 0 {
			waits = table.TextCell(bareP(d.Blame))
		}
		if l.Walked {
			walks, saves = table.RealCell(float64(d.Walks)/float64(max(1, d.Symptoms))), table.RealCell(d.Saves)
			part = table.Cell{} // what it costs is beside it
		}
		t.Row(fmt.Sprintf("%s %d", nounOf(d.StandsFor != nil), d.Rank), where, table.RealCell(float64(d.Level)), part, d.D, bareP(d.Alone), waits, walks, saves, shown)
	}
	return section("Latent differences", prose(sayLatentTest(l)), t.Tidy())
}

// bareP returns a p-value under a heading that says so.
func bareP(p float64) string { return strings.TrimPrefix(strings.TrimPrefix(pValue(p), "p "), "= ") }

func latentColumns() *table.Table {
	return &table.Table{Caption: "level: beyond the median of the peers, mean of the middle half of the steps. D: largest weighted departure of the distributions.", Columns: []table.Column{
		{Head: "rank", Kind: table.Name},
		{Head: "where", Kind: table.Text},
		{Head: "level, %s", Kind: table.Length},
		{Head: "of step", Kind: table.Fraction},
		{Head: "D", Kind: table.Real},
		{Head: "p, K-S", Kind: table.Text},
		{Head: "p, waits", Kind: table.Text},
		{Head: "walks", Kind: table.Fraction, Means: "walks: part of those of blame that end there."},
		{Head: "saves", Kind: table.Fraction, Means: "saves: part of a step, by replay, were it as fast as its peers."},
		{Head: "shown by", Kind: table.Text},
	}}
}
