package campaign

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

const operatorGroup = "name: c\ngroups:\n  - {name: o, seeds: [3], delays_ms: [48], operators: "

func planOf(t *testing.T, operators string) []Task {
	t.Helper()
	s, err := ParseSpec("c.yaml", []byte(operatorGroup+operators+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

// TestOperatorDelays: a delay of a step is divided over what is struck in it: both passes of six microbatches, one start,
// six sends.
func TestOperatorDelays(t *testing.T) {
	got := map[string]simulate.Millis{}
	for _, task := range planOf(t, "{faults: [none, slow-worker, late-start, slow-edge], layouts: [4x2], microbatches: 6}") {
		for _, f := range task.Trace.Faults {
			got[task.ID] = f.Delay
		}
	}
	want := map[string]simulate.Millis{"o-slow-worker-48ms-4x2-s3": 4, "o-late-start-48ms-4x2-s3": 48, "o-slow-edge-48ms-4x2-s3": 8}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOperatorTruth: a worker hides each of its slower operators, a link its sends and its receives, a healthy job nothing.
func TestOperatorTruth(t *testing.T) {
	tasks := planOf(t, "{faults: [none, slow-worker, slow-edge], layouts: [4x2], microbatches: 6}")
	rows, err := truthOf(tasks)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.Family.String()+" "+r.Stage)
		if r.Ranks != 8 || r.Seed != 3 || (r.HiddenRank < 0) != (r.Family == pipeline.NoFault) {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff([]string{"none ", "slow-worker forward-compute", "slow-worker backward-compute", "slow-edge forward-send", "slow-edge forward-recv"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOperatorRefused: what a group of operator traces cannot be is said.
func TestOperatorRefused(t *testing.T) {
	for name, test := range map[string]struct{ group, want string }{
		"no layout":      {"seeds: [0], delays_ms: [9], operators: {faults: [slow-worker]}", "no faults or no layouts"},
		"a layout":       {"seeds: [0], delays_ms: [9], operators: {faults: [slow-worker], layouts: [4by2]}", `layout is "4by2", expected DPxPP`},
		"a wide fault":   {"seeds: [0], delays_ms: [9], operators: {faults: [slow-stage], layouts: [4x2]}", "fault slow-stage is not of one worker or link"},
		"no delay":       {"seeds: [0], operators: {faults: [slow-worker], layouts: [4x2]}", "no delays_ms"},
		"no seeds":       {"delays_ms: [9], operators: {faults: [slow-worker], layouts: [4x2]}", "no seeds"},
		"windows too":    {"seeds: [0], ranks: [8], delays_ms: [9], operators: {faults: [slow-worker], layouts: [4x2]}", "takes the place of families, ranks"},
		"a link of one":  {"seeds: [0], delays_ms: [9], operators: {faults: [slow-edge], layouts: [4x1]}", "run o-slow-edge-9ms-4x1-s0: "},
		"another runner": {"seeds: [0], operators: {faults: [none], layouts: [4x2]}}]\nrunner: local\nslurm: {}\n#", "operators are for runner simulator"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseSpec("c.yaml", []byte("name: c\ngroups: [{name: o, "+test.group+"}]\n"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, expected %q", err, test.want)
			}
		})
	}
}
