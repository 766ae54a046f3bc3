// Package traffic puts what a job left of its communication together: calls out
// of NCCL's debug logs, kernels out of exports of Nsight Systems.
//
//  1. A process that logged and one that the profiler saw are the same one by
//     host and pid, the bus of the GPU, the CUDA device, the rank, or by what they did ([Pairing]).
//     Where NCCL's own NVTX ranges in an export tell of calls, they are taken from there ([ByNVTX]).
//  2. Where they do not, the calls of each are aligned with its kernels, all ranks of a clock
//     together (package align).
//  3. Sides of communicators are one by commId or by split (package comm); where a log has
//     neither, by ending their collectives together, again and again.
//  4. The ends of what two exports did together tell how far their clocks are apart.
//
// Either side alone is taken as far as it goes: logs without an export have no
// times, exports without a log and without payloads no sizes and no communicators. Nothing is read or written here.
package traffic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/align"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/inspector"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/nccl"
)

// None is the index of nothing.
const None = -1

// Input is all logs and exports of one job.
type Input struct {
	Log      *nccllog.Log
	LogNames []string // of Log.Files, as results show them
	Exports  []*nsight.Collectives
	Names    []string // of Exports
	// Dumps of NCCL's Inspector are used where there are no exports. A result has them among its Exports.
	Dumps     []*inspector.Dump
	DumpNames []string
}

// Scoring says how calls and kernels are compared.
type Scoring uint8

const (
	ByEvidence Scoring = iota // all that both sides know, ranks together
	ByName                    // operation names alone, each rank by itself, as in the thesis: nothing is certain
)

// Options of Analyze. The zero value is usable.
type Options struct {
	Scoring Scoring
	Layout  Layout // zero: kinds of communicators are inferred
}

// Rank is one process of the job.
type Rank struct {
	Rank     int // of the job
	Host     string
	PID      int64
	Device   int64 // CUDA index; −1 where neither side tells
	Process  int   // index of Log.Processes, None without a log
	Export   int   // index of Exports, None without one
	Recorded int   // index of the export's processes
	Pairing  Pairing
	Logged   bool // it left a log; else Process is what its export tells, if that tells of calls
	Join     Join
	Calls    []int // indices of Log.Calls
	Matching *align.Matching
	Pairs    int // of call and kernel
	Certain  int
}

// Match is a call and the kernel that ran it.
type Match struct {
	Rank, Call, Kernel int // index of Ranks, of Log.Calls, of the process's kernels
	Certain            bool
}

// Clock is how a rank's clock runs against that of the first rank with an export.
type Clock struct {
	Rank     int // index of Ranks
	Export   int
	Known    bool // false: too few collectives in common
	Offset   int64
	Drift    float64 // nanoseconds in each nanosecond
	At       int64   // on the first clock, where Offset holds
	Residual int64   // median distance of a collective's end from the line
	Meetings int
}

// Result is what is known of the job's communication.
type Result struct {
	Input
	Sources       []string // names of Log.Files: LogNames, then exports that calls were taken from
	Dumped        int      // of Exports, the first that many stand for dumps of NCCL's Inspector
	Timeless      bool     // those dumps say how long operations took, not when
	Sampled       bool     // those dumps lack operations, by their numbers
	Ranks         []Rank   // by rank
	Matches       []Match
	Communicators []Communicator
	Clocks        []Clock // by rank
	Collectives   []Collective
	Transfers     []Transfer // by when they begin
	Messages      Messages
	Speed         Speed
	Accounts      []Account // by Against; nil without a model
	OpCounts      map[nccl.Op]int64
	Duplicates    int   // lines that stand twice
	Unparsed      int64 // lines that begin like NCCL's and were not understood
	Unmatched     int   // calls that launch a kernel, of ranks that have one, without match
	Leftover      int   // kernels without call
	Notes         []string

	fits    []fit       // of Exports
	groupOf map[int]int // of Log.Communicators
}

