package delay

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
)

// cause is what is fixed as one: terms of a rank, or of ranks that are late for one reason.
type cause struct {
	kind  claim.Kind
	ranks []int
	host  int
	terms []*term
	tied  bool // the ranks end the piece together, so that one of them may be late alone
	apart bool // terms strike in intervals of their own, each an event
}

// strikes reports whether the intervals of a term are those that a cause strikes: of its largest term's piece, or of any where they strike apart.
func (c *cause) strikes(t *term) bool { return c.apart || t.piece == c.main().piece }

// termFindings turns terms into findings.
func (s *series) termFindings(terms []*term, run *Run, o Options) (out []claim.Claim) {
	if len(terms) == 0 {
		return nil
	}
	before := s.Arrivals // as recorded
	clean := s.length(s.arrive)
	s.joint = 1 - clean/s.whole
	h := s.hiddenTimes()
	for _, c := range s.causes(terms, run) {
		f := s.finding(c, o)
		alone := subtractTerms(before, s, c.terms, 0)
		one := 1 - s.length(alone)/s.whole
		f.Saves.After = 1 - clean/s.length(addTerms(s.arrive, s, c.terms))
		low, high, mid := s.interval(before, alone, c, h, one)
		f.Saves.Alone, f.Saves.Low, f.Saves.High = mid, low, high
		f.Saves.AtMost = f.Saves.Alone
		if c.kind == claim.Rank {
			struck := c.struck(s.Intervals)
			f.Factor = s.factor(c.ranks[0], struck)
			if f.Factor > 0 {
				f.Saves.AtMost = min(0.95, max(one, high, s.paceSaving(before, c.ranks[0], f.Factor, struck))+(1-1/f.Factor)*s.mayHide(struck)/s.whole)
				f.Saves.High = max(f.Saves.High, f.Saves.AtMost)
			}
		}
		f.Ends = s.addUnrecordedCost(&f.Saves, c)
		if c.kind == claim.Rank {
			main := c.main()
			if f.Pace = s.pace(cell{main.rank, main.piece}); f.Pace != nil {
				limitToPace(&f)
			}
		}
		out = append(out, f)
	}
	return out
}

// addUnrecordedCost adds to what a cause saves what it may cost in steps that its ranks did not record, and others did: as much as
// in those recorded, and where its record ends no more than that, which it reports. No more than that it may cost, too, where none of its peers
// recorded anything that it could be late beside.
func (s *series) addUnrecordedCost(saves *claim.Saving, c cause) (ends bool) {
	if s.Missing == nil {
		return false
	}
	own, alone, main := 0.0, 0.0, c.main()
	for n, took := range s.took {
		if s.Head[n] < 0 {
			continue
		}
		if ends = s.Lacks(n, main.rank); ends {
			own += took
		} else if s.isOnlyRecorded(n, main.rank) {
			alone += took
		}
	}
	if own+alone == 0 || own+alone >= s.whole {
		return false
	}
	most := s.whole / (s.whole - own - alone)
	saves.High, saves.AtMost = most*max(saves.Largest(), saves.High), most*saves.AtMost
	if by := s.whole / (s.whole - own); !ends {
		saves.Alone, saves.After = by*saves.Alone, by*saves.After
	}
	return ends
}

// isOnlyRecorded reports whether no peer of a rank recorded the step of an interval's head.
func (s *series) isOnlyRecorded(n, rank int) bool {
	return !slices.ContainsFunc(s.peers[s.of[rank]], func(q int) bool { return q != rank && !s.Lacks(n, q) })
}

// mostTimes is the part of the steps in which a rank must be late to be late in every step.
const mostTimes = 0.6

// doubted is the chance up to which a delay that is large enough to act on is told, as one that may be
// chance: two ranks, of which one is late at each of five checkpoints, allow no more.
const doubted = 1.0 / 4

