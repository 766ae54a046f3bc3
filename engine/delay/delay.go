// Package delay answers who makes the steps of a job longer, in which part of them, by how
// much and how surely, and what fixing it would save. For step t, rank r and stage s, the
// work that a rank does itself is taken as
//
//	work[t, r, s] = common[t, s] + excess[t, r, s] + noise
//
// common is what all ranks share: a level, a change of it (a regression), slow steps, the
// start-up, the transfer of a collective. excess is a sum of terms, each of ranks, of a stage or
// several, of all steps or some. noise is what is left; it sets how small a delay would have been
// found.
//
//  1. Package points finds where ranks wait for each other and divides the steps there.
//  2. The first steps are set apart where they are far longer than those that follow.
//  3. Terms are peeled off: of ranks and pieces of work by falling charge (excess over the
//     median of the peers, capped by how far the rank leads its peers), the first that is not
//     chance. What is not certain is passed over.
//  4. Each is priced by replay: the last arrival at each point, with the term taken out alone, and
//     with all others taken out before it.
//  5. What all ranks share is searched for changes and slow steps.
//  6. For every stage the limit is computed: the delay that would have been found in what is left.
//
// The null of a rank's term is that ranks (of one role) are exchangeable within blocks of
// steps; see [claim.Claim.P]. The correlation of noise in time is measured, not assumed. What
// cannot be told: a single stretch of the run from a burst of noise as long, and what a rank does
// itself in a stage in which it waits.
//
// All durations are whole nanoseconds. Nothing is drawn but by engine/changepoint, whose seed is
// fixed. Time is O(steps · ranks · stages) and for every term found as much again; memory is 40
// bytes for each duration.
package delay

import (
	"cmp"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
)

// Run is what is known of a job.
type Run struct {
	points.Steps
	// Peers is the set of ranks that each rank is compared with, [rank], from 0 on; nil:
	// all ranks are peers.
	Peers []int
	// Hosts is the host of each rank, [rank]; −1: not known. nil: none is known.
	Hosts []int
}

// Options of an analysis. The zero value is usable.
type Options struct {
	// MinGain is the part of the run from which on a delay is large enough to act on; 0: 0.10.
	MinGain float64
	// Level is the chance at which a term is Supported, Strong that at which it is Strong; 0: those of
	// package gates.
	Level, Strong float64
	Points        points.Gates
	Limits        Limited
	Once          bool // stretches are joined once: [Join] uses them up, which halves the memory of a long run
}

// Limited is which limits are asked for. Those of all stages take half of the time.
type Limited uint8

const (
	AllLimits  Limited = iota
	SeenLimits         // whether each stage shows a delay worth acting on, by one rank of it
	NoLimits
)

func (o Options) fillDefaults() Options {
	o.MinGain, o.Level, o.Strong = cmp.Or(o.MinGain, 0.10), cmp.Or(o.Level, gates.Supported), cmp.Or(o.Strong, gates.Strong)
	return o
}

// Describe describes which steps were struck.
func Describe(struck []bool) claim.Struck {
	out := claim.Struck{Of: len(struck), First: -1, Last: -1, Pattern: claim.Irregular}
	for t, hit := range struck {
		if !hit {
			continue
		}
		if out.First < 0 {
			out.First = t
		}
		if out.Last < 0 || t > out.Last+1 {
			out.Incidents++
		}
		out.Count, out.Last, out.List = out.Count+1, t, append(out.List, t)
	}
	out.Ongoing = out.Last >= 0 && out.Last == len(struck)-1
	_, _, together := stretch(struck)
	switch period := periodOf(struck); {
	case float64(out.Count) >= mostStruck*float64(out.Of):
		out.Pattern = claim.Constant
	case together:
		out.Pattern = claim.Span
	case period > 0:
		out.Pattern, out.Period = claim.Periodic, period
	}
	if out.Pattern != claim.Irregular {
		out.List = nil
	}
	return out
}

// Limit is how large a delay of one rank must be, in every step, to be found in a stage; or
// how large one may be hidden there.
type Limit struct {
	Stage    int
	Reported int64 // ns a step; 0: none is found, or the ranks synchronise in the stage
	MayHide  int64 // ns a step; 0: nothing hides there
	Rounded  int64 // ns a step that rounding of times hides; 0: less than MinGain of it
	Known    bool  // the stage was looked at
	// Seen: a delay by little more than what saves MinGain is found. Reported may be far larger: then it is not.
	Seen bool
}

// Alone is how the only rank spends its steps.
type Alone struct {
	StartUp int       // steps at the start that are far longer than all others, and left out
	First   int64     // length of the first of them, ns
	Mean    []int64   // [stage] ns
	Took    []float64 // [step] ns
}

// Result of an analysis.
type Result struct {
	Stages  []points.Stage // those of the steps; what no stage covers is the last, where wall time was recorded
	Points  []points.Point // where ranks synchronise
	Errors  []points.Error // values that are none
	Every   int            // period of the synchronisation, steps; 1: every step
	Rounded []int64        // [stage] the delay in every step that rounding of times may hide, ns; nil: they are not rounded
	Within  bool           // ranks synchronise in sets only, and are compared with those of their own
	Claims  []claim.Claim  // the largest saving first
	Steps   int            // that were looked at
	StartUp int            // steps at the start that were set apart
	Step    int64          // median length, ns
	Whole   int64          // length of the run without the start-up, ns
	Typical []int64        // [stage] what all ranks take at least half of the time, in the middle step, ns
	Spent   []int64        // [stage · ranks + rank] what ranks spend in stages in all, own work and waits, ns; nil: not known
	// Alone is what the steps of the only rank take on average; nil where there are several.
	Alone *Alone
	Lost  Lost // what is left beside the claims
	// Joint is the part of the run that goes when every rank that is late for certain is
	// fixed.
	Joint  float64
	Limits []Limit // in the order of the step
	Latest Latest  // who arrives last most often, not tested where sets of ranks are compared apart
	// Skew is the last arrival at a synchronisation point less the median one, median over arrivals, ns; 0 where
	// ranks run freely.
	Skew int64
}
