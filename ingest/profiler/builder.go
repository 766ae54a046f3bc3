package profiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// NameID is a name that a builder knows.
type NameID int32

// Builder reduces what a profiler recorded of one rank. Its methods may be
// called in any order of time; Finish comes last.
type Builder struct {
	stages *stagemap.Map
	detail Detail

	ids   map[string]NameID
	names []string
	bytes int       // of all names
	means []meaning // by name

	marks       []mark
	pieces      []piece
	lost        int // pieces that were too many
	calls       calls
	works       works
	collectives []deviceCollective // on the device
	functions   []function
	launches    launches
	threads     map[int64]uint16 // of the host, that launched something
	synced      []interval       // in which the host waited for the device
	lostCalls   int
	dispatched  calls // operators that hand collectives over
	annotated   calls // other ranges of the host in which it communicates, by their names
	lostEntries int

	lostFunctions int
	notes         []input.Note
	first, last   int64 // of all times that were seen
	seen          bool
}

// meaning is what is known of a name once it was looked at.
type meaning struct {
	class     stagemap.Class
	kind      Kind
	call      bool // of a collective, on the host: "nccl:all_reduce"
	dispatch  bool // hands a collective over: "c10d::allreduce_"
	annotates bool // is a collective of another library, or of the program
	launches  LaunchShape

	synchronises bool
}

// Limits of what a builder holds, generous for real profiles: pieces are a few
// dozen a step, collectives a few thousand.
const (
	maxPieces      = 1 << 20
	maxCollectives = 1 << 18
	maxCalls       = 4 * maxCollectives
	maxNames       = 1 << 17
	maxName        = 4096     // bytes of one, what is longer is cut
	maxNameBytes   = 64 << 20 // of all together
)

// NewBuilder starts the profile of a rank. A nil map is the built-in one.
func NewBuilder(m *stagemap.Map, d Detail) *Builder {
	if m == nil {
		m = stagemap.Default()
	}
	return &Builder{stages: m, detail: d, ids: make(map[string]NameID), works: newWorks(), threads: make(map[int64]uint16)}
}

// Name returns the number of a name. Bytes that are no UTF-8 are replaced, and
// what is too long is cut. When a profile has too many different names, the
// rest are one.
func (b *Builder) Name(name []byte) NameID {
	if id, ok := b.ids[string(name)]; ok {
		return id
	}
	if len(name) > maxName {
		return b.Name(name[:maxName])
	}
	text := string(name)
	if len(b.names) >= maxNames || b.bytes+len(text) > maxNameBytes {
		text = "(other)"
		if id, ok := b.ids[text]; ok {
			return id
		}
	}
	id := NameID(len(b.names))
	b.ids[text] = id
	b.bytes += len(text)
	clean := strings.ToValidUTF8(text, "�")
	b.names = append(b.names, clean)
	b.means = append(b.means, meaning{class: b.stages.Classify(clean), kind: kindOfKernel(clean), call: isCall(clean), dispatch: isDispatch(clean), annotates: AnnotatesCommunication(clean), launches: LaunchShapeOf(clean), synchronises: SynchronisesBy(clean)})
	return id
}

// isCall reports whether a host range with this name is a call of a
// collective, as torch.distributed's backends name theirs.
func isCall(name string) bool {
	backend, op, ok := strings.Cut(name, ":")
	return ok && op != "" && slices.Contains([]string{"nccl", "gloo", "mpi", "ucc", "xccl", "hccl", "rccl"}, backend)
}

// Text returns the name that a number stands for.
func (b *Builder) Text(id NameID) string { return b.names[id] }

// Matters reports whether a host range with this name means anything to the
// builder; readers need not call Range for others.
func (b *Builder) Matters(id NameID) bool {
	m := &b.means[id]
	return m.class.Role != stagemap.Unmapped || m.call
}

// MattersAsOperator reports what Matters does of what a profiler tells to be an operator and
// no annotation: plain words do not count.
func (b *Builder) MattersAsOperator(id NameID) bool {
	return b.Matters(id) && !b.means[id].class.Plain
}

// MarksStep reports whether a host range with this name is a step.
func (b *Builder) MarksStep(id NameID) bool { return b.means[id].class.Role == stagemap.Step }

