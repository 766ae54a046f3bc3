package overhead

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/enum"
)

// By says how runs without and with are matched.
type By uint8

const (
	ByOrder By = iota // the first with the first, in the order read
	ByName            // runs of the same name
	BySeed            // runs whose names end in the same number: base-s3 and logged-s3
	ByFile            // a file of pairs says so
	byCount
)

var byNames = [byCount]string{"order", "name", "seed", "file"}

func (b By) String() string { return enum.Name(byNames[:], b) }

// Names returns the names of all values.
func (By) Names() []string { return byNames[:] }

// ParseBy returns the key of a name, the inverse of String.
func ParseBy(s string) (By, error) { return enum.Parse[By]("way to match runs", byNames[:], s) }

// Errors of matching; they come wrapped in what was found.
var (
	ErrUnpaired = errors.New("no partner")
	ErrNoSeed   = errors.New("name ends in no number")
	ErrTwice    = errors.New("twice on one side")
	ErrNoTime   = errors.New("no time was measured")
)

// Runs collects the windows of one side.
type Runs struct{ named ordered.List[string, run] }

type run struct {
	name  string
	ranks int
	step  []float64 // ns per step of each window
}

// Len returns the number of runs.
func (r *Runs) Len() int { return len(r.named.All) }

// Add measures a window. Windows of a run come in their order.
func (r *Runs) Add(w *trace.Window) error {
	step := stepTime(w)
	if !(step > 0) {
		return fmt.Errorf("window of %d steps and %d ranks: %w", w.Steps(), len(w.Ranks), ErrNoTime)
	}
	of, first := r.named.Of(w.Run)
	if first {
		of.name, of.ranks = w.Run, w.WorldSize
	}
	of.step = append(of.step, step)
	return nil
}

// stepTime returns the time of the slowest rank over the window by its steps, ns.
func stepTime(w *trace.Window) float64 {
	total := make([]int64, len(w.Ranks))
	for t := range w.Steps() {
		rows := w.WallOf(t)
		if rows == nil {
			rows = w.Step(t) // stages, one after the other
		}
		for i, d := range rows {
			total[i%len(total)] += d
		}
	}
	if len(total) == 0 || w.Steps() == 0 {
		return 0
	}
	return float64(slices.Max(total)) / float64(w.Steps())
}

// Match pairs the runs of two sides, and their windows in order. Every run must
// have a partner, of as many ranks and windows: what has none is an error, not
// left out, because which half is missing is seldom chance.
func Match(base, with *Runs, by By) ([]Measurement, error) {
	if by == ByOrder && base.Len() != with.Len() {
		return nil, fmt.Errorf("%d runs in the base and %d against it: %w for some; match them by name or seed, or leave out what is too much",
			base.Len(), with.Len(), ErrUnpaired)
	}
	theirs, partners, err := with.index(by)
	if err != nil {
		return nil, err
	}
	pairs, left, err := base.index(by)
	if err != nil {
		return nil, err
	}
	var out []Measurement
	for i, b := range base.named.All {
		w := partners[pairs[i]]
		if w == nil {
			return nil, fmt.Errorf("run %q of the base: %w by %v", b.name, ErrUnpaired, by)
		}
		if b.ranks != w.ranks {
			return nil, fmt.Errorf("run %q has %d ranks, its partner %q %d: the same work is wanted on both sides", b.name, b.ranks, w.name, w.ranks)
		}
		if len(b.step) != len(w.step) {
			return nil, fmt.Errorf("run %q has %d windows, its partner %q %d: %w for some; leave out what is too much, or give the times as a file of pairs",
				b.name, len(b.step), w.name, len(w.step), ErrUnpaired)
		}
		for k := range b.step {
			out = append(out, Measurement{Pair: pairs[i], Run: b.name, Other: w.name, Window: k, Base: b.step[k], With: w.step[k]})
		}
	}
	for i, w := range with.named.All {
		if left[theirs[i]] == nil {
			return nil, fmt.Errorf("run %q against the base: %w by %v", w.name, ErrUnpaired, by)
		}
	}
	return out, nil
}

// index names the pairs that runs belong to, by what matches them, and finds runs by
// them: each must have a name, and none share one.
func (r *Runs) index(by By) (pairs []string, found map[string]*run, err error) {
	found = make(map[string]*run)
	for i := range r.named.All {
		one := &r.named.All[i]
		pair := one.name
		switch by {
		case ByOrder:
			pair = strconv.Itoa(i + 1)
		case BySeed:
			if pair, err = seedOf(one.name); err != nil {
				return nil, nil, fmt.Errorf("run %q: %w", one.name, err)
			}
		}
		if other := found[pair]; other != nil {
			return nil, nil, fmt.Errorf("runs %q and %q: %s is there %w", other.name, one.name, pair, ErrTwice)
		}
		found[pair] = one
		pairs = append(pairs, pair)
	}
	return pairs, found, nil
}

// seedOf returns the number that ends a name, without leading zeros.
func seedOf(name string) (string, error) {
	stem := strings.TrimRight(name, "0123456789")
	digits := name[len(stem):]
	if digits == "" {
		return "", ErrNoSeed
	}
	if plain := strings.TrimLeft(digits, "0"); plain != "" {
		return plain, nil
	}
	return "0", nil
}
