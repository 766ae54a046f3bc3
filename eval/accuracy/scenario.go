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

// scenarios are the jobs of a folder.
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
		k := key{source: "scenarios", family: s.Family, job: filepath.Base(folder)}
		out = append(out, func(p program) ([]row, error) { return scoreScenario(p, k, t, filepath.Join(folder, "packets.jsonl")) })
	}
	return out, nil
}

// scoreScenario scores a job, and whether the verdict stays the same when it is cut into
// other windows, its ranks are numbered otherwise, and its times are scaled.
func scoreScenario(p program, k key, t truth, path string) ([]row, error) {
	job, err := readWindow(path)
	if err != nil {
		return nil, err
	}
	v, err := p.diagnose(packetsOf(job), "-")
	if err != nil {
		return []row{newRow(k, t).failed(err)}, nil
	}
	rows := []row{newRow(k, t).judged(v, judge(t, v))}
	for _, other := range variants(job, k.job) {
		k.variant = other.name
		r := newRow(k, t)
		if u, err := p.diagnose(packetsOf(other.windows...), "-"); err != nil {
			r = r.failed(err)
		} else {
			r = r.judged(u, differs(v, u, other.order))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// readWindow reads the packets of a scenario: one window, of all steps.
func readWindow(path string) (*trace.Window, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	w, err := packet.NewReader([]packet.Stream{{Name: path, R: bytes.NewReader(text)}}, packet.Options{}).Next()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// packetsOf are windows as JSON Lines.
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

// variant is the same job, recorded otherwise.
type variant struct {
	name    string
	windows []*trace.Window
	order   []int // rank in the job of each rank of the variant; nil: the same
}

// scale is by what the times of a variant are longer.
const scale = 3.7

// variants are drawn by the name of the job.
func variants(job *trace.Window, name string) []variant {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(name)) // never fails
	rng := rand.New(rand.NewPCG(seed.Sum64(), 0))
	order := rng.Perm(len(job.Ranks))
	steps := job.Steps()
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
	return []variant{{"windows", cut(job, cuts), nil}, {"ranks", []*trace.Window{reordered(job, order)}, order}, {"scale", []*trace.Window{scaled(job, scale)}, nil}}
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

// reordered gives each rank the record of another.
func reordered(w *trace.Window, order []int) *trace.Window {
	out := w.Select(order)
	for rank := range out.Ranks {
		out.Ranks[rank].ID = rank
	}
	return out
}

// scaled makes all times longer by a factor.
func scaled(w *trace.Window, by float64) *trace.Window {
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
