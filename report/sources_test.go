package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
)

// comparison is three sources, the last of which differs by much.
func comparison() *crosscheck.Comparison {
	stages := []string{"data.next_wait", "model.fwd_loss_cpu_wall", "=cmd|\x1b[31m`<b>"}
	return &crosscheck.Comparison{Steps: 120, Ranks: []int{0, 1, 2, 5}, Tau: 0.8, Tie: 0.05, Stages: stages, Accounts: []crosscheck.Account{
		{Name: "packets.jsonl", Format: "packets", Bytes: 110_000, Recorded: 120, Makespan: 26e9, Share: []float64{0.1, 0.3, 0.6}, Routing: []string{stages[2], stages[1]}},
		{Name: "kineto", Format: "profiler trace", Bytes: 15_810_000_000, Recorded: 130, Makespan: 27e9, Share: []float64{0.139, 0.3, 0.561}, Routing: []string{stages[2], stages[1]},
			Held: &crosscheck.Held{Difference: 0.039, Stage: stages[0], SameRouting: true, SameRoute: true, Longest: 2_345_678, Size: 15_810_000_000.0 / 110_000}},
		{Name: "=nsight<img>\x1b[1m", Format: "Nsight Systems export", Bytes: -1, Recorded: 120, Makespan: 26e9, Share: []float64{0.7, 0.3, 0}, Lacks: stages[2:], Routing: stages[:2],
			Held: &crosscheck.Held{Difference: 0.6, Stage: stages[2], Longest: 12}},
	}, Doubts: []string{"kineto has 10 steps that not all sources have: they are left out"}}
}

// alike is the first two of them.
func alike() *crosscheck.Comparison {
	c := comparison()
	c.Accounts, c.Doubts, c.Match = c.Accounts[:2], nil, crosscheck.ByOrder
	return c
}

func renderedSources(t *testing.T, format Format, s Style, f func(name string, out []byte)) {
	t.Helper()
	for name, c := range map[string]*crosscheck.Comparison{"odd": comparison(), "alike": alike()} {
		var out bytes.Buffer
		if err := to(&out, format, s).Sources(c); err != nil {
			t.Fatalf("sources %s: %v", name, err)
		}
		f("sources-"+name, out.Bytes())
	}
}

func TestSourcesHeadline(t *testing.T) {
	if got, want := sourcesHeadline(alike()), "Both sources agree on the stages to look into; no share differs by more than 0.039 (data.next_wait)."; got != want {
		t.Errorf("%q", got)
	}
	if got, want := sourcesHeadline(comparison()), "would send you to other stages than packets.jsonl; a share differs by 0.600"; !strings.Contains(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSourcesSchema(t *testing.T) {
	schema, _ := readSchema(t, "sources")
	renderedSources(t, JSON, Style{}, func(name string, out []byte) { valid(t, schema, name, out) })
}

func TestLetters(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "A2", 77: "Z3"} {
		if got := letter(i); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

func TestSourcesWriteError(t *testing.T) {
	for f := Text; f <= Markdown+1; f++ {
		if err := to(full{}, f, Style{}).Sources(alike()); err == nil {
			t.Errorf("as %v: the failed write is not reported", f)
		}
	}
}
