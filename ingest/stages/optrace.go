package stages

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/profile"
)

// trace returns the operators of the profiles one by one: what ran on the
// devices, on clocks that were brought together, or the collectives of runs
// without devices. Collectives that were matched share a group. Peers, as
// settlePeers has them, are replicas of a pipeline stage; all ranks are where no
// role is known. Ranks that recorded no device work among others that did are left out
// with a note, and so are steps. The timeline of the options is for the names of
// stages alone. O(n log n).
func (c *converter) trace(ranks []*profile.Rank, o Options) (*operator.Trace, error) {
	c, err := c.prepareTimeline(ranks, Auto)
	if err != nil {
		return nil, err
	}
	for _, r := range c.ranks {
		if r.OpsLost > 0 {
			return nil, input.At(input.Pos{File: r.Source}, input.Bad(input.ErrTooLarge,
				"%d pieces of device work, too many to keep each: profile fewer steps; diagnose and frontier work as it is", r.OpsLost))
		}
	}
	if o.Timeline != Auto {
		c.o.Timeline = o.Timeline
	}
	f := flattener{converter: c, o: &operator.Trace{Run: o.Run, Resolution: 1, Units: "profiler time stamps (ns)", Notes: c.notes},
		names: make(map[string]int32), launches: make(map[operator.Launch]int32)}
	f.tables()
	for r := range c.ranks {
		f.rows(r)
	}
	if f.o.Len() == 0 {
		return nil, input.At(input.Pos{File: c.ranks[0].Source}, input.Bad(input.ErrEmpty,
			"no operators in a complete step: was the device recorded?"))
	}
	f.shift()
	if err := f.o.Arrange(nil); err != nil {
		return nil, input.At(input.Pos{File: c.ranks[0].Source}, err)
	}
	return f.o, nil
}

// flattener makes the columns.
type flattener struct {
	*converter
	o        *operator.Trace
	names    map[string]int32
	launches map[operator.Launch]int32
	step     map[int64]int32
}

// tables sets the ranks, the steps that are used and the layout.
func (f *flattener) tables() {
	roles := f.replicas()
	for r, rank := range f.ranks {
		f.o.Ranks = append(f.o.Ranks, trace.Rank{ID: rank.ID, Host: rank.Host, LocalRank: rank.LocalRank, Role: roles[r]})
		f.o.Declared = append(f.o.Declared, f.roles[r])
		for _, n := range rank.Notes {
			f.o.Notes = append(f.o.Notes, input.Note{Kind: n.Kind, Text: fmt.Sprintf("rank %d: %s", rank.ID, n.Text)})
		}
	}
	f.o.Steps, f.step = f.stepNumbers(f.steps)
	dp, pp := f.o.Coordinates()
	f.o.Layout = operator.Layout{DP: slices.Max(dp) + 1, PP: slices.Max(pp) + 1, World: f.world}
	if f.o.Layout.DP*f.o.Layout.PP == f.o.Layout.World {
		f.o.Layout.TP = 1
	}
}

// replicas returns the roles of the ranks among their peers: operator traces know replicas and pipeline stages only.
func (f *flattener) replicas() []trace.Role {
	group, several := f.groupNumbers()
	if several {
		f.o.Notes = append(f.o.Notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf(
			"ranks of one pipeline stage do other work by their roles (%s, …): each group of peers counts as a stage of its own", f.roles[0].Group())})
	}
	roles := make([]trace.Role, len(f.ranks))
	seen := make(map[int]int)
	for r, rank := range f.ranks { // by ID
		dp := rank.ID
		if f.roles[r] != nil {
			dp = seen[group[r]]
			seen[group[r]]++
		}
		roles[r] = trace.Role{{Axis: trace.DataParallel, Index: dp}, {Axis: trace.PipelineParallel, Index: group[r]}}
	}
	return roles
}

