package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// explained gives each cell whose figures differ the reason, with the numbers of
// the windows that it counts. A cell without one is a difference that nobody has
// looked into.
func explained(cells []cell, s *Score) []cell {
	for i := range cells {
		if c := &cells[i]; c.Differs() {
			c.Reason = s.reason(c)
		}
	}
	return cells
}

func (s *Score) reason(c *cell) string {
	part := s.only(func(r *scoredRun) bool {
		return r.task != nil && slices.Contains(r.task.Tables, methodTable) && !r.withArrivals()
	})
	switch {
	case c.Artifact == "table-4" && len(part.Runs) > 0:
		return part.methodReason(c)
	case c.Artifact == "table-14":
		return strings.Join(s.standingFor(campaign.Published...).otherFirst([]Key{ByFamily, ByRanks, ByDelay}), " ")
	case c.Artifact == "table-15" && len(part.Runs) > 0:
		return fmt.Sprintf("The two largest shares together are %s here.", spanOf(part.Runs, func(w *scoredWindow) float64 { return twoOf(w.shares) }))
	case c.Artifact == "sharding":
		return s.standingFor("E8").shardingReason()
	case c.Artifact == "scale":
		return s.standingFor("Scale").scaleReason()
	case strings.HasPrefix(c.Artifact, "table-7"), c.Artifact == "table-6":
		return "Measured on other machines: a step there and here differ in length, and so does what a fixed cost is of it."
	}
	return ""
}

// methodTable is the number of the table of methods.
const methodTable = 4

// methodReason is about Table 4, whose differences are of the five simpler
// methods.
func (s *Score) methodReason(c *cell) string {
	names, _ := s.methods()
	k := slices.Index(names, c.Row) - 1
	if k < 0 {
		return strings.Join(s.widerSets(), " ")
	}
	at := func(w *scoredWindow) routing { return w.Methods[k] }
	switch {
	case c.Column == "mean candidates" || c.Column == "max":
		return fmt.Sprintf("The two largest stages of this method have %s of its sum here; they reach τ = %s in %s rows, where a set has two. "+
			"Where the paper's sets have three, the other stages have more of the sum: their maxima and means grow with what ranks differ by in them, and the jitter of the simulator is that of one recorded job.",
			spanOf(s.Runs, func(w *scoredWindow) float64 { return w.divided[k].two }), fixed(s.Tau), s.reached(k))
	case c.Row == "spread":
		device := s.ofFamily(simulate.ForwardDevice)
		second := 0
		faulty(device, func(w *scoredWindow) { count(&second, at(w).Place == 2) })
		return fmt.Sprintf("The paper misses ten rows. In the ten of forward_device no spread shows the fault, since the host of the delayed rank is as fast as the others; "+
			"its place is that of the jitter of forward, second here in %s of them. Third is as likely on another job.", table.OutOf(second, len(device)))
	case c.Row == "slowest_rank":
		return fmt.Sprintf("Ranks leave the all-reduce together, so noise after it decides which of them is slowest in a step. Mostly it is one that waited, whose breakdown shows the wait: "+
			"missed here are %s. The paper's slowest rank is the hidden one more often.", s.missedBy(at))
	case c.Row == "stage_max" && c.Column == "top-1":
		return fmt.Sprintf("First here only where the fault is in backward. Elsewhere those that wait spend longer in backward than the delayed rank in its stage: "+
			"the maxima differ by %s of their sum. In two of the paper's rows they do not, so backward is shorter there.", spanOf(s.outsideBackward(), func(w *scoredWindow) float64 { return w.divided[k].behind }))
	}
	return fmt.Sprintf("Missed here are %s.", s.missedBy(at))
}

// reached is in how many rows the two largest of a method reach τ.
func (s *Score) reached(k int) string {
	above, all := 0, 0
	faulty(s.Runs, func(w *scoredWindow) {
		all++
		count(&above, w.divided[k].two >= s.Tau)
	})
	return table.OutOf(above, all)
}

func (s *Score) ofFamily(f simulate.Family) []*scoredRun {
	return s.only(func(r *scoredRun) bool { return r.Family == f }).Runs
}

func (s *Score) outsideBackward() []*scoredRun {
	return s.only(func(r *scoredRun) bool { return r.Family != simulate.Backward && r.Family != simulate.BackwardComm }).Runs
}

// missedBy are the rows whose stage a method does not have among its
// candidates, by family.
func (s *Score) missedBy(at func(*scoredWindow) routing) string {
	var out []string
	for _, g := range s.grouped([]Key{ByFamily}) {
		n, all := 0, 0
		faulty(g.runs, func(w *scoredWindow) {
			all++
			count(&n, !at(w).Hit)
		})
		if n > 0 {
			out = append(out, fmt.Sprintf("%s of %s", table.OutOf(n, all), g.value(ByFamily)))
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

// shardingReason is about the callbacks of E8.
func (s *Score) shardingReason() string {
	own, other := rivals(s.ofFamily(simulate.CallbackSync))
	return fmt.Sprintf("The callback of 180 ms has %v of the makespan here, the largest other stage %v. In three of the paper's rows, ZeRO-1 at 32 ranks, another stage is longer, "+
		"as its backward is beside callbacks of 120 ms (Table 14).", own, other)
}

// scaleReason is about data of 120 ms at 128 ranks.
func (s *Score) scaleReason() string {
	var own, step mean
	two := 0.0
	for _, g := range s.grouped([]Key{ByFamily, ByRanks, ByDelay}) {
		if g.like.Family != simulate.Data || g.like.Ranks != 128 || g.like.Delay != 120 {
			continue
		}
		faulty(g.runs, func(w *scoredWindow) {
			own.add(w.Share)
			ms := w.pace.median / 1e6
			step.add(&ms)
		})
		two = twoLargest(g.runs)
	}
	return fmt.Sprintf("A delayed step takes %v ms here, of which data has %v, and with backward %s. The step of the simulated job grows from 8 to 32 ranks as the paper's (delay ÷ p50 0.58 and 0.51) "+
		"and on at the same rate; what the paper's is at 128 ranks is lost in the text, and a longer one makes the share smaller.", &step, &own, fixed(two))
}

// rivals are the means, over the windows with a fault, of the seeded share and of the
// largest of a stage that hides nothing.
func rivals(runs []*scoredRun) (own, other *mean) {
	own, other = new(mean), new(mean)
	faulty(runs, func(w *scoredWindow) {
		own.add(w.Share)
		rival := 0.0
		for i, share := range w.shares {
			if !w.seeded[i] {
				rival = max(rival, share)
			}
		}
		other.add(&rival)
	})
	return own, other
}

// twoOf is the sum of the two largest.
func twoOf(shares []float64) float64 {
	d := descending(shares)
	if len(d) > 2 {
		d = d[:2]
	}
	sum := 0.0
	for _, x := range d {
		sum += x
	}
	return sum
}

// spanOf is the range of a value over the windows with a fault.
func spanOf(runs []*scoredRun, value func(*scoredWindow) float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	faulty(runs, func(w *scoredWindow) { low, high = min(low, value(w)), max(high, value(w)) })
	if low > high {
		return none
	}
	return fixed(low) + " to " + fixed(high)
}
