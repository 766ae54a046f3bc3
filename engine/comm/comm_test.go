package comm

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

const run = "../../fixtures/comm/run/"

var (
	logFiles    = []string{"nccl.node0.4000.log", "nccl.node0.4007.log", "nccl.node1.4014.log", "nccl.node1.4021.log"}
	exportFiles = []string{"node0.sqlite", "node1.sqlite"}
)

// fixture reads the files of the fixture job.
func fixture(t testing.TB, logs, exports []string) *comms.Record {
	t.Helper()
	b := nccllog.NewBuilder(ingest.Limits{})
	for _, name := range logs {
		src, err := ingest.Open(run+name, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if err := b.Read(src, name); err != nil {
			t.Fatal(err)
		}
	}
	all := []*comms.Record{b.Comm()}
	for _, name := range exports {
		x, err := nsight.ReadComm(run+name, name, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	return comms.Join(all...)
}

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
	r := analyze(t, fixture(t, logFiles, exportFiles), Options{})
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
	if l, share := r.Latecomers(); len(l) != 1 || r.Ranks[l[0].Rank].Rank != 2 || share[0] < 0.3 || l[0].Usual < 280_000 || l[0].Usual > 340_000 {
		t.Errorf("latecomers %+v, %v of the time; want rank 2 by about 0.3 ms", l, share)
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
		{ByContent, func(p *comms.Process) { p.PID, p.Device = 1, 0 }},
		{ByBus, func(p *comms.Process) {
			p.Bus, p.PID = 0x1000*(1+0x24*uint64(p.Device)), 1
			p.Device = 0
		}},
		{ByRankName, func(p *comms.Process) { p.Rank, p.PID, p.Device = int(p.PID-4000)/7, 1, 0 }},
	} {
		r := analyze(t, eachProfile(fixture(t, logFiles, exportFiles), c.hide), Options{})
		checkMatches(t, r, true)
		for i := range r.Ranks {
			if got := r.Ranks[i].Pairing; got != c.how && (c.how != ByContent || got != ByDevice) {
				t.Errorf("rank %d by %v, want by %v", i, got, c.how)
			}
		}
	}
}

// A log and an export of different ranks are no pair to be sure of.
func TestStrangers(t *testing.T) {
	r := analyze(t, fixture(t, logFiles[:1], exportFiles[1:]), Options{})
	for _, m := range r.Matches {
		if m.Certain {
			t.Fatalf("%+v is called certain", m)
		}
	}
	other := without(fixture(t, logFiles[:1], exportFiles[:1]), func(p *comms.Process) bool { return p.PID == 4000 })
	if r = analyze(t, eachProfile(other, func(p *comms.Process) { p.Bus = 0x25000 }), Options{}); len(r.Matches) != 0 || len(r.Ranks) != 2 {
		t.Errorf("%d matches of two processes with different GPUs", len(r.Matches))
	}
}

// A process whose log is lost has the number of no other of its host, where logs and exports number alike.
func TestOtherNumber(t *testing.T) {
	onlyByPID(t, analyze(t, eachProfile(fixture(t, logFiles[:2], exportFiles[:1]), func(p *comms.Process) {
		if p.PID != 4000 {
			p.PID += 1000
		}
		p.Bus, p.Device = 0, -1 // what else tells them apart
	}), Options{}))
}

func onlyByPID(t *testing.T, r *Result) {
	t.Helper()
	for _, k := range r.Ranks {
		if k.Log != None && k.Profile != None && k.Pairing != ByPID {
			t.Errorf("rank %d of %s is paired by %v", k.Rank, k.Host, k.Pairing)
		}
	}
}

// Where nothing tells one rank of a host from another, pairs are doubted, and no match is certain.
func TestDoubtful(t *testing.T) {
	var first *comms.Process
	r := analyze(t, eachProfile(fixture(t, logFiles[:2], exportFiles[:1]), func(p *comms.Process) {
		if first == nil {
			first = p
		}
		*p = *first
		p.PID, p.Device = 1, 0
	}), Options{})
	for _, m := range r.Matches {
		if m.Certain {
			t.Fatalf("%+v is called certain", m)
		}
	}
	if !slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Kind == NoteDoubtful && n.N > 0 }) {
		t.Errorf("notes %+v", r.Notes)
	}
}

