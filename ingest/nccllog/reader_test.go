package nccllog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/nccl"
)

// records reads text; Text is dropped, since it is only valid until the next.
func records(t testing.TB, text string) []Record {
	t.Helper()
	r := NewReader(strings.NewReader(text), "job.log", ingest.Limits{})
	var list []Record
	for r.Scan() {
		rec := *r.Record()
		rec.Text = nil
		list = append(list, rec)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return list
}

// build reads text as one file.
func build(t testing.TB, text string) *Log {
	t.Helper()
	src, err := ingest.NewSource(strings.NewReader(text), "job.log", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	src.FromUTF16()
	b := NewBuilder(ingest.Limits{})
	if err := b.Read(src); err != nil {
		t.Fatal(err)
	}
	return b.Log()
}

const call = "AllReduce: opCount 1a sendbuff 0x10 recvbuff (nil) count 64 datatype 7 op 2 root 0 comm 0xabc [nranks=2] stream 0xdef"

// Heads of every form: stamps, prefixes of launchers, colours, and what is left when
// something ate them. The stamps' seconds are those of `date -u +%s -d …`.
func TestHeads(t *testing.T) {
	node := Head{Host: "node03", PID: 11, TID: 12, Device: 3}
	stamped := func(c Clock, ns int64) Head {
		h := node
		h.Clock, h.Time = c, ns
		return h
	}
	const wall = 1766084876045163000 // 2025-12-18 19:07:56.045163
	tests := []struct {
		head string
		want Head
	}{
		{"node03:11:12 [3] ", node},
		{"[0] node03:11:12 [3] ", node},
		{"(RayTrainWorker pid=615, ip=10.72.7.6) node03:11:12 [3] ", node},
		{"node03: node03:11:12 [3] ", node},
		{"[rank1]:node03:11:12 [3] ", node},
		{"[default0]:node03:11:12 [3] ", node},
		{"0: node03:11:12 [3] ", node},
		{"LOG1.0.txt:node03:11:12 [3] ", node},
		{"> node03:11:12 [3] ", node},
		{"`node03:11:12 [3] ", node},
		{"\x1b[32mnode03:11:12 [3] ", node},
		{"\x00\x00\x00node03:11:12 [3] ", node},
		{"512 128 float sum -1[0] node03:11:12 [3] ", node},
		{"1766084876.045163 node03:11:12 [3] ", stamped(Epoch, wall)},
		{"1766084876.045163node03:11:12 [3] ", stamped(Epoch, wall)},
		{"[rank1]:1766084876.045163 node03:11:12 [3] ", stamped(Epoch, wall)},
		{"1766084876 node03:11:12 [3] ", stamped(Epoch, 1766084876000000000)},
		{"[2025-12-18 19:07:56] node03:11:12 [3] ", stamped(Wall, 1766084876000000000)},
		{"2025-12-18 19:07:56.045163 node03:11:12 [3] ", stamped(Wall, wall)},
		{"2025-12-18T19:07:56.045163 node03:11:12 [3] ", stamped(Wall, wall)},
		{"2025-12-18 19:07:56.045163node03:11:12 [3] ", stamped(Wall, wall)},
		{"2024-02-29 00:00:00.000000001 node03:11:12 [3] ", stamped(Wall, 1709164800000000001)},
		{"2025-13-18 19:07:56 node03:11:12 [3] ", node},
		{"2025-12-18 99:07:56 node03:11:12 [3] ", node},
		{"\xd9\x01k\xffnode03:11:12 [3] ", node},
		{"ip……:11:12 [3] ", Head{Host: "ip……", PID: 11, TID: 12, Device: 3}},
		{"ip-172-31-54-74:11:12 [3] ", Head{Host: "ip-172-31-54-74", PID: 11, TID: 12, Device: 3}},
		{"node03:11:12 ", Head{Host: "node03", PID: 11, TID: 12, Device: -1}},
		{"[3] ", Head{Device: 3}},
		{"", Head{Device: -1}},
		{"99999999999999999999:11 [3] ", Head{Device: 3}},
	}
	for _, tt := range tests {
		got := records(t, tt.head+"NCCL INFO "+call+"\n")
		if len(got) != 1 || got[0].Kind != CallLine {
			t.Errorf("%q: %+v", tt.head, got)
			continue
		}
		if diff := cmp.Diff(tt.want, got[0].Head); diff != "" {
			t.Errorf("%q, want −, got +:\n%s", tt.head, diff)
		}
	}
	warn := records(t, "\n[2025-12-18 19:07:56] node03:11:12 [3] graph/xml.cc:1003 NCCL WARN could not\n")
	if len(warn) != 2 || warn[1].Kind != WarnLine || warn[1].Head != stamped(Wall, 1766084876000000000) {
		t.Errorf("warning: %+v", warn)
	}
}

// A call as every version writes it.
func TestCalls(t *testing.T) {
	want := Call{Op: nccl.AllReduce, OpCount: 0x1a, Send: 0x10, Count: 64, Datatype: nccl.Float32, Reduction: nccl.Max,
		Comm: 0xabc, Ranks: 2, Stream: 0xdef}
	for _, text := range []string{call, call + "  ", call + " task 3 globalrank 1", call + "[0] next", call + "\r"} {
		got := records(t, "h:1:2 [0] NCCL INFO "+text+"\n")
		if len(got) != 1 || got[0].Kind != CallLine || got[0].Call != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	odd := strings.NewReplacer("op 2", "op 94221", "AllReduce", "Recv", "root 0", "root -1", "datatype 7", "datatype 44").Replace(call)
	got := records(t, "h:1:2 [0] NCCL INFO "+odd+"\n")
	if c := got[0].Call; c.Reduction != 94221 || c.Op != nccl.Recv || c.Root != -1 || c.Datatype != nccl.UnknownType || c.Bytes() != 0 {
		t.Errorf("%+v", got)
	}
	for end := len("AllReduce: opCount "); end < len(call)-len("0xdef")+3; end++ { // cut anywhere before a whole digit of the stream
		got := records(t, "h:1:2 [0] NCCL INFO "+call[:end]+"\n")
		if len(got) != 1 || got[0].Kind != Damaged {
			t.Errorf("cut to %q: %v", call[:end], got[0].Kind)
		}
	}
	for _, text := range []string{"AllReduce |    10.4/   1.2 |", "SendRecv: opCount 1", "Frobnicate: opCount 1", strings.Replace(call, "64", "99999999999999999999", 1)} {
		if got := records(t, "h:1:2 [0] NCCL INFO "+text+"\n"); got[0].Kind == CallLine {
			t.Errorf("%q is taken for a call", text)
		}
	}
}

// Tuning lines of every version since 2.20.
func TestTunings(t *testing.T) {
	tests := []struct {
		text string
		want Tuning
	}{
		{"262144 Bytes -> Algo 0 proto 1 time 54.707825", Tuning{Bytes: 262144, Algo: nccl.Tree, Protocol: nccl.LL128, Numeric: true}},
		{"AllReduce: 8 Bytes -> Algo 1 proto 2 time 5.1", Tuning{Op: nccl.AllReduce, Bytes: 8, Algo: nccl.Ring, Protocol: nccl.Simple, Numeric: true}},
		{"AllGather: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}", Tuning{Op: nccl.AllGather, Bytes: 8, Algo: nccl.Ring, Protocol: nccl.LL, Channels: 8}},
		{"Reduce: 8 Bytes -> Algo COLLNET_DIRECT proto SIMPLE channel{Lo..Hi}={2..3}", Tuning{Op: nccl.Reduce, Bytes: 8, Algo: nccl.CollNetDirect, Protocol: nccl.Simple, Channels: 2, FirstChan: 2}},
		{"AllReduce: 8 Bytes -> Algo Unknown proto LL channel{Lo..Hi}={0..0}", Tuning{Op: nccl.AllReduce, Bytes: 8, Protocol: nccl.LL, Channels: 1}},
		{"AllGather [Symmetric]: 8 Bytes -> Kernel AllGather_LL nchannels 4 nthreads 512 nWorks 1", Tuning{Op: nccl.AllGather, Bytes: 8, Channels: 4, Kernel: SymmetricKernel}},
		{"AlltoAll [Copy Engine]: 8 Bytes -> cudaMemcpy; CE synchronization with NVLS", Tuning{Op: nccl.AlltoAll, Bytes: 8, Kernel: CopyEngine}},
	}
	for _, tt := range tests {
		got := records(t, "h:1:2 [0] NCCL INFO "+tt.text+"\n")
		if got[0].Kind != TuningLine {
			t.Errorf("%q is %v", tt.text, got[0].Kind)
			continue
		}
		if diff := cmp.Diff(tt.want, got[0].Tuning); diff != "" {
			t.Errorf("%q, want −, got +:\n%s", tt.text, diff)
		}
	}
	for _, text := range []string{"262144 Bytes -> Algo 0 pr", "AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..H"} {
		if got := records(t, "h:1:2 [0] NCCL INFO "+text+"\n"); got[0].Kind != Damaged {
			t.Errorf("%q is %v", text, got[0].Kind)
		}
	}
}

// Communicator lines of every version.
func TestCommLines(t *testing.T) {
	base := CommEvent{Pointer: 0xabc, Rank: 1, Ranks: 4, CudaDev: 2, NVMLDev: -1, Split: -1}
	with := func(change func(*CommEvent)) CommEvent {
		e := base
		change(&e)
		return e
	}
	tests := []struct {
		version, text string
		want          CommEvent
	}{
		{"2.4", "comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3", with(func(e *CommEvent) { e.NVMLDev = 3 })},
		{"2.4", "comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 - Init COMPLETE", with(func(e *CommEvent) { e.NVMLDev, e.Step = 3, Completed })},
		{"2.5", "comm 0xabc rank 1 nranks 4 cudaDev 2 busId C1000 - Init COMPLETE",
			with(func(e *CommEvent) { e.Bus, e.HasBus, e.Step = 0xc1000, true, Completed })},
		{"2.16", "comm 0xabc rank 1 nranks 4 cudaDev 2 busId c1000 commId 0x9ad9b5e4ab2566da - Init COMPLETE",
			with(func(e *CommEvent) { e.Bus, e.HasBus, e.ID, e.Step = 0xc1000, true, 0x9ad9b5e4ab2566da, Completed })},
		{"2.18", "comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 commId 0x1 - Init START",
			with(func(e *CommEvent) { e.NVMLDev, e.Bus, e.HasBus, e.ID, e.Step = 3, 0xc1000, true, 1, Started })},
		{"2.22", "ncclCommSplit comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 parent 0xdef color -5 key 7 commId 0x1 - Init COMPLETE",
			with(func(e *CommEvent) {
				e.Func, e.NVMLDev, e.Bus, e.HasBus, e.ID, e.Step = "ncclCommSplit", 3, 0xc1000, true, 1, Completed
				e.Parent, e.Color, e.Key = 0xdef, -5, 7
			})},
		{"2.24", "ncclCommSplit comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 parent 0xdef splitCount 2 color 5 key 7- Init START",
			with(func(e *CommEvent) {
				e.Func, e.NVMLDev, e.Bus, e.HasBus, e.Step = "ncclCommSplit", 3, 0xc1000, true, Started
				e.Parent, e.Split, e.Color, e.Key = 0xdef, 2, 5, 7
			})},
		{"2.29", "[Rank 1] ncclCommInitRank comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 commId 0x1 - Init START",
			with(func(e *CommEvent) {
				e.Func, e.NVMLDev, e.Bus, e.HasBus, e.ID, e.Step = "ncclCommInitRank", 3, 0xc1000, true, 1, Started
			})},
		{"RCCL", "ncclCommInitRank_impl comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 commId 0x1 localSize 1 used 2 bytes on core 3 - Init COMPLETE",
			with(func(e *CommEvent) {
				e.Func, e.NVMLDev, e.Bus, e.HasBus, e.ID, e.Step = "ncclCommInitRank", 3, 0xc1000, true, 1, Completed
			})},
		{"end", "comm 0xabc rank 1 nranks 4 cudaDev 2 busId c1000 - Abort COMPLETE",
			with(func(e *CommEvent) { e.Bus, e.HasBus, e.Step = 0xc1000, true, Aborted })},
	}
	for _, tt := range tests {
		got := records(t, "h:1:2 [0] NCCL INFO "+tt.text+"\n")
		if got[0].Kind != CommLine {
			t.Errorf("%s: %q is %v", tt.version, tt.text, got[0].Kind)
			continue
		}
		if diff := cmp.Diff(tt.want, got[0].Comm); diff != "" {
			t.Errorf("%s: %q, want −, got +:\n%s", tt.version, tt.text, diff)
		}
	}
}

// A block as 2.21 and as 2.20 print it: which device hangs on which, and the paths.
func TestTopology(t *testing.T) {
	head := "h:1:2 [0] NCCL INFO "
	text := strings.Join([]string{
		"ncclCommInitRank comm 0xabc rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init START",
		"=== System : maxBw 48.0 totalBw 370.8 ===",
		"CPU/0-0 (1/2/-1)",
		"+ SYS[16.0] - CPU/0-1",
		"+ PCI[0.2] - PCI/0-65000 (104c823200000000)",
		"             + PCI[48.0] - NIC/0-67000",
		"                           + NET[50.0] - NET/0-c (0/d4f9fc0003ae6d94/1/50.000000)",
		"             + PCI[48.0] - GPU/0-68000 (8)",
		"                           + NVL[370.8] - NVS/0-0",
		"CPU/0-FFFFFFFFFFFFFFFF (1/2/-1)",
		"+ PCI[12.0] - GPU/C1000 (1)",
		"==========================================",
		"GPU/0-68000 :GPU/0-68000 (0/5000.0/LOC) GPU/0-c1000 (3/16.0/SYS) NET/0-c (4/12.5/PHB) ",
		"ncclCommInitRank comm 0xabc rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init COMPLETE",
	}, "\n"+head)
	log := build(t, head+text+"\n")
	want := []Block{{Widest: 48, Each: 370.8, Whole: true, Nodes: []Node{
		{Device: Device{Kind: CPUNode}, Parent: None, Rank: -1},
		{Device: Device{Kind: CPUNode, ID: 1}, Link: nccl.SYS, Bandwidth: 16, Rank: -1},
		{Device: Device{Kind: PCINode, ID: 0x65000}, Link: nccl.PCI, Bandwidth: 0.2, Rank: -1},
		{Device: Device{Kind: NICNode, ID: 0x67000}, Parent: 2, Link: nccl.PCI, Bandwidth: 48, Rank: -1},
		{Device: Device{Kind: NETNode, ID: 0xc}, Parent: 3, Link: nccl.NET, Bandwidth: 50, Rank: -1},
		{Device: Device{Kind: GPUNode, ID: 0x68000}, Parent: 2, Link: nccl.PCI, Bandwidth: 48, Rank: 8},
		{Device: Device{Kind: NVSNode}, Parent: 5, Link: nccl.NVL, Bandwidth: 370.8, Rank: -1},
		{Device: Device{Kind: CPUNode, ID: 1<<64 - 1}, Parent: None, Rank: -1},
		{Device: Device{Kind: GPUNode, ID: 0xc1000}, Parent: 7, Link: nccl.PCI, Bandwidth: 12, Rank: 1},
	}, Paths: []PathRow{{From: Device{Kind: GPUNode, ID: 0x68000}, Paths: []Path{
		{To: Device{Kind: GPUNode, ID: 0x68000}, Bandwidth: 5000, Class: nccl.LOC},
		{To: Device{Kind: GPUNode, ID: 0xc1000}, Hops: 3, Bandwidth: 16, Class: nccl.SYS},
		{To: Device{Kind: NETNode, ID: 0xc}, Hops: 4, Bandwidth: 12.5, Class: nccl.PHB},
	}}}}}
	if diff := cmp.Diff(want, log.Blocks, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
}

// The ways of a block are those between ranks and to the network; without a path to a card the
// fastest card stands for it.
func TestWays(t *testing.T) {
	gpu := func(id uint64, rank int32) Node { return Node{Device: Device{Kind: GPUNode, ID: id}, Rank: rank} }
	net := func(id uint64, bandwidth float64) Node {
		return Node{Device: Device{Kind: NETNode, ID: id}, Link: nccl.NET, Bandwidth: bandwidth, Rank: -1}
	}
	b := Block{Nodes: []Node{gpu(1, 0), gpu(2, 1), gpu(2, -1), net(0, 12.5), net(1, 25)}, Paths: []PathRow{
		{From: Device{Kind: GPUNode, ID: 1}, Paths: []Path{
			{To: Device{Kind: GPUNode, ID: 1}, Bandwidth: 5000, Class: nccl.LOC},
			{To: Device{Kind: GPUNode, ID: 2}, Bandwidth: 80, Class: nccl.NVL},
			{To: Device{Kind: GPUNode, ID: 3}, Bandwidth: 1, Class: nccl.SYS}, // of no rank
			{To: Device{Kind: CPUNode, ID: 0}, Bandwidth: 24, Class: nccl.PHB},
		}},
		{From: Device{Kind: GPUNode, ID: 3}, Paths: []Path{{To: Device{Kind: GPUNode, ID: 2}, Bandwidth: 80, Class: nccl.NVL}}},
	}}
	want := []Way{{0, 1, nccl.NVL, 80}, {0, Network, nccl.NET, 25}, {1, Network, nccl.NET, 25}}
	if diff := cmp.Diff(want, b.Ways()); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	to := func(id uint64, bandwidth float64) Path {
		return Path{To: Device{Kind: NETNode, ID: id}, Bandwidth: bandwidth, Class: nccl.PHB}
	}
	b.Paths[0].Paths = append(b.Paths[0].Paths, to(0, 10), to(1, 12), to(0, 11))
	want = []Way{{0, 1, nccl.NVL, 80}, {0, Network, nccl.PHB, 12}}
	if diff := cmp.Diff(want, b.Ways()); diff != "" {
		t.Errorf("with paths to cards: want −, got +:\n%s", diff)
	}
	if ways := (&Block{}).Ways(); len(ways) > 0 {
		t.Errorf("an empty block has ways: %v", ways)
	}
}

// Two processes that wrote into one line, and what was left of theirs on the next.
func TestGlued(t *testing.T) {
	first := "h:1:1 [0] NCCL INFO "
	second := "h:2:2 [1] NCCL INFO "
	other := strings.Replace(call, "0xabc", "0x222", 1)
	log := build(t, first+second+other+"\n"+call+"\n"+first+call+second+other+"\n"+first+call[:40]+second+other+"\n")
	var got []string
	for _, c := range log.Calls {
		p := log.Processes[c.Process]
		got = append(got, fmt.Sprintf("%d:%d comm %x orphan %v", c.Line, p.PID, c.Call.Comm, c.Orphan))
	}
	want := []string{"1:2 comm 222 orphan false", "2:1 comm abc orphan true", "3:1 comm abc orphan false",
		"3:2 comm 222 orphan false", "4:2 comm 222 orphan false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	if c := log.Census; c.Kinds[Damaged] != 2 || c.Orphans != 1 || c.Strays != 0 || c.Lines != 4 || c.Records != 7 {
		t.Errorf("%+v", c)
	}
	twice := build(t, first+call+"\n"+second+call+"\n"+call+"\n")
	if c := twice.Census; c.Orphans != 0 || c.Strays != 1 {
		t.Errorf("a pointer that two processes have gives the call back: %+v", c)
	}
}

// A pointer that is used again is another communicator; a split knows its parent.
func TestLives(t *testing.T) {
	life := func(ptr, id, step string) string {
		return "h:1:2 [0] NCCL INFO ncclCommInitRank comm " + ptr + " rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId " + id + " - Init " + step + "\n"
	}
	split := "h:1:2 [0] NCCL INFO ncclCommSplit comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 parent 0xabc splitCount 1 color 0 key 0- Init START\n"
	made := life("0xabc", "0x1", "START") + life("0xabc", "0x1", "COMPLETE")
	named := "h:1:2 [0] NCCL INFO " + call + "\n"
	log := build(t, made+named+split+"h:1:2 [0] NCCL INFO comm 0xabc rank 0 nranks 2 cudaDev 0 busId 1000 - Destroy COMPLETE\n"+
		life("0xabc", "0x2", "START")+life("0xabc", "0x2", "COMPLETE")+named+life("0xabc", "0x3", "START")+named)
	var ids []uint64
	for _, c := range log.Communicators {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]uint64{1, 0, 2, 3}, ids); diff != "" {
		t.Errorf("communicators, want −, got +:\n%s", diff)
	}
	if log.Communicators[1].Parent != 0 || log.Communicators[0].Step != Destroyed {
		t.Errorf("%+v", log.Communicators[:2])
	}
	for i, want := range []int{0, 2, 3} {
		if log.Calls[i].Comm != want {
			t.Errorf("call %d is on communicator %d, want %d", i, log.Calls[i].Comm, want)
		}
	}
}

// Grouped calls get their tuning lines, which come largest first, and up to 2.23 one
// for all.
func TestTuningOfGroups(t *testing.T) {
	line := func(count string) string {
		return "h:1:2 [0] NCCL INFO " + strings.Replace(call, "count 64", "count "+count, 1) + "\n"
	}
	tuned := func(text string) string { return "h:1:2 [0] NCCL INFO " + text + "\n" }
	log := build(t, line("8")+line("64")+line("8")+
		tuned("AllReduce: 256 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}")+
		tuned("AllReduce: 32 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}")+
		tuned("AllReduce: 32 Bytes -> Algo TREE proto LL channel{Lo..Hi}={1..1}"))
	for i, want := range []nccl.Algo{nccl.Tree, nccl.Ring, nccl.Tree} {
		if got := log.TuningOf(&log.Calls[i]); got == nil || got.Algo != want {
			t.Errorf("call %d has %+v, want %s", i, got, want)
		}
	}
	log = build(t, line("8")+line("64")+tuned("288 Bytes -> Algo 1 proto 2 time 5.0"))
	if a, b := log.Calls[0].Tuning, log.Calls[1].Tuning; a != 0 || b != 0 || log.Census.Untied != 0 {
		t.Errorf("a line for the whole group is tied to %d and %d", a, b)
	}
}

// What cannot be read ends in one clear error, or in a count with an example.
func TestHostile(t *testing.T) {
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	fmt.Fprintln(z, "h:1:2 [0] NCCL INFO "+call)
	z.Close()
	tests := []struct {
		name string
		in   io.Reader
		lim  ingest.Limits
		want error
	}{
		{"a bomb", bomb(), ingest.Limits{Ratio: 100}, trace.ErrTooLarge},
		{"too many calls", strings.NewReader(strings.Repeat("h:1:2 [0] NCCL INFO "+call+"\n", 100)), ingest.Limits{Pending: 5000}, trace.ErrTooLarge},
		{"too many processes", strings.NewReader(manyHosts(100)), ingest.Limits{Pending: 5000}, trace.ErrTooLarge},
		{"cut gzip", strings.NewReader(packed.String()[:packed.Len()-5]), ingest.Limits{}, trace.ErrTruncated},
		{"failing disk", iotest.TimeoutReader(strings.NewReader("h:1:2 [0] NCCL INFO " + call)), ingest.Limits{}, iotest.ErrTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src, err := ingest.NewSource(tt.in, "job.log", tt.lim)
			if err == nil {
				err = NewBuilder(tt.lim).Read(src)
			}
			if !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), "job.log") {
				t.Errorf("got %v, want %v with the file's name", err, tt.want)
			}
		})
	}
}