// rows appends the operators of one rank.
func (f *flattener) rows(r int) {
	rank, o, used := f.ranks[r], f.o, f.usedSteps(r)
	type key struct{ name, step int32 }
	seq := make(map[key]int32)
	launch, messages := f.launcher(rank), messagesOf(rank)
	for i := range rank.Ops {
		op := &rank.Ops[i]
		if !used[op.Step] {
			continue
		}
		name := operator.Number(f.names, &f.o.Names, f.nameOf(rank, op, messages))
		step := f.step[rank.Steps[op.Step].Index]
		group := int32(-1)
		if op.Call >= 0 {
			group = f.matched.of[r][op.Call]
		}
		k := key{name, step}
		start := f.clocks[r].Reference(op.Start)
		o.Rank, o.Step, o.Name = append(o.Rank, int32(r)), append(o.Step, step), append(o.Name, name)
		o.Lane, o.Seq, o.Group = append(o.Lane, op.Lane), append(o.Seq, seq[k]), append(o.Group, group)
		o.Start, o.Dur = append(o.Start, start), append(o.Dur, op.End-op.Start)
		o.Chunk, o.GlobalChunk, o.Microbatch = append(o.Chunk, -1), append(o.GlobalChunk, -1), append(o.Microbatch, -1)
		o.Launch = append(o.Launch, launch(op))
		seq[k]++
	}
}

// launcher finds the launches of one rank. Operators that agree in a few numbers
// are of one launch, which saves comparing long names.
func (f *flattener) launcher(rank *profile.Rank) func(*profile.Op) int32 {
	type key struct {
		name, stage int32
		operation   nccl.Op
		bytes       int64
		any         bool // it communicates
	}
	known := make(map[key]int32)
	return func(op *profile.Op) int32 {
		k := key{name: op.Name, stage: op.Stage, bytes: -1}
		if op.Call >= 0 {
			c := &rank.Comm.Calls[op.Call]
			k.operation, k.bytes, k.any = c.Op, c.Bytes, true
		}
		at, ok := known[k]
		if !ok {
			what := deviceTime
			l := operator.Launch{Name: rank.Names[op.Name], Bytes: k.bytes}
			if k.any {
				what, l.Collective = transferTime, k.operation.Words()
			}
			l.Stage = f.stageName(rank.Stage(op.Stage), what)
			at = operator.Number(f.launches, &f.o.Launches, l)
			known[k] = at
		}
		return at
	}
}

// nameOf returns the name of an operator; a send or receive names its direction and pipeline stage, since NCCL has one kernel
// for both.
func (f *flattener) nameOf(rank *profile.Rank, op *profile.Op, messages map[int32][]*comms.Call) string {
	name := shortName(rank.Names[op.Name])
	if op.Call < 0 {
		return name
	}
	for _, m := range messages[op.Call] {
		way, peer := " recv", rank.PeerRank(m)
		if m.Op == nccl.Send {
			way = " send"
		}
		name += way
		at := slices.IndexFunc(f.ranks, func(r *profile.Rank) bool { return r.ID == peer })
		if at < 0 {
			continue
		}
		if stage, ok := f.ranks[at].Role.Coord(trace.PipelineParallel); ok {
			name += fmt.Sprintf(" pp=%d", stage)
		}
	}
	return name
}

// messagesOf returns the sends and receives with known peers, by the call that stands for them.
func messagesOf(rank *profile.Rank) map[int32][]*comms.Call {
	of := make(map[int32][]*comms.Call)
	for i, at := range rank.Pieces() {
		if c := &rank.Comm.Calls[i]; c.Peer >= 0 && (c.Op == nccl.Send || c.Op == nccl.Recv) {
			of[int32(at)] = append(of[int32(at)], c)
		}
	}
	return of
}

// shift lets the clock begin with the first operator.
func (f *flattener) shift() {
	first := int64(math.MaxInt64)
	for _, start := range f.o.Start {
		first = min(first, start)
	}
	for i := range f.o.Start {
		f.o.Start[i] -= first
	}
}

// mostName is how many bytes of a kernel's name are kept.
const mostName = 96

// shortName returns the name of a kernel for tables: without its return type and its parameters, which repeat its template
// arguments. A name that is still long is cut, and a digest distinguishes it.
func shortName(name string) string {
	name = strings.TrimPrefix(name, "void ")
	depth := 0
	for i := 0; i < len(name) && strings.HasSuffix(name, ")"); i++ {
		switch name[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 && i > 0 && name[i-1] != ':' && name[i-1] != ' ' {
				return cutName(name[:i])
			}
		}
	}
	return cutName(name)
}

func cutName(name string) string {
	if len(name) <= mostName {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("%s…%08x", strings.ToValidUTF8(name[:mostName-11], ""), h.Sum32())
}
