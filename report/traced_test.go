package report

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// tracedCase is an operator trace and what the engines say about it.
type tracedCase struct {
	name        string
	make        func() (pipeline.Spec, ks.Options)
	completions Completions
	outliers    Outliers
	blame       Blame
	whatif      WhatIf
}

// tracedCases are simulated: views can be had of nothing else.
var tracedCases = []*tracedCase{
	// One slow worker, clocks apart, every step late: all tables have rows.
	{name: "slow", make: func() (pipeline.Spec, ks.Options) {
		s := smallJob(3, 2, 3)
		s.Clock.SkewSD, s.Steps.Count = 40, 6
		dp, pp := 2, 1
		s.Faults = []pipeline.Fault{
			{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: &dp, PP: &pp}, Size: pipeline.Size{Factor: 2}},
			{Kind: pipeline.LateStart, Where: pipeline.Where{DP: &dp, PP: &pp}, Size: pipeline.Size{Delay: 900}},
		}
		o := ks.Options{Matrix: true}
		return s, o
	}},
	// Two replicas and one step: nothing can be decided.
	{name: "undecided", make: func() (pipeline.Spec, ks.Options) {
		s := smallJob(2, 2, 2)
		s.Steps.Count, s.Run = 1, "=cmd|' /C calc'!A0 \x1b[31m<img src=x>@everyone`"
		o := ks.Options{Clock: ks.Wall, Against: ks.Everyone}
		return s, o
	}},
	// More replicas than a map has room for.
	{name: "wide", make: func() (pipeline.Spec, ks.Options) {
		s := smallJob(70, 1, 1)
		s.Steps.Count = 2
		return s, ks.Options{}
	}},
}

func smallJob(dp, pp, microbatches int) pipeline.Spec {
	s := pipeline.DefaultSpec()
	s.Run, s.Layout.DP, s.Layout.PP, s.Layout.TP, s.Layout.Microbatches, s.Layout.Buckets = "small", dp, pp, 1, microbatches, 1
	return s
}

