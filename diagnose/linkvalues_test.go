package diagnose

import (
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// linked returns communication by hand: ranks 0 to 3, the last in no export, a tensor-parallel group 0-1, one 2-3 of unknown kind, and the pair of
// ranks 1 and 2.
func linked() *comm.Result {
	r := &comm.Result{Recorded: &comms.Record{Sources: []comms.Source{{Kind: comms.SourceNCCLLog}, {Kind: comms.SourceNsight}, {Kind: comms.SourceInspector}}}, Calls: make([]comms.Call, 5), Matches: make([]comm.Match, 4)}
	for i := range 4 {
		r.Ranks = append(r.Ranks, comm.Rank{Rank: 10 + i, Host: []string{"a", "b"}[i/2], Log: 0, Profile: comms.None})
	}
	r.Communicators = []parallel.Communicator{{Kind: parallel.TensorParallel, Ranks: []int{10, 11}, NRanks: 2, Signature: parallel.Signature{Steps: 9}}, {Ranks: []int{12, 13}, NRanks: 4}, {Ranks: []int{10}, NRanks: 9, Alone: true}}
	r.Speed.Subjects = []comm.Subject{{Communicator: 0}, {Communicator: 1}, {Edge: true, From: 1, To: 2}}
	calls := func(n int) []*comm.Collective { return make([]*comm.Collective, n) }
	r.Speed.Cells = []comm.Cell{{Subject: 0, Op: nccl.AllReduce, Class: 20, Bus: 50, Calls: calls(7), Limit: comm.Limit{Bandwidth: 200, Benchmark: true}, Efficiency: 0.25, Bound: comm.ByBandwidth}, {Subject: 2, Op: nccl.Recv, Class: 16, Bus: 9, Calls: calls(3), Bound: comm.ByBandwidth}}
	return r
}

// suspected returns a claim about a slow subject of it.
func suspected(kind claim.Kind, scope claim.Scope, subject, cell int) claim.Claim {
	return claim.Claim{Source: claim.NCCL, Kind: kind, Cause: claim.Transfer, Ranks: []int{10, 11}, Hosts: []string{"a"}, P: 1e-5, Saves: claim.Exact(0.2), Parts: []claim.Part{{Charged: 300}, {Charged: 20}},
		Bandwidth: &claim.Bandwidth{Scope: scope, Partners: []int{12}, Subjects: []int{subject}, Settled: claim.ByPeers, Cell: cell, Peers: 5, Bus: 120, Smallest: -1}}
}

// TestSlowLinks: what is said of a slow link or communicator, number by number.
func TestSlowLinks(t *testing.T) {
	r := linked()
	e := func(cell, peers int) comm.Evidence { return comm.Evidence{Cell: cell, Peers: peers, Bus: 100, P: 1e-4} }
	r.Speed.Suspects = []comm.Suspect{{Subject: 0, Evidence: []comm.Evidence{e(0, 5)}}, {Subject: 2, Evidence: slices.Repeat([]comm.Evidence{e(1, 4)}, 5)}}
	r.Speed.Unsettled = []comm.Suspect{{Subject: 2, Evidence: slices.Repeat([]comm.Evidence{e(1, 1)}, 3)}}
	group := evidence.SlowLink{Between: evidence.Subject{Scope: evidence.OfCommunicator, Ranks: []int{10, 11}, Hosts: []string{"a"}, Called: "tensor"}, Op: "AllReduce", Bytes: 1 << 20, Bandwidth: 50, Peers: 5, PeersHave: 120, Link: "nccl-tests", Limit: 200, Reaches: 0.25, Lost: 320, Share: 0.2}
	group.Between.Called = kindName(&r.Communicators[0])
	pair := evidence.SlowLink{Between: evidence.Subject{Scope: evidence.OfPair, Ranks: []int{10, 11}, Hosts: []string{"a"}}, Op: "Send/Recv", Bytes: 1 << 16, Bandwidth: 9, Peers: 5, PeersHave: 120, Lost: 320, Share: 0.2}
	h := func(c claim.Claim) heardSuspect {
		return heardSuspect{r: r, Claim: c, gates: gates.Default(), minGain: 0.1}
	}
	for name, c := range map[string]struct {
		claim claim.Claim
		want  func() evidence.SlowLink
	}{
		"a communicator": {suspected(claim.Communicator, claim.WholeComm, 0, 0), func() evidence.SlowLink { return group }},
		"over two hosts": {func() claim.Claim {
			c := suspected(claim.Communicator, claim.WholeComm, 0, 0)
			c.Hosts = []string{"a", "b"}
			return c
		}(), func() evidence.SlowLink {
			e := group
			e.Between.Hosts, e.AnyLinkOf = []string{"a", "b"}, true
			return e
		}},
		"from a size on": {func() claim.Claim {
			c := suspected(claim.Communicator, claim.WholeComm, 0, 0)
			c.Bandwidth.Smallest = 18
			return c
		}(), func() evidence.SlowLink { e := group; e.From = 1 << 18; return e }},
		"a pair": {suspected(claim.Link, claim.OnePair, 2, 1), func() evidence.SlowLink { return pair }},
		"a rank's": {func() claim.Claim {
			c := suspected(claim.Link, claim.OneRank, 2, 1)
			c.Bandwidth.Subjects = []int{2, 0}
			return c
		}(), func() evidence.SlowLink {
			e := pair
			e.Between.Scope, e.AllOfKind = evidence.Scope(claim.OneRank), 2
			return e
		}},
	} {
		if diff := gocmp.Diff(c.want(), h(c.claim).slowLink()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	one := evidence.Bandwidth{Op: "AllReduce", Bytes: 1 << 20, Bandwidth: 50, Calls: 7, Peers: 5, PeersHave: 100, P: 1e-4}
	if diff := gocmp.Diff([]evidence.Observation{group, one}, h(suspected(claim.Communicator, claim.WholeComm, 0, 0)).slowEvidence()); diff != "" {
		t.Errorf("of a communicator: %s", diff)
	}
	way := evidence.Bandwidth{Op: "Send/Recv", Ranks: []int{12, 11}, Message: evidence.OneWay, Bytes: 1 << 16, Bandwidth: 9, Calls: 3, Peers: 4, PeersHave: 100, P: 1e-4}
	only, last := way, way
	only.Peers = 1
	last.Peers, last.More = 1, 2 // eight comparisons, of which six are listed
	if diff := gocmp.Diff([]evidence.Observation{pair, way, way, way, way, way, last}, h(suspected(claim.Link, claim.OnePair, 2, 1)).slowEvidence()); diff != "" {
		t.Errorf("of a pair: %s", diff)
	}
	for op, want := range map[nccl.Op]evidence.Bandwidth{nccl.Send: {Ranks: []int{11, 12}, Message: evidence.OneWay}, nccl.SendRecv: {Ranks: []int{11, 12}, Message: evidence.BothWays}} {
		r.Speed.Cells[1].Op = op
		if got := h(suspected(claim.Link, claim.OnePair, 2, 1)).comparison(e(1, 1)); !slices.Equal(got.Ranks, want.Ranks) || got.Message != want.Message {
			t.Errorf("%v: %+v", op, got)
		}
	}
	several := suspected(claim.Link, claim.OneHost, 0, 0)
	several.Bandwidth.Subjects = []int{0, 2}
	if got := h(several).comparison(e(0, 1)); !slices.Equal(got.Ranks, []int{10, 11}) || got.Message != "" {
		t.Errorf("one of several: %+v", got)
	}
	if bytes(3) != 8 || bytes(70) != 1<<62 {
		t.Error("sizes of classes")
	}
}

// TestSuspectsOfKernels: the findings of claims about the communication, and what keeps their certainty where it is.
func TestSuspectsOfKernels(t *testing.T) {
	r := linked()
	late := claim.Claim{Source: claim.NCCL, Kind: claim.Rank, Cause: claim.Late, Ranks: []int{11}, Hosts: []string{"a"}, P: 1e-5, Saves: claim.Exact(0.2), Entered: &claim.Entered{Last: 40, Points: 50, Delay: 7, Own: 500, Waited: 30, Transfer: 80}}
	few := func(at evidence.Confidence, n int) evidence.Lack {
		return evidence.Lack{Reason: evidence.FewPeers, AtMost: at, N: n}
	}
	level := gates.Default().SyncPoint.Significance
	unknown := evidence.Lack{Reason: evidence.LimitUnknown, AtMost: evidence.Supported}
	chance := evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Supported, P: level}
	link := func(change func(c *claim.Claim)) claim.Claim {
		c := suspected(claim.Communicator, claim.WholeComm, 0, 0)
		if change != nil {
			change(&c)
		}
		return c
	}
	for name, c := range map[string]struct {
		claim claim.Claim
		kind  Kind
		cause Cause
		sure  evidence.Confidence
		lacks []evidence.Lack
	}{
		"a rank":             {late, KindRank, CauseLate, evidence.Strong, nil},
		"a rank, by chance":  {func() claim.Claim { c := late; c.P = 2 * level; return c }(), KindRank, CauseLate, evidence.Supported, []evidence.Lack{chance}},
		"a communicator":     {link(nil), KindGroup, CauseCollective, evidence.Strong, nil},
		"a pair":             {suspected(claim.Link, claim.OnePair, 2, 1), KindEdge, CauseLink, evidence.Supported, []evidence.Lack{unknown}},
		"of two peers":       {link(func(c *claim.Claim) { c.Bandwidth.Peers = 2 }), KindGroup, CauseCollective, evidence.Supported, []evidence.Lack{few(evidence.Supported, 2)}},
		"by its limit":       {link(func(c *claim.Claim) { c.Bandwidth.Settled, c.Bandwidth.Peers = claim.ByLimit, 1 }), KindGroup, CauseCollective, evidence.Supported, []evidence.Lack{few(evidence.Supported, 1)}},
		"open":               {link(func(c *claim.Claim) { c.Bandwidth.Settled, c.Bandwidth.Peers = claim.Open, 1 }), KindGroup, CauseCollective, evidence.Ambiguous, []evidence.Lack{few(evidence.Ambiguous, 1)}},
		"below one percent":  {link(func(c *claim.Claim) { c.Saves = claim.Exact(0.009) }), KindGroup, CauseCollective, evidence.Insufficient, nil},
		"of one percent":     {link(func(c *claim.Claim) { c.Saves = claim.Exact(0.01) }), KindGroup, CauseCollective, evidence.Strong, nil},
		"the ways of a rank": {func() claim.Claim { c := suspected(claim.Link, claim.OneRank, 2, 1); c.Ranks = []int{11}; return c }(), KindEdge, CauseLink, evidence.Supported, []evidence.Lack{unknown}},
	} {
		h := heardSuspect{r: r, Claim: c.claim, gates: gates.Default(), minGain: 0.1}
		f := h.finding()
		share := c.claim.Saves.Largest()
		var lacks []evidence.Lack
		for _, e := range f.Evidence {
			if l, ok := e.(evidence.Lack); ok {
				lacks = append(lacks, l)
			}
		}
		if f.Kind != c.kind || f.Cause != c.cause || f.Confidence != c.sure || f.source != evidence.FromNCCL || f.Host != "a" || f.BelowMinGain != (share < 0.1) || f.Gain != share || f.RunGain != share || f.Score != share || !slices.Equal(f.Ranks, c.claim.Ranks) {
			t.Errorf("%s: %s, %+v", name, findingInShort(&f), f.Cost)
		}
		if diff := gocmp.Diff(c.lacks, lacks); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (f.Rank != nil) != (len(c.claim.Ranks) == 1) || f.Rank != nil && *f.Rank != 11 {
			t.Errorf("%s: of one rank %v", name, f.Rank)
		}
		next := h.next()[0]
		if c.cause == CauseLate {
			want := evidence.LastToEnter{Source: evidence.FromNCCL, Rank: 11, N: 40, Of: 50, Delay: 7, Share: 0.2, P: c.claim.P, Among: 4, Own: 500, Waited: 30, Transfer: 80}
			if f.Evidence[0] != evidence.Observation(want) || f.Explained != 500 || next.Action != answer.Profile || !slices.Equal(next.Ranks, []int{11}) || !slices.Equal(next.Peers, []int{10}) {
				t.Errorf("%s: %+v, %+v", name, f.Evidence[0], next)
			}
		} else if f.Explained != 320 || next.Action != answer.TestLink || !slices.Equal(next.Ranks, append(slices.Clone(c.claim.Ranks), 12)) || next.Peers != nil {
			t.Errorf("%s: explains %d, next %+v", name, f.Explained, next)
		}
		if *next.Steps != [2]int64{0, 8} {
			t.Errorf("%s: in steps %v", name, *next.Steps)
		}
		if c.kind == KindGroup && (f.Op != "AllReduce" || f.Group != kindName(&r.Communicators[0])+" 10-11") {
			t.Errorf("%s: %s of %s", name, f.Op, f.Group)
		}
	}
	if got := groupName(&r.Communicators[1]); got != "12-13" {
		t.Errorf("a communicator of unknown kind: %q", got)
	}
	for rank, want := range map[int][]int{12: {13}, 10: {11}, 99: nil} {
		if got := unsuspectedMember(r, []int{rank}); !slices.Equal(got, want) {
			t.Errorf("beside %d: %v, want %v", rank, got, want)
		}
	}
	if got := unsuspectedMember(r, []int{10, 11}); got != nil {
		t.Errorf("beside all of a communicator: %v", got)
	}
}

// TestWhatKernelsLeave: ranks without a record, exports whose clocks do not compare, and links that were not compared are counted.
func TestWhatKernelsLeave(t *testing.T) {
	r := linked()
	if got := absent(r); got != 2+4 { // two of the second communicator, and all left a log alone
		t.Errorf("%d absent, want 6", got)
	}
	r.Ranks[0].Profile, r.Ranks[1].Log = 1, comms.None
	if got := absent(r); got != 2+2 {
		t.Errorf("%d absent, want 4", got)
	}
	r.Clocks = []comm.Clock{{Number: 1}, {Number: 1}, {Number: 2, Fit: comm.Fit{Known: true}}, {Number: 3}}
	if got := countUnaligned(r); got != 2 {
		t.Errorf("%d exports with clocks of their own, want 2", got)
	}
	r.Speed.Cells[0].Standing, r.Speed.Cells[1].Standing = comm.Unmatched, comm.TooFew
	r.Messages = comm.Messages{Shared: 3, Lonely: 4}
	group, pair := subjectOf(r, 0), subjectOf(r, 2)
	if group.Scope != evidence.OfCommunicator || !slices.Equal(group.Ranks, []int{10, 11}) || group.Called == "" || pair.Scope != evidence.OfPair || !slices.Equal(pair.Ranks, []int{11, 12}) || subjectOf(r, 1).Called != "" {
		t.Errorf("%+v, %+v", group, pair)
	}
	want := []answer.Undecided{{Question: answer.LinkNotCompared, N: 1, About: []evidence.Subject{group}, Needs: answer.SourceBaseline}, {Question: answer.LinkNotCompared, N: 1, About: []evidence.Subject{pair}, Needs: answer.SourceSteps},
		{Question: answer.RanksNotRecorded, N: 4}, {Question: answer.ClockOrDelay, N: 2}, {Question: answer.MessageSpeed, N: 7}}
	if diff := gocmp.Diff(want, undecidedCommunication(r)); diff != "" {
		t.Error(diff)
	}
	r.Speed.Cells = append(r.Speed.Cells, comm.Cell{Subject: 0, Class: 20, Standing: comm.Usual, Bound: comm.ByBandwidth}, comm.Cell{Subject: 1, Class: 3, Standing: comm.Unmatched}, comm.Cell{Subject: 2, Class: 20, Standing: comm.TooFew, Bound: comm.ByBandwidth})
	if got := subjectsWhere(r, comm.Unmatched); len(got) != 0 {
		t.Errorf("%v are not compared, though one was in other calls and one carries no data", got)
	}
	if got := subjectsWhere(r, comm.TooFew); !slices.Equal(got, []int{2}) {
		t.Errorf("%v are of too few calls", got)
	}
	r.Calls = nil
	if undecidedCommunication(r) != nil {
		t.Error("questions without calls")
	}
}

// TestComparedCommunication: what there was to compare, and what that can exclude.
func TestComparedCommunication(t *testing.T) {
	r := linked()
	r.Ranks[3].Log = comms.None
	part := []comm.Part{{}, {}}
	r.Collectives = []comm.Collective{{Communicator: 0, Certain: true, Parts: part}}
	want := &Communications{Met: true, Paired: 4, Calls: 5, Ranks: 4, Communicators: 3, Logs: 1, Exports: 2, Absent: 5}
	if diff := gocmp.Diff(want, communications(r)); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string]struct {
		change func(r *comm.Result)
		met    bool
	}{
		"not certain": {func(r *comm.Result) { r.Collectives = []comm.Collective{{Parts: part}} }, false},
		"not whole":   {func(r *comm.Result) { r.Collectives = []comm.Collective{{Certain: true, Parts: part[:1]}} }, false},
		"messages":    {func(r *comm.Result) { r.Collectives, r.Transfers = nil, []comm.Collective{{}} }, true},
	} {
		x := *r
		if c.change(&x); communications(&x).Met != c.met {
			t.Errorf("%s: met %v", name, !c.met)
		}
	}
	for want, c := range map[exclusion]Communications{excludesNothing: {}, excludesSome: {Met: true, Absent: 1}, excludesAll: {Met: true}} {
		if got := c.excludes(); got != want {
			t.Errorf("%+v excludes %v, want %v", c, got, want)
		}
	}
	if c := (Communications{Met: true, LastMost: &evidence.LastToEnter{}}); c.excludes() != excludesSome {
		t.Error("somebody is last most")
	}
}

// TestBetweenWindows: times between windows of any kind of job, rank by rank, against a count of their own.
func TestBetweenWindows(t *testing.T) {
	for seed := range uint64(300) {
		g := rand.New(rand.NewPCG(seed, 8))
		R := 1 + g.IntN(6)
		var b windowGaps
		spent, steps, ends := make([]int64, R), make([]int64, R), make([]int64, R)
		seen := make([]bool, R)
		next := int64(0)
		for range 1 + g.IntN(5) {
			n := 1 + g.IntN(4)
			follows := g.IntN(5) > 0
			first := next
			if !follows {
				first += 3
			}
			w := &trace.Window{FirstStep: first, Epochs: make([]int64, R), Schema: trace.Schema{Stages: []string{"a"}}}
			for r := range R {
				w.Ranks = append(w.Ranks, trace.Rank{ID: 20 + r})
				if w.Epochs[r] = ends[r] + 1_000_000 + g.Int64N(30); ends[r] != 0 {
					w.Epochs[r] = ends[r] + g.Int64N(300) - 20
				}
				if g.IntN(12) == 0 {
					w.Epochs[r] = 0
				}
			}
			for range n * R {
				w.Wall = append(w.Wall, 80+g.Int64N(40))
			}
			w.Durations = w.Wall
			whole := g.IntN(10) > 0
			if !whole {
				w.Wall = nil
			}
			b.add(w)
			if !whole {
				next = first + int64(n)
				clear(seen) // nothing follows it
				clear(ends)
				continue
			}
			for r := range R {
				wall := int64(0)
				for s := range n {
					wall += w.Wall[s*R+r]
				}
				if w.Epochs[r] == 0 {
					seen[r], ends[r] = false, 0
					continue
				}
				if seen[r] && follows && w.Epochs[r] > ends[r] {
					spent[r] += w.Epochs[r] - ends[r]
				}
				steps[r], ends[r], seen[r] = steps[r]+wall, w.Epochs[r]+wall, true
			}
			next = first + int64(n)
		}
		for r := range R {
			if got := b.spent[20+r]; got != spent[r] || b.steps[20+r] != steps[r] {
				t.Fatalf("seed %d, rank %d: %d between and %d in steps, want %d and %d", seed, r, got, b.steps[20+r], spent[r], steps[r])
			}
		}
	}
	observed := func(entered *arrivals.Result, spent ...int64) []evidence.Observation {
		b := windowGaps{spent: map[int]int64{}, steps: map[int]int64{}}
		for r, x := range spent {
			if b.steps[r] = 1000; x > 0 {
				b.spent[r] = x
			}
		}
		return b.evidence(entered)
	}
	late := func(delay int64) *arrivals.Result {
		return &arrivals.Result{Between: arrivals.Between{Rank: 3, Delay: delay}}
	}
	for name, c := range map[string]struct {
		got  []evidence.Observation
		want *evidence.BetweenSteps
	}{
		"below 2 %":              {observed(nil, 20, 20, 20), nil},
		"2 %":                    {observed(nil, 21, 21, 21), &evidence.BetweenSteps{Time: 21, Share: 21. / 1021}},
		"one longer by 1 %":      {observed(nil, 0, 12, 0, 0), &evidence.BetweenSteps{Rank: 1, Excess: 12}},
		"one longer by less":     {observed(nil, 0, 9, 0, 0), nil},
		"the lowest of equals":   {observed(nil, 300, 500, 500, 400), &evidence.BetweenSteps{Rank: 1, Time: 500, Share: 500. / 1500, Excess: 100}},
		"one rank":               {observed(nil, 500), &evidence.BetweenSteps{Time: 500, Share: 500. / 1500}},
		"late by entries":        {observed(late(70), 300, 310, 300, 300), &evidence.BetweenSteps{Rank: 3, Time: 300, Share: 300. / 1300, Excess: 70}},
		"little late by entries": {observed(late(30), 300, 350, 300, 300), &evidence.BetweenSteps{Rank: 1, Time: 300, Share: 300. / 1300, Excess: 50}},
	} {
		var want []evidence.Observation
		if c.want != nil {
			want = []evidence.Observation{*c.want}
		}
		if diff := gocmp.Diff(want, c.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if (&windowGaps{}).evidence(nil) != nil {
		t.Error("of no windows")
	}
}