// unsure returns the rank that is late in most steps by enough to act on, or in some more often than is likely, where the steps
// are too few or too noisy to exclude chance; no rank where one is certainly late.
func (s *series) unsure(found []claim.Claim, o Options) []claim.Claim {
	if len(found) > 0 {
		return nil
	}
	if t := s.surest(max(o.Level, doubted), make(map[cell]bool)); t != nil {
		if f := s.event(o, t); f.Saves.Alone >= o.MinGain {
			return []claim.Claim{f}
		}
	}
	var out []claim.Claim
	for _, c := range s.candidates() {
		e := s.column(s.excess[c.piece], c.rank)
		t := &term{rank: c.rank, piece: c.piece, claim: winsorizedMean(e), d: make([]float64, len(e)), pattern: claim.Constant, chance: chance{p: 1, block: 1}}
		times, seen := 0, 0
		for n, x := range e {
			if !s.HasPiece(n, c.piece, c.rank) {
				continue
			}
			seen++
			t.d[n] = t.claim
			if x > t.claim/2 {
				times++
			}
		}
		if t.claim <= 0 || float64(times) < mostTimes*float64(seen) {
			continue
		}
		t.charged = t.claim * float64(seen)
		if f := s.event(o, t); f.Saves.Alone >= o.MinGain && (len(out) == 0 || f.Saves.Alone >= out[0].Saves.Alone) {
			out = []claim.Claim{f}
		}
	}
	return out
}

// event returns terms of a rank that may be chance, or happened once, beside what was found.
func (s *series) event(o Options, terms ...*term) claim.Claim {
	gain := (s.length(s.arrive) - s.length(subtractTerms(s.arrive, s, terms, 0))) / s.whole
	f := s.finding(cause{kind: claim.Rank, ranks: []int{terms[0].rank}, host: -1, terms: terms, apart: true}, o)
	f.Certainty, f.Saves = claim.Event, claim.Exact(gain)
	f.Saves.Low = 0
	return f
}

// causes returns combined terms: of one rank, and of ranks that are late in one piece, by as much, in the same steps: a host, a
// set of peers, or many ranks.
func (s *series) causes(terms []*term, run *Run) (out []cause) {
	byRank := map[int]*cause{}
	var order []*cause
	for _, t := range terms {
		c := byRank[t.rank]
		if c == nil {
			c = &cause{kind: claim.Rank, ranks: []int{t.rank}, host: -1}
			byRank[t.rank] = c
			order = append(order, c)
		}
		c.terms = append(c.terms, t)
	}
	taken := make(map[*cause]bool)
	for _, host := range s.hostsByTurns(order, run) {
		one := cause{kind: claim.Host, host: run.Hosts[host[0].ranks[0]]}
		for _, m := range host {
			taken[m] = true
			one.ranks, one.terms = append(one.ranks, m.ranks...), append(one.terms, m.terms...)
		}
		slices.Sort(one.ranks)
		out = append(out, one)
	}
	for i, c := range order {
		if taken[c] {
			continue
		}
		main := c.main()
		same := []*cause{c}
		for _, o := range order[i+1:] {
			if !taken[o] && areAlike(main, o.main()) {
				same = append(same, o)
			}
		}
		var sets []set
		if together := s.leaveTogether(slices.DeleteFunc(slices.Clone(order[i:]), func(o *cause) bool { return taken[o] })); len(together) > 1 {
			sets, same = []set{{s.kindOf(together), -1, together, true}}, slices.DeleteFunc(same, func(o *cause) bool { return slices.Contains(together, o) })
		}
		for _, set := range append(sets, s.sets(same, run)...) {
			one := cause{kind: set.kind, host: set.host, tied: set.tied}
			for _, m := range set.members {
				taken[m] = true
				one.ranks = append(one.ranks, m.ranks...)
				one.terms = append(one.terms, m.terms...)
			}
			slices.Sort(one.ranks)
			out = append(out, one)
		}
		if !taken[c] {
			taken[c] = true
			out = append(out, *c)
		}
	}
	return out
}

// main returns the term with the largest charge.
func (c *cause) main() *term {
	return slices.MaxFunc(c.terms, func(a, b *term) int { return cmp.Compare(a.charged, b.charged) })
}

// struck reports in which intervals a cause strikes.
func (c *cause) struck(intervals int) []bool {
	out := make([]bool, intervals)
	for _, t := range c.terms {
		if !c.strikes(t) {
			continue
		}
		for n, x := range t.d {
			out[n] = out[n] || x > 0
		}
	}
	return out
}

// areAlike reports whether two ranks are late in the same piece, by less than twice as
// much, in mostly the same intervals.
func areAlike(a, b *term) bool {
	if a.piece != b.piece || a.claim > 2*b.claim || b.claim > 2*a.claim {
		return false
	}
	both, either := 0, 0
	for n, x := range a.d {
		switch {
		case x > 0 && b.d[n] > 0:
			both++
			either++
		case x > 0 || b.d[n] > 0:
			either++
		}
	}
	return 2*both >= either
}

