package tables

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// tablesOf makes a campaign and its tables, by name.
func tablesOf(t *testing.T, dir string, s *campaign.Spec) map[string]Artifact {
	t.Helper()
	execute(t, dir, s)
	artifacts, err := tablesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]Artifact)
	for _, a := range artifacts {
		out[a.Name] = a
	}
	return out
}

func TestPaceByHand(t *testing.T) {
	w := &trace.Window{Ranks: make([]trace.Rank, 2), Schema: trace.Schema{Stages: []string{"a@0", "b", "a@1"}},
		Durations: []int64{1, 2, 10, 10, 3, 4, 5, 5, 10, 10, 5, 5}}
	p := paceOf(&runCase{Hidden: []hiddenRank{{1, "a"}}}, w)
	// Steps take 16 and 20; on the slower rank, stage a takes 6, then 10.
	if p.step.Mean != 18 || p.step.Median != 18 || p.step.SD < 2.82 || p.step.SD > 2.83 || p.stage.Median != 8 || p.stage.Max != 10 {
		t.Errorf("%+v", p)
	}
	w.Wall = []int64{30, 20, 40, 50}
	if p := paceOf(&runCase{}, w); p.step.Mean != 40 || p.stage.Max != 0 {
		t.Errorf("with wall time %+v", p)
	}
}

func TestRecoveryByHand(t *testing.T) {
	window := func(fault bool, ms float64) scoredWindow {
		return scoredWindow{Fault: fault, pace: pace{step: description{Mean: ms * 1e6, SD: 2e6}}, Routing: routing{Place: 2}}
	}
	s := &Score{Runs: []*scoredRun{
		{runCase: runCase{Run: "aba", Hidden: []hiddenRank{{0, "x"}}}, Windows: []scoredWindow{window(false, 200), window(true, 310), window(true, 330), window(false, 203)}},
		{runCase: runCase{Run: "ab", Hidden: []hiddenRank{{0, "x"}}}, Windows: []scoredWindow{window(false, 200), window(true, 300)}},
		{runCase: runCase{Run: "healthy"}, Windows: []scoredWindow{window(false, 200)}},
	}}
	back := s.recoveries()
	if len(back) != 1 || back[0].Run.Run != "aba" {
		t.Fatalf("%+v, expected aba alone", back)
	}
	r := back[0]
	// (320 − 203) ÷ (320 − 200)
	if r.deviation() != 3e6 || r.Ratio() != 0.975 || r.Tolerance != 4e6 || !r.RoutedSecond {
		t.Errorf("%+v: back within %v, ratio %v", r, r.deviation(), r.Ratio())
	}
	if got := strings.Join(recoveryTable(back).Records()[0], " "); got != "aba 200.00 320.00 203.00 3.00 0.975 4.00 yes no yes no yes no yes" {
		t.Errorf("%q", got)
	}
}

