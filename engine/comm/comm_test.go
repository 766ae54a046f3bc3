package comm

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// eachProfile lets change see every process that a profiler saw.
func eachProfile(c *comms.Record, change func(p *comms.Process)) *comms.Record {
	for i := range c.Processes {
		if len(c.Processes[i].Kernels) > 0 {
			change(&c.Processes[i])
		}
	}
	return c
}

// without drops the kernels of processes, as if no profiler had seen them.
func without(c *comms.Record, drop func(p *comms.Process) bool) *comms.Record {
	to := make([]int, len(c.Processes))
	var kept []comms.Process
	for i, p := range c.Processes {
		to[i] = len(kept)
		if len(p.Kernels) == 0 || !drop(&p) {
			kept = append(kept, p)
		}
	}
	c.Processes = kept
	for i := range c.Groups {
		c.Groups[i].Process = to[c.Groups[i].Process]
	}
	for i := range c.Calls {
		c.Calls[i].Process = to[c.Calls[i].Process]
	}
	return c
}

func analyze(t testing.TB, in *comms.Record, o Options) *Result {
	t.Helper()
	r, err := Analyze(in, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// every match of the fixture is known: the correlation of a kernel is ten times the number of the job's call,
// which the buffers' address has, and the rank.
func checkMatches(t *testing.T, r *Result, certain bool) {
	t.Helper()
	if len(r.Matches) != 132 {
		t.Errorf("%d matches, want 132", len(r.Matches))
	}
	for _, m := range r.Matches {
		k := &r.Ranks[m.Rank]
		c := &r.Calls[m.Call]
		got := r.Kernels(m.Rank)[m.Kernel].Correlation
		number := int64(c.Send&0xffffffff) >> 12
		if want := 10*number + (k.PID-4000)/7; got != want || m.Certain != certain {
			t.Fatalf("rank %d, call %d: kernel %d, want %d; certain %v, want %v", k.Rank, m.Call, got, want, m.Certain, certain)
		}
	}
}

func TestWhole(t *testing.T) {
	r := analyze(t, commtest.Job(t, commtest.Logs, commtest.Exports), Options{})
	checkMatches(t, r, true)
	if r.OpCounts[nccl.AllReduce] != 132 || len(r.OpCounts) != 1 || r.Unparsed != 1 || r.Unmatched != 0 || r.Leftover != 0 {
		t.Errorf("%v, %d not understood, %d and %d without partner", r.OpCounts, r.Unparsed, r.Unmatched, r.Leftover)
	}
	kinds := map[string]string{}
	for i := range r.Communicators {
		c := &r.Communicators[i]
		kinds[c.ID] = c.Kind.String()
	}
	want := map[string]string{"0x5f3a11c0de4401": "unknown", "0x5f3a11c0de4402": "TP", "0x5f3a11c0de4403": "TP", "0x5f3a11c0de4404": "DP", "0x5f3a11c0de4405": "DP"}
	for id, kind := range want {
		if kinds[id] != kind {
			t.Errorf("%s is %s, want %s", id, kinds[id], kind)
		}
	}
	for _, c := range r.Clocks {
		ahead := int64(0)
		if r.Ranks[c.Rank].Rank >= 2 {
			ahead = 2_400_000
		}
		if d := c.Offset - ahead; !c.Known || c.Drift != 0 || max(d, -d) > 5000 {
			t.Errorf("clock of rank %d: %+v, want %d ahead", c.Rank, c, ahead)
		}
	}
}

// A container has its own pids, and may show each process one GPU; what it did and when
// remains.
func TestPairing(t *testing.T) {
	for _, c := range []struct {
		how  Pairing
		hide func(p *comms.Process)
	}{
		{ByDevice, func(p *comms.Process) { p.PID = 1 }},
		{ByBus, func(p *comms.Process) {
			p.Bus, p.PID = 0x1000*(1+0x24*uint64(p.Device)), 1
			p.Device = 0
		}},
		{ByRankName, func(p *comms.Process) { p.Rank, p.PID, p.Device = int(p.PID-4000)/7, 1, 0 }},
	} {
		r := analyze(t, eachProfile(commtest.Job(t, commtest.Logs, commtest.Exports), c.hide), Options{})
		checkMatches(t, r, true)
		for i := range r.Ranks {
			if got := r.Ranks[i].Pairing; got != c.how {
				t.Errorf("rank %d by %v, want by %v", i, got, c.how)
			}
		}
	}
}

// A log and an export of different ranks, or of different GPUs, are no pair.
func TestStrangers(t *testing.T) {
	r := analyze(t, commtest.Job(t, commtest.Logs[:1], commtest.Exports[1:]), Options{})
	if len(r.Matches) != 0 || len(r.Ranks) != 3 {
		t.Errorf("%d matches of a log and an export of another host, %d ranks", len(r.Matches), len(r.Ranks))
	}
	other := without(commtest.Job(t, commtest.Logs[:1], commtest.Exports[:1]), func(p *comms.Process) bool { return p.PID == 4000 })
	if r = analyze(t, eachProfile(other, func(p *comms.Process) { p.Bus = 0x25000 }), Options{}); len(r.Matches) != 0 || len(r.Ranks) != 2 {
		t.Errorf("%d matches of two processes with different GPUs", len(r.Matches))
	}
}

// A process whose log is lost has the number of no other of its host, where logs and exports number alike.
func TestOtherNumber(t *testing.T) {
	onlyByPID(t, analyze(t, eachProfile(commtest.Job(t, commtest.Logs[:2], commtest.Exports[:1]), func(p *comms.Process) {
		if p.PID != 4000 {
			p.PID += 1000
		}
		p.Bus, p.Device = 0, -1 // what else tells them apart
	}), Options{}))
}

func onlyByPID(t *testing.T, r *Result) {
	t.Helper()
	for _, k := range r.Ranks {
		if k.Log != comms.None && k.Profile != comms.None && k.Pairing != ByPID {
			t.Errorf("rank %d of %s is paired by %v", k.Rank, k.Host, k.Pairing)
		}
	}
}

// Where nothing tells one rank of a host from another, none is paired.
func TestIndistinct(t *testing.T) {
	var first *comms.Process
	r := analyze(t, eachProfile(commtest.Job(t, commtest.Logs[:2], commtest.Exports[:1]), func(p *comms.Process) {
		if first == nil {
			first = p
		}
		*p = *first
		p.PID, p.Device = 1, 0
	}), Options{})
	if len(r.Matches) != 0 || len(r.Ranks) != 4 {
		t.Errorf("%d matches, %d ranks", len(r.Matches), len(r.Ranks))
	}
}

func TestOneSide(t *testing.T) {
	r := analyze(t, commtest.Job(t, commtest.Logs, nil), Options{})
	if len(r.Ranks) != 4 || len(r.Communicators) != 5 || len(r.Matches)+len(r.Clocks)+len(r.Collectives) != 0 || r.OpCounts[nccl.AllReduce] != 132 {
		t.Errorf("logs alone: %d ranks, %d communicators, %d matches", len(r.Ranks), len(r.Communicators), len(r.Matches))
	}
	r = analyze(t, commtest.Job(t, nil, commtest.Exports), Options{})
	if len(r.Ranks) != 4 || len(r.Communicators)+len(r.Matches)+len(r.OpCounts) != 0 || len(r.Clocks) != 4 || r.Leftover != 132 {
		t.Errorf("exports alone: %d ranks, %d communicators, %d clocks, %d kernels", len(r.Ranks), len(r.Communicators), len(r.Clocks), r.Leftover)
	}
}

func TestThesisScoring(t *testing.T) {
	checkMatches(t, analyze(t, commtest.Job(t, commtest.Logs, commtest.Exports), Options{Scoring: ByThesis}), false)
}

// Sizes that are given decide; such as do not fit are told and not used.
func TestLayout(t *testing.T) {
	in := commtest.Job(t, commtest.Logs, commtest.Exports)
	r := analyze(t, in, Options{Layout: parallel.Layout{TP: 2, PP: 2}})
	for i := range r.Communicators {
		c := &r.Communicators[i]
		want := parallel.UnknownKind // two stages of a pipeline that reduce and send nothing
		if c.Stride() == 1 && c.NRanks == 2 {
			want = parallel.TensorParallel
		}
		if c.Kind != want {
			t.Errorf("%v of stride %d is %v, want %v", c.Ranks, c.Stride(), c.Kind, want)
		}
	}
	r = analyze(t, in, Options{Layout: parallel.Layout{TP: 3}})
	if !slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Kind == NoteLayoutSize && n.N == 4 && n.Layout.World() == 3 }) {
		t.Errorf("notes %+v", r.Notes)
	}
}

