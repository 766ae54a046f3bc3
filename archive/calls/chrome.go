package calls

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Chrome writes the job's communication as a trace for Perfetto and chrome://tracing (Trace Event Format, JSON object
// form): a process for each rank, in it the steps that NVTX marks, a track for each stream of kernels, and a
// track for each kind of parallelism. Events of one track follow or contain each other, as viewers need it: what
// overlaps otherwise has a second track of the same name. Times are microseconds since the first event, on the first rank's clock;
// what a rank without a known clock did is left out. Events go out one by one; a kernel has the row of the first of its calls.
func Chrome(w io.Writer, r *comm.Result) error {
	c := &chrome{out: bufio.NewWriter(w), r: r, origin: origin(r), first: true}
	c.write(`{"displayTimeUnit":"ns","traceEvents":[`)
	steps := comm.StepsOf(r)
	next, stop := iter.Pull(comm.CallDetails(r, steps.Places))
	defer stop()
	x, more := next()
	for i := range r.Ranks {
		ran := map[int]*operation{}
		for ; more && x.Rank == i; x, more = next() {
			if o := ran[x.Kernel]; o != nil {
				*o.Certain = *o.Certain && x.Certain
			} else if x.Kernel != comms.None {
				ran[x.Kernel] = &operation{rowOf(r, steps, x), trace.RankList(x.Moved.Peers)}
			}
		}
		c.rank(i, ran)
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

// operation is what is known of a kernel: the row of the first of its calls, and the peers of sends and receives.
type operation struct {
	*Row
	Peers string `json:"peers,omitempty"`
}

// args returns the fields that are known.
func (o *operation) args() (known map[string]json.RawMessage, err error) {
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	maps.DeleteFunc(known, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return known, err
}

// kindArgs is what a track of a kind of parallelism tells of a kernel; the rest is on its stream's.
type kindArgs struct {
	Communicator *string `json:"communicator"`
	Bytes        *int64  `json:"bytes"`
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

// rank writes one process, of which some kernels have rows.
func (c *chrome) rank(i int, ran map[int]*operation) {
	k := &c.r.Ranks[i]
	if _, known := c.r.FirstClockTime(i, 0); k.Profile == comms.None || !known || c.r.Timeless {
		return
	}
	c.event(chromeEvent{Phase: "M", Name: "process_name", Process: k.Rank, Args: nameArgs{fmt.Sprintf("rank %d (%s)", k.Rank, k.Host)}})
	c.event(chromeEvent{Phase: "M", Name: "process_sort_index", Process: k.Rank, Args: sortArgs{k.Rank}})
	l := &lanes{c: c, rank: k.Rank, of: map[track][]*lane{}}
	c.marks(l, i, c.r.ProfiledProcess(i).Steps, track{group: stepTracks, name: "steps"}, "step")
	c.marks(l, i, c.r.ProfiledProcess(i).Phases, track{group: phaseTracks, name: "phases and microbatches"}, "phase")
	for n := range c.r.Kernels(i) {
		c.kernel(i, n, ran[n], l)
	}
}

// marks writes what NVTX marks; ranges may contain each other.
func (c *chrome) marks(l *lanes, i int, all []comms.Span, on track, category string) {
	ordered := slices.Clone(all)
	sort.SliceStable(ordered, func(a, b int) bool {
		return cmp.Or(cmp.Compare(ordered[a].Start, ordered[b].Start), cmp.Compare(ordered[b].End, ordered[a].End)) < 0
	})
	for _, s := range ordered {
		start, _ := c.r.FirstClockTime(i, s.Start)
		end, _ := c.r.FirstClockTime(i, s.End)
		c.span(chromeEvent{Name: s.Name, Category: category, Process: l.rank, Thread: l.nestedLine(on, start, end)}, start, end)
	}
}

// kernel writes a kernel on the track of its stream and, where its communicator's kind is told, on that of the kind.
func (c *chrome) kernel(i, n int, o *operation, l *lanes) {
	x := &c.r.Kernels(i)[n]
	start, _ := c.r.FirstClockTime(i, x.Start)
	end, _ := c.r.FirstClockTime(i, x.End)
	e := chromeEvent{Name: x.Op.String(), Category: "nccl", Process: c.r.Ranks[i].Rank}
	if o != nil {
		args, err := o.args()
		e.Args, c.err = args, cmp.Or(c.err, err)
		if x.Op == nccl.Generic {
			e.Name = o.Op
		}
	}
	e.Thread = l.freeLine(track{streamTracks, x.Stream, fmt.Sprintf("operations, stream %d", x.Stream)}, start, end)
	c.span(e, start, end)
	if o == nil || o.Kind == nil {
		return
	}
	e.Name, e.Category, e.Args = *o.Kind+" "+e.Name, *o.Kind, kindArgs{o.Communicator, o.Bytes}
	e.Thread = l.freeLine(track{group: kindTracks, name: *o.Kind}, start, end)
	c.span(e, start, end)
}

// origin returns the first time of all, on the first clock.
func origin(r *comm.Result) (first int64) {
	set := false
	for i := range r.Ranks {
		look := func(t int64) {
			if at, known := r.FirstClockTime(i, t); known && (!set || at < first) {
				first, set = at, true
			}
		}
		for _, x := range r.Kernels(i) {
			look(x.Start)
		}
		for _, s := range r.ProfiledProcess(i).Steps {
			look(s.Start)
		}
	}
	return first
}
