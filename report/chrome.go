package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Chrome writes the job's communication as a trace for Perfetto and chrome://tracing (Trace Event Format, JSON object
// form): a process for each rank, in it the steps that NVTX marks, a track for each stream of kernels, and a
// track for each kind of parallelism. Events of one track follow or contain each other, as viewers need it: what
// overlaps otherwise has a second track of the same name. Times are microseconds since the first event, on the first rank's clock;
// what a rank without a known clock did is left out. Events go out one by one.
func (o Output) Chrome(r *comm.Result) error {
	c := &chrome{out: bufio.NewWriter(o.W), r: r, origin: origin(r), moved: comm.Moves(r), steps: comm.StepsOf(r), first: true}
	c.write(`{"displayTimeUnit":"ns","traceEvents":[`)
	matches := r.Matches // by rank
	for i := range r.Ranks {
		n := 0
		for n < len(matches) && matches[n].Rank == i {
			n++
		}
		c.rank(i, matches[:n])
		matches = matches[n:]
	}
	c.write("\n]}\n")
	if c.err != nil {
		return c.err
	}
	return c.out.Flush()
}

// chrome is the trace being written.
type chrome struct {
	out    *bufio.Writer
	r      *comm.Result
	origin int64
	moved  func(rank, kernel int) *comm.Moved
	steps  *comm.Steps
	first  bool
	err    error
}

// chromeEvent is one event: X has a length, M names a process or thread.
type chromeEvent struct {
	Phase    string   `json:"ph"`
	Name     string   `json:"name"`
	Category string   `json:"cat,omitempty"`
	Process  int      `json:"pid"`
	Thread   int      `json:"tid"`
	Start    *float64 `json:"ts,omitempty"`
	Length   *float64 `json:"dur,omitempty"`
	Args     any      `json:"args,omitempty"`
}

// nameArgs and sortArgs are of metadata.
type nameArgs struct {
	Name string `json:"name"`
}

type sortArgs struct {
	Index int `json:"sort_index"`
}

// operationArgs is what is known of a kernel and its calls.
type operationArgs struct {
	Op           string   `json:"op"`
	Calls        int      `json:"calls"`
	Count        int64    `json:"count"`
	Datatype     string   `json:"dtype"`
	Bytes        int64    `json:"bytes"` // of all calls
	Communicator string   `json:"communicator"`
	Kind         string   `json:"kind"`
	Algorithm    string   `json:"algorithm"`
	Protocol     string   `json:"protocol"`
	Channels     int32    `json:"channels"`
	Bandwidth    *float64 `json:"bus_bandwidth_gbps"`
	Wait         *float64 `json:"wait_us"`
	Peers        string   `json:"peers,omitempty"` // of sends and receives
	Certain      bool     `json:"certain"`
	Call         string   `json:"log"`

	Step      string   `json:"step,omitempty"`
	OpCount   *int64   `json:"op_count,omitempty"`
	Reduction string   `json:"reduction,omitempty"`
	Root      *int     `json:"root,omitempty"`
	Send      string   `json:"sendbuff,omitempty"`
	Recv      string   `json:"recvbuff,omitempty"`
	Handle    string   `json:"communicator_pointer,omitempty"`
	LogStream string   `json:"stream_pointer,omitempty"`
	NRanks    int      `json:"nranks,omitempty"`
	Factor    *float64 `json:"bus_factor,omitempty"`
	Algo      *float64 `json:"algorithm_bandwidth_gbps,omitempty"`
	Link      string   `json:"limit_link,omitempty"`
	Limit     *float64 `json:"limit_gbps,omitempty"`
	AlgoLimit *float64 `json:"algorithm_limit_gbps,omitempty"`
	BusLimit  *float64 `json:"bus_limit_gbps,omitempty"`
	AlgoEff   *float64 `json:"algorithm_efficiency,omitempty"`
	BusEff    *float64 `json:"bus_efficiency,omitempty"`
	kernelArgs
}

// kernelArgs is how a kernel was launched.
type kernelArgs struct {
	Kernel      string  `json:"kernel,omitempty"`
	Grid        []int64 `json:"grid,omitempty"`
	Block       []int64 `json:"block,omitempty"`
	Registers   *int64  `json:"registers,omitempty"`
	Static      *int64  `json:"static_shared_bytes,omitempty"`
	Dynamic     *int64  `json:"dynamic_shared_bytes,omitempty"`
	Local       *int64  `json:"local_bytes,omitempty"`
	Stream      int64   `json:"stream"`
	Correlation int64   `json:"correlation_id"`
}

