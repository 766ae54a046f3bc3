package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/ingest/trainlog"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/recorded"
)

// eachWindow hands every window of the inputs to each, and those that operator traces come
// down to: one for each pipeline stage. A profile that was converted has windows of its own, in
// the file beside its operators; only without them do these come down to some.
func (p *program) eachWindow(c *cli.Context, each func(*trace.Window) error) (live.Inputs, error) {
	seen := make(map[string]bool) // runs with windows
	var kept []recorded.Job
	in, err := p.readInputs(c, reading{kinds: auto.Windows | auto.Operators}, func(j recorded.Job) error {
		switch {
		case j.Operators == nil:
			seen[j.Run()] = true
			return forTraces(j.Windows, each)
		case j.Launched != nil:
			kept = append(kept, j)
			return nil
		}
		return reduce(j, each)
	})
	for _, j := range kept {
		if err != nil || seen[j.Operators.Run] {
			continue
		}
		var refused *unusable
		if err = reduce(j, each); errors.As(err, &refused) && len(seen) > 0 && !c.Bool("strict") {
			in.Problems = append(in.Problems, refused.Problem)
			err = p.tell(c, live.Inputs{Problems: []report.Problem{refused.Problem}}, 1)
		} else if refused != nil {
			err = badInput(err)
		}
	}
	return in, err
}

// reduce hands the windows that an operator trace comes down to, on aligned clocks, to
// each.
func reduce(j recorded.Job, each func(*trace.Window) error) error {
	var windows []*trace.Window
	g, err := j.Operators.Grid()
	if err == nil {
		aligned, _ := clock.AlignOperators(j.Operators, g)
		windows, err = operators.Windows(aligned, g)
	}
	if err != nil {
		return scheduledError(j, err)
	}
	return forTraces(windows, each)
}

// forTraces hands windows to each, until one fails.
func forTraces(windows []*trace.Window, each func(*trace.Window) error) error {
	for _, w := range windows {
		if err := each(w); err != nil {
			return err
		}
	}
	return nil
}

// readInputs hands the jobs in the inputs of a command to each, in input order. Inputs that are
// refused beside good ones are listed; when nothing could be read, or under --strict,
// that is the error.
func (p *program) readInputs(c *cli.Context, what reading, each func(recorded.Job) error) (live.Inputs, error) {
	var err error
	if what.names, err = paths(c); err != nil {
		return live.Inputs{}, err
	}
	return p.readFrom(c, what, each)
}

// reading is what to read, and how much of it must be good.
type reading struct {
	names  []string
	kinds  auto.Kinds      // of recordings; 0: all
	detail profiler.Detail // of the operators of profiler traces
	joined bool            // as auto.Options.Joined
	alone  bool            // calls count that stand alone, not those behind windows
	strict bool            // an input that is refused has those beside it refused too
	runs   []string        // as auto.Options.Runs
	// unselected: the flags that say which part of the inputs counts are not about it.
	unselected bool
	timeline   stages.Timeline // of profiler traces
	unit       *follow.Unit    // that is read, a part of what is named; nil: all
}

// open opens what is to be read. What is no input is refused where it was named.
func (r *reading) open(o auto.Options) (*auto.Reader, error) {
	if r.unit == nil {
		return auto.Open(r.names, o)
	}
	o.Label = r.unit.Label
	all := r.unit.Paths()
	o.Found = slices.ContainsFunc(all, func(path string) bool { return !slices.Contains(r.names, path) })
	return auto.Open(all, o)
}

