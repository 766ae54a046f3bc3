package align

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm/needleman"
)

// Beginnings is where the kernels of one stream may begin among the launches of the log, where a recording has a part of what was
// logged and neither names nor times say which part: a program that repeats itself looks alike after every step.
type Beginnings struct {
	Calls   []int // of the process: the call that the first kernel may have run, ascending; two or more
	Kernels []int // of the process, that the stream has
}

// Limits of the search for beginnings.
const (
	mostBeginnings = 256     // of one stream
	beginningCells = 4 << 20 // comparisons of a launch and a kernel
	leastKernels   = 4       // fewer fit anywhere
)

// UndecidedStreams lists the streams whose kernels fit, each and in one piece, at several places of the log, and of which less than half of the
// matches are certain.
func (m *Matching) UndecidedStreams() (list []Beginnings) {
	certain := map[int]bool{}
	for _, x := range m.Matches {
		certain[x.Kernel] = m.IsCertain(x)
	}
	for _, b := range m.beginnings {
		n := 0
		for _, k := range b.Kernels {
			if certain[k] {
				n++
			}
		}
		if 2*n < len(b.Kernels) {
			list = append(list, b)
		}
	}
	return list
}

// beginningsOf finds where the kernels of a stream fit as one piece; ok is false where that is one place, none, or not worth the search.
func (p *part) beginningsOf(launches []Launch) (b Beginnings, ok bool) {
	n, m := p.Size()
	if m < leastKernels || n <= m || p.clock.use {
		return b, false
	}
	fits := make([][]bool, len(p.classes)) // and no evidence speaks against it
	for c := range fits {
		fits[c] = make([]bool, len(p.shapes))
		for k := range p.shapes {
			s := p.prior(&p.classes[c], &p.shapes[k])
			fits[c][k] = s > needleman.Never && s >= ghost
		}
	}
	cells := 0
	for from := 0; from+m <= n; from++ {
		j := 0
		for ; j < m && fits[p.rowKinds[from+j]][p.kinds[j]]; j++ {
		}
		if cells += j + 1; cells > beginningCells || len(b.Calls) >= mostBeginnings {
			return Beginnings{}, false
		}
		if l := &launches[p.launchIDs[from]]; j == m && l.Lead >= 0 {
			b.Calls = append(b.Calls, l.Calls[0])
		}
	}
	b.Kernels = slices.Clone(p.kernelIDs)
	slices.Sort(b.Calls)
	return b, len(b.Calls) > 1
}
