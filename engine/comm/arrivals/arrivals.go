package arrivals

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Options of Analyze. The zero value is usable.
type Options struct {
	// Alpha is the largest chance, over all ranks and places, at which a rank is
	// reported as late; 0: 0.01.
	Alpha float64
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
	Ranks   []int // with a record, ascending
	Missing []int // members of groups without one, ascending
	Calls   int
	Lost    int64 // calls that rings dropped
	Begin   int64 // first and last entry of what repeats, on the common clock
	End     int64
	Step    int64 // the period of what repeats, 0: nothing does
	Clocks  []Clock
	Places  []Place
	Late    []Late // by what they cost
	// Transfers are what follows the last entries of stages.
	Transfers []Transfer
	Set       *Set // ranks of which it is not known who is late
	// MayHide is what may be a delay in every step, or a clock.
	MayHide Hidden
	Hang    *Hang
	// MidStep: calls that some entered and others did not are those of the step in
	// which the records were written.
	MidStep bool
	// Mismatches are calls whose members disagree.
	Mismatches []Mismatch
	Messages   bool     // sends and receives are recorded, and what ranks wait for in them is known at a collective
	ByOrder    []string // groups whose calls were matched by order, as their numbers differ
	Silent     []string // groups of which sends and receives are counted and not recorded
}

// Place is one call of the program, over all ranks.
type Place struct {
	Op      string   `json:"op" doc:"operation as recorded"`
	Bytes   int64    `json:"-"` // elements of the first member's input, −1: not known
	Group   string   `json:"group" doc:"process group of the first of its points"`
	Desc    string   `json:"group_description" null:"zero" doc:"of that group"`
	Kind    nccl.Op  `json:"-"` // of Op; nccl.UnknownOp where the records do not tell
	Stage   string   `json:"stage" null:"zero" doc:"stage in which it is entered, by packets next to the dumps"`
	Phase   Phase    `json:"phase" doc:"part of a step that it is in, by the names of functions"`
	Line    Line     `json:"source_line" null:"zero" doc:"line of the program from which it is entered"`
	After   string   `json:"after" doc:"operation of the call before it"`
	AfterAt Line     `json:"after_line" null:"zero" doc:"line of the call before it"`
	Waits   int      `json:"waits_for" doc:"how many calls back the one is that it is entered after waiting for; 0: it is entered without waiting"`
	Points  int      `json:"points" doc:"synchronisation points that were compared"`
	Members int      `json:"members" doc:"ranks of a point"`
	Skew    int64    `json:"skew_ns" doc:"last entry less first, median"`
	Noise   int64    `json:"noise_ns" doc:"robust standard deviation of own delays"`
	Strikes int      `json:"strikes" doc:"own delays of all ranks beyond three times noise_ns"`
	Repeats bool     `json:"repeats" doc:"it is entered in most steps, and not at the beginning only"`
	Tells   bool     `json:"-"` // a rank that is late at all its points here is not late by chance
	Unlike  bool     `json:"-"` // ends of messages, of a job without a collective at which the work of its ranks compares
	Ranks   []RankAt `json:"ranks" doc:"the ranks at that place"`
}

// RankAt is how one rank does at a place.
type RankAt struct {
	Rank    int     `json:"rank" doc:"global rank"`
	Arrival int64   `json:"arrival_ns" doc:"arrival after the median of the members, median over points"`
	Delay   int64   `json:"delay_ns" doc:"own delay, median"`
	Last    int     `json:"last" doc:"synchronisation points there that it entered last"`
	Strikes int     `json:"strikes" doc:"points that it delayed"`
	Points  int     `json:"points" doc:"synchronisation points there that it entered"`
	Charge  int64   `json:"cost_ns" doc:"its part of what late ranks cost there"`
	P       float64 `json:"p" doc:"chance of so many strikes were all ranks alike; corrected for ranks and places"`
}

