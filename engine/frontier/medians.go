package frontier

import (
	"math"

	"github.com/sfstat/sfstat/internal/robust"
)

// tile is how many ranks are taken at once when medians over steps are taken: wide
// enough that each cache line read is used whole.
const tile = 64

// span is the values from lo up to below hi.
type span struct{ lo, hi int64 }

// anywhere is where durations lie.
var anywhere = span{0, math.MaxInt64}

// rankMedians is the median over the window's steps of every rank's duration in every
// stage, [stage][rank]: StageFrontier, section 4, "rank median". Expected O(T·S·R) time.
func rankMedians(m *rows) [][]int64 {
	R := len(m.w.Ranks)
	all, out := make([]int64, len(m.names)*R), make([][]int64, len(m.names))
	inParallel(len(out), len(m.w.Durations)/len(out), func(from, to int) {
		var block []int64
		for s := from; s < to; s++ {
			out[s] = all[s*R : (s+1)*R]
			m.medians(s, anywhere, out[s], &block)
		}
	})
	return out
}

// cohortMedians is the median over ranks of the rank medians, [stage]. It lies near the
// median over steps of the medians over ranks, and only ranks whose own median is as near
// count; how near is first tried as in the window before. Expected O(T·S·R) time.
func cohortMedians(m *rows, keep *buffers) []int64 {
	S := len(m.names)
	if len(keep.reach) != S {
		keep.reach = make([]int64, S)
	}
	out := make([]int64, S)
	inParallel(S, len(m.w.Durations)/S, func(from, to int) {
		block, medians, scratch := &keep.block, make([]int64, len(m.w.Ranks)), make([]int64, max(len(m.w.Ranks), m.w.Steps()))
		if from > 0 { // another thread
			block = new([]int64)
		}
		for s := from; s < to; s++ {
			typical, reach := m.typical(s, scratch), &keep.reach[s]
			m.medians(s, span{typical - *reach, typical + *reach}, medians, block)
			middle := robust.MiddleOf(medians, scratch)
			if middle.From(typical) >= *reach {
				m.medians(s, anywhere, medians, block)
				middle = robust.MiddleOf(medians, scratch)
			}
			*reach = max(*reach-*reach/8, 2*middle.From(typical)+1)
			out[s] = middle.Median()
		}
	})
	return out
}

// medians are the medians over steps of the ranks' durations in a stage, where they lie in a
// span; lo−1 or hi stands for the others.
func (m *rows) medians(s int, near span, out []int64, block *[]int64) {
	for from := 0; from < len(out); from += tile {
		to := min(from+tile, len(out))
		m.tileMedians(s, from, near, out[from:to], sized(block, (to-from)*m.w.Steps()))
	}
}

// tileMedians are the medians of the ranks that follow one. Values below the span are counted
// and those in it kept, without a branch on which they are: a few of each rank, if any, are
// left to select from.
func (m *rows) tileMedians(s, from int, near span, out, block []int64) {
	T := m.w.Steps() - m.lead
	var below, end [tile]int // values below the span, and where those in it end in block
	for r := range out {
		end[r] = r * T
	}
	for t := range T {
		row := m.at(t+m.lead, s)[from:][:len(out)]
		below, end := below[:len(row)], end[:len(row)]
		for r, x := range row {
			block[end[r]] = x
			under := int(uint64(x-near.lo) >> 63)
			below[r] += under
			end[r] += int(uint64(x-near.hi)>>63) - under
		}
	}
	for r := range out {
		under, within := below[r], block[r*T:end[r]]
		switch upTo := under + len(within); {
		case under > T/2:
			out[r] = near.lo - 1
		case upTo <= (T-1)/2:
			out[r] = near.hi
		case under > (T-1)/2 || upTo <= T/2: // one of the middle two is not in the span
			column := block[r*T : (r+1)*T]
			for t := range column {
				column[t] = m.at(t+m.lead, s)[from+r]
			}
			out[r] = robust.MedianTime(column)
		default:
			out[r] = robust.MedianTimeAmong(within, under, T)
		}
	}
}

// typical is the median over steps of the median over ranks of a stage, scratch having room
// for the steps.
func (m *rows) typical(s int, scratch []int64) int64 {
	T := m.w.Steps() - m.lead
	for t := range T {
		scratch[t] = m.middles[(t+m.lead)*len(m.names)+s].Median()
	}
	return robust.MedianTime(scratch[:T])
}