// bomb is 200 MB of one line, compressed a thousandfold.
func bomb() io.Reader {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintln(z, "h:1:2 [0] NCCL INFO "+call)
	for range 200 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	return &packed
}

func manyHosts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "host%d:1:2 [0] NCCL INFO Using network IB\n", i)
	}
	return b.String()
}

// Messages that are not read are counted by what they are about, without numbers, and
// bounded in kinds.
func TestCensus(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "h:1:2 [0] NCCL INFO Setting affinity for GPU %d to ff\n", i)
		fmt.Fprintf(&b, "h:1:2 [0] NCCL INFO %c%c%c about\n", 'a'+i%26, 'k'+i/26%26, 'q'+i/676)
	}
	b.WriteString("loss 3.5\nloss 3.4\n")
	c := build(t, b.String()).Census
	if got := c.Unused[0]; got.Count != 1000 || got.About != "Setting affinity" && got.About != others {
		t.Errorf("first: %+v", got)
	}
	sum := int64(0)
	for _, u := range c.Unused {
		sum += u.Count
	}
	if sum != 2000 || len(c.Unused) > maxTopics+1 || c.Foreigner.Count != 2 || c.Foreigner.Text != "loss 3.5" {
		t.Errorf("%d messages of %d kinds, foreign %+v", sum, len(c.Unused), c.Foreigner)
	}
}

