package points

import (
	"iter"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
)

// Call is what one process says of one collective, or of one end of a message.
type Call struct {
	ID    int32 // of the call, as the caller numbers those of a process
	Group int32
	// Number of a collective in its group; below 0: not recorded.
	Number int64
	// Step in which calls without numbers and messages are counted; the same for all: there
	// is none.
	Step int64
	// Kind is what all that take part agree on: an operation, or an operation and its size.
	Kind int64
	// Message: one end of a message between two members, From and To, named in any way that
	// is the same on both. Sends is the end that it is.
	Message, Sends bool
	From, To       int32
}

// Entry is one process's part in a set.
type Entry struct{ Process, Call int32 }

// Doubt is why it cannot be told whether the calls of a set are one.
type Doubt uint8

const (
	Certain Doubt = iota
	Alone         // no other process has a call like it
	Twice         // a process has the same number twice
	Uneven        // they were counted, and processes differ in how many they have, or in their kinds
)

// Set is calls of different processes that are one collective, or the two ends of one
// message.
type Set struct {
	Group   int32
	Part    int32 // among collectives of one number, as coalesced ones are
	Age     int32 // of the group's numbering: 0 the last, 1 the one before it
	Doubt   Doubt
	Message bool
	Number  int64 // or how many come before it; below 0: counted from the last, which is −1
	// Entries by process; of a message the sender's first.
	Entries []Entry
}

// MatchOptions say what records may lack. The zero value: nothing.
type MatchOptions struct {
	// Restarts: a group whose numbers fall has begun anew, and calls in a row with one
	// number are its parts. Otherwise a number that a process has twice tells nothing.
	Restarts bool
	// Lost are the processes that lost their first calls, as rings do.
	Lost []bool
	// Unsure are groups whose numbers may count what is not recorded.
	Unsure []bool
}

// Match finds which calls of different processes are one collective, and which send
// and receive are one message. It takes the calls of each process in the order in which it made
// them; processes are numbered as they come, and are ranged over three times where records
// lack something. byOrder are the unsure groups whose numbers tell nothing.
//
//   - A collective with a number is that of its group. Where groups restart, ages of
//     the numbering are told apart, counted from the last, which all processes reached.
//   - One without a number is the k-th of its kind in its group and step.
//   - The k-th message from one member of a group to another in a step is the k-th that
//     the other receives.
//   - What is counted is counted from the first call; from the last, where a process that
//     takes part lost its first ones.
//   - Numbers of unsure groups are not believed where most that two processes share
//     are of different kinds, or most are not shared: then collectives are counted.
//
// Every call is in one set. What cannot be told is in the sets too, with a [Doubt]: who
// knows that records end at different times may take those that are Uneven for what they
// have in common. Calls that are cut off at the end of a process, or at the beginning where
// Lost says so, are missing from their sets and change no others. Of messages cut at both
// ends, and of parts of one number cut in their midst, it cannot be told which is which.
//
// Time is O(calls). Memory is 8 bytes for each call and about 120 for each set, and what the calls of
// one process take.
func Match(processes iter.Seq[[]Call], o MatchOptions) (sets []Set, byOrder []bool) {
	m := matcher{o: o, streamOf: make(ordered.Numbers[stream]), setOf: make(ordered.Numbers[position]), byOrder: make([]bool, len(o.Unsure))}
	if slices.Contains(o.Unsure, true) {
		m.byOrder = m.disagree(processes)
	}
	if slices.Contains(o.Lost, true) {
		m.forProcesses(processes, func(process int32, calls []Call, at []position) {
			for i := range calls {
				t := &m.streams[at[i].stream]
				t.lost = t.lost || t.counted && isSet(o.Lost, process)
			}
		})
	}
	m.forProcesses(processes, m.add)
	for i := range m.sets {
		switch s := &m.sets[i]; {
		case len(s.Entries) == 1:
			s.Doubt = Alone
		case s.Doubt == Certain && m.streams[m.in[i]].uneven:
			s.Doubt = Uneven
		}
	}
	return m.sets, m.byOrder
}

func isSet(list []bool, i int32) bool { return int(i) < len(list) && list[i] }

// stream is calls that are numbered together: those of a group by their numbers, or what is
// counted.
type stream struct {
	group, from, to  int32
	step, kind       int64
	counted, message bool
}

// state is what is known of a stream.
type state struct {
	calls                 int64 // of a process
	counted, uneven, lost bool
}

// position is where a call is in its stream.
type position struct {
	stream, part, age int32
	number            int64
}

// counter is where one process is in a stream.
type counter struct {
	calls, last int64
	position
}

