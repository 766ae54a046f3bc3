package communication

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// place is where on a pipeline a rank is, as the thesis tells its rows of PP apart.
type place uint8

const (
	anywhere place = iota // no pipeline
	edge
	middle
)

func placeOf(m *volume.Model, stage int64) place {
	switch {
	case m.PP < 2:
		return anywhere
	case stage == 0 || stage == m.PP-1:
		return edge
	}
	return middle
}

// gb returns bytes in units of 10⁹.
func gb(bytes float64) table.Cell { return table.TextCell(strconv.FormatFloat(bytes/1e9, 'g', 4, 64)) }

// thesisRows say what each row of Table 5.1 is about.
var thesisRows = []struct {
	of parallel.Kind
	at place // anywhere: any
}{{of: parallel.DataParallel}, {of: parallel.PipelineParallel, at: edge}, {of: parallel.PipelineParallel, at: middle}, {of: parallel.TensorParallel}, {of: parallel.ExpertParallel}}

// TheoryTable makes the thesis's Table 5.1: its configuration computed anew, by its theory and by the calls of Megatron-LM, and
// beside its ratios those of the recordings, of the same dimension. It also says why cells differ, by row and column.
func TheoryTable(list []*Recording) (*table.Table, map[[2]string]string) {
	t := &table.Table{Title: source + ", Table 5.1. Bytes of one rank in 10 iterations, GB",
		Columns: slices.Concat(table.Words("row"), table.Heads(table.Hundredths, "thesis: theory", "theory", "thesis: observed", "observed", "thesis: ratio", "ratio", "model, logged", "model, sent"),
			table.Words("recorded ÷ model, here")),
		Notes: []string{"Theory: its formula, found from the published numbers, in units of 10⁹ bytes. Observed: what Megatron-LM's calls log, sends but not receives, the mean of the row's ranks in units of 2³⁰ bytes. Model: what parallelism needs for the same configuration, as the log counts bytes and as they leave a rank on a ring; the row of EP has the gradients of the layers without experts too.",
			"Here: logged bytes of the row's dimension over those of the model, each recording by its own description; ratios above 1 are embeddings, losses, norms and uneven routing, as the table of volumes shows."}}
	why := map[[2]string]string{}
	for i, row := range published().Theory {
		var logged, sent float64
		for _, f := range row.Model.Flows(row.Stage, volume.SendsAndReceives) {
			logged, sent = logged+f.Logged, sent+f.Sent
		}
		theory := row.Model.ThesisBytes(row.Stage) / 1e9
		observed := published().layoutNamed(row.Layout).loggedBy(row.Ranks) / observedGB
		t.Add(table.TextCell(row.Row), table.RealCell(row.Theory), table.RealCell(theory), table.RealCell(row.Observed), table.RealCell(observed),
			table.RealCell(row.Ratio), table.RealCell(observed/theory), table.RealCell(logged/1e9), table.RealCell(sent/1e9), table.TextCell(ratios(list, thesisRows[i].of, thesisRows[i].at)))
		why[[2]string{row.Row, "observed"}] = roundedReason(observed, row.Observed)
		why[[2]string{row.Row, "ratio"}] = quotientReason(row.Observed, row.Theory, observed/theory)
	}
	return t, why
}

// roundedReason returns why a published figure has one digit fewer than printed; "" where it has all.
func roundedReason(ours, published float64) string {
	if table.Decimals(ours, 1) != table.Decimals(published, 1) || table.Decimals(published, 1)+"0" != table.Decimals(published, 2) {
		return ""
	}
	return fmt.Sprintf("The text reads %s off its figure, and the table adds a zero; %s rounds to that.", table.Decimals(published, 1), table.Decimals(ours, 2))
}

// quotientReason returns the quotient of the published figures as a reason.
func quotientReason(observed, theory, ours float64) string {
	return fmt.Sprintf("The published %s ÷ %s is %s; unrounded it is %s.", table.Decimals(observed, 2), table.Decimals(theory, 2), table.Decimals(observed/theory, 2), table.Decimals(ours, 2))
}

// ratios returns the ratios of the recordings that have the dimension in that position, the least and the largest of their
// ranks.
func ratios(list []*Recording, of parallel.Kind, at place) string {
	var out []string
	for _, r := range list {
		least, most := math.Inf(1), 0.0
		for i := range r.Result.Accounts {
			a := &r.Result.Accounts[i]
			if ratio, ok := ratioOf(a, of); ok && (at == anywhere || placeOf(r.Model, a.Stage) == at) {
				least, most = min(least, ratio), max(most, ratio)
			}
		}
		switch low, high := table.Decimals(least, 2), table.Decimals(most, 2); {
		case least > most:
		case low == high:
			out = append(out, r.Name+" "+low)
		default:
			out = append(out, fmt.Sprintf("%s %s to %s", r.Name, low, high))
		}
	}
	if len(out) == 0 {
		return none
	}
	return strings.Join(out, ", ")
}

// ratioOf returns logged over expected bytes of a dimension, for operations with a theory.
func ratioOf(a *volume.Account, of parallel.Kind) (float64, bool) {
	var theory, observed float64
	for i := range a.Rows {
		if x := &a.Rows[i]; x.Dimension == of && x.Theory.Logged > 0 {
			theory, observed = theory+x.Theory.Logged, observed+x.Observed.Logged
		}
	}
	return observed / theory, theory > 0
}

// VolumeTable returns a table with the expected and the logged volume of every operation of a recording.
func VolumeTable(list []*Recording) *table.Table {
	t := &table.Table{Title: "Volumes beside the model, bytes of one rank as the log counts them",
		Columns: append(table.Words("recording", "ranks", "for", "operation", "expected GB", "observed GB"),
			table.Heads(table.Unit, "ratio", "calls", "size")...),
		Notes: []string{"Ratio is how many more calls times how much larger each. Operations that no formula is for have no ratio; those of less than a thousandth of what was expected are left out. Ranks of a stage whose bytes are within a thousandth stand together."}}
	for _, r := range list {
		for _, g := range volume.GroupAlike(r.Result.Accounts) {
			a := &r.Result.Accounts[g[0]]
			var ranks []int
			for _, n := range g {
				ranks = append(ranks, r.Result.Ranks[r.Result.Accounts[n].Rank].Rank)
			}
			for i := range a.Rows {
				if x := &a.Rows[i]; max(x.Observed.Logged, x.Theory.Logged) >= a.Theory.Logged/1000 {
					t.Add(append(table.Texts(r.Name, trace.RankList(ranks)), volumeCells(x)...)...)
				}
			}
		}
	}
	return t
}

func volumeCells(x *volume.Row) []table.Cell {
	cells := []table.Cell{table.TextCell(x.Purpose()), table.TextCell(x.Op.String()), table.NoFigure(), gb(x.Observed.Logged), table.NoFigure(), table.NoFigure(), table.NoFigure()}
	if x.Theory.Logged > 0 {
		cells[2], cells[4], cells[5], cells[6] = gb(x.Theory.Logged), table.RealCell(x.Ratio), table.RealCell(x.Count), table.RealCell(x.Size)
	}
	return cells
}
