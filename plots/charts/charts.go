// Package charts draws a job's communication: what was called how often and with how many bytes, how fast it went, on which
// communicators, and when. Bytes are as the log counts them; GB are 10⁹ of them. Values are read from a result and counted, nothing is
// estimated.
package charts

import (
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/plots"
)

// Chart is a figure to be.
type Chart struct {
	Name string // of its file
	Of   interface {
		Draw(plots.Width) (*plots.Figure, error)
	}
}

// All are the figures of a job. One of which there is nothing to draw, as of bandwidth without times, says so when it is
// drawn ([plots.ErrNothing]).
func All(r *comm.Result) []Chart {
	w := countTraffic(r)
	return []Chart{{"operations", w.operations()}, {"volumes", w.volumes()}, {"ranks", w.ranks()}, {"sizes", w.sizes()},
		{"bandwidth", bandwidthChart(r)}, {"communicators", communicatorMap(r)}, {"timeline", timeline(r)}}
}
