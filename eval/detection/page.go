package main

import (
	_ "embed"
	"fmt"

	"github.com/sfstat/sfstat/engine/frontier/gates"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// pageText is the page without its figures.
//
//go:embed page.md.tmpl
var pageText string

// gate is the part of a step from which on a verdict calls a suspect, and large
// the part from which on not to name it is a fault of ours.
var gate = gates.Default().StaticGain

const large = 0.03

// page is what the template sees.
type page struct {
	Traces int
	Seed   uint64
	trials trials
}

// Healthy is the number of traces in which no fault struck.
func (p page) Healthy() int { return p.trials.count(healthy) }

// Gate and Large are the limits in words.
func (p page) Gate() string  { return percent(gate) }
func (p page) Large() string { return percent(large) }

func percent(x float64) string { return fmt.Sprintf("%g %%", 100*x) }

// Methods compares the methods.
func (p page) Methods() string {
	var rows [][]string
	for m := range methods {
		bad := p.trials.that(faulty)
		rows = append(rows, []string{methodNames[m], p.trials.that(healthy).rate(fires(m)), bad.share(right(m)),
			bad.that(costing(large, 2), manyReplicas).share(right(m)), bad.that(costing(gate, 2), manyReplicas).share(right(m)),
			bad.that(fires(m)).share(right(m)), bad.that(right(m)).share(opRight(m))})
	}
	return table([]string{"method", "alarms without a fault", "recall", "cost ≥ " + percent(large), "cost ≥ " + percent(gate), "precision", "operator right"}, rows)
}

// Innocent counts traces in which the verdict calls what is not the culprit,
// first or not.
func (p page) Innocent() string {
	return fmt.Sprintf("%s without a fault and %s with one", p.trials.that(healthy).rate(accuses), p.trials.that(faulty).rate(accuses))
}

// Alarms are the false alarms by number of workers and by how much their
// speeds differ.
func (p page) Alarms() string {
	head := []string{"method"}
	var columns []is
	for at, b := range bands {
		head, columns = append(head, "N = "+b.name), append(columns, inBand(at))
	}
	for i, sd := range speeds {
		if i == 0 || sd != speeds[i-1] {
			head, columns = append(head, "speeds ± "+percent(sd)), append(columns, func(t *trial) bool { return t.speeds == sd })
		}
	}
	var rows [][]string
	for m := range methods {
		row := []string{methodNames[m]}
		for _, c := range columns {
			row = append(row, p.trials.that(healthy, c).of(fires(m)))
		}
		rows = append(rows, row)
	}
	return table(head, rows)
}

// What follows are the tables of recall.

func (p page) Named() string      { return byWorkers(p.trials, named) }
func (p page) NamedLarge() string { return byWorkers(p.trials.that(costing(large, 2)), named) }
func (p page) Called() string     { return byWorkers(p.trials.that(costing(gate, 2)), called) }
func (p page) Pooled() string     { return byWorkers(p.trials.that(seen), pooled) }
func (p page) Plain() string      { return byWorkers(p.trials.that(seen), plain) }
func (p page) Sizes() string      { return bySize(p.trials) }
func (p page) Costs() string      { return byCost(p.trials) }

// seen are the faults that a method of operators can name.
func seen(t *trial) bool {
	return faulty(t) && (t.fault.Kind == pipeline.SlowWorker || t.fault.Kind == pipeline.SlowOp || t.fault.Kind == pipeline.SlowEdge)
}
