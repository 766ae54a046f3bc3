// Package changes says what two recordings of a job's communication differ in: how often each operation is
// called, how much it moves in calls of which size, which algorithm and protocol NCCL chose, how fast data
// moved, and which communicators are on one side alone. An update of software that makes a job communicate
// otherwise shows here (NCCL Trace Profiler, section 6.2).
//
// Counts are exact, and are compared as such. Bandwidths are medians over the measured calls of one recording
// each; by how much they differ between two healthy runs is not in two recordings, so no change is called
// significant.
package changes

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Use is what communicators of one kind and size are used for.
type Use struct {
	Kind   parallel.Kind // what the communicators are for: data, tensor, pipeline, expert or context parallelism
	NRanks int           // ranks of each of them; 0: calls on no known communicator
	Op     nccl.Op       // operation
}

// Amount is how much one side does of it.
type Amount struct {
	Calls     float64  // calls over all ranks, of a step where PerStep, else of the recording
	Bytes     float64  // bytes as logged, likewise
	Size      float64  // median of a call's bytes
	Choices   []Choice // algorithms and protocols that NCCL's tuning lines name, most calls first
	Bandwidth float64  // median bus bandwidth of the measured calls, GB/s; 0: none was measured
	Measured  int      // calls that it is of
}

// Choice is how NCCL ran calls.
type Choice struct {
	Algorithm string // NCCL's name
	Protocol  string // NCCL's name
	Calls     int    // calls of the recording whose tuning line says so
}

// Change is a use on both sides; one that a side lacks has no calls there.
type Change struct {
	Use
	Base   Amount // of the base
	New    Amount // of the other side
	Differ bool   // counts, bytes, sizes or the usual algorithm and protocol are others; bandwidth, which is never equal, does not count
}

// Group is a communicator that only one side has.
type Group struct {
	Kind  parallel.Kind // what it is for
	Ranks []int         // ranks of the job that were seen in it
	Size  int           // ranks that are in it
}

// Result is what two recordings differ in.
type Result struct {
	PerStep bool     // both recordings have steps, and calls and bytes are those of a step; else of the whole recording
	Ranks   [2]int   // processes of the base and of the other side
	Changes []Change // each operation on communicators of each kind and size: what differs first, then by bytes
	Gone    []Group  // communicators of the base that the other side has not, by their ranks
	New     []Group  // the reverse
}

// CountDiffering counts the uses that differ.
func (r *Result) CountDiffering() (n int) {
	for i := range r.Changes {
		if r.Changes[i].Differ {
			n++
		}
	}
	return n
}

// Compare compares two recordings. O(calls · log calls).
func Compare(base, now *comm.Result) *Result {
	places := [2]*comm.Steps{comm.StepsOf(base), comm.StepsOf(now)}
	out := &Result{PerStep: countSteps(places[0]) > 0 && countSteps(places[1]) > 0, Ranks: [2]int{len(base.Ranks), len(now.Ranks)}, Changes: []Change{}}
	var sides [2]side
	for i, r := range [2]*comm.Result{base, now} {
		if !out.PerStep {
			places[i] = nil
		}
		sides[i] = tally(r, places[i])
	}
	var uses []Use
	for _, s := range sides {
		for u := range s {
			uses = append(uses, u)
		}
	}
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.NRanks, a.NRanks), cmp.Compare(a.Op, b.Op))
	})
	for _, u := range slices.Compact(uses) {
		c := Change{Use: u, Base: sides[0].amount(u), New: sides[1].amount(u)}
		c.Differ = differ(&c.Base, &c.New)
		out.Changes = append(out.Changes, c)
	}
	slices.SortStableFunc(out.Changes, func(a, b Change) int {
		if a.Differ != b.Differ {
			return map[bool]int{true: -1, false: 1}[a.Differ]
		}
		return cmp.Compare(max(b.Base.Bytes, b.New.Bytes), max(a.Base.Bytes, a.New.Bytes))
	})
	out.Gone, out.New = missingGroups(base, now), missingGroups(now, base)
	return out
}

// slight is a difference of counts that is none: what is divided by a number of steps is not exact.
const slight = 1e-9