// options returns the options of reading from the flags of a command.
func (r *reading) options(c *cli.Context) (o auto.Options, err error) {
	o = auto.Options{Kinds: r.kinds, Detail: r.detail, Joined: r.joined, Timeline: r.timeline, Runs: r.runs}
	if r.strict {
		o.Strict = ingest.FirstError
	}
	if asked, ok := map[string]stages.Timeline{"device": stages.OnDevice, "host": stages.OnHost}[c.String("timeline")]; ok {
		o.Timeline = asked
	}
	if o.Rank, err = rankPattern(c); err != nil {
		return o, err
	}
	if o.Dialects, err = trainlog.LoadDialects(c.String("dialect")); err != nil {
		return o, badInput(err)
	}
	if o.Columns, err = trainlog.ParseColumns(c.String("columns")); err != nil {
		return o, badUsage("--columns: %v", err)
	}
	if o.Stages, err = stagemap.Load(c.String("stage-map")); err != nil {
		return o, badInput(err)
	}
	if o.Unit, err = csv.ParseUnit(c.String("unit")); err != nil {
		return o, err
	}
	o.Zone, err = timeZone(c.String("time-zone"))
	return o, err
}

// timeZone reads the flag; nil is UTC.
func timeZone(name string) (*time.Location, error) {
	switch name {
	case "", "UTC":
		return nil, nil
	case "local":
		return time.Local, nil
	}
	if t, err := time.Parse("-07:00", name); err == nil {
		return t.Location(), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, badUsage("--time-zone is %q, expected a name such as Europe/Berlin (which this system must know), local, or +02:00", name)
	}
	return zone, nil
}

func (p *program) readFrom(c *cli.Context, what reading, each func(recorded.Job) error) (live.Inputs, error) {
	what.strict = what.strict || c.Bool("strict")
	choose := &chooser{runs: make(map[string]bool)}
	if !what.unselected {
		var err error
		if choose, err = newChooser(c); err != nil {
			return live.Inputs{}, err
		}
	}
	o, err := what.options(c)
	if err != nil {
		return live.Inputs{}, err
	}
	o.Disk = p.disk
	o.Stdin, o.Progress = p.in, p.showProgress(c, readingInputs)
	defer p.hideProgress()
	r, err := what.open(o)
	if err != nil {
		return live.Inputs{}, badInput(err)
	}
	defer r.Close()
	for _, in := range r.Inputs() {
		if in.Skipped == "" {
			p.outputs.reads(in.Path)
		}
	}
	if err := p.outputs.refuse(c.String("output")); err != nil {
		return live.Inputs{}, err
	}
	n, bad, err := what.jobs(r, choose, each)
	for _, problem := range r.Problems() {
		p.note(problem.Err)
	}
	if err != nil {
		return live.Inputs{}, err
	}
	in := live.Inputs{Read: r.Inputs(), Problems: bad}
	for _, problem := range r.Problems() {
		in.Problems = append(in.Problems, report.Problem{Path: problem.Path, Err: problem.Err})
	}
	if what.unit != nil {
		p.sayRefused(c, in.Problems)
		return in, nil
	}
	if err := choose.requireChosen(n + len(bad)); err != nil {
		return live.Inputs{}, err
	}
	err = p.tell(c, in, n)
	in.Problems = append(in.Problems, p.passedOverInputs(c, &what, in.Read, choose)...)
	return in, err
}

// jobs hands what is chosen of all jobs to each. It counts those that were used, and
// lists those that cannot be.
func (r *reading) jobs(from *auto.Reader, choose *chooser, each func(recorded.Job) error) (n int, bad []report.Problem, err error) {
	for read, err := range from.Jobs() {
		if err != nil {
			return n, bad, badInput(err)
		}
		if r.alone && len(read.Windows) > 0 {
			read.Calls = nil
		}
		j, ok := choose.choose(read)
		if !ok {
			continue
		}
		var refused *unusable
		switch err := each(j); {
		case errors.As(err, &refused) && !r.strict:
			bad = append(bad, refused.Problem)
		case errors.As(err, &refused):
			return n, bad, badInput(err)
		case err != nil:
			return n, bad, err
		case j.Readings == nil:
			n++
		}
	}
	return n, bad, nil
}

