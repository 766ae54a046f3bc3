package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/table"
)

// View says what the tables show.
type View struct {
	By        []Key // empty: by family
	Published bool  // the paper's figures beside ours
}

func (v View) keys() []Key {
	if len(v.By) == 0 {
		return []Key{ByFamily}
	}
	return v.By
}

// none stands where there is no figure.
const none = table.Absent

// fixed writes a number in a sentence as the tables do.
func fixed(f float64) string { return table.Decimals(f, 2) }

// cells are the tally in the columns of tallyColumns.
func (t *tally) cells() []table.Cell {
	return []table.Cell{table.PartCell(t.Top1, t.Windows), table.PartCell(t.Top2, t.Windows), table.PartCell(t.Hits, t.Windows),
		table.RealCell(t.meanCandidates()), table.WholeCell(t.MaxCandidates)}
}

func tallyColumns() []table.Column {
	return slices.Concat(table.Heads(table.Part, "top-1", "top-2", "candidate hit"), setColumns())
}

// setColumns are about the size of candidate sets.
func setColumns() []table.Column {
	return []table.Column{{Head: "mean candidates", Kind: table.Hundredths}, {Head: "max", Kind: table.Integer}}
}

// MethodTable has the shape of the paper's Table 4.
func (s *Score) MethodTable(v View) *table.Table {
	t := &table.Table{Title: fmt.Sprintf("Routing by method: windows with a fault, the paper's cut, τ = %s", fixed(s.Tau)),
		Columns: slices.Concat(table.Words("method"), tallyColumns())}
	if v.Published {
		t.Columns = append(t.Columns, publishedColumns()...)
		t.Columns = append(t.Columns, table.Column{Head: "paper: max", Kind: table.Integer})
	}
	names, tallies := s.methods()
	for i := range names {
		row := append(table.Texts(names[i]), tallies[i].cells()...)
		if p := publishedMethods[i]; v.Published {
			row = append(row, table.PartCell(p.top1, p.of), table.PartCell(p.top2, p.of), table.PartCell(p.hits, p.of), table.RealCell(p.mean), table.WholeCell(p.max))
		}
		t.Add(row...)
	}
	return t
}

// RoutingTable has the shape of the paper's Table 14.
func (s *Score) RoutingTable(v View) *table.Table {
	t := &table.Table{Title: "Routing by " + keyList(v.keys()) + ": windows with a fault, the paper's cut",
		Columns: slices.Concat(keyColumns(v.keys()), table.Heads(table.Integer, "windows"), tallyColumns()), Keys: len(v.keys())}
	if v.Published {
		t.Columns = append(t.Columns, publishedColumns()...)
	}
	for _, g := range s.grouped(v.keys()) {
		tally := tallyOf(g.runs)
		row := append(keyCells(g, v.keys()), table.WholeCell(tally.Windows))
		row = append(row, tally.cells()...)
		if p := publishedFor(g, v.keys()); v.Published {
			row = append(row, table.PartCell(p.top1, p.of), table.PartCell(p.top2, p.of), table.PartCell(p.hits, p.counted), p.mean())
		}
		t.Add(row...)
	}
	return t
}

// ForwardTable has the shape of the paper's Table 5: whether a delay in forward
// is attributed to the device or the host, by the label that stands for each.
func (s *Score) ForwardTable(v View) *table.Table {
	t := &table.Table{Title: "Forward, device or host: windows with a fault, the paper's cut",
		Columns: slices.Concat(table.Words("family", "label"), table.Heads(table.Integer, "windows"), table.Heads(table.Part, "top-1", "top-2", "labelled"))}
	if v.Published {
		t.Columns = append(t.Columns, table.Heads(table.Part, "paper: top-1", "paper: top-2")...)
	}
	for _, f := range forwardFamilies {
		runs, labelled := s.ofFamily(f.family), 0
		faulty(runs, func(w *scoredWindow) { count(&labelled, slices.Contains(w.Labels, f.label.String())) })
		tally := tallyOf(runs)
		n := tally.Windows
		row := []table.Cell{table.TextCell(f.family.String()), table.TextCell(f.label.String()), table.WholeCell(n),
			table.PartCell(tally.Top1, n), table.PartCell(tally.Top2, n), table.PartCell(labelled, n)}
		if v.Published {
			row = append(row, table.PartCell(f.top1, 10), table.PartCell(f.top2, 10))
		}
		t.Add(row...)
	}
	return t
}

