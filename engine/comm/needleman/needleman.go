// Package needleman aligns two sequences globally, optimally.
//
// An alignment of n rows and m columns is a set of pairs (i, j), increasing in both. Its
// score is the sum of the scores of its pairs, less the gap's cost for every row and
// column that stays without partner (Needleman and Wunsch 1970, J. Mol. Biol. 48:443–453). With
// H(i, j) the best score of the first i rows and j columns:
//
//	H(i, j) = max(H(i−1, j−1) + score(i, j), H(i−1, j) − gap, H(i, j−1) − gap)
//
// # Band and certificate
//
// Only cells in a band are computed, row by row from L(i) to R(i), both never
// decreasing. That the best path of the band is the best of all is proved, not hoped: a second
// recurrence goes with the first, over paths that have left the band at least once. All
// cells above the band are one place, all below it another, for each row. To step
// out of the band or stay outside costs nothing, and pays Best(i) for each row that may
// be paired on that side of the band, nothing else; to come back costs nothing; inside, a path that
// was outside scores as any. Every path of the whole table that leaves the band is a
// path of that relaxation and scores at least as much in it: gap costs outside are left
// out, a pair outside scores at most Best, and inside nothing differs. So no path that leaves the
// band beats the relaxation's best. If that is not above the band's, the band's best path is
// optimal. If it is, the band is widened twofold to eightfold, in the end
// to the whole table, where there is nothing beyond.
//
// # Confidence
//
// The margin of a pair is the score of the best alignment less that of the best
// alignment without this pair; 0 means that another one is as good. It comes from the same
// recurrence run from both ends: the best alignment through a cell is the sum of the two. The
// relaxation's best bounds what the band cannot see.
//
// # Cost
//
// Time is proportional to the cells of the band, up to about six passes over them.
// Memory is rows, not cells: the pass from the end keeps about √n rows, and computes those between two of them again when the path
// gets there.
package needleman

import "fmt"

// Never is the score of a pair that must not be.
const Never = -1 << 28

// Scores tells what may be paired and how well it fits. Its methods are called
// many times with the same arguments and must answer the same.
type Scores interface {
	// Size is the number of rows and of columns.
	Size() (rows, columns int)
	// Window is the columns, from inclusive to exclusive, outside of which row is
	// Never paired.
	Window(row int) (from, to int)
	// Row sets dst[k] to the score of the pair (row, from+k).
	Row(dst []int32, row, from int)
	// Best is at least the score of any pair of this row, and at least 0.
	Best(row int) int32
}

// Pair is a row and its column.
type Pair struct {
	Row, Column int
	Margin      int32 // score lost without this pair; 0: something else is as good
}

// Result is the best alignment.
type Result struct {
	Pairs []Pair // increasing
	Score int64

	whole bool  // the band was the whole table
	cells int64 // of the band
}

// firstWidth is how many cells the first band has on either side of the diagonal, or of the windows.
const firstWidth = 64

// Solve finds the best alignment, where each row and each column without partner costs gap.
func Solve(s Scores, gap int32) (*Result, error) { return solve(s, gap, firstWidth) }

// solve aligns as Solve does, with another first band; what it finds is the same.
func solve(s Scores, gap int32, width int) (*Result, error) {
	n, m := s.Size()
	if err := validate(s, gap); err != nil {
		return nil, err
	}
	for {
		p := &problem{s: s, n: n, m: m, gap: gap, band: newBand(s, width)}
		f := p.certify()
		if f.beyond > f.score { // never of the whole table, which has nothing beyond
			width = p.wider(width, f)
			continue
		}
		return p.trace(f), nil
	}
}

// wider returns the next band to try: every cell that a path must go further out and back
// costs it one row and one column without partner. Most of the table is not worth a
// certificate: it is taken whole.
func (p *problem) wider(width int, f found) int {
	next := min(max(2*width, width+int((f.beyond-f.score)/max(2*int64(p.gap), 1))), 8*width)
	if 4*next > p.m {
		return p.n + p.m
	}
	return next
}

func validate(s Scores, gap int32) error {
	if gap < 0 {
		return fmt.Errorf("needleman: a gap that costs %d would pay for itself", gap)
	}
	n, m := s.Size()
	total := int64(n+m) * int64(gap)
	for i := range n {
		b := s.Best(i)
		if b < 0 {
			return fmt.Errorf("needleman: row %d has at best %d, less than 0", i, b)
		}
		total += int64(b)
	}
	if total > -Never/2 {
		return fmt.Errorf("needleman: %d rows and %d columns could score up to %d, more than is counted with", n, m, total)
	}
	return nil
}
