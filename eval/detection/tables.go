package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/eval/internal/pages"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// is is a condition on trials.
type is func(*trial) bool

func healthy(t *trial) bool { return t.fault == nil }
func faulty(t *trial) bool  { return t.fault != nil }

func ofKind(k pipeline.Kind) is { return func(t *trial) bool { return faulty(t) && t.fault.Kind == k } }
func inBand(at int) is          { return func(t *trial) bool { return t.band == at } }

// manyReplicas: with two nobody can say which is unusual.
func manyReplicas(t *trial) bool { return t.grid.dp > 2 }
func twoReplicas(t *trial) bool  { return !manyReplicas(t) }

func fires(m method) is   { return func(t *trial) bool { return t.answers[m].fires } }
func right(m method) is   { return func(t *trial) bool { return t.answers[m].right } }
func opRight(m method) is { return func(t *trial) bool { return t.answers[m].op } }
func accuses(t *trial) bool {
	return t.wrong
}

// costing keeps faults by the part of a step that they cost.
func costing(from, to float64) is {
	return func(t *trial) bool { return faulty(t) && t.exposed >= from && t.exposed < to }
}

// trials are some of those that were run.
type trials []*trial

func (ts trials) that(conditions ...is) trials {
	var out trials
	for _, t := range ts {
		if !slices.ContainsFunc(conditions, func(c is) bool { return !c(t) }) {
			out = append(out, t)
		}
	}
	return out
}

func (ts trials) count(c is) int { return len(ts.that(c)) }

// share is the part for which a condition holds, or a dash.
func (ts trials) share(c is) string {
	if len(ts) == 0 {
		return none
	}
	return fmt.Sprintf("%.2f", float64(ts.count(c))/float64(len(ts)))
}

// shareOf is the share with the number that it is of.
func (ts trials) shareOf(c is) string {
	if len(ts) == 0 {
		return none
	}
	return fmt.Sprintf("%s (%d)", ts.share(c), len(ts))
}

// of is "k of n".
func (ts trials) of(c is) string { return fmt.Sprintf("%d of %d", ts.count(c), len(ts)) }

// rate is the part for which a condition holds, in per cent, with its exact
// bounds at 95 %.
func (ts trials) rate(c is) string {
	r, err := bootstrap.Binomial(ts.count(c), len(ts), 0.95)
	if err != nil { // of no trials
		return none
	}
	return fmt.Sprintf("%s = %.1f %% [%.1f, %.1f]", ts.of(c), 100*float64(r.K)/float64(r.N), 100*r.Lower, 100*r.Upper)
}

// none stands where there is no figure.
const none = "–"

// table lays out Markdown.
func table(head []string, rows [][]string) string {
	return strings.TrimSuffix(pages.Table(append([][]string{head}, rows...)...), "\n")
}

// byKind is a table with a row for each kind of fault. Where nothing is in a
// row, it is left out.
func byKind(ts trials, head []string, cells func(of trials) []string) string {
	var rows [][]string
	for _, k := range kinds {
		if of := ts.that(ofKind(k)); len(of) > 0 {
			rows = append(rows, append([]string{k.String()}, cells(of)...))
		}
	}
	return table(append([]string{"fault"}, head...), rows)
}

// byWorkers is how often a method is right, by kind and number of workers.
func byWorkers(ts trials, m method) string {
	head := []string{"two replicas"}
	for _, b := range bands {
		head = append(head, "N = "+b.name)
	}
	return byKind(ts, append(head, "precision", "operator right"), func(of trials) []string {
		row := []string{of.that(twoReplicas).shareOf(right(m))}
		for at := range bands {
			row = append(row, of.that(manyReplicas, inBand(at)).shareOf(right(m)))
		}
		return append(row, of.that(fires(m)).share(right(m)), of.that(right(m)).share(opRight(m)))
	})
}

// distinctSizes are the sizes of all kinds, ascending.
func distinctSizes() []pipeline.Size {
	var all []pipeline.Size
	for _, k := range kinds {
		all = append(all, sizes[k]...)
	}
	slices.SortFunc(all, compareSizes)
	return slices.Compact(all)
}

// bySize is how often the methods are right, by kind and size as simulated.
func bySize(ts trials) string {
	var rows [][]string
	for _, size := range distinctSizes() {
		row := []string{sizeName(size)}
		for _, k := range kinds {
			of := ts.that(ofKind(k), func(t *trial) bool { return t.size == size })
			cell := ""
			if len(of) > 0 {
				cell = of.share(right(plain)) + " / " + of.share(right(pooled)) + " / " + of.share(right(named))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	head := []string{"size"}
	for _, k := range kinds {
		head = append(head, k.String())
	}
	return table(head, rows)
}

// costs are the classes of the part of a step that a fault costs.
var costs = []struct {
	name     string
	from, to float64
}{{"under 0.3 %", -1, 0.003}, {"0.3 to 1 %", 0.003, 0.01}, {"1 to 3 %", 0.01, large}, {"3 to 10 %", large, gate}, {"10 to 20 %", gate, 0.2}, {"20 % and more", 0.2, 2}}

// byCost is how often a verdict is right, by kind and cost.
func byCost(ts trials) string {
	var head []string
	for _, c := range costs {
		head = append(head, c.name)
	}
	return byKind(ts, head, func(of trials) (row []string) {
		for _, c := range costs {
			some := of.that(costing(c.from, c.to))
			cell := ""
			if len(some) > 0 {
				cell = fmt.Sprintf("%s / %s (%d)", some.share(right(named)), some.share(right(called)), len(some))
			}
			row = append(row, cell)
		}
		return row
	})
}
