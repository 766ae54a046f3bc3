package stages

import (
	"cmp"
	"iter"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// member is a call of one rank, in its Comm.
type member = points.Entry

// matching says which collectives of different ranks are one.
type matching struct {
	sets        [][]member // each of two ranks or more, by rank: first those of collectives
	collectives int        // how many sets are
	of          [][]int32  // [rank][collective] position in sets, −1: none
	messages    []message
	partners    map[member][]member // that messages go to and come from
}

// message is one that was found at both of its ends.
type message struct{ from, to member }

// match finds the collectives that are one on several ranks, and the sends and
// receives that are one message. Where ranks differ in how often they call in a
// step, those calls are left out. O(n) and a sort.
func match(ranks []*profile.Rank) *matching {
	m := &matching{of: make([][]int32, len(ranks))}
	for r, rank := range ranks {
		m.of[r] = slices.Repeat([]int32{-1}, len(rank.Comm.Calls))
	}
	sets, _ := points.Match(callsOf(ranks), points.MatchOptions{})
	for _, s := range sets {
		switch {
		case s.Doubt != points.Certain:
		case s.Message:
			m.messages = append(m.messages, message{s.Entries[0], s.Entries[1]})
		default:
			m.join(s.Entries)
		}
	}
	m.collectives = len(m.sets)
	m.joinMessages()
	return m
}

// callsOf returns the calls of each rank in steps, by start.
func callsOf(ranks []*profile.Rank) iter.Seq[[]points.Call] {
	return func(yield func([]points.Call) bool) {
		numbers := make(ordered.Numbers[string])
		for _, rank := range ranks {
			var calls []points.Call
			groups, pieces := rank.GroupKeys(), rank.Pieces()
			for _, i := range callsByStart(rank) {
				c := &rank.Comm.Calls[i]
				if c.Step < 0 {
					continue
				}
				g, _ := numbers.Of(groups[c.Group])
				call := points.Call{ID: int32(i), Group: int32(g), Number: c.Seq, Step: c.Step, Kind: int64(c.Op)}
				if c.Op.Message() {
					if c.Peer < 0 || c.Op != nccl.Send && c.Op != nccl.Recv {
						continue
					}
					call.ID, call.Kind = int32(pieces[i]), 0
					call.Message, call.Sends = true, c.Op == nccl.Send
					if call.From, call.To = int32(rank.ID), int32(rank.PeerRank(c)); !call.Sends {
						call.From, call.To = call.To, call.From
					}
				}
				calls = append(calls, call)
			}
			if !yield(calls) {
				return
			}
		}
	}
}

// callsByStart returns the calls of a rank in the order in which they ran.
func callsByStart(r *profile.Rank) []int {
	order := make([]int, len(r.Comm.Calls))
	starts := make([]int64, len(order))
	for i := range order {
		order[i] = i
		starts[i], _ = r.Comm.Ran(i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(starts[a], starts[b]) })
	return order
}

// ran returns when a member began and ended.
func ran(ranks []*profile.Rank, of member) (start, end int64) {
	return ranks[of.Process].Comm.Ran(int(of.Call))
}

// join makes a set.
func (m *matching) join(set []member) {
	for _, each := range set {
		m.of[each.Process][each.Call] = int32(len(m.sets))
	}
	m.sets = append(m.sets, set)
}

// joinMessages makes sets of two of the calls that have each other as their
// only partner; what exchanges messages with several has partners.
func (m *matching) joinMessages() {
	m.partners = make(map[member][]member)
	add := func(of, partner member) {
		if !slices.Contains(m.partners[of], partner) {
			m.partners[of] = append(m.partners[of], partner)
		}
	}
	for _, msg := range m.messages {
		add(msg.from, msg.to)
		add(msg.to, msg.from)
	}
	for _, msg := range m.messages {
		a, b := msg.from, msg.to
		if m.of[a.Process][a.Call] < 0 && len(m.partners[a]) == 1 && len(m.partners[b]) == 1 {
			set := []member{a, b}
			slices.SortFunc(set, func(x, y member) int { return cmp.Compare(x.Process, y.Process) })
			m.join(set)
		}
	}
}

// isComplete reports whether all members of a collective are known.
func (m *matching) isComplete(rank, collective int) bool {
	return m.of[rank][collective] >= 0 || len(m.partners[member{Process: int32(rank), Call: int32(collective)}]) > 0
}

// collective reports whether a set is of a collective, and not of a message.
func (m *matching) collective(set int32) bool { return int(set) < m.collectives }
