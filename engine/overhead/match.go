package overhead

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// ParseBy is the inverse of String.
func ParseBy(s string) (By, error) { return enum.Parse[By]("way to match runs", byNames[:], s) }

// Errors of matching; they come wrapped in what was found.
var (
	ErrUnpaired = errors.New("no partner")
	ErrNoSeed   = errors.New("name ends in no number")
	ErrTwice    = errors.New("twice on one side")
	ErrNoTime   = errors.New("no time was measured")
)

// Runs collects the windows of one side.
type Runs struct {
	order []*run
	named map[string]*run
}

type run struct {
	name  string
	ranks int
	step  []float64 // ns per step of each window
}

// Len is the number of runs.
func (r *Runs) Len() int { return len(r.order) }

// Add measures a window. Windows of a run come in their order.
func (r *Runs) Add(w *trace.Window) error {
	step := stepTime(w)
	if !(step > 0) {
		return fmt.Errorf("window of %d steps and %d ranks: %w", w.Steps(), len(w.Ranks), ErrNoTime)
	}
	if r.named == nil {
		r.named = make(map[string]*run)
	}
	of := r.named[w.Run]
	if of == nil {
		of = &run{name: w.Run, ranks: w.WorldSize}
		r.named[w.Run] = of
		r.order = append(r.order, of)
	}
	of.step = append(of.step, step)
	return nil
}

// stepTime is the time of the slowest rank over the window by its steps, ns.
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
	partners, err := partnersOf(base, with, by)
	if err != nil {
		return nil, err
	}
	var out []Measurement
	for i, b := range base.order {
		w := partners[i]
		if b.ranks != w.ranks {
			return nil, fmt.Errorf("run %q has %d ranks, its partner %q %d: the same work is wanted on both sides", b.name, b.ranks, w.name, w.ranks)
		}
		if len(b.step) != len(w.step) {
			return nil, fmt.Errorf("run %q has %d windows, its partner %q %d: %w for some; leave out what is too much, or give the times as a file of pairs",
				b.name, len(b.step), w.name, len(w.step), ErrUnpaired)
		}
		for k := range b.step {
			out = append(out, Measurement{Pair: pairName(b, i, by), Run: b.name, Other: w.name, Window: k, Base: b.step[k], With: w.step[k]})
		}
	}
	return out, nil
}

// pairName names a pair of runs by what matched them.
func pairName(b *run, i int, by By) string {
	switch by {
	case BySeed:
		seed, _ := seedOf(b.name) // index has seen that it has one
		return seed
	case ByName:
		return b.name
	}
	return strconv.Itoa(i + 1)
}

// partnersOf are the runs of with in the order of those of base.
func partnersOf(base, with *Runs, by By) ([]*run, error) {
	if by == ByOrder {
		if base.Len() != with.Len() {
			return nil, fmt.Errorf("%d runs in the base and %d against it: %w for some; match them by name or seed, or leave out what is too much",
				base.Len(), with.Len(), ErrUnpaired)
		}
		return with.order, nil
	}
	key := func(r *run) (string, error) { return r.name, nil }
	if by == BySeed {
		key = func(r *run) (string, error) { return seedOf(r.name) }
	}
	left, err := index(with, key)
	if err != nil {
		return nil, err
	}
	if _, err := index(base, key); err != nil {
		return nil, err
	}
	var out []*run
	for _, b := range base.order {
		k, _ := key(b)
		w := left[k]
		if w == nil {
			return nil, fmt.Errorf("run %q of the base: %w by %v", b.name, ErrUnpaired, by)
		}
		out = append(out, w)
		delete(left, k)
	}
	for _, w := range with.order {
		if k, _ := key(w); left[k] != nil {
			return nil, fmt.Errorf("run %q against the base: %w by %v", w.name, ErrUnpaired, by)
		}
	}
	return out, nil
}

// index finds runs by a key that each must have and none share.
func index(r *Runs, key func(*run) (string, error)) (map[string]*run, error) {
	out := make(map[string]*run)
	for _, one := range r.order {
		k, err := key(one)
		if err != nil {
			return nil, fmt.Errorf("run %q: %w", one.name, err)
		}
		if other := out[k]; other != nil {
			return nil, fmt.Errorf("runs %q and %q: %s is there %w", other.name, one.name, k, ErrTwice)
		}
		out[k] = one
	}
	return out, nil
}

// seedOf is the number that ends a name, without leading zeros.
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
