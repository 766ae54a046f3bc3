package tables

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// windowColumn is one column of the flat table.
type windowColumn struct {
	name string
	kind table.Kind
	of   func(*scoredRun, *scoredWindow) table.Cell
}

// windowTable is everything that is known, one row per window; what belongs to
// a run is repeated in each of its windows. Empty cells are unknown or do not
// apply.
func (s *Score) windowTable() *table.Table {
	columns := windowColumns()
	t := &table.Table{Title: "Windows"}
	for _, c := range columns {
		t.Columns = append(t.Columns, table.Column{Head: c.name, Kind: c.kind})
	}
	for _, r := range s.Runs {
		for i := range r.Windows {
			row := make([]table.Cell, len(columns))
			for k, c := range columns {
				row[k] = c.of(r, &r.Windows[i])
			}
			t.Add(row...)
		}
	}
	return t
}

// Rows is what an execution notes of its runs: the rows of windowTable.
func Rows() campaign.Rows {
	var empty Score
	return campaign.Rows{Head: empty.windowTable().Heads(), Of: func(truth []simulate.TruthRow, windows func(func(*trace.Window) error) error) ([][]string, error) {
		scorer := New(truth, Options{})
		if err := windows(scorer.Add); err != nil {
			return nil, err
		}
		return scorer.Score().windowTable().Records(), nil
	}}
}

func windowColumns() []windowColumn {
	columns := []windowColumn{
		{"run", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(r.Run) }},
		{"window", table.Integer, func(_ *scoredRun, w *scoredWindow) table.Cell { return table.WholeCell(w.Window) }},
		{"family", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(r.Family.String()) }},
		{"ranks", table.Integer, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.WholeCell(r.Ranks) }},
		{"seed", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(strconv.FormatUint(r.Seed, 10)) }},
		{"delay_ms", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(milliseconds(r.Delay)) }},
		{"intermittent", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell {
			return table.TextCell(strconv.FormatBool(r.Intermittent))
		}},
		{"accumulation", table.Integer, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.WholeCell(r.Accumulation) }},
		{"notes", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(r.Notes) }},
		{"hidden", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(hiddenList(r.Hidden)) }},
		{"fault", table.Wrapped, func(_ *scoredRun, w *scoredWindow) table.Cell { return table.TextCell(strconv.FormatBool(w.Fault)) }},
		{"steps", table.Integer, func(_ *scoredRun, w *scoredWindow) table.Cell { return table.WholeCell(w.Steps) }},
	}
	columns = append(columns, routingColumns()...)
	columns = append(columns,
		windowColumn{"seeded_share", table.Precise, inFault(func(w *scoredWindow) table.Cell { return table.OptionalCell(w.Share) })},
		windowColumn{"hidden_rank_latest", table.Wrapped, inFault(func(w *scoredWindow) table.Cell { return table.TextCell(string(w.Latest)) })},
		windowColumn{"labels", table.Wrapped, func(_ *scoredRun, w *scoredWindow) table.Cell { return table.TextCell(strings.Join(w.Labels, " ")) }},
		windowColumn{"strong", table.Wrapped, func(_ *scoredRun, w *scoredWindow) table.Cell { return table.TextCell(strconv.FormatBool(w.Strong)) }},
		windowColumn{"telescoping_error_ns", table.Integer, func(_ *scoredRun, w *scoredWindow) table.Cell {
			return table.WholeCell(max(w.Telescoping, w.Automatic.Telescoping))
		}},
		windowColumn{"auto_cut", table.Wrapped, func(_ *scoredRun, w *scoredWindow) table.Cell { return table.TextCell(w.Automatic.Cut) }},
		windowColumn{"auto_lead", table.Wrapped, func(_ *scoredRun, w *scoredWindow) table.Cell { return table.TextCell(w.Automatic.Lead) }},
		windowColumn{"auto_leader", table.Integer, func(_ *scoredRun, w *scoredWindow) table.Cell { return whole(w.Automatic.Leader) }},
		windowColumn{"auto_leader_right", table.Wrapped, inFault(func(w *scoredWindow) table.Cell { return table.TextCell(strconv.FormatBool(w.Automatic.LeaderRight)) })},
		windowColumn{"auto_place", table.Integer, inFault(func(w *scoredWindow) table.Cell { return table.WholeCell(w.Automatic.Place) })},
		windowColumn{"auto_seeded_share", table.Precise, inFault(func(w *scoredWindow) table.Cell { return table.OptionalCell(w.Automatic.Share) })},
		windowColumn{"auto_strong", table.Wrapped, func(_ *scoredRun, w *scoredWindow) table.Cell {
			return table.TextCell(strconv.FormatBool(w.Automatic.Strong))
		}},
	)
	return append(columns, verdictColumns()...)
}

// routingColumns are place, hit and size for the frontier and each method.
func routingColumns() []windowColumn {
	var columns []windowColumn
	var empty Score
	names, _ := empty.methods()
	for i, name := range names {
		at := func(w *scoredWindow) routing {
			if i == 0 {
				return w.Routing
			}
			return w.Methods[i-1]
		}
		columns = append(columns,
			windowColumn{name + "_place", table.Integer, inFault(func(w *scoredWindow) table.Cell { return table.WholeCell(at(w).Place) })},
			windowColumn{name + "_hit", table.Wrapped, inFault(func(w *scoredWindow) table.Cell { return table.TextCell(strconv.FormatBool(at(w).Hit)) })},
			windowColumn{name + "_candidates", table.Integer, func(_ *scoredRun, w *scoredWindow) table.Cell { return table.WholeCell(at(w).Candidates) }})
	}
	return columns
}

func verdictColumns() []windowColumn {
	return []windowColumn{
		{"suspect", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(r.Verdict.Kind) }},
		{"suspect_rank", table.Integer, func(r *scoredRun, _ *scoredWindow) table.Cell { return whole(r.Verdict.Rank) }},
		{"suspect_stage", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(r.Verdict.Stage) }},
		{"suspect_gain", table.Precise, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.RealCell(r.Verdict.Gain) }},
		{"confidence", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(r.Verdict.Confidence) }},
		{"stage_right", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell {
			return table.TextCell(strconv.FormatBool(r.Verdict.StageRight))
		}},
		{"rank_answer", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.TextCell(string(r.Verdict.Answer)) }},
		{"named", table.Wrapped, func(r *scoredRun, _ *scoredWindow) table.Cell {
			return table.TextCell(strconv.FormatBool(r.Verdict.Named))
		}},
		{"innocent", table.Integer, func(r *scoredRun, _ *scoredWindow) table.Cell { return table.WholeCell(r.Verdict.Innocent) }},
	}
}

// inFault leaves the cell empty in a window without the fault.
func inFault(cell func(*scoredWindow) table.Cell) func(*scoredRun, *scoredWindow) table.Cell {
	return func(_ *scoredRun, w *scoredWindow) table.Cell {
		if !w.Fault {
			return table.Cell{}
		}
		return cell(w)
	}
}

func hiddenList(hidden []hiddenRank) string {
	var out []string
	for _, h := range hidden {
		out = append(out, fmt.Sprintf("%d:%s", h.Rank, h.Stage))
	}
	return strings.Join(out, " ")
}

func whole(n *int) table.Cell {
	if n == nil {
		return table.Cell{}
	}
	return table.WholeCell(*n)
}
