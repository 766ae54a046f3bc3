package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/internal/largedata"
)

// answers are the files that the reference implementation wrote for a trace,
// times in seconds.
type answers struct {
	Base    map[string]float64 `json:"step_t_base"`
	NoDelay map[string]float64 `json:"step_t_nodelay"`
	Ideal   map[string]float64 `json:"step_t_noblk"`
	Launch  float64            `json:"launch_slowdown"`
	S       float64            `json:"blocking_slowdown"`
	SStep   map[string]float64 `json:"blocking_step_slowdown"`
	LStep   map[string]float64 `json:"launch_step_slowdown"`
	DP      map[string]float64 `json:"blocking_decompose_by_dp_rank"`
	Stage   map[string]float64 `json:"blocking_decompose_by_stage"`
	Op      map[string]float64 `json:"blocking_decompose_by_optype"`
	LDP     map[string]float64 `json:"launch_decompose_by_dp_rank"`
	LStage  map[string]float64 `json:"launch_decompose_by_stage"`
	LOp     map[string]float64 `json:"launch_decompose_by_optype"`
}

// printedPart is one part of what sfstat prints; what does not apply is absent.
type printedPart struct {
	DP       *int    `json:"dp_rank"`
	Stage    *int    `json:"stage"`
	Op       string  `json:"optype"`
	Slowdown float64 `json:"slowdown"`
}

func (p printedPart) key() string {
	switch {
	case p.DP != nil:
		return strconv.Itoa(*p.DP)
	case p.Stage != nil:
		return strconv.Itoa(*p.Stage)
	}
	return p.Op
}

// printed is what of the command's JSON has published counterparts.
type printed struct {
	S      float64 `json:"blocking_slowdown"`
	Launch float64 `json:"launch_slowdown"`
	Steps  []struct {
		Step    int     `json:"step"`
		Base    float64 `json:"t_base_ns"`
		NoDelay float64 `json:"t_nodelay_ns"`
		Ideal   float64 `json:"t_noblk_ns"`
		S       float64 `json:"blocking_slowdown"`
		Launch  float64 `json:"launch_slowdown"`
	} `json:"steps"`
	DP     []printedPart      `json:"blocking_decompose_by_dp_rank"`
	Stage  []printedPart      `json:"blocking_decompose_by_stage"`
	Op     []printedPart      `json:"blocking_decompose_by_optype"`
	LDP    []printedPart      `json:"launch_decompose_by_dp_rank"`
	LStage []printedPart      `json:"launch_decompose_by_stage"`
	LOp    []printedPart      `json:"launch_decompose_by_optype"`
	MS     map[string]float64 `json:"m_s"`
	MW     map[string]float64 `json:"m_w"`
}

