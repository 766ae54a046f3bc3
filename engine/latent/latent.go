// Package latent answers which workers differ from their peers by more than a margin, though by too little for a delay
// to be found by its size: the second stage behind the division of steps where ranks synchronise.
//
// W[t, r, k] is what rank r works itself in interval t between synchronisation points, in piece k; the sum of the
// pieces that lead to a point is a piece as well. u is W less the median of the other ranks of the same set, level the
// mean of the middle half of u over t, a = u − level. The margin δ is the larger of 1 % of a step and twice the
// resolution of the clock.
//
// Beyond the margin (after Kolmogorov and Smirnov, weighted as by Anderson and Darling 1952, Ann. Math. Stat. 23:193–212):
//
//	D[r, k] = max over x of (share of t with u − δ > x, less F₀(x)) / √max(0.01, F₀(x)·(1 − F₀(x)))
//	F₀ = median over ranks of the share of t with a > x; x: quantiles of a from 2 to 98 %
//
// Blame: where others wait, their waits lead to the rank that arrives last. Its share is that of t in which r is last even
// less δ, among peers with levels taken off.
//
// The null is a level within δ and the shape of the others. Aligned blocks of steps ([blocks.Of]) are handed to ranks at
// random, all pieces together, and P counts the largest D and the largest share over ranks and pieces (Westfall and Young
// 1993, Resampling-based multiple testing): it is the chance that anybody is named in a healthy run. Ranks are drawn in
// the order of what they work in all, so that the order in which they were recorded changes nothing.
//
// A rank differs where D is significant at a sixth of the level of a run, blame at the whole of it, and D's x is
// exceeded more often than by the peers in three of four quarters of the run: one stretch is no difference. Without
// blame it is heard, and not claimed.
//
// What cannot be told: who of two ranks differs; differences below 1 % of a step; work where ranks wait for one another.
//
// Times are whole nanoseconds. O(T · ranks · pieces) time and memory, and of every draw O(blocks · ranks · pieces), of
// which there are few unless somebody differs.
package latent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/gates"
)

// Work is what ranks work by themselves between synchronisation points, with waits taken out.
type Work struct {
	Ranks  int
	Pieces []Piece
	Own    [][]int64 // [piece][interval · Ranks + rank], ns
	// Peers is the set of ranks that each rank is compared with; nil: all are peers.
	Peers      []int
	Points     int   // synchronisation points of an interval; 0: nobody waits
	Step       int64 // length of a step, ns
	Resolution int64 // of the clock, ns
}

// Piece is a part of the own work.
type Piece struct {
	Stage int // of the caller
	Point int // synchronisation point that it leads to; 0 where nobody waits
}

// Margin returns δ of the default options, ns: work that never takes as much shows no difference by itself.
func (w *Work) Margin() int64 { return int64(marginOf(w, Options{}.orDefault())) }

func marginOf(w *Work, o Options) float64 {
	return max(o.Margin*float64(w.Step), inResolutions*float64(w.Resolution))
}

// Intervals returns the number of intervals.
func (w *Work) Intervals() int {
	if len(w.Own) == 0 || w.Ranks == 0 {
		return 0
	}
	return len(w.Own[0]) / w.Ranks
}

// Validate reports the first field that does not fit the others, with what it holds and what is expected.
func (w *Work) Validate() error {
	switch {
	case w.Ranks < 1:
		return fmt.Errorf("latent: Ranks is %d, expected 1 or more", w.Ranks)
	case len(w.Pieces) == 0 || len(w.Own) != len(w.Pieces):
		return fmt.Errorf("latent: Own has %d pieces and Pieces %d, expected as many, 1 or more", len(w.Own), len(w.Pieces))
	case w.Peers != nil && len(w.Peers) != w.Ranks:
		return fmt.Errorf("latent: Peers has %d values, expected the set of each of %d ranks, or nil", len(w.Peers), w.Ranks)
	case w.Points < 0:
		return fmt.Errorf("latent: Points is %d, expected 0 or more", w.Points)
	case w.Step <= 0:
		return fmt.Errorf("latent: Step is %d ns, expected more than 0", w.Step)
	case w.Resolution < 0:
		return fmt.Errorf("latent: Resolution is %d ns, expected 0 or more", w.Resolution)
	}
	for k, own := range w.Own {
		if len(own) != len(w.Own[0]) || len(own)%w.Ranks != 0 {
			return fmt.Errorf("latent: Own[%d] has %d values, expected %d as of the first piece, a multiple of %d ranks", k, len(own), len(w.Own[0]), w.Ranks)
		}
		if p := w.Pieces[k].Point; p < 0 || p >= max(1, w.Points) {
			return fmt.Errorf("latent: Pieces[%d] leads to point %d, expected 0 to %d", k, p, max(1, w.Points)-1)
		}
		if i := slices.IndexFunc(own, func(x int64) bool { return x < 0 || x > longest }); i >= 0 {
			return fmt.Errorf("latent: Own[%d] of interval %d, rank %d is %d ns, expected 0 to 73 years", k, i/w.Ranks, i%w.Ranks, own[i])
		}
	}
	return nil
}

