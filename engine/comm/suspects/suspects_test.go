package suspects

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/trace/comms"
)

// pairOfMany is a job of fifty ranks of which two alone have collectives, each ten milliseconds apart; late says
// by how much of its own each of the two arrives late at the k-th.
func pairOfMany(late func(k int) (first, second int64)) *comm.Result {
	r := &comm.Result{Recorded: &comms.Record{Processes: make([]comms.Process, 1)}, Ranks: make([]comm.Rank, 50), Communicators: []parallel.Communicator{{NRanks: 2}},
		Clocks: []comm.Clock{{Rank: 0, Fit: comm.Fit{Known: true}}, {Rank: 1, Fit: comm.Fit{Known: true}}}}
	r.Ranks[1].Rank = 1
	for k := range int64(64) {
		x, y := late(int(k))
		at := 1 + k*10_000_000
		c := comm.Collective{Certain: true, Begin: at + max(x, y), End: at + 5_000_000, Parts: []comm.Part{{Rank: 0, Start: at + x, End: at + 5_000_000, Own: x}, {Rank: 1, Start: at + y, End: at + 5_000_000, Own: y}}}
		if y > x {
			c.Last = 1
		}
		r.Collectives = append(r.Collectives, c)
	}
	return r
}

// Of two ranks the one that is always late by itself is named, and of two that take turns neither, however many others there are
// that nothing is known of.
func TestLateOfTwo(t *testing.T) {
	r := pairOfMany(func(int) (int64, int64) { return 0, 1_000_300 })
	if l := Latecomers(r); len(l) != 1 || l[0].Rank() != 1 || l[0].Saves.Largest() < 0.09 || l[0].Saves.Largest() > 0.11 {
		t.Errorf("always late by a tenth of the time: %+v", l)
	}
	r = pairOfMany(func(k int) (int64, int64) {
		if k/4%16 < 9 { // 9 of 16 parts; by chance 10 are on one of two in 23 %
			return 0, 3_000_000
		}
		return 1_000_000, 0
	})
	if l := Latecomers(r); len(l) != 0 {
		t.Errorf("nine times of sixteen: %+v", l)
	}
}

// jobOf is a job of n ranks with 64 collectives ten milliseconds apart; late says by how much of its own a rank arrives
// late at the k-th, to which noise adds up to 0.3 ms.
func jobOf(n int, seed uint64, late func(k, rank int) int64) *comm.Result {
	rng := rand.New(rand.NewPCG(seed, 0))
	r := &comm.Result{Recorded: &comms.Record{Processes: make([]comms.Process, 1)}, Ranks: make([]comm.Rank, n), Communicators: []parallel.Communicator{{NRanks: n}}}
	for i := range n {
		r.Ranks[i].Rank = i
		r.Clocks = append(r.Clocks, comm.Clock{Rank: i, Fit: comm.Fit{Known: true}})
	}
	for k := range 64 {
		at := 1 + int64(k)*10_000_000
		c := comm.Collective{Certain: true, End: at + 9_000_000}
		for i := range n {
			own := late(k, i) + rng.Int64N(300_000)
			c.Parts = append(c.Parts, comm.Part{Rank: i, Start: at + own, End: c.End, Own: own})
			if at+own > c.Begin {
				c.Begin, c.Last = at+own, i
			}
		}
		r.Collectives = append(r.Collectives, c)
	}
	return r
}

// A rank that is late in a quarter of the recording is named, and two that are equally late both are.
func TestLatecomers(t *testing.T) {
	for name, c := range map[string]struct {
		n    int
		late func(k, rank int) int64
		want []int
	}{
		"none":             {4, func(int, int) int64 { return 0 }, nil},
		"in the last part": {4, func(k, rank int) int64 { return when(rank == 2 && k >= 48, 6_000_000) }, []int{2}},
		"now and then":     {4, func(k, rank int) int64 { return when(rank == 2 && k/4%4 == 1, 6_000_000) }, []int{2}},
		"two of eight":     {8, func(_, rank int) int64 { return when(rank == 2 || rank == 5, 4_000_000) }, []int{2, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				var got []int
				for _, l := range Latecomers(jobOf(c.n, seed, c.late)) {
					if err := l.Validate(); err != nil {
						t.Error(err)
					}
					got = append(got, l.Ranks...)
				}
				if slices.Sort(got); !slices.Equal(got, c.want) {
					t.Errorf("seed %d: %v late, expected %v", seed, got, c.want)
				}
			}
		})
	}
}

func when(late bool, by int64) int64 {
	if late {
		return by
	}
	return 0
}

// Of a recording that ends early the rank that is late so far is told, and nobody is blamed; one that is late as often as not is not told.
func TestUnproven(t *testing.T) {
	always := func(int) (int64, int64) { return 0, 1_000_000 }
	for name, c := range map[string]struct {
		late func(k int) (int64, int64)
		of   int
		want bool
	}{
		"few":          {always, enough - 1, true},
		"enough":       {always, enough, false},
		"none":         {always, 0, false},
		"by turns":     {func(k int) (int64, int64) { return int64(k%2) * 1_000_000, int64(1-k%2) * 1_100_000 }, 12, false},
		"by a percent": {func(int) (int64, int64) { return 0, 100_000 }, 12, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := pairOfMany(c.late)
			r.Collectives = r.Collectives[:c.of]
			l, share, ok := UnprovenLatecomer(r)
			if ok != c.want || ok && (l.Rank != 1 || l.Last != c.of || share < 0.05) {
				t.Errorf("%v: %+v, %v of the time", ok, l, share)
			}
			if late := Latecomers(r); c.want && len(late) > 0 {
				t.Errorf("latecomers %+v", late)
			}
		})
	}
}

