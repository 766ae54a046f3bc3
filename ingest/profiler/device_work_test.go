package profiler

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/profile"
)

// TestManyWorks: more work than is held, and more than is kept in memory, is
// accounted for as exactly as a little is, and added up by name; only single
// operators are too many.
func TestManyWorks(t *testing.T) {
	f := feed{NewBuilder(nil, Overview)}.on(1, "ProfilerStep#0", 0, 100_000_000).on(1, "forward", 0, 100_000_000)
	id := f.b.Name([]byte("K"))
	const n = 6 * maxHeld
	for i := int64(0); i < n; i++ {
		at := i * 100 * us
		f.b.Launch(1, i+1, at, LaunchesOne)
		gap := int64(300)
		if i%10 == 0 {
			gap = 50 * us
		}
		f.b.Work(Work{Name: id, Queue: 1, Start: at, End: at + 100*us - gap, Correlation: i + 1})
	}
	if len(f.b.works.held) > maxHeld || f.b.works.store.size == 0 {
		t.Errorf("%d pieces are held, %d bytes are in a file", len(f.b.works.held), f.b.works.store.size)
	}
	r := f.finish()
	idle := int64(n/10+1)*50*us + (n-n/10-1)*300
	c := r.Steps[0].Time
	if got, want := c.Idle-(c.First-c.Start)-(c.End-c.Last), idle-300; got != want {
		t.Errorf("idle %d ns, want %d", got, want)
	}
	if d := r.Steps[0].Device; d.Busy[r.Steps[0].Spans[0].Stage] != n*100*us-idle {
		t.Errorf("busy %v", d.Busy)
	}
	if r.OpsLost != n || len(r.Ops) > 0 || len(r.Tallies) != 1 || r.Tallies[0].Count != n || r.Tallies[0].Dur != n*100*us-idle {
		t.Errorf("%d operators, %d lost; tallies %+v", len(r.Ops), r.OpsLost, r.Tallies)
	}
}

// TestPack: what is packed comes back, whatever it is.
func TestPack(t *testing.T) {
	all := []work{
		{},
		{start: -1 << 61, end: 1 << 62, launch: 1 << 62, name: math.MaxInt32, collective: math.MaxInt32 - 1, lane: math.MaxUint16, kind: Memory},
		{start: 5, end: 5, launch: math.MaxInt64, collective: -1, kind: Communication, unresolved: true},
		{start: math.MinInt64, end: math.MaxInt64, launch: math.MinInt64, unresolved: true},
		{start: 1 << 60, end: 1<<60 + 1, launch: 1<<60 - 20_000, collective: 3, lane: 7, thread: 5, kind: Communication},
		{lane: math.MaxUint16, thread: noThread - 1, kind: Memory},
	}
	var b []byte
	at := int64(17)
	for i := range all {
		was := len(b)
		if b = all[i].pack(b, at); len(b)-was > mostPacked {
			t.Errorf("%d bytes, at most %d were expected", len(b)-was, mostPacked)
		}
		at = all[i].start
	}
	at = 17
	for _, want := range all {
		var got work
		b = b[got.unpack(b, at):]
		if got != want {
			t.Errorf("%+v came back as %+v", want, got)
		}
		at = got.start
	}
	if len(b) > 0 {
		t.Errorf("%d bytes are left", len(b))
	}
}

