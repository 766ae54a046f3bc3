package blame

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 3)) }

// scenario is a synchronous step on some ranks: layers of operators one after
// the other, each launched by the host, and a collective behind every second
// layer. One fault is planted: an operator is long, or a launch is late.
type scenario struct {
	ranks, layers int
	faulty        int   // rank
	layer         int   // of the fault
	extra         int64 // ns
	launch        bool  // the kernel of the layer begins late; else it is long
}

const (
	hostOp = iota
	kernelOp
	collectiveOp
)

func (s scenario) id(rank, layer, which int) int64 {
	return int64((layer*3+which)*s.ranks + rank + 1)
}

// run computes the times of the step and flags every operator against its peers:
// by its start and, in a collective, by its transfer, beyond 5 µs of the median.
func (s scenario) run(rng *rand.Rand) Graph {
	var g Graph
	host, device := make([]int64, s.ranks), make([]int64, s.ranks)
	lastHost, lastDevice := make([]int64, s.ranks), make([]int64, s.ranks)
	jitter := func(mean int64) int64 { return mean + rng.Int64N(1000) }
	for layer := range s.layers {
		var hosts, kernels, members []Op
		for r := range s.ranks {
			h := Op{ID: s.id(r, layer, hostOp), Rank: r, Start: host[r], End: host[r] + jitter(10_000)}
			host[r] = h.End
			begin := max(h.End, device[r])
			work := jitter(50_000)
			if r == s.faulty && layer == s.layer {
				if s.launch {
					begin += s.extra
				} else {
					work += s.extra
				}
			}
			k := Op{ID: s.id(r, layer, kernelOp), Rank: r, Start: begin, End: begin + work}
			device[r] = k.End
			hosts, kernels = append(hosts, h), append(kernels, k)
			g.Edges = append(g.Edges, Edge{h.ID, k.ID, Launch})
			if lastHost[r] != 0 {
				g.Edges = append(g.Edges, Edge{lastHost[r], h.ID, Lane}, Edge{lastDevice[r], k.ID, Lane})
			}
			lastHost[r], lastDevice[r] = h.ID, k.ID
		}
		if layer%2 == 1 {
			last := slices.Max(device)
			for r := range s.ranks {
				c := Op{ID: s.id(r, layer, collectiveOp), Rank: r, Start: device[r], End: last + jitter(20_000), Collective: int64(layer)}
				g.Edges = append(g.Edges, Edge{lastDevice[r], c.ID, Lane})
				device[r], lastDevice[r] = c.End, c.ID
				members = append(members, c)
			}
			flag(members, func(o Op) int64 { return o.End - last })
		}
		long := func(o Op) int64 { return o.End - o.Start }
		flag(hosts, long)
		flag(kernels, long)
		g.Ops = append(append(append(g.Ops, hosts...), kernels...), members...)
	}
	rng.Shuffle(len(g.Ops), func(i, j int) { g.Ops[i], g.Ops[j] = g.Ops[j], g.Ops[i] })
	rng.Shuffle(len(g.Edges), func(i, j int) { g.Edges[i], g.Edges[j] = g.Edges[j], g.Edges[i] })
	return g
}

// flag compares peers by start and by length.
func flag(ops []Op, length func(Op) int64) {
	mark := func(value func(Op) int64, set func(*Op, Flag)) {
		var all []int64
		for _, o := range ops {
			all = append(all, value(o))
		}
		sorted := slices.Sorted(slices.Values(all))
		for i := range ops {
			set(&ops[i], FlagOf(float64(all[i]-sorted[len(sorted)/2]), 5000))
		}
	}
	mark(func(o Op) int64 { return o.Start }, func(o *Op, f Flag) { o.Lateness = f })
	mark(length, func(o *Op, f Flag) { o.Length = f })
}

