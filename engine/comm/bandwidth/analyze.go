package bandwidth

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/capacity"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Bound is what a call's time is made of.
type Bound uint8

const (
	BoundUnknown Bound = iota // neither the topology nor a benchmark says what the link allows
	ByLatency                 // at the full bandwidth most of the time would still be latency
	ByBandwidth
)

var boundNames = [...]string{"unknown", "latency", "bandwidth"}

func (b Bound) String() string { return enum.Name(boundNames[:], b) }

// Class is the size class of a message: the power of two that it reaches, so that 1 MiB and
// all below 2 MiB are class 20. 0 is what has at most one byte.
func Class(bytes int64) int { return bits.Len64(uint64(max(bytes, 1))) - 1 }

// leastClass is the smallest class of messages whose bandwidth is asked about:
// 16 KiB; smaller ones are latency.
const leastClass = 14

// Cell is the calls of one operation and one size class over one subject.
type Cell struct {
	Subject    int
	Op         nccl.Op
	Class      int
	Calls      []int          // indices of the calls that could be measured, in order
	Bytes      int64          // as logged, of one rank, over all calls
	Transfer   int64          // median, nanoseconds
	Wait       int64          // median of the calls' mean waits, nanoseconds
	Algorithm  float64        // median, GB/s
	Bus        float64        // median, GB/s
	Limit      capacity.Limit // what it is held against, at the mean size of its calls
	Efficiency float64        // Bus over what the limit allows; 0 where that is unknown
	Bound      Bound
	Slow       []int // calls that are slow against the others of the cell, surely
	// Of the comparison with cells of peers:
	Standing Standing
	Peers    int     // others that it was held against
	PeerBus  float64 // median of their medians, GB/s
	P        float64 // that it is not slower than most by the margin, corrected for all comparisons; 1 where Unmatched
}

// Latency is what the shortest calls of a subject take.
type Latency struct {
	Time     int64 // nanoseconds
	Measured bool  // on messages of at most smallMessage; else assumed
}

const (
	// smallMessage is the largest message whose time is taken for latency: at 25 GB/s, 64 KiB
	// take 2.6 µs, less than a launch.
	smallMessage = 64 << 10
	// assumedLatency is that of a subject without small messages: kernels of NCCL take 10 to 25 µs for 8
	// bytes on NVLink, PCI and networks of today.
	assumedLatency = 20_000
)

const (
	// alpha is the chance that anything at all is called slow in a job where nothing is:
	// half of it for subjects against their peers, half for calls against others of their cell.
	alpha = gates.Supported
	// tenth is the margin: by how much slower than its peers at least, surely, something is that is called slow.
	tenth = 0.1
)

// Result is what there is to say.
type Result struct {
	Measures  []Measure // of each call; Transfer is 0 where it could not be measured
	Latencies []Latency // of each subject
	Cells     []Cell    // by subject, operation and class
	Suspects  []Suspect // slow subjects, by the time that they cost
	// Unsettled are slower than their only peer: of two that differ nothing here says which is as it should be.
	Unsettled []Suspect
	Compared  int // comparisons of a cell with peers that could have told
}

// Analyze measures all calls and finds what is slow. Calls of a subject come in the order of time.
// O(calls · log calls + peers²), and the simulation of a threshold for each number of calls in a cell.
func Analyze(subjects []capacity.Subject, calls []Call, theory capacity.Theory) *Result {
	return analyze(subjects, calls, theory, tenth, simulations{})
}

func analyze(subjects []capacity.Subject, calls []Call, theory capacity.Theory, material float64, s simulations) *Result {
	r := &Result{Measures: make([]Measure, len(calls))}
	for i := range calls {
		if m, err := measure(&calls[i], theory.Convention); err == nil {
			r.Measures[i] = m
		}
	}
	r.Cells = cells(calls, r.Measures)
	r.Latencies = latencies(subjects, r.Cells)
	for i := range r.Cells {
		c := &r.Cells[i]
		w := capacity.Work{Op: c.Op, Algo: calls[c.Calls[0]].Algo, Bytes: c.Bytes / int64(len(c.Calls))}
		c.hold(theory.Limit(&subjects[c.Subject], w), r.Latencies[c.Subject])
	}
	r.slowCalls(material, s)
	r.slowSubjects(subjects, material)
	return r
}

// cells sorts calls into cells and summarises each.
func cells(calls []Call, measures []Measure) []Cell {
	var all ordered.List[[3]int, Cell]
	for i := range calls {
		c := &calls[i]
		if measures[i].Transfer == 0 || c.Bytes <= 0 {
			continue
		}
		key := [3]int{c.Subject, int(c.Op), Class(c.Bytes)}
		x, first := all.Of(key)
		if first {
			*x = Cell{Subject: c.Subject, Op: c.Op, Class: key[2], P: 1}
		}
		x.Calls = append(x.Calls, i)
		x.Bytes += c.Bytes
	}
	out := all.All
	for i := range out {
		out[i].summarise(measures)
	}
	slices.SortFunc(out, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Class, b.Class))
	})
	return out
}

func (c *Cell) summarise(measures []Measure) {
	var transfers, waits, algorithm, bus []float64
	for _, i := range c.Calls {
		m := &measures[i]
		transfers, waits = append(transfers, float64(m.Transfer)), append(waits, float64(m.Wait))
		algorithm, bus = append(algorithm, m.Algorithm), append(bus, m.Bus)
	}
	c.Transfer, c.Wait = int64(robust.Median(transfers)), int64(robust.Median(waits))
	c.Algorithm, c.Bus = robust.Median(algorithm), robust.Median(bus)
}

// latencies are the medians of each subject's smallest class, where that is small.
func latencies(subjects []capacity.Subject, all []Cell) []Latency {
	out := make([]Latency, len(subjects))
	class := slices.Repeat([]int{Class(smallMessage)}, len(subjects))
	for i := range out {
		out[i].Time = assumedLatency
	}
	for i := range all {
		c := &all[i]
		l := &out[c.Subject]
		switch {
		case c.Class < class[c.Subject]:
			class[c.Subject], *l = c.Class, Latency{c.Transfer, true}
		case c.Class == class[c.Subject] && l.Measured: // another operation
			l.Time = min(l.Time, c.Transfer)
		}
	}
	return out
}

// CarriesData reports whether the calls are long enough that their bandwidth says
// something of the links.
func (c *Cell) CarriesData() bool { return c.Class >= leastClass && c.Bound != ByLatency }

// hold holds a cell against its limit: bound by latency is what at full bandwidth would take less time than latency.
func (c *Cell) hold(h capacity.Held, l Latency) {
	c.Limit = h.Limit
	if h.Bus == 0 || c.Bus == 0 {
		return
	}
	c.Efficiency = c.Bus / h.Bus
	c.Bound = ByBandwidth
	if c.Bus/h.Full*float64(c.Transfer) < float64(l.Time) { // f·S / limit
		c.Bound = ByLatency
	}
}
