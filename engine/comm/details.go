package comm

import (
	"iter"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/trace/comms"
)

// CallDetail is a call with all that is known of it.
type CallDetail struct {
	Rank         int // index of Ranks
	Call         int // index of Calls
	Kernel       int // of the rank's kernels, which ran it; None: none is known
	Certain      bool
	Reason       align.Reason // why it has no kernel, where it must have none
	Communicator int          // index of Communicators, None: not known
	Place        Place
	Moved        // as its kernel; zero where it has none
}

// Moved is what a kernel took part in: one collective, or messages with some peers. Times are nanoseconds on the first clock.
type Moved struct {
	Parts   int // collectives and messages; 0: nothing that other ranks were seen in
	Start   int64
	Begin   int64    // when the last of all ranks had come; before that the kernel waits
	Calls   int      // of this rank that the kernel ran
	Bytes   int64    // of these
	Peers   []int    // of messages: ranks of the job, ascending
	Measure *Measure // nil where the kernel did several things at once, or could not be measured
	Subject int      // of Speed.Subjects; None
	Held
	Tuning *comms.Tuning // of the first rank that its log tells; nil: not known
}

// moves is what each kernel took part in.
type moves map[site]*Moved

func movesOf(r *Result) moves {
	all := moves{}
	for _, m := range r.Matches {
		x := all.movedAt(m.site())
		x.Calls++
		x.Bytes += max(r.Calls[m.Call].Bytes, 0)
		if x.Tuning == nil {
			x.Tuning = r.Calls[m.Call].Tuning
		}
	}
	for c := range r.CollectivesAndMessages() {
		all.join(r, c)
	}
	return all
}

func (a moves) movedAt(at site) *Moved {
	if a[at] == nil {
		a[at] = &Moved{Subject: comms.None}
	}
	return a[at]
}

// join adds something that kernels took part in. The measure of several messages at once is that of none of them.
func (a moves) join(r *Result, c *Collective) {
	var held Held
	if c.Subject != comms.None {
		held = r.Speed.Theory.Limit(&r.Speed.Subjects[c.Subject], c)
	}
	for i, p := range c.Parts {
		x := a.movedAt(site{p.Rank, p.Kernel})
		x.Start, x.Begin, x.Measure = p.Start, max(x.Begin, c.Begin), nil
		if x.Parts++; x.Parts == 1 && c.Transfer > 0 {
			x.Measure = &c.Measure
			if own := p.End - p.Start; r.Speed.Theory.Convention == Thesis && own > 0 {
				m := c.Rescale(own)
				x.Measure = &m
			}
		}
		if c.Subject != comms.None {
			x.Subject, x.Held = c.Subject, held
		}
		if x.Tuning == nil {
			x.Tuning = c.Tuning
		}
		if c.Message {
			x.Peers = append(x.Peers, r.Ranks[c.Parts[1-i].Rank].Rank)
			slices.Sort(x.Peers)
			x.Peers = slices.Compact(x.Peers)
		}
	}
}

// CallDetails returns the calls of the job by rank, in the order of their logs, each once; places are those of [Result.StepTotals], nil: none.
func CallDetails(r *Result, places []Place) iter.Seq[*CallDetail] {
	return func(yield func(*CallDetail) bool) {
		all, matches := movesOf(r), r.Matches // by rank
		for i := range r.Ranks {
			ran := map[int]Match{} // by call
			for ; len(matches) > 0 && matches[0].Rank == i; matches = matches[1:] {
				ran[matches[0].Call] = matches[0]
			}
			k := &r.Ranks[i]
			why := r.reasons(i)
			for n, c := range k.Calls {
				x := CallDetail{Rank: i, Call: c, Kernel: comms.None, Reason: why[n], Communicator: comms.None, Place: Place{Step: -1}, Moved: Moved{Subject: comms.None}}
				if len(places) > 0 {
					x.Place = places[c]
				}
				if g, known := r.CommunicatorOf(c); known {
					x.Communicator = g
				}
				if m, found := ran[c]; found {
					x.Kernel, x.Certain, x.Moved = m.Kernel, m.Certain, *all[site{i, m.Kernel}]
				}
				if why[n] != align.Duplicate && !yield(&x) {
					return
				}
			}
		}
	}
}
