package arrivals

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Options of Analyze. The zero value is usable.
type Options struct {
	// MinGain is the part of the run from which on a delay is large enough to act on; 0: 0.10.
	MinGain float64
	// HangOnly leaves out who arrives late: the result has no places and nobody late.
	HangOnly bool
	// Each is called for every call, rank by rank in the order of time; nil: no.
	Each func(Call)
	// EachPoint is called for every synchronisation point, group by group in the
	// order of time; nil: no.
	EachPoint func(Point)
}

// Call is one call of one rank, on the common clock.
type Call struct {
	Rank    int
	Op      string
	Group   string
	Seq     int64
	Line    Line
	Enter   int64
	Release int64  // when the last member entered it
	Whole   bool   // all members did
	Delay   int64  // own, before it; 0 where it is not known
	Step    int64  // that it was entered in, as recorded, or else counted from 0; −1: not known
	Stage   string // likewise; "" where stage times do not tell
}

// Result is who arrives late, who is missing, and what does not match.
type Result struct {
	Ranks   []int        // ranks that left a dump; ascending, as the next
	Missing []int        // members of groups that left no dump
	Calls   int          // calls that were read
	Lost    int64        // calls that had left the rings before the dump
	Begin   int64        // begin of the steps that repeat, on the first clock, since 1970; the first entry of what repeats
	End     int64        // end of the steps that repeat, likewise
	Step    int64        // length of a step; 0: nothing repeats
	ByOrder []string     // groups whose sequence numbers differ between ranks
	Silent  []string     // groups whose sends and receives are counted and not recorded
	Clocks  []sync.Clock // clocks of the hosts
	Set     *Set         // ranks that are late together, the cause among them not known; nil: none; because of messages
	Places  []Place      // places of the program from which ranks enter calls
	Latest  Latest       // who enters last most often
	// Late are claims about one rank each, by what they save; Doubted those about ranks that are late more often
	// than is likely where Late is empty, which may be chance. Their parts and [claim.Entered] count in Places.
	Late, Doubted []claim.Claim
	// Unawaited is a claim about a rank that enters last more often than chance, where nobody else is late and no call
	// shows that the others wait for it; nil: there is none.
	Unawaited *claim.Claim
	Joint     float64 // part of what repeats that goes when all of them are fixed
	// Common are certain claims about all ranks alike: steps that take longer from one on, or now and then. Their parts are the work before
	// the calls of Places or, by [Result.PartAt], what follows those of a point.
	Common []claim.Claim
	// Between is who is longest between the steps, where calls are entered there.
	Between Between
	// Transfers are what follows the last entries of stages.
	Transfers []Transfer
	// MayHide is what may be a delay in every step, or a clock.
	MayHide Hidden
	Hang    *Hang
	// MidStep: calls that some entered and others did not are those of the step in
	// which the records were written.
	MidStep bool
	Untold  []int          `json:"-"` // ranks whose records do not show how far they got
	Noted   []string       // what is not known of the stacks and of messages of time-outs
	Ended   map[int]string // exceptions and exit codes of ranks that ended, as their log says
	// Recovered are time-outs behind which the job went on.
	Recovered []string
	Stacks    []Stack // of main threads, that of most ranks first; nil: nobody looked
	Asked     *Asked  // what NCCL answered of its counts; nil: nobody asked
	// Division is the steps divided by the calls that ranks wait for, its stages being Places; nil where no call is made
	// once a step, or ranks are judged in sets that nothing connects. HalfWidth is how far clocks may be off, ns; negative: not known.
	Division  *sync.Division
	HalfWidth int64
	Cuts      *Cuts // of stages in which all ranks wait; nil: not known
	// Mismatches are calls whose members disagree.
	Mismatches []Mismatch
	Messages   bool // sends and receives are recorded, and what ranks wait for in them is known at a collective
	Neighbours bool // ranks synchronise by messages to their neighbours alone, and are compared by what they work in a step
	Roles      bool // of these, each rank may have work of its own, as the stages of a pipeline have
	Apart      bool // nothing recorded connects some ranks with the others
}

// Latest is the rank that enters the calls of a place that repeats last most often, of all such places the one where
// that is least likely to be chance. P holds for all of them.
type Latest struct {
	delay.Latest     // Rank is global
	Place        int // in places
}