// The third rank computes 0.3 ms longer than the others, as all sources of it tell.
func TestLateRank(t *testing.T) {
	r := commtest.Analyze(t, comm.Analyze, commtest.Job(t, commtest.Logs, commtest.Exports))
	if l := Latecomers(r); len(l) != 1 || l[0].Rank() != 2 || l[0].Saves.Largest() < 0.3 || l[0].Entered.Delay < 280_000 || l[0].Entered.Delay > 340_000 {
		t.Errorf("latecomers %+v; want rank 2 by about 0.3 ms", l)
	}
	for name, in := range map[string]*comms.Record{"alone": {}, "beside logs": commtest.Job(t, commtest.Logs, nil)} {
		r := commtest.Analyze(t, comm.Analyze, commtest.JoinDumps(t, in, commtest.KeepLine))
		if late := Latecomers(r); len(late) != 1 || late[0].Rank() != 2 {
			t.Errorf("dumps %s: latecomers %+v", name, late)
		}
	}
}

// Durations alone tell who arrived last at what; not what a rank did before, so that nobody is blamed, and nobody is where operations lack.
func TestLateInDumps(t *testing.T) {
	want, _ := LatenessOf(commtest.Analyze(t, comm.Analyze, commtest.Job(t, commtest.Logs, commtest.Exports)))
	r := commtest.Analyze(t, comm.Analyze, commtest.JoinDumps(t, &comms.Record{}, commtest.Brief))
	got, _ := LatenessOf(r)
	for i := range got {
		if got[i].Of != want[i].Of || i == 2 && got[i].Last != want[i].Last || max(got[i].Caused-want[i].Caused, want[i].Caused-got[i].Caused) > int64(want[i].Of)*2_000 {
			t.Errorf("rank %d: %+v, want about %+v", i, got[i], want[i])
		}
	}
	third := func(n int, line string) string {
		if n%3 == 1 {
			return ""
		}
		return line
	}
	for name, r := range map[string]*comm.Result{"timeless": r, "sampled": commtest.Analyze(t, comm.Analyze, commtest.JoinDumps(t, commtest.Job(t, commtest.Logs, nil), third))} {
		if found := Find(r); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// Who is on a slow link arrives late at what follows, and makes the others wait, but not by its own delay; a rank that computes longer does.
func TestOwnLateness(t *testing.T) {
	for name, own := range map[string]bool{"slow-card-pipeline": false, "late-rank-pipeline": true} {
		r := commtest.Analyze(t, comm.Analyze, commtest.ScenarioRecord(t, commtest.Pipeline(t, name, 4), nil))
		all, span := LatenessOf(r)
		caused, mine := float64(all[5].Caused)/float64(span), float64(all[5].Own)/float64(span)
		if caused < 0.05 || own != (mine > 0.05) {
			t.Errorf("%s: rank 5 makes the others wait %.1f %% of the time, %.1f %% of itself", name, 100*caused, 100*mine)
		}
		late := Latecomers(r)
		if (len(late) == 1 && late[0].Rank() == 5) != own || len(late) > 1 {
			t.Errorf("%s: latecomers %+v", name, late)
		}
	}
}

// Whatever stands in a log, it is put together with the exports without panic, and no match names what is not there.
func FuzzAnalyze(f *testing.F) {
	in := commtest.Job(f, nil, commtest.Exports[:1])
	f.Add([]byte("1326084870.050047 node0:4000:4000 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f00001000 recvbuff 0x7f00001000 count 1048576 datatype 9 op 0 root 0 comm 0x55d0018000 [nranks=2] stream 0x55e0000180\n"))
	f.Add([]byte("n:1:1 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0x5 - Init COMPLETE\nn:1:1 [0] NCCL INFO Send: opCount 0 sendbuff (nil) recvbuff 0x7 count 9 datatype 9 op 0 root 3 comm 0x1 [nranks=4] stream 0x5\n"))
	f.Add([]byte("AllGather: opCount ffffffffffffffff sendbuff (nil) recvbuff (nil) count 18446744073709551615 datatype 99 op 0 root 0 comm 0x1 [nranks=2147483647] stream (nil)\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := nccllog.NewBuilder(ingest.Limits{})
		src, err := ingest.NewSource(strings.NewReader(string(text)), "log", ingest.Limits{})
		if err != nil {
			return
		}
		defer src.Close()
		_ = b.Read(src, "log")
		r, err := comm.Analyze(comms.Join(b.Comm(), in), comm.Options{})
		if err != nil {
			return
		}
		for _, m := range r.Matches {
			_, _ = r.Calls[m.Call], r.Kernels(m.Rank)[m.Kernel]
		}
		Find(r)
	})
}
