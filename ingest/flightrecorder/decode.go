package flightrecorder

import (
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// decoder makes a record of communication of a document. What many entries
// have alike is held once.
type decoder struct {
	document
	out    *comms.Record
	groups map[string]int // of out.Groups, by uid and description
	ids    []int64        // of out.Groups, the process's own numbers (pg_id)
	names  map[string]string
	called map[string]operationOf
	alike  map[string]tensorsOf
	frames ordered.Numbers[comms.Frame]
	framed []uint32       // … of those that a container is; 0: not known
	stacks map[string]int // of out.Stacks, by the numbers of their frames
	key    []byte
	head   record
	check  check
	listed string // members as the dump before wrote them
	ranks  []int  // … and read
}

// operationOf is what a profiling_name tells.
type operationOf struct {
	name string
	op   nccl.Op
	peer int
}

// tensorsOf is what entries took and gave, and the elements that they took.
type tensorsOf struct {
	*comms.Tensors
	elements int64
}

// mostFrames is how many frames of a stack are kept: PyTorch records about a
// hundred at most.
const mostFrames = 256

// comm returns the whole dump, or one that is broken off.
func (d *decoder) comm(root value, broken bool, pattern *regexp.Regexp) (*comms.Record, error) {
	if root.kind != dict {
		return nil, d.bad(input.ErrFormat, 0, "no dict at the top, as a Flight Recorder dump has: it may have broken off, or be another pickle")
	}
	d.read(root, &d.head)
	rank, host := RankOf(d.document.name, pattern)
	d.out = &comms.Record{
		Sources:   []comms.Source{{Name: d.document.name, Kind: comms.SourceFlightRecorder}},
		Processes: []comms.Process{{Rank: rank, Host: host, LocalRank: -1, Device: -1}},
	}
	d.ids = d.ids[:0]
	d.groups, d.names, d.called, d.alike = map[string]int{}, map[string]string{}, map[string]operationOf{}, map[string]tensorsOf{}
	d.frames, d.stacks = ordered.Numbers[comms.Frame]{}, map[string]int{}
	d.framed = slices.Grow(d.framed[:0], len(d.containers))[:len(d.containers)]
	clear(d.framed)
	if version := string(d.text(d.head[fVersion])); version != "" && !strings.HasPrefix(version, "2.") {
		d.note(input.NoteRecorder, "Flight Recorder version "+version+", which is read as version 2")
	}
	if d.head[fConfig].kind == null && d.head[fStatus].kind == null && d.head[fEntries].kind == null && d.head[fVersion].kind == null {
		return nil, d.bad(input.ErrFormat, 0, "a dict without entries, pg_config and version: no Flight Recorder dump")
	}
	d.check = check{keys: d.check.keys, broken: broken}
	d.entries()
	d.status()
	if err := d.errExhausted(); err != nil {
		return nil, err
	}
	d.tellExtent(root)
	return d.out, nil
}

func (d *decoder) note(kind input.NoteKind, text string) {
	d.out.Notes = append(d.out.Notes, input.Note{Kind: kind, Text: text})
}

// entries makes calls of all entries, in the order of the ring.
func (d *decoder) entries() {
	skipped := 0
	var e record
	first := int64(-1)
	partial := d.partial()
	for items := range d.parts(d.head[fEntries]) {
		d.out.Calls = slices.Grow(d.out.Calls, min(len(items), d.unread()))
		for _, v := range items {
			if v.kind != dict || d.containers[v.x].taken {
				skipped++
				continue
			}
			d.containers[v.x].taken = true
			if v.x == partial {
				continue
			}
			d.read(v, &e)
			d.checkEntry(v, &e)
			if id, ok := number(e[fRecord]); ok && first < 0 {
				first = max(id, 0)
			}
			if !d.call(&e) {
				skipped++
			}
		}
	}
	d.out.Processes[0].Lost = max(first, 0)
	d.check.faults += skipped
}

// unread returns how many entries there can be: those of a list that names one over
// and over are not.
func (d *decoder) unread() int { return len(d.data)/64 + 1 }

// unknown is a call before anything is read of it.
var unknown = comms.UnknownCall(0)

// call makes the call of one entry, and reports whether it is one.
func (d *decoder) call(e *record) bool {
	created, timed := number(e[fCreated])
	o := d.operation(e[fProfiling])
	if !timed && o.name == "" {
		return false
	}
	t := d.tensors(e)
	d.out.Calls = append(d.out.Calls, unknown)
	c := &d.out.Calls[len(d.out.Calls)-1]
	c.Name, c.Op, c.Peer = o.name, o.op, o.peer
	c.Group, c.Enter, c.HasEnter = d.group(e), created, timed && created != 0
	c.Tensors, c.Count, c.Stack = t.Tensors, t.elements, d.stack(e[fFrames])
	c.State, c.Retired = stateOf(d.text(e[fState])), e[fRetired].kind == boolean && e[fRetired].x != 0
	c.Line = numberOr(e[fRecord], int64(len(d.out.Calls)-1)) + 1
	seq := e[fCollectiveSeq]
	if seq.kind == null {
		seq = e[fSeq]
	}
	if c.Op == nccl.Send || c.Op == nccl.Recv || e[fIsP2P].kind == boolean && e[fIsP2P].x != 0 {
		if p2p, ok := number(e[fP2PSeq]); ok && p2p > 0 {
			seq = e[fP2PSeq]
		}
	}
	c.Seq = numberOr(seq, -1)
	return true
}

// operation returns the operation that a profiling_name names, read once.
func (d *decoder) operation(v value) operationOf {
	b := d.text(v)
	o, ok := d.called[string(b)]
	if !ok {
		o.name = d.intern(v)
		o.op = nccl.OpIn(o.name)
		_, o.peer = nccl.Ends(o.name)
		d.called[string(b)] = o
	}
	return o
}

// number returns a whole number.
func number(v value) (int64, bool) {
	return v.x, v.kind == integer
}

func numberOr(v value, otherwise int64) int64 {
	if v.kind != integer {
		return otherwise
	}
	return v.x
}

// numberOrText returns a whole number, also one that a JSON dump writes as text.
func (d *decoder) numberOrText(v value, otherwise int64) int64 {
	if v.kind != text {
		return numberOr(v, otherwise)
	}
	x, err := strconv.ParseInt(string(d.text(v)), 10, 64)
	if err != nil {
		return otherwise
	}
	return x
}

// intern returns a text, held once.
func (d *decoder) intern(v value) string {
	b := d.text(v)
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := strings.ToValidUTF8(string(b), "�")
	d.names[string(b)] = s
	return s
}

// tensors returns the inputs and outputs of an entry, held once for all entries alike.
func (d *decoder) tensors(e *record) tensorsOf {
	d.key = d.key[:0]
	for _, f := range [...]field{fInSizes, fOutSizes} {
		d.key = binary.AppendUvarint(d.key, uint64(d.length(e[f])))
		for t := range d.itemsOf(e[f]) {
			d.key = binary.AppendUvarint(d.key, uint64(d.length(t)))
			for n := range d.itemsOf(t) {
				d.key = binary.AppendVarint(d.key, numberOr(n, -1))
			}
		}
	}
	for _, f := range [...]field{fInTypes, fOutTypes} {
		d.key = binary.AppendUvarint(d.key, uint64(d.length(e[f])))
		for t := range d.itemsOf(e[f]) {
			name := d.text(t)
			d.key = append(binary.AppendUvarint(d.key, uint64(len(name))), name...)
		}
	}
	if t, ok := d.alike[string(d.key)]; ok {
		return t
	}
	t := tensorsOf{Tensors: &comms.Tensors{InSizes: d.shape(e[fInSizes]), OutSizes: d.shape(e[fOutSizes]), InTypes: d.typeNames(e[fInTypes]), OutTypes: d.typeNames(e[fOutTypes])}}
	t.elements = comms.Elements(t.InSizes)
	d.alike[string(d.key)] = t
	return t
}

// shape returns a list of sizes: of each tensor, its dimensions.
func (d *decoder) shape(v value) (shape [][]int64) {
	for t := range d.itemsOf(v) {
		one := []int64{}
		for n := range d.itemsOf(t) {
			one = append(one, numberOr(n, -1))
		}
		shape = append(shape, one)
	}
	return shape
}

func (d *decoder) typeNames(v value) (names []string) {
	for t := range d.itemsOf(v) {
		names = append(names, d.intern(t))
	}
	return names
}

// stack returns the index of an entry's frames, None where it has none.
func (d *decoder) stack(v value) int {
	if v.kind != list || d.containers[v.x].first < 0 {
		return comms.None
	}
	d.key = d.key[:0]
	for frame := range d.itemsOf(v) {
		if d.key = binary.LittleEndian.AppendUint32(d.key, d.frame(frame)); len(d.key) == 4*mostFrames {
			break
		}
	}
	if i, ok := d.stacks[string(d.key)]; ok {
		return i
	}
	frames := make([]comms.Frame, 0, len(d.key)/4)
	for frame := range d.itemsOf(v) {
		if len(frames) == mostFrames {
			break
		}
		frames = append(frames, d.frameOf(frame))
	}
	i := len(d.out.Stacks)
	d.out.Stacks = append(d.out.Stacks, frames)
	d.stacks[string(d.key)] = i
	return i
}

// frame returns the number of one line of a stack, the same for lines alike.
func (d *decoder) frame(v value) uint32 {
	if v.kind == dict && d.framed[v.x] > 0 {
		return d.framed[v.x]
	}
	n, _ := d.frames.Of(d.frameOf(v))
	if v.kind == dict {
		d.framed[v.x] = uint32(n) + 1
	}
	return uint32(n) + 1
}

func (d *decoder) frameOf(v value) (f comms.Frame) {
	for key, item := range d.pairs(v) {
		switch key.key {
		case fName:
			f.Function = d.intern(item)
		case fFile:
			f.File = d.intern(item)
		case fLine:
			f.Line = int(numberOr(item, 0))
		default:
			d.checkKey(key)
		}
	}
	return f
}

var states = map[string]comms.State{"scheduled": comms.Scheduled, "started": comms.Started, "completed": comms.Completed}

func stateOf(name []byte) comms.State { return states[string(name)] }