// CutTable sets the automatic cut beside the paper's: where the seeded stage
// stands, its mean share, and whether the hidden rank leads.
func (s *Score) CutTable(v View) *table.Table {
	t := &table.Table{Title: "Cuts by " + keyList(v.keys()) + ": windows with a fault, the paper's cut and the automatic one",
		Columns: slices.Concat(keyColumns(v.keys()), table.Heads(table.Integer, "windows"),
			table.Heads(table.Part, "step: top-1", "step: top-2"), table.Heads(table.Hundredths, "step: seeded share"), table.Heads(table.Part, "step: hidden rank latest", "alone"),
			table.Heads(table.Part, "auto: top-1", "auto: top-2"), table.Heads(table.Hundredths, "auto: seeded share"), table.Heads(table.Part, "auto: hidden rank leads"))}
	for _, g := range s.grouped(v.keys()) {
		var paper, auto tally
		var latest, only, leads int
		var share, autoShare mean
		faulty(g.runs, func(w *scoredWindow) {
			paper.add(w.Routing)
			auto.add(routing{Place: w.Automatic.Place})
			count(&latest, w.Latest != latestNo)
			count(&only, w.Latest == latestOnly)
			count(&leads, w.Automatic.LeaderRight)
			share.add(w.Share)
			autoShare.add(w.Automatic.Share)
		})
		n := paper.Windows
		t.Add(append(keyCells(g, v.keys()), table.WholeCell(n),
			table.PartCell(paper.Top1, n), table.PartCell(paper.Top2, n), share.cell(), table.PartCell(latest, n), table.PartCell(only, n),
			table.PartCell(auto.Top1, n), table.PartCell(auto.Top2, n), autoShare.cell(), table.PartCell(leads, n))...)
	}
	return t
}

// VerdictTable says how the diagnoses of runs with a fault come out.
func (s *Score) VerdictTable(v View) *table.Table {
	t := &table.Table{Title: "Verdicts by " + keyList(v.keys()) + ": runs with a fault",
		Columns: slices.Concat(keyColumns(v.keys()), table.Heads(table.Integer, "runs"), table.Heads(table.Part, "stage right"),
			table.Heads(table.Integer, "rank right", "rank not decidable", "rank wrong", "nobody suspected"), table.Heads(table.Part, "named"),
			table.Heads(table.Integer, "strong", "supported", "ambiguous", "insufficient", "innocent called"))}
	for _, g := range s.grouped(v.keys()) {
		d := verdictsOf(g.runs)
		row := append(keyCells(g, v.keys()), table.WholeCell(d.Runs), table.PartCell(d.StageRight, d.Runs))
		for _, a := range []rankAnswer{rankRight, rankUndecidable, rankWrong, rankNone} {
			row = append(row, table.WholeCell(d.Answers[a]))
		}
		row = append(row, table.PartCell(d.Named, d.Runs))
		row = append(row, d.confidences()...)
		t.Add(append(row, table.WholeCell(d.Innocent))...)
	}
	return t
}

func (v *verdictCounts) confidences() []table.Cell {
	var out []table.Cell
	for _, c := range []string{"strong", "supported", "ambiguous", "insufficient"} {
		out = append(out, table.WholeCell(v.Confidence[c]))
	}
	return out
}

// sweepTaus are those of the paper's Table 15.
var sweepTaus = []float64{0.70, 0.75, 0.80, 0.85, 0.90}

// SweepTable has the shape of the paper's Table 15.
func (s *Score) SweepTable(v View) *table.Table {
	t := &table.Table{Title: "Candidate sets by τ: windows with a fault, the paper's cut",
		Columns: slices.Concat(table.Words("tau"), table.Heads(table.Part, "candidate hit"), setColumns())}
	if v.Published {
		t.Columns = append(t.Columns, table.Column{Head: "paper: hit", Kind: table.Part}, table.Column{Head: "paper: mean", Kind: table.Hundredths}, table.Column{Head: "paper: max", Kind: table.Integer})
	}
	for _, tau := range sweepTaus {
		tally, err := s.sweep(tau)
		if err != nil { // every tau of the list is valid
			panic(err)
		}
		row := append(table.Texts(fixed(tau)), tally.cells()[2:]...)
		if p := publishedSweep[tau]; v.Published {
			row = append(row, table.PartCell(p.hits, p.of), table.RealCell(p.mean), table.WholeCell(p.max))
		}
		t.Add(row...)
	}
	return t
}

// mean averages shares that may be unknown.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(f *float64) {
	if f != nil {
		m.sum += *f
		m.n++
	}
}

func (m *mean) String() string {
	if m.n == 0 {
		return none
	}
	return fixed(m.sum / float64(m.n))
}

// cell is the mean in a column of hundredths.
func (m *mean) cell() table.Cell {
	if m.n == 0 {
		return table.None()
	}
	return table.RealCell(m.sum / float64(m.n))
}

func keyColumns(by []Key) []table.Column {
	var out []table.Column
	for _, k := range by {
		if k == ByDelay {
			out = append(out, table.Words("delay_ms")...)
			continue
		}
		out = append(out, table.Words(k.String())...)
	}
	return out
}

func keyList(by []Key) string {
	var names []string
	for _, k := range by {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

// keyCells are what names a group.
func keyCells(g *group, by []Key) []table.Cell { return slices.Clip(table.Texts(keyValues(g, by)...)) }

func keyValues(g *group, by []Key) []string {
	var out []string
	for _, k := range by {
		out = append(out, g.value(k))
	}
	return out
}

// publishedColumns stand beside those of tallyColumns.
func publishedColumns() []table.Column {
	return append(table.Heads(table.Part, "paper: top-1", "paper: top-2", "paper: hit"), table.Column{Head: "paper: mean", Kind: table.Hundredths})
}
