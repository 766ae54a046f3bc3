package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
)

// twoRanks are the packets of a scenario of two ranks and fifteen steps of one stage; rank
// 1 takes a millisecond more than the number of the step.
func twoRanks() *trace.Window {
	w := &trace.Window{Run: "job", WorldSize: 2, Schema: trace.Schema{Stages: []string{"data"}},
		Ranks: []trace.Rank{{ID: 0, Host: "node0"}, {ID: 1, Host: "node1"}}}
	for t := range int64(15) {
		w.Durations = append(w.Durations, t, t+1e6)
		w.Wall = append(w.Wall, t, t+1e6)
	}
	return w
}

// TestScenarioVariants: cuts, orders and units by hand.
func TestScenarioVariants(t *testing.T) {
	recorded := twoRanks()
	parts := cut(recorded, []int{7, 10})
	if len(parts) != 3 {
		t.Fatalf("%d windows, want 3", len(parts))
	}
	if w := parts[1]; w.Index != 1 || w.FirstStep != 7 || w.Steps() != 3 || w.Step(0)[1] != 1000007 || len(w.Wall) != 6 {
		t.Errorf("%+v", w)
	}
	if w := reorderRanks(recorded, []int{1, 0}); w.Ranks[0].ID != 0 || w.Ranks[0].Host != "node1" || w.Step(2)[0] != 1000002 {
		t.Errorf("%+v", w)
	}
	if w := scaleTimes(recorded, 2.5); w.Step(0)[1] != 2500000 || w.WallOf(2)[1] != 2500005 {
		t.Errorf("%+v", w)
	}
	late := truth{late, []fault{{ranks: []int{1}, hides: 10}}}
	all := variants(job{as: row{Job: "a"}, truth: late}, recorded)
	if got := all[1].truth.faults[0].ranks; len(all) != 3 || got[0] != 1-late.faults[0].ranks[0] || all[2].truth.faults[0].hides != 37 {
		t.Errorf("%d variants, rank 1 becomes %v", len(all), got)
	}
	if recorded.Step(0)[1] != 1000000 || late.faults[0].ranks[0] != 1 {
		t.Error("a variant changes the job")
	}
	if fmt.Sprint(everyNth(7, 21)) != "[7 14]" {
		t.Error(everyNth(7, 21))
	}
}

// inWords is a truth with its faults: ranks, stages, what fixing one saves, whether it has to
// be named, from which step on, and nanoseconds that may hide.
func inWords(t truth) string {
	text := string(t.kind)
	for _, f := range t.faults {
		saves := "?"
		if f.saves != nil {
			saves = fmt.Sprint(*f.saves)
		}
		text += fmt.Sprintf(" %v in %v, %s %v %d %g", f.ranks, f.stages, saves, f.due, f.from, f.hides)
	}
	return text
}

// TestScenarioTruth: what truth.json asks for.
func TestScenarioTruth(t *testing.T) {
	const common = `"N": 4, "T": 200, "saves_all": 0, `
	for _, c := range []struct{ text, want string }{
		{`"family": "healthy", "faults": [], "saves": [], "alone": []`, "healthy"},
		{`"family": "one", "faults": [{"ranks": [3], "add": {"optim": 20.5}}], "saves": [0.2], "alone": [0.3]`, "late [3] in [optim], 0.2 true -1 2.05e+07"},
		{`"family": "one", "faults": [{"ranks": [3], "add": {"optim": 20.5}}], "saves": [0.1], "alone": [0.3]`, "late [3] in [optim], 0.1 false -1 2.05e+07"},
		{`"family": "two_alike", "faults": [{"ranks": [3], "add": {"data": 1}}], "saves": [0.1], "alone": [0.3]`, "late [3] in [data], 0.1 true -1 1e+06"},
		{`"family": "throttle", "faults": [{"ranks": [3], "factor": 1.5}], "saves": [0.3], "alone": [0.3]`, "late [3] in [], 0.3 true -1 0"},
		{`"family": "regress", "faults": [{"ranks": "all", "add": {"data": 1}, "when": ["from", 108]}], "saves": [0.3], "alone": [0.3]`, "everyone [] in [data], 0.3 false 108 1e+06"},
		{`"family": "network", "faults": [{"ranks": [], "comm": 7}], "saves": [0.3], "alone": [0.3]`, "transfer [] in [backward], 0.3 false -1 7e+06"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "truth.json")
		if err := os.WriteFile(path, []byte("{"+common+c.text+"}"), 0o666); err != nil {
			t.Fatal(err)
		}
		var s scenario
		if err := readJSON(path, &s); err != nil {
			t.Fatal(err)
		}
		got, err := s.truth()
		if text := inWords(got); err != nil || text != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.text, text, err, c.want)
		}
	}
}

