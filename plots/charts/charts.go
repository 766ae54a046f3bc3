// Package charts draws what engines found: a job's communication, a window, arrivals. Values are read from a
// result and counted, nothing is estimated. Bytes are as the log counts them; GB are 10⁹ of them.
package charts

import (
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/plots"
)

// Communication returns the figures of a job: what was called how often and with how many bytes, how fast it went, on
// which communicators, and when. One of which there is nothing to draw, as of bandwidth without times, says so when it is
// drawn ([plots.ErrNothing]).
func Communication(r *comm.Result) []plots.Named {
	w := countTraffic(r)
	return []plots.Named{
		{Name: "operations", Of: w.bars(plots.Axis{Name: "calls, all ranks"}, w.calls)},
		{Name: "volumes", Of: w.bars(plots.Axis{Name: "volume as logged, all ranks", Unit: "GB"}, w.bytes)},
		{Name: "ranks", Of: w.ranks()}, {Name: "sizes", Of: w.sizes()},
		{Name: "bandwidth", Of: bandwidthChart(r)}, {Name: "communicators", Of: communicatorMap(r)}, {Name: "timeline", Of: timeline(r)},
	}
}