// analyzed runs the engines on all cases, once.
var analyzed = sync.OnceValue(func() error {
	for _, c := range tracedCases {
		if err := c.analyze(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
})

func (c *tracedCase) analyze() error {
	spec, completions := c.make()
	run := spec.Run
	spec.Run = c.name
	o, _, err := pipeline.Make(spec)
	if err != nil {
		return err
	}
	o.Run = run
	v, err := operators.New(o, whatif.Options{})
	if err != nil {
		return err
	}
	t := Traced{View: v}
	if completions.Clock == ks.Wall {
		completions.Origin = v.Origin()
	}
	r, err := ks.Analyze(v.Completions(), completions)
	if err != nil {
		return err
	}
	c.completions = Completions{Traced: t, Result: r}
	series, operators := v.Series()
	z, err := zscore.Analyze(series, zscore.Options{})
	if err != nil {
		return err
	}
	c.outliers = Outliers{Traced: t, Series: series, Operators: operators, Result: z, Suspects: v.Suspects(z, series, operators), Shown: 8}
	if c.name != "wide" {
		ranks := v.Trace.Ranks
		if c.name == "undecided" {
			ranks = ranks[:2]
		}
		if c.outliers.Names, err = opnames.Compare(launchedOn(ranks), opnames.Alpha); err != nil {
			return err
		}
	}
	options := blame.Options{Tie: v.Tie()}
	steps := make([]int, len(v.Steps()))
	for i := range steps {
		steps[i] = i
	}
	walks, err := v.Flags(z, series, operators).Walk(steps, options)
	if err != nil {
		return err
	}
	c.blame = Blame{Traced: t, Walks: walks, Options: options, Alpha: z.Alpha}
	c.whatif = WhatIf{Traced: t, Result: v.Model.Analyze()}
	if c.name != "undecided" {
		c.whatif.Suspects = v.Model.Suspects(c.whatif.Result, 2)
		return nil
	}
	e, err := v.Model.Price(whatif.Selection{{Stages: []int{1}}})
	c.whatif.Fixes = []Fix{{"stage=1,op=<img src=x>", e[0]}}
	return err
}

// launchedOn are operators by name: of three ranks or more the last is slow in
// a kernel with a long and a hostile name, another is launched by it alone, and
// one takes no time at all.
func launchedOn(ranks []trace.Rank) *operator.Totals {
	t := &operator.Totals{Stages: []string{"model.fwd_loss_device", "", "comm.model.backward"}, Names: []string{
		"void at::native::(anonymous namespace)::slow_kernel<4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, \x1b[31m|<img src=x>>(int)", "alone", "empty", "ncclAllReduce"}}
	for i := range ranks {
		t.Ranks = append(t.Ranks, trace.Rank{ID: ranks[i].ID})
	}
	for step := range int32(8) {
		t.Steps = append(t.Steps, int64(step))
		for r := range int32(len(ranks)) {
			slow := int64(0)
			if r == int32(len(ranks))-1 && step > 1 {
				slow = 4
			}
			noise := int64(r*7+step*5)%11 - 5
			t.Rows = append(t.Rows, operator.Total{Rank: r, Step: step, Count: 3, Dur: 1_000_000*(10+slow)/10 + 1000*noise},
				operator.Total{Rank: r, Step: step, Stage: 1, Name: 2, Count: 1},
				operator.Total{Rank: r, Step: step, Stage: 2, Name: 3, Count: 1, Communicates: 1, Joined: 1, Dur: 5_000_000, Wait: 4_000_000 - 500*noise})
			if slow > 0 {
				t.Rows = append(t.Rows, operator.Total{Rank: r, Step: step, Stage: 1, Name: 1, Count: 1, Dur: 50_000 + 10*noise})
			}
		}
	}
	return t
}

// renderedTraces calls f with every table over operator traces in one format,
// by the name of the command.
func renderedTraces(t *testing.T, format Format, s Style, f func(command, name string, out []byte)) {
	t.Helper()
	if err := analyzed(); err != nil {
		t.Fatal(err)
	}
	for _, c := range tracedCases {
		var in []Problem
		if c.name == "undecided" {
			in = testProblems()
		}
		for _, each := range []struct {
			command string
			write   func(*bytes.Buffer) error
		}{
			{"ks", func(b *bytes.Buffer) error { return to(b, format, s, in...).Completions([]Completions{c.completions}) }},
			{"zscore", func(b *bytes.Buffer) error { return to(b, format, s, in...).Outliers([]Outliers{c.outliers}) }},
			{"blame", func(b *bytes.Buffer) error { return to(b, format, s, in...).Blame([]Blame{c.blame}) }},
			{"whatif", func(b *bytes.Buffer) error { return to(b, format, s, in...).WhatIf([]WhatIf{c.whatif}) }},
		} {
			var out bytes.Buffer
			if err := each.write(&out); err != nil {
				t.Fatalf("%s %s: %v", each.command, c.name, err)
			}
			f(each.command, each.command+"-"+c.name, out.Bytes())
		}
	}
}

// tracesText is what a table of text says.
func tracesText(t *testing.T, command, name string) string {
	t.Helper()
	found := ""
	renderedTraces(t, Text, Style{}, func(c, n string, out []byte) {
		if c == command && n == command+"-"+name {
			found = string(out)
		}
	})
	return found
}

// The sentences at the top say who it is, in all four, and say so when nothing
// can be decided.
func TestTracesFind(t *testing.T) {
	for _, c := range []struct{ command, name, want string }{
		{"ks", "slow", "ranks 2 and 5 complete their operators later than their peers."},
		{"ks", "undecided", "Undecided: two workers: which one is slow cannot be decided."},
		{"zscore", "undecided", "In 64 of 64 series: fewer than three peers"},
		{"blame", "slow", "of rank 5 (op)"},
		{"blame", "undecided", "In 1 step no operator started late enough, compared with its peers, to begin a walk."},
		{"whatif", "slow", "Where operators start late"},
		{"whatif", "undecided", "stage=1,op=<img src=x>"},
	} {
		if got := strings.Join(strings.Fields(tracesText(t, c.command, c.name)), " "); !strings.Contains(got, c.want) {
			t.Errorf("%s of %s does not say %q:\n%s", c.command, c.name, c.want, tracesText(t, c.command, c.name))
		}
	}
}

// Failed writes come back, and formats that are none are refused.
func TestTracesWriteError(t *testing.T) {
	if err := analyzed(); err != nil {
		t.Fatal(err)
	}
	c := tracedCases[0]
	for f := Text; f <= Markdown+1; f++ {
		for command, err := range map[string]error{
			"ks": to(full{}, f, Style{}).Completions([]Completions{c.completions}), "zscore": to(full{}, f, Style{}).Outliers([]Outliers{c.outliers}),
			"blame": to(full{}, f, Style{}).Blame([]Blame{c.blame}), "whatif": to(full{}, f, Style{}).WhatIf([]WhatIf{c.whatif}),
		} {
			if err == nil {
				t.Errorf("%s as %v: the failed write is not reported", command, f)
			}
		}
	}
}
