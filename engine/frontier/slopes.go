package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// slopeHistory counts the slopes of the windows of a series, stage by stage.
// Whether the interval of their median lies beyond the gate depends on how many
// slopes do, and on nothing else, so that windows too short to show by
// themselves where the ranks synchronise show it together.
type slopeHistory struct {
	stages []slopeCount // in recorded order, the residual last
	at     int          // where the windows before were cut; −1: nowhere
}

// slopeCount is how many slopes of a stage lie where.
type slopeCount struct{ n, above, below int }

// slopesKept bounds the counts: beyond it the past counts half, so that a job
// that changes is believed.
const slopesKept = 4096

func newSlopeHistory(w *trace.Window) slopeHistory {
	return slopeHistory{stages: make([]slopeCount, len(w.Schema.Stages)+1), at: -1}
}

// fits reports whether the history is of windows with the stages of w.
func (h *slopeHistory) fits(w *trace.Window) bool { return len(h.stages) == len(w.Schema.Stages)+1 }

// settle adds the slopes of a window, and marks the stages where the windows
// together show that the ranks synchronise, unless the window itself shows that they do
// not. The cut stays where it was as long as the ranks synchronise there. named, if not
// "", has settled it.
func (h *slopeHistory) settle(m *SyncPoint, g gates.Gates, named string) {
	together, any := make([]bool, len(m.Boundaries)), false
	for i := range m.Boundaries {
		b := &m.Boundaries[i]
		h.stages[i].add(b.slopes, g)
		together[i] = b.Within == "" && !b.excludesSync(g) && h.stages[i].syncs(g)
		any = any || together[i]
	}
	shown := m.Evidence == SyncShown
	for i := range m.Boundaries {
		if b := &m.Boundaries[i]; any {
			b.Syncs = together[i] || b.Syncs && (shown || named != "")
		}
	}
	if named != "" || !shown && !any {
		return
	}
	if !shown {
		m.Evidence, m.At = SyncShown, slices.Index(together, true)
	}
	if h.at >= 0 && h.at < len(together) && m.Boundaries[h.at].Syncs {
		m.At = h.at
	}
	m.Name, h.at = m.Boundaries[m.At].Name, m.At
}

func (c *slopeCount) add(slopes []float64, g gates.Gates) {
	for _, x := range slopes {
		c.n++
		if x > g.SyncPoint.Slope {
			c.above++
		}
		if x < 1/g.SyncPoint.Slope {
			c.below++
		}
	}
	if c.n > slopesKept {
		c.n, c.above, c.below = c.n/2, (c.above+1)/2, (c.below+1)/2
	}
}

// syncs is Boundary.Syncs by counts: the order-statistic interval of the
// median ends below the gate, and the median is above the gate's inverse.
func (c *slopeCount) syncs(g gates.Gates) bool {
	k, ok := robust.MedianRank(c.n, g.SyncPoint.Confidence)
	return ok && c.above <= k && 2*c.below <= c.n
}
