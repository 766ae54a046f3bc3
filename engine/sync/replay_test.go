package sync

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/nccl"
)

// TestReplay: two ranks that send to each other, by hand: a receive is waited for until its sender has entered and as much longer
// as messages take, which the quickest quarter shows; a rank that asks later works until then. What a sender works less its receiver goes on earlier by.
func TestReplay(t *testing.T) {
	const send, recv = 0, 1
	p := &Program{ByRank: map[int]int{0: 0, 1: 1}, Groups: []Group{{Members: []int{0, 1}}}, Kinds: []Kind{{Op: nccl.Send}, {Op: nccl.Recv}},
		Ranks: []Rank{
			{ID: 0, Calls: []Call{{Enter: 10, Kind: send, Peer: 1}, {Enter: 20, Held: 15, Kind: recv, Peer: 1}, {Enter: 50, Kind: send, Peer: 1}}},
			{ID: 1, Calls: []Call{{Enter: 5, Held: 6, Kind: recv, Peer: 0}, {Enter: 30, Kind: send, Peer: 0}, {Enter: 40, Held: 30, Kind: recv, Peer: 0}, {Enter: 90, Kind: send, Peer: 0}}},
		}}
	m := &Matching{Program: p, Of: [][]int32{{0, 1, 2}, {0, 1, 2, 3}}, Points: []Point{
		{Message: true, Entries: []Entry{Nth(0, 0), Nth(1, 0)}}, {Message: true, Entries: []Entry{Nth(0, 1), Nth(1, 1)}},
		{Message: true, Entries: []Entry{Nth(0, 2), Nth(1, 2)}}, {Message: true, Entries: []Entry{Nth(1, 3)}}}}
	w := &Waits{Matching: m, times: [][]int64{{10, 20, 50}, {5, 30, 40, 90}}}
	w.learnTransfers()
	// From rank 0 to 1 a message takes 1: of the second, asked for 20 after it was sent, 19 are work.
	for r, want := range [][]int64{{0, 10, 15}, {0, 19, 10, 39}} {
		if got := w.OwnWork(r); !slices.Equal(got, want) {
			t.Errorf("rank %d works %v, want %v", r, got, want)
		}
	}
	for name, c := range map[string]struct {
		of   Entry
		by   int64
		want int64
	}{
		"nothing":                        {Nth(0, 1), 0, 90},
		"work that the other waits for":  {Nth(1, 1), 8, 82},
		"all of it":                      {Nth(1, 1), 99, 80}, // the other asks at 20
		"work before the last call":      {Nth(1, 3), 30, 60},
		"work while the other is waited": {Nth(0, 1), 10, 90},
	} {
		recorded, replayed := w.Replay(func(e Entry) int64 {
			if e == c.of {
				return c.by
			}
			return 0
		})
		if recorded != 90 || replayed != c.want {
			t.Errorf("%s: %d, as recorded %d, want %d and 90", name, replayed, recorded, c.want)
		}
	}
}