func analyze(t testing.TB, g Graph, symptoms []int64, o Options) *Result {
	t.Helper()
	r, err := Analyze(g, symptoms, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPlantedFault: from every member of the first collective behind the fault,
// victims and culprit alike, the walk comes to the planted operator or edge and
// to nothing else.
func TestPlantedFault(t *testing.T) {
	for seed := range uint64(200) {
		rng := source(seed)
		s := scenario{ranks: 3 + rng.IntN(14), layers: 2 * (1 + rng.IntN(5)), extra: 100_000 + rng.Int64N(1_000_000), launch: seed%2 == 0}
		s.faulty, s.layer = rng.IntN(s.ranks), rng.IntN(s.layers)
		g := s.run(rng)
		var symptoms []int64
		for r := range s.ranks {
			symptoms = append(symptoms, s.id(r, s.layer|1, collectiveOp))
		}
		kernel := s.id(s.faulty, s.layer, kernelOp)
		want := Culprit{Kind: LongOp, Op: kernel}
		if s.launch {
			// The kernel waits for whichever ended last: its launch or the kernel before.
			want = Culprit{Kind: Gap, Op: kernel}
		}
		r := analyze(t, g, symptoms, Options{})
		if len(r.Causes) != 1 || len(r.Unexplained) != 0 {
			t.Fatalf("%+v: causes %+v, unexplained %v", s, r.Causes, r.Unexplained)
		}
		got := r.Causes[0]
		if got.Kind != want.Kind || got.Op != want.Op || !slices.Equal(got.Symptoms, symptoms) {
			t.Fatalf("%+v: cause %+v, want %+v", s, got, want)
		}
		if s.launch && (got.Delay < s.extra || got.CrossRank) {
			t.Fatalf("%+v: the edge lasted %d ns", s, got.Delay)
		}
		checkPath(t, g, got)
	}
}

// checkPath: a path begins at a symptom, ends at the culprit, and every step of
// it is an edge backwards or one from member to member.
func checkPath(t *testing.T, g Graph, c Cause) {
	t.Helper()
	ops := make(map[int64]Op)
	for _, o := range g.Ops {
		ops[o.ID] = o
	}
	end := c.Op
	if c.Kind == Gap || c.Kind == Inconsistent {
		end = c.Pred
	}
	if !slices.Contains(c.Symptoms, c.Path[0]) || c.Path[len(c.Path)-1] != end {
		t.Fatalf("path %v of %+v", c.Path, c)
	}
	for i, id := range c.Path[1:] {
		follower := c.Path[i]
		edge := slices.ContainsFunc(g.Edges, func(e Edge) bool { return e.From == id && e.To == follower })
		member := ops[id].Collective != 0 && ops[id].Collective == ops[follower].Collective
		if !edge && !member {
			t.Fatalf("path %v: no edge from %d to %d", c.Path, id, follower)
		}
	}
}

// TestGateThatWaited: a receive that is posted in time, and ends late because
// its sender was late, is no end of a walk: the operator behind it was kept
// waiting by what made the sender late.
func TestGateThatWaited(t *testing.T) {
	const pass, send, receive, behind = 1, 2, 3, 4
	g := Graph{
		Ops: []Op{
			{ID: pass, Rank: 1, Start: 0, End: 90, Length: High},
			{ID: send, Rank: 1, Start: 90, End: 100, Lateness: High, Collective: 1},
			{ID: receive, Rank: 0, Start: 5, End: 100, Collective: 1},
			{ID: behind, Rank: 0, Start: 100, End: 120, Lateness: High},
		},
		Edges: []Edge{{pass, send, Lane}, {receive, behind, Lane}},
	}
	r := analyze(t, g, []int64{behind}, Options{})
	if len(r.Causes) != 1 || r.Causes[0].Culprit != (Culprit{Kind: LongOp, Op: pass}) || !slices.Equal(r.Causes[0].Path, []int64{behind, receive, send, pass}) {
		t.Errorf("late sender: %+v", r.Causes)
	}
	g.Ops[0].Length, g.Ops[1].Lateness = Normal, Normal // all senders are as late: the edge is what is left
	r = analyze(t, g, []int64{behind}, Options{})
	if want := (Culprit{Kind: Gap, Op: behind, Pred: receive, Edge: Lane}); len(r.Causes) != 1 || r.Causes[0].Culprit != want {
		t.Errorf("sender in time: %+v", r.Causes)
	}
}

// TestNobody: without a fault nothing is explained and nobody is blamed.
func TestNobody(t *testing.T) {
	for seed := range uint64(50) {
		rng := source(seed)
		s := scenario{ranks: 2 + rng.IntN(10), layers: 6, faulty: -1}
		g := s.run(rng)
		var symptoms []int64
		for _, o := range g.Ops {
			symptoms = append(symptoms, o.ID)
		}
		if r := analyze(t, g, symptoms, Options{}); len(r.Causes) != 0 || len(r.Unexplained) != len(g.Ops) {
			t.Fatalf("seed %d: %+v", seed, r.Causes)
		}
	}
}

// TestLiteralAccusesMore: at a barrier the literal rule names an edge from every
// member that was on time, beside the culprit.
func TestLiteralAccusesMore(t *testing.T) {
	s := scenario{ranks: 8, layers: 2, faulty: 3, layer: 1, extra: 1_000_000}
	g := s.run(source(1))
	symptom := []int64{s.id(0, 1, collectiveOp)}
	binding, literal := analyze(t, g, symptom, Options{}), analyze(t, g, symptom, Options{Semantics: Literal})
	if len(binding.Causes) != 1 {
		t.Fatalf("binding: %+v", binding.Causes)
	}
	spurious := 0
	for _, c := range literal.Causes {
		if c.Kind == Gap {
			spurious++
		}
	}
	if spurious != s.ranks-1 || literal.Causes[0].Culprit != binding.Causes[0].Culprit {
		t.Errorf("literal: %d edges, want %d: %+v", spurious, s.ranks-1, literal.Causes)
	}
}

// TestOrderDoesNotMatter: operators, edges and symptoms in another order, and
// edges and symptoms given twice, change nothing.
func TestOrderDoesNotMatter(t *testing.T) {
	for seed := range uint64(60) {
		g := tangle(source(seed))
		var symptoms []int64
		for _, o := range g.Ops {
			symptoms = append(symptoms, o.ID)
		}
		for _, semantics := range []Semantics{Binding, Literal} {
			o := Options{Semantics: semantics, Tie: 2}
			want, err := Analyze(g, symptoms, o)
			rng := source(seed + 1000)
			other := Graph{slices.Clone(g.Ops), append(slices.Clone(g.Edges), g.Edges...)}
			rng.Shuffle(len(other.Ops), func(i, j int) { other.Ops[i], other.Ops[j] = other.Ops[j], other.Ops[i] })
			rng.Shuffle(len(other.Edges), func(i, j int) { other.Edges[i], other.Edges[j] = other.Edges[j], other.Edges[i] })
			twice := append(slices.Clone(symptoms), symptoms...)
			rng.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
			got, err2 := Analyze(other, twice, o)
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(err2) {
				t.Fatalf("seed %d: %+v, %v; want %+v, %v", seed, got, err2, want, err)
			}
			for _, c := range causes(got) {
				checkPath(t, g, c)
			}
		}
	}
}

func causes(r *Result) []Cause {
	if r == nil {
		return nil
	}
	return r.Causes
}

// tangle draws a graph with every oddity: lost predecessors, collectives, clocks
// that disagree, flags at random, and sometimes a cycle.
func tangle(rng *rand.Rand) Graph {
	var g Graph
	n := 1 + rng.IntN(30)
	for i := range n {
		start := rng.Int64N(100)
		op := Op{ID: int64(i * 3), Rank: rng.IntN(4), Start: start, End: start + rng.Int64N(20),
			Lateness: Flag(rng.IntN(3) - 1), Length: Flag(rng.IntN(5)/2 - 1)}
		if rng.IntN(4) == 0 {
			op.Collective = 1 + rng.Int64N(3)
		}
		g.Ops = append(g.Ops, op)
		for range rng.IntN(4) {
			from := 3 * rng.Int64N(int64(i+1))
			if rng.IntN(8) == 0 {
				from = 3*rng.Int64N(int64(n)) + 1 // lost
			}
			if from != op.ID || rng.IntN(20) == 0 {
				g.Edges = append(g.Edges, Edge{from, op.ID, Lane})
			}
		}
	}
	return g
}

// TestCycle: operators that wait for each other have no order.
func TestCycle(t *testing.T) {
	g := Graph{Ops: []Op{{ID: 4}, {ID: 7}, {ID: 9}, {ID: 1}},
		Edges: []Edge{{4, 7, Lane}, {7, 9, Lane}, {9, 4, Lane}, {1, 4, Lane}, {9, 1, Message}}}
	_, err := Analyze(g, nil, Options{})
	if !errors.Is(err, ErrCycle) {
		t.Errorf("%v", err)
	}
	// Two collectives that two ranks run in opposite order: a deadlock.
	dead := Graph{
		Ops:   []Op{{ID: 1, Collective: 1}, {ID: 2, Collective: 2}, {ID: 3, Rank: 1, Collective: 2}, {ID: 4, Rank: 1, Collective: 1}},
		Edges: []Edge{{1, 2, Lane}, {3, 4, Lane}},
	}
	if _, err := Analyze(dead, nil, Options{}); !errors.Is(err, ErrCycle) {
		t.Errorf("collectives in opposite order: %v", err)
	}
	dead.Edges[1] = Edge{4, 3, Lane}
	if _, err := Analyze(dead, nil, Options{}); err != nil {
		t.Errorf("collectives in one order: %v", err)
	}
}

// TestClocks: a member that ends before the last one starts, and times below 0.
func TestClocks(t *testing.T) {
	g := Graph{Ops: []Op{
		{ID: 1, Rank: 0, Start: -50, End: -10, Collective: 5},
		{ID: 2, Rank: 1, Start: 0, End: 20, Lateness: High, Collective: 5},
		{ID: 3, Rank: 1, Start: -90, End: -1, Length: High},
	}, Edges: []Edge{{3, 2, Lane}}}
	r := analyze(t, g, []int64{1}, Options{Tie: 2})
	if len(r.Causes) != 1 || r.Causes[0].Culprit != (Culprit{Kind: Inconsistent, Op: 1, Pred: 2, Edge: Member}) {
		t.Errorf("%+v", r.Causes)
	}
	g.Ops[0].End = 15
	r = analyze(t, g, []int64{1}, Options{Tie: 2})
	if len(r.Causes) != 1 || r.Causes[0].Op != 3 || !slices.Equal(r.Causes[0].Path, []int64{1, 2, 3}) {
		t.Errorf("%+v", r.Causes)
	}
}

// TestAbsorbed: a member that was late, or long, but earlier than another, held
// nobody up.
func TestAbsorbed(t *testing.T) {
	g := Graph{Ops: []Op{
		{ID: 1, Rank: 0, Start: 10, End: 120, Collective: 5},
		{ID: 2, Rank: 1, Start: 60, End: 120, Lateness: High, Length: High, Collective: 5},
		{ID: 3, Rank: 2, Start: 98, End: 120, Lateness: High, Collective: 5},
		{ID: 4, Rank: 3, Start: 100, End: 120, Lateness: High, Collective: 5},
		{ID: 12, Rank: 1, Start: 0, End: 60, Length: High},
		{ID: 13, Rank: 2, Start: 0, End: 98, Length: High},
		{ID: 14, Rank: 3, Start: 0, End: 100, Length: High},
	}, Edges: []Edge{{12, 2, Lane}, {13, 3, Lane}, {14, 4, Lane}}}
	for tie, want := range map[int64][]int64{0: {14}, 5: {13, 14}} {
		var got []int64
		for _, c := range analyze(t, g, []int64{1}, Options{Tie: tie}).Causes {
			got = append(got, c.Op)
		}
		if !slices.Equal(got, want) {
			t.Errorf("tie %d: culprits %v, want %v", tie, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	g := Graph{Ops: []Op{{ID: 1}}, Edges: []Edge{{1, 2, Lane}}}
	if _, err := Analyze(g, nil, Options{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("an edge into nothing: %v", err)
	}
	for _, o := range []Options{{Semantics: 2}, {Tie: -1}} {
		if _, err := Analyze(Graph{}, nil, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if FlagOf(math.NaN(), 3) != Normal || FlagOf(math.Inf(1), 3) != High || FlagOf(-3.1, 3) != Low || FlagOf(3, 3) != Normal {
		t.Error("FlagOf")
	}
	// A long chain must not recurse.
	deep := Graph{Ops: []Op{{ID: 0, Length: High}}}
	for i := int64(1); i < 200_000; i++ {
		deep.Ops = append(deep.Ops, Op{ID: i, Lateness: High})
		deep.Edges = append(deep.Edges, Edge{i - 1, i, Lane})
	}
	if r := analyze(t, deep, []int64{199_999}, Options{}); len(r.Causes) != 1 || len(r.Causes[0].Path) != 200_000 {
		t.Error("a chain of 200,000 operators")
	}
}

func FuzzAnalyze(f *testing.F) {
	f.Add(uint64(1), uint8(0), int64(0))
	f.Add(uint64(7), uint8(1), int64(5))
	f.Fuzz(func(t *testing.T, seed uint64, semantics uint8, tie int64) {
		g := tangle(source(seed))
		var symptoms []int64
		for _, o := range g.Ops {
			symptoms = append(symptoms, o.ID)
		}
		r, err := Analyze(g, symptoms, Options{Semantics: Semantics(semantics % 2), Tie: max(0, tie)})
		if err != nil {
			if !errors.Is(err, ErrCycle) {
				t.Fatal(err)
			}
			return
		}
		explained := make(map[int64]bool)
		for _, c := range r.Causes {
			checkPath(t, g, c)
			for _, s := range c.Symptoms {
				explained[s] = true
			}
		}
		if len(explained)+len(r.Unexplained) != len(g.Ops) {
			t.Fatal("a symptom is neither explained nor unexplained")
		}
	})
}

// BenchmarkAnalyze walks from every member of the last collective.
func BenchmarkAnalyze(b *testing.B) {
	for _, shape := range []struct{ ranks, layers int }{{8, 500}, {128, 250}, {128, 500}, {1024, 100}} {
		s := scenario{ranks: shape.ranks, layers: shape.layers, faulty: 3, layer: shape.layers - 1, extra: 1_000_000}
		g := s.run(source(1))
		var symptoms []int64
		for r := range s.ranks {
			symptoms = append(symptoms, s.id(r, s.layers-1, collectiveOp))
		}
		b.Run(fmt.Sprintf("ranks=%d/ops=%d", s.ranks, len(g.Ops)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Analyze(g, symptoms, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(g.Ops))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mops/s")
		})
	}
}
