package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

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

// methodTable has the shape of the paper's Table 4.
func (s *Score) methodTable() *table.Table {
	t := &table.Table{Title: fmt.Sprintf("Routing by method: windows with a fault, the paper's cut, τ = %s", fixed(s.Tau)),
		Columns: slices.Concat(table.Words("method"), tallyColumns())}
	names, tallies := s.methods()
	for i := range names {
		t.Add(append(table.Texts(names[i]), tallies[i].cells()...)...)
	}
	return beside(t, "table-4")
}

// routingTable has the shape of the paper's Table 14.
func (s *Score) routingTable(by []key) *table.Table {
	t := &table.Table{Title: "Routing by " + keyList(by) + ": windows with a fault, the paper's cut",
		Columns: slices.Concat(keyColumns(by), table.Heads(table.Integer, "windows"), tallyColumns()), Keys: len(by)}
	var names []string
	for _, g := range s.grouped(by) {
		tally := tallyOf(g.runs)
		t.Add(append(append(keyCells(g, by), table.WholeCell(tally.Windows)), tally.cells()...)...)
		names = append(names, g.published(by))
	}
	return besideRows(t, "table-14", names)
}

// published names the row of Table 14 that a group stands for: all of them are about constant faults.
func (g *group) published(by []key) string {
	if g.like.Intermittent {
		return byPattern.String()
	}
	return strings.Join(keyValues(g, by), ", ")
}

// forwardFamilies are the rows of Table 5, and the label that a delay in forward should have.
var forwardFamilies = [...]struct {
	family simulate.Family
	label  labels.Label
}{
	{simulate.ForwardDevice, labels.ForwardDeviceSupported},
	{simulate.ForwardHost, labels.ForwardHostOverheadSuspected},
}

// forwardTable has the shape of the paper's Table 5: whether a delay in forward
// is attributed to the device or the host, by the label that stands for each.
func (s *Score) forwardTable() *table.Table {
	t := &table.Table{Title: "Forward, device or host: windows with a fault, the paper's cut",
		Columns: slices.Concat(table.Words("family", "label"), table.Heads(table.Integer, "windows"), table.Heads(table.Part, "top-1", "top-2", "labelled"))}
	for _, f := range forwardFamilies {
		runs, labelled := s.ofFamily(f.family), 0
		faulty(runs, func(w *scoredWindow) { count(&labelled, slices.Contains(w.Labels, f.label.String())) })
		tally := tallyOf(runs)
		n := tally.Windows
		t.Add(table.TextCell(f.family.String()), table.TextCell(f.label.String()), table.WholeCell(n),
			table.PartCell(tally.Top1, n), table.PartCell(tally.Top2, n), table.PartCell(labelled, n))
	}
	return beside(t, "table-5")
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

// sweepTable has the shape of the paper's Table 15.
func (s *Score) sweepTable() *table.Table {
	t := &table.Table{Title: "Candidate sets by τ: windows with a fault, the paper's cut",
		Columns: slices.Concat(table.Words("tau"), table.Heads(table.Part, "candidate hit"), setColumns())}
	for _, tau := range sweepTaus {
		tally := s.sweep(tau)
		t.Add(append(table.Texts(fixed(tau)), tally.cells()[2:]...)...)
	}
	return beside(t, "table-15")
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

func keyColumns(by []key) []table.Column {
	var out []table.Column
	for _, k := range by {
		if k == byDelay {
			out = append(out, table.Words("delay_ms")...)
			continue
		}
		out = append(out, table.Words(k.String())...)
	}
	return out
}

func keyList(by []key) string {
	var names []string
	for _, k := range by {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

// keyCells are what names a group.
func keyCells(g *group, by []key) []table.Cell { return slices.Clip(table.Texts(keyValues(g, by)...)) }

func keyValues(g *group, by []key) []string {
	var out []string
	for _, k := range by {
		out = append(out, g.value(k))
	}
	return out
}
