package operator_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/fixtures/optrace/pipesim"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// describe names an instance: "forward-recv 3 of stage 2".
func describe(o *operator.Trace, i operator.Instance) string {
	return fmt.Sprintf("%s %d of stage %d", o.Names[i.Name], i.Seq, i.Stage)
}

// opTrace is rows of (rank, step, name, seq, start, duration) on one clock;
// ranks are dp = 0 and pp = the rank.
func opTrace(rows ...[6]int64) *operator.Trace {
	t := &operator.Trace{Names: []string{"a", "b"}, Steps: []int64{10, 20}}
	for r := range 2 {
		t.Ranks = append(t.Ranks, trace.Rank{ID: r, Role: trace.Role{{Axis: "dp", Index: 0}, {Axis: "pp", Index: r}}})
	}
	for _, r := range rows {
		t.Rank, t.Step, t.Name = append(t.Rank, int32(r[0])), append(t.Step, int32(r[1])), append(t.Name, int32(r[2]))
		t.Seq, t.Lane = append(t.Seq, int32(r[3])), append(t.Lane, 0)
		t.Start, t.Dur = append(t.Start, r[4]), append(t.Dur, r[5])
		t.Chunk, t.GlobalChunk = append(t.Chunk, -1), append(t.GlobalChunk, -1)
		t.Microbatch, t.Group = append(t.Microbatch, -1), append(t.Group, -1)
	}
	return t
}

func TestArrangeSorts(t *testing.T) {
	o := opTrace(
		[6]int64{1, 0, 0, 0, 5, 1},
		[6]int64{0, 1, 0, 0, 9, 1},
		[6]int64{0, 0, 1, 1, 7, 1}, // three that start together: by name, then number
		[6]int64{0, 0, 1, 0, 7, 2},
		[6]int64{0, 0, 0, 0, 7, 3},
	)
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	if want := []int64{3, 2, 1, 1, 1}; !slices.Equal(o.Dur, want) {
		t.Errorf("durations %v, expected %v", o.Dur, want)
	}
	if want := []int32{0, 0, 0, 0, 1}; !slices.Equal(o.Rank, want) {
		t.Errorf("ranks %v, expected %v", o.Rank, want)
	}
	if want := []int32{0, 0, 0, 1, 0}; !slices.Equal(o.Step, want) {
		t.Errorf("steps %v, expected %v", o.Step, want)
	}
}

// Arranging is the same whatever order the rows come in, and doing it again
// changes nothing.
func TestArrangeOrderOfRows(t *testing.T) {
	want := pipesim.Make(pipesim.Spec{DP: 2, PP: 3, Microbatches: 3, Steps: 2, Noise: 0.1})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		got := *want
		order := rng.Perm(want.Len())
		for _, c := range []struct{ dst, src *[]int32 }{{&got.Rank, &want.Rank}, {&got.Step, &want.Step}, {&got.Name, &want.Name}, {&got.Lane, &want.Lane},
			{&got.Seq, &want.Seq}, {&got.Chunk, &want.Chunk}, {&got.GlobalChunk, &want.GlobalChunk}, {&got.Microbatch, &want.Microbatch}, {&got.Group, &want.Group}} {
			*c.dst = shuffled(*c.src, order)
		}
		got.Start, got.Dur = shuffled(want.Start, order), shuffled(want.Dur, order)
		if err := got.Arrange(nil); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, &got); d != "" {
			t.Fatal(d)
		}
	}
}

func shuffled[T any](column []T, order []int) []T {
	out := make([]T, len(order))
	for i, at := range order {
		out[i] = column[at]
	}
	return out
}

