package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

// chooser hands on what of the inputs is selected.
type chooser struct {
	trace.Selection
	runs map[string]bool // of all items
	left int             // items of which nothing is selected
	// Items whose communication is left out: it is of a whole run.
	silenced int
	held     trace.StepRange // steps of all items
	ranks    map[int]bool    // of all items
	// What came with the first window of a run, which was left out.
	behind map[string]auto.Item
}

// newChooser reads selectionFlags, as far as the command has them.
func newChooser(c *cli.Context) (*chooser, error) {
	s := &chooser{runs: make(map[string]bool), behind: make(map[string]auto.Item), ranks: make(map[int]bool)}
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

// choose returns what of an item is selected; ok is false where that is nothing.
func (s *chooser) choose(item auto.Item) (_ auto.Item, ok bool) {
	if item.Telemetry != nil { // of no run
		return item, true
	}
	run := item.Recordings()[0].RunName()
	s.runs[run] = true
	if s.All() {
		return item, true
	}
	s.hold(item)
	was := item
	if item.Comm != nil && !s.Comm(item.Comm) {
		item.Comm = nil
		if s.Run(run) {
			s.silenced++
		}
	}
	item.Device, item.Launched = item.Device.Select(&s.Selection), item.Launched.Select(&s.Selection)
	if item.Profiled != nil {
		item.Profiled = s.Window(item.Profiled)
	}
	switch {
	case item.Window != nil:
		if item.Window = s.Window(item.Window); item.Window == nil {
			if was.Launched != nil || was.Device != nil {
				s.behind[run] = item
			}
			break
		}
		if b, found := s.behind[run]; found {
			item.Device, item.Launched = b.Device, b.Launched
			delete(s.behind, run)
		}
		return item, true
	case item.Ops != nil:
		if item.Ops = item.Ops.Select(&s.Selection); item.Ops != nil {
			return item, true
		}
	case len(item.Recordings()) > 0:
		return item, true
	}
	s.left++
	return auto.Item{}, false
}

// hold notes the steps of an item.
func (s *chooser) hold(item auto.Item) {
	note := func(first, last int64) {
		if s.held == (trace.StepRange{}) {
			s.held = trace.StepRange{First: first, Last: last}
		}
		s.held = trace.StepRange{First: min(s.held.First, first), Last: max(s.held.Last, last)}
	}
	switch {
	case item.Window != nil:
		for _, r := range item.Window.Ranks {
			s.ranks[r.ID] = true
		}
		note(item.Window.FirstStep, item.Window.StepAt(item.Window.Steps()-1))
	case item.Ops != nil:
		for _, r := range item.Ops.Ranks {
			s.ranks[r.ID] = true
		}
		note(item.Ops.Steps[0], item.Ops.Steps[len(item.Ops.Steps)-1])
	case item.Device != nil:
		for _, r := range item.Device.Ranks {
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
	return badUsage("--run is %q, the inputs have %s%s", name, someOf(runs), cli.Suggestion(name, runs, ""))
}

// someOf lists names, not too many.
func someOf(names []string) string {
	const most = 8
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d others", n)
	}
	return strings.Join(names, ", ")
}
