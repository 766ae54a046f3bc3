package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// chooser hands on what of the inputs is selected.
type chooser struct {
	trace.Selection
	runs map[string]bool // of all jobs
	left int             // jobs of which nothing is selected
	// Jobs whose communication is left out: it is of a whole run.
	silenced int
	held     trace.StepRange // steps of all jobs
	ranks    map[int]bool    // of all jobs
}

// newChooser reads selectionFlags, as far as the command has them.
func newChooser(c *cli.Context) (*chooser, error) {
	s := &chooser{runs: make(map[string]bool), ranks: make(map[int]bool)}
	own := func(name string) string {
		if f := c.Command.Flag(name); f == nil || f.In != forInput {
			return ""
		}
		return c.String(name)
	}
	s.Runs = c.List("run")
	windows, err := numbers("--window", own("window"))
	if err != nil {
		return nil, err
	}
	s.Windows = windows
	ranks, err := numbers("--ranks", own("ranks"))
	if err != nil {
		return nil, err
	}
	for _, r := range ranks {
		s.Ranks = append(s.Ranks, int(r))
	}
	if text := own("steps"); text != "" {
		first, last, err := bounds(text)
		if err != nil {
			return nil, badUsage("--steps is %q, expected two ascending step numbers such as 4-9, or one", text)
		}
		s.Steps = &trace.StepRange{First: first, Last: last}
	}
	return s, nil
}

// mostNumbers bounds a list of numbers.
const mostNumbers = trace.MaxRanks

// numbers reads a list such as "0-3,8".
func numbers(flag, text string) (all []int64, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, err := bounds(part)
		if err != nil || last-first >= mostNumbers {
			return nil, badUsage("%s is %q, expected numbers and ranges such as 0-3,8", flag, text)
		}
		for n := first; n <= last; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

// bounds reads "4-9", or "4" for both.
func bounds(text string) (first, last int64, err error) {
	from, to, found := strings.Cut(strings.TrimSpace(text), "-")
	if !found {
		to = from
	}
	if first, err = strconv.ParseInt(from, 10, 62); err != nil {
		return 0, 0, err
	}
	if last, err = strconv.ParseInt(to, 10, 62); err != nil {
		return 0, 0, err
	}
	if last < first {
		return 0, 0, fmt.Errorf("%d after %d", last, first)
	}
	return first, last, nil
}

// choose returns what of a job is selected; ok is false where that is nothing.
func (s *chooser) choose(j recorded.Job) (_ recorded.Job, ok bool) {
	if j.Readings != nil { // of no run
		return j, true
	}
	run := j.Run()
	s.runs[run] = true
	if s.All() {
		return j, true
	}
	s.hold(&j)
	if j.Calls != nil && s.Run(run) && !s.Comm(j.Calls) {
		s.silenced++
	}
	if j = j.Select(&s.Selection); !j.Empty() {
		return j, true
	}
	s.left++
	return j, false
}

// hold notes the steps and ranks of a job.
func (s *chooser) hold(j *recorded.Job) {
	note := func(first, last int64) {
		if s.held == (trace.StepRange{}) {
			s.held = trace.StepRange{First: first, Last: last}
		}
		s.held = trace.StepRange{First: min(s.held.First, first), Last: max(s.held.Last, last)}
	}
	for _, w := range j.Windows {
		for _, r := range w.Ranks {
			s.ranks[r.ID] = true
		}
		note(w.FirstStep, w.StepAt(w.Steps()-1))
	}
	switch {
	case len(j.Windows) > 0:
	case j.Operators != nil:
		for _, r := range j.Operators.Ranks {
			s.ranks[r.ID] = true
		}
		note(j.Operators.Steps[0], j.Operators.Steps[len(j.Operators.Steps)-1])
	case j.Devices != nil:
		for _, r := range j.Devices.Ranks {
			s.ranks[r.Rank.ID] = true
			for _, step := range r.Steps {
				note(step.Step, step.Step)
			}
		}
	}
}

// requireChosen returns the error where a run that was asked for is not there, or nothing of
// what was read is selected.
func (s *chooser) requireChosen(selected int) error {
	for _, name := range s.Runs {
		if !s.runs[name] && len(s.runs) > 0 {
			return noRun(name, slices.Sorted(maps.Keys(s.runs)))
		}
	}
	if selected == 0 && s.left > 0 {
		if len(s.Ranks) > 0 && len(s.ranks) > 0 && !slices.ContainsFunc(s.Ranks, func(r int) bool { return s.ranks[r] }) {
			return badUsage("--ranks is %s, the inputs have ranks %s", trace.RankList(slices.Sorted(slices.Values(s.Ranks))), trace.RankList(slices.Sorted(maps.Keys(s.ranks))))
		}
		return badUsage("nothing of the inputs is selected, whose steps are %d to %d; sfstat inspect lists their runs, windows and ranks", s.held.First, s.held.Last)
	}
	return nil
}

func noRun(name string, runs []string) error {
	if len(runs) == 0 {
		return badUsage("--run is %q, and no input is in a folder, whose name is that of its run", name)
	}
	return badUsage("--run is %q, the inputs have %s%s", name, listSome(runs), cli.Suggestion(name, runs, ""))
}

// listSome lists names, not too many.
func listSome(names []string) string {
	const most = 8
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d others", n)
	}
	return strings.Join(names, ", ")
}
