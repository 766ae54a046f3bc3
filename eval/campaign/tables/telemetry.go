package tables

import (
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// telemetry is how complete the recording of a window is.
type telemetry struct {
	rows, expected int  // steps of ranks: recorded, and of all ranks of the job
	gathered       bool // by every rank
}

func telemetryOf(w *trace.Window) telemetry {
	return telemetry{rows: w.Steps() * len(w.Ranks), expected: w.Steps() * (len(w.Ranks) + len(w.Missing())), gathered: len(w.GatherFailed) == 0}
}

// completenessTable is about the healthy runs of the paper's groups E0 and E1:
// whether every step of every rank was recorded and every window gathered, and
// how often a run has a strong label.
func (s *Score) completenessTable() *table.Table {
	t := &table.Table{Title: "No fault: is the recording complete, and is anything flagged?", Keys: 1,
		Columns: slices.Concat(table.Words("group"), table.Heads(table.Integer, "runs", "windows"),
			table.Heads(table.Part, "windows gathered", "steps of ranks recorded", "telemetry_limited", "runs with a strong label"), table.Heads(table.Rate, "at most"))}
	for _, name := range []string{"E0", "E1"} {
		part := s.standingFor(name)
		windows, gathered, rows, expected, limited, strong := 0, 0, 0, 0, 0, 0
		for _, r := range part.Runs {
			count(&strong, slices.ContainsFunc(r.Windows, func(w scoredWindow) bool { return w.Strong || w.Automatic.Strong }))
			for _, w := range r.Windows {
				windows++
				count(&gathered, w.telemetry.gathered)
				rows, expected = rows+w.telemetry.rows, expected+w.telemetry.expected
				count(&limited, slices.Contains(w.Labels, labels.TelemetryLimited.String()))
			}
		}
		if windows == 0 {
			continue
		}
		n := len(part.Runs)
		t.Add(table.TextCell(name), table.WholeCell(n), table.WholeCell(windows), table.PartCell(gathered, windows), table.PartCell(rows, expected),
			table.PartCell(limited, windows), table.PartCell(strong, n), rateAtMost(strong, n))
	}
	return beside(t, "completeness")
}

// standingFor are the runs that stand for a published group.
func (s *Score) standingFor(published ...string) *Score {
	return s.only(func(r *scoredRun) bool { return r.task != nil && slices.Contains(published, r.task.Published) })
}