// KindOf returns what work on the device with this name is, by the name alone.
func (b *Builder) KindOf(id NameID) Kind { return b.means[id].kind }

// Range adds time that a thread of the host spent in something with a name.
func (b *Builder) Range(id NameID, thread, start, end int64) {
	if end < start {
		end = start
	}
	b.saw(start, end)
	m := &b.means[id]
	switch m.class.Role {
	case stagemap.Step:
		if len(b.marks) < maxPieces {
			b.marks = append(b.marks, mark{m.class.Mark, thread, start, end})
		} else {
			b.lost++
		}
	case stagemap.Stage, stagemap.Background:
		b.addPiece(piece{start: start, end: end, thread: thread, stage: int32(m.class.Stage),
			background: m.class.Role == stagemap.Background, yields: m.class.Yields})
	}
	if m.call {
		b.Call(Call{Name: b.names[id], Thread: thread, Start: start, End: end, Bytes: -1, Seq: -1, Self: -1, Peer: -1})
	}
}

// backgroundGap is the pause between two ranges of a background thread over
// which they are taken for one: the engine schedules in between.
const backgroundGap = 50_000

func (b *Builder) addPiece(p piece) {
	if n := len(b.pieces); p.background && n > 0 {
		last := &b.pieces[n-1]
		if last.background && last.thread == p.thread && last.stage == p.stage &&
			p.start <= last.end+backgroundGap && p.end >= last.start-backgroundGap {
			last.start, last.end = min(last.start, p.start), max(last.end, p.end)
			return
		}
	}
	if len(b.pieces) >= maxPieces {
		b.lost++
		return
	}
	b.pieces = append(b.pieces, p)
}

func (b *Builder) saw(start, end int64) {
	if !b.seen {
		b.first, b.last, b.seen = start, end, true
		return
	}
	b.first, b.last = min(b.first, start), max(b.last, end)
}

// Call adds a call. Calls that contain each other on one thread are one: its
// wrapper tells the arguments, what is inside the backend.
func (b *Builder) Call(c Call) {
	if len(b.calls) >= maxCalls {
		b.lostCalls++
		return
	}
	b.saw(c.Start, c.End)
	c.Op = nccl.OpIn(c.Name)
	if self, peer := nccl.Ends(c.Name); c.Peer < 0 && peer >= 0 {
		c.Self, c.Peer = self, peer
	}
	b.calls = append(b.calls, c)
}

// Note adds a note to the profile.
func (b *Builder) Note(kind input.NoteKind, format string, args ...any) {
	b.notes = append(b.notes, input.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// Finish makes the profile. The builder must not be used again; where it is not
// wanted after all, Discard ends it. An error is of the temporary file that
// holds the device work of large profiles. O(n log n) in what the builder has.
func (b *Builder) Finish() (*profile.Rank, error) {
	defer b.Discard()
	r := &profile.Rank{ID: -1, LocalRank: -1, Stages: slices.Clone(b.stages.Stages)}
	b.works.end(&b.launches)
	b.calls.nest()
	host := b.hostSteps(r)
	ops := b.newOperators(r)
	if b.works.hasWork() {
		if err := b.deviceSteps(r, host, ops); err != nil {
			return nil, err
		}
	}
	if b.works.hasWork() {
		r.Comm = host.assignStages(r, b.deviceCalls())
	} else {
		r.Comm, r.Entered = host.assignStages(r, b.hostCalls()), host.assignStages(r, b.enteredCollectives())
		ops.sumFunctions(host)
	}
	ops.finish(host)
	markCut(r)
	r.Streams = len(b.works.lanes)
	b.tellLost()
	r.Notes = b.notes
	return r, nil
}

// Discard ends a builder that is not finished.
func (b *Builder) Discard() { b.works.store.close() }

func (b *Builder) tellLost() {
	if b.lostFunctions > 0 && !b.works.hasWork() {
		b.Note(input.NoteRecorder, "calls of functions beyond the first %d: %d; none is compared", maxFunctions, b.lostFunctions)
	}
	if b.lost > 0 {
		b.Note(input.NoteRecorder, "annotations beyond the first %d, and left out: %d", maxPieces, b.lost)
	}
	if b.lostCalls > 0 {
		b.Note(input.NoteRecorder, "calls of collectives beyond the first %d, and left out: %d", maxCollectives, b.lostCalls)
	}
}