// TestEvaluationGroups makes the groups whose tables follow from what they are.
func TestEvaluationGroups(t *testing.T) {
	dir := t.TempDir()
	s := &campaign.Spec{Name: "groups", Groups: []campaign.Group{
		{Name: "aba", Families: []simulate.Family{simulate.CallbackSync}, Ranks: []int{8}, Seeds: []uint64{0, 1}, Delays: []simulate.Millis{120},
			Windows: 3, Steps: 60},
		{Name: "acc", Families: []simulate.Family{simulate.ForwardDevice}, Ranks: []int{8}, Seeds: []uint64{0}, Delays: []simulate.Millis{120}},
		{Name: "field", Families: []simulate.Family{simulate.CallbackHost}, Ranks: []int{8}, Seeds: []uint64{0, 1}, Delays: []simulate.Millis{400},
			Tables: []int{6, 9, 12, 13}},
	}}
	s.Groups[0].FaultWindows, s.Groups[1].Accumulation, s.Groups[2].Every = []int{1}, 4, 10
	if err := os.MkdirAll(filepath.Join(dir, campaign.OverheadName), 0o777); err != nil {
		t.Fatal(err)
	}
	pairs := "pair,base_ns,with_ns,round\n"
	for i := range 12 {
		pairs += fmt.Sprintf("%d,%d,%d,0\n", i, 200_000_000+i*1000, 200_200_000+i*1000+i%3*20_000)
	}
	if err := os.WriteFile(filepath.Join(dir, campaign.OverheadName, "8-gloo-wall.csv"), []byte(pairs), 0o666); err != nil {
		t.Fatal(err)
	}
	made := tablesOf(t, dir, s)
	cell := func(name string, row, column int, want string) {
		t.Helper()
		rows := made[name].Table.Records()
		if len(rows) <= row || rows[row][column] != want {
			t.Errorf("%s: %v, expected %q in column %d of row %d", name, rows, want, column, row)
		}
	}
	cell("groups", 0, 0, "aba")
	cell("groups", 0, 11, "0/4")
	cell("groups", 2, 5, "2")
	cell("recovery-aba", 0, 7, "yes")
	cell("recovery-aba", 2, 5, "0.998")
	cell("accumulation-acc", 0, 4, "1/1")
	cell("accumulation-acc", 0, 5, "1/1")
	cell("accumulation-acc", 0, 6, "1/1")
	cell("table-9", 0, 0, "field")
	cell("table-9", 0, 5, "0.03") // 6 ms of 218
	cell("table-9", 0, 6, "1.84") // 406 ms in every tenth step, of 221: p95 sees them
	cell("table-9", 0, 7, "1.84")
	cell("table-9", 0, 10, "2/2")
	cell("table-12", 0, 2, "2/2")
	cell("table-13", 0, 1, "0.80")
	cell("table-7", 0, 7, "3.0 %")
	cell("table-7", 0, 8, "within")
	cell("table-7", 0, 9, "0.019 %")
	cell("table-7", 0, 3, "12")
	if n := made["table-6"].Table.Notes; len(n) != 1 || !strings.HasPrefix(n[0], "Not made") || len(made["table-6"].Table.Rows) > 0 {
		t.Errorf("table 6 is %+v, expected to be not made", made["table-6"].Table)
	}
	if in := made["table-7"].Inputs; len(in) != 1 || in[0].Input != "overhead/8-gloo-wall.csv" || len(in[0].InputHash) != 64 {
		t.Errorf("table 7 is made of %+v", in)
	}
	if err := os.WriteFile(filepath.Join(dir, campaign.OverheadName, "notes.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := tablesIn(dir); err == nil || !strings.Contains(err.Error(), "notes.txt: the name is not RANKS-GATHER-ARM.csv") {
		t.Errorf("with another file: %v", err)
	}
}

// TestGateTable: the handbook gives the same gates, values and reasons.
func TestGateTable(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../../docs/method-accounting.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := strings.Split(string(text), "\n")
	for _, row := range gateTable(gates.Default()).Records() {
		name, value, why := row[0], row[1], row[3]
		found := false
		for _, line := range pages {
			found = found || strings.HasPrefix(line, "| ") && strings.Contains(line, "`"+name+"`") && strings.Contains(line, value) && strings.Contains(line, why)
		}
		if !found {
			t.Errorf("docs/method-accounting.md has no row of %s, %s, %q", name, value, why)
		}
	}
}

// TestGateTableOfOthers: gates that were given are told.
func TestGateTableOfOthers(t *testing.T) {
	g := gates.Default()
	if n := gateTable(g).Notes; len(n) != 1 {
		t.Errorf("of the defaults: %q", n)
	}
	g.Tau, g.MissingRanks = 0.3, 1
	if n := gateTable(g).Notes; len(n) != 2 || n[1] != "These tables were made with others: tau 0.30, missing_ranks_max 1." {
		t.Errorf("%q", n)
	}
}

// TestDifferences: a sentence where ours and the published counts differ, and
// none where they do not.
func TestDifferences(t *testing.T) {
	window := func(place int, shares ...float64) scoredWindow {
		return scoredWindow{Fault: true, Routing: routing{Place: place, Candidates: len(shares)}, Share: &shares[0], shares: shares, seeded: []bool{true, false, false}}
	}
	s := &Score{Tau: 0.8, Runs: []*scoredRun{
		{runCase: runCase{Family: simulate.Data, Ranks: 8, Delay: 120, Hidden: []hiddenRank{{0, "x"}}}, Windows: []scoredWindow{window(1, 0.41, 0.36, 0.23)}},
		{runCase: runCase{Family: simulate.CallbackSync, Ranks: 8, Delay: 120, Hidden: []hiddenRank{{0, "x"}}}, Windows: []scoredWindow{window(1, 0.5, 0.4)}},
	}}
	_, rows := s.rowsBy(caseKeys...)
	if got := explainRanks(rows); len(got) != 1 || got[0] != "callback_sync, 8, 120: first in 1/1 here and in 0/3 in the paper. Here the seeded share is 0.50 on average, the largest other 0.40." {
		t.Errorf("%q", got)
	}
	if got := s.widerSets(); got != "Candidate sets of more than two stages: 1/2, of data. There the two largest shares together are 0.77 on average, short of τ = 0.80." {
		t.Errorf("%q", got)
	}
}

// tablesIn are the tables of the campaign in a folder.
func tablesIn(dir string) ([]Artifact, error) {
	f, err := Open(nil, dir, nil)
	if err != nil {
		return nil, err
	}
	return f.Tables()
}
