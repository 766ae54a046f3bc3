package report

import (
	"bufio"
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/glyph"
)

// ArrivalsChrome is a trace for Perfetto of all calls on one clock: a process
// for each rank, in it a track for each group, and an event from the entry of a
// call to the last member's. Calls are given to it rank by rank.
type ArrivalsChrome struct {
	c      *chrome
	rank   int
	groups map[string]int
	until  []int64 // end of the last event of each track
}

// ArrivalsChrome begins a trace. Call Close when all calls were written.
func (o Output) ArrivalsChrome() *ArrivalsChrome {
	a := &ArrivalsChrome{c: &chrome{out: bufio.NewWriter(o.W), first: true}, rank: -1}
	a.c.write(`{"displayTimeUnit":"ns","traceEvents":[`)
	return a
}

// callArgs is what is known of a call.
type callArgs struct {
	Seq   int64   `json:"seq"`
	Group string  `json:"group"`
	Line  string  `json:"entered_from,omitempty"`
	Delay float64 `json:"own_delay_us"`
}

// Call writes a call.
func (a *ArrivalsChrome) Call(x arrivals.Call) {
	if a.c.origin == 0 {
		a.c.origin = x.Enter
	}
	if x.Rank != a.rank {
		a.rank, a.groups, a.until = x.Rank, map[string]int{}, nil
		a.c.event(chromeEvent{Phase: "M", Name: "process_name", Process: x.Rank, Args: nameArgs{fmt.Sprintf("rank %d", x.Rank)}})
		a.c.event(chromeEvent{Phase: "M", Name: "process_sort_index", Process: x.Rank, Args: sortArgs{x.Rank}})
	}
	track, ok := a.groups[x.Group]
	if !ok {
		track = len(a.until)
		a.groups[x.Group] = track
		a.until = append(a.until, 0)
		a.c.event(chromeEvent{Phase: "M", Name: "thread_name", Process: x.Rank, Thread: track, Args: nameArgs{"group " + x.Group}})
	}
	from := max(x.Enter, a.until[track]) // events of a track follow each other
	a.until[track] = max(from+1, x.Release)
	name := glyph.Visible(bareOp(x.Op))
	if !x.Whole {
		name += " (not entered by all)"
	}
	a.c.span(chromeEvent{Name: name, Category: "wait", Process: x.Rank, Thread: track,
		Args: callArgs{x.Seq, glyph.Visible(x.Group), glyph.Visible(entered(x.Line)), float64(x.Delay) / 1e3}}, from, a.until[track])
}

// Close ends the trace.
func (a *ArrivalsChrome) Close() error {
	a.c.write("\n]}\n")
	if a.c.err != nil {
		return a.c.err
	}
	return a.c.out.Flush()
}