const (
	// tied is the part of how a rank's time in a piece changes from one interval to the next by which that of another, or when they end it, differs less,
	// for the two to end it together. Of two that work alone the difference changes by 1.4 times as much.
	tied = 0.5
	// fewestTied are too few changes to tell.
	fewestTied = 6
)

// leaveTogether returns the causes, of one rank each that are late mainly in one piece, whose ranks end it together with the first: what one of them is
// late by, the others wait for.
func (s *series) leaveTogether(list []*cause) (out []*cause) {
	first := list[0].main()
	for _, c := range list {
		if t := c.main(); t == first || t.piece == first.piece && s.areTied(first, t) {
			out = append(out, c)
		}
	}
	return out
}

// areTied reports whether the ranks of two terms end their piece together, though what they take in it varies from interval to interval of those
// that both strike, and of those that neither does.
func (s *series) areTied(a, b *term) bool {
	piece, r, q := a.piece, a.rank, b.rank
	changes := func(t *term, n int) bool { return (t.d[n] > 0) != (t.d[n-1] > 0) }
	var took, ended, each []float64
	var before [4]float64
	for n := range s.Intervals {
		own, other := s.Work[piece][n*s.Ranks+r], s.Work[piece][n*s.Ranks+q]
		now := [4]float64{float64(own - other), float64(s.endOf(n, piece, r) - s.endOf(n, piece, q)), float64(own) - s.common[piece][n], float64(other) - s.common[piece][n]}
		if n > 0 && s.Step(n, piece) >= 0 && s.Step(n-1, piece) >= 0 && !changes(a, n) && !changes(b, n) {
			took, ended = append(took, math.Abs(now[0]-before[0])), append(ended, math.Abs(now[1]-before[1]))
			each = append(each, math.Abs(now[2]-before[2]), math.Abs(now[3]-before[3]))
		}
		before = now
	}
	return len(took) >= fewestTied && min(median(took), median(ended)) < tied*median(each)
}

// endOf returns when a rank ends a piece of an interval, since the point before, ns.
func (s *series) endOf(n, piece, r int) (at int64) {
	for k, p := range s.Pieces {
		if own := s.Pieces[piece]; p.Point == own.Point && (p.Tail == own.Tail && k <= piece || p.Tail && !own.Tail) {
			at += s.Work[k][n*s.Ranks+r]
		}
	}
	return at
}

// hostsByTurns returns the causes of hosts whose ranks are all late in one piece by about as much, each in steps of its own: what ranks
// share on a host strikes one after the other.
func (s *series) hostsByTurns(causes []*cause, run *Run) (out [][]*cause) {
	if run.Hosts == nil {
		return nil
	}
	for _, host := range completeHosts(causes, run) {
		list := host.members
		if len(list) == s.Ranks {
			continue
		}
		main := list[0].main()
		turns := !slices.ContainsFunc(list[1:], func(c *cause) bool {
			t := c.main()
			return t.piece != main.piece || t.claim > 2*main.claim || main.claim > 2*t.claim || areAlike(main, t)
		})
		if turns {
			out = append(out, list)
		}
	}
	return out
}

type set struct {
	kind    claim.Kind
	host    int
	members []*cause
	tied    bool
}

// completeHosts returns the hosts of two ranks or more whose ranks are all among those of causes of one rank each, in their order.
func completeHosts(causes []*cause, run *Run) (out []set) {
	ranks, at := map[int]int{}, map[int]int{}
	for _, h := range run.Hosts {
		ranks[h]++
	}
	for _, c := range causes {
		h := run.Hosts[c.ranks[0]]
		if _, ok := at[h]; !ok {
			at[h] = len(out)
			out = append(out, set{kind: claim.Host, host: h})
		}
		out[at[h]].members = append(out[at[h]].members, c)
	}
	return slices.DeleteFunc(out, func(s set) bool { return s.host < 0 || len(s.members) < 2 || len(s.members) != ranks[s.host] })
}

// sets returns the hosts whose ranks are all among the given, or else all the given where they are a set of peers or more than
// one rank in eight.
func (s *series) sets(same []*cause, run *Run) (out []set) {
	left := slices.Clone(same)
	if run.Hosts != nil {
		for _, host := range completeHosts(same, run) {
			if len(host.members) < s.Ranks {
				out = append(out, host)
				left = slices.DeleteFunc(left, func(c *cause) bool { return run.Hosts[c.ranks[0]] == host.host })
			}
		}
	}
	if n := len(left); n > 2 && 8*n > s.Ranks {
		out = append(out, set{kind: s.kindOf(left), host: -1, members: left})
	}
	return out
}

