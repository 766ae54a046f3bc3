package comm

import (
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
)

// pairOfMany is a job of fifty ranks of which two alone have collectives, each ten milliseconds apart; late says
// by how much of its own each of the two arrives late at the k-th.
func pairOfMany(late func(k int) (first, second int64)) *Result {
	r := &Result{Recorded: &comms.Record{Processes: make([]comms.Process, 1)}, Ranks: make([]Rank, 50), Communicators: []Communicator{{NRanks: 2}}, fits: []fit{{known: true}}}
	for k := range int64(64) {
		x, y := late(int(k))
		at := 1 + k*10_000_000
		c := Collective{Certain: true, Parts: []Part{{Rank: 0, Start: at + x, End: at + 5_000_000, Own: x}, {Rank: 1, Start: at + y, End: at + 5_000_000, Own: y}}}
		c.finish()
		r.Collectives = append(r.Collectives, c)
	}
	return r
}

// Of two ranks the one that is always late by itself is named, and of two that take turns neither, however many others there are
// that nothing is known of.
func TestLateOfTwo(t *testing.T) {
	r := pairOfMany(func(int) (int64, int64) { return 0, 1_000_000 })
	if l, shares := r.Latecomers(); len(l) != 1 || l[0].Rank != 1 || shares[0] < 0.09 || shares[0] > 0.11 {
		t.Errorf("always late by a tenth of the time: %+v, %v", l, shares)
	}
	r = pairOfMany(func(k int) (int64, int64) {
		if k/4%16 < 9 { // 9 of 16 parts; by chance 10 are on one of two in 23 %
			return 0, 3_000_000
		}
		return 1_000_000, 0
	})
	if l, _ := r.Latecomers(); len(l) != 0 {
		t.Errorf("nine times of sixteen: %+v", l)
	}
}