// Place is one call of the program, over all ranks.
type Place struct {
	Op      string  // operation as recorded
	Bytes   int64   // elements of the first member's input, −1: not known
	Group   string  // process group of the first of its points
	Desc    string  // of that group
	Kind    nccl.Op // of Op; nccl.UnknownOp where the records do not tell
	Stage   string  // stage in which it is entered, by packets next to the dumps
	Phase   Phase   // part of a step that it is in, by the names of functions
	Line    Line    // line of the program from which it is entered
	After   string  // operation of the call before it
	AfterAt Line    // line of the call before it
	Waits   int     // how many calls back the one is that it is entered after waiting for; 0: it is entered without waiting
	Points  int     // synchronisation points that were compared
	Members int     // ranks of a point
	Skew    int64   // last entry less first, median
	Noise   int64   // robust standard deviation of own delays
	Strikes int     // own delays of all ranks beyond three times Noise
	Repeats bool    // it is entered in most steps, and not at the beginning only
	// Since is how long the rank that takes longest is there from the call before on, mean, ns of a step: no delay before the
	// place costs more.
	Since int64
	// Limit is the delay of one rank in every step that would have been found before it, ns; 0: none would.
	Limit   int64
	Perhaps bool     // a rank is late there by enough to act on, and it may be chance
	Unlike  bool     // ends of messages, of a job without a collective at which the work of its ranks compares
	Ranks   []RankAt // the ranks at that place
}

// RankAt is how one rank does at a place.
type RankAt struct {
	Rank    int     // global rank
	Arrival int64   // arrival after the median of the members, median over points
	Delay   int64   // own delay, median
	Last    int     // synchronisation points there that it entered last
	Strikes int     // points that it delayed
	Points  int     // synchronisation points there that it entered
	Charge  int64   // its part of what late ranks cost there
	P       float64 // chance of so many strikes were all ranks alike; corrected for ranks and places
}

// Set is ranks that arrive late together, after sends and receives that the
// record does not have.
type Set struct {
	Ranks []int // ranks of the set
	Place int   // index in places
	Delay int64 // how much later than the others they arrive
}

// Analyze compares the arrivals of all ranks.
func (j *Job) Analyze(o Options) *Result {
	if len(j.Ranks) == 0 && len(j.profiled) > 0 {
		hosts := &Job{Program: sync.Program{Hosts: j.Hosts, Locals: j.Locals}, timelines: j.timelines, stood: j.stood, notes: j.notes, recovered: j.recovered, ended: j.ended, asked: j.asked}
		hosts.Prepare()
		for _, c := range j.profiled {
			hosts.Program.Add(c)
		}
		return hosts.Analyze(o)
	}
	if j.ByRank == nil {
		return &Result{Stacks: j.stacksOf(), Noted: j.notes, Recovered: j.recovered, Ended: j.ended, Asked: j.answers()}
	}
	m := j.Match()
	s, stages, lines := j.align(m)
	for i := range s.Places {
		if !o.HangOnly {
			s.tally(i)
		}
	}
	r := &Result{Clocks: s.Clocks, Mismatches: s.mismatches(), Stacks: j.stacksOf(), Noted: j.notes, Recovered: j.recovered, Ended: j.ended, Asked: j.answers()}
	for i := range j.Ranks {
		r.Ranks = append(r.Ranks, j.Ranks[i].ID)
		r.Calls += len(j.Ranks[i].Calls)
		r.Lost += max(0, j.Ranks[i].Lost)
	}
	r.Missing = m.MissingRanks()
	for g := range m.Groups {
		if m.ByOrder[g] {
			r.ByOrder = append(r.ByOrder, m.Groups[g].Name)
		}
		if m.Silent[g] {
			r.Silent = append(r.Silent, m.Groups[g].Name)
		}
	}
	steps := s.extent(r, lines)
	if o.HangOnly {
		s.hang(r, lines)
		return r
	}
	r.Transfers = s.transfers(lines)
	s.table(r, stages)
	gathers := slices.ContainsFunc(r.Places, func(p Place) bool { return p.Repeats && !p.Unlike })
	for i := range r.Places {
		r.Places[i].Unlike = r.Places[i].Unlike && !gathers
	}
	if slices.Contains(s.Silent, true) {
		s.set(r)
	} else {
		s.late(r, o, lines, steps)
	}
	r.Neighbours = s.meeting != nil
	r.Roles = r.Division != nil && r.Division.Roles
	for i := range r.Places {
		r.Places[i].Unlike = r.Places[i].Unlike && !r.Neighbours
	}
	r.locate(lines)
	r.Between = s.delayBetweenSteps(lines)
	s.hang(r, lines)
	r.MayHide = s.mayHide(r)
	r.Late, r.Doubted = slices.DeleteFunc(r.Late, s.eitherClock), slices.DeleteFunc(r.Doubted, s.eitherClock)
	r.Messages = s.Blocks != nil && len(r.Silent) == 0 && gathers
	if o.Each != nil {
		s.each(o.Each, lines, steps)
	}
	if o.EachPoint != nil {
		s.eachPoint(o.EachPoint)
	}
	return r
}