// UnmarshalJSON leaves the lists out of effects.
func (p *printed) UnmarshalJSON(b []byte) error {
	type plain printed
	var raw struct {
		plain
		MS map[string]json.RawMessage `json:"m_s"`
		MW map[string]json.RawMessage `json:"m_w"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*p = printed(raw.plain)
	numbers := func(m map[string]json.RawMessage) map[string]float64 {
		out := make(map[string]float64)
		for name, v := range m {
			var f float64
			if json.Unmarshal(v, &f) == nil {
				out[name] = f
			}
		}
		return out
	}
	p.MS, p.MW = numbers(raw.MS), numbers(raw.MW)
	return nil
}

// TestWhatIfPublished holds what the command prints for the production traces
// against every published number of a kind that it prints.
func TestWhatIfPublished(t *testing.T) {
	dir := largedata.Need(t, "data/optrace")
	compareAnswers(t, dir, "AR")
	compareAnswers(t, dir, "SE")
}

// TestWhatIfReference does the same with what the reference implementation
// answers to the simulated traces of the repository.
func TestWhatIfReference(t *testing.T) {
	dir := filepath.Join(root, "fixtures", "optrace")
	for _, name := range []string{"slow-worker", "heavy-stage", "late-start"} {
		compareAnswers(t, dir, name)
	}
}

func compareAnswers(t *testing.T, dir, name string) {
	t.Helper()
	traces, err := filepath.Glob(filepath.Join(dir, "trace-"+name+".*"))
	if err != nil || len(traces) != 1 {
		t.Fatalf("traces of %s: %v, %v", name, traces, err)
	}
	code, out, errs := runArgs(t, nil, "whatif", "--format", "json", traces[0])
	if code != exitDone || errs != "" {
		t.Fatalf("%s: exit code %d, %s", name, code, errs)
	}
	var got struct{ Traces []printed }
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Traces) != 1 {
		t.Fatalf("%s: %d traces, %v", name, len(got.Traces), err)
	}
	p := got.Traces[0]
	var want answers
	readAnswers(t, filepath.Join(dir, "result-"+name+".json"), &want)
	c := closeness{t: t, name: name}
	c.check("S", p.S, want.S)
	c.check("launch slowdown", p.Launch, want.Launch)
	if len(p.Steps) != len(want.Base) {
		t.Errorf("%s: %d steps, published %d", name, len(p.Steps), len(want.Base))
	}
	for _, s := range p.Steps {
		step := strconv.Itoa(s.Step)
		c.check("recorded step "+step, s.Base/1e9, want.Base[step])
		c.check("step without delays "+step, s.NoDelay/1e9, want.NoDelay[step])
		c.check("ideal step "+step, s.Ideal/1e9, want.Ideal[step])
		c.check("S of step "+step, s.S, want.SStep[step])
		c.check("launch slowdown of step "+step, s.Launch, want.LStep[step])
	}
	c.parts("S_dp", p.DP, want.DP)
	c.parts("S_stage", p.Stage, want.Stage)
	c.parts("S_op", p.Op, want.Op)
	if p.Launch >= whatif.LaunchThreshold {
		c.parts("launch of dp", p.LDP, want.LDP)
		c.parts("launch of stage", p.LStage, want.LStage)
		c.parts("launch of op", p.LOp, want.LOp)
	} else if p.LDP != nil || p.LStage != nil || p.LOp != nil {
		t.Errorf("%s: launch delays of %v are divided among their causes", name, p.Launch)
	}
	for file, effect := range map[string]map[string]float64{"ms": p.MS, "mw": p.MW} {
		var e map[string]float64
		readAnswers(t, filepath.Join(dir, file+"-"+name+".json"), &e)
		for _, field := range []string{"trem", "tadd", "tori", "tideal"} {
			c.check(file+" "+field, effect[field+"_ns"]/1e9, e[field])
		}
		c.check(file+" rem", effect["rem"], e["rem"])
		c.check(file+" add", effect["add"], e["add"])
	}
	if c.n < 5*len(p.Steps)+20 {
		t.Errorf("%s: %d numbers were compared: the test would pass on nothing", name, c.n)
	}
	t.Logf("%s: %d numbers, the worst is off by %.1e", name, c.n, c.worst)
}

func readAnswers(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// closeness compares numbers to 1e-3 of the larger one.
type closeness struct {
	t     *testing.T
	name  string
	n     int
	worst float64
}

func (c *closeness) check(what string, got, want float64) {
	c.t.Helper()
	c.n++
	off := math.Abs(got-want) / math.Max(math.Abs(got), math.Abs(want))
	if got == want {
		off = 0
	}
	c.worst = math.Max(c.worst, off)
	if !(off <= 1e-3) {
		c.t.Errorf("%s: %s is %.9g, published %.9g, off by %.2g", c.name, what, got, want, off)
	}
}

func (c *closeness) parts(what string, got []printedPart, want map[string]float64) {
	c.t.Helper()
	if len(got) != len(want) {
		c.t.Errorf("%s: %d parts of %s, published %d", c.name, len(got), what, len(want))
	}
	for _, p := range got {
		c.check(what+" "+p.key(), p.Slowdown, want[p.key()])
	}
}

func TestParseFix(t *testing.T) {
	cases := []struct {
		typed string
		want  string // how the selection reads, or the error
	}{
		{"rank=0", `{"Ops":null,"Stages":null,"DP":null,"Ranks":[0],"Steps":null}`},
		{"stage=3,op=forward-compute", `{"Ops":["forward-compute"],"Stages":[3],"DP":null,"Ranks":null,"Steps":null}`},
		{"dp=1+2|3, step=16", `nothing is called " step"`},
		{"dp=1+2|3,step=16", `{"Ops":null,"Stages":null,"DP":[1,2,3],"Ranks":null,"Steps":[16]}`},
		{"rank=0,rank=1", "rank stands twice; join several values by +, as rank=1+2"},
		{"rank", "rank has no value, expected rank=VALUE"},
		{"rank=", "rank has no value"},
		{"op=a+", "op has no value"},
		{"rank=x", `rank is "x", expected a whole number`},
		{"rank=99999999999999999999", `rank is "99999999999999999999", expected a whole number`},
		{"stag=1", `nothing is called "stag", expected rank, dp, stage, op or step, with =VALUE; did you mean stage?`},
		{"", `nothing is called ""`},
	}
	for _, c := range cases {
		w, err := parseFix(c.typed)
		b, _ := json.Marshal(w)
		got := string(b)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%q: %s, expected %s", c.typed, got, c.want)
		}
	}
}