func TestOneSide(t *testing.T) {
	r := analyze(t, fixture(t, logFiles, nil), Options{})
	if len(r.Ranks) != 4 || len(r.Communicators) != 5 || len(r.Matches)+len(r.Clocks)+len(r.Collectives) != 0 || r.OpCounts[nccl.AllReduce] != 132 {
		t.Errorf("logs alone: %d ranks, %d communicators, %d matches", len(r.Ranks), len(r.Communicators), len(r.Matches))
	}
	r = analyze(t, fixture(t, nil, exportFiles), Options{})
	if len(r.Ranks) != 4 || len(r.Communicators)+len(r.Matches)+len(r.OpCounts) != 0 || len(r.Clocks) != 4 || r.Leftover != 132 {
		t.Errorf("exports alone: %d ranks, %d communicators, %d clocks, %d kernels", len(r.Ranks), len(r.Communicators), len(r.Clocks), r.Leftover)
	}
}

func TestThesisScoring(t *testing.T) {
	checkMatches(t, analyze(t, fixture(t, logFiles, exportFiles), Options{Scoring: ByName}), false)
}

// Where data-parallel ranks have an expert each, the ranks are the same ones: what reduces is for gradients, what sends to several for experts.
func TestSameRanks(t *testing.T) {
	fits := []dimension{{ExpertParallel, 4, 1}, {DataParallel, 4, 1}}
	for want, s := range map[Kind]Signature{
		DataParallel:   {Large: 4, LargeOps: map[nccl.Op]int{nccl.AllReduce: 4}},
		ExpertParallel: {Large: 8, LargeOps: map[nccl.Op]int{nccl.Send: 4, nccl.Recv: 4}, Sending: Sending{Peers: 4}},
	} {
		c := Communicator{NRanks: 4, Signature: s}
		if got := c.among(fits).kind; got != want {
			t.Errorf("%v is taken for %v, want %v", s.LargeOps, got, want)
		}
	}
}

// Sizes that are given decide; such as do not fit are told and not used.
func TestLayout(t *testing.T) {
	in := fixture(t, logFiles, exportFiles)
	r := analyze(t, in, Options{Layout: Layout{TP: 2, PP: 2}})
	for i := range r.Communicators {
		c := &r.Communicators[i]
		want := UnknownKind // two stages of a pipeline that reduce and send nothing
		if c.stride() == 1 && c.NRanks == 2 {
			want = TensorParallel
		}
		if c.Kind != want {
			t.Errorf("%v of stride %d is %v, want %v", c.Ranks, c.stride(), c.Kind, want)
		}
	}
	r = analyze(t, in, Options{Layout: Layout{TP: 3}})
	if !slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Kind == NoteLayoutSize && n.N == 4 && n.Layout.World() == 3 }) {
		t.Errorf("notes %+v", r.Notes)
	}
	for text, want := range map[string]Layout{"": {}, "dp=4,tp=2": {DP: 4, TP: 2}, " PP = 3 , ep=2": {PP: 3, EP: 2}} {
		if l, err := ParseLayout(text); err != nil || l != want {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
	for _, text := range []string{"dp", "dp=0", "dp=x", "zp=2", "dp=1,dp=2", ",", "tp=9999999999"} {
		if l, err := ParseLayout(text); err == nil {
			t.Errorf("%q is taken for %+v", text, l)
		}
	}
}

// Whatever stands in a log, it is put together with the exports without panic, and no match names what is not there.
func FuzzAnalyze(f *testing.F) {
	in := fixture(f, nil, exportFiles[:1])
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
		r, err := Analyze(comms.Join(b.Comm(), in), Options{})
		if err != nil {
			return
		}
		for _, m := range r.Matches {
			_, _ = r.Calls[m.Call], r.Kernels(m.Rank)[m.Kernel]
		}
		r.Suspects()
	})
}