// Analyze puts the input together.
func Analyze(in Input, o Options) (*Result, error) {
	if in.Log == nil {
		in.Log = &nccllog.Log{}
	}
	a := &assembly{in: in, o: o, again: map[int]bool{}, sourceOf: map[int]int{}, unsized: map[int]bool{},
		visited: map[int]visits{}, r: &Result{Input: in, Sources: slices.Clone(in.LogNames), OpCounts: map[nccl.Op]int64{}, groupOf: map[int]int{}}}
	a.dumps()
	a.pair()
	a.told()
	a.count()
	a.sidesOf()
	if err := a.align(); err != nil {
		return nil, err
	}
	a.meet()
	a.number()
	a.clocks()
	a.communicators()
	a.collectives()
	if !a.r.Timeless { // a message's two ends tell nothing of each other then
		a.transfers()
	}
	a.speed()
	a.collect()
	a.notes()
	return a.r, nil
}

// assembly is a result in the making.
type assembly struct {
	in     Input
	o      Options
	r      *Result
	sides  []comm.Side // of Log.Communicators; Process is an index of Ranks
	groups []comm.Communicator
	again  map[int]bool    // calls whose line stands twice, of those the second
	met    map[int]bool    // sides that only meetings put together
	ranked string          // how ranks were numbered
	ways   [][]nccllog.Way // of groups, once they were asked for

	visited map[int]visits // of ranks, once they were asked for

	ties     map[int][]tie // of each rank, as its export tells
	began    map[int]int64 // calls whose range was found, and its start
	dumped   int           // exports that stand for dumps of the Inspector
	toldFrom int           // calls from here on are not of the log
	sourceOf map[int]int   // exports among Log.Files
	madeFrom int           // communicators from here on are not of the log
	unsized  map[int]bool  // of them those whose number of ranks nothing tells
	adrift   []int         // communicators whose launches are counted from the recording's start
}

func (a *assembly) note(format string, args ...any) {
	a.r.Notes = append(a.r.Notes, fmt.Sprintf(format, args...))
}

// count counts the calls of the log. A line that stands twice, to the last buffer, is one call.
func (a *assembly) count() {
	census := &a.in.Log.Census
	for op, n := range census.Calls {
		a.r.OpCounts[op] = n
	}
	for i := a.toldFrom; i < len(a.in.Log.Calls); i++ {
		a.r.OpCounts[a.in.Log.Calls[i].Op]++
	}
	for i := range a.r.Ranks {
		k := &a.r.Ranks[i]
		_, why := align.Plan(a.in.calls(k), 0)
		for c, reason := range why {
			if reason == align.Duplicate {
				a.r.OpCounts[a.in.Log.Calls[k.Calls[c]].Op]--
				a.again[k.Calls[c]] = true
			}
		}
	}
	maps.DeleteFunc(a.r.OpCounts, func(_ nccl.Op, n int64) bool { return n == 0 })
	a.r.Duplicates, a.r.Unparsed = len(a.again), census.Kinds[nccllog.Damaged]
}

// calls is those of a rank as the engine takes them.
func (in *Input) calls(k *Rank) (list []align.Call) {
	for _, i := range k.Calls {
		list = append(list, CallOf(in.Log, &in.Log.Calls[i]))
	}
	return list
}

// sidesOf takes the communicators of the log, each with the rank whose side it is.
func (a *assembly) sidesOf() {
	owner := make(map[int]int)
	for i := range a.r.Ranks {
		if p := a.r.Ranks[i].Process; p != None {
			owner[p] = i
		}
	}
	for i := range a.in.Log.Communicators {
		c := a.in.Log.Communicators[i]
		if c.ID == 0 && c.Ranks == 0 && i >= a.madeFrom { // its size is not known; it is at most the job
			c.Ranks = int32(len(a.r.Ranks))
			a.unsized[i] = true
		}
		s := comm.Side{Process: None, ID: c.ID, Rank: int(c.Rank), Ranks: int(c.Ranks), Parent: c.Parent, Split: c.Split, Color: c.Color}
		if k, ok := owner[c.Process]; ok {
			s.Process = k
		} else {
			s.ID, s.Parent, s.Rank = 0, comm.None, -1
		}
		a.sides = append(a.sides, s)
	}
	a.groups = comm.Group(a.sides)
}
