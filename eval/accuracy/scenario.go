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

// scoreScenario scores a job, and whether the verdict stays the same when its packets are
// cut into other windows, its ranks are numbered otherwise, and its times are scaled.
func scoreScenario(p program, k key, t truth, path string) ([]row, error) {
	list, err := readPackets(path)
	if err != nil {
		return nil, err
	}
	v, err := p.diagnose(list.text(), "-")
	if err != nil {
		return []row{newRow(k, t).failed(err)}, nil
	}
	rows := []row{newRow(k, t).judged(v, judge(t, v))}
	for _, other := range list.variants(k.job) {
		k.variant = other.name
		r := newRow(k, t)
		if u, err := p.diagnose(other.text(), "-"); err != nil {
			r = r.failed(err)
		} else {
			r = r.judged(u, differs(v, u, other.order))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// rankPacket is a line of the packets of a scenario: one rank, all steps.
type rankPacket struct {
	Schema    string    `json:"schema"`
	Run       string    `json:"run"`
	Window    int       `json:"window"`
	Rank      int       `json:"rank"`
	World     int       `json:"world_size"`
	Host      string    `json:"host"`
	LocalRank int       `json:"local_rank"`
	Stages    []string  `json:"stages"`
	FirstStep int       `json:"first_step"`
	Durations [][]int64 `json:"durations_ns"`
	Wall      []int64   `json:"wall_ns,omitempty"`
}

type packets []rankPacket

func readPackets(path string) (packets, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out packets
	for in := json.NewDecoder(bytes.NewReader(text)); in.More(); {
		var line rankPacket
		if err := in.Decode(&line); err != nil {
			return nil, fmt.Errorf("%s: packet %d: %w", path, len(out)+1, err)
		}
		out = append(out, line)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no packets", path)
	}
	return out, nil
}

// text is the packets as JSON Lines.
func (ps packets) text() []byte {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	for i := range ps {
		if err := lines.Encode(&ps[i]); err != nil {
			panic("accuracy: a packet cannot be written: " + err.Error())
		}
	}
	return out.Bytes()
}

// variant is the same job, recorded otherwise.
type variant struct {
	name string
	packets
	order []int // rank in the job of each rank of the variant; nil: the same
}

// scale is by what the times of a variant are longer.
const scale = 3.7

// variants are drawn by the name of the job.
func (ps packets) variants(name string) []variant {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(name)) // never fails
	rng := rand.New(rand.NewPCG(seed.Sum64(), 0))
	order := rng.Perm(len(ps))
	steps := len(ps[0].Durations)
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
	return []variant{{"windows", ps.cut(cuts), nil}, {"ranks", ps.reordered(order), order}, {"scale", ps.scaled(scale), nil}}
}

func everyNth(n, steps int) []int {
	var out []int
	for at := n; at < steps; at += n {
		out = append(out, at)
	}
	return out
}

// cut begins a window at each of the steps.
func (ps packets) cut(at []int) packets {
	var out packets
	at = append(at, len(ps[0].Durations))
	for i, begin := range append([]int{0}, at[:len(at)-1]...) {
		for _, line := range ps {
			line.Window, line.FirstStep, line.Durations = i, begin, line.Durations[begin:at[i]]
			if line.Wall != nil {
				line.Wall = line.Wall[begin:at[i]]
			}
			out = append(out, line)
		}
	}
	return out
}

// reordered gives each rank the record of another.
func (ps packets) reordered(order []int) packets {
	var out packets
	for rank, from := range order {
		line := ps[from]
		line.Rank = rank
		out = append(out, line)
	}
	return out
}

// scaled makes all times longer by a factor.
func (ps packets) scaled(by float64) packets {
	longer := func(list []int64) []int64 {
		out := make([]int64, len(list))
		for i, ns := range list {
			out[i] = int64(by * float64(ns))
		}
		return out
	}
	out := slices.Clone(ps)
	for i := range out {
		line := &out[i]
		line.Durations = slices.Clone(line.Durations)
		for t := range line.Durations {
			line.Durations[t] = longer(line.Durations[t])
		}
		if line.Wall != nil {
			line.Wall = longer(line.Wall)
		}
	}
	return out
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