// passedOverInputs returns the inputs that were passed over; with CSV, which has no place for them, they are printed too.
func (p *program) passedOverInputs(c *cli.Context, what *reading, read []auto.Input, choose *chooser) []report.Problem {
	over := passedOver(what.names, read)
	if n := choose.silenced; n > 0 {
		err := errors.New("who communicated when is of the whole run, and left out with --window, --steps or --ranks")
		p.remark(c, "%s: %v", c.Title(), err)
		over = append(over, report.Problem{Path: what.names[0], PassedOver: map[string]int{"communication": n}, Err: err})
	}
	if c.String("format") == report.CSV.String() {
		for _, x := range over {
			p.remark(c, "%s: %s: %s", c.Title(), x.Path, glyph.Visible(x.Reason()))
		}
	}
	return over
}

// tell prints the refused inputs on standard error, a line for each, and fails when none is left. Text on a terminal lists them
// itself.
func (p *program) tell(c *cli.Context, in live.Inputs, used int) error {
	if used == 0 && len(in.Problems) == 1 {
		return badInput(in.Problems[0].Err)
	}
	_, onTerminal := terminal(p.destination(c))
	if used == 0 || !onTerminal || c.String("format") != report.Text.String() {
		p.sayRefused(c, in.Problems)
	}
	if used == 0 {
		return badInput(errors.New("nothing in any input"))
	}
	return nil
}

// sayRefused prints the inputs that are not read to their end and the runs that failed, each once.
func (p *program) sayRefused(c *cli.Context, problems []report.Problem) {
	for _, problem := range problems {
		p.note(problem.Err)
	}
	for _, line := range refusals(problems) {
		if !p.refused[line] {
			p.refused[line] = true
			p.say("%s: %s", c.Title(), line)
		}
	}
}

// refusals returns the refusals of inputs, a line each; whole files refused for one reason share one.
func refusals(problems []report.Problem) []string {
	var lines []string
	same := make(map[string][]string) // paths by what is wrong with them
	for _, problem := range problems {
		line := oneLine(problem.Err)
		if what, ok := strings.CutPrefix(line, problem.Path+": "); ok {
			if same[what] = append(same[what], problem.Path); len(same[what]) > 1 {
				continue
			}
		}
		lines = append(lines, line)
	}
	for i, line := range lines {
		for what, paths := range same {
			if n := len(paths); n > 1 && line == paths[0]+": "+what {
				lines[i] = fmt.Sprintf("%s and %d more: %s", paths[0], n-1, what)
			}
		}
	}
	return lines
}

// windowError prefixes an error with its window.
func windowError(w *trace.Window, err error) error {
	if err == nil {
		return nil
	}
	return badInput(fmt.Errorf("run %q, window %d: %w", w.Run, w.Index, err))
}

// recordings hands the recordings of a job to each, and says which an error is about.
func recordings(j recorded.Job, each func(trace.Recording) error) error {
	for _, r := range j.Recordings() {
		if err := each(r); err != nil {
			return recordingError(r, j, err)
		}
	}
	return nil
}

// recordingError prefixes an error with its recording.
func recordingError(r trace.Recording, j recorded.Job, err error) error {
	switch r := r.(type) {
	case *trace.Window:
		return windowError(r, err)
	case *operator.Trace:
		return scheduledError(j, err)
	}
	return badInput(input.At(input.Pos{File: j.Path}, err))
}

// scheduledError prefixes the errors of a command that needs the schedule of a pipeline with their operator trace, as operatorsError
// does. A trace of kernels has no schedule and is passed over; the windows of the same recording, perhaps, are read.
func scheduledError(j recorded.Job, err error) error {
	if err != nil && !j.Operators.HasSchedule() {
		return &unusable{report.Problem{Path: j.Path, Err: input.At(input.Pos{File: j.Path}, err)}}
	}
	return operatorsError(j.Operators, err)
}

// operatorsError prefixes an error with its operator trace.
func operatorsError(t *operator.Trace, err error) error {
	if err == nil {
		return nil
	}
	return badInput(fmt.Errorf("operator trace %q: %w", t.Run, err))
}
