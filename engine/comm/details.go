package comm

import (
	"iter"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/engine/comm/bandwidth"
	"github.com/sfstat/sfstat/engine/comm/capacity"
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
	Begin   int64              // when the last of all ranks had come; before that the kernel waits
	Calls   int                // of this rank that the kernel ran
	Bytes   int64              // of these
	Peers   []int              // of messages: ranks of the job, ascending
	Measure *bandwidth.Measure // nil where the kernel did several things at once, or could not be measured
	Subject int                // of Speed.Subjects; None
	capacity.Held
	Tuning *comms.Tuning // of the first rank that its log tells; nil: not known
}

// site is a kernel of a rank.
type site struct{ rank, kernel int }

// moves is what each kernel took part in.
type moves map[site]*Moved

// Moves is what every kernel took part in, by rank and index.
func Moves(r *Result) func(rank, kernel int) *Moved {
	all := movesOf(r)
	return func(rank, kernel int) *Moved { return all[site{rank, kernel}] }
}

func movesOf(r *Result) moves {
	all := moves{}
	for _, m := range r.Matches {
		x := all.of(m.Rank, m.Kernel)
		x.Calls++
		x.Bytes += max(r.Calls[m.Call].Bytes, 0)
		if x.Tuning == nil {
			x.Tuning = r.Calls[m.Call].Tuning
		}
	}
	measured := map[Measured]int{}
	if r.Speed.Result != nil {
		for k, m := range r.Speed.Of {
			measured[m] = k
		}
	}
	for i := range r.Collectives {
		all.collective(r, i, measured)
	}
	subjects := map[[2]int]int{}
	for k, p := range r.Speed.Pairs {
		subjects[[2]int{p.Low, p.High}] = len(r.Communicators) + k
	}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		g, known := subjects[[2]int{t.Ends[0].Rank, t.Ends[1].Rank}]
		if !known {
			g = comms.None
		}
		k, ok := measured[Measured{Collective: comms.None, Transfer: i}]
		if !ok {
			k = comms.None
		}
		all.transfer(r, t, k, g)
	}
	return all
}

func (a moves) of(rank, kernel int) *Moved {
	p := site{rank, kernel}
	if a[p] == nil {
		a[p] = &Moved{Subject: comms.None}
	}
	return a[p]
}

// join adds something that a kernel took part in. The measure of several messages at once is that of none of them.
func (a moves) join(r *Result, p Part, begin int64, measure int) *Moved {
	x := a.of(p.Rank, p.Kernel)
	x.Start, x.Begin = p.Start, max(x.Begin, begin)
	x.Measure = nil
	if x.Parts++; x.Parts == 1 && measure != comms.None && r.Speed.Measures[measure].Transfer > 0 {
		x.Measure = &r.Speed.Measures[measure]
		if own := p.End - p.Start; r.Speed.Theory.Convention == capacity.Thesis && own > 0 {
			m := x.Measure.Over(own)
			x.Measure = &m
		}
	}
	return x
}

func (a moves) collective(r *Result, i int, measured map[Measured]int) {
	c := &r.Collectives[i]
	k, ok := measured[Measured{Collective: i, Transfer: comms.None}]
	if !ok {
		k = comms.None
	}
	var tuning *comms.Tuning
	for _, p := range c.Parts {
		if t := r.Calls[p.Call].Tuning; tuning == nil {
			tuning = t
		}
	}
	held := r.Speed.Theory.Limit(&r.Speed.Subjects[c.Communicator], capacity.Work{Op: c.Op, Algo: r.algoOf(c), Bytes: c.Bytes})
	for _, p := range c.Parts {
		x := a.join(r, p, c.Begin, k)
		x.Subject, x.Held = c.Communicator, held
		if x.Tuning == nil {
			x.Tuning = tuning
		}
	}
}

// transfer adds what two ranks sent each other; measure is index of Speed.Measures and subject of Speed.Subjects, None where there is none.
func (a moves) transfer(r *Result, t *Transfer, measure, subject int) {
	begin, _ := t.Begin()
	for end, p := range t.Ends {
		x := a.join(r, p, begin, measure)
		x.Peers = append(x.Peers, r.Ranks[t.Ends[1-end].Rank].Rank)
		slices.Sort(x.Peers)
		x.Peers = slices.Compact(x.Peers)
		if subject != comms.None {
			x.Subject, x.Held = subject, r.Speed.Theory.Limit(&r.Speed.Subjects[subject], capacity.Work{Op: t.Op, Bytes: t.Bytes})
		}
	}
}

// CallDetails are the calls of the job by rank, in the order of their logs, each once; places are those of [Result.StepTotals], nil: none.
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
