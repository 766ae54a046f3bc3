package whatif_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/operator"
)

func open(tb testing.TB, path string) *operator.Trace {
	tb.Helper()
	t, err := optrace.Open(path, ingest.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func analyze(tb testing.TB, t *operator.Trace) *whatif.Result {
	tb.Helper()
	m, err := whatif.New(t, whatif.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return m.Analyze()
}

// published is a result file of the reference, step times in seconds.
type published struct {
	Base    map[string]float64 `json:"step_t_base"`
	NoDelay map[string]float64 `json:"step_t_nodelay"`
	Ideal   map[string]float64 `json:"step_t_noblk"`
	Launch  float64            `json:"launch_slowdown"`
	S       float64            `json:"blocking_slowdown"`
	SStep   map[string]float64 `json:"blocking_step_slowdown"`
	LStep   map[string]float64 `json:"launch_step_slowdown"`
	parts
}

type parts struct {
	DP     map[string]float64            `json:"blocking_decompose_by_dp_rank"`
	Stage  map[string]float64            `json:"blocking_decompose_by_stage"`
	Op     map[string]float64            `json:"blocking_decompose_by_optype"`
	DPS    map[string]map[string]float64 `json:"blocking_decompose_by_dp_rank_per_step"`
	StageS map[string]map[string]float64 `json:"blocking_decompose_by_stage_per_step"`
	OpS    map[string]map[string]float64 `json:"blocking_decompose_by_optype_per_step"`

	LDP     map[string]float64            `json:"launch_decompose_by_dp_rank"`
	LStage  map[string]float64            `json:"launch_decompose_by_stage"`
	LOp     map[string]float64            `json:"launch_decompose_by_optype"`
	LDPS    map[string]map[string]float64 `json:"launch_decompose_by_dp_rank_per_step"`
	LStageS map[string]map[string]float64 `json:"launch_decompose_by_stage_per_step"`
	LOpS    map[string]map[string]float64 `json:"launch_decompose_by_optype_per_step"`
}

// effect is an ms or mw file, times in seconds.
type effect struct {
	Removed float64 `json:"trem"`
	Added   float64 `json:"tadd"`
	Now     float64 `json:"tori"`
	Ideal   float64 `json:"tideal"`
	Rem     float64 `json:"rem"`
	Add     float64 `json:"add"`
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// comparison counts numbers and remembers the worst of each kind.
type comparison struct {
	t     *testing.T
	n     int
	worst map[string]float64
}

// agreement is what the published float32 arithmetic allows, relative. The
// worst is an AddedShare of 0.0024, a difference of large means: 2.4e-5.
const agreement = 1e-4

func (c *comparison) check(kind, at string, got, want float64) {
	c.t.Helper()
	c.n++
	off := math.Abs(got - want)
	if want != 0 {
		off /= math.Abs(want)
	}
	c.worst[kind] = math.Max(c.worst[kind], off)
	if !(off <= agreement) {
		c.t.Errorf("%s %s: %.9g, published %.9g, off by %.2g", kind, at, got, want, off)
	}
}

func (c *comparison) steps(kind string, steps []int64, got []float64, want map[string]float64) {
	c.t.Helper()
	if len(steps) != len(want) {
		c.t.Errorf("%s: %d steps, published %d", kind, len(steps), len(want))
	}
	for i, s := range steps {
		w, ok := want[strconv.FormatInt(s, 10)]
		if !ok {
			c.t.Fatalf("%s: step %d is not published", kind, s)
		}
		c.check(kind, "step "+strconv.FormatInt(s, 10), got[i], w)
	}
}

func (c *comparison) parts(kind string, steps []int64, got []whatif.Part, want map[string]float64, perStep map[string]map[string]float64) {
	c.t.Helper()
	if len(got) != len(want) {
		c.t.Errorf("%s: %d parts, published %d", kind, len(got), len(want))
	}
	for i, p := range got {
		name := p.Name
		if name == "" {
			name = strconv.Itoa(p.Index)
		}
		if i > 0 && p.Overall > got[i-1].Overall {
			c.t.Errorf("%s: %s is listed after a smaller one", kind, name)
		}
		w, ok := want[name]
		if !ok {
			c.t.Fatalf("%s: %s is not published", kind, name)
		}
		c.check(kind, name, p.Overall, w)
		for s, step := range steps {
			w, ok := perStep[strconv.FormatInt(step, 10)][name]
			if !ok {
				c.t.Fatalf("%s: step %d of %s is not published", kind, step, name)
			}
			c.check(kind+" per step", name+" step "+strconv.FormatInt(step, 10), p.PerStep[s], w)
		}
	}
}

func (c *comparison) effect(kind string, got whatif.Effect, want effect) {
	c.t.Helper()
	c.check(kind+" t_rem", "", got.Removed/1e9, want.Removed)
	c.check(kind+" t_add", "", got.Added/1e9, want.Added)
	c.check(kind+" t_ori", "", got.Now/1e9, want.Now)
	c.check(kind+" t_ideal", "", got.Ideal/1e9, want.Ideal)
	c.check(kind+" rem", "", got.Share, want.Rem)
	c.check(kind+" add", "", got.AddedShare, want.Add)
}

func seconds(t whatif.StepTimes) []float64 {
	s := make([]float64, len(t.PerStep))
	for i, ns := range t.PerStep {
		s[i] = float64(ns) / 1e9
	}
	return s
}

// TestPublished compares every published number of the production traces.
func TestPublished(t *testing.T) { compareAll(t, largedata.Need(t, "data/optrace")) }

// TestReference compares with what the reference answers for the simulated
// fixtures, which have what the production traces lack: several model chunks on
// a stage, gradients reduced while backward runs, late launches.
func TestReference(t *testing.T) { compareAll(t, filepath.Join("..", "..", "fixtures", "optrace")) }

func compareAll(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "result-*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no published results in %s (%v)", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "result-"), ".json")
		t.Run(name, func(t *testing.T) { compare(t, dir, name) })
	}
}

func compare(t *testing.T, dir, name string) {
	var want published
	load(t, filepath.Join(dir, "result-"+name+".json"), &want)
	traces, err := filepath.Glob(filepath.Join(dir, "trace-"+name+".*"))
	if err != nil || len(traces) != 1 {
		t.Fatalf("traces of %s: %v, %v", name, traces, err)
	}
	o := whatif.Options{}
	if want.LDP != nil {
		o.LaunchThreshold = 1e-9 // the reference was asked for these parts too
	}
	m, err := whatif.New(open(t, traces[0]), o)
	if err != nil {
		t.Fatal(err)
	}
	r := m.Analyze()
	c := &comparison{t: t, worst: make(map[string]float64)}
	c.steps("step_t_base", r.Steps, seconds(r.Recorded), want.Base)
	c.steps("step_t_nodelay", r.Steps, seconds(r.NoDelay), want.NoDelay)
	c.steps("step_t_noblk", r.Steps, seconds(r.Ideal), want.Ideal)
	c.check("launch_slowdown", "", r.Launch.Overall, want.Launch)
	c.check("S", "", r.Slowdown.Overall, want.S)
	c.steps("S per step", r.Steps, r.Slowdown.PerStep, want.SStep)
	c.steps("launch per step", r.Steps, r.Launch.PerStep, want.LStep)
	c.parts("S_dp", r.Steps, r.ByDP, want.DP, want.DPS)
	c.parts("S_stage", r.Steps, r.ByStage, want.Stage, want.StageS)
	c.parts("S_op", r.Steps, r.ByOp, want.Op, want.OpS)
	c.parts("launch_dp", r.Steps, r.LaunchByDP, want.LDP, want.LDPS)
	c.parts("launch_stage", r.Steps, r.LaunchByStage, want.LStage, want.LStageS)
	c.parts("launch_op", r.Steps, r.LaunchByOp, want.LOp, want.LOpS)
	var ms, mw effect
	load(t, filepath.Join(dir, "ms-"+name+".json"), &ms)
	load(t, filepath.Join(dir, "mw-"+name+".json"), &mw)
	c.effect("M_S", r.LastStage, ms)
	c.effect("M_W", r.TopWorkers, mw)
	if r.Misfit != 0 {
		t.Errorf("a replay of everything misses by %v", r.Misfit)
	}
	t.Logf("%d numbers; largest relative differences:", c.n)
	for _, kind := range slices.Sorted(maps.Keys(c.worst)) {
		t.Logf("  %-20s %.1e", kind, c.worst[kind])
	}
}