// kindArgs is what a track of a kind of parallelism tells of a kernel; the rest is on its stream's.
type kindArgs struct {
	Communicator string `json:"communicator"`
	Bytes        int64  `json:"bytes"`
}

func (c *chrome) write(s string) {
	if c.err == nil {
		_, c.err = c.out.WriteString(s)
	}
}

func (c *chrome) event(e chromeEvent) {
	text, err := json.Marshal(e)
	if err != nil {
		c.err = cmp.Or(c.err, err)
		return
	}
	if !c.first {
		c.write(",")
	}
	c.first = false
	c.write("\n" + string(text))
}

// span writes an event of a length. A length of 0 is drawn as one nanosecond.
func (c *chrome) span(e chromeEvent, start, end int64) {
	at, length := float64(start-c.origin)/1e3, float64(max(end-start, 1))/1e3
	e.Phase, e.Start, e.Length = "X", &at, &length
	c.event(e)
}

// rank writes one process. Its matches are in the order of the log.
func (c *chrome) rank(i int, matches []comm.Match) {
	k := &c.r.Ranks[i]
	if _, known := c.r.OnFirstClock(i, 0); k.Profile == comms.None || !known || c.r.Timeless {
		return
	}
	c.event(chromeEvent{Phase: "M", Name: "process_name", Process: k.Rank, Args: nameArgs{fmt.Sprintf("rank %d (%s)", k.Rank, k.Host)}})
	c.event(chromeEvent{Phase: "M", Name: "process_sort_index", Process: k.Rank, Args: sortArgs{k.Rank}})
	l := &lanes{c: c, rank: k.Rank, of: map[track][]*lane{}}
	c.marks(l, i, c.r.Profiled(i).Steps, track{group: stepTracks, name: "steps"}, "step")
	c.marks(l, i, c.r.Profiled(i).Phases, track{group: phaseTracks, name: "phases and microbatches"}, "phase")
	calls := map[int][]comm.Match{}
	for _, m := range matches {
		calls[m.Kernel] = append(calls[m.Kernel], m)
	}
	for n := range c.r.Kernels(i) {
		c.kernel(i, n, calls[n], l)
	}
}

// marks writes what NVTX marks; ranges may contain each other.
func (c *chrome) marks(l *lanes, i int, all []comms.Span, on track, category string) {
	ordered := slices.Clone(all)
	sort.SliceStable(ordered, func(a, b int) bool {
		return cmp.Or(cmp.Compare(ordered[a].Start, ordered[b].Start), cmp.Compare(ordered[b].End, ordered[a].End)) < 0
	})
	for _, s := range ordered {
		start, _ := c.r.OnFirstClock(i, s.Start)
		end, _ := c.r.OnFirstClock(i, s.End)
		c.span(chromeEvent{Name: s.Name, Category: category, Process: l.rank, Thread: l.nested(on, start, end)}, start, end)
	}
}

// kernel writes a kernel on the track of its stream and, where its communicator's kind is told, on that of the kind.
func (c *chrome) kernel(i, n int, calls []comm.Match, l *lanes) {
	k := &c.r.Ranks[i]
	x := &c.r.Kernels(i)[n]
	start, _ := c.r.OnFirstClock(i, x.Start)
	end, _ := c.r.OnFirstClock(i, x.End)
	e := chromeEvent{Name: x.Op.String(), Category: "nccl", Process: k.Rank}
	args, told := c.args(i, n, calls)
	e.Args = kernelArgsOf(x)
	if told {
		e.Args = args
		if x.Op == nccl.Generic {
			e.Name = args.Op
		}
	}
	e.Thread = l.apart(track{streamTracks, x.Stream, fmt.Sprintf("operations, stream %d", x.Stream)}, start, end)
	c.span(e, start, end)
	if args.Kind == "" {
		return
	}
	e.Name, e.Category, e.Args = args.Kind+" "+e.Name, args.Kind, kindArgs{args.Communicator, args.Bytes}
	e.Thread = l.apart(track{group: kindTracks, name: args.Kind}, start, end)
	c.span(e, start, end)
}

// origin is the first time of all, on the first clock.
func origin(r *comm.Result) (first int64) {
	set := false
	for i := range r.Ranks {
		look := func(t int64) {
			if at, known := r.OnFirstClock(i, t); known && (!set || at < first) {
				first, set = at, true
			}
		}
		for _, x := range r.Kernels(i) {
			look(x.Start)
		}
		for _, s := range r.Profiled(i).Steps {
			look(s.Start)
		}
	}
	return first
}
