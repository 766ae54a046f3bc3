package whatif

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// one is a recording of one lane per replica and step from lists of
// (start, end) per node, in order of lanes.
func one(replicas, steps int, spans ...[][2]int64) recording {
	r := recording{Replicas: replicas, Ranks: make([]int, replicas)}
	for s := range steps {
		r.Steps = append(r.Steps, int64(s))
	}
	for i := range r.Ranks {
		r.Ranks[i] = i
	}
	for _, node := range spans {
		for _, s := range node {
			r.Start, r.Dur = append(r.Start, s[0]), append(r.Dur, s[1]-s[0])
		}
	}
	return r
}

func build(t *testing.T, g graph, r recording) *Model {
	t.Helper()
	m, err := modelOf(g, r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A diamond, by hand: a, then b and c side by side, then d after both.
//
//	step 0: a 0–10, b 10–30, c 12–20 (2 late), d 30–35   step time 35
//	step 1: a 0–20, b 20–30, c 20–50, d 53–58 (3 late)   step time 58
func TestDiamondByHand(t *testing.T) {
	g := graph{Nodes: []Node{{Op: "a"}, {Op: "b", After: []int32{0}}, {Op: "c", After: []int32{0}}, {Op: "d", After: []int32{1, 2}, Final: true}}}
	m := build(t, g, one(1, 2,
		[][2]int64{{0, 10}, {0, 20}}, [][2]int64{{10, 30}, {20, 30}}, [][2]int64{{12, 20}, {20, 50}}, [][2]int64{{30, 35}, {53, 58}}))
	if want := []int64{0, 0, 0, 0, 2, 0, 0, 3}; !slices.Equal(m.delay, want) {
		t.Errorf("launch delays %v, expected %v", m.delay, want)
	}
	// means: a 15, b 15, c 19, d 5
	if want := []int64{15, 15, 19, 5}; !slices.Equal(m.ideal, want) {
		t.Errorf("ideals %v, expected %v", m.ideal, want)
	}
	r := m.Analyze()
	check := func(what string, got StepTimes, want ...int64) {
		t.Helper()
		if !slices.Equal(got.PerStep, want) || got.Mean != float64(want[0]+want[1])/2 {
			t.Errorf("%s: %v, mean %v, expected %v", what, got.PerStep, got.Mean, want)
		}
	}
	check("recorded", r.Recorded, 35, 58)
	check("no delay", r.NoDelay, 35, 55) // 10+20+5, 20+30+5
	check("ideal", r.Ideal, 39, 39)      // 15+19+5
	if want := 90. / 78; r.Slowdown.Overall != want {
		t.Errorf("S = %v, expected %v", r.Slowdown.Overall, want)
	}
	if want := 93. / 90; r.Launch.Overall != want || r.LaunchByOp == nil {
		t.Errorf("launch slowdown %v, expected %v and its parts", r.Launch.Overall, want)
	}
	// only c recorded: 15+max(15,8)+5 = 35, 15+30+5 = 50
	c, err := m.Price(Selection{{Ops: []string{"c"}}}, Selection{{Ops: []string{"c"}, Steps: []int64{1}}}, nil, Selection{{}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ added, removed []int64 }{
		{[]int64{35, 50}, []int64{35, 44}}, // c fixed: 10+max(20,19)+5, 20+max(10,19)+5
		{[]int64{39, 50}, []int64{35, 44}}, // in step 1 only
		{[]int64{39, 39}, []int64{35, 55}}, // nothing
		{[]int64{35, 55}, []int64{39, 39}}, // everything
	} {
		if !slices.Equal(c[i].AddedPerStep, want.added) || !slices.Equal(c[i].RemovedPerStep, want.removed) {
			t.Errorf("price %d: added %v, removed %v, expected %v", i, c[i].AddedPerStep, c[i].RemovedPerStep, want)
		}
	}
	// mean(now) 45, mean(ideal) 39, with c fixed 39.5
	if e := c[0]; !e.HasShare || e.Saved != 5.5 || e.Share != 5.5/6 || e.AddedShare != 3.5/6 {
		t.Errorf("c: %+v", e)
	}
	// delays given back: c's changes nothing (b is longer; 55 in step 1), d's adds 3 in step 1
	for _, p := range r.LaunchByOp {
		want := map[string]float64{"a": 1, "b": 1, "c": 1, "d": 93. / 90, FirstOp: 1}[p.Name]
		if p.Overall != want {
			t.Errorf("launch of %s: %v, expected %v", p.Name, p.Overall, want)
		}
	}
}

// A send and its receive, and a collective of two replicas, by hand. Within a
// group, members start apart and end apart; transfer is counted from the last
// start.
//
//	replica 0: work 0–10, send 10–31; recv (posted at 5) 5–30; all 31–62
//	replica 1: work 0–20, send 20–33; recv 3–33;               all 40–60
func TestGroupsByHand(t *testing.T) {
	g := graph{
		Nodes: []Node{{Op: "work"}, {Op: "send", After: []int32{0}, Communication: true}, {Op: "recv", Communication: true},
			{Op: "all", After: []int32{1, 2}, Communication: true, Final: true}},
		Groups: []Group{{Members: []int32{1, 2}}, {Members: []int32{3}, AcrossReplicas: true}},
	}
	m := build(t, g, one(2, 1,
		[][2]int64{{0, 10}, {0, 20}}, [][2]int64{{10, 31}, {20, 33}}, [][2]int64{{5, 30}, {3, 33}}, [][2]int64{{31, 62}, {40, 60}}))
	// transfers: from 10 and 20; from 40, when replica 1 arrived
	if want := []int64{10, 20, 21, 13, 20, 13, 22, 20}; !slices.Equal(m.cost, want) {
		t.Errorf("costs %v, expected %v", m.cost, want)
	}
	// launch delays: recv 5 and 3 after the step began, all of replica 1: 7
	if want := []int64{0, 0, 0, 0, 5, 3, 0, 7}; !slices.Equal(m.delay, want) {
		t.Errorf("launch delays %v, expected %v", m.delay, want)
	}
	r := m.Analyze()
	if r.Misfit != 0 {
		t.Errorf("a replay with everything misses by %v", r.Misfit)
	}
	// without delays: send ends at 31 and 33, recv at 30 and 33, all ends at 33
	if want := []int64{33 + 22}; !slices.Equal(r.NoDelay.PerStep, want) {
		t.Errorf("no delay %v, expected %v", r.NoDelay.PerStep, want)
	}
	// ideal: work 15, send (21+13)/2 = 17, recv (20+13)/2 = 17 (16.5 rounded up), all 21
	if want := []int64{15 + 17 + 21}; !slices.Equal(r.Ideal.PerStep, want) {
		t.Errorf("ideal %v, expected %v", r.Ideal.PerStep, want)
	}
	// One replica as recorded, the other ideal. Replica 0: its send ends at 31,
	// replica 1's at 32, all ends at 32 and takes it 22. Replica 1: its send
	// ends at 33, all meets then and takes replica 0 the ideal 21.
	for _, p := range r.ByDP {
		if want := []float64{54. / 53, 54. / 53}[p.Index]; p.Overall != want {
			t.Errorf("replica %d: %v, expected %v", p.Index, p.Overall, want)
		}
	}
}

// Clocks that disagree make negative transfers and delays; up to 10 ms they
// stand, beyond they are no measurement.
func TestClockSlack(t *testing.T) {
	const ms = 1_000_000
	g := graph{Nodes: []Node{{Op: "send"}, {Op: "recv"}, {Op: "end", After: []int32{0}, Final: true}}, Groups: []Group{{Members: []int32{0, 1}}}}
	for _, c := range []struct{ apart, cost, delay int64 }{{9 * ms, -9 * ms, -9 * ms}, {10 * ms, 0, 0}, {50 * ms, 0, 0}} {
		end := 100 * ms
		m := build(t, g, one(1, 1, [][2]int64{{0, int64(end)}}, [][2]int64{{int64(end) + c.apart, int64(end) + c.apart + ms}},
			[][2]int64{{int64(end) - c.apart, int64(end)}}))
		if m.cost[0] != c.cost || m.delay[2] != c.delay {
			t.Errorf("%d ns apart: transfer %d, delay %d, expected %d, %d", c.apart, m.cost[0], m.delay[2], c.cost, c.delay)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	n := func(after ...int32) Node { return Node{Op: "x", After: after, Final: true} }
	named := func(op string, seq int, after ...int32) Node {
		return Node{Op: op, Seq: seq, After: after, Final: true}
	}
	long := one(1, 1, [][2]int64{{0, 1}}, [][2]int64{{operator.MaxTotal, operator.MaxTotal + 1}})
	lanes := func(nodes int) recording { return one(1, 1, slices.Repeat([][][2]int64{{{0, 1}}}, nodes)...) }
	for _, c := range []struct {
		name string
		g    graph
		r    recording
		kind error
		want string
	}{
		{"too long", graph{Nodes: []Node{n(), n()}}, long, input.ErrOverflow, "too long to be replayed"},
		{"itself", graph{Nodes: []Node{named("a", 1, 0)}}, lanes(1), input.ErrFormat, "a 1 of stage 0 waits for a 1 of stage 0"},
		{"circle", graph{Nodes: []Node{named("a", 0), named("b", 0, 0, 2), named("c", 0, 1)}}, lanes(3), input.ErrFormat,
			"operators wait for each other: b 0 of stage 0 waits for c 0 of stage 0 waits for b 0 of stage 0"},
		{"circle through a group", graph{Nodes: []Node{named("send", 0), named("recv", 0, 2), named("next", 0, 0)}, Groups: []Group{{Members: []int32{0, 1}}}}, lanes(3), input.ErrFormat,
			"recv 0 of stage 0 waits for next 0 of stage 0 waits for send 0 of stage 0 waits for recv 0 of stage 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := modelOf(c.g, c.r, Options{})
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected %q of kind %v", err, c.want, c.kind)
			}
		})
	}
}

// slow replays one lane at a time by recursion, from the definition.
type slow struct {
	m      *Model
	groups []int // of each node, −1
	c      laneChoice
	delays bool
	ends   map[[2]int]int64
}

func (s *slow) start(v, l int) int64 {
	at := int64(0)
	for i, u := range s.m.nodes[v].After {
		if e := s.end(int(u), l); i == 0 || e > at {
			at = e
		}
	}
	if s.delays {
		at += s.m.delay[v*s.m.lanes()+l]
	}
	return at
}

func (s *slow) end(v, l int) int64 {
	if e, ok := s.ends[[2]int{v, l}]; ok {
		return e
	}
	at := s.start(v, l)
	if g := s.groups[v]; g >= 0 {
		lanes := []int{l}
		if s.m.groups[g].AcrossReplicas {
			lanes = nil
			for d := range s.m.replicas {
				lanes = append(lanes, l/s.m.replicas*s.m.replicas+d)
			}
		}
		for _, u := range s.m.groups[g].Members {
			for _, k := range lanes {
				at = max(at, s.start(int(u), k))
			}
		}
	}
	cost := s.m.ideal[v]
	if s.c.all[v] || s.c.mask[v] != nil && s.c.mask[v][l] != 0 {
		cost = s.m.cost[v*s.m.lanes()+l]
	}
	s.ends[[2]int{v, l}] = at + cost
	return at + cost
}

func (m *Model) slowly(c laneChoice, delays bool) times {
	s := &slow{m: m, groups: make([]int, len(m.nodes)), c: c, delays: delays, ends: make(map[[2]int]int64)}
	for v := range s.groups {
		s.groups[v] = slices.IndexFunc(m.groups, func(g Group) bool { return slices.Contains(g.Members, int32(v)) })
	}
	out := times{make([]int64, len(m.steps)), make([]int64, len(m.steps))}
	for k := range m.steps {
		done, top, low := int64(-1<<62), int64(-1<<62), int64(1<<62)
		for d := range m.replicas {
			for v, n := range m.nodes {
				l := k*m.replicas + d
				e := s.end(v, l)
				top, low = max(top, e), min(low, s.start(v, l))
				if n.Final {
					done = max(done, e)
				}
			}
		}
		out.done[k], out.span[k] = done, top-low
	}
	return out
}

// random is a random graph with groups that cannot deadlock: nodes are in
// layers, a group is within a layer, edges go to later layers.
func random(rng *rand.Rand) (graph, recording) {
	var g graph
	layers, stages := 2+rng.IntN(5), 1+rng.IntN(3)
	r := recording{Replicas: 1 + rng.IntN(4)}
	for s := range 1 + rng.IntN(5) {
		r.Steps = append(r.Steps, int64(3*s))
	}
	for i := range stages * r.Replicas {
		r.Ranks = append(r.Ranks, 10+i)
	}
	for range layers {
		first := len(g.Nodes)
		for i := range 1 + rng.IntN(6) {
			n := Node{Op: string(rune('a' + rng.IntN(4))), Seq: i, Stage: rng.IntN(stages), Final: rng.IntN(4) == 0}
			n.Communication = n.Op > "b"
			for u := range first {
				if rng.IntN(3) == 0 {
					n.After = append(n.After, int32(u))
				}
			}
			g.Nodes = append(g.Nodes, n)
		}
		layer := rng.Perm(len(g.Nodes) - first)
		for len(layer) > 0 {
			n := 1 + rng.IntN(len(layer))
			group := Group{AcrossReplicas: rng.IntN(2) == 0}
			for _, i := range layer[:n] {
				group.Members = append(group.Members, int32(first+i))
			}
			if layer = layer[n:]; rng.IntN(2) == 0 {
				g.Groups = append(g.Groups, group)
			}
		}
	}
	g.Nodes[0].Final = true
	for range len(g.Nodes) * len(r.Steps) * r.Replicas {
		r.Start, r.Dur = append(r.Start, rng.Int64N(1000)), append(r.Dur, rng.Int64N(500))
	}
	return g, r
}

// The replay agrees with the definition on random graphs, for random
// selections, and a sweep with a replay for each replica.
func TestReplayAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range 300 {
		g, r := random(rng)
		m := build(t, g, r)
		var sel Selection
		for range rng.IntN(3) {
			var w Where
			if rng.IntN(2) == 0 {
				w.Ops = []string{g.Nodes[rng.IntN(len(g.Nodes))].Op}
			}
			if rng.IntN(2) == 0 {
				w.DP = []int{rng.IntN(r.Replicas)}
			}
			if rng.IntN(2) == 0 {
				w.Steps = []int64{r.Steps[rng.IntN(len(r.Steps))]}
			}
			if rng.IntN(2) == 0 {
				w.Ranks = []int{r.Ranks[rng.IntN(len(r.Ranks))]}
			}
			sel = append(sel, w)
		}
		c, err := m.choose(sel)
		if err != nil {
			t.Fatal(err)
		}
		all := m.chooseAll()
		stage := rng.IntN(m.stages)
		nodes := m.chooseNodes(func(v int) bool { return g.Nodes[v].Stage == stage })
		out := m.replay([]scenario{{recorded: c, spans: true}, {recorded: c.invert(), spans: true}, {recorded: all, delayed: &all, spans: true},
			{recorded: nodes, sweep: true, spans: true}})
		same := func(what string, got, want times) {
			t.Helper()
			if !slices.Equal(got.done, want.done) || !slices.Equal(got.span, want.span) {
				t.Fatalf("%s: %v, by definition %v\ngraph %+v\nselection %+v", what, got, want, g, sel)
			}
		}
		same("chosen", out[0], m.slowly(c, false))
		same("all but chosen", out[1], m.slowly(c.invert(), false))
		same("everything", out[2], m.slowly(all, true))
		for d := range r.Replicas {
			one, err := m.choose(Selection{{Stages: []int{stage}, DP: []int{d}}})
			if err != nil {
				t.Fatal(err)
			}
			var part times
			for s := range r.Steps {
				part.done = append(part.done, out[3].done[s*r.Replicas+d])
				part.span = append(part.span, out[3].span[s*r.Replicas+d])
			}
			same("sweep", part, m.slowly(one, false))
		}
	}
}

// Results do not depend on how the work is cut up.
func TestSameOnAnyNumberOfProcessors(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	g, r := random(rng)
	m := build(t, g, r)
	want := m.Analyze()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	got := m.Analyze()
	for i, p := range want.ByOp {
		if got.ByOp[i].Name != p.Name || !slices.Equal(got.ByOp[i].PerStep, p.PerStep) {
			t.Errorf("%s: %v, with more processors %v", p.Name, got.ByOp[i], p)
		}
	}
}

func TestMedianAndMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		v := make([]int64, 1+rng.IntN(200))
		for i := range v {
			v[i] = rng.Int64N(int64(1 + rng.IntN(300)))
		}
		sorted := slices.Sorted(slices.Values(v))
		n := len(v)
		want := sorted[n/2]
		if n%2 == 0 {
			want = (sorted[n/2-1] + sorted[n/2] + 1) / 2
		}
		if got := median(v); got != want {
			t.Fatalf("median of %v is %d, expected %d", sorted, got, want)
		}
	}
	for _, c := range []struct {
		v    []int64
		want int64
	}{{[]int64{1, 2}, 2}, {[]int64{-1, -2}, -2}, {[]int64{1, 1, 2}, 1}, {[]int64{-5}, -5}} {
		if got := mean(c.v); got != c.want {
			t.Errorf("mean of %v is %d, expected %d", c.v, got, c.want)
		}
	}
}
