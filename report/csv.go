package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
)

// writeCSV writes a table in base units under its plain heads.
func writeCSV(w io.Writer, t *table) error {
	var buf bytes.Buffer
	out := csv.NewWriter(&buf)
	record := make([]string, len(t.columns))
	for i, c := range t.columns {
		record[i] = c.head
	}
	_ = out.Write(record) // a bytes.Buffer does not fail
	for _, row := range t.rows {
		for i, c := range row {
			record[i] = c.raw(t.columns[i].kind)
			if k := t.columns[i].kind; !k.numeric() {
				record[i] = harmless(record[i])
			}
		}
		_ = out.Write(record)
	}
	out.Flush()
	_, err := w.Write(buf.Bytes())
	return err
}

// harmless keeps a spreadsheet from taking a name for a formula.
func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// field is one column of a flat table and where its cells come from.
type field[T any] struct {
	name string
	kind kind
	of   func(T) cell
}

func flat[T any](fields []field[T], rows []T) *table {
	t := &table{}
	for _, f := range fields {
		t.columns = append(t.columns, column{head: f.name, kind: f.kind})
	}
	for _, r := range rows {
		cells := make([]cell, len(fields))
		for i, f := range fields {
			cells[i] = f.of(r)
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// ifBounded is a cell on the bounds of struck steps, empty where they are not known.
func ifBounded(s diagnose.Struck, c cell) cell {
	if !s.Bounded() {
		return cell{}
	}
	return c
}

// suspectOf is a suspect and its place.
type suspectOf struct {
	run, status string
	place       int // 1 for the first suspect of the run
	*diagnose.Finding
}

// suspectRows is one row per suspect; a run without suspects has none.
func suspectRows(v *diagnose.Verdict) *table {
	var rows []suspectOf
	for _, r := range runsOf(v) {
		for i := range r.Suspects {
			rows = append(rows, suspectOf{r.Run, r.Status.String(), i + 1, &r.Suspects[i]})
		}
	}
	type x = suspectOf
	return flat([]field[x]{
		{"run", kindName, func(s x) cell { return textCell(s.run) }},
		{"place", kindInteger, func(s x) cell { return wholeCell(s.place) }},
		{"status", kindText, func(s x) cell { return textCell(s.status) }},
		{"kind", kindText, func(s x) cell { return textCell(s.Kind.String()) }},
		{"cause", kindText, func(s x) cell { return textCell(s.Cause.String()) }},
		{"rank", kindInteger, func(s x) cell { return optionalWhole(s.Rank) }},
		{"host", kindName, func(s x) cell { return textCell(s.Host) }},
		{"local_rank", kindInteger, func(s x) cell { return optionalWhole(s.LocalRank) }},
		{"role", kindText, func(s x) cell { return textCell(s.Role) }},
		{"stage", kindName, func(s x) cell { return textCell(s.Stage) }},
		{"op", kindName, func(s x) cell { return textCell(s.Op) }},
		{"seq", kindInteger, func(s x) cell { return optionalWhole(s.Seq) }},
		{"group", kindName, func(s x) cell { return textCell(s.Group) }},
		{"confidence", kindText, func(s x) cell { return textCell(s.Confidence.String()) }},
		{"below_min_gain", kindText, func(s x) cell { return flagCell(s.BelowMinGain) }},
		{"gain", kindReal, func(s x) cell { return realCell(s.Gain) }},
		{"run_gain", kindReal, func(s x) cell { return realCell(s.RunGain) }},
		{"struck_count", kindInteger, func(s x) cell { return wholeCell(s.Struck.Count) }},
		{"struck_of", kindInteger, func(s x) cell { return wholeCell(s.Struck.Of) }},
		{"struck_first", kindInteger, func(s x) cell { return wholeCell(s.Struck.First) }},
		{"struck_last", kindInteger, func(s x) cell { return wholeCell(s.Struck.Last) }},
		{"pattern", kindText, func(s x) cell { return textCell(s.Struck.Pattern.String()) }},
		{"struck_rate_low", kindReal, func(s x) cell { return ifBounded(s.Struck, realCell(s.Struck.Low)) }},
		{"struck_rate_high", kindReal, func(s x) cell { return ifBounded(s.Struck, realCell(s.Struck.High)) }},
		{"excess_low_ns", kindInteger, func(s x) cell { return ifBounded(s.Struck, wholeCell(s.Struck.ExcessLow)) }},
		{"excess_high_ns", kindInteger, func(s x) cell { return ifBounded(s.Struck, wholeCell(s.Struck.ExcessHigh)) }},
		{"excess_ns", kindInteger, func(s x) cell { return wholeCell(s.Excess) }},
		{"explained_ns", kindInteger, func(s x) cell { return wholeCell(s.Explained) }},
		{"score", kindReal, func(s x) cell { return realCell(s.Score) }},
		{"windows", kindList, func(s x) cell { return numberList(s.Windows) }},
		{"evidence", kindList, func(s x) cell { return listCell(evidenceKinds(s.Evidence)) }},
	}, rows)
}

// evidenceKinds names the kinds of evidence, what is lacking by its reason.
func evidenceKinds(list []evidence.Observation) (names []string) {
	for _, e := range list {
		if l, ok := e.(evidence.Lack); ok {
			names = append(names, string(l.Kind())+":"+string(l.Reason))
		} else {
			names = append(names, string(e.Kind()))
		}
	}
	return names
}

// stageOf is a stage and its window. at is −1 for a window without stages.
type stageOf struct {
	*frontier.Result
	at int
	frontier.Stage
}

// stageRows is one row per window, group and stage. A window whose stages
// could not be used has one row without stage.
func stageRows(results []*frontier.Result) *table {
	var rows []stageOf
	for _, r := range results {
		if len(r.Stages) == 0 {
			rows = append(rows, stageOf{Result: r, at: -1})
		}
		for i, s := range r.Stages {
			rows = append(rows, stageOf{r, i, s})
		}
	}
	return flat(slices.Concat(windowFields(), stageFields()), rows)
}

func windowFields() []field[stageOf] {
	type x = stageOf
	return []field[x]{
		{"run", kindName, func(s x) cell { return textCell(s.Run) }},
		{"window", kindInteger, func(s x) cell { return wholeCell(s.Window) }},
		{"group", kindName, func(s x) cell { return textCell(s.Group) }},
		{"cut", kindText, func(s x) cell { return textCell(s.Cut.String()) }},
		{"world_size", kindInteger, func(s x) cell { return wholeCell(s.WorldSize) }},
		{"ranks", kindInteger, func(s x) cell { return wholeCell(len(s.Ranks)) }},
		{"first_step", kindInteger, func(s x) cell { return wholeCell(s.FirstStep) }},
		{"steps", kindInteger, func(s x) cell { return wholeCell(s.Steps) }},
		{"makespan_ns", kindInteger, func(s x) cell { return wholeCell(s.Makespan) }},
		{"labels", kindList, func(s x) cell { return listCell(strs(s.Labels)) }},
		{"downgrade_reasons", kindList, func(s x) cell { return listCell(strs(s.Reasons)) }},
		{"leader_rank", kindInteger, func(s x) cell { return optionalWhole(s.Leader.Rank) }},
		{"leader_switches", kindInteger, func(s x) cell { return wholeCell(s.Leader.Switches) }},
		{"closure_residual_share", kindReal, func(s x) cell { return realCell(s.Quality.ClosureResidual) }},
		{"overlap_error_share", kindReal, func(s x) cell { return realCell(s.Quality.OverlapError) }},
		{"missing_ranks", kindInteger, func(s x) cell { return wholeCell(len(s.Quality.Missing)) }},
		{"gather_ok", kindText, func(s x) cell { return flagCell(s.Quality.GatherOK) }},
	}
}

func stageFields() []field[stageOf] {
	type x = stageOf
	only := func(k kind, name string, of func(x) cell) field[x] {
		return field[x]{name, k, func(s x) cell {
			if s.at < 0 {
				return cell{}
			}
			return of(s)
		}}
	}
	return []field[x]{
		only(kindInteger, "stage_index", func(s x) cell { return wholeCell(s.at) }),
		only(kindName, "stage", func(s x) cell { return textCell(s.Name) }),
		only(kindInteger, "advance_ns", func(s x) cell { return wholeCell(s.Advance) }),
		only(kindReal, "share", func(s x) cell { return optionalCell(s.Share) }),
		only(kindReal, "gain", func(s x) cell { return optionalCell(s.Gain) }),
		only(kindReal, "sync_gain", func(s x) cell { return optionalCell(s.SyncGain) }),
		only(kindReal, "max_share", func(s x) cell { return optionalCell(s.MaxShare) }),
		only(kindReal, "mean_share", func(s x) cell { return optionalCell(s.MeanShare) }),
		only(kindList, "latest_ranks", func(s x) cell { return numberList(s.Latest) }),
		only(kindInteger, "lag_ns", func(s x) cell { return wholeCell(s.Lag) }),
		only(kindInteger, "lag_increase_ns", func(s x) cell { return wholeCell(s.LagIncrease) }),
		only(kindInteger, "gap_ns", func(s x) cell { return wholeCell(s.Gap) }),
		only(kindText, "meets", func(s x) cell { return flagCell(s.Syncs) }),
		only(kindInteger, "wait_ns", func(s x) cell { return wholeCell(s.Wait) }),
		only(kindReal, "mend", func(s x) cell { return optionalCell(s.Stage.Saves) }),
		only(kindText, "routed", func(s x) cell { return flagCell(slices.Contains(s.Routing, s.at)) }),
		only(kindText, "co_critical", func(s x) cell { return flagCell(slices.Contains(s.CoCritical, s.at)) }),
	}
}

// runsOf are the runs of a verdict; one that lists none is its own only run.
func runsOf(v *diagnose.Verdict) []diagnose.RunVerdict {
	if len(v.Runs) == 0 {
		return []diagnose.RunVerdict{v.RunVerdict}
	}
	return v.Runs
}

func optionalWhole(n *int) cell {
	if n == nil {
		return cell{}
	}
	return wholeCell(*n)
}

func numberList[T int | int64](v []T) cell {
	return listCell(each(v, func(n T) string { return strconv.FormatInt(int64(n), 10) }))
}

// strs are the names of values that name themselves; never nil.
func strs[T fmt.Stringer](v []T) []string { return each(v, T.String) }