func TestArrangeRefuses(t *testing.T) {
	good := [6]int64{0, 0, 0, 0, 5, 1}
	bad := func(change func(row *[6]int64)) *operator.Trace {
		row := [6]int64{1, 0, 0, 0, 5, 1}
		change(&row)
		return opTrace(good, row)
	}
	ranks := opTrace(good, good)
	ranks.Ranks[1].ID = 0
	steps := opTrace(good, good)
	steps.Steps[1] = 10
	for _, c := range []struct {
		name string
		t    *operator.Trace
		kind error
		want string // in the message
	}{
		{"empty", opTrace(), input.ErrEmpty, "no operators"},
		{"equal ranks", ranks, input.ErrFormat, "rank 0 at position 1"},
		{"equal steps", steps, input.ErrFormat, "step 10 at position 1"},
		{"negative duration", bad(func(r *[6]int64) { r[5] = -1 }), input.ErrNegative, "input:2: a lasts -1 ns"},
		{"negative start", bad(func(r *[6]int64) { r[4] = -7 }), input.ErrNegative, "input:2: a starts 7 ns before"},
		{"negative seq", bad(func(r *[6]int64) { r[3] = -1 }), input.ErrNegative, "input:2: sequence number -1"},
		{"start too late", bad(func(r *[6]int64) { r[4] = math.MaxInt64 }), input.ErrOverflow, "input:2: a starts at"},
		{"too long", bad(func(r *[6]int64) { r[5] = operator.MaxTotal }), input.ErrOverflow, "input:2: a starts at"},
		{"twice", opTrace(good, [6]int64{0, 0, 1, 0, 1, 1}, [6]int64{0, 0, 0, 0, 9, 9}), input.ErrDuplicate,
			"input:3: a 0 of rank 0 in step 10 is there twice, first at input:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.t.Arrange(nil)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected %q of kind %v", err, c.want, c.kind)
			}
		})
	}
}

func TestOpClassNames(t *testing.T) {
	for c := operator.Other; c <= operator.GarbageCollection; c++ {
		if got := operator.ParseClass(c.String()); got != c {
			t.Errorf("%d reads back as %d", c, got)
		}
	}
	if got := operator.ParseClass("matmul"); got != operator.Other {
		t.Errorf("an unknown name is %v", got)
	}
	if got := (operator.GarbageCollection + 1).String(); got != "invalid(15)" {
		t.Errorf("got %s", got)
	}
}

func grid(t *testing.T, o *operator.Trace) *operator.Grid {
	t.Helper()
	g, err := o.Grid()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Every instance of every lane is the row that says so.
func TestGrid(t *testing.T) {
	o := pipesim.Make(pipesim.Spec{DP: 3, PP: 2, Microbatches: 4, Steps: 5, Noise: 0.2, FirstStep: 7, Every: 3})
	g := grid(t, o)
	if g.Replicas != 3 || g.Stages != 2 || len(g.Steps) != 5 || len(g.Notes) != 0 || len(g.At) != o.Len() {
		t.Fatalf("%d replicas, %d stages, %d steps, %d cells, notes %v", g.Replicas, g.Stages, len(g.Steps), len(g.At), g.Notes)
	}
	dp, pp := o.Coordinates()
	for i, in := range g.Instances {
		for l := range g.Lanes() {
			row := g.At[i*g.Lanes()+l]
			r := o.Rank[row]
			if o.Name[row] != in.Name || o.Seq[row] != in.Seq || pp[r] != int(in.Stage) || dp[r] != l%3 || o.Step[row] != int32(l/3) {
				t.Fatalf("instance %v of lane %d is row %d", describe(o, in), l, row)
			}
		}
	}
}

// A step that lacks an operator anywhere, or has one more, is left out and
// noted; the first step too, though the program is usually taken from it.
func TestGridSkipsSteps(t *testing.T) {
	for _, broken := range []int32{0, 3} {
		o := pipesim.Make(pipesim.Spec{DP: 2, PP: 2, Microbatches: 2, Steps: 4})
		row := slices.Index(o.Step, broken)
		o.Seq[row] += 50 // one instance is gone and an unknown one there
		if err := o.Arrange(nil); err != nil {
			t.Fatal(err)
		}
		g := grid(t, o)
		if len(g.Steps) != 3 || slices.Contains(g.Steps, broken) || len(g.Notes) != 1 || g.Notes[0].Kind != input.NoteStepsSkipped {
			t.Errorf("step %d broken: steps %v, notes %v", broken, g.Steps, g.Notes)
		}
	}
}

func TestGridRefuses(t *testing.T) {
	make := func() *operator.Trace { return pipesim.Make(pipesim.Spec{DP: 2, PP: 2, Microbatches: 2, Steps: 2}) }
	noRole, twin, hole, seq, uneven := make(), make(), make(), make(), make()
	noRole.Ranks[1].Role = nil
	twin.Ranks[1].Role = twin.Ranks[0].Role
	hole.Ranks[3].Role, _ = trace.NewRole(trace.Coord{Axis: "dp", Index: 2}, trace.Coord{Axis: "pp", Index: 1})
	seq.Seq[0] = math.MaxInt32
	for i, r := range uneven.Rank {
		if r == 3 { // of replica 1: its program has other names
			uneven.Name[i] += int32(len(uneven.Names))
		}
	}
	for _, name := range uneven.Names {
		uneven.Names = append(uneven.Names, "other-"+name)
	}
	for _, c := range []struct {
		name string
		t    *operator.Trace
		want string
	}{
		{"no role", noRole, "rank 1 does not tell its dp and pp"},
		{"twin", twin, "ranks 0 and 1 both are dp=0, pp=0"},
		{"hole", hole, "no rank recorded dp=2, pp=0"},
		{"wild numbers", seq, "expected its ordinal in the step"},
		{"other programs", uneven, "no two replicas run the same program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.t.Grid(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected %q", err, c.want)
			}
		})
	}
}

