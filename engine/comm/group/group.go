// Package group puts together what single processes say of communication: which of
// their communicators are the same one, and which global rank a process is.
//
// A process knows a communicator by a pointer, its own rank in it and its size. What is
// equal on all members is commId, a hash of the id that they were made with, from NCCL 2.16 on. A
// split has none in the log from 2.23 on; its members have split the same communicator, as its
// so-manieth child, with the same colour.
package group

import "slices"

// None is the index of nothing.
const None = -1

// Side is one process's side of a communicator.
type Side struct {
	Process int
	ID      uint64 // commId, 0 where the log has none
	Rank    int    // in the communicator, -1 where the log does not say
	Ranks   int
	Parent  int // index of Sides, None for what is no split, or where it is not known
	Split   int64
	Color   int64
}

// Method says how sides were found to be one communicator.
type Method uint8

const (
	Alone   Method = iota // not at all: nothing tells
	ByID                  // the same commId
	BySplit               // the same parent, child and colour
)

// Communicator is the sides that are one.
type Communicator struct {
	Method Method
	ID     uint64
	Ranks  int
	// Sides holds the index of each rank's side, None for a rank of which there
	// is no log. A communicator that is Alone has one side at its rank, or at 0.
	Sides   []int
	Missing int // ranks without a log
}

// maxRanks bounds the members of a communicator that is believed: more is no number
// of GPUs. maxPlaces bounds the ranks of all communicators together, of whose sides there are none: a damaged line
// costs no memory that its file has not. Sides beyond either are alone.
const (
	maxRanks  = 1 << 20
	maxPlaces = 1 << 25
)

// key is what the sides of one communicator have in common.
type key struct {
	method Method
	id     uint64 // or the parent's number
	split  int64
	color  int64
	ranks  int
	again  int // a rank's second side with the same key is of a second communicator
}

// Of finds which sides are one communicator. Every side is in exactly one; the order is that of
// the first side of each. Parents must come before their splits, as they do in a log.
func Of(sides []Side) []Communicator {
	g := grouping{sides: sides, at: map[key]int{}, taken: map[seat]int{}, of: make([]int, len(sides)), places: maxPlaces}
	for i := range sides {
		g.of[i] = g.place(i)
	}
	for i := range g.list {
		c := &g.list[i]
		for _, s := range c.Sides {
			if s == None {
				c.Missing++
			}
		}
	}
	return g.list
}

// seat is a rank of the communicators with one key; the first that has it free is the one of its next side.
type seat struct {
	key  key
	rank int
}

type grouping struct {
	sides []Side
	list  []Communicator
	at    map[key]int
	of    []int // communicator of each side
	taken map[seat]int

	places int // that are left
}

// place puts a side into its communicator, or into a new one.
func (g *grouping) place(i int) int {
	s := &g.sides[i]
	k := key{method: ByID, id: s.ID, ranks: s.Ranks}
	switch {
	case s.Rank < 0 || s.Rank >= s.Ranks || s.Ranks > maxRanks:
		return g.alone(i)
	case s.ID != 0:
	case s.Parent >= 0 && s.Parent < i:
		k = key{method: BySplit, id: uint64(g.of[s.Parent]), split: s.Split, color: s.Color, ranks: s.Ranks}
	default:
		return g.alone(i)
	}
	turn := seat{k, s.Rank}
	k.again = g.taken[turn]
	c, ok := g.at[k]
	if !ok {
		if s.Ranks > g.places {
			return g.alone(i)
		}
		g.places -= s.Ranks
		c = len(g.list)
		g.at[k] = c
		g.list = append(g.list, Communicator{Method: k.method, ID: s.ID, Ranks: s.Ranks, Sides: slices.Repeat([]int{None}, s.Ranks)})
	}
	g.list[c].Sides[s.Rank] = i
	g.taken[turn]++
	return c
}

func (g *grouping) alone(i int) int {
	g.list = append(g.list, Communicator{ID: g.sides[i].ID, Ranks: g.sides[i].Ranks, Sides: []int{i}})
	return len(g.list) - 1
}
