// Package crosscheck asks whether several recorders that saw one run tell the
// same of it: the same stages, the same shares of exposed time, the same stages
// to look into.
//
// Every source is reduced to durations by step, stage and rank. Of these the
// steps and ranks that all sources have are compared, step by step from zero
// as StageFrontier does: with A_k[s] the share of stage s by source k
// (package frontier) and source 0 the one that the others are held against,
//
//	Δ_k = max_s |A_k[s] − A_0[s]|,  0 ≤ Δ_k ≤ 1,
//
// the routing sets agree when they are the same stages, and the routes when
// they are in the same order. A stage that a source does not have has share 0
// there. (StageFrontier, arXiv 2606.06751, Table 6: 0.039 for PyTorch traces
// and 0.024 for Nsight Systems, against the recorder.)
//
// Besides, the largest difference of a single duration says whether the
// matrices are the same, which equal shares do not show.
package crosscheck

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
)

// Source is what one recorder saw.
type Source struct {
	Name    string // as the user gave it
	Format  string
	Bytes   int64 // of its files as stored, −1: not known
	Windows []*trace.Window
}

// Match says which step of one source is which of another.
type Match uint8

const (
	ByNumber Match = iota // steps of the same index
	ByOrder               // the n-th that each recorded: recorders may count from different numbers
)

var matchNames = [...]string{"number", "order"}

func (m Match) String() string { return enum.Name(matchNames[:], m) }

// Names returns all of them.
func (Match) Names() []string { return matchNames[:] }

// ErrNoStep is wrapped where no step number is in all sources, which ByOrder
// does not mind.
var ErrNoStep = errors.New("no step is in all sources")

// Options of Compare. The zero value is usable.
type Options struct {
	Match Match
	Gates *gates.Gates // nil: the default ones
}

// Comparison is what the sources tell of the steps and ranks that all have.
type Comparison struct {
	Steps    int       // steps compared: those that all sources have
	Ranks    []int     // ranks compared: those that all sources have
	Match    Match     // how steps were matched
	Tau      float64   // part of the exposed time that the stages to look into make up
	Tie      float64   // shares this close are a tie
	Stages   []string  // the stages of all sources, in the order of the first
	Accounts []Account // the sources, in the order given; the first is what the others are held against
	Doubts   []string  // what else differs, and what was left out, as sentences
}

// Account is one source's.
type Account struct {
	Name     string    // the file or folder, as given
	Format   string    // format of its files
	Bytes    int64     // size of its files as stored; negative when not known
	Recorded int       // steps that it recorded, compared or not
	Makespan int64     // exposed time of the steps compared
	Share    []float64 // share of each stage, in the order of stages; 0 for a stage that it lacks
	Lacks    []string  // stages that other sources have and this one does not
	Routing  []string  // the stages to look into, by descending share
	Held     *Held     // how it stands against the first source; nil for the first itself
}

// Held is how a source stands against the first.
type Held struct {
	Difference  float64 // the largest difference of a stage's share from the first source's, 0 to 1
	Stage       string  // the stage of that difference
	SameRouting bool    // the stages to look into are the same as the first source's
	SameRoute   bool    // they are in the same order too
	Longest     int64   // the largest difference of a stage's time on a rank in a step, of the stages that both have
	Size        float64 // bytes, divided by those of the first source; 0 when either is not known
}

// Agree reports whether every source has the routing set of the first, and no
// share differs by more than what counts as a tie.
func (c *Comparison) Agree() bool {
	return !slices.ContainsFunc(c.Accounts, func(a Account) bool {
		return a.Held != nil && (!a.Held.SameRouting || a.Held.Difference > c.Tie)
	})
}

// Worst returns the account that differs most from the first.
func (c *Comparison) Worst() *Account {
	worst := &c.Accounts[1]
	for i := range c.Accounts[1:] {
		if a := &c.Accounts[1+i]; a.Held.Difference > worst.Held.Difference {
			worst = a
		}
	}
	return worst
}

