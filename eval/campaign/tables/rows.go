package tables

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
)

// WriteRows writes everything that is known as CSV, one row per window; what belongs to a run
// is repeated in each of its windows. Empty cells are unknown or do not apply. Behind them
// stands under which setting that is, empty: none, and where the run comes from.
func (e *Evaluation) WriteRows(w io.Writer) error {
	var rows [][]string
	for _, s := range append([]settingScore{{"", e.score}}, e.settings...) {
		for i, r := range s.Runs {
			for _, row := range r.rows() {
				rows = append(rows, append(append(row, s.name), e.rows[i].Cells()[1:]...))
			}
		}
	}
	return table.WriteCSV(w, append(append(rowHead(), "setting"), campaign.ProvenanceHead[1:]...), rows)
}

func rowHead() []string {
	head := []string{"run", "window", "family", "ranks", "seed", "delay_ms", "intermittent",
		"accumulation", "notes", "hidden", "fault", "steps", "step_mean_ms", "step_median_ms", "step_p95_ms", "seeded_median_ms", "seeded_p95_ms", "seeded_max_ms"}
	for _, name := range methodNames() {
		head = append(head, name+"_place", name+"_hit", name+"_candidates")
	}
	return append(head, "seeded_share", "hidden_rank_latest", "labels", "strong", "telescoping_error_ns",
		"auto_cut", "auto_lead", "auto_leader", "auto_leader_right", "auto_place", "auto_seeded_share", "auto_strong",
		"suspect", "suspect_rank", "suspect_stage", "suspect_gain", "confidence", "stage_right", "rank_answer", "named", "innocent",
		"ks_ranks", "ks_answer", "hybrid_ranks", "hybrid_answer", "zscore_ranks", "zscore_answer", "blame_ranks", "blame_answer")
}

func (r *scoredRun) rows() (rows [][]string) {
	all := r.tableWindows()
	for i := range all {
		var row []string
		for _, value := range r.values(&all[i]) {
			row = append(row, record(value))
		}
		rows = append(rows, row)
	}
	return rows
}

// values returns those of a window under rowHead; in a run without windows what is of one is unknown.
func (r *scoredRun) values(w *scoredWindow) []any {
	row := r.cells(w)
	if len(r.Windows) > 0 {
		return row
	}
	for i, head := range rowHead() {
		if head == "suspect" {
			break
		}
		if i > firstOfWindow || head == "window" {
			row[i] = nil
		}
	}
	return row
}

// firstOfWindow is the column of [rowHead] behind which all up to the suspect are of windows.
var firstOfWindow = slices.Index(rowHead(), "fault")

func (r *scoredRun) cells(w *scoredWindow) []any {
	fault := func(value any) any { // which means nothing in a window without
		if !w.Fault {
			return nil
		}
		return value
	}
	a, v := &w.Automatic, &r.Verdict
	row := []any{r.Run, w.Window, r.family(), r.Ranks, r.Seed, milliseconds(r.Delay), r.Intermittent,
		r.Accumulation, r.Notes, hiddenList(r.Hidden), w.Fault, w.Steps}
	for _, ns := range []float64{w.pace.step.Mean, w.pace.step.Median, w.pace.step.P95} {
		row = append(row, ns/1e6)
	}
	for _, ns := range []float64{w.pace.stage.Median, w.pace.stage.P95, w.pace.stage.Max} {
		row = append(row, fault(ns/1e6))
	}
	for i := range methodNames() {
		at := w.rankBy(i)
		row = append(row, fault(at.Place), fault(at.Hit), at.Candidates)
	}
	row = append(row, fault(w.Share), fault(w.Latest), strings.Join(w.Labels, " "), w.Strong, max(w.Telescoping, a.Telescoping))
	row = append(row, a.Cut, a.Lead, a.Leader, fault(a.LeaderRight), fault(a.Place), fault(a.Share), a.Strong)
	gain := &v.Gain
	if v.Kind == "" { // nobody is suspected
		gain = nil
	}
	row = append(row, v.Kind, v.Rank, v.Stage, gain, v.Confidence, v.StageRight, v.Answer, v.Named, v.Innocent)
	for _, d := range []*differing{&r.Second.KS, &r.Second.Hybrid, &r.Second.Outliers, &r.Second.Blame} {
		row = append(row, d.rankList(), d.Answer)
	}
	return row
}

// record writes a value; "" where there is none.
func record(value any) string {
	switch x := value.(type) {
	case nil:
		return ""
	case *int:
		if x == nil {
			return ""
		}
		return strconv.Itoa(*x)
	case *float64:
		if x == nil {
			return ""
		}
		return record(*x)
	case float64:
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	return fmt.Sprint(value)
}

func hiddenList(hidden []hiddenRank) string {
	var out []string
	for _, h := range hidden {
		out = append(out, fmt.Sprintf("%d:%s", h.Rank, h.Stage))
	}
	return strings.Join(out, " ")
}
