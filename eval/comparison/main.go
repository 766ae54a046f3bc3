// Command comparison measures how often sfstat compare and sfstat trend are right
// on simulated runs whose change is known, beside benchstat on the same step times,
// and writes docs/compare-evaluation.md.
//
//	go install golang.org/x/perf/cmd/benchstat@latest
//	go run ./eval/comparison -n 200 -benchstat "$(go env GOPATH)/bin/benchstat" -o docs/compare-evaluation.md
//
// Every comparison is drawn from its number alone; the five changes of a comparison
// share its noise.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/internal/pages"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

//go:embed page.md.tmpl
var pageText string

func main() { pages.Main("comparison", run) }

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("comparison", flag.ContinueOnError)
	n := flags.Int("n", 200, "comparisons, and trends, of each kind")
	peer := flags.String("benchstat", "", "the program benchstat; without it its columns are not measured")
	out := flags.String("o", "", "write the page here (default: standard output)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 1 {
		return fmt.Errorf("-n is %d, expected one or more", *n)
	}
	p := page{N: *n, Runs: runsEach, Ranks: ranks, Steps: stepsEach}
	pairs, err := simulated(*n)
	if err != nil {
		return err
	}
	for _, change := range changes {
		cells, err := score(pairs, change, *peer)
		if err != nil {
			return err
		}
		p.rows = append(p.rows, cells)
	}
	if p.weeks, err = weeks(*n); err != nil {
		return err
	}
	return pages.Write(*out, stdout, pages.Fill(pageText, p))
}

const (
	runsEach, ranks, stepsEach = 5, 4, 60
	// Runs of one pair share what their host and hour do; each has some of its own.
	pairSpread, runSpread = 0.01, 0.004
)

var changes = []float64{0, 0.005, 0.01, 0.02, 0.05}

// pair is two sides of as many runs, before the change; run i of one side with
// run i of the other.
type pair [2][]*trace.Window

func simulated(n int) ([]pair, error) {
	out := make([]pair, n)
	for i := range out {
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		for k := range runsEach {
			shared := 1 + pairSpread*rng.NormFloat64()
			for side := range 2 {
				spec := simulate.DefaultSpec()
				spec.Run, spec.Ranks, spec.Seed = fmt.Sprint("job-", k), ranks, uint64((i*runsEach+k)*2+side)
				spec.Schedule = simulate.Schedule{Windows: 1, Steps: stepsEach}
				g, err := simulate.New(spec)
				if err != nil {
					return nil, err
				}
				w, err := g.Next()
				if err != nil {
					return nil, err
				}
				out[i][side] = append(out[i][side], scaled(w, shared*(1+runSpread*rng.NormFloat64())))
			}
		}
	}
	return out, nil
}

// scaled is a window in which everything takes so many times as long.
func scaled(w *trace.Window, factor float64) *trace.Window {
	out := *w
	out.Durations, out.Wall = slices.Clone(w.Durations), slices.Clone(w.Wall)
	simulate.Scale(&out, factor)
	return &out
}

// cells is what was counted for one change.
type cells struct {
	change  float64
	methods []cell
}

// cell is one way to compare: how often step time is called, how often any measure
// is, and how often the interval of step time holds the change.
type cell struct{ called, any, held, of int }

func score(pairs []pair, change float64, peer string) (cells, error) {
	out := cells{change: change, methods: make([]cell, 3)}
	var samples peerSamples
	for _, p := range pairs {
		var sides [2][]*runs.Run
		var first [2][]*runs.Run
		for side := range p {
			factor := 1 + change*float64(side)
			var windows []*trace.Window
			for _, w := range p[side] {
				windows = append(windows, scaled(w, factor))
			}
			var err error
			if sides[side], err = measured(windows); err != nil {
				return out, err
			}
			if first[side], err = measured(windows[:1]); err != nil {
				return out, err
			}
			samples.add(side, windows, sides[side])
		}
		for m, ways := range []struct {
			sides    [2][]*runs.Run
			unpaired bool
		}{{sides, false}, {sides, true}, {first, true}} {
			c, err := runs.Compare(ways.sides[0], ways.sides[1], runs.Options{Unpaired: ways.unpaired, Seed: 1})
			if err != nil {
				return out, err
			}
			out.methods[m].count(c, change)
		}
		samples.next()
	}
	if peer != "" {
		theirs, err := samples.ask(peer)
		out.methods = append(out.methods, theirs...)
		return out, err
	}
	return out, nil
}

func measured(windows []*trace.Window) ([]*runs.Run, error) {
	set := runs.New(frontier.Options{})
	for _, w := range windows {
		if err := set.Add(w); err != nil {
			return nil, err
		}
	}
	return set.Runs(), nil
}

