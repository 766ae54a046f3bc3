// Package profile is the profile of a rank, whatever profiler recorded it: its
// steps and their stages on the host, the account of its device, its collectives
// and its operators. Readers of profiles make it (ingest/profiler) and
// ingest/stages makes windows and operator traces of it.
//
// Positions refer to other slices of the same [Rank]. All times are nanoseconds
// on the rank's own clock.
package profile

import (
	"time"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// OptimizerStage is the stage in which parameters are updated, by the name that
// readers give it: the only one whose meaning counts here, since it runs once in a
// step of several microsteps.
const OptimizerStage = "optim.step_cpu_wall"

// Rank is the profile of one rank.
type Rank struct {
	Source    string // the file it was read from
	ID        int    // global rank, −1: not known
	World     int    // ranks of the job, 0: not known
	LocalRank int    // −1: not known
	Host      string
	Backend   string // of communication, as the profiler names it: "nccl", "gloo"
	Role      trace.Role
	Groups    int   // that its process is in, 0: not known
	Base      int64 // what the file says that its stamps count from, and what Shift was given; 0: nothing

	Stages []string // in order; Span.Stage and device accounts count in it
	Steps  []Step   // by start
	// What the rank communicated, each recording as a process: the kernels of its
	// device, each with a call that has what is known of it, in their order, and
	// behind these what kernels ran besides; or where it recorded no device work the
	// calls that its backend worked on. All calls have a group; peers are ranks of
	// the job where the Rank of the group is −1.
	Comm        comms.Record
	Entered     comms.Record // calls by start, as the host entered them, where the rank recorded no device work
	Names       []string     // of operators
	Ops         []Op         // where EachOperator is kept
	Tallies     []Tally      // device work that does not communicate, or of a rank that recorded none its functions
	OpsLost     int64        // how many operators there were, where they were too many to list: Ops is empty; else 0
	Functions   bool         // Tallies are of functions of the program: their own time, without those that they called
	TalliesLost bool         // they had too many names, in too many steps and stages: Tallies is empty
	Streams     int          // device queues that had work

	Notes []input.Note // what is incomplete
}

// Stage returns the name of a stage by its position, "" for none.
func (r *Rank) Stage(at int32) string {
	if at < 0 {
		return ""
	}
	return r.Stages[at]
}

// uptime is the longest time that a machine has been up, ns: stamps beyond it count
// from 1970.
const uptime = int64(20 * 365 * 24 * time.Hour)

// Span returns when the recorded steps began and ended, ns since 1970 UTC; ok if the stamps count from there.
func (r *Rank) Span() (from, to int64, ok bool) {
	if len(r.Steps) == 0 || r.Steps[0].Start < uptime {
		return 0, 0, false
	}
	return r.Steps[0].Start, r.Steps[len(r.Steps)-1].End, true
}

// Step is one step of one rank.
type Step struct {
	Index      int64
	Start, End int64       // on the host
	Spans      []Span      // stages on the host: by start, apart from each other, inside the step
	Microsteps []int64     // where the second and later ones begin on the host; nil: the step is one
	Device     *Device     // nil: the step launched no device work
	Time       *Categories // nil: the rank recorded no device work
	Idling     IdleTimes   // of Time.Idle
	Cut        bool        // first or last, and shorter or with fewer stages than the others
	Set        bool        // the clock was set in it, or beside it: its times are not to be believed
}

// Span is a piece of a stage.
type Span struct {
	Stage      int // position in Rank.Stages
	Start, End int64
}

// Device is the account of a step on its device.
type Device struct {
	Start, End int64     // D(t) and D(t+1) of the package's doc
	Own        []int64   // by microstep and stage, stage fastest: its part of Start … End without communication
	Busy       []int64   // likewise: time in which work that it launched ran, communication apart
	Exposed    Exposures // communication that nothing else covers, by start
	Unmapped   int64     // time of no stage before the last communication that a stage exposed
}

// Categories divides the time of a step on the device, D(t) to D(t+1) of the
// package's doc, as Holistic Trace Analysis divides a trace: by what ran in it,
// whoever launched it. Streams are merged before they are summed. The times of
// consecutive steps touch, so that lengths of steps add up.
type Categories struct {
	Start, End    int64
	First, Last   int64 // in which something ran, cut to Start … End; equal: nothing did
	Compute       int64 // kernels that do not communicate
	Communication int64
	Memory        int64 // copies and fills
	Idle          int64 // nothing
	ExposedComm   int64 // communication that no compute covers
}

// IdleTimes divides the idle time of a step on the device by what the work behind it waited for, ns.
type IdleTimes struct {
	Data         int64 // to be launched, while the host waited for data
	Synchronised int64 // to be launched, after the host had waited for the device until nothing ran
	Host         int64 // to be launched: the host launches more slowly than the device works
	Launched     int64 // to begin
	Unknown      int64 // what launched it is not recorded
}

// Add adds the times of another step.
func (t *IdleTimes) Add(o *IdleTimes) {
	t.Data += o.Data
	t.Synchronised += o.Synchronised
	t.Host += o.Host
	t.Launched += o.Launched
	t.Unknown += o.Unknown
}

// Op is one operator on the device, or one collective of a host.
type Op struct {
	Name       int32 // position in Rank.Names
	Step       int32 // position in Rank.Steps
	Stage      int32 // −1: none
	Lane       int32 // queue, from 0
	Call       int32 // position in Comm.Calls, −1: none
	Start, End int64
}

// Tally is the device work of one name that a stage launched in a step: Ops
// without those that communicate, added up.
type Tally struct {
	Name  int32 // position in Rank.Names
	Step  int32 // position in Rank.Steps
	Stage int32 // −1: none
	Count int32
	Dur   int64 // ns
}
