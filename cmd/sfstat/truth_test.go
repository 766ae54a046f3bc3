package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/largedata"
)

// judged is what a verdict says of its first suspect.
type judged struct {
	Status   string
	Findings []judgedSuspect
	Problems []judgedProblem
	Limits   []struct {
		Stage   string
		MayHide float64 `json:"may_hide_ns"`
	}
}

// mayHide is how long a delay of one rank may be hidden in a stage, ns.
func (v *judged) mayHide(stage string) float64 {
	for _, l := range v.Limits {
		if l.Stage == stage {
			return l.MayHide
		}
	}
	return 0
}

type judgedProblem struct{ Problem string }

type judgedSuspect struct {
	Kind       string
	Rank       *int
	Host       *string
	Stage      *string
	Confidence string
	Below      bool    `json:"below_min_gain"`
	Gain       float64 `json:"gain"`
	RunGain    float64 `json:"run_gain"`
	Excess     float64 `json:"excess_ns"`
	Struck     struct {
		Count, Of int
		First     *int
		Last      *int
		Pattern   string
	} `json:"steps_struck"`
}

func verdictOf(t *testing.T, path string) (v judged) {
	t.Helper()
	code, out, stderr := runArgs(t, nil, "diagnose", path, "--format", "json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// audited is the truth of a job: 0, "" and −1 are not asked for.
type audited struct {
	file, status, kind string
	rank               int
	stage, host        string
	gain, run, excess  float64 // fractions, ms
	count, first, last int
	pattern            string
	problem            string
	below              bool // smaller than the least gain
}

// TestAuditedJobs: jobs whose faults are known, as they were written down with
// them.
func TestAuditedJobs(t *testing.T) {
	const none = -1
	dir := largedata.Need(t, "data/audit")
	for _, want := range []audited{
		{file: "border-callback.jsonl.gz", status: "straggler", kind: "rank", rank: 1, stage: "callbacks.cpu_wall", gain: 0.96, run: 0.18, excess: 5000, count: 20, first: 119, last: 2019, pattern: "periodic"},
		{file: "border-data.jsonl.gz", status: "straggler", kind: "rank", rank: 6, stage: "data.next_wait", gain: 0.96, run: 0.18, excess: 5000, count: 20, first: 20, last: 1920, pattern: "periodic"},
		{file: "fast.csv", status: "straggler", kind: "rank", rank: 3, stage: "data", gain: 0.17, run: 0.17, pattern: "constant"},
		{file: "gap.csv", status: "straggler", kind: "rank", rank: 3, stage: "data", excess: 40, pattern: "constant"},
		{file: "shift.jsonl", status: "imbalance", kind: "workload", rank: none, stage: "data", gain: 0.17, run: 0.17, excess: 38},
		{file: "mw.jsonl", status: "unseen", kind: "rank", rank: 3, stage: "data", gain: 0.17, run: 0.063, below: true, excess: 38, count: 100, first: 100, last: 199, pattern: "window"},
		{file: "hosts.jsonl", status: "straggler", kind: "rank", rank: 5, stage: "data", host: "gpu-node-001", gain: 0.17, run: 0.17, pattern: "constant"},
		{file: "hosts2.jsonl", status: "straggler", kind: "host", rank: none, host: "gpu-node-1", gain: 0.35, run: 0.35, pattern: "constant"},
		{file: "s20.jsonl", status: "unseen", kind: "rank", rank: 3, stage: "data", below: true, excess: 20, pattern: "constant"},
		{file: "onemiss.csv", status: "straggler", kind: "rank", rank: 3, stage: "data", gain: 0.17, run: 0.17, problem: "ranks_missing"},
		{file: "us.csv", status: "straggler", kind: "rank", rank: 3, stage: "data", gain: 0.17, problem: "unit_doubt"},
		{file: "msint.csv", status: "straggler", kind: "rank", rank: 3, stage: "data", gain: 0.17, problem: "unit_doubt"},
		{file: "qat.jsonl", status: "slow_everywhere", kind: "stage", rank: none, stage: "model.fwd_loss_cpu_wall", excess: 402, pattern: "constant"},
		{file: "unloc.jsonl", status: "slow_everywhere", kind: "stage", rank: none, stage: "model.backward_cpu_wall", gain: 0.33, run: 0.14, count: 20, pattern: "window"},
		{file: "visionA.jsonl", status: "imbalance", kind: "workload", rank: none, stage: "data.next_wait"},
	} {
		t.Run(want.file, func(t *testing.T) { want.check(t, verdictOf(t, filepath.Join(dir, want.file))) })
	}
	t.Run("overlap.jsonl", func(t *testing.T) {
		v := verdictOf(t, filepath.Join(dir, "overlap.jsonl"))
		if len(v.Findings) != 0 || !slices.ContainsFunc(v.Problems, func(p judgedProblem) bool { return p.Problem == "steps_repeated" }) {
			t.Errorf("%+v", v)
		}
	})
}

// TestClockGlitch: a value that is set aside is in no table either.
func TestClockGlitch(t *testing.T) {
	path := filepath.Join(largedata.Need(t, "data/cases/tables"), "clock-glitch", "n2_clock.csv")
	code, out, _ := runArgs(t, nil, "diagnose", path)
	if code != 0 || !strings.Contains(out, "stage     ms/step") || !strings.Contains(out, "data         15.2") {
		t.Errorf("exit code %d, expected a table with 15.2 ms in data:\n%s", code, out)
	}
	if _, out, _ := runArgs(t, nil, "frontier", path); !strings.Contains(out, "data") || strings.Contains(out, "99.5 %") {
		t.Errorf("the account has the hour:\n%s", out)
	}
}

// TestTablesWithSums: a column that is the sum of others hides nobody.
func TestTablesWithSums(t *testing.T) {
	dir := largedata.Need(t, "data/cases/tables")
	for _, file := range []string{"total-as-stage/tot_step_ms.csv", "train-contains/tt_train.csv"} {
		want := audited{status: "straggler", kind: "rank", rank: 3, stage: "data", gain: 0.16, excess: 40, pattern: "constant", problem: "stages_summed"}
		t.Run(file, func(t *testing.T) { want.check(t, verdictOf(t, filepath.Join(dir, file))) })
	}
}

func (a *audited) check(t *testing.T, v judged) {
	t.Helper()
	if v.Status != a.status || len(v.Findings) == 0 {
		t.Fatalf("status %s with %d suspects, expected %s", v.Status, len(v.Findings), a.status)
	}
	s := v.Findings[0]
	near := func(what string, got, want float64) {
		if want != 0 && math.Abs(got-want) > 0.06*want+0.002 {
			t.Errorf("%s %.4g, expected %.4g", what, got, want)
		}
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if s.Kind != a.kind || a.rank >= 0 && (s.Rank == nil || *s.Rank != a.rank) || a.stage != "" && text(s.Stage) != a.stage || a.host != "" && text(s.Host) != a.host {
		t.Errorf("%s %v, stage %s, host %s", s.Kind, s.Rank, text(s.Stage), text(s.Host))
	}
	if s.Below != a.below || s.Confidence == "insufficient" {
		t.Errorf("below the least gain: %v, %s", s.Below, s.Confidence)
	}
	near("gain", s.Gain, a.gain)
	near("gain of the run", s.RunGain, a.run)
	near("excess", s.Excess/1e6, a.excess)
	near("steps", float64(s.Struck.Count), float64(a.count))
	if a.first != 0 && (*s.Struck.First != a.first || *s.Struck.Last < a.last-1 || *s.Struck.Last > a.last) || a.pattern != "" && s.Struck.Pattern != a.pattern {
		t.Errorf("struck %d–%d (%s), expected %d–%d (%s)", *s.Struck.First, *s.Struck.Last, s.Struck.Pattern, a.first, a.last, a.pattern)
	}
	if a.problem != "" && !slices.ContainsFunc(v.Problems, func(p judgedProblem) bool { return p.Problem == a.problem }) {
		t.Errorf("problems %v, none is %s", v.Problems, a.problem)
	}
}

// TestRecordedJobs: of real jobs nobody innocent is flagged, who can be told from
// stage times is, and where they show no difference a run without a finding is unseen.
func TestRecordedJobs(t *testing.T) {
	dir := largedata.Need(t, "data/ddp")
	f, err := os.Open(filepath.Join(dir, "truth.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		run, family, hidden, stage := row[0], row[1], row[5], row[6]
		t.Run(run, func(t *testing.T) {
			v := verdictOf(t, filepath.Join(dir, run+".jsonl"))
			switch {
			case family == "nofault" && row[9] == "roles":
				if v.Status != "imbalance" {
					t.Errorf("half the ranks do more work, and the status is %s", v.Status)
				}
			case family == "nofault":
				if v.Status != "unseen" || slices.ContainsFunc(v.Findings, flaggedSuspect) {
					t.Errorf("healthy, and the status is %s", v.Status)
				}
			case run == "e6-aba-r8-s0":
				if v.Status != "slow_everywhere" || *v.Findings[0].Stage != stage {
					t.Errorf("status %s, suspects %+v", v.Status, v.Findings)
				}
			case family == "backward" || family == "backward_comm" || family == "callback_sync":
				if v.Status != "unseen" || slices.ContainsFunc(v.Findings, flaggedSuspect) || v.mayHide(stage) < 30e6 {
					t.Errorf("all ranks look alike, and the status is %s, with %+v", v.Status, v.Limits)
				}
			default:
				rank, _ := strconv.Atoi(hidden)
				s := v.Findings[0]
				if v.Status != "straggler" && !(s.Below && v.Status == "unseen") || s.Rank == nil || *s.Rank != rank || *s.Stage != stage || s.Confidence != "strong" && s.Confidence != "supported" {
					t.Errorf("status %s, suspect %+v, expected rank %d in %s", v.Status, s, rank, stage)
				}
			}
		})
	}
}

func flaggedSuspect(s judgedSuspect) bool {
	return !s.Below && (s.Confidence == "strong" || s.Confidence == "supported")
}

// TestMidway: a rank that is late from some step on is named, though it was on time in a third of
// the steps whose arrivals are known.
func TestMidway(t *testing.T) {
	code, text, said := runArgs(t, nil, "diagnose", filepath.Join(root, "fixtures", "midway"), "--fail-on", "strong")
	if code != exitFinding || !strings.Contains(text, "would cut step time by 44 %") || !strings.HasPrefix(text, "Rank 2 (vm, local rank 2) delays everyone in backward: 60.5 ms of every 136 ms\nstep") {
		t.Errorf("%d, %s\n%s", code, text, said)
	}
}
