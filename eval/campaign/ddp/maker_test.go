package ddp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/fixtures/standin"
)

func TestMain(m *testing.M) {
	if os.Getenv(standin.Variable) != "" {
		standin.Main(os.Args[1:])
	}
	os.Exit(m.Run())
}

// python is an interpreter that runs the stand-in.
func python(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(standin.Variable, "1")
	return self
}

const small = `name: small
runner: local
groups:
  - {name: a, families: [data, forward_host], ranks: [4], seeds: [0, 1], delays_ms: [120], steps: 20, windows: 2, hidden_ranks: [2]}
`

func spec(t *testing.T, text string) *campaign.Spec {
	t.Helper()
	s, err := campaign.ParseSpec("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRunsAreMadeByProcesses(t *testing.T) {
	dir := t.TempDir()
	m := Maker{Dir: dir, Python: python(t)}
	t.Setenv(standin.Fails, "a-data-120ms-r4-s1")
	s := spec(t, small)
	o, err := campaign.Execute(t.Context(), dir, s, campaign.Execution{Maker: m, Workers: 1})
	if err != nil || o.Made != 3 || len(o.Failed) != 1 {
		t.Fatalf("%+v, %v, expected 3 made and 1 failed", o, err)
	}
	if got := o.Failed[0].Error(); !strings.Contains(got, "run a-data-120ms-r4-s1: rank 1 of 4: ") || !strings.Contains(got, "fails, as it should") {
		t.Errorf("the failure is %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "job", "spec.json")); err != nil {
		t.Errorf("the job lies elsewhere, where a kill would leave it behind: %v", err)
	}
	t.Setenv(standin.Fails, "")
	if o, err = campaign.Execute(t.Context(), dir, s, campaign.Execution{Maker: m, Workers: 1}); err != nil || !cmp.Equal(o, campaign.Outcome{Made: 1, Stood: 3}) {
		t.Fatalf("again: %+v, %v, expected 1 made", o, err)
	}
	evaluation, err := tables.Open(nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	if err := evaluation.WriteRows(&rows); err != nil || strings.Count(rows.String(), "\n") != 1+4*2 || strings.Count(rows.String(), ",2:data.next_wait,") != 4 {
		t.Errorf("%v, expected two windows of four runs, two with rank 2 hidden in data:\n%s", err, &rows)
	}
}

// TestWhatArmsNeed: arm sample needs the program, and the job is told where it is.
func TestWhatArmsNeed(t *testing.T) {
	s := spec(t, strings.Replace(small, "hidden_ranks: [2]", `hidden_ranks: [2], recorder: ["off", wall, sample], realtime: true`, 1))
	dir := t.TempDir()
	m := Maker{Dir: dir, Python: python(t), Sfstat: "no-such-program"}
	_, err := campaign.Execute(t.Context(), dir, s, campaign.Execution{Maker: m, Workers: 1})
	if err == nil || !strings.Contains(err.Error(), "run a-data-120ms-r4-s0: arm sample needs the program sfstat") {
		t.Errorf("without the program: %v", err)
	}
	tasks, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	want := "--recording events --group gather --arms off,wall,sample --realtime"
	if got := strings.Join(Arguments(&tasks[0]), " "); got != want {
		t.Errorf("arguments %q, expected %q", got, want)
	}
}

func TestRefusedBeforeAnythingStarts(t *testing.T) {
	for key, want := range map[string]string{
		"steps: 20, probability: 0.5": "group a: probability below 1 is for runner simulator, and the runner is local",
		"steps: 20, program: fsdp":    "group a: program fsdp is for runner simulator",
		"steps: 100001":               "group a: steps above 100000 is for runner simulator",
	} {
		if _, err := campaign.ParseSpec("c.yaml", []byte(strings.Replace(small, "steps: 20", key, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	none := Maker{Python: filepath.Join(t.TempDir(), "python")}
	if _, err := campaign.Execute(t.Context(), t.TempDir(), spec(t, small), campaign.Execution{Maker: none}); err == nil || !strings.Contains(err.Error(), "no interpreter ") {
		t.Errorf("without an interpreter: %v", err)
	}
	bare := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(bare, []byte("#!/bin/sh\necho Traceback >&2\necho 'No module named torch' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	none.Python = bare
	if _, err := campaign.Execute(t.Context(), t.TempDir(), spec(t, small), campaign.Execution{Maker: none}); err == nil || !strings.Contains(err.Error(), "(No module named torch): "+bare+" -m pip install torch") {
		t.Errorf("without PyTorch: %v", err)
	}
}
