package nccllog

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/comms"
)

// Whatever is in a log: no panic, every line in the census once, every index in range.
func FuzzLog(f *testing.F) {
	f.Add("1766084876.000830 h:1:2 [0] NCCL INFO " + call + "\nh:1:2 [0] NCCL INFO AllReduce: 256 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}\n")
	f.Add("h:1:2 [0] NCCL INFO h:3:4 [1] NCCL INFO " + call + "\r\n" + call + "\n\nh:3:4 [1] a.cc:1 NCCL WARN x\n")
	f.Add("h:1:2 [0] NCCL INFO ncclCommSplit comm 0xabc rank 1 nranks 4 cudaDev 2 nvmlDev 3 busId c1000 parent 0xdef color -5 key 7 commId 0x1 - Init COMPLETE\n")
	f.Add("h:1:2 [0] NCCL INFO === System : maxBw 48.0 totalBw 370.8 ===\nh:1:2 [0] NCCL INFO CPU/0-0\nh:1:2 [0] NCCL INFO + PCI[0.2] - GPU/0-65000 (1)\n" +
		"h:1:2 [0] NCCL INFO GPU/0-65000 :GPU/0-68000 (0/5000.0/LOC)\n[2025-12-18 19:07:56] NCCL INFO x\n")
	f.Add(`{"log":"h:1:2 [0] NCCL INFO ` + call + `\n","stream":"stderr"}` + "\n19:07:56node03:1:2 [0] NCCL INFO " + call + "\n")
	f.Add(strings.Repeat("h:1:2 [0] NCCL INFO "+call+"\n", 60) + "xh:1:2 [0] NCCL INFO " + call + "\nh:11:2 [0] NCCL WARN x\nh:11:2 [0] NCCL INFO " + call + "\n")
	f.Add("h:1:2 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0\nh:1:2 [0] NCCL INFO NCCL version 2.19.3\n")
	f.Fuzz(func(t *testing.T, text string) {
		src, err := ingest.NewSource(strings.NewReader(text), "fuzz", ingest.Limits{Pending: 1 << 20})
		if err != nil {
			return
		}
		b := NewBuilder(ingest.Limits{Pending: 1 << 20})
		if b.Read(src, "fuzz") != nil {
			return
		}
		c := b.Comm()
		if standing := LoggedCounts(c); standing != nil {
			for _, g := range standing.Groups {
				if g.Process < 0 || g.Process >= len(standing.Processes) {
					t.Errorf("%+v", g)
				}
			}
		}
		sum := int64(0)
		for _, n := range b.kinds {
			sum += n
		}
		if sum != b.records || b.records < b.reader.Lines() {
			t.Errorf("%d records by kind, %d in all, of %d lines", sum, b.records, b.reader.Lines())
		}
		for _, x := range c.Calls {
			if p := c.Groups[x.Group].Process; p != x.Process || b.processes[p].lines < 0 || x.Source != 0 || x.Kernel != comms.None {
				t.Errorf("%+v", x)
			}
		}
		for _, g := range c.Groups {
			if g.Process < 0 || g.Process >= len(c.Processes) || g.Split != nil && (g.Split.Parent < 0 || g.Split.Parent >= len(c.Groups)) {
				t.Errorf("%+v", g)
			}
		}
		for _, p := range c.Paths {
			if p.Group < 0 || p.Group >= len(c.Groups) || p.From < 0 {
				t.Errorf("%+v", p)
			}
		}
		for _, x := range b.blocks {
			for i, n := range x.nodes {
				if n.parent >= i {
					t.Errorf("node %d hangs on %d", i, n.parent)
				}
			}
		}
	})
}
