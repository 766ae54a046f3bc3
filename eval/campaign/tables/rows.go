package tables

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// column is one column of the flat table.
type column struct {
	name string
	of   func(*scoredRun, *scoredWindow) string
}

// WindowTable is everything that is known, one row per window; what belongs to
// a run is repeated in each of its windows. Empty cells are unknown or do not
// apply.
func (s *Score) WindowTable() Table {
	columns := windowColumns()
	t := Table{Title: "Windows"}
	for _, c := range columns {
		t.Head = append(t.Head, c.name)
	}
	for _, r := range s.Runs {
		for i := range r.Windows {
			row := make([]string, len(columns))
			for k, c := range columns {
				row[k] = c.of(r, &r.Windows[i])
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// Rows is what an execution notes of its runs: the rows of WindowTable.
func Rows() campaign.Rows {
	var empty Score
	return campaign.Rows{Head: empty.WindowTable().Head, Of: func(truth []simulate.TruthRow, windows func(func(*trace.Window) error) error) ([][]string, error) {
		scorer := New(truth, Options{})
		if err := windows(scorer.Add); err != nil {
			return nil, err
		}
		return scorer.Score().WindowTable().Rows, nil
	}}
}

func windowColumns() []column {
	columns := []column{
		{"run", func(r *scoredRun, _ *scoredWindow) string { return r.Run }},
		{"window", func(_ *scoredRun, w *scoredWindow) string { return strconv.FormatInt(w.Window, 10) }},
		{"family", func(r *scoredRun, _ *scoredWindow) string { return r.Family.String() }},
		{"ranks", func(r *scoredRun, _ *scoredWindow) string { return strconv.Itoa(r.Ranks) }},
		{"seed", func(r *scoredRun, _ *scoredWindow) string { return strconv.FormatUint(r.Seed, 10) }},
		{"delay_ms", func(r *scoredRun, _ *scoredWindow) string { return strconv.FormatFloat(float64(r.Delay), 'f', -1, 64) }},
		{"intermittent", func(r *scoredRun, _ *scoredWindow) string { return strconv.FormatBool(r.Intermittent) }},
		{"accumulation", func(r *scoredRun, _ *scoredWindow) string { return strconv.Itoa(r.Accumulation) }},
		{"notes", func(r *scoredRun, _ *scoredWindow) string { return r.Notes }},
		{"hidden", func(r *scoredRun, _ *scoredWindow) string { return hiddenList(r.Hidden) }},
		{"fault", func(_ *scoredRun, w *scoredWindow) string { return strconv.FormatBool(w.Fault) }},
		{"steps", func(_ *scoredRun, w *scoredWindow) string { return strconv.Itoa(w.Steps) }},
	}
	columns = append(columns, routingColumns()...)
	columns = append(columns,
		column{"seeded_share", inFault(func(w *scoredWindow) string { return real(w.Share) })},
		column{"hidden_rank_latest", inFault(func(w *scoredWindow) string { return string(w.Latest) })},
		column{"labels", func(_ *scoredRun, w *scoredWindow) string { return strings.Join(w.Labels, " ") }},
		column{"strong", func(_ *scoredRun, w *scoredWindow) string { return strconv.FormatBool(w.Strong) }},
		column{"telescoping_error_ns", func(_ *scoredRun, w *scoredWindow) string {
			return strconv.FormatInt(max(w.Telescoping, w.Automatic.Telescoping), 10)
		}},
		column{"auto_cut", func(_ *scoredRun, w *scoredWindow) string { return w.Automatic.Cut }},
		column{"auto_lead", func(_ *scoredRun, w *scoredWindow) string { return w.Automatic.Lead }},
		column{"auto_leader", func(_ *scoredRun, w *scoredWindow) string { return whole(w.Automatic.Leader) }},
		column{"auto_leader_right", inFault(func(w *scoredWindow) string { return strconv.FormatBool(w.Automatic.LeaderRight) })},
		column{"auto_place", inFault(func(w *scoredWindow) string { return strconv.Itoa(w.Automatic.Place) })},
		column{"auto_seeded_share", inFault(func(w *scoredWindow) string { return real(w.Automatic.Share) })},
		column{"auto_strong", func(_ *scoredRun, w *scoredWindow) string { return strconv.FormatBool(w.Automatic.Strong) }},
	)
	return append(columns, verdictColumns()...)
}

// routingColumns are place, hit and size for the frontier and each method.
func routingColumns() []column {
	var columns []column
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
			column{name + "_place", inFault(func(w *scoredWindow) string { return strconv.Itoa(at(w).Place) })},
			column{name + "_hit", inFault(func(w *scoredWindow) string { return strconv.FormatBool(at(w).Hit) })},
			column{name + "_candidates", func(_ *scoredRun, w *scoredWindow) string { return strconv.Itoa(at(w).Candidates) }})
	}
	return columns
}

func verdictColumns() []column {
	return []column{
		{"suspect", func(r *scoredRun, _ *scoredWindow) string { return r.Verdict.Kind }},
		{"suspect_rank", func(r *scoredRun, _ *scoredWindow) string { return whole(r.Verdict.Rank) }},
		{"suspect_stage", func(r *scoredRun, _ *scoredWindow) string { return r.Verdict.Stage }},
		{"suspect_gain", func(r *scoredRun, _ *scoredWindow) string { return real(&r.Verdict.Gain) }},
		{"confidence", func(r *scoredRun, _ *scoredWindow) string { return r.Verdict.Confidence }},
		{"stage_right", func(r *scoredRun, _ *scoredWindow) string { return strconv.FormatBool(r.Verdict.StageRight) }},
		{"rank_answer", func(r *scoredRun, _ *scoredWindow) string { return string(r.Verdict.Answer) }},
		{"named", func(r *scoredRun, _ *scoredWindow) string { return strconv.FormatBool(r.Verdict.Named) }},
		{"innocent", func(r *scoredRun, _ *scoredWindow) string { return strconv.Itoa(r.Verdict.Innocent) }},
	}
}

// inFault leaves the cell empty in a window without the fault.
func inFault(cell func(*scoredWindow) string) func(*scoredRun, *scoredWindow) string {
	return func(_ *scoredRun, w *scoredWindow) string {
		if !w.Fault {
			return ""
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

func whole(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func real(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'g', 6, 64)
}

// RunTable is one row per run: what it hides, and what the verdict says.
func (s *Score) RunTable() Table {
	t := Table{Title: "Runs", Head: []string{"run", "delay_ms", "hidden", "suspect", "gain", "confidence", "rank"}}
	for _, r := range s.Runs {
		answer := string(r.Verdict.Answer)
		if r.healthy() {
			answer = none
		}
		t.Rows = append(t.Rows, []string{r.Run, strconv.FormatFloat(float64(r.Delay), 'f', -1, 64), hiddenList(r.Hidden),
			suspectPlace(&r.Verdict), suspectGain(&r.Verdict), r.Verdict.Confidence, answer})
	}
	return t
}

// suspectPlace is the rank and stage of the first suspect, as hiddenList writes what is
// hidden; a stage alone without a rank.
func suspectPlace(v *verdict) string {
	if v.Rank == nil {
		return v.Stage
	}
	return fmt.Sprintf("%d:%s", *v.Rank, v.Stage)
}

func suspectGain(v *verdict) string {
	if v.Gain == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*v.Gain)
}