// kindOf returns the kind of causes of one rank each that are one: a set that synchronises on the way, or is compared with its own only, or some ranks.
func (s *series) kindOf(list []*cause) claim.Kind {
	own := s.of[list[0].ranks[0]]
	all := len(s.peers) > 1 && len(s.peers[own]) == len(list) && !slices.ContainsFunc(list, func(c *cause) bool { return s.of[c.ranks[0]] != own })
	if all || s.isSet(list) {
		return claim.PeerSet
	}
	return claim.Ranks
}

// isSet reports whether the ranks of causes are those of a set that synchronises on the way.
func (s *series) isSet(list []*cause) bool {
	var ranks []int
	for _, c := range list {
		ranks = append(ranks, c.ranks...)
	}
	slices.Sort(ranks)
	return slices.ContainsFunc(s.Within, func(w points.Within) bool {
		return slices.ContainsFunc(w.Sets, func(set []int) bool { return slices.Equal(set, ranks) })
	})
}

// finding describes a cause.
func (s *series) finding(c cause, o Options) claim.Claim {
	f := claim.Claim{Kind: c.kind, Cause: claim.Late, Ranks: c.ranks, Host: c.host, P: 1}
	main := (&c).main()
	parts := map[int]*claim.Part{}
	var stages []int
	charged := map[int]float64{} // [piece] in the intervals struck, over ranks
	struck := c.struck(s.Intervals)
	strikes := 0 // ranks that are late, over the intervals struck
	for _, t := range c.terms {
		stage := s.Pieces[t.piece].Stage
		if parts[stage] == nil {
			parts[stage] = &claim.Part{Stage: stage}
			stages = append(stages, stage)
		}
		for n, x := range t.d {
			if x > 0 && c.strikes(t) && s.Step(n, t.piece) >= 0 {
				strikes++
			}
		}
		f.P = min(f.P, t.p)
		parts[stage].Charged += int64(t.charged)
	}
	f.Steps = s.steps(struck, main)
	for _, t := range c.terms {
		for n, x := range t.d {
			if struck[n] {
				charged[t.piece] += x
			}
		}
	}
	for piece, sum := range charged {
		parts[s.Pieces[piece].Stage].Size += int64(sum / float64(max(1, strikes)))
	}
	for _, stage := range stages {
		f.Parts = append(f.Parts, *parts[stage])
		f.Size += parts[stage].Size
	}
	slices.SortStableFunc(f.Parts, func(a, b claim.Part) int {
		return cmp.Or(cmp.Compare(b.Charged, a.Charged), cmp.Compare(a.Stage, b.Stage))
	})
	f.Length = lengthOf(s.took, struck)
	f.Waited, f.Last = s.waitShare(c, struck), s.last(c, struck)
	if main.grows != nil {
		f.Before, f.From, f.Grows = int64(main.grows[0]), int64(main.grows[1]), true
	}
	f.Certainty = claim.Supported
	event := f.Steps.Incidents < 3 && 3*f.Steps.Count < f.Steps.Of && !f.Steps.Ongoing
	if f.P <= o.Strong && main.blocks >= strongBlocks && !event && f.Waited >= waitsAddUp && !c.tied {
		f.Certainty = claim.Strong
	}
	return f
}

const (
	// strongBlocks: of fewer blocks a finding is Supported at most.
	strongBlocks = 8
	// waitsAddUp is the part of a delay that the others' waits must show.
	waitsAddUp = 0.5
)

// steps describes which steps were struck, as those of the main term's piece are recorded.
func (s *series) steps(struck []bool, main *term) claim.Struck {
	out := claim.Struck{First: -1, Last: -1, Pattern: main.pattern, Period: main.period}
	apart := max(1, main.block)
	last, lastSeen := -1, -1
	for n, hit := range struck {
		if !s.HasPiece(n, main.piece, main.rank) {
			continue
		}
		t := s.Step(n, main.piece)
		out.Of++
		lastSeen = n
		if !hit {
			continue
		}
		out.Count++
		out.List = append(out.List, t)
		if out.First < 0 {
			out.First = t
		}
		out.Last = t
		if last < 0 || n-last > apart {
			out.Incidents++
		}
		last = n
	}
	out.Ongoing = last >= 0 && lastSeen-last <= apart
	if main.period > 0 {
		out.Ongoing = last >= 0 && lastSeen-last <= max(apart, main.period)
	}
	if float64(out.Count) >= mostStruck*float64(out.Of) {
		out.Pattern, out.Period = claim.Constant, 0
	}
	if out.Pattern != claim.Irregular {
		out.List = nil
	}
	return out
}

