// Package gotoh aligns two sequences globally with affine gaps, optimally.
//
// An alignment of n rows and m columns is a set of pairs (i, j), increasing in both. Its
// score is the sum of the scores of its pairs, less Open + k·Extend for every run of k rows, or of
// k columns, between two neighbouring pairs that stay without partner (affine gaps,
// Gotoh 1982, J. Mol. Biol. 162:705–708). With H(i, j) the best score of the first i rows
// and j columns, X and Y those that end in an open run of rows and columns:
//
//	X(i, j) = max(H(i−1, j) − Open, X(i−1, j)) − Extend
//	Y(i, j) = max(H(i, j−1) − Open, Y(i, j−1)) − Extend
//	H(i, j) = max(H(i−1, j−1) + score(i, j), X(i, j), Y(i, j))
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
// band beats Beyond, the relaxation's best. If Beyond ≤ Score, the band's best path is
// optimal. If not, the band is widened twofold to eightfold, in the end
// to the whole table, where there is nothing beyond.
//
// # Confidence
//
// The margin of a pair is the score of the best alignment less that of the best
// alignment without this pair; 0 means that another one is as good. It comes from the same
// recurrence run from both ends: the best alignment through a cell is the sum of the two. Beyond
// bounds what the band cannot see.
//
// # Cost
//
// Time is proportional to the cells of the band, up to about six passes over them.
// Memory is rows, not cells: the pass from the end keeps a few rows of every level
// and computes those between again (Grice, Hughey and Speck 1997, CABIOS 13:45–53), with
// at most 16 rows on each of log₁₆(n/64) levels and 64 at the lowest.
package gotoh

import (
	"errors"
	"fmt"
)

// Never is the score of a pair that must not be.
const Never = -1 << 28

// ErrTooLarge says that scores could add up to more than is counted with.
var ErrTooLarge = errors.New("scores too large")

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

// Gap is what a run of k rows or columns without partners costs: Open + k·Extend. Both
// are at least 0.
type Gap struct{ Open, Extend int32 }

// Options say what gaps cost and how wide the first band is.
type Options struct {
	Rows, Columns Gap
	Width         int // cells on either side of the diagonal, or of the windows, to begin with
}

// DefaultWidth is the half width of the first band.
const DefaultWidth = 64

// Pair is a row and its column.
type Pair struct {
	Row, Column int
	Margin      int32 // score lost without this pair; 0: something else is as good
}

// Result is the best alignment.
type Result struct {
	Pairs  []Pair // increasing
	Score  int64
	Whole  bool  // it was the whole table
	Beyond int64 // no alignment that leaves the band scores more; meaningless if Whole
	Cells  int64 // of the last band
}

// Solve finds the best alignment. It is optimal whatever the options' width.
func Solve(s Scores, o Options) (*Result, error) {
	n, m := s.Size()
	if err := o.validate(s, n, m); err != nil {
		return nil, err
	}
	for width := max(o.Width, 1); ; {
		p := &problem{s: s, n: n, m: m, rows: o.Rows, cols: o.Columns}
		p.band = newBand(s, width)
		f := p.certify()
		if f.beyond > f.score { // never of the whole table, which has nothing beyond
			width = p.wider(width, f)
			continue
		}
		return p.trace(f), nil
	}
}

// wider is the next band to try: every cell that a path must go further out and back
// costs it one row and one column without partner. Most of the table is not worth a
// certificate: it is taken whole.
func (p *problem) wider(width int, f found) int {
	each := max(int64(p.rows.Extend)+int64(p.cols.Extend), 1)
	next := min(max(2*width, width+int((f.beyond-f.score)/each)), 8*width)
	if 4*next > p.m {
		return p.n + p.m
	}
	return next
}

func (o Options) validate(s Scores, n, m int) error {
	for _, c := range [...]int32{o.Rows.Open, o.Rows.Extend, o.Columns.Open, o.Columns.Extend} {
		if c < 0 {
			return fmt.Errorf("gotoh: a gap that costs %d would pay for itself", c)
		}
	}
	var total int64
	for i := range n {
		b := s.Best(i)
		if b < 0 {
			return fmt.Errorf("gotoh: row %d has at best %d, less than 0", i, b)
		}
		total += int64(b)
	}
	total += int64(o.Rows.Open) + int64(o.Columns.Open) + int64(n)*int64(o.Rows.Open+o.Rows.Extend) + int64(m)*int64(o.Columns.Open+o.Columns.Extend)
	if total > -Never/2 {
		return fmt.Errorf("gotoh: %d rows and %d columns could score up to %d: %w", n, m, total, ErrTooLarge)
	}
	return nil
}