// Lines that begin with an operation are counted by what they are, those without a head too; what only looks like one is none.
func TestNamed(t *testing.T) {
	call := "AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 8 datatype 7 op 0 root 0 comm 0xc [nranks=2] stream 0x5"
	log := build(t, "h:1:2 [0] NCCL INFO "+call+"\n"+
		"h:1:2 [0] NCCL INFO "+call+"\n"+
		call+"\n"+ // belongs to whom the communicator does
		"h:1:2 [0] NCCL INFO AllReduce: 32 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n"+
		"h:1:2 [0] NCCL INFO 32 Bytes -> Algo 1 proto 0 time 9.3\n"+
		"h:1:2 [0] NCCL INFO AllReduce: opCount 1 sendb\n"+
		"h:1:2 [0] NCCL INFO AllReduce |    10.4/   1.2 |\n"+
		"AllReduce: 17 ms\n")
	want := Mentions{Op: nccl.AllReduce, Calls: 3, Tunings: 1, Damaged: 1}
	if len(log.Processes) != 1 || len(log.Processes[0].Named) != 1 || log.Processes[0].Named[0] != want || want.Lines() != 5 {
		t.Errorf("%+v, want %+v", log.Processes, want)
	}
}

// A size that no GPU holds is none, so that sums over a log do not overflow.
func TestBytes(t *testing.T) {
	for _, c := range []struct {
		call Call
		want int64
	}{
		{Call{Count: 3, Datatype: nccl.Float32}, 12},
		{Call{Count: 3, Datatype: nccl.UnknownType}, 0},
		{Call{Count: 7, Datatype: nccl.UnknownType, Size: 7}, 7},
		{Call{Count: 1 << 38, Datatype: nccl.Float32}, 1 << 40},
		{Call{Count: 1<<38 + 1, Datatype: nccl.Float32}, -1},
		{Call{Count: 1<<64 - 1, Datatype: nccl.Int8}, -1},
		{Call{Size: 1 << 62, Datatype: nccl.UnknownType}, -1},
	} {
		if got := c.call.Bytes(); got != c.want {
			t.Errorf("%+v: %d bytes, want %d", c.call, got, c.want)
		}
	}
}
