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

// gb is bytes in units of 10⁹.
func gb(bytes float64) table.Cell { return table.TextCell(strconv.FormatFloat(bytes/1e9, 'g', 4, 64)) }

// thesisRows say what each row of Table 5.1 is about.
var thesisRows = []struct {
	of parallel.Kind
	at place // anywhere: any
}{{of: parallel.DataParallel}, {of: parallel.PipelineParallel, at: edge}, {of: parallel.PipelineParallel, at: middle}, {of: parallel.TensorParallel}, {of: parallel.ExpertParallel}}

// TheoryTable has the shape of the thesis's Table 5.1: its configuration computed anew, and beside its ratios those of the
// recordings, of the same dimension.
func TheoryTable(list []*Recording) *table.Table {
	t := &table.Table{Title: source + ", Table 5.1. Bytes of one rank in 10 iterations, GB",
		Columns: slices.Concat(table.Words("row"), table.Heads(table.Hundredths, "thesis: theory", "thesis: observed", "thesis: ratio", "theory", "model, logged", "model, sent"),
			table.Words("recorded ÷ model, here")),
		Notes: []string{"Theory: its formula, found from the published numbers. Model: what Megatron-LM's rules give for the same configuration, as the log counts bytes and as they leave a rank on a ring; the row of EP has the gradients of the layers without experts too.",
			"Here: logged bytes of the row's dimension over those of the model, each recording by its own description; ratios above 1 are embeddings, losses, norms and uneven routing, as the table of volumes shows. The thesis's observed GB are of 2³⁰ bytes (its figures by layout show it), those of its theory of 10⁹."}}
	for i, row := range published().Theory {
		var logged, sent float64
		for _, f := range row.Model.Flows(row.Stage, volume.SendsAndReceives) {
			logged, sent = logged+f.Logged, sent+f.Sent
		}
		t.Add(table.TextCell(row.Row), table.RealCell(row.Theory), table.RealCell(row.Observed), table.RealCell(row.Ratio), table.RealCell(row.Model.ThesisBytes(row.Stage)/1e9),
			table.RealCell(logged/1e9), table.RealCell(sent/1e9), table.TextCell(ratios(list, thesisRows[i].of, thesisRows[i].at)))
	}
	return t
}

// ratios are those of the recordings that have the dimension at that place, least and most of their ranks.
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

// ratioOf is logged over expected bytes of a dimension, of what there is theory for.
func ratioOf(a *volume.Account, of parallel.Kind) (float64, bool) {
	var theory, observed float64
	for i := range a.Rows {
		if x := &a.Rows[i]; x.Dimension == of && x.Theory.Logged > 0 {
			theory, observed = theory+x.Theory.Logged, observed+x.Observed.Logged
		}
	}
	return observed / theory, theory > 0
}

// VolumeTable says of every operation of a recording what the model expects and what was logged.
func VolumeTable(list []*Recording) *table.Table {
	t := &table.Table{Title: "Volumes beside the model, bytes of one rank as the log counts them",
		Columns: append(table.Words("recording", "ranks", "for", "operation", "expected GB", "observed GB"),
			table.Heads(table.Unit, "ratio", "calls", "size")...),
		Notes: []string{"Ratio is how many more calls times how much larger each. Operations that no formula is for have no ratio; those of less than a thousandth of what was expected are left out. Ranks of a stage whose bytes are within a thousandth stand together."}}
	for _, r := range list {
		for _, g := range volume.Alike(r.Result.Accounts) {
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
	cells := []table.Cell{table.TextCell(x.For()), table.TextCell(x.Op.String()), table.None(), gb(x.Observed.Logged), table.None(), table.None(), table.None()}
	if x.Theory.Logged > 0 {
		cells[2], cells[4], cells[5], cells[6] = gb(x.Theory.Logged), table.RealCell(x.Ratio), table.RealCell(x.Count), table.RealCell(x.Size)
	}
	return cells
}

// LayoutTable is chapter 5 of the thesis: calls and bytes of its eight layouts, beside what Megatron-LM's rules give for the same
// models, and why they differ, by row and column.
func LayoutTable() (*table.Table, map[[2]string]string) {
	t := &table.Table{Title: source + ", Figures 5.4 to 5.26. Calls and bytes of eight layouts, all ranks in 10 iterations", Keys: 2,
		Columns: slices.Concat(table.Words("layout", "operation"), table.Heads(table.Integer, "calls"), table.Words("calls %", "GB", "GB %"),
			table.Heads(table.Integer, "thesis: calls"), table.Words("thesis: calls %", "thesis: GB", "thesis: GB %")),
		Notes: []string{"Ours are what training needs by the model; the thesis's jobs also start and end, average losses and norms, and broadcast batches, all of which its counts include. " +
			"Sends are those to other ranks, which is what its SendRecv kernels are counted as. GB are of 2³⁰ bytes, as the thesis's turn out to be: of three of the layouts the model then gives the published bytes to the digit, of DP but for the 0.01 that its other calls have. A dash: below 10 MB, or not stated."}}
	why := map[[2]string]string{}
	for i := range published().Layouts {
		l := &published().Layouts[i]
		flows := l.Model.Job()
		var calls, bytes float64
		for _, f := range flows {
			calls, bytes = calls+f.Calls, bytes+f.Logged
		}
		for _, o := range l.Operations {
			f := flows[o.op()]
			row := append(table.Texts(l.Name, o.op().String()), table.WholeCell(int(math.Round(f.Calls))), percentCell(100*f.Calls/calls), gigabytes(f.Logged/observedGB), percentCell(100*f.Logged/bytes))
			t.Add(append(row, table.WholeCell(int(o.Calls)), percentCell(o.CallsPercent), gigabytes(o.GB), percentCell(o.GBPercent))...)
			key := l.Name + ", " + o.op().String()
			reason := layoutReason(&o, &f)
			for _, column := range []string{"calls", "GB"} {
				why[[2]string{key, column}] = reason
				why[[2]string{key, column + " %"}] = "Follows from the calls and bytes of this and the other operations."
			}
		}
	}
	return t, why
}

// layoutReason says what the thesis's count has beyond the model.
func layoutReason(o *observed, f *volume.Flow) string {
	more := o.Calls - f.Calls
	switch {
	case f.Calls == 0:
		return fmt.Sprintf("Not of the model: %.0f calls for start and end, losses, norms or batches.", o.Calls)
	case o.GB < 0:
		return fmt.Sprintf("%+.0f calls beside the model's.", more)
	}
	return fmt.Sprintf("%+.0f calls and %+.2f GB beside the model's; calls have %.3g MB on average there and %.3g MB here.", more, o.GB-f.Logged/observedGB, o.GB*observedGB/1e6/o.Calls, f.Logged/1e6/f.Calls)
}

func percentCell(p float64) table.Cell {
	if p < 0 {
		return table.None()
	}
	return table.TextCell(table.Decimals(p, 1))
}

func gigabytes(g float64) table.Cell {
	if g < 0 {
		return table.None()
	}
	return table.TextCell(table.Decimals(g, 2))
}