// In the simulated schedule the k-th transfer of a kind serves microbatch k
// and pairs with microbatch k of the neighbour.
func TestWire(t *testing.T) {
	o := pipesim.Make(pipesim.Spec{DP: 1, PP: 4, Microbatches: 5, Steps: 1, Noise: 0.3})
	g := grid(t, o)
	w, err := o.Wire(g)
	if err != nil {
		t.Fatal(err)
	}
	partner := map[operator.Class]operator.Class{operator.ForwardSend: operator.ForwardRecv, operator.ForwardRecv: operator.ForwardSend,
		operator.BackwardSend: operator.BackwardRecv, operator.BackwardRecv: operator.BackwardSend}
	toward := map[operator.Class]int32{operator.ForwardSend: 1, operator.ForwardRecv: -1, operator.BackwardSend: -1, operator.BackwardRecv: 1}
	n := 0
	for i, in := range g.Instances {
		if !in.Class.IsTransfer() {
			if w.Peer[i] >= 0 || w.Serves[i] >= 0 {
				t.Errorf("%s is no transfer", describe(o, in))
			}
			continue
		}
		n++
		if w.Peer[i] < 0 || w.Serves[i] < 0 {
			t.Fatalf("%s is alone", describe(o, in))
		}
		peer, pass := g.Instances[w.Peer[i]], g.Instances[w.Serves[i]]
		if peer.Class != partner[in.Class] || peer.Seq != in.Seq || peer.Stage != in.Stage+toward[in.Class] {
			t.Errorf("%s pairs with %s", describe(o, in), describe(o, peer))
		}
		if pass.Class != in.Class.Serves() || pass.Seq != in.Seq || pass.Stage != in.Stage {
			t.Errorf("%s serves %s", describe(o, in), describe(o, pass))
		}
	}
	if n != 4*3*5 {
		t.Errorf("%d transfers, expected two directions × three links × two ends × 5", n)
	}
}