// TestTableTruth: what rows of truth tables ask for, of runs whose steps are not recorded,
// so that every fault is due, and of which nothing is known beside stage times.
func TestTableTruth(t *testing.T) {
	path := filepath.Join(fixtureDir, "ddp", "nofault-r8-s0.jsonl") // its steps take 205 ms
	row := func(family simulate.Family, rank int, stage string, delay simulate.Millis) simulate.TruthRow {
		return simulate.TruthRow{Run: "a", Family: family, HiddenRank: rank, Stage: stage, Delay: delay}
	}
	with := func(r simulate.TruthRow, run, notes string, intermittent bool) simulate.TruthRow {
		r.Run, r.Notes, r.Intermittent = run, notes, intermittent
		return r
	}
	data, callbacks := row(simulate.Data, 2, simulate.StageData, 60), row(simulate.CallbackSync, 1, simulate.StageCallbacks, 120)
	for _, c := range []struct {
		rows []simulate.TruthRow
		want string
	}{
		{[]simulate.TruthRow{{Run: "a", HiddenRank: -1}}, "healthy"},
		{[]simulate.TruthRow{{Run: "a", HiddenRank: -1, Notes: "roles"}}, "uneven"},
		{[]simulate.TruthRow{data}, "late [2] in [data.next_wait], ? true -1 6e+07"},
		{[]simulate.TruthRow{row(simulate.Data, 2, simulate.StageData, 12)}, "late [2] in [data.next_wait], ? false -1 1.2e+07"},
		{[]simulate.TruthRow{with(data, "a", "", true)}, "late [2] in [data.next_wait], ? false -1 6e+06"},
		{[]simulate.TruthRow{row(simulate.ForwardDevice, 4, simulate.StageForward, 180)}, "hidden [4] in [model.fwd_loss_cpu_wall model.backward_cpu_wall], ? true -1 1.8e+08"},
		{[]simulate.TruthRow{with(callbacks, "a", "aba", false)}, "everyone [1] in [callbacks.cpu_wall], ? true -1 4e+07"},
		{[]simulate.TruthRow{with(row(simulate.ForwardHost, 1, simulate.StageForward, 180), "e8-fsdp-x", "", false)}, "hidden [1] in [model.fwd_loss_cpu_wall], ? true -1 1.8e+08"},
		{[]simulate.TruthRow{with(data, "a", "", true), with(callbacks, "a", "", true)}, "turns [2] in [data.next_wait], ? false -1 6e+06 [1] in [callbacks.cpu_wall], ? false -1 1.2e+07"},
	} {
		got, err := tableTruth(c.rows, path)
		if text := inWords(got); err != nil || text != c.want {
			t.Errorf("%v: %s, %v\nwant %s", c.rows, text, err, c.want)
		}
	}
}

// TestCorpus: every recording of the list that is in the repository is there, and so are
// those of the shared data, where that is.
func TestCorpus(t *testing.T) {
	records, err := readCSV("corpus.csv", corpusText)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		path := filepath.Join(fixtureDir, r["path"])
		if r["source"] != fixtureSource {
			path = largedata.Need(t, filepath.Join("data", r["path"]))
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", r["job"], err)
		}
		if _, _, err := r.faults(); err != nil {
			t.Errorf("%s: %v", r["job"], err)
		}
	}
}

