package comm

import (
	"cmp"
	"math/bits"
	"slices"

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

// Names returns the names of all values.
func (Bound) Names() []string { return boundNames[:] }

// Class returns the size class of a message: the power of two that it reaches, so that 1 MiB and
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
	Calls      []*Collective // those that could be measured, in order
	Bytes      int64         // as logged, of one rank, over all calls
	Transfer   int64         // from the last start to the last end, the median
	Wait       int64         // mean wait of a rank, the median
	Algorithm  float64       // size over transfer, 10⁹ bytes a second; median
	Bus        float64       // the same times the factor of nccl-tests: what each link of a ring carries
	Limit      Limit         // what it is held against, at the mean size of its calls
	Efficiency float64       // Bus over that of Limit. Where NCCL drives several paths at once it may exceed 1
	Bound      Bound         // what most of the time is; latency where at the limit the transfer would take less than the latency
	// Of the comparison with cells of peers:
	Standing Standing // how it compares with peers: those that do the same over the same kind of link
	Peers    int      // others that it was compared with
	PeerBus  float64  // median of the others' Bus; 0 without others
	// P is that it is not slower than most by the margin; 1 where Unmatched.
	P float64 // chance of so low a bandwidth where all are alike, corrected for all comparisons; 0 without others
}

// latency is what the shortest calls of a subject take.
type latency struct {
	time     int64 // nanoseconds
	measured bool  // on messages of at most smallMessage; else assumed
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
	// alpha is the chance that any subject is called slow in a job where none is.
	alpha = gates.Supported / 2
	// tenth is the margin: by how much slower than its peers at least, surely, something is that is called slow.
	tenth = 0.1
)

// SpeedOf measures all calls, in which it leaves the measures, and finds what is slow. Those of a subject come in the order of time.
// O(calls · log calls + peers²).
func SpeedOf(subjects []Subject, calls []*Collective, theory Theory) Speed {
	s := Speed{Theory: theory, Subjects: subjects, material: tenth}
	s.compare(calls)
	return s
}

func (s *Speed) compare(calls []*Collective) {
	for _, c := range calls {
		c.Measure = c.measureSpeed(s.Theory.Convention)
	}
	s.Cells = cells(calls)
	s.latencies = latencies(len(s.Subjects), s.Cells)
	for i := range s.Cells {
		c := &s.Cells[i]
		mean := Collective{Op: c.Op, Tuning: c.Calls[0].Tuning, Bytes: c.Bytes / int64(len(c.Calls))}
		c.hold(s.Theory.Limit(&s.Subjects[c.Subject], &mean), s.latencies[c.Subject])
	}
	s.slowSubjects()
}

// cells sorts calls into cells and summarises each.
func cells(calls []*Collective) []Cell {
	var all ordered.List[[3]int, Cell]
	for _, c := range calls {
		if c.Transfer == 0 || c.Bytes <= 0 {
			continue
		}
		key := [3]int{c.Subject, int(c.Op), Class(c.Bytes)}
		x, first := all.Of(key)
		if first {
			*x = Cell{Subject: c.Subject, Op: c.Op, Class: key[2], P: 1}
		}
		x.Calls = append(x.Calls, c)
		x.Bytes += c.Bytes
	}
	out := all.All
	for i := range out {
		c := &out[i]
		c.Transfer = int64(c.median(func(m *Measure) float64 { return float64(m.Transfer) }))
		c.Wait = int64(c.median(func(m *Measure) float64 { return float64(m.Wait) }))
		c.Algorithm, c.Bus = c.median(func(m *Measure) float64 { return m.Algorithm }), c.median(bus)
	}
	slices.SortFunc(out, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Class, b.Class))
	})
	return out
}

func bus(m *Measure) float64 { return m.Bus }

// median returns the median of its calls.
func (c *Cell) median(of func(*Measure) float64) float64 { return robust.Median(measures(c.Calls, of)) }

func measures(calls []*Collective, of func(*Measure) float64) (list []float64) {
	for _, c := range calls {
		list = append(list, of(&c.Measure))
	}
	return list
}

// latencies returns the medians of each subject's smallest class, where that is small.
func latencies(subjects int, all []Cell) []latency {
	out := make([]latency, subjects)
	class := slices.Repeat([]int{Class(smallMessage)}, subjects)
	for i := range out {
		out[i].time = assumedLatency
	}
	for i := range all {
		c := &all[i]
		l := &out[c.Subject]
		switch {
		case c.Class < class[c.Subject]:
			class[c.Subject], *l = c.Class, latency{c.Transfer, true}
		case c.Class == class[c.Subject] && l.measured: // another operation
			l.time = min(l.time, c.Transfer)
		}
	}
	return out
}

// CarriesData reports whether the calls are long enough that their bandwidth says
// something of the links.
func (c *Cell) CarriesData() bool { return c.Class >= leastClass && c.Bound != ByLatency }

// hold holds a cell against its limit: bound by latency is what at full bandwidth would take less time than latency.
func (c *Cell) hold(h Held, l latency) {
	c.Limit = h.Limit
	if h.Bus == 0 || c.Bus == 0 {
		return
	}
	c.Efficiency = c.Bus / h.Bus
	c.Bound = ByBandwidth
	if c.Bus/h.Full*float64(c.Transfer) < float64(l.time) { // f·S / limit
		c.Bound = ByLatency
	}
}