// wired is a trace of one replica, two stages and two passes forward, one
// backward, with the given transfers on stage 0 and 1.
func wired(transfers ...[4]int64) *operator.Trace {
	t := opTrace()
	t.Steps = []int64{0}
	t.Names = []string{"forward-compute", "backward-compute", "forward-send", "forward-recv", "backward-send", "backward-recv"}
	row := func(rank, name, seq, start, dur int64) {
		t.Rank, t.Step, t.Name = append(t.Rank, int32(rank)), append(t.Step, 0), append(t.Name, int32(name))
		t.Seq, t.Lane = append(t.Seq, int32(seq)), append(t.Lane, 0)
		t.Start, t.Dur = append(t.Start, start), append(t.Dur, dur)
		t.Chunk, t.GlobalChunk = append(t.Chunk, 0), append(t.GlobalChunk, -1)
		t.Microbatch, t.Group = append(t.Microbatch, -1), append(t.Group, -1)
	}
	const ms = 1e6
	for rank := range int64(2) {
		at := 10 * ms * rank
		row(rank, 0, 0, at, 10*ms)
		row(rank, 0, 1, at+10*ms, 10*ms)
		row(rank, 1, 0, at+40*ms, 10*ms)
	}
	seq := make(map[[2]int64]int64)
	for _, x := range transfers {
		k := [2]int64{x[0], x[1]}
		row(x[0], x[1], seq[k], x[2], x[3])
		seq[k]++
	}
	return t
}

// Transfers outside the time of the passes moved nothing; transfers at the ends
// of the model have no peer; a first receive may be missing at the ends.
func TestWireByHand(t *testing.T) {
	const ms = 1e6
	const send, recv, bsend, brecv = 2, 3, 4, 5
	base := [][4]int64{
		{0, send, 10*ms - 500_000, 450_000}, // ends 50 µs before its pass, which clocks may do
		{0, send, 20 * ms, ms}, {1, recv, 0, 11 * ms},
		{1, recv, 20*ms + 50_000, ms}, // starts 50 µs after the last pass
		{0, brecv, 20 * ms, 40 * ms}, {1, bsend, 60 * ms, ms},
	}
	o := wired(append(base,
		[4]int64{1, recv, 20*ms + 50_001, ms}, // starts more than that after the last forward pass of stage 1, at 20 ms
		[4]int64{0, send, 9 * ms, 949_999},    // ends more than that before the first forward pass does, at 10 ms
		[4]int64{1, send, 20 * ms, ms},        // of the last chunk of the model: serves, no peer
		[4]int64{1, send, 30 * ms, ms},
	)...)
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	g := grid(t, o)
	w, err := o.Wire(g)
	if err != nil {
		t.Fatal(err)
	}
	find := func(what string) int {
		return slices.IndexFunc(g.Instances, func(in operator.Instance) bool { return describe(o, in) == what })
	}
	for _, c := range []struct{ transfer, serves, peer string }{
		{"forward-send 2 of stage 0", "", ""}, // by number the one at 9 ms
		{"forward-send 0 of stage 0", "forward-compute 0 of stage 0", "forward-recv 0 of stage 1"},
		{"forward-send 1 of stage 0", "forward-compute 1 of stage 0", "forward-recv 1 of stage 1"},
		{"forward-recv 2 of stage 1", "", ""},
		{"forward-send 0 of stage 1", "forward-compute 0 of stage 1", ""},
		{"forward-send 1 of stage 1", "forward-compute 1 of stage 1", ""},
		{"backward-recv 0 of stage 0", "backward-compute 0 of stage 0", "backward-send 0 of stage 1"},
	} {
		i := find(c.transfer)
		for what, got := range map[string]int32{c.serves: w.Serves[i], c.peer: w.Peer[i]} {
			if want := int32(find(what)); got != want {
				t.Errorf("%s: instance %d, expected %d (%s)", c.transfer, got, want, what)
			}
		}
	}
	late := wired(base[0], base[1], base[3], base[4], base[5]) // stage 1 lacks its first receive
	if err := late.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Wire(grid(t, late)); !errors.Is(err, input.ErrMissing) || !strings.Contains(err.Error(), "2 forward-send") {
		t.Errorf("a send without its receive: %v", err)
	}
}