// TestRealJobs: a job as jobs.py leaves it: rank 1 loses 60 ms of every third step of 120,
// and rank 3 waits for a processor for 20 % of the time.
func TestRealJobs(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"done": `{"name": "ddp-x", "framework": "ddp", "family": "callback", "ranks": 4, "slow": [1], "ms": 60, "every": 3, "recording": "module"}`}
	for rank := range 4 {
		files[fmt.Sprintf("packets/a.rank%d.jsonl", rank)] = fmt.Sprintf(`{"schema": "sfstat.packet/1", "run": "a", "window": 0, "rank": %d, "world_size": 4, "stages": ["data"], "first_step": 0, "durations_ns": [[100000000]], "wall_ns": [120000000]}`+"\n", rank)
		files[fmt.Sprintf("queue%d.json", rank)] = fmt.Sprintf(`{"waited_ns": %d, "wall_ns": 100}`, []int{5, 6, 7, 20}[rank])
	}
	for name, text := range files {
		path := filepath.Join(dir, "ddp-x", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tasks, err := realJobs(dir)
	rows := scored(t, "silent", tasks, err)
	if len(rows) != 2 || rows[0].TrueRanks != "1 3" || rows[0].TrueStage != "step.other_cpu_wall" || rows[0].Due != 1 || rows[1].Variant != "without arrivals" || rows[0].Family != "ddp, callback" {
		t.Errorf("%+v", rows)
	}
}

// TestWindows: the packets of a cell hold its slow rank, and what that costs is known from
// the same job without: 20 % longer steps, where ranks do not wait for each other anyway.
func TestWindows(t *testing.T) {
	c := cell{ranks: 2, windows: 1, steps: 20, step: 20, wall: true, family: simulate.Data, delay: 0.2, at: everyStep}
	_, usual, _, err := c.healthy().job(1)
	if err != nil {
		t.Fatal(err)
	}
	text, ns, slow, err := c.job(1)
	if err != nil {
		t.Fatal(err)
	}
	if saves := 1 - float64(usual)/float64(ns); slow != 1 || math.Abs(saves-0.2/1.2) > 0.03 {
		t.Errorf("rank %d is slow, which costs %.3f", slow, saves)
	}
	if strings.Count(string(text), "\n") != 2 || !strings.Contains(string(text), `"wall_ns"`) {
		t.Errorf("%.300s", text)
	}
	c.wall = false
	if text, _, _, err := c.job(1); err != nil || strings.Contains(string(text), `"wall_ns"`) {
		t.Errorf("%v, %.300s", err, text)
	}
	if n := len(borderCells()) + len(strikeCells()) + len(timingCells()); n != 45+36+288 {
		t.Errorf("%d cells", n)
	}
	c.family, c.at, c.wall = simulate.ForwardDevice, 19, true
	if got := c.truth(1, 0.2); got.kind != everyone || !slices.Equal(got.faults[0].stages, []string{"model.fwd_loss_cpu_wall", "model.backward_cpu_wall"}) {
		t.Errorf("%+v", got)
	}
}

// TestTraces: the traces are drawn as the page says, and one with a fault is found by the
// engine.
func TestTraces(t *testing.T) {
	const n = 600
	none, skewed, interleaved := 0, 0, 0
	smallest, largest := math.MaxInt, 0
	for i := range n {
		s := draw(20, i)
		if err := s.Validate(); err != nil {
			t.Fatalf("trace %d: %v", i, err)
		}
		workers := s.Layout.Workers()
		smallest, largest = min(smallest, workers), max(largest, workers)
		if s.Steps.Count < 8 || s.Steps.Count > 20 || s.Layout.Microbatches < 4 || s.Layout.Microbatches > 8 {
			t.Errorf("trace %d: %d steps, %d microbatches", i, s.Steps.Count, s.Layout.Microbatches)
		}
		for condition, count := range map[*int]bool{&none: len(s.Faults) == 0, &skewed: s.Clock.SkewSD > 0, &interleaved: s.Layout.Chunks > 1} {
			if count {
				*condition++
			}
		}
	}
	if none != n*5/12 || skewed < n/5 || interleaved < n/20 || smallest != 4 || largest != 512 {
		t.Errorf("%d healthy, %d with clocks apart, %d interleaved, %d to %d workers", none, skewed, interleaved, smallest, largest)
	}
	var few []task
	for i := 0; len(few) < 10; i++ {
		if s := draw(20, i); s.Layout.Workers() <= 16 {
			few = append(few, func(p program) ([]row, error) { r, err := scoreTrace(p, 20, i); return []row{r}, err })
		}
	}
	for _, r := range scored(t, "engine", few, nil) {
		if !r.Right {
			t.Errorf("%+v", r)
		}
	}
}

// TestComparison: the documents of sfstat compare, by hand.
func TestComparison(t *testing.T) {
	for _, c := range []struct {
		verdict string
		change  float64
		wrong   string
	}{
		{"none_shown", 0, ""}, {"regression", 0, "false alarm"}, {"improvement", 0, "false alarm"},
		{"none_shown", 0.02, "change not seen"}, {"regression", 0.02, ""}, {"improvement", 0.02, "wrong direction"},
	} {
		var r row
		text := fmt.Sprintf(`{"rows": [{"measure": "step_time", "verdict": %q, "change": 0.0211, "low": 0.01, "high": 0.03, "p": 0.002}, {"measure": "stage"}]}`, c.verdict)
		if err := r.fillComparison([]byte(text), c.change); err != nil || r.Wrong != c.wrong || r.Right != (c.wrong == "") || *r.Gain != 0.0211 || *r.P != 0.002 {
			t.Errorf("%+v: %+v, %v", c, r, err)
		}
	}
	if new(row).fillComparison([]byte(`{"rows": [{"measure": "stage"}]}`), 0) == nil {
		t.Error("a comparison without step time is taken")
	}
	// All of one side take 1 % longer than those of the other, run by run.
	step := func(change float64, side string) float64 {
		dir := t.TempDir()
		if err := writePair(dir, 0, change); err != nil {
			t.Fatal(err)
		}
		seen, err := look(filepath.Join(dir, side, "job-4.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return seen.step
	}
	if a, b := step(0.01, "new"), step(0, "new"); math.Abs(a/b-1.01) > 1e-6 || step(0.01, "base") != step(0, "base") {
		t.Errorf("%g and %g ns", a, b)
	}
}

// TestOperatorFault: the right rank with the wrong kind of fault is not right, nor is a
// neighbour.
func TestOperatorFault(t *testing.T) {
	for _, c := range []struct {
		cost        float64
		replicas    int
		due, listed bool
	}{{0.12, 2, true, false}, {0.119, 3, false, true}, {0.03, 3, false, true}, {0.029, 3, false, false}} {
		made := pipeline.TrueFault{Kind: pipeline.SlowWorker, Workers: []pipeline.Worker{{Rank: 5, PP: 1}}, Ops: []pipeline.TrueOp{{Op: "optimizer"}}}
		if f := operatorFault(made, c.cost, c.replicas); f.due != c.due || f.listed != c.listed || f.stages[0] != "pp=1" {
			t.Errorf("%+v: %+v", c, f)
		}
	}
	five, four := 5, 4
	of := func(k pipeline.Kind) fault {
		return fault{what: k, ranks: []int{5}, stages: []string{"pp=1"}, op: "forward-send"}
	}
	for _, c := range []struct {
		what    pipeline.Kind
		finding finding
		want    bool
	}{
		{pipeline.SlowWorker, finding{Kind: "rank", Rank: &five}, true},
		{pipeline.SlowWorker, finding{Kind: "op", Rank: &five}, true},
		{pipeline.SlowWorker, finding{Kind: "rank", Rank: &four}, false},
		{pipeline.SlowWorker, finding{Kind: "edge", Rank: &five}, false},
		{pipeline.SlowEdge, finding{Kind: "edge", Rank: &five, Op: "forward-send"}, true},
		{pipeline.SlowEdge, finding{Kind: "edge", Rank: &five, Op: "backward-send"}, false},
		{pipeline.SlowStage, finding{Kind: "stage", Stage: "pp=1"}, true},
		{pipeline.SlowStage, finding{Kind: "stage", Stage: "pp=0"}, false},
		{pipeline.SlowGroup, finding{Kind: "group", Stage: "pp=1"}, true},
		{pipeline.LateStart, finding{Kind: "op", Rank: &five}, false},
		{pipeline.LateStart, finding{Kind: "edge", Rank: &five}, true},
		{pipeline.Workload, finding{Kind: "workload"}, true},
		{pipeline.NoFault, finding{Kind: "rank", Rank: &five}, false},
	} {
		if got := of(c.what).matches(&c.finding); got != c.want {
			t.Errorf("%v, %+v: %v", c.what, c.finding, got)
		}
	}
}
