package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace/stagename"
)

// cutRun returns a run of 60 steps in every tenth of which rank 3 is late by 400 ms where all wait, and what its calls show.
func cutRun(t *testing.T) (*run, *arrivals.Result) {
	f := fault(simulate.Backward, 400, 3)
	f.Every = 10
	s := New(Options{})
	for _, w := range windows(t, entering(60, f)) {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	r := s.runs[0]
	return r, r.entries.Analyze(arrivals.Options{})
}

// lateIn returns the stage and the size of the first claim that rank 3 is late; "" where there is none.
func lateIn(t *testing.T, r *run, entered *arrivals.Result) (stage string, ns int64) {
	m, _, at := r.steps.result(r.runCuts(entered))
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Cause == claim.Late && at.ranks[c.Ranks[0]] == 3 {
			stage, _ = stagename.Split(m.Stages[c.Parts[0].Stage].Name)
			return stage, c.Size
		}
	}
	return "", 0
}

// withCuts returns what calls show, but for a change of how they cut the steps.
func withCuts(entered *arrivals.Result, change func(c *arrivals.Cuts)) *arrivals.Result {
	out, cuts := *entered, *entered.Cuts
	cuts.Known, cuts.Columns = slices.Clone(cuts.Known), slices.Clone(cuts.Columns)
	for i := range cuts.Columns {
		cuts.Columns[i].Times = slices.Clone(cuts.Columns[i].Times)
	}
	change(&cuts)
	out.Cuts = &cuts
	return &out
}

// withoutWait returns what calls show, but for the waits for rank 3 in the first steps in which the others wait for it, which count as
// work.
func withoutWait(entered *arrivals.Result, steps int) *arrivals.Result {
	return withCuts(entered, func(c *arrivals.Cuts) {
		times := func(kind arrivals.PartKind) []int64 {
			i := slices.IndexFunc(c.Columns, func(p arrivals.Column) bool {
				return p.Stage == simulate.StageBackward && p.Kind == kind && p.Point == 0
			})
			return c.Columns[i].Times
		}
		works, waits, R := times(arrivals.Works), times(arrivals.Points), len(c.Ranks)
		for t := range c.Steps {
			row := waits[t*R : (t+1)*R]
			if slices.Max(row) <= 300e6 || steps == 0 {
				continue
			}
			steps--
			for r, x := range row {
				works[t*R+r], row[r] = works[t*R+r]+x, 0
			}
		}
	})
}

// TestCutSteps: calls cut the stage in which all wait, so that the steps alone find who is late in it. Where the calls of
// too many steps are not known, or lack waits that the stage times show, nothing is cut.
func TestCutSteps(t *testing.T) {
	r, entered := cutRun(t)
	if stage, ns := lateIn(t, r, entered); stage != simulate.StageBackward || ns < 390e6 || ns > 410e6 {
		t.Errorf("cut: late by %d ns in %q, want 400 ms in backward", ns, stage)
	}
	for name, change := range map[string]func(c *arrivals.Cuts){
		"seven steps of 60 unknown": func(c *arrivals.Cuts) {
			for step := range 7 {
				c.Known[step] = false
			}
		},
	} {
		doctored := withCuts(entered, change)
		if stage, ns := lateIn(t, r, doctored); stage != "" {
			t.Errorf("%s: late by %d ns in %q, want nobody as without calls", name, ns, stage)
		}
	}
	if stage, ns := lateIn(t, r, withoutWait(entered, 60)); stage != "" {
		t.Errorf("waits for rank 3 unknown: late by %d ns in %q, want nobody as without calls", ns, stage)
	}
	if stage, ns := lateIn(t, r, withoutWait(entered, 1)); stage != simulate.StageBackward || ns < 390e6 || ns > 410e6 {
		t.Errorf("one wait unknown: late by %d ns in %q, want 400 ms in backward, by the other steps", ns, stage)
	}
	if stage, _ := lateIn(t, r, nil); stage != "" {
		t.Errorf("without calls: late in %q", stage)
	}
}

// TestEntriesTakeNothingAway: a rank that stage times show late is late with entries of calls beside them, on one host and on
// several, whatever is known of their clocks; and entries alone show one that is late where all wait.
func TestEntriesTakeNothingAway(t *testing.T) {
	for _, perHost := range []int{8, 2, 1} {
		for _, f := range []simulate.Family{simulate.Data, simulate.ForwardHost, simulate.OptimizerHost, simulate.CallbackHost, simulate.Backward} {
			for seed := range uint64(2) {
				s := entering(60, fault(f, 60, 3))
				s.Seed, s.RanksPerHost = seed+1, perHost
				with, without := windows(t, s), windows(t, s)
				for _, w := range without {
					w.Arrivals = nil
				}
				named := func(v RunVerdict) bool {
					return v.Status == answer.Straggler && len(v.Findings[0].lateRanks()) == 1 && v.Findings[0].lateRanks()[0] == 3
				}
				entered, times := verdictOn(t, with...).Runs[0], verdictOn(t, without...).Runs[0]
				if !named(entered) || named(times) == (f == simulate.Backward) {
					t.Errorf("%v, %d ranks a host, seed %d: %v with entries, %v without", f, perHost, seed, entered.Status, times.Status)
				}
			}
		}
	}
}

// TestCompleteMicrobatches: where the micro-batches of a stage are one part, a step without calls has the time of all of them in it: what is
// usual, and what is left, since nobody waits in the stage; in no stage the rest is a wait.
func TestCompleteMicrobatches(t *testing.T) {
	stages := []points.Stage{{Name: "forward@0"}, {Name: "forward@1"}, {Name: "forward@2"}}
	run := &delay.Run{Steps: points.Steps{Stages: stages, Ranks: 2, Durations: []int64{20, 10, 10, 10, 40, 10}, Wall: []int64{100, 100}}}
	plan := &cutPlan{parts: []arrivals.StepPart{{Stage: "forward@0", Kind: arrivals.Works}, {Kind: arrivals.Works}, {Kind: arrivals.Points}}, clocked: true}
	out := points.NewSteps(plan.stages(run), 2, 1, false, nil)
	for k := range plan.parts {
		clear(out.At(0, k))
	}
	e := enteredSteps{cutting: &cutting{}, at: stepPlaces{ranks: []int{4, 5}, walled: true}, run: run}
	e.complete(out, plan, 0, map[int][]int64{4: {30, 5, 0}, 5: {30, 5, 0}})
	for k, want := range [][]int64{{70, 30}, {5, 5}, {25, 65}} {
		if got := out.At(0, k); !slices.Equal(got, want) {
			t.Errorf("part %d: %v, want %v", k, got, want)
		}
	}
}