func (c *cell) count(of *runs.Comparison, change float64) {
	c.of++
	step := of.Step()
	if step.Verdict >= compare.Regression {
		c.called++
	}
	if step.Low <= change*step.Base && change*step.Base <= step.High {
		c.held++
	}
	for _, r := range of.Rows {
		if r.Verdict >= compare.Regression {
			c.any++
			break
		}
	}
}

// rate writes how often, with its exact 95 % bounds.
func rate(k, n int) string {
	if n == 0 {
		return "–"
	}
	r, err := bootstrap.Binomial(k, n, 0.95)
	if err != nil {
		return "–"
	}
	return fmt.Sprintf("%.1f %% (%.1f–%.1f)", 100*float64(k)/float64(n), 100*r.Lower, 100*r.Upper)
}

// page is what the template sees.
type page struct {
	N, Runs, Ranks, Steps int
	rows                  []cells
	weeks                 []week
}

var methodNames = []string{"pairs", "not paired", "one run each", "benchstat, steps", "benchstat, runs"}

// Called is a row for each change: how often step time is called.
func (p page) Called() string {
	return p.table(func(c cell) string { return rate(c.called, c.of) })
}

// Any is how often any measure is called, of the change 0 alone.
func (p page) Any() string {
	var parts []string
	for i, c := range p.rows[0].methods[:3] {
		parts = append(parts, fmt.Sprintf("%s %s", methodNames[i], rate(c.any, c.of)))
	}
	return strings.Join(parts, "; ")
}

// Held is a row for each change: how often the interval holds it.
func (p page) Held() string {
	return p.table(func(c cell) string {
		if c.held < 0 {
			return "–"
		}
		return rate(c.held, c.of)
	})
}

func (p page) table(of func(cell) string) string {
	var s strings.Builder
	s.WriteString("| change | " + strings.Join(methodNames[:len(p.rows[0].methods)], " | ") + " |\n|---:" + strings.Repeat("|---", len(p.rows[0].methods)) + "|\n")
	for _, r := range p.rows {
		fmt.Fprintf(&s, "| %g %% |", 100*r.change)
		for _, c := range r.methods {
			fmt.Fprintf(&s, " %s |", of(c))
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// week is simulated weeks with one change, or none.
type week struct {
	change, days float64 // days: spread that the runs of a day share
	near         int     // a change is found within a day of the true one
	other        int     // a change is found elsewhere, or where there is none
	held         int     // the interval holds the true run
	found, of    int
}

// weeks follows four weeks of two runs a day, whose step time changes before some
// day of the second or third week.
func weeks(n int) ([]week, error) {
	const days, each = 28, 2
	var out []week
	for _, w := range []week{{0, 0, 0, 0, 0, 0, n}, {0.01, 0, 0, 0, 0, 0, n}, {0.02, 0, 0, 0, 0, 0, n}, {0.05, 0, 0, 0, 0, 0, n}, {0, 0.003, 0, 0, 0, 0, n}, {0.02, 0.003, 0, 0, 0, 0, n}} {
		for i := range n {
			rng := rand.New(rand.NewPCG(2, uint64(i)))
			at := 7 + rng.IntN(14)
			var list []*runs.Run
			for d := range days {
				level := 218e6 * (1 + w.days*rng.NormFloat64())
				if d >= at {
					level *= 1 + w.change
				}
				for k := range each {
					list = append(list, &runs.Run{Name: fmt.Sprint(d, "-", k), Windows: 1, Steps: stepsEach, Begin: int64(1+d)*int64(24*time.Hour) + int64(k),
						Values: map[runs.Measure]float64{{Kind: runs.StepTime}: level * (1 + 0.006*rng.NormFloat64())}})
				}
			}
			t, err := runs.Follow(list, runs.TrendOptions{Seed: 1})
			if err != nil {
				return nil, err
			}
			w.count(t, at*each, each)
		}
		out = append(out, w)
	}
	return out, nil
}

func (w *week) count(t *runs.Trend, at, each int) {
	near, other := false, false
	for _, c := range t.Series[0].Changes {
		if w.change > 0 && math.Abs(float64(c.At-at)) <= float64(each) {
			near = true
			w.found++
			if c.Low <= at && at <= c.High {
				w.held++
			}
		} else {
			other = true
		}
	}
	if near {
		w.near++
	}
	if other {
		w.other++
	}
}

// Weeks is a row for each kind of weeks.
func (p page) Weeks() string {
	var s strings.Builder
	s.WriteString("| change | days differ by | found within ± 1 day | a change elsewhere | interval holds the run |\n|---:|---:|---|---|---|\n")
	for _, w := range p.weeks {
		near := "–"
		if w.change > 0 {
			near = rate(w.near, w.of)
		}
		fmt.Fprintf(&s, "| %g %% | %g %% | %s | %s | %s |\n", 100*w.change, 100*w.days, near, rate(w.other, w.of), rate(w.held, w.found))
	}
	return s.String()
}
