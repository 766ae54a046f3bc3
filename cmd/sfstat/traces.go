package main

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/recorded"
)

// traces hands a view of every operator trace of the inputs to each, in input
// order, then of the windows of runs that have no operators, as far as they
// follow each other together. What no view can be made of is refused like an
// input that cannot be read.
func (p *program) traces(c *cli.Context, see viewing, each func(report.Traced) error) (live.Inputs, error) {
	withOps := make(map[string]bool) // runs with operators, or false: with windows alone
	var windows []*trace.Window
	var entered []*enteredRun
	what := reading{kinds: auto.Windows | auto.Operators | auto.Entries, detail: profiler.EachOperator, alone: true}
	in, err := p.readInputs(c, what, func(j recorded.Job) error {
		if run := j.Run(); len(j.Windows) > 0 && !withOps[run] {
			withOps[run] = false
			windows = append(windows, j.Windows...)
		}
		switch {
		case j.Operators != nil:
		case j.Calls != nil:
			return enter(&entered, j.Calls)
		default:
			return nil
		}
		withOps[j.Operators.Run] = true
		v, err := see(j.Operators)
		if err != nil {
			return &unusable{report.Problem{Path: j.Path, Err: input.At(input.Pos{File: j.Path}, err)}}
		}
		return each(report.Traced{View: v, Launched: j.Launched})
	})
	windows = slices.DeleteFunc(windows, func(w *trace.Window) bool { return withOps[w.Run] })
	for _, w := range operators.Contiguous(windows) {
		if err == nil {
			err = forWindowSteps(w, see, each)
		}
	}
	for _, j := range entered {
		if _, other := withOps[j.run]; err == nil && !other {
			err = forEntries(j, see, each)
		}
	}
	return in, err
}

// analyseTraces returns what an engine says of every operator trace of the inputs.
func analyseTraces[T any](p *program, c *cli.Context, see viewing, by func(report.Traced) (T, error)) (all []T, in live.Inputs, err error) {
	in, err = p.traces(c, see, func(t report.Traced) error {
		r, err := by(t)
		if err != nil {
			return operatorsError(t.View.Trace, err)
		}
		all = append(all, r)
		return nil
	})
	return all, in, err
}

// forEntries hands the view of a run's entries to each.
func forEntries(j *enteredRun, see viewing, each func(report.Traced) error) error {
	t, err := j.Operators(j.run)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", j.run, err))
	}
	v, err := see(t)
	if err != nil {
		return operatorsError(t, err)
	}
	return each(report.Traced{View: v})
}

// forWindowSteps hands the views of a window's steps to each.
func forWindowSteps(w *trace.Window, see viewing, each func(report.Traced) error) error {
	a, err := frontier.Analyze(w, frontier.Options{})
	if err != nil {
		return windowError(w, err)
	}
	list, err := operators.WindowTraces(w, a)
	if err != nil {
		return windowError(w, err)
	}
	for _, t := range list {
		v, err := see(t)
		if err != nil {
			return windowError(w, err)
		}
		if err := each(report.Traced{View: v}); err != nil {
			return err
		}
	}
	return nil
}

// viewing makes the view of a trace that a command needs.
type viewing func(*operator.Trace) (*operators.View, error)

// viewWithoutSchedule serves commands that compare operators: they need no schedule.
func viewWithoutSchedule(t *operator.Trace) (*operators.View, error) {
	return operators.Observe(t)
}

// viewWithSchedule serves commands that replay the schedule.
func viewWithSchedule(o whatif.Options) viewing {
	return func(t *operator.Trace) (*operators.View, error) { return operators.New(t, o) }
}

// unusable is an item that was read and cannot be used. Unless --strict is
// given, the others are.
type unusable struct{ report.Problem }

func (u *unusable) Error() string { return u.Err.Error() }
func (u *unusable) Unwrap() error { return u.Err }

// stepsOf returns the positions of the steps of --step: one, or all.
func stepsOf(c *cli.Context, t report.Traced) ([]int, error) {
	var all []int
	for i, step := range t.View.Steps() {
		if !c.IsSet("step") || step == c.Int64("step") {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		steps := t.View.Steps()
		return nil, input.Bad(input.ErrMissing, "no step %d, there are %d from %d to %d", c.Int64("step"), len(steps), steps[0], steps[len(steps)-1])
	}
	return all, nil
}