// Late is a rank that delays the others.
type Late struct {
	Rank    int
	Host    string
	Group   string // its own, where it costs most
	Desc    string
	Place   int    // index of Places, where it costs most
	Stage   string // that it loses most of its time in, "": several
	Divided bool   // stage times show in which stages it loses its time
	Steady  bool   // either half of the record shows it
	Last    int    // last to enter, of Points at the place
	Points  int
	Strikes int   // points at the place that it delayed
	Delay   int64 // own, median of those
	Excess  int64 // own delay over all strikes and places
	Struck  int   // steps that it delayed, at any place
	Of      int   // steps
	PerStep int64 // own delay of a struck step, over all places, median
	Step    int64 // length of a struck step, median
	LogP    float64
	Gain    float64 // of the struck steps, by fixing it
	RunGain float64 // of all that repeats
	First   int64   // first and last delay, on the common clock
	End     int64
	Steps   [2]int64 // the same as recorded steps; −1: not known
	Clock   bool     // it may be its clock in part: its delay is below the half-width
}

// Set is ranks that arrive late together, after sends and receives that the
// record does not have.
type Set struct {
	Ranks []int `json:"ranks" doc:"ranks of the set"`
	Place int   `json:"place" doc:"index in places"`
	Delay int64 `json:"delay_ns" doc:"how much later than the others they arrive"`
}

// Analyze compares the arrivals of all ranks.
func (j *Job) Analyze(o Options) *Result {
	if o.Alpha == 0 {
		o.Alpha = gates.Strong
	}
	if len(j.ranks) == 0 && len(j.profiled) > 0 {
		hosts := &Job{hosts: j.hosts, timelines: j.timelines}
		hosts.prepare()
		for _, c := range j.profiled {
			hosts.add(c)
		}
		return hosts.Analyze(o)
	}
	if j.byRank == nil {
		return &Result{}
	}
	m := j.match()
	t := m.align()
	s := t.tallies()
	r := &Result{Clocks: t.clocks, Mismatches: m.mismatches()}
	for i := range j.ranks {
		r.Ranks = append(r.Ranks, j.ranks[i].id)
		r.Calls += len(j.ranks[i].calls)
		r.Lost += max(0, j.ranks[i].lost)
	}
	r.Missing = m.unrecorded()
	for g := range m.groups {
		if m.byOrder[g] {
			r.ByOrder = append(r.ByOrder, m.groups[g].name)
		}
		if m.silent[g] {
			r.Silent = append(r.Silent, m.groups[g].name)
		}
	}
	stages, lines := s.placed()
	r.Transfers = s.transfers(lines)
	steps := s.extent(r, lines)
	s.table(r, stages)
	gathers := slices.ContainsFunc(r.Places, func(p Place) bool { return p.Repeats && !p.Unlike })
	for i := range r.Places {
		p := &r.Places[i]
		p.Unlike = p.Unlike && !gathers
		p.Tells = !p.Unlike && s.tells(i, math.Log(o.Alpha))
	}
	s.late(r, math.Log(o.Alpha), steps, lines)
	r.locate(lines)
	s.hang(r, lines)
	r.MayHide = s.mayHide(r)
	r.Messages = s.blocks != nil && len(r.Silent) == 0 && gathers
	if o.Each != nil {
		s.each(o.Each, lines, steps)
	}
	if o.EachPoint != nil {
		s.eachPoint(o.EachPoint)
	}
	return r
}

// each hands out all calls.
func (s *strikes) each(f func(Call), lines []fitted, steps stepping) {
	own := map[entry]int64{}
	s.eachDelay(func(_ *place, _ int, e entry, x int64) { own[e] = x })
	for r := range s.ranks {
		for i := range s.ranks[r].calls {
			e := entry{int32(r), int32(i)}
			c, k, p := s.call(e), s.kindOf(e), s.matching.of[r][i]
			step, stage := whereAt(lines, steps, s.ranks[r].id, s.at(e))
			f(Call{Rank: s.ranks[r].id, Op: k.name, Group: s.groups[c.group].name, Seq: c.seq, Line: s.lineAt(k), Enter: s.at(e),
				Release: max(s.at(e), s.releaseFor(e)), Whole: s.points[p].whole, Delay: own[e],
				Step: step, Stage: stage})
		}
	}
}

