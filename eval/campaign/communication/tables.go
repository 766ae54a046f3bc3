package communication

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// source is whose tables these are.
const source = "NCCL Trace Profiler"

// none stands where there is no figure.
const none = table.Absent

// Evaluate makes the tables and figures that the recordings feed; none without recordings. With published, where the
// recordings stand for those of the texts, they are compared with the published figures, and the texts' workloads
// and layouts are generated.
func Evaluate(list []*Recording, published bool) (made, figures []tables.Artifact, err error) {
	inputs := func(of []*Recording) (out []campaign.Provenance) {
		for _, r := range of {
			out = append(out, r.Inputs...)
		}
		return out
	}
	add := func(name string, of []*Recording, t *table.Table) {
		made = append(made, tables.Artifact{Name: name, Table: t, Inputs: inputs(of)})
	}
	if both := filter(list, func(r *Recording) bool { return len(r.Counts()) > 0 }); len(both) > 0 {
		add("nccl-counts", both, CountTable(both))
	}
	if known := filter(list, func(r *Recording) bool { return r.Truth != nil }); len(known) > 0 {
		scores, err := scoreAll(known)
		if err != nil {
			return nil, nil, err
		}
		add("nccl-alignment", known, AlignmentTable(scores))
		figures = append(figures, tables.Artifact{Name: "alignment", Figure: alignmentMap(scores), Inputs: inputs(known)})
	}
	for _, r := range list {
		figures = append(figures, r.figures()...)
	}
	if modelled := filter(list, func(r *Recording) bool { return r.Model != nil }); len(modelled) > 0 {
		theory, why := TheoryTable(modelled)
		add("nccl-theory", modelled, theory)
		if published {
			made[len(made)-1] = made[len(made)-1].CompareCells(reasons(why))
		}
		add("nccl-volumes", modelled, VolumeTable(modelled))
	}
	if !published || len(list) == 0 {
		return made, figures, nil
	}
	losses, lost, err := LossTable()
	if err != nil {
		return nil, nil, err
	}
	layouts, why := LayoutTable()
	for _, generated := range []struct {
		name string
		*table.Table
		why map[[2]string]string
	}{{"nccl-losses", losses, lost}, {"nccl-layouts", layouts, why}, {"nccl-operations", OperationTable(), nil}} {
		add(generated.name, nil, generated.Table)
		made[len(made)-1] = made[len(made)-1].CompareCells(reasons(generated.why))
	}
	return made, figures, nil
}

// reasons finds why a cell differs by its row and column.
func reasons(why map[[2]string]string) func(*tables.Cell) string {
	return func(c *tables.Cell) string { return why[[2]string{c.Row, c.Column}] }
}

// filter returns the recordings for which a condition holds.
func filter(list []*Recording, is func(*Recording) bool) []*Recording {
	return slices.DeleteFunc(slices.Clone(list), func(r *Recording) bool { return !is(r) })
}

// CountTable returns a table in the shape of the thesis's Tables 4.1 and 4.2, with the use of each line.
func CountTable(list []*Recording) *table.Table {
	t := &table.Table{Title: source + ", Tables 4.1 and 4.2. Operations in log and trace, of each rank",
		Columns: append(table.Words("recording", "ranks", "operation"),
			table.Heads(table.Integer, "lines", "tuning", "damaged", "repeated", "calls", "launch nothing", "joined", "launches", "kernels",
				"lines − kernels", "launches − kernels", "only logged", "only traced")...),
		Notes: []string{"Lines begin with the name of the operation, which is what a counter of lines takes for calls. Of them tuning lines say how a collective is run, and are printed by the first rank of a communicator alone. Calls on a communicator of one rank launch nothing; calls of one group are joined in one kernel, as the send and the receive in the middle of 1F1B are.",
			"Launches − kernels is only logged − only traced: what one side did not record. Nothing else is left over."}}
	for _, r := range list {
		for _, c := range r.Counts() {
			row := table.Texts(r.Name, trace.RankList(c.Ranks), c.Op.String())
			for _, n := range []int64{c.Lines, c.Tunings, c.Damaged, c.Repeated, c.Calls, c.Silent, c.Joined, c.Launches, c.Kernels,
				c.Lines - c.Kernels, c.Launches - c.Kernels, c.OnlyLogged, c.OnlyTraced} {
				row = append(row, table.WholeCell(n))
			}
			t.Add(row...)
		}
	}
	return t
}

// scored is a recording and how well each method pairs it.
type scored struct {
	name   string
	scores [methods]Score
}

func scoreAll(list []*Recording) ([]scored, error) {
	var out []scored
	for _, r := range list {
		s := scored{name: r.Name}
		for m := range methods {
			var err error
			if s.scores[m], err = r.Score(m); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// AlignmentTable returns a table with precision, recall and F1 of each method, and how many of the pairs called certain are
// true.
func AlignmentTable(list []scored) *table.Table {
	t := &table.Table{Title: "Pairs of call and kernel, by method",
		Columns: slices.Concat(table.Words("recording", "method"), table.Heads(table.Integer, "true pairs", "found", "right"),
			table.Heads(table.Unit, "precision", "recall", "F1"), table.Heads(table.Integer, "called certain", "of them true"))}
	var sums [methods]Score
	var mean [methods]float64 // F1
	row := func(name string, m Method, s Score) {
		sure, right := table.NoFigure(), table.NoFigure()
		if m >= Alone {
			sure, right = table.WholeCell(s.Certain), table.WholeCell(s.CertainRight)
		}
		t.Add(table.TextCell(name), table.TextCell(m.String()), table.WholeCell(s.True), table.WholeCell(s.Found), table.WholeCell(s.Right),
			table.RealCell(s.Precision()), table.RealCell(s.Recall()), table.RealCell(s.F1()), sure, right)
	}
	for _, s := range list {
		for m := range methods {
			row(s.name, m, s.scores[m])
			sums[m].sum(s.scores[m])
			mean[m] += s.scores[m].F1() / float64(len(list))
		}
	}
	for m := range methods {
		row("all", m, sums[m])
	}
	for m := range methods {
		cells := slices.Repeat([]table.Cell{table.NoFigure()}, len(t.Columns))
		cells[0], cells[1], cells[7] = table.TextCell(fmt.Sprintf("mean of %d", len(list))), table.TextCell(m.String()), table.RealCell(mean[m])
		t.Add(cells...)
	}
	t.Notes = []string{"All: of all pairs, so that long recordings count for more. Thesis: its whole scoring. A recording of which nothing is found has no wrong pair: its precision is 1."}
	return t
}