func differ(a, b *Amount) bool {
	other := func(x, y float64) bool { return math.Abs(x-y) > slight*max(x, y) }
	if other(a.Calls, b.Calls) || other(a.Bytes, b.Bytes) || other(a.Size, b.Size) {
		return true
	}
	return len(a.Choices) > 0 && len(b.Choices) > 0 && (a.Choices[0].Algorithm != b.Choices[0].Algorithm || a.Choices[0].Protocol != b.Choices[0].Protocol)
}

// sideUse is what one side does of a use.
type sideUse struct {
	calls, bytes float64 // of a step, where the steps of both are known
	sizes, bus   []float64
	choices      map[Choice]int
}

// side is one recording.
type side map[Use]*sideUse

func (s side) use(u Use) *sideUse {
	if s[u] == nil {
		s[u] = &sideUse{choices: map[Choice]int{}}
	}
	return s[u]
}

// countSteps returns how many steps every rank has.
func countSteps(s *comm.Steps) (n int) {
	for _, all := range s.Whole {
		if all {
			n++
		}
	}
	return n
}

// tally adds up what a recording does, of its steps that every rank has; nil: of all of it.
func tally(r *comm.Result, steps *comm.Steps) side {
	s := side{}
	for i := range r.Ranks {
		for _, c := range r.Ranks[i].Calls {
			call := &r.Calls[c]
			x := s.use(useOf(r, c))
			bytes := float64(max(call.Bytes, 0))
			if steps == nil || steps.Places[c].Era == comm.InStep && steps.Whole[steps.Places[c].Step] {
				x.calls, x.bytes = x.calls+1, x.bytes+bytes
			}
			x.sizes = append(x.sizes, bytes)
			if t := call.Tuning; t != nil {
				x.choices[Choice{Algorithm: t.Algo.String(), Protocol: t.Protocol.String()}]++
			}
		}
	}
	for c := range r.CollectivesAndMessages() {
		if c.Transfer > 0 {
			u := s.use(measuredUse(r, c))
			u.bus = append(u.bus, c.Bus)
		}
	}
	if steps != nil {
		for _, x := range s {
			x.calls, x.bytes = x.calls/float64(countSteps(steps)), x.bytes/float64(countSteps(steps))
		}
	}
	return s
}

func useOf(r *comm.Result, call int) Use {
	u := Use{Op: r.Calls[call].Op}
	if g, ok := r.CommunicatorOf(call); ok {
		u.Kind, u.NRanks = r.Communicators[g].Kind, r.Communicators[g].NRanks
	}
	return u
}

// measuredUse returns the use that a measured call is of. A message is of the operation of its lower rank.
func measuredUse(r *comm.Result, c *comm.Collective) Use {
	of := &r.Communicators[c.Communicator]
	if c.Message && c.Op == nccl.SendRecv {
		return Use{of.Kind, of.NRanks, nccl.Send}
	}
	return Use{of.Kind, of.NRanks, c.Op}
}

func (s side) amount(u Use) (a Amount) {
	x := s[u]
	if x == nil {
		return Amount{Choices: []Choice{}}
	}
	a = Amount{Calls: x.calls, Bytes: x.bytes, Size: robust.Median(x.sizes), Choices: []Choice{}, Measured: len(x.bus)}
	if len(x.bus) > 0 {
		a.Bandwidth = robust.Median(x.bus)
	}
	for c, n := range x.choices {
		c.Calls = n
		a.Choices = append(a.Choices, c)
	}
	slices.SortFunc(a.Choices, func(p, q Choice) int {
		return cmp.Or(cmp.Compare(q.Calls, p.Calls), cmp.Compare(p.Algorithm, q.Algorithm), cmp.Compare(p.Protocol, q.Protocol))
	})
	return a
}

// missingGroups returns the communicators of one side that the other has not. Their identifiers are others in every run:
// two are one by their ranks, each as often as it is there.
func missingGroups(one, other *comm.Result) []Group {
	key := func(c *parallel.Communicator) string { return fmt.Sprint(c.NRanks, c.Ranks) }
	there := map[string]int{}
	for i := range other.Communicators {
		there[key(&other.Communicators[i])]++
	}
	out := []Group{}
	for i := range one.Communicators {
		c := &one.Communicators[i]
		if k := key(c); there[k] > 0 {
			there[k]--
			continue
		}
		out = append(out, Group{c.Kind, append([]int{}, c.Ranks...), c.NRanks})
	}
	slices.SortStableFunc(out, func(a, b Group) int { return slices.Compare(a.Ranks, b.Ranks) })
	return out
}