// Ranks that are chosen are told of as if the others had left nothing, with what all of them together tell: their numbers, clocks, and which kernel
// ran which call.
func TestRanks(t *testing.T) {
	all := analyze(t, commtest.Job(t, commtest.Logs, commtest.Exports), Options{})
	for name, c := range map[string]struct {
		ranks, whole []int // communicators all of whose ranks are left have these ranks
		calls        int
	}{
		"a host":           {[]int{2, 3}, []int{2, 3}, 66},
		"one of each host": {[]int{3, 1}, []int{1, 3}, 66},
		"one":              {[]int{2}, nil, 33},
		"all":              {[]int{0, 1, 2, 3}, []int{0, 1, 2, 3}, 132},
	} {
		t.Run(name, func(t *testing.T) {
			r := analyze(t, commtest.Job(t, commtest.Logs, commtest.Exports), Options{Ranks: c.ranks})
			var numbers []int
			for i := range r.Ranks {
				numbers = append(numbers, r.Ranks[i].Rank)
			}
			if want := slices.Sorted(slices.Values(c.ranks)); !slices.Equal(numbers, want) || len(r.Clocks) != len(want) {
				t.Errorf("ranks %v with %d clocks, want %v", numbers, len(r.Clocks), want)
			}
			if r.OpCounts[nccl.AllReduce] != int64(c.calls) || len(r.Calls) != c.calls || len(r.Matches) != c.calls || r.Unmatched+r.Leftover != 0 {
				t.Errorf("%d calls counted, %d left, %d matches, %d and %d without partner", r.OpCounts[nccl.AllReduce], len(r.Calls), len(r.Matches), r.Unmatched, r.Leftover)
			}
			measured := 0
			for i := range r.Collectives {
				x := &r.Collectives[i]
				if !x.Whole(r) {
					continue
				}
				measured++
				of := slices.IndexFunc(all.Collectives, func(y Collective) bool {
					return all.Communicators[y.Communicator].ID == r.Communicators[x.Communicator].ID && y.Count == x.Count
				})
				if y := all.Collectives[of]; y.End-y.Begin != x.End-x.Begin || !slices.ContainsFunc(r.Communicators, func(g parallel.Communicator) bool { return slices.Equal(g.Ranks, c.whole) }) {
					t.Errorf("%+v, of all ranks %+v", x, y)
				}
			}
			if (measured > 0) != (c.whole != nil) {
				t.Errorf("%d collectives are whole", measured)
			}
		})
	}
	if _, err := Analyze(commtest.Job(t, commtest.Logs, nil), Options{Ranks: []int{1, 4}}); err == nil || err.Error() != "rank 4 is not in the recordings, which have 0-3" {
		t.Errorf("a rank that is not there: %v", err)
	}
}

// The process that left no log is the one rank that is missing from the communicator of all.
func TestOneLogMissing(t *testing.T) {
	r := analyze(t, commtest.Job(t, append(slices.Clone(commtest.Logs[:2]), commtest.Logs[3]), commtest.Exports), Options{})
	for i := range r.Ranks {
		if k := &r.Ranks[i]; k.PID != 4000+7*int64(k.Rank) || (k.Log == comms.None) != (k.Rank == 2) {
			t.Errorf("pid %d is rank %d, with log %v", k.PID, k.Rank, k.Log != comms.None)
		}
	}
}