// align finds what the ranks of a matched job wait for, the stage of each place, and when the timelines of the first ranks began.
func (j *Job) align(m *sync.Matching) (s *strikes, stages []string, lines []fitted) {
	m.StaysFor = j.stays(m)
	s = j.strikes(m.Align())
	stages, lines = s.placeStages()
	s.Busy = s.workTimes(stages)
	return s, stages, lines
}

// each hands out all calls.
func (s *strikes) each(f func(Call), lines []fitted, steps []int64) {
	own := map[sync.Entry]int64{}
	for i := range s.Places {
		s.VisitWork(&s.Places[i], func(e sync.Entry, _, x int64) { own[e] = x })
	}
	for r := range s.Ranks {
		for i := range s.Ranks[r].Calls {
			e := sync.Nth(r, i)
			c, k, p := s.Call(e), s.KindOf(e), s.Matching.Of[r][i]
			step, stage := whereAt(lines, steps, s.Ranks[r].ID, s.Time(e))
			f(Call{Rank: s.Ranks[r].ID, Op: k.Name, Group: s.Groups[c.Group].Name, Seq: c.Seq, Line: s.lineAt(k), Enter: s.Time(e),
				Release: max(s.Time(e), s.ReleaseFor(e)), Whole: s.IsComplete(&s.Points[p]), Delay: own[e],
				Step: step, Stage: stage})
		}
	}
}

// table makes the places of a result.
func (s *strikes) table(r *Result, stages []string) {
	for i := range s.Places {
		p := &s.Places[i]
		e := p.Cohorts[0][0]
		k, c := s.KindOf(e), s.Call(e)
		line := s.lineAt(k)
		out := Place{Op: k.Name, Kind: k.Op, Bytes: -1, Group: s.Groups[c.Group].Name, Desc: s.Groups[c.Group].Desc, Line: line, Phase: line.Phase,
			Stage: stages[i], After: s.Kinds[p.Before].Name, AfterAt: s.lineAt(&s.Kinds[p.Before]), Waits: p.CallsBack(), Points: len(p.Cohorts),
			Noise: int64(s.sigma[i]), Repeats: s.Repeats(i), Unlike: s.IsMessageAt(i)}
		if k.Tensors != nil && !s.Varies[p.Kind] {
			out.Bytes = comms.Elements(k.Tensors.InSizes)
		}
		out.Since = s.sinceCall(p, r)
		arrivals, _ := s.Deviations(p.Cohorts, s.Time)
		var skews []int64
		for _, c := range p.Cohorts {
			skews = append(skews, sync.Span(c, s.Time))
			out.Members = max(out.Members, len(c))
		}
		out.Skew = robust.Lower(skews)
		for rank := range s.Ranks {
			t := s.cells[cell{i, rank}]
			if t == nil {
				continue
			}
			out.Strikes += t.strikes
			out.Ranks = append(out.Ranks, RankAt{Rank: s.Ranks[rank].ID, Arrival: robust.Lower(arrivals[rank]), Delay: robust.Lower(slices.Clone(t.own)),
				Points: len(t.own), Last: t.last, Strikes: t.strikes, P: 1})
		}
		r.Places = append(r.Places, out)
	}
	r.Latest = s.latest(r.Places)
}

// sinceCall returns how long a rank takes from the call before to those of a place, mean, ns of a step, of the rank that takes longest.
func (s *strikes) sinceCall(p *sync.Place, r *Result) int64 {
	took := make([]int64, len(s.Ranks))
	for _, c := range p.Cohorts {
		for _, e := range c {
			if e.Call > 0 {
				took[e.Process] += s.Time(e) - s.Time(sync.Previous(e, 1))
			}
		}
	}
	steps := float64(r.End-r.Begin) / float64(max(1, r.Step))
	return int64(float64(slices.Max(took)) / max(1, steps))
}

// latest returns who enters calls last most often. It tests places that repeat and at which the work of ranks compares.
func (s *strikes) latest(places []Place) Latest {
	out, tested := Latest{Latest: delay.Latest{Rank: -1, P: 1}}, 0
	var at []int64
	for i := range places {
		if p := &places[i]; !p.Repeats || p.Unlike {
			continue
		}
		last := delay.LastArrivals{Ranks: places[i].Members}
		for _, c := range s.Places[i].Cohorts {
			at = at[:0]
			for _, e := range c {
				at = append(at, s.Time(e))
			}
			last.Add(at, func(k int) int { return int(c[k].Process) })
		}
		l := last.MostFrequent()
		if l.Rank < 0 || !s.clocksWithin(l.Behind) {
			continue
		}
		if tested++; out.Rank < 0 || l.P < out.P {
			out = Latest{l, i}
		}
	}
	if out.Rank >= 0 {
		out.Rank, out.P = s.Ranks[out.Rank].ID, min(1, out.P*float64(tested))
	}
	return out
}