// repeats reports whether a place is part of what the job repeats, and not of
// its beginning.
func (s *strikes) repeats(at int) bool {
	return len(s.places[at].cohorts) >= max(enough, s.most/20)
}

// table makes the places of a result.
func (s *strikes) table(r *Result, stages []string) {
	for i := range s.places {
		p := &s.places[i]
		e := p.cohorts[0][0]
		k, c := s.kindOf(e), s.call(e)
		line := s.lineAt(k)
		out := Place{Op: k.name, Kind: k.op, Bytes: -1, Group: s.groups[c.group].name, Desc: s.groups[c.group].desc, Line: line, Phase: line.Phase,
			Stage: stages[i], After: s.kinds[p.before].name, AfterAt: s.lineAt(&s.kinds[p.before]), Waits: int(p.lag), Points: len(p.cohorts),
			Noise: int64(s.sigma[i]), Repeats: s.repeats(i), Unlike: s.divided(i)}
		if k.tensors != nil {
			out.Bytes = comms.Elements(k.tensors.InSizes)
		}
		arrivals := map[int32][]int64{}
		var skews, times []int64
		for _, c := range p.cohorts {
			times = times[:0]
			for _, e := range c {
				times = append(times, s.at(e))
			}
			skews = append(skews, slices.Max(times)-slices.Min(times))
			mid := median(times)
			out.Members = max(out.Members, len(c))
			for _, e := range c {
				arrivals[e.rank] = append(arrivals[e.rank], s.at(e)-mid)
			}
		}
		out.Skew = median(skews)
		for rank := range s.ranks {
			t := s.cells[cell{i, rank}]
			if t == nil {
				continue
			}
			out.Strikes += len(t.struck)
			out.Ranks = append(out.Ranks, RankAt{Rank: s.ranks[rank].id, Arrival: median(arrivals[int32(rank)]), Delay: median(t.own()),
				Points: t.count, Last: t.last, Strikes: len(t.struck), Charge: int64(t.charge), P: math.Exp(s.test(cell{i, rank}).logP)})
		}
		r.Places = append(r.Places, out)
	}
}

// locate fills in the recorded steps of late ranks.
func (r *Result) locate(lines []fitted) {
	for i := range r.Late {
		l := &r.Late[i]
		l.Steps = [2]int64{-1, -1}
		for k := range lines {
			first, last := lines[k].step(l.First), lines[k].step(l.End)
			if first >= 0 && last >= 0 {
				l.Steps = [2]int64{lines[k].steps[first], lines[k].steps[last]}
				break
			}
		}
	}
}

// divided reports whether a place is a send or receive. Its two ends are different parts
// of the program: the work before them counts at the collective after it, if there is one.
func (s *strikes) divided(at int) bool {
	return s.blocks != nil && s.isMessage(s.call(s.places[at].cohorts[0][0]))
}

// found is a rank that is late at a place beyond chance, with its strikes there.
type found struct {
	cell
	*tally
	tested
	struck []strike
	excess int64
}

// late fills in who delays the others, and what that costs.
func (s *strikes) late(r *Result, alpha float64, steps stepping, lines []fitted) {
	if slices.Contains(s.silent, true) {
		s.set(r)
		return
	}
	var all []found
	for at, t := range s.cells {
		if !s.repeats(at.place) || s.divided(at.place) || t.charge <= 0 {
			continue
		}
		if test := s.test(at); test.logP <= alpha {
			f := found{cell: at, tally: t, tested: test}
			f.struck, f.excess = t.above(test.limit)
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.charge, a.charge), cmp.Compare(a.rank, b.rank), cmp.Compare(a.place, b.place))
	})
	if len(all) == 0 {
		return
	}
	less := s.fixed(all)
	saved := float64(max(0, s.replay(less)))
	span := float64(max(1, r.End-r.Begin))
	total := 0.0
	for _, f := range all {
		total += f.charge
	}
	var late ordered.List[int, Late]
	struck := map[int][]strike{}
	for _, f := range all {
		struck[f.rank] = append(struck[f.rank], f.struck...)
		l, first := late.Of(f.rank)
		if first {
			*l = s.latest(f)
		}
		l.Excess += f.excess
		l.LogP = min(l.LogP, f.logP)
		l.First, l.End = min(l.First, f.struck[0].middle()), max(l.End, f.struck[len(f.struck)-1].middle())
		l.RunGain += saved / span * f.charge / total
	}
	r.Late = late.All
	for i := range r.Late {
		l := &r.Late[i]
		of := steps.struck(struck[s.byRank[l.Rank]])
		l.Struck, l.Of, l.PerStep, l.Step = of.steps, of.of, of.own, of.length
		l.Gain = min(1, max(l.RunGain, l.RunGain*span/float64(max(1, of.time))))
		l.Stage, l.Divided = s.lostIn(s.byRank[l.Rank], all, lines)
	}
}

