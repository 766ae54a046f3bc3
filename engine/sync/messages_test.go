package sync

import (
	"testing"

	"github.com/sfstat/sfstat/trace/nccl"
)

// TestHeldSenders: rank 0 sends twelve messages and makes its next call 5 later, rank 1 receives each after 3. So the sender may have
// waited for the receiver, but where it recorded that it asked for most messages after its next call.
func TestHeldSenders(t *testing.T) {
	const send, recv, n = 0, 1, 12
	for name, c := range map[string]struct {
		held  int64
		until int // so many messages are held so long, the others 3
		want  bool
	}{
		"not recorded": {0, n, true}, "until received": {3, n, true}, "asked for later": {30, n, false}, "half of them later": {30, n / 2, true},
		"most of them later": {30, n/2 + 1, false}, "at the next call": {5, n, true},
	} {
		p := &Program{ByRank: map[int]int{0: 0, 1: 1}, Groups: []Group{{Members: []int{0, 1}}}, Kinds: []Kind{{Op: nccl.Send}, {Op: nccl.Recv}}, Ranks: []Rank{{ID: 0}, {ID: 1}}}
		m, times := &Matching{Program: p, Of: make([][]int32, 2)}, make([][]int64, 2)
		for i := range n + 1 {
			at, held := int64(5*i), c.held
			if held > 0 && i >= c.until {
				held = 3
			}
			p.Ranks[0].Calls = append(p.Ranks[0].Calls, Call{Enter: at, Held: held, Kind: send, Peer: 1})
			p.Ranks[1].Calls = append(p.Ranks[1].Calls, Call{Enter: at + 3, Kind: recv, Peer: 0})
			m.Points = append(m.Points, Point{Message: true, Entries: []Entry{Nth(0, i), Nth(1, i)}})
			for r := range 2 {
				m.Of[r] = append(m.Of[r], int32(i))
				times[r] = append(times[r], at+int64(3*r))
			}
		}
		w := &Waits{Matching: m, times: times}
		w.computeReleases()
		w.learnKinds()
		if got := w.heldSenders[w.wayOf(Nth(0, 0))]; got != c.want {
			t.Errorf("%s: sender held %v, want %v", name, got, c.want)
		}
	}
}
