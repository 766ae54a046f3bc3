package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/recorded"
)

func (p *program) diagnose(c *cli.Context) error {
	to, err := newExporter(c)
	if err != nil {
		return err
	}
	o, err := p.diagnosis(c)
	if err != nil {
		return err
	}
	drawn := newPicture(c, o.Frontier)
	j, err := p.judge(c, o, func(j recorded.Job) error { return forTraces(j.Windows, drawn.see) })
	if errors.Is(err, auto.ErrStandstill) && c.String("format") == "text" {
		return p.hang(c)
	}
	if aside := (*auto.AsideError)(nil); errors.As(err, &aside) && c.String("format") == "text" {
		return p.publish(c, nil, func(to report.Output) error { return to.Aside(aside.Said) })
	}
	if err == nil {
		err = p.draw(c, &drawn)
	}
	if err != nil {
		return err
	}
	err = p.publish(c, j.Problems, func(to report.Output) error { return to.Verdict(j.Verdict) })
	if err != nil {
		return err
	}
	exported := to.sendAll(c.Context, j.Verdict)
	if found := failOnVerdict(c, j.Verdict); found != nil {
		if exported != nil {
			p.say("%s: --otlp: %s", c.Title(), oneLine(exported))
		}
		return found
	}
	return exported
}

// judge reads all inputs of a command into one verdict; see looks at them, too.
func (p *program) judge(c *cli.Context, o diagnose.Options, see func(recorded.Job) error) (*live.Judgement, error) {
	s, percent := diagnose.New(o), 0
	defer func() {
		if percent != 0 {
			debug.SetGCPercent(percent)
		}
	}()
	in, err := p.readInputs(c, reading{joined: true}, func(j recorded.Job) error {
		if j.Calls != nil && len(j.Windows) == 0 && percent == 0 {
			percent = debug.SetGCPercent(garbageOfCalls)
		}
		if err := recordings(j, s.Add); err != nil {
			return err
		}
		return see(j)
	})
	if err != nil {
		return nil, err
	}
	p.remarkNCCL(c, in)
	j := &live.Judgement{Inputs: in}
	var failed []*bug.Error
	j.Verdict, failed = s.Judge()
	if len(failed) > 0 && (len(j.Verdict.Runs) == 0 || c.Bool("strict")) {
		return nil, failed[0]
	}
	return j, p.noteFailed(c, j, failed)
}

// noteFailed notes of a judgement which runs, or their charts, are left out because of a bug.
func (p *program) noteFailed(c *cli.Context, j *live.Judgement, failed []*bug.Error) error {
	if len(failed) == 0 {
		return nil
	}
	var problems []report.Problem
	for _, b := range failed {
		p.note(b)
		problems = append(problems, report.Problem{Path: b.Where, Err: b})
	}
	j.Problems = append(j.Problems, problems...)
	return p.tell(c, live.Inputs{Problems: problems}, len(j.Verdict.Runs))
}

// diagnosis returns the options of a verdict from the flags of a command.
func (p *program) diagnosis(c *cli.Context) (o diagnose.Options, err error) {
	o.MinGain = c.Float64("min-gain")
	if o.Baseline, err = p.healthy(c); err != nil {
		return o, err
	}
	if o.Frontier, err = p.frontierOptions(c, o.Baseline); err != nil {
		return o, err
	}
	o.Benchmarks, err = benchmarks(c)
	return o, err
}

// failOnVerdict turns what --fail-on names into exit code 3: a finding that is
// large enough and at least so certain, or a run that is unseen or has too little data.
func failOnVerdict(c *cli.Context, v *diagnose.Verdict) error {
	surest := evidence.Insufficient
	for i := range v.Runs {
		r := &v.Runs[i]
		if what, named := lacks[r.Status]; named && c.String("fail-on") == r.Status.String() {
			return &exitError{exitFinding, fmt.Errorf("run %s %s (--fail-on %s)", r.Run, what, r.Status)}
		}
		for k := range r.Findings {
			if f := &r.Findings[k]; (!f.BelowMinGain || f.Jointly) && f.Cause != diagnose.CausePeriodic {
				surest = max(surest, f.Confidence)
			}
		}
	}
	return failOn(c, surest)
}

// lacks are the statuses that --fail-on takes, and what such a run lacks.
var lacks = map[answer.Status]string{
	answer.TooLittleData: "has too little data",
	answer.Unseen:        "may have a late rank where its recording shows none",
}

// failOn turns a finding of the level of --fail-on into exit code 3.
func failOn(c *cli.Context, found evidence.Confidence) error {
	return failAt(c.String("fail-on"), found, fmt.Sprintf("a finding is %v", found))
}

// failAt returns exit code 3 where a finding reaches a level.
func failAt(level string, found evidence.Confidence, what string) error {
	for l := evidence.Ambiguous; l <= found; l++ {
		if l.String() == level {
			return &exitError{exitFinding, fmt.Errorf("%s (--fail-on %s)", what, level)}
		}
	}
	return nil
}
