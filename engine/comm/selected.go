package comm

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// NoRankError reports that ranks were chosen that the job does not have.
type NoRankError struct {
	Rank int
	Has  []int // ascending
}

func (e *NoRankError) Error() string {
	return fmt.Sprintf("rank %d is not in the recordings, which have %s", e.Rank, trace.RankList(e.Has))
}

// keep drops all ranks but some, by their numbers, when what all of them together tell is found: which kernel ran which call, who is which
// rank, and how clocks run. What follows is of the ranks that are left, as if the others had left neither log nor export. It returns the calls
// that stand twice, by their new indices.
func (r *Result) keep(numbers []int, m *members, t *tiedCalls, duplicates map[int]bool) (left map[int]bool, err error) {
	if len(numbers) == 0 {
		return duplicates, nil
	}
	all := make([]int, len(r.Ranks))
	for i := range r.Ranks {
		all[i] = r.Ranks[i].Rank
	}
	for _, n := range numbers {
		if !slices.Contains(all, n) {
			return nil, &NoRankError{n, slices.Sorted(slices.Values(all))}
		}
	}
	rank, ranks := slices.Repeat([]int{comms.None}, len(all)), r.Ranks
	r.Ranks = nil
	for i := range ranks {
		if slices.Contains(numbers, ranks[i].Rank) {
			rank[i] = len(r.Ranks)
			r.Ranks = append(r.Ranks, ranks[i])
		}
	}
	call := r.keepCalls()
	r.Matches = slices.DeleteFunc(r.Matches, func(x Match) bool { return rank[x.Rank] == comms.None })
	for i := range r.Matches {
		x := &r.Matches[i]
		x.Rank, x.Call = rank[x.Rank], call[x.Call]
	}
	r.Clocks = slices.DeleteFunc(r.Clocks, func(c Clock) bool { return rank[c.Rank] == comms.None })
	for i := range r.Clocks {
		r.Clocks[i].Rank = rank[r.Clocks[i].Rank]
	}
	m.keep(rank)
	t.began, left = moveKeys(t.began, call), moveKeys(duplicates, call)
	r.tallyCalls(left)
	r.note(Note{Kind: NoteRanks, N: int64(len(r.Ranks)), Of: int64(len(all))})
	return left, nil
}

// keepCalls drops the calls of ranks that were dropped; it returns the new index of each.
func (r *Result) keepCalls() (call map[int]int) {
	call = make(map[int]int)
	var calls []comms.Call
	for i := range r.Ranks {
		k := &r.Ranks[i]
		k.Calls = slices.Clone(k.Calls)
		for n, c := range k.Calls {
			call[c] = len(calls)
			k.Calls[n], calls = len(calls), append(calls, r.Calls[c])
		}
	}
	r.Calls = calls
	return call
}

// keep drops the sides of ranks that were dropped; rank is the new index of each.
func (m *members) keep(rank []int) {
	for i := range m.sides {
		if p := m.sides[i].Process; p != comms.None {
			m.sides[i].Process = rank[p]
		}
	}
	for i := range m.list {
		g := &m.list[i]
		for n, s := range g.Sides {
			if s != comms.None && m.sides[s].Process == comms.None {
				g.Sides[n] = comms.None
				g.Missing++
			}
		}
	}
	m.list = slices.DeleteFunc(m.list, func(g SideGroup) bool { return first(g.Sides) == comms.None })
}

// moveKeys returns the entries of the calls that are left, by their new indices.
func moveKeys[V any](of map[int]V, to map[int]int) map[int]V {
	out := make(map[int]V)
	for from, v := range of {
		if n, kept := to[from]; kept {
			out[n] = v
		}
	}
	return out
}