// Where the first receive of stage 0, which would move nothing, was not
// recorded, the others serve the same passes as if it had been.
func TestWireWithoutFirstReceive(t *testing.T) {
	all := pipesim.Make(pipesim.Spec{DP: 1, PP: 2, Microbatches: 2, Chunks: 2, Steps: 1})
	wiring := func(o *operator.Trace) map[string][2]string {
		g := grid(t, o)
		w, err := o.Wire(g)
		if err != nil {
			t.Fatal(err)
		}
		name := func(i int32) string {
			if i < 0 {
				return ""
			}
			return describe(o, g.Instances[i])
		}
		out := make(map[string][2]string)
		for i, in := range g.Instances {
			if in.Class.IsTransfer() {
				out[describe(o, in)] = [2]string{name(w.Serves[i]), name(w.Peer[i])}
			}
		}
		return out
	}
	want := wiring(all)
	const gone = "forward-recv 0 of stage 0"
	if want[gone] != [2]string{"forward-compute 0 of stage 0", ""} {
		t.Fatalf("the first receive serves %q, its peer is %q", want[gone][0], want[gone][1])
	}
	delete(want, gone)
	var rows []int
	for i := range all.Start {
		if all.Names[all.Name[i]] != "forward-recv" || all.Rank[i] != 0 || all.Seq[i] != 0 {
			rows = append(rows, i)
		}
	}
	some := *all
	for _, c := range []*[]int32{&some.Rank, &some.Step, &some.Name, &some.Lane, &some.Seq, &some.Chunk, &some.GlobalChunk, &some.Microbatch, &some.Group} {
		*c = shuffled(*c, rows)
	}
	some.Start, some.Dur = shuffled(some.Start, rows), shuffled(some.Dur, rows)
	if d := cmp.Diff(want, wiring(&some)); d != "" {
		t.Error(d)
	}
}

// Groups are what communicates together, and the wait of a member ends when
// the last one starts.
func TestJoinAndWaits(t *testing.T) {
	o := pipesim.Make(pipesim.Spec{DP: 2, PP: 3, Microbatches: 3, Steps: 2, Noise: 0.2, Slow: 2, SlowDP: 1, SlowPP: 1})
	g := grid(t, o)
	w, err := o.Wire(g)
	if err != nil {
		t.Fatal(err)
	}
	o.Join(g, w)
	wait, transfer := o.Waits()
	type sum struct {
		n     int
		least int64
		steps map[int32]bool
	}
	groups := make(map[int32]*sum)
	for i, id := range o.Group {
		if wait[i]+transfer[i] != o.Dur[i] || wait[i] < 0 || transfer[i] < 0 {
			t.Fatalf("row %d: wait %d + transfer %d of %d", i, wait[i], transfer[i], o.Dur[i])
		}
		if id < 0 {
			if wait[i] != 0 {
				t.Errorf("row %d waits for nobody for %d ns", i, wait[i])
			}
			continue
		}
		s := groups[id]
		if s == nil {
			s = &sum{least: wait[i], steps: make(map[int32]bool)}
			groups[id] = s
		}
		s.n++
		s.least = min(s.least, wait[i])
		s.steps[o.Step[i]] = true
	}
	sizes := make(map[int]int)
	for id, s := range groups {
		sizes[s.n]++
		if s.least != 0 || len(s.steps) != 1 {
			t.Errorf("group %d: nobody entered last, or it spans steps %v", id, s.steps)
		}
	}
	// per step: 2 replicas × (2 directions × 2 links × 3 transfers + 1 embedding)
	// pairs, 3 stages × (gather, reduce) over 2 replicas, one clip of all 6
	if want := map[int]int{2: 2 * (2*13 + 6), 6: 2}; !cmp.Equal(sizes, want) {
		t.Errorf("groups by size %v, expected %v", sizes, want)
	}
}
