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
		case !d.Heard():
		case len(said) == mostHeard:
			more++
		default:
			said = append(said, latentWords(l, d))
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

// latentWords says how a rank differs.
func latentWords(l *answer.Latent, d *answer.Difference) string {
	peers := "its peers"
	if d.Peer != nil {
		peers = fmt.Sprintf("rank %d", *d.Peer)
	}
	return say("latent", struct {
		*answer.Difference
		Step  int64
		Where []string
		Peers string
	}{d, l.Step, each(d.Stages, func(x answer.Excess) string { return x.Stage }), peers})
}

// latentBlocks returns all who differ, and how that was tested.
func latentBlocks(l *answer.Latent) document {
	if l == nil {
		return nil
	}
	t := tableOf("latent")
	for i := range l.Differences {
		d := &l.Differences[i]
		where := table.Counted(len(d.Stages), "stage")
		if !d.Sum && len(d.Stages) > 0 {
			where = bareStage(d.Stages[0].Stage)
		}
		shown := d.Confidence.String()
		if d.Confidence < evidence.Supported {
			shown = "K-S alone"
		}
		waits := table.Cell{}
		if d.Of > 0 {
			waits = table.TextCell(bareP(d.Blame))
		}
		t.Row(fmt.Sprintf("rank %d", d.Rank), where, table.RealCell(float64(d.Level)), float64(d.Level)/float64(max(1, l.Step)), d.D, bareP(d.Alone), waits, shown)
	}
	return section("Latent differences", prose(say("latent test", l)), t.Tidy())
}

// bareP returns a p-value under a heading that says so.
func bareP(p float64) string { return strings.TrimPrefix(strings.TrimPrefix(pValue(p), "p "), "= ") }