// Compare holds the sources against the first of them. O(durations).
func Compare(all []Source, o Options) (*Comparison, error) {
	if len(all) < 2 {
		return nil, input.Bad(input.ErrMissing, "%d sources: give two or more that recorded the same run", len(all))
	}
	gates := o.Gates.OrDefault()
	matrices := make([]*matrix, len(all))
	for i, s := range all {
		var err error
		if matrices[i], err = gather(s, o.Match); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	c := &Comparison{Match: o.Match, Tau: gates.Tau, Tie: gates.TieTolerance}
	steps, err := c.sync(matrices)
	if err != nil {
		return nil, err
	}
	c.nameStages(matrices)
	for i, m := range matrices {
		a, err := c.account(m, steps, gates)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		if i > 0 {
			a.Held = c.hold(&c.Accounts[0], &a)
			a.Held.Longest = longest(matrices[0], m, steps, c.Ranks)
		}
		c.Accounts = append(c.Accounts, a)
	}
	return c, nil
}

// sync finds the steps and ranks that all sources have.
func (c *Comparison) sync(matrices []*matrix) ([]int64, error) {
	steps, ranks := slices.Clone(matrices[0].order), slices.Clone(matrices[0].ranks)
	for _, m := range matrices[1:] {
		steps = slices.DeleteFunc(steps, func(s int64) bool { _, ok := m.rows[s]; return !ok })
		ranks = slices.DeleteFunc(ranks, func(r int) bool { return !slices.Contains(m.ranks, r) })
	}
	var theirRanks, theirSteps []string
	for _, m := range matrices {
		theirRanks = append(theirRanks, m.Name+" has ranks "+trace.RankList(m.ranks))
		theirSteps = append(theirSteps, fmt.Sprintf("%s has steps %d to %d", m.Name, m.order[0], m.order[len(m.order)-1]))
	}
	switch {
	case len(ranks) == 0:
		return nil, input.Bad(input.ErrMissing, "no rank is in all sources: %s", strings.Join(theirRanks, ", "))
	case len(steps) == 0:
		return nil, fmt.Errorf("%w: %s (%w)", ErrNoStep, strings.Join(theirSteps, ", "), input.ErrMissing)
	}
	c.Steps, c.Ranks = len(steps), ranks
	for _, m := range matrices {
		if n := len(m.rows) - len(steps); n > 0 {
			c.doubt("%s has %d steps that not all sources have: they are left out", m.Name, n)
		}
		if n := len(m.ranks) - len(ranks); n > 0 {
			c.doubt("%s has %d ranks that not all sources have: they are left out", m.Name, n)
		}
	}
	return steps, nil
}

func (c *Comparison) doubt(format string, args ...any) {
	c.Doubts = append(c.Doubts, fmt.Sprintf(format, args...))
}

// nameStages lists the stages of all sources, in the order of the first.
func (c *Comparison) nameStages(matrices []*matrix) {
	first := matrices[0]
	for _, m := range matrices {
		if named := m.namedStages(); !slices.ContainsFunc(first.namedStages(), func(s string) bool { return slices.Contains(named, s) }) {
			c.doubt("%s has no stage of %s's, whose shares can then not be compared: %s against %s; are they the names of one program?",
				m.Name, first.Name, strings.Join(named, ", "), strings.Join(first.namedStages(), ", "))
		}
		var places []int // of the stages that the first has too
		for _, name := range m.stages {
			at := slices.Index(c.Stages, name)
			if at < 0 {
				c.Stages = append(c.Stages, name)
			} else if slices.Contains(first.stages, name) {
				places = append(places, at)
			}
		}
		if !slices.IsSorted(places) {
			c.doubt("the sources list their stages in different orders: shares depend on it")
		}
	}
}

// account returns the account of one source over the steps and ranks compared.
func (c *Comparison) account(m *matrix, steps []int64, gates gates.Gates) (Account, error) {
	a := Account{Name: m.Name, Format: m.Format, Bytes: m.Bytes, Recorded: len(m.rows), Share: make([]float64, len(c.Stages))}
	advance := make([]int64, len(c.Stages))
	for _, w := range m.windowsOf(steps, c.Ranks) {
		r, err := frontier.Analyze(w, frontier.Options{Cut: frontier.CutStep, ModelFit: frontier.FitNone, Gates: &gates})
		if err != nil {
			return a, fmt.Errorf("from step %d: %w", w.FirstStep, err)
		}
		a.Makespan += r.Main.Makespan
		for _, stage := range r.Main.Stages {
			if at := slices.Index(c.Stages, stage.Name); at >= 0 {
				advance[at] += stage.Advance
			}
		}
	}
	if a.Makespan <= 0 {
		return a, input.Bad(input.ErrEmpty, "the steps compared take no time")
	}
	for i, ns := range advance {
		a.Share[i] = float64(ns) / float64(a.Makespan)
		if !slices.Contains(m.stages, c.Stages[i]) {
			a.Lacks = append(a.Lacks, c.Stages[i])
		}
	}
	for _, i := range labels.RoutingSet(a.Share, gates.Tau) {
		a.Routing = append(a.Routing, c.Stages[i])
	}
	return a, nil
}

// hold compares the shares and routes of two accounts.
func (c *Comparison) hold(first, a *Account) *Held {
	h := &Held{SameRoute: slices.Equal(first.Routing, a.Routing), Stage: c.Stages[0]}
	h.SameRouting = slices.Equal(slices.Sorted(slices.Values(first.Routing)), slices.Sorted(slices.Values(a.Routing)))
	if first.Bytes > 0 && a.Bytes >= 0 {
		h.Size = float64(a.Bytes) / float64(first.Bytes)
	}
	for i := range a.Share {
		if d := math.Abs(a.Share[i] - first.Share[i]); d > h.Difference {
			h.Difference, h.Stage = d, c.Stages[i]
		}
	}
	return h
}
