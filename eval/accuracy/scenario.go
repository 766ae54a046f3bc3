package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
)

// Scenarios are composed jobs of known truth: a folder for each, with packets.jsonl and
// truth.json. What fixing a fault saves is known by replaying the same draws without it.
// In all but late_point, ranks synchronise at the end of backward.

const syncStage = "backward"

// scenario is a truth.json.
type scenario struct {
	Family string          `json:"family"`
	Faults []scenarioFault `json:"faults"`
	Saves  []float64       `json:"saves"` // of each fault, while the others stay
	Alone  []float64       `json:"alone"` // of each fault, without the others
}

type scenarioFault struct {
	Ranks json.RawMessage    `json:"ranks"` // a list, or "all"
	Add   map[string]float64 `json:"add"`   // milliseconds, by stage
	When  json.RawMessage    `json:"when"`
	Comm  float64            `json:"comm"` // milliseconds of the transfer
}

// scenarioKinds are the families in which not some ranks are late.
var scenarioKinds = map[string]kind{
	"healthy": healthy, "glitch": healthy, "hidden": hidden, "regress": everyone, "checkpoint": everyone,
	"network": transfer, "turns": turns, "warm_up": startUp,
}

// masks are the families whose faults hide one another: each has to be named where it
// would be without the others.
var masks = []string{"two_stages", "two_alike", "big_small"}

func (s *scenario) truth() (truth, error) {
	t := truth{kind: late}
	if k, ok := scenarioKinds[s.Family]; ok {
		t.kind = k
	}
	for i, from := range s.Faults {
		f := fault{saves: &s.Saves[i], from: -1, hides: 1e6 * from.Comm}
		for stage, ms := range from.Add {
			f.stages, f.hides = append(f.stages, stage), 1e6*ms
		}
		if t.kind == transfer {
			f.stages = []string{syncStage}
		}
		if string(from.Ranks) != `"all"` {
			if err := json.Unmarshal(from.Ranks, &f.ranks); err != nil {
				return t, fmt.Errorf("ranks %s: expected a list or %q", from.Ranks, "all")
			}
		}
		if s.Family == "regress" {
			when := []any{}
			if err := json.Unmarshal(from.When, &when); err != nil || len(when) != 2 || when[0] != "from" {
				return t, fmt.Errorf("when %s: expected [\"from\", step]", from.When)
			}
			f.from = int64(when[1].(float64))
		}
		least := s.Saves[i]
		if slices.Contains(masks, s.Family) {
			least = max(least, s.Alone[i])
		}
		f.due = len(f.ranks) > 0 && least >= leastDue
		t.faults = append(t.faults, f)
	}
	return t, nil
}

// scenarios returns the jobs of a folder.
func scenarios(dir string) ([]task, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "truth.json"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: no folder with truth.json in it", dir)
	}
	if err != nil {
		return nil, err
	}
	var out []task
	for _, path := range paths {
		var s scenario
		if err := readJSON(path, &s); err != nil {
			return nil, err
		}
		t, err := s.truth()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		folder := filepath.Dir(path)
		j := job{as: row{Source: "scenarios", Family: s.Family, Job: filepath.Base(folder)}, truth: t, path: filepath.Join(folder, "packets.jsonl")}
		out = append(out, func(p program) ([]row, error) { return scoreScenario(p, j) })
	}
	return out, nil
}

// scoreScenario scores a job, also cut into other windows, with its ranks numbered otherwise,
// and with its times scaled.
func scoreScenario(p program, j job) ([]row, error) {
	seen, err := look(j.path)
	if err == nil && len(seen.windows) != 1 {
		err = fmt.Errorf("%s: %d windows, expected one of all steps", j.path, len(seen.windows))
	}
	if err != nil {
		return nil, err
	}
	rows := []row{p.score(j)}
	for _, other := range variants(j, seen.windows[0]) {
		rows = append(rows, p.score(other))
	}
	return rows, nil
}

// packetsOf returns windows as JSON Lines.
func packetsOf(windows ...*trace.Window) []byte {
	var text bytes.Buffer
	out := packet.NewWriter(&text)
	for _, w := range windows {
		if err := out.Write(w); err != nil {
			panic("accuracy: a window cannot be written: " + err.Error())
		}
	}
	return text.Bytes()
}

// scale is by what the times of a variant are longer.
const scale = 3.7

// variants returns the same job, recorded otherwise as drawn by its name.
func variants(j job, w *trace.Window) []job {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(j.as.Job)) // never fails
	rng := rand.New(rand.NewPCG(seed.Sum64(), 0))
	order := rng.Perm(len(w.Ranks))
	steps := w.Steps()
	var cuts []int
	switch rng.IntN(3) {
	case 0:
		cuts = everyNth(7, steps)
	case 1:
		cuts = everyNth(50, steps)
	default:
		for _, at := range rng.Perm(steps - 10)[:4] {
			cuts = append(cuts, 5+at)
		}
		slices.Sort(cuts)
	}
	variant := func(name string, change func(*fault), windows ...*trace.Window) job {
		other := j
		other.as.Variant, other.packets, other.truth.faults = name, packetsOf(windows...), slices.Clone(j.truth.faults)
		for i := range other.truth.faults {
			change(&other.truth.faults[i])
		}
		return other
	}
	renumber := func(f *fault) {
		f.ranks = slices.Clone(f.ranks)
		for i, r := range f.ranks {
			f.ranks[i] = slices.Index(order, r)
		}
	}
	return []job{variant("windows", func(*fault) {}, cut(w, cuts)...), variant("ranks", renumber, reorderRanks(w, order)),
		variant("scale", func(f *fault) { f.hides *= scale }, scaleTimes(w, scale))}
}

func everyNth(n, steps int) []int {
	var out []int
	for at := n; at < steps; at += n {
		out = append(out, at)
	}
	return out
}

// cut begins a window at each of the steps.
func cut(w *trace.Window, at []int) []*trace.Window {
	var out []*trace.Window
	begin := 0
	for i, end := range append(at, w.Steps()) {
		part := trace.Selection{Steps: &trace.StepRange{First: w.FirstStep + int64(begin), Last: w.FirstStep + int64(end) - 1}}
		next := *part.Window(w)
		next.Index = int64(i)
		out = append(out, &next)
		begin = end
	}
	return out
}

// reorderRanks gives each rank the record of another.
func reorderRanks(w *trace.Window, order []int) *trace.Window {
	out := w.Select(order)
	for rank := range out.Ranks {
		out.Ranks[rank].ID = rank
	}
	return out
}

// scaleTimes makes all times longer by a factor.
func scaleTimes(w *trace.Window, by float64) *trace.Window {
	out := *w
	out.Durations, out.Wall = slices.Clone(w.Durations), slices.Clone(w.Wall)
	simulate.Scale(&out, by)
	return &out
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
