package arrivals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Stack is where the main threads of some ranks were when somebody looked: ranks of equal stacks are one.
// In a hang most ranks wait at one line, and who is elsewhere is worth a look; ByteRobust (SOSP 2025)
// isolates machines by it. A stack is of one moment, and ranks that work are elsewhere by right.
type Stack struct {
	Ranks  []int    // ranks that have this stack
	Hosts  []string // of these, "": not known
	Line   Line     // first line outside of PyTorch, installed packages and the standard library, from the inside
	Inner  Line     // innermost frame
	Within bool     // another stack has the same Line, and Inner tells them apart
}

// stood is where the main thread of a rank was.
type stood struct {
	rank  int
	host  string
	stack []comms.Frame
}

// stands keeps the stacks of a record, and what messages of a time-out leave open; it reports whether there is nothing else in it.
func (j *Job) stands(c *comms.Record) (alone bool) {
	for _, p := range c.Processes {
		if p.Stack != nil {
			j.stood = append(j.stood, stood{p.Rank, p.Host, p.Stack})
			alone = true
		}
		if p.Ended != "" {
			if j.ended == nil {
				j.ended = map[int]string{}
			}
			j.ended[p.Rank] = p.Ended
		}
	}
	said := slices.ContainsFunc(c.Sources, func(s comms.Source) bool { return s.Kind == comms.SourceHangText })
	alone = (alone || said) && len(c.Groups) == 0
	for _, n := range c.Notes {
		if n.Kind == input.NoteRecovered {
			j.recovered = append(j.recovered, n.Text)
		} else if alone || said {
			j.notes = append(j.notes, n.Text)
		}
	}
	return alone
}

// ShowsStoppedRanks reports whether stacks, counts of NCCL or a time-out that was got over show ranks that stood.
func (j *Job) ShowsStoppedRanks() bool { return len(j.stood)+len(j.asked)+len(j.recovered) > 0 }

// stacksOf returns the stacks of a job, the most common first. Of a rank with two the last counts.
func (j *Job) stacksOf() []Stack {
	last := map[int]stood{}
	for _, s := range j.stood {
		last[s.rank] = s
	}
	var out ordered.List[string, Stack]
	for _, rank := range slices.Sorted(maps.Keys(last)) {
		frames := last[rank].stack
		s, first := out.Of(fmt.Sprint(frames))
		if first {
			s.Line, s.Inner = lineOf(frames), Line{File: frames[0].File, Line: frames[0].Line, Function: frames[0].Function}
		}
		s.Ranks, s.Hosts = append(s.Ranks, rank), append(s.Hosts, last[rank].host)
	}
	slices.SortStableFunc(out.All, func(a, b Stack) int { return cmp.Compare(len(b.Ranks), len(a.Ranks)) })
	for i := range out.All { // a line that stacks share does not tell them apart
		shares := func(o Stack) bool { return o.Line == out.All[i].Line }
		out.All[i].Within = slices.ContainsFunc(out.All[:i], shares) || slices.ContainsFunc(out.All[i+1:], shares)
	}
	return out.All
}

// Majority returns the stack that more than half of the ranks have, and the others; nil where none has.
func (r *Result) Majority() (most *Stack, others []Stack) {
	all := 0
	for _, s := range r.Stacks {
		all += len(s.Ranks)
	}
	if all == 0 || 2*len(r.Stacks[0].Ranks) <= all {
		return nil, r.Stacks
	}
	return &r.Stacks[0], r.Stacks[1:]
}

// Waits reports whether ranks with the stack are in a collective, where they wait for others.
func (s *Stack) Waits() bool { return nccl.OpIn(s.Line.Call) != nccl.UnknownOp }

// StackOf returns the stack of a rank, nil without one.
func (r *Result) StackOf(rank int) *Stack {
	for i := range r.Stacks {
		if slices.Contains(r.Stacks[i].Ranks, rank) {
			return &r.Stacks[i]
		}
	}
	return nil
}
