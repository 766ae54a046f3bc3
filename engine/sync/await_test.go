package sync

import (
	"testing"

	"github.com/sfstat/sfstat/trace/nccl"
)

// lateBeforeTwo is a job of two ranks, in each of whose steps rank 1 comes 50 ms late to a first call, in forward, and both work for 54 ms from there
// to a second, in backward, where they wait for each other. waits: they wait in the first as well, and rank 1 works 50 ms longer again before the second.
func lateBeforeTwo(waits, stages bool) *Matching {
	const ms = int64(1e6)
	p := &Program{ByRank: map[int]int{0: 0, 1: 1}, Groups: []Group{{Members: []int{0, 1}, OnHost: true}}, Ranks: []Rank{{ID: 0, Host: "a"}, {ID: 1, Host: "a"}},
		Kinds: []Kind{{Name: "ready", Op: nccl.AllReduce, Size: 2, Stage: "forward"}, {Name: "gradients", Op: nccl.AllReduce, Size: 2, Stage: "backward"}}}
	stays, at := map[Entry]int64{}, int64(0)
	for step := range 40 {
		jitter := ms * int64(step*7%5) / 4
		first := [2]int64{at + 10*ms, at + 60*ms + jitter}
		second, left := [2]int64{first[0] + 54*ms, first[1] + 54*ms}, [2]int64{first[0] + 26*ms, first[1] + 26*ms}
		if waits {
			second, left = [2]int64{first[1] + 4*ms, first[1] + 54*ms}, [2]int64{first[1] + ms, first[1] + ms}
		}
		at = second[1] + 20*ms
		for r := range 2 {
			stays[Nth(r, 2*step)], stays[Nth(r, 2*step+1)] = left[r]-first[r], at-second[r]
			p.Ranks[r].Calls = append(p.Ranks[r].Calls,
				Call{Enter: first[r], Seq: int64(2*step + 1), Kind: 0, Peer: -1, Nth: 1, First: true}, Call{Enter: second[r], Seq: int64(2*step + 2), Kind: 1, Peer: -1, Nth: 2})
		}
	}
	m := p.Match()
	if stages {
		m.StaysFor = func(e Entry) (int64, bool) { return stays[e], true }
	}
	return m
}

// TestNoWaitInCallLeftFirst: ranks that leave the stage of a call before the last has entered it have not waited in it, though none enters the
// next call before that; where they stay until then, they have. Without stages the host is taken to wait for its calls.
func TestNoWaitInCallLeftFirst(t *testing.T) {
	for name, c := range map[string]struct {
		waits, stages bool
		want          int8
	}{"left first": {false, true, 0}, "stayed": {true, true, 1}, "no stages": {false, false, 1}} {
		w := lateBeforeTwo(c.waits, c.stages).Align()
		found := false
		for i := range w.Places {
			p := &w.Places[i]
			switch {
			case w.Kinds[p.Kind].Name == "gradients":
				if found = true; p.Lag != c.want {
					t.Errorf("%s: the second call waits for %d calls back, want %d", name, p.Lag, c.want)
				}
			case len(p.Cohorts) > 1 && p.Lag != 1:
				t.Errorf("%s: the first call of a step waits for %d calls back, want the last of the step before", name, p.Lag)
			}
		}
		if !found {
			t.Errorf("%s: no place of the second call among %d", name, len(w.Places))
		}
	}
}