// clocksWithin reports whether the clocks of the hosts are known to less than a time in ns.
func (s *strikes) clocksWithin(least int64) bool {
	return len(s.Clocks) < 2 || !slices.ContainsFunc(s.Clocks, func(c sync.Clock) bool { return c.HalfWidth < 0 || c.HalfWidth >= least })
}

// lateClaims returns the ranks that are late, for certain or not.
func (r *Result) lateClaims() (list []*claim.Claim) {
	for i := range r.Late {
		list = append(list, &r.Late[i])
	}
	for i := range r.Doubted {
		list = append(list, &r.Doubted[i])
	}
	if r.Unawaited != nil {
		list = append(list, r.Unawaited)
	}
	return list
}

// locate fills in the recorded steps of late ranks.
func (r *Result) locate(lines []fitted) {
	for _, c := range r.lateClaims() {
		l := c.Entered
		l.Recorded = [2]int64{-1, -1}
		for k := range lines {
			first, last := lines[k].step(l.First), lines[k].step(l.End)
			if first >= 0 && last >= 0 {
				l.Recorded = [2]int64{lines[k].steps[first], lines[k].steps[last]}
				break
			}
		}
	}
}

// joinUnconnected puts late ranks together that no recorded call connects with each other, as those of the
// stages of a pipeline whose messages nobody recorded: each may be late because another is.
func (s *strikes) joinUnconnected(r *Result, of []int) {
	if len(r.Late) == 0 || !slices.ContainsFunc(r.Late, func(l claim.Claim) bool { return of[s.ByRank[l.Rank()]] != of[s.ByRank[r.Late[0].Rank()]] }) {
		return
	}
	r.Set = &Set{Place: r.Late[0].Entered.Place}
	for _, l := range r.Late {
		r.Set.Delay = max(r.Set.Delay, l.Size)
		r.Set.Ranks = append(r.Set.Ranks, l.Rank())
	}
	slices.Sort(r.Set.Ranks)
	r.Late, r.Joint = nil, 0
}

// restrict returns what ranks of a set entered: of each place the cohorts that are theirs.
func (s *strikes) restrict(of []int, set int) *strikes {
	t := *s.Waits
	t.Places = slices.Clone(t.Places)
	for i := range t.Places {
		t.Places[i].Cohorts = slices.DeleteFunc(slices.Clone(t.Places[i].Cohorts), func(c sync.Cohort) bool { return of[c[0].Process] != set })
	}
	out := *s
	out.Waits = &t
	return &out
}

// connectedSets returns the ranks that calls connect, directly or by others: of each, the first of them. Where a step
// repeats calls, those that it does not repeat, as at the beginning of a job, connect nobody: ranks wait for each
// other in what was recorded of the steps, or in what was not.
func (s *strikes) connectedSets() []int {
	t := sync.NewSets(len(s.Ranks))
	connect := func(entries []sync.Entry) {
		for _, e := range entries[min(1, len(entries)):] {
			t.Join(int(entries[0].Process), int(e.Process))
		}
	}
	repeating := s.Repeating()
	for _, i := range repeating {
		for _, c := range s.Places[i].Cohorts {
			if len(s.Points[s.Of[c[0].Process][c[0].Call]].Entries) == len(c) { // and no step of a chain of messages
				connect(c)
			}
		}
	}
	for i := range s.Points {
		if len(repeating) == 0 || s.Points[i].Message {
			connect(s.Points[i].Entries)
		}
	}
	for r := range t {
		t[r] = t.First(r)
	}
	return t
}

// set finds ranks that are late together where messages are not recorded. What
// a rank waits for in them is not known, so that each seems late by what those
// before it in a chain take. One step between neighbours that is twice as long as
// any other is a delay of the first behind it, or of a message to it.
func (s *strikes) set(r *Result) {
	for i := range s.Places {
		if g := s.Call(s.Places[i].Cohorts[0][0]).Group; !s.Silent[g] || !s.Repeats(i) || len(s.Places[i].Cohorts[0]) < 3 {
			continue
		}
		ranks := slices.Clone(r.Places[i].Ranks)
		slices.SortStableFunc(ranks, func(a, b RankAt) int { return cmp.Compare(a.Arrival, b.Arrival) })
		behind, most, next := 0, int64(0), int64(0)
		for k := 1; k < len(ranks); k++ {
			gap := ranks[k].Arrival - ranks[k-1].Arrival
			if next = max(next, min(gap, most)); gap > most {
				behind, most = k, gap
			}
		}
		if most <= 2*next || r.Set != nil && most-next <= r.Set.Delay {
			continue
		}
		r.Set = &Set{Place: i, Delay: most - next}
		for _, at := range ranks[behind:] {
			r.Set.Ranks = append(r.Set.Ranks, at.Rank)
		}
		slices.Sort(r.Set.Ranks)
	}
}