// last returns in how many of a cause's intervals one of its ranks arrived last.
func (s *series) last(c cause, struck []bool) (n int) {
	main := (&c).main()
	arrive := s.Work[main.piece]
	if !s.Free() {
		arrive = s.Arrivals[s.Pieces[main.piece].Point]
	}
	for i, hit := range struck {
		if !hit || s.Step(i, main.piece) < 0 {
			continue
		}
		row := arrive[i*s.Ranks : (i+1)*s.Ranks]
		if slices.Contains(c.ranks, slices.Index(row, slices.Max(row))) {
			n++
		}
	}
	return n
}

// waitShare returns the part of a cause's lead that the other ranks' waits show, in the intervals that it struck.
func (s *series) waitShare(c cause, struck []bool) float64 {
	if s.Free() {
		return 0
	}
	p := s.Pieces[c.terms[0].piece].Point
	R, main := s.Ranks, (&c).main()
	r := main.rank
	before := s.Arrivals[p]
	var others []int64
	for q := range R {
		if !slices.Contains(c.ranks, q) && s.of[q] == s.of[r] {
			others = append(others, int64(q))
		}
	}
	if len(others) == 0 {
		return 0
	}
	led, waits := 0.0, 0.0
	own, scratch := make([]int64, len(others)), make([]int64, len(others))
	middle := func(v []int64, n int) float64 {
		for i, q := range others {
			own[i] = v[n*R+int(q)]
		}
		return float64(robust.MiddleOf(own, scratch).Lower())
	}
	seen, every := 0, 1
	for _, hit := range struck {
		if hit {
			seen++
		}
	}
	every += seen / sampled
	for n, hit := range struck {
		if !hit || s.Head[n] < 0 {
			continue
		}
		if seen++; seen%every != 0 {
			continue
		}
		last, shortest := before[n*R+r], s.Spent[p][n*R+r]
		for _, q := range c.ranks {
			last, shortest = max(last, before[n*R+q]), min(shortest, s.Spent[p][n*R+q])
		}
		led += float64(last) - middle(before, n)
		waits += middle(s.Spent[p], n) - float64(shortest)
	}
	if led <= 0 {
		return 0
	}
	return max(0, waits/led)
}

// subtractTerms returns arrivals less some terms, each shortened by a part of its error.
func subtractTerms(arrive [][]int64, s *series, terms []*term, se float64) [][]int64 {
	return shiftArrivals(arrive, s, terms, func(t *term, x float64) float64 { return -max(0, x-se) })
}

// addTerms returns arrivals with terms added back.
func addTerms(arrive [][]int64, s *series, terms []*term) [][]int64 {
	return shiftArrivals(arrive, s, terms, func(t *term, x float64) float64 { return x })
}

// paceSaving returns the part of the run that goes if all that is visible of a rank takes 1/factor of its time in the intervals
// struck: pieces that are too short to be claimed of have their part in it.
func (s *series) paceSaving(arrive [][]int64, rank int, factor float64, struck []bool) float64 {
	out := make([][]int64, len(arrive))
	for p, a := range arrive {
		out[p] = slices.Clone(a)
		for n, hit := range struck {
			if x := &out[p][n*s.Ranks+rank]; hit {
				*x = int64(float64(*x) / factor)
			}
		}
	}
	return 1 - s.length(out)/s.whole
}

func shiftArrivals(arrive [][]int64, s *series, terms []*term, by func(*term, float64) float64) [][]int64 {
	out := slices.Clone(arrive)
	cloned := make([]bool, len(out))
	for _, t := range terms {
		p := s.Pieces[t.piece].Point
		if !cloned[p] {
			out[p], cloned[p] = slices.Clone(out[p]), true
		}
		for n, x := range t.d {
			if x != 0 {
				out[p][n*s.Ranks+t.rank] += int64(math.Round(by(t, x)))
			}
		}
	}
	return out
}
