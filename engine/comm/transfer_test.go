package comm

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	"github.com/sfstat/sfstat/fixtures/comm/job"
	"github.com/sfstat/sfstat/trace/nccl"
)

// A process whose log is lost does what ranks of other hosts do, at the same times. Hosts that go by the same names in
// logs and exports tell that it is none of those.
func TestOtherHost(t *testing.T) {
	s, err := job.Scenario("slow-card", 3, 77)
	if err != nil {
		t.Fatal(err)
	}
	onlyByPID(t, analyze(t, commtest.ScenarioRecord(t, s, func(dir string) {
		for _, lost := range []string{"nccl.node1.4035.log", "node2.sqlite"} {
			if err := os.Remove(filepath.Join(dir, lost)); err != nil {
				t.Fatal(err)
			}
		}
	}), Options{}))
}

// A step of a pipeline of two hosts has three microbatches: two of them go forth alone, two come back alone, and one comes back with what goes
// forth next. On each of four pairs that are 5 transfers a step of 8 MiB.
func TestTransfers(t *testing.T) {
	r := analyze(t, commtest.ScenarioRecord(t, commtest.Pipeline(t, "healthy-pipeline", 2), nil), Options{})
	if len(r.Transfers) != 6*4*5 || r.Messages.Paired != 6*4*6 || r.Messages.Lonely+r.Messages.Shared+r.Messages.Unlaunch != 0 || len(r.Speed.Subjects)-len(r.Communicators) != 4 {
		t.Fatalf("%d transfers of %+v on %d pairs", len(r.Transfers), r.Messages, len(r.Speed.Subjects)-len(r.Communicators))
	}
	ways := map[nccl.Op]int{}
	for i := range r.Transfers {
		x := &r.Transfers[i]
		ways[x.Op]++
		if low, high := r.Ranks[x.Parts[0].Rank].Rank, r.Ranks[x.Parts[1].Rank].Rank; high != low+4 || x.Bytes != 8<<20 || !x.Certain {
			t.Fatalf("%+v between ranks %d and %d", x, low, high)
		}
	}
	if ways[nccl.Send] != 48 || ways[nccl.Recv] != 48 || ways[nccl.SendRecv] != 24 {
		t.Errorf("forth, back, both: %v", ways)
	}
	for i := range r.Speed.Cells { // 25 GB/s of a card, 24 of its way there, of which 0.8 · 25 are reached, less 12 µs
		c := &r.Speed.Cells[i]
		if r.Speed.Subjects[c.Subject].Edge && (math.Abs(c.Bus-19.4) > 1 || r.Speed.Subjects[c.Subject].Limit.Bandwidth != 24) {
			t.Errorf("%.2f GB/s of %+v, want 19.4 of 24", c.Bus, r.Speed.Subjects[c.Subject].Limit)
		}
	}
}

// Where a log lacks one send, which of the others is which is not known: that way is left out, the others stay.
func TestTransfersOfATornLog(t *testing.T) {
	r := analyze(t, commtest.ScenarioRecord(t, commtest.Pipeline(t, "healthy-pipeline", 2), func(dir string) {
		path := filepath.Join(dir, "nccl.node0.4000.log")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, after, _ := strings.Cut(string(text), "INFO Send: ")
		_, after, _ = strings.Cut(after, "\n")
		before = before[:strings.LastIndexByte(before, '\n')+1]
		if err := os.WriteFile(path, []byte(before+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}), Options{})
	if r.Messages.Paired != 6*4*6-18 || r.Messages.Lonely != 17+18 {
		t.Errorf("%+v, want 126 paired, and 17 sends with 18 receives alone", r.Messages)
	}
}
