package logline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/nccl"
)

const call = "AllReduce: opCount 1a sendbuff 0x10 recvbuff (nil) count 64 datatype 7 op 2 root 0 comm 0xabc [nranks=2] stream 0xdef"

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
	for _, text := range []string{call, call + "  ", call + " task 3 globalrank 12", call + "[0] next", call + "\r"} {
		if want.Global = -1; strings.Contains(text, "globalrank") {
			want.Global = 12
		}
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
		{"Reduce: 8 Bytes -> Algo COLLNET_DIRECT proto SIMPLE channel{Lo..Hi}={2..3}", Tuning{Op: nccl.Reduce, Bytes: 8, Algo: nccl.CollNetDirect, Protocol: nccl.Simple, Channels: 2}},
		{"AllReduce: 8 Bytes -> Algo Unknown proto LL channel{Lo..Hi}={0..0}", Tuning{Op: nccl.AllReduce, Bytes: 8, Protocol: nccl.LL, Channels: 1}},
		{"AllGather [Symmetric]: 8 Bytes -> Kernel AllGather_LL nchannels 4 nthreads 512 nWorks 1", Tuning{Op: nccl.AllGather, Bytes: 8, Channels: 4}},
		{"AlltoAll [Copy Engine]: 8 Bytes -> cudaMemcpy; CE synchronization with NVLS", Tuning{Op: nccl.AlltoAll, Bytes: 8, CopyEngine: true}},
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
	base := CommEvent{Pointer: 0xabc, Rank: 1, Ranks: 4, CudaDev: 2, Split: -1}
	with := func(change func(*CommEvent)) CommEvent {
		e := base
		change(&e)
		return e
	}
	tests := []struct {
		version, text string
		want          CommEvent
	}{
		{"2.4", "comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3", base},
		{"2.4", "comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 - Init COMPLETE", with(func(e *CommEvent) { e.Step = Completed })},
		{"2.5", "comm 0xabc rank 1 nranks 4 cudaDev 2 busId C1000 - Init COMPLETE",
			with(func(e *CommEvent) { e.Bus, e.HasBus, e.Step = 0xc1000, true, Completed })},
		{"2.16", "comm 0xabc rank 1 nranks 4 cudaDev 2 busId c1000 commId 0x9ad9b5e4ab2566da - Init COMPLETE",
			with(func(e *CommEvent) { e.Bus, e.HasBus, e.ID, e.Step = 0xc1000, true, 0x9ad9b5e4ab2566da, Completed })},
		{"2.18", "comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 commId 0x1 - Init START",
			with(func(e *CommEvent) { e.Bus, e.HasBus, e.ID, e.Step = 0xc1000, true, 1, Started })},
		{"2.22", "ncclCommSplit comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 parent 0xdef color -5 key 7 commId 0x1 - Init COMPLETE",
			with(func(e *CommEvent) {
				e.Bus, e.HasBus, e.ID, e.Step = 0xc1000, true, 1, Completed
				e.Parent, e.Color = 0xdef, -5
			})},
		{"2.24", "ncclCommSplit comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 parent 0xdef splitCount 2 color 5 key 7- Init START",
			with(func(e *CommEvent) {
				e.Bus, e.HasBus, e.Step = 0xc1000, true, Started
				e.Parent, e.Split, e.Color = 0xdef, 2, 5
			})},
		{"2.29", "[Rank 1] ncclCommInitRank comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 commId 0x1 - Init START",
			with(func(e *CommEvent) {
				e.Bus, e.HasBus, e.ID, e.Step = 0xc1000, true, 1, Started
			})},
		{"RCCL", "ncclCommInitRank_impl comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 commId 0x1 localSize 1 used 2 bytes on core 3 - Init COMPLETE",
			with(func(e *CommEvent) {
				e.Bus, e.HasBus, e.ID, e.Step = 0xc1000, true, 1, Completed
			})},
		{"end", "comm 0xabc rank 1 nranks 4 cudaDev 2 busId c1000 - Abort COMPLETE",
			with(func(e *CommEvent) { e.Bus, e.HasBus, e.Step = 0xc1000, true, Destroyed })},
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

// A size that no GPU holds is none, so that sums over a log do not overflow.
func TestBytes(t *testing.T) {
	for _, c := range []struct {
		call Call
		want int64
	}{
		{Call{Count: 3, Datatype: nccl.Float32}, 12},
		{Call{Count: 3, Datatype: nccl.UnknownType}, 0},
		{Call{Count: 1 << 38, Datatype: nccl.Float32}, 1 << 40},
		{Call{Count: 1<<38 + 1, Datatype: nccl.Float32}, -1},
		{Call{Count: 1<<64 - 1, Datatype: nccl.Int8}, -1},
	} {
		if got := c.call.Bytes(); got != c.want {
			t.Errorf("%+v: %d bytes, want %d", c.call, got, c.want)
		}
	}
}
