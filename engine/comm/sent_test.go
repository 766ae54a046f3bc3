package comm

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/fixtures/comm/commtest"
)

// By hand from fixtures/comm/make: on rings of two each rank sends what it reduces to the other: 24 calls of 2 MiB and, three times, 24 and 20 MiB;
// 4 bytes on a ring of four are 6 to the next, three times.
func TestMatrix(t *testing.T) {
	sent, unplaced := SentBetween(commtest.Analyze(t, Analyze, commtest.Job(t, commtest.Logs, nil)))
	want := map[string]float64{}
	for from := range 4 {
		want[fmt.Sprint(from, from^1)] += 48 << 20
		want[fmt.Sprint(from, from^2)] += 132 << 20
		want[fmt.Sprint(from, (from+1)%4)] += 18
	}
	got := map[string]float64{}
	for _, x := range sent {
		got[fmt.Sprint(x.From, x.To)] += x.Bytes
		if x.Route != OnRing {
			t.Errorf("%+v", x)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || unplaced != 0 {
		t.Errorf("%v unplaced; want −, got +:\n%s", unplaced, diff)
	}
	// A tree of five: every rank sends all of it to its parent and to each child, eight times in all.
	m := sentMatrix{r: &Result{Communicators: []parallel.Communicator{{NRanks: 5}}}, members: []map[int]int{{0: 0, 1: 1, 2: 2, 3: 3, 4: 4}}}
	for me := range 5 {
		m.tree(me, 0, me, 10)
	}
	if len(m.list.All) != 8 {
		t.Errorf("%+v", m.list.All)
	}
}
