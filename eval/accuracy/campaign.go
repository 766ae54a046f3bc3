package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

// insides are the families whose delay stage times show on all ranks alike, and the stage
// that they show it in: where ranks synchronise, also in what a device does before.
var insides = map[fmt.Stringer]string{
	simulate.Backward: simulate.StageBackward, simulate.BackwardComm: simulate.StageBackward, simulate.ForwardDevice: simulate.StageBackward,
	simulate.CallbackSync: simulate.StageCallbacks,
}

// truthTable returns the runs of a truth table (truth.csv) that are recorded in its folder: of a campaign, of sfstat simulate,
// or of real jobs.
func truthTable(dir, source string) ([]task, error) {
	path := filepath.Join(dir, "truth.csv")
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := simulate.ReadTruth(path, f)
	var out []task
	for len(rows) > 0 {
		run := rows[:1]
		for len(run) < len(rows) && rows[len(run)].Run == run[0].Run {
			run = rows[:len(run)+1]
		}
		rows = rows[len(run):]
		at := recordingPath(dir, run[0].Run)
		if at == "" {
			continue // a row of a run that was not kept
		}
		as := row{Source: source, Family: run[0].Family.String(), Job: run[0].Run}
		if strings.Contains(run[0].Notes, "roles") {
			as.Family = "roles"
		}
		out = append(out, func(p program) ([]row, error) {
			t, err := tableTruth(run, at)
			if err != nil {
				return nil, fmt.Errorf("%s: run %s: %w", path, as.Job, err)
			}
			return []row{p.score(job{as: as, truth: t, path: at})}, nil
		})
	}
	return out, err
}

// recordingPath returns where a run lies: in a file of its name, a folder, or the runs of a campaign;
// "" where it does not. What others recorded of a run lies in a folder next to its packets.
func recordingPath(dir, run string) string {
	for _, name := range []string{run + ".jsonl", run + ".parquet", "runs/" + run + ".jsonl", "runs/" + run + ".parquet", run + "/packets", run} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// tableTruth returns the truth of a run: its rows are of one rank each.
func tableTruth(rows []simulate.TruthRow, path string) (truth, error) {
	first := rows[0]
	aba := strings.Contains(first.Notes, "aba") // only the second of three windows is struck
	switch {
	case strings.Contains(first.Notes, "roles"):
		return truth{kind: uneven}, nil
	case first.HiddenRank < 0:
		return truth{kind: healthy}, nil
	}
	t := truth{kind: late}
	seen, err := look(path)
	if err != nil {
		return t, err
	}
	for _, r := range rows {
		f := fault{ranks: []int{r.HiddenRank}, stages: []string{r.Stage}, hides: float64(r.Delay) * simulate.NsPerMilli, from: -1}
		if r.Intermittent {
			f.hides /= 10 // every tenth step
		}
		if aba {
			f.hides /= 3
		}
		f.due = seen.step == 0 || f.hides/seen.step >= leastDue
		t.faults = append(t.faults, f)
	}
	if len(rows) > 1 && first.Intermittent {
		t.kind = turns // ranks are slow independently of each other
		return t, nil
	}
	stage, ok := insides[first.Family]
	if strings.Contains(first.Run, "fsdp") && first.Stage == simulate.StageForward {
		stage, ok = simulate.StageForward, true // parameters are gathered there
	}
	if ok && !seen.entries {
		t.kind = hidden
		if aba || first.Intermittent {
			t.kind = everyone // who is late is not seen, but that steps differ
		}
		for i := range t.faults {
			if f := &t.faults[i]; !slices.Contains(f.stages, stage) {
				f.stages = append(f.stages, stage)
			}
		}
	}
	return t, nil
}

// recordedAs says how a run was recorded.
type recordedAs struct {
	step    float64 // mean length of a step in nanoseconds; 0 where it is not recorded
	entries bool    // there are entries of collectives too, or operators: what happens inside stages
	windows []*trace.Window
}

// look reads all of a run.
func look(path string) (out recordedAs, err error) {
	in, err := auto.Open([]string{path}, auto.Options{Kinds: auto.Windows | auto.Operators})
	if err != nil {
		return out, err
	}
	defer in.Close()
	ns, steps := int64(0), 0
	for j, err := range in.Jobs() {
		if err != nil {
			return out, err
		}
		out.entries = out.entries || j.Calls != nil || j.Operators != nil || len(j.Profiled) > 0
		for _, w := range j.Windows {
			out.entries, out.windows = out.entries || len(w.Arrivals) > 0, append(out.windows, w)
			if w.Wall != nil {
				ns, steps = ns+length(w), steps+w.Steps()
			}
		}
	}
	if steps > 0 {
		out.step = float64(ns) / float64(steps)
	}
	return out, nil
}
