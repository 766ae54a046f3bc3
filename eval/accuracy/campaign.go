package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

// A truth table (truth.csv) lies with the runs of a campaign, of sfstat simulate, and of
// several folders of real recordings: a row for each run and rank that is slow, with the
// family of the fault and its delay in milliseconds.

// stageOf is the stage of a family, by a part of its name.
var stageOf = []struct{ part, stage string }{
	{"data", "data.next_wait"}, {"forward", "model.fwd_loss_cpu_wall"}, {"tp2", "model.fwd_loss_cpu_wall"}, {"backward", "model.backward_cpu_wall"},
	{"callback", "callbacks.cpu_wall"}, {"optimizer", "optim.step_cpu_wall"},
}

// insides are the families whose delay stage times show on all ranks alike, and the stage
// that they show it in: where ranks synchronise, also in what a device does before.
var insides = map[string]string{
	"backward": "model.backward_cpu_wall", "backward_comm": "model.backward_cpu_wall", "forward_device": "model.backward_cpu_wall", "callback_sync": "callbacks.cpu_wall",
}

// runName is a run of a table that has no column for the family.
var runName = regexp.MustCompile(`^(.*?)(-r\d+)?-s\d+$`)

// truthTable are the runs of a truth table that are recorded in its folder.
func truthTable(dir, source string) ([]task, error) {
	path := filepath.Join(dir, "truth.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records, err := readCSV(path, text)
	if err != nil {
		return nil, err
	}
	var runs [][]record
	for _, r := range records {
		if n := len(runs); n > 0 && runs[n-1][0]["run"] == r["run"] {
			runs[n-1] = append(runs[n-1], r)
			continue
		}
		runs = append(runs, []record{r})
	}
	var out []task
	for _, rows := range runs {
		name := rows[0]["run"]
		at := recorded(dir, name)
		if at == "" {
			continue // a row of a run that was not kept
		}
		out = append(out, func(p program) ([]row, error) {
			t, err := tableTruth(rows, at)
			if err != nil {
				return nil, fmt.Errorf("%s: run %s: %w", path, name, err)
			}
			return []row{p.score(job{as: row{Source: source, Family: familyOf(rows[0]), Job: name}, truth: t, path: at})}, nil
		})
	}
	return out, nil
}

// recorded is where a run lies: in a file of its name, a folder, or the runs of a campaign;
// "" where it does not. What others recorded of a run lies in a folder next to its packets.
func recorded(dir, run string) string {
	for _, name := range []string{run + ".jsonl", run + ".parquet", "runs/" + run + ".jsonl", "runs/" + run + ".parquet", run + "/packets", "packets/" + run, run} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

func familyOf(r record) string {
	if name := r["family"]; name != "" {
		if strings.Contains(r["notes"], "roles") {
			return "roles"
		}
		return name
	}
	return runName.ReplaceAllString(r["run"], "$1")
}

// tableTruth is the truth of a run: its rows are of one fault each, which may strike
// several ranks.
func tableTruth(rows []record, path string) (truth, error) {
	family := familyOf(rows[0])
	switch family {
	case "nofault":
		return truth{kind: healthy}, nil
	case "roles":
		return truth{kind: uneven}, nil
	}
	t := truth{kind: late}
	if family == "hang" {
		t.kind = hang
	}
	seen, err := look(path)
	if err != nil {
		return t, err
	}
	for _, r := range rows {
		f, err := r.delayed(family, seen.step)
		if err != nil {
			return t, err
		}
		f.due = f.due || t.kind == hang
		t.faults = append(t.faults, f)
	}
	if len(rows) > 1 && rows[0]["intermittent"] == "1" {
		t.kind = turns // ranks are slow independently of each other
		return t, nil
	}
	stage, ok := insides[family]
	if strings.Contains(rows[0]["run"], "fsdp") && strings.HasPrefix(family, "forward") {
		stage, ok = "model.fwd_loss_cpu_wall", true // parameters are gathered there
	}
	if ok && !seen.entries {
		t.kind = hidden
		if strings.Contains(rows[0]["notes"], "aba") || rows[0]["intermittent"] == "1" {
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

// delayed is the fault of a row, in steps of so many nanoseconds.
func (r record) delayed(family string, step float64) (fault, error) {
	f := fault{from: -1}
	for _, column := range []string{"hidden_rank", "hidden_ranks", "slow_rank"} {
		ranks, err := r.ranks(column)
		if err != nil {
			return f, err
		}
		f.ranks = append(f.ranks, ranks...)
	}
	delay, err := r.number("delay_ms")
	if err != nil {
		return f, err
	}
	f.hides = delay * 1e6
	if r["intermittent"] == "1" {
		f.hides /= 10 // every tenth step
	}
	if strings.Contains(r["notes"], "aba") {
		f.hides /= 3 // the second of three windows
	}
	f.due = step == 0 || f.hides/step >= leastDue
	if stage := r["seeded_stage"]; stage != "" {
		f.stages = []string{stage}
		return f, nil
	}
	for _, s := range stageOf {
		if strings.Contains(family, s.part) {
			f.stages = []string{s.stage}
		}
	}
	return f, nil
}

// recordedAs says how a run was recorded.
type recordedAs struct {
	step    float64 // mean length of a step in nanoseconds; 0 where it is not recorded
	entries bool    // there are entries of collectives too, or operators: what happens inside stages
	windows []*trace.Window
}

// look reads all of a run.
func look(path string) (out recordedAs, err error) {
	in, err := auto.Open([]string{path}, auto.Options{})
	if err != nil {
		return out, err
	}
	defer in.Close()
	ns, steps := int64(0), 0
	for item, err := range in.Items() {
		if err != nil {
			return out, err
		}
		out.entries = out.entries || item.Comm != nil || item.Ops != nil || item.Profiled != nil
		if w := item.Window; w != nil {
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
