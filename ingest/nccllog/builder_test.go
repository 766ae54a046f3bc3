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
	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

const call = "AllReduce: opCount 1a sendbuff 0x10 recvbuff (nil) count 64 datatype 7 op 2 root 0 comm 0xabc [nranks=2] stream 0xdef"

// build reads text as one file. The builder is looked at for what results leave out.
func build(t testing.TB, text string) *Builder {
	t.Helper()
	src, err := ingest.NewSource(strings.NewReader(text), "job.log", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(ingest.Limits{})
	if err := b.Read(src, "job"); err != nil {
		t.Fatal(err)
	}
	b.Comm()
	return b
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
	want := []block{{nodes: []node{
		{Device: logline.Device{Kind: nccl.CPU}, parent: comms.None, rank: -1},
		{Device: logline.Device{Kind: nccl.CPU, ID: 1}, link: nccl.SYS, bandwidth: 16, rank: -1},
		{Device: logline.Device{Kind: nccl.PCISwitch, ID: 0x65000}, link: nccl.PCI, bandwidth: 0.2, rank: -1},
		{Device: logline.Device{Kind: nccl.NIC, ID: 0x67000}, parent: 2, link: nccl.PCI, bandwidth: 48, rank: -1},
		{Device: logline.Device{Kind: nccl.NetworkPort, ID: 0xc}, parent: 3, link: nccl.NET, bandwidth: 50, rank: -1},
		{Device: logline.Device{Kind: nccl.GPU, ID: 0x68000}, parent: 2, link: nccl.PCI, bandwidth: 48, rank: 8},
		{Device: logline.Device{Kind: nccl.NVSwitch}, parent: 5, link: nccl.NVL, bandwidth: 370.8, rank: -1},
		{Device: logline.Device{Kind: nccl.CPU, ID: 1<<64 - 1}, parent: comms.None, rank: -1},
		{Device: logline.Device{Kind: nccl.GPU, ID: 0xc1000}, parent: 7, link: nccl.PCI, bandwidth: 12, rank: 1},
	}, paths: []pathRow{{from: logline.Device{Kind: nccl.GPU, ID: 0x68000}, paths: []logline.Path{
		{To: logline.Device{Kind: nccl.GPU, ID: 0x68000}, Bandwidth: 5000, Class: nccl.LOC},
		{To: logline.Device{Kind: nccl.GPU, ID: 0xc1000}, Bandwidth: 16, Class: nccl.SYS},
		{To: logline.Device{Kind: nccl.NetworkPort, ID: 0xc}, Bandwidth: 12.5, Class: nccl.PHB},
	}}}}}
	if diff := cmp.Diff(want, log.blocks, cmp.AllowUnexported(block{}, node{}, pathRow{}), cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	var links []string
	for _, l := range log.links() {
		links = append(links, fmt.Sprintf("%s %d %v %s %d", l.From.Name, l.From.Rank, l.Class, l.To.Name, l.To.Rank))
	}
	wanted := []string{"CPU/0-0 -1 SYS CPU/0-1 -1", "CPU/0-0 -1 PCI PCI/0-65000 -1", "PCI/0-65000 -1 PCI NIC/0-67000 -1", "NIC/0-67000 -1 NET NET/0-c -1",
		"PCI/0-65000 -1 PCI GPU/0-68000 8", "GPU/0-68000 8 NVL NVS/0-0 -1", "CPU/0-ffffffffffffffff -1 PCI GPU/0-c1000 1"}
	if diff := cmp.Diff(wanted, links); diff != "" {
		t.Errorf("links, want −, got +:\n%s", diff)
	}
}

// The ways of a block are those between ranks and to the network; without a path to a card the
// fastest card stands for it.
func TestWays(t *testing.T) {
	gpu := func(id uint64, rank int32) node {
		return node{Device: logline.Device{Kind: nccl.GPU, ID: id}, rank: rank}
	}
	net := func(id uint64, bandwidth float64) node {
		return node{Device: logline.Device{Kind: nccl.NetworkPort, ID: id}, link: nccl.NET, bandwidth: bandwidth, rank: -1}
	}
	b := block{nodes: []node{gpu(1, 0), gpu(2, 1), gpu(2, -1), net(0, 12.5), net(1, 25)}, paths: []pathRow{
		{from: logline.Device{Kind: nccl.GPU, ID: 1}, paths: []logline.Path{
			{To: logline.Device{Kind: nccl.GPU, ID: 1}, Bandwidth: 5000, Class: nccl.LOC},
			{To: logline.Device{Kind: nccl.GPU, ID: 2}, Bandwidth: 80, Class: nccl.NVL},
			{To: logline.Device{Kind: nccl.GPU, ID: 3}, Bandwidth: 1, Class: nccl.SYS}, // of no rank
			{To: logline.Device{Kind: nccl.CPU, ID: 0}, Bandwidth: 24, Class: nccl.PHB},
		}},
		{from: logline.Device{Kind: nccl.GPU, ID: 3}, paths: []logline.Path{{To: logline.Device{Kind: nccl.GPU, ID: 2}, Bandwidth: 80, Class: nccl.NVL}}},
	}}
	want := []comms.Path{{From: 0, To: 1, Class: nccl.NVL, Bandwidth: 80}, {From: 0, To: comms.ToNetwork, Class: nccl.NET, Bandwidth: 25},
		{From: 1, To: comms.ToNetwork, Class: nccl.NET, Bandwidth: 25}}
	if diff := cmp.Diff(want, b.ways()); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	to := func(id uint64, bandwidth float64) logline.Path {
		return logline.Path{To: logline.Device{Kind: nccl.NetworkPort, ID: id}, Bandwidth: bandwidth, Class: nccl.PHB}
	}
	b.paths[0].paths = append(b.paths[0].paths, to(0, 10), to(1, 12), to(0, 11))
	want = []comms.Path{{From: 0, To: 1, Class: nccl.NVL, Bandwidth: 80}, {From: 0, To: comms.ToNetwork, Class: nccl.PHB, Bandwidth: 12}}
	if diff := cmp.Diff(want, b.ways()); diff != "" {
		t.Errorf("with paths to cards: want −, got +:\n%s", diff)
	}
	if ways := (&block{}).ways(); len(ways) > 0 {
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
	for _, c := range log.comm.Calls {
		got = append(got, fmt.Sprintf("%d:%d comm %x", c.Line, log.comm.Processes[c.Process].PID, log.comm.Groups[c.Group].Handle))
	}
	want := []string{"1:2 comm 222", "2:1 comm abc", "3:1 comm abc",
		"3:2 comm 222", "4:2 comm 222"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	if c := &log.comm; log.kinds[logline.Damaged] != 2 || c.Orphans != 1 || c.Strays != 0 || log.reader.Lines() != 4 || log.records != 7 {
		t.Errorf("%d damaged, %d orphans, %d strays, %d lines, %d records", log.kinds[logline.Damaged], c.Orphans, c.Strays, log.reader.Lines(), log.records)
	}
	twice := build(t, first+call+"\n"+second+call+"\n"+call+"\n")
	if c := &twice.comm; c.Orphans != 0 || c.Strays != 1 {
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
	for _, c := range log.comm.Groups {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]uint64{1, 0, 2, 3}, ids); diff != "" {
		t.Errorf("communicators, want −, got +:\n%s", diff)
	}
	if s := log.comm.Groups[1].Split; s == nil || s.Parent != 0 || log.groups[0].Step != logline.Destroyed {
		t.Errorf("%+v", log.groups[:2])
	}
	for i, want := range []int{0, 2, 3} {
		if log.comm.Calls[i].Group != want {
			t.Errorf("call %d is on communicator %d, want %d", i, log.comm.Calls[i].Group, want)
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
		if got := log.comm.Calls[i].Tuning; got == nil || got.Algo != want {
			t.Errorf("call %d has %+v, want %s", i, got, want)
		}
	}
	log = build(t, line("8")+line("64")+tuned("288 Bytes -> Algo 1 proto 2 time 5.0"))
	if a, b := log.comm.Calls[0].Tuning, log.comm.Calls[1].Tuning; a == nil || a != b || log.comm.Untied != 0 {
		t.Errorf("a line for the whole group is tied to %v and %v", a, b)
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
		{"a bomb", bomb(), ingest.Limits{Ratio: 100}, input.ErrTooLarge},
		{"too many calls", strings.NewReader(strings.Repeat("h:1:2 [0] NCCL INFO "+call+"\n", 100)), ingest.Limits{Pending: 5000}, input.ErrTooLarge},
		{"too many processes", strings.NewReader(manyHosts(100)), ingest.Limits{Pending: 5000}, input.ErrTooLarge},
		{"cut gzip", strings.NewReader(packed.String()[:packed.Len()-5]), ingest.Limits{}, input.ErrTruncated},
		{"failing disk", iotest.TimeoutReader(strings.NewReader("h:1:2 [0] NCCL INFO " + call)), ingest.Limits{}, iotest.ErrTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src, err := ingest.NewSource(tt.in, "job.log", tt.lim)
			if err == nil {
				err = NewBuilder(tt.lim).Read(src, "job.log")
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
	want := comms.Lines{Op: nccl.AllReduce, Calls: 3, Tunings: 1, Damaged: 1}
	if p := log.comm.Processes; len(p) != 1 || len(p[0].Lines) != 1 || p[0].Lines[0] != want || want.Total() != 5 {
		t.Errorf("%+v, want %+v", p, want)
	}
}