// longest is the longest own work, ns: sums of several fit an int64 twice.
const longest = 1 << 61

// Options of a test. The zero value is usable.
type Options struct {
	Level  float64 // of D, over the run; 0: a sixth of gates.Supported
	Blame  float64 // of blame; 0: gates.Supported
	Margin float64 // part of a step; 0: 1 %
	Draws  int     // permutations; 0: 399
	Many   int     // permutations where a rank differs; 0: 1,199
	Seed   uint64  // of the permutations; 0: 1
	// Screen leaves a run alone of which some steps show at once that nobody has anything to find, but for ranks that are
	// known to; of others it tests those that may have.
	Screen bool
	Known  []int
}

const (
	// shareOfLevel is the part of a run's level that latent differences have: ranks in pieces of work have half of it,
	// links and operators as much as these.
	shareOfLevel  = 6
	leastMargin   = 0.01
	inResolutions = 2 // steps of the clock that a difference must exceed
	fewDraws      = 399
	manyDraws     = 1199 // with which 1 % of a sixth can be resolved
)

func (o Options) orDefault() Options {
	o.Level, o.Blame, o.Margin = cmp.Or(o.Level, gates.Supported/shareOfLevel), cmp.Or(o.Blame, gates.Supported), cmp.Or(o.Margin, leastMargin)
	o.Draws, o.Many, o.Seed = cmp.Or(o.Draws, fewDraws), cmp.Or(o.Many, manyDraws), cmp.Or(o.Seed, 1)
	return o
}

// Validate reports the first option that means nothing; zero is the default. The comparisons are written so that NaN fails them.
func (o Options) Validate() error {
	for _, f := range []struct {
		name string
		x    float64
	}{{"Level", o.Level}, {"Blame", o.Blame}, {"Margin", o.Margin}} {
		if !(f.x >= 0 && f.x < 1) {
			return fmt.Errorf("latent: Options.%s is %v, expected above 0 and below 1, or 0 for the default", f.name, f.x)
		}
	}
	if o.Draws < 0 || o.Many < 0 {
		return fmt.Errorf("latent: Options.Draws is %d and Many %d, expected 0 or more", o.Draws, o.Many)
	}
	return nil
}

// Result is what a test of one run, or of steps of it that follow one another, shows.
type Result struct {
	Ranks   int
	Columns []Column
	Blocks  blocks.Blocks
	Step    int64 // length of a step, ns
	Margin  int64 // δ, ns
	Draws   int   // permutations that P was counted among; 0: none were needed or possible
	// Screened: no level comes near the margin and no rank varies much more than others, so that nothing was tested.
	Screened bool
	Workers  []Score // [rank · columns + column]
	Blame    []Share // [rank · points + point]; none where nobody waits
	o        Options
}

// Column is a piece, or the sum of those that lead to a point.
type Column struct {
	Stage int // of a piece; −1: of the sum
	Point int
}

// Sum reports whether the column is the sum of several pieces.
func (c Column) Sum() bool { return c.Stage < 0 }

// Score is how a rank differs in a column.
type Score struct {
	Level    float64       // beyond the median of its peers, ns of an interval
	D        float64       // largest weighted departure beyond the margin, no unit; 0 or less: none
	P        float64       // 1 where nothing was drawn
	Bound    float64       // that P is never above
	Quarters int           // of the run in which it departs at the same x
	Places   []claim.Place // at each x; none where it was not tested
}

// Share is how often the waits of others lead to a rank.
type Share struct {
	Last  int // intervals in which it is last even less the margin
	Of    int
	P     float64
	Bound float64 // that P is never above
	Waits bool    // others wait at the point
	// Quarters are those of the run, in order; they add up to Last and Of.
	Quarters [quarters]claim.Quarter
}

// Score returns how a rank differs in a column.
func (r *Result) Score(rank, column int) *Score { return &r.Workers[rank*len(r.Columns)+column] }