// latest is a rank at the place where it costs most.
func (s *strikes) latest(f found) Late {
	steady := s.steady(f.cell)
	f = s.begun(f)
	var own []int64
	for _, x := range f.struck {
		own = append(own, x.own)
	}
	l := Late{Rank: s.ranks[f.rank].id, Place: f.place, Last: f.last, Points: f.count, Strikes: len(f.struck), Delay: median(own),
		LogP: f.logP, Steady: steady, First: f.struck[0].middle(), End: f.struck[len(f.struck)-1].middle()}
	for _, c := range s.places[f.place].cohorts {
		if i := slices.IndexFunc(c, func(e entry) bool { return int(e.rank) == f.rank }); i >= 0 {
			g := s.groups[s.call(c[i]).group]
			l.Group, l.Desc = g.name, g.desc
			break
		}
	}
	c := s.clocks[s.domain[f.rank]]
	l.Host = c.Host
	// Two clocks that were left as they are may be apart by as much: then the other
	// rank is late elsewhere.
	bounded := c.HalfWidth >= 0 && l.Delay >= c.HalfWidth && !(len(s.clocks) == 2 && s.agree && 2*l.Strikes > l.Points)
	l.Clock = s.even(f.rank, l.Delay) || len(s.clocks) > 1 && s.places[f.place].lag > 0 && len(c.Ranks) < 2 && !bounded
	return l
}

// begun is the send or receive before a collective at which most of a rank's own
// delay arises, or else the collective.
func (s *strikes) begun(f found) found {
	most := f.excess / 2
	for at, t := range s.cells {
		if at.rank == f.rank && t.excess > most && s.repeats(at.place) && s.divided(at.place) {
			f.place, f.tally, f.struck, most = at.place, t, t.struck, t.excess
		}
	}
	return f
}

// fixed is by how much the work of struck entries is above their peers'.
func (s *strikes) fixed(all []found) map[entry]int64 {
	less := map[entry]int64{}
	limit := map[cell]int64{}
	for _, f := range all {
		limit[f.cell] = f.limit
	}
	for i := range s.places {
		s.only(i).eachDelay(func(_ *place, _ int, e entry, x int64) {
			if l, late := limit[cell{i, int(e.rank)}]; late && x > l {
				s.lessen(less, e, x)
			}
		})
	}
	return less
}

// lessen takes own delay from the work of an entry or, of a rank that sends and
// receives before it, from the longest piece of that.
func (s *strikes) lessen(less map[entry]int64, e entry, x int64) {
	at, most := e, s.work(e, s.lagOf(e, 0))
	for m := e; s.blocks != nil && !s.isMessage(s.call(e)) && m.call > 1; {
		if m.call--; !s.isMessage(s.call(m)) {
			break
		}
		if w := s.work(m, s.lagOf(m, 0)); w > most {
			at, most = m, w
		}
	}
	less[at] += x
}

// set finds ranks that are late together where messages are not recorded. What
// a rank waits for in them is not known, so that each seems late by what those
// before it in a chain take. One step between neighbours that is twice as long as
// any other is a delay of the first behind it, or of a message to it.
func (s *strikes) set(r *Result) {
	for i := range s.places {
		if g := s.call(s.places[i].cohorts[0][0]).group; !s.silent[g] || !s.repeats(i) || s.width[i] < 3 {
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
