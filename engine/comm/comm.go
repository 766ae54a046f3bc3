// Package comm puts together what the processes of a job recorded of their communication, each from its own side: calls, from
// debug logs or NCCL's NVTX ranges, and the kernels that ran them, from a profiler.
//
//  1. A process that logged and one that a profiler saw are the same one by
//     host and pid, the bus of the GPU, the CUDA device or the rank ([Pairing]).
//  2. Where both recorded calls, each counts once. NCCL's own NVTX ranges say which kernel ran a call ([ByNVTX]), and so do the records
//     of its Inspector ([ByNumber]); where neither does, the calls of each are aligned with its kernels, all ranks of a clock
//     together (package align).
//  3. Sides of communicators are one by commId or by split ([GroupSides]); where neither is recorded, by ending their collectives
//     together, again and again.
//  4. The ends of what two clocks saw together tell how far they are apart (package clock).
//
// More is computed of a [Result] where it is asked for: [CallDetails], [SentBetween], [Strategy], [Machines] and [StepsOf].
//
// What is there is taken as far as it goes: logs alone have no
// times, kernels alone no sizes and no communicators.
package comm

import (
	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Scoring says how calls and kernels are compared.
type Scoring uint8

const (
	ByEvidence     Scoring = iota // all that both sides know, ranks together
	Clockless                     // the same without times, and without what profilers say of calls
	ClocklessAlone                // the same, each rank by itself
	ByThesis                      // operation names alone, each rank by itself, as the NCCL Trace Profiler does: nothing is certain
	BySliding                     // its simplest way
)

// Options of Analyze. The zero value is usable.
type Options struct {
	Scoring Scoring
	Layout  parallel.Layout // zero: that of Model, or kinds of communicators are inferred
	Model   *volume.Model   // what ranks should communicate, complete; nil: not known
	Calls   *megatron.Job   // what Megatron-LM calls, complete, instead of the model; nil: another program
	Theory  Theory          // what bandwidths are compared with
	Ranks   []int           // of the job, to tell of these alone; none: all
}

// Rank is one process of the job.
type Rank struct {
	Rank     int     // number in the job
	Host     string  // host, up to the first dot
	PID      int64   // process, as the log numbers it, or else the export; 0 where neither does
	Device   int64   // CUDA index of its GPU; negative: not known
	Log      int     // its process among those that logged, comms.None: it left no log
	Profile  int     // its process among those that a profiler saw, comms.None: none did
	Pairing  Pairing // how the process of the log was found in the export
	Join     Join    // how its calls were tied to its kernels: by NCCL's own NVTX ranges or the numbers of its Inspector, which is exact, or by alignment
	Calls    []int   // indices of Result.Calls
	Matching *align.Matching
	Pairs    int // pairs of one of its calls and a kernel
	Certain  int // of them those that are certain
}

// HasLog reports whether the rank left a log.
func (k *Rank) HasLog() bool { return k.Log != comms.None }

// hasCalls reports whether its calls were recorded.
func (k *Rank) hasCalls() bool { return k.Log != comms.None || k.Join != Unjoined }

// Match is a call and the kernel that ran it.
type Match struct {
	Rank, Call, Kernel int // index of Ranks, of Result.Calls, of the rank's kernels
	Certain            bool
}

// Result is what is known of the job's communication.
type Result struct {
	Recorded      *comms.Record // what there was to go by; Log and Profile of ranks are indices of its processes
	Calls         []comms.Call  // of the job, each once
	Groups        []comms.Group // each rank's sides of communicators; those of Calls are indices of these
	Timeless      bool          // dumps of NCCL's Inspector say how long operations took, not when
	Sampled       bool          // those dumps lack operations, by their numbers
	Ranks         []Rank        // by rank
	Matches       []Match       // by rank, call, kernel
	Communicators []parallel.Communicator
	Clocks        []Clock // by rank
	Collectives   []Collective
	Transfers     []Collective // messages between two ranks, by when they begin
	Messages      Messages
	Speed         Speed
	Accounts      []volume.Account // by rank; nil without a model
	OpCounts      map[nccl.Op]int64
	Duplicates    int   // records of calls that stand twice
	Unparsed      int64 // lines that begin like records and were not understood
	Unmatched     int   // calls that launch a kernel, of ranks that have one, without match
	Leftover      int   // kernels without call
	Notes         []Note

	profiled []bool           // whether a process is one that a profiler saw, and
	kernels  [][]comms.Kernel // its kernels
	fits     []Fit            // of each clock
	sideOf   []int            // which of Groups each of the logs' is, of Recorded.Groups
	groupOf  []int            // communicator of each of Groups
}

// expectations returns what the calls are held against: nothing, or one description of the job.
func (o *Options) expectations() []expectation {
	switch {
	case o.Calls != nil:
		return []expectation{megatronExpectation(o.Calls)}
	case o.Model != nil:
		return []expectation{modelExpectation(o.Model)}
	}
	return nil
}

// Analyze puts together what was recorded, which stays as it is.
func Analyze(c *comms.Record, o Options) (*Result, error) {
	if expected := o.expectations(); len(expected) > 0 && !o.Layout.IsGiven() {
		o.Layout = expected[0].model.Layout()
	}
	r := &Result{Recorded: c}
	r.placeKernels()
	of := r.split()
	r.Ranks = r.pair(of)
	tied := r.reconcile(of, o.Scoring)
	duplicates := r.countCalls()
	m := r.members(tied)
	if err := r.match(m, tied, o.Scoring); err != nil {
		return nil, err
	}
	r.joinByEnds(m, tied)
	unnamed := r.number(m)
	r.compareClocks(m)
	duplicates, err := r.keep(o.Ranks, m, tied, duplicates)
	if err != nil {
		return nil, err
	}
	r.describe(m, duplicates, tied, o.Layout)
	r.collectives(m)
	if !r.Timeless { // a message's two ends say nothing of each other then
		r.transfers(m, duplicates)
	}
	r.speed(m, o.Theory)
	r.countMatches()
	r.notes(unnamed)
	r.peerWaits()
	for _, e := range o.expectations() {
		if err := r.holdAgainst(e); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Kernels returns what ran on a rank's device, by start on its clock; nil where no profiler saw it.
func (r *Result) Kernels(rank int) []comms.Kernel {
	if p := r.Ranks[rank].Profile; p != comms.None {
		return r.kernels[p]
	}
	return nil
}

// ProfiledProcess returns the process that a profiler saw of a rank; where none did, one without steps, on no clock.
func (r *Result) ProfiledProcess(rank int) *comms.Process {
	if p := r.Ranks[rank].Profile; p != comms.None {
		return &r.Recorded.Processes[p]
	}
	return &comms.Process{Clock: comms.None}
}

// ProfileOf returns the name of the source that has a rank's kernels, "" where none has.
func (r *Result) ProfileOf(rank int) string {
	p := r.Ranks[rank].Profile
	if p == comms.None {
		return ""
	}
	return r.Recorded.Sources[r.Recorded.Processes[p].Source].Name
}

// Sources returns how many sources of a kind there were.
func (r *Result) Sources(kind comms.SourceKind) (n int) {
	for i := range r.Recorded.Sources {
		if r.Recorded.Sources[i].Kind == kind {
			n++
		}
	}
	return n
}

// kindOf returns what recorded a process.
func (r *Result) kindOf(process int) comms.SourceKind {
	return r.Recorded.Sources[r.Recorded.Processes[process].Source].Kind
}

// clockOf returns the clock that a rank's kernels were recorded by.
func (r *Result) clockOf(rank int) int { return r.ProfiledProcess(rank).Clock }

// countCalls counts the calls by operation and finds those that stand twice: a record that equals another to the last buffer is one call.
func (r *Result) countCalls() (duplicates map[int]bool) {
	duplicates = map[int]bool{}
	for i := range r.Ranks {
		for c, reason := range r.reasons(i) {
			if reason == align.Duplicate {
				duplicates[r.Ranks[i].Calls[c]] = true
			}
		}
	}
	r.tallyCalls(duplicates)
	for _, u := range r.Recorded.Unread {
		r.Unparsed += u.Count
	}
	return duplicates
}

// tallyCalls counts the calls by operation, each once.
func (r *Result) tallyCalls(duplicates map[int]bool) {
	r.OpCounts, r.Duplicates = map[nccl.Op]int64{}, len(duplicates)
	for i := range r.Calls {
		if !duplicates[i] {
			r.OpCounts[r.Calls[i].Op]++
		}
	}
}