type matcher struct {
	o        MatchOptions
	streamOf ordered.Numbers[stream]
	streams  []state
	setOf    ordered.Numbers[position]
	in       []int32 // stream of each set
	kinds    []int64 // of the first entry of each set
	sets     []Set
	byOrder  []bool

	at       []position // to use again
	counters []*counter
}

// forProcesses hands out the calls of each process with their positions.
func (m *matcher) forProcesses(processes iter.Seq[[]Call], f func(process int32, calls []Call, at []position)) {
	process := int32(0)
	for calls := range processes {
		f(process, calls, m.positions(calls))
		process++
	}
}

// streamFor returns the stream of a call.
func (m *matcher) streamFor(c *Call) stream {
	switch {
	case c.Message:
		return stream{group: c.Group, from: c.From, to: c.To, step: c.Step, counted: true, message: true}
	case isSet(m.byOrder, c.Group):
		return stream{group: c.Group, counted: true}
	case c.Number < 0:
		return stream{group: c.Group, step: c.Step, kind: c.Kind, counted: true}
	}
	return stream{group: c.Group}
}

// positions returns the positions of one process's calls, valid until it is called again.
func (m *matcher) positions(calls []Call) []position {
	m.at, m.counters = m.at[:0], m.counters[:0]
	of := make(map[stream]*counter)
	for i := range calls {
		s := m.streamFor(&calls[i])
		k := of[s]
		if k == nil {
			id, first := m.streamOf.Of(s)
			if first {
				m.streams = append(m.streams, state{counted: s.counted})
			}
			k = &counter{last: -1, position: position{stream: int32(id)}}
			of[s] = k
		}
		if k.number = k.calls; !s.counted {
			k.follow(calls[i].Number, m.o.Restarts)
		}
		k.calls++
		m.at, m.counters = append(m.at, k.position), append(m.counters, k)
	}
	for i, k := range m.counters {
		if m.at[i].age = k.age - m.at[i].age; m.streams[k.stream].lost {
			m.at[i].number -= k.calls
		}
	}
	for _, k := range of {
		t := &m.streams[k.stream]
		t.uneven = t.uneven || t.counted && t.calls > 0 && t.calls != k.calls
		t.calls = k.calls
	}
	return m.at
}

// follow goes on to the next number.
func (k *counter) follow(number int64, restarts bool) {
	switch last := k.last; {
	case !restarts || number > last:
		k.part = 0
	case number == last:
		k.part++
	default:
		k.part, k.age = 0, k.age+1
	}
	k.number, k.last = number, number
}

// disagree reports which unsure groups have numbers that say little of what calls are, by
// the process that comes first in each.
func (m *matcher) disagree(processes iter.Seq[[]Call]) []bool {
	type agreement struct {
		first              int32 // process, counted from 1
		all, shared, alike int   // numbers of the others
	}
	groups, kinds := make([]agreement, len(m.o.Unsure)), make(map[position]int64)
	m.forProcesses(processes, func(process int32, calls []Call, at []position) {
		for i, c := range calls {
			if c.Message || c.Number < 0 || !isSet(m.o.Unsure, c.Group) {
				continue
			}
			g := &groups[c.Group]
			if g.first == 0 || g.first == process+1 {
				g.first, kinds[at[i]] = process+1, c.Kind
				continue
			}
			g.all++
			if kind, ok := kinds[at[i]]; ok {
				g.shared++
				if kind == c.Kind {
					g.alike++
				}
			}
		}
	})
	out := make([]bool, len(groups))
	for i, g := range groups {
		out[i] = g.all > 4 && (2*g.alike < g.shared || 2*g.shared < g.all)
	}
	return out
}

// add puts the calls of a process into their sets.
func (m *matcher) add(process int32, calls []Call, at []position) {
	for i := range calls {
		c := &calls[i]
		k, first := m.setOf.Of(at[i])
		if first {
			m.sets = append(m.sets, Set{Group: c.Group, Part: at[i].part, Age: at[i].age, Number: at[i].number, Message: c.Message})
			m.in, m.kinds = append(m.in, at[i].stream), append(m.kinds, c.Kind)
		}
		s, t, n := &m.sets[k], &m.streams[at[i].stream], len(m.sets[k].Entries)
		t.uneven = t.uneven || t.counted && c.Kind != m.kinds[k]
		if n > 0 && s.Entries[n-1].Process == process {
			s.Doubt = Twice
		}
		if s.Entries = append(s.Entries, Entry{process, c.ID}); c.Sends {
			s.Entries[0], s.Entries[n] = s.Entries[n], s.Entries[0]
		}
	}
}
