package comm

import (
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
)

// A process knows a communicator by a pointer, its own rank in it and its size. What is
// equal on all members is commId, a hash of the id that they were made with, from NCCL 2.16 on. A
// split has none in the log from 2.23 on; its members have split the same communicator, as its
// so-manieth child, with the same colour.

// GroupMethod says how sides were found to be one communicator.
type GroupMethod uint8

const (
	Alone   GroupMethod = iota // not at all: nothing tells
	ByID                       // the same commId
	BySplit                    // the same parent, child and colour
)

// SideGroup is the sides that are one.
type SideGroup struct {
	Method GroupMethod
	Ranks  int
	// Sides holds the index of each rank's side, comms.None for a rank of which there
	// is no log. A communicator that is Alone has one side at its rank, or at 0.
	Sides   []int
	Missing int // ranks without a log
}

// maxRanks bounds the members of a communicator that is believed: more is no number
// of GPUs. maxPlaces bounds the ranks of all communicators together, of whose sides there are none: a damaged line
// costs no memory that its file has not. Sides beyond either are alone.
const (
	maxGroupRanks  = 1 << 20
	maxGroupPlaces = 1 << 25
)

// key is what the sides of one communicator have in common.
type sideKey struct {
	method GroupMethod
	id     uint64 // or the parent's number
	split  int64
	color  int64
	ranks  int
	again  int // a rank's second side with the same key is of a second communicator
}

// GroupSides finds which sides are one communicator. Every side is in exactly one; the order is that of
// the first side of each. Parents must come before their splits, as they do in a log.
func GroupSides(sides []comms.Group) []SideGroup {
	g := grouper{sides: sides, at: map[sideKey]int{}, taken: map[sideSeat]int{}, of: make([]int, len(sides)), places: maxGroupPlaces}
	for i := range sides {
		g.of[i] = g.place(i)
	}
	for i := range g.list {
		c := &g.list[i]
		for _, s := range c.Sides {
			if s == comms.None {
				c.Missing++
			}
		}
	}
	return g.list
}

// seat is a rank of the communicators with one key; the first that has it free is the one of its next side.
type sideSeat struct {
	key  sideKey
	rank int
}

type grouper struct {
	sides []comms.Group
	list  []SideGroup
	at    map[sideKey]int
	of    []int // communicator of each side
	taken map[sideSeat]int

	places int // that are left
}

// place puts a side into its communicator, or into a new one.
func (g *grouper) place(i int) int {
	s := &g.sides[i]
	k := sideKey{method: ByID, id: s.ID, ranks: s.Size}
	switch x := s.Split; {
	case s.Rank < 0 || s.Rank >= s.Size || s.Size > maxGroupRanks:
		return g.addAlone(i)
	case s.ID != 0:
	case x != nil && x.Parent >= 0 && x.Parent < i:
		k = sideKey{method: BySplit, id: uint64(g.of[x.Parent]), split: x.Number, color: x.Color, ranks: s.Size}
	default:
		return g.addAlone(i)
	}
	turn := sideSeat{k, s.Rank}
	k.again = g.taken[turn]
	c, ok := g.at[k]
	if !ok {
		if s.Size > g.places {
			return g.addAlone(i)
		}
		g.places -= s.Size
		c = len(g.list)
		g.at[k] = c
		g.list = append(g.list, SideGroup{Method: k.method, Ranks: s.Size, Sides: slices.Repeat([]int{comms.None}, s.Size)})
	}
	g.list[c].Sides[s.Rank] = i
	g.taken[turn]++
	return c
}

func (g *grouper) addAlone(i int) int {
	g.list = append(g.list, SideGroup{Ranks: g.sides[i].Size, Sides: []int{i}})
	return len(g.list) - 1
}
