package profile

import (
	"encoding/binary"
	"iter"
)

// Exposure is a stretch of exposed communication.
type Exposure struct {
	Stage      int // that launched it, −1: none
	Microstep  int // that launched it, of those with a stage
	Call       int // position in Comm.Calls of the rank, −1: not known
	Start, End int64
	Before     int64 // what its stage had of its Own by then, in its microstep
}

// Exposures are stretches of exposed communication by start, apart from each
// other: one for every pause of other work beside a collective, which may be
// hundreds of thousands, in some ten bytes each. The zero value has none.
type Exposures struct {
	packed  []byte
	last    Exposure
	shifted int64 // on all times
	calls   int   // on all positions of calls
}

// Add adds a stretch that begins when the last one ends, or later. Those of a
// profile that was shifted or joined take no more.
func (x *Exposures) Add(e Exposure) {
	for _, diff := range [...]int64{e.Start - x.last.End, e.End - e.Start, int64(e.Stage - x.last.Stage), int64(e.Microstep - x.last.Microstep),
		int64(e.Call - x.last.Call), e.Before - x.last.Before} {
		x.packed = binary.AppendVarint(x.packed, diff)
	}
	x.last = e
}

// All returns all stretches.
func (x *Exposures) All() iter.Seq[Exposure] {
	return func(yield func(Exposure) bool) {
		var e Exposure
		for rest := x.packed; len(rest) > 0; {
			var diff [6]int64
			for i := range diff {
				d, n := binary.Varint(rest)
				diff[i], rest = d, rest[n:]
			}
			e.Start = e.End + diff[0]
			e.End = e.Start + diff[1]
			e.Stage, e.Microstep, e.Call = e.Stage+int(diff[2]), e.Microstep+int(diff[3]), e.Call+int(diff[4])
			e.Before += diff[5]
			out := e
			out.Start, out.End = e.Start+x.shifted, e.End+x.shifted
			if e.Call >= 0 {
				out.Call += x.calls
			}
			if !yield(out) {
				return
			}
		}
	}
}
