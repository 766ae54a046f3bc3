package nccllog

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
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
	f.Fuzz(func(t *testing.T, text string) {
		src, err := ingest.NewSource(strings.NewReader(text), "fuzz", ingest.Limits{Pending: 1 << 20})
		if err != nil {
			return
		}
		b := NewBuilder(ingest.Limits{Pending: 1 << 20})
		if b.Read(src) != nil {
			return
		}
		log := b.Log()
		sum := int64(0)
		for _, n := range log.Census.Kinds {
			sum += n
		}
		if sum != log.Census.Records || log.Census.Records < log.Census.Lines {
			t.Errorf("%d records by kind, %d in all, of %d lines", sum, log.Census.Records, log.Census.Lines)
		}
		for _, c := range log.Calls {
			if p := log.Communicators[c.Comm].Process; p != c.Process || log.Processes[p].Lines < 0 || c.Tuning >= len(log.Tunings) {
				t.Errorf("%+v", c)
			}
		}
		for _, c := range log.Communicators {
			if c.Process < 0 || c.Process >= len(log.Processes) || c.Parent >= len(log.Communicators) {
				t.Errorf("%+v", c)
			}
		}
		for _, block := range log.Blocks {
			if block.Process >= len(log.Processes) || block.Comm >= len(log.Communicators) {
				t.Errorf("a block of process %d, communicator %d", block.Process, block.Comm)
			}
			for i, n := range block.Nodes {
				if n.Parent >= i {
					t.Errorf("node %d hangs on %d", i, n.Parent)
				}
			}
		}
	})
}
