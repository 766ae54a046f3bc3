package diagnose

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace"
)

// queuedJob is a job in which rank 5 is 40 ms late in forward, and its thread waits for a
// processor, all ranks' waits by wait(step, rank), ms.
func queuedJob(t *testing.T, wait func(step, rank int) float64) *Verdict {
	t.Helper()
	w := watchedJob()
	queue := trace.SideChannel{Name: trace.RunQueueChannel}
	for step := range w.Steps() {
		for r := range w.Ranks {
			queue.Samples = append(queue.Samples, trace.Sample{Step: w.FirstStep + int64(step), Rank: r, Value: wait(step, r), Ready: true})
		}
	}
	w.Side = []trace.SideChannel{queue}
	s := New(Options{})
	if err := s.Add(w); err != nil {
		t.Fatal(err)
	}
	return s.Verdict()
}

// TestProcessorWait: how much of a late rank's delay is waiting for a processor is known to a
// tenth of it, whatever its peers wait; a rank that is late for another reason has none.
func TestProcessorWait(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := func() float64 { return 3 * rng.ExpFloat64() }
	for _, c := range []struct {
		name  string
		wait  func(step, rank int) float64
		share float64 // 0: no evidence
		first bool    // it is what to look at first
	}{
		{"all of it", func(_, rank int) float64 { return noise() + onRank5(rank, 40) }, 1, true},
		{"three quarters", func(_, rank int) float64 { return noise() + onRank5(rank, 30) }, 0.75, true},
		{"a third", func(_, rank int) float64 { return noise() + onRank5(rank, 13) }, 0.33, false},
		{"none", func(_, _ int) float64 { return noise() }, 0, false},
		{"all ranks alike", func(_, _ int) float64 { return 50 + noise() }, 0, false},
		{"one long wait", func(step, rank int) float64 { return onRank5(rank, 5000*float64(step/39)) }, 0, false},
		{"a peer waits, and is not late", func(_, rank int) float64 { return noise() + onRank5(rank+1, 40) }, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := queuedJob(t, c.wait)
			f := &v.Suspects[0]
			if f.Rank == nil || *f.Rank != 5 {
				t.Fatalf("suspect %+v, expected rank 5", f.Place)
			}
			e, ok := evidence.Find[evidence.ProcessorWait](f.Evidence)
			if ok != (c.share > 0) || math.Abs(e.Share-c.share) > 0.1 && ok {
				t.Errorf("found %v, %+v; expected a share of %v", ok, e, c.share)
			}
			if ok && math.Abs(float64(e.Wait)-c.share*float64(f.Excess)) > 0.1*float64(f.Excess) {
				t.Errorf("waits %d ns of %d, expected %v of it", e.Wait, e.Delay, c.share)
			}
			if first := v.Next[0].Action == answer.FreeProcessor; first != c.first {
				t.Errorf("first to do: %s", v.Next[0].Action)
			}
		})
	}
}

// onRank5 is so much on rank 5.
func onRank5(rank int, ms float64) float64 {
	if rank != 5 {
		return 0
	}
	return ms
}