// TestInOrder: works in any order, with launches before, after and nowhere,
// come out by start and with the launch that is theirs, as sorting all of them
// at once has it.
func TestInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := NewBuilder(nil, Totals)
	b.works.store.memory = 100_000
	var all []work
	id := b.Name([]byte("K"))
	for i := range int64(5 * maxHeld / 2) {
		w := work{start: i*10 + rng.Int64N(1_000_000), lane: uint16(rng.IntN(3)), order: uint32(i), collective: -1}
		w.end, w.launch = w.start+rng.Int64N(50), w.start-rng.Int64N(1000)
		w.unresolved = rng.IntN(10) == 0
		add := func() {
			b.Work(Work{Name: id, Queue: int64(w.lane), Start: w.start, End: w.end, Correlation: i + 1, Kind: Compute})
		}
		switch {
		case w.unresolved:
			add()
		case rng.IntN(2) == 0:
			b.Launch(1, i+1, w.launch, LaunchesOne)
			add()
		default:
			add()
			b.Launch(1, i+1, w.launch, LaunchesOne)
		}
		all = append(all, w)
	}
	b.works.end(&b.launches)
	defer b.Discard()
	if len(b.works.runs) < 3 || b.works.store.size == 0 {
		t.Fatalf("%d runs, %d bytes of them in a file", len(b.works.runs), b.works.store.size)
	}
	slices.SortStableFunc(all, func(a, b work) int { return int(a.start - b.start) })
	type launched struct{ start, end, launch int64 }
	var want, got []launched
	latest := make(map[uint16]int64)
	for _, w := range all {
		if last, ok := latest[w.lane]; w.unresolved && ok {
			w.launch = min(w.start, max(last, w.start-longestQueue))
		} else if w.unresolved {
			w.launch = w.start
		}
		latest[w.lane] = w.launch
		want = append(want, launched{w.start, w.end, w.launch})
	}
	if err := b.works.eachByStart(&b.launches, func(w *work) { got = append(got, launched{w.start, w.end, w.launch}) }); err != nil {
		t.Fatal(err)
	}
	order := func(a, b launched) int {
		return slices.Compare([]int64{a.start, a.end, a.launch}, []int64{b.start, b.end, b.launch})
	}
	if !slices.IsSortedFunc(got, func(a, b launched) int { return int(a.start - b.start) }) {
		t.Error("not by start")
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	differ := 0
	for i := range want {
		if got[i] != want[i] {
			differ++
		}
	}
	// A neighbour that begins at the same moment may be another one.
	if len(got) != len(want) || differ > len(want)/1000 {
		t.Errorf("%d of %d, want %d: %d differ", len(got), b.works.n, len(want), differ)
	}
}

// TestLateLaunch: a launch that comes long after its work is found, and one of
// a graph is that of all its work.
func TestLateLaunch(t *testing.T) {
	f := newFeed().on(1, "ProfilerStep#0", 0, 1000).on(1, "forward", 0, 500).on(1, "backward", 500, 1000)
	id := f.b.Name([]byte("K"))
	f.b.Work(Work{Name: id, Queue: 1, Start: 600 * us, End: 610 * us, Correlation: 1})
	f.b.Work(Work{Name: id, Queue: 1, Start: 700 * us, End: 710 * us, Correlation: 2})
	f.b.Work(Work{Name: id, Queue: 1, Start: 720 * us, End: 730 * us, Correlation: 2})
	for i := range int64(2 * maxHeld) {
		f.b.Launch(1, i+10, 900*us, LaunchesOne)
		f.b.Work(Work{Name: id, Queue: 2, Start: 901 * us, End: 901 * us, Correlation: i + 10})
	}
	f.b.Launch(1, 1, 100*us, LaunchesOne)
	f.b.Launch(1, 2, 200*us, LaunchesGraph)
	r := f.finish()
	got := make(map[int]int64)
	for _, tally := range r.Tallies {
		got[int(tally.Stage)] = tally.Dur
	}
	forward := r.Steps[0].Spans[0].Stage
	if got[forward] != 30*us {
		t.Errorf("forward launched %d ns of work, want 30 µs: %v", got[forward], got)
	}
}

// TestUnion against counting moments, in steps of which some are empty.
func TestUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		steps := []profile.Step{{Time: &profile.Categories{Start: 0, End: 30}}, {Time: &profile.Categories{Start: 30, End: 30}}, {Time: &profile.Categories{Start: 30, End: 90}}}
		var o busyTime
		var in [kinds][100]bool
		all := make([]work, rng.IntN(12))
		for i := range all {
			w := &all[i]
			w.kind, w.start = Kind(rng.IntN(int(kinds))), rng.Int64N(90)
			w.end = w.start + rng.Int64N(10)
			for m := w.start; m < w.end; m++ {
				in[w.kind][m] = true
			}
		}
		slices.SortFunc(all, func(a, b work) int { return int(a.start - b.start) })
		for i := range all {
			o.add(&all[i], steps)
		}
		o.finish(steps)
		for _, s := range steps {
			want := profile.Categories{Start: s.Time.Start, End: s.Time.End}
			for m := want.Start; m < want.End; m++ {
				compute, communication, memory := in[Compute][m], in[Communication][m], in[Memory][m]
				want.Compute += count(compute)
				want.Communication += count(communication)
				want.Memory += count(memory)
				want.ExposedComm += count(communication && !compute)
				want.Idle += count(!compute && !communication && !memory)
				if compute || communication || memory {
					if want.First == want.Last {
						want.First = m
					}
					want.Last = m + 1
				}
			}
			if diff := cmp.Diff(want, *s.Time); diff != "" {
				t.Fatalf("%v (-want +got):\n%s", all, diff)
			}
		}
	}
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
