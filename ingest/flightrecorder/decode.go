package flightrecorder

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/nccl"
)

// decoder makes a record of communication of a document. What many entries
// have alike is held once.
type decoder struct {
	document
	out    *trace.Comm
	groups map[string]int // of out.Groups, by uid and description
	ids    []int64        // of out.Groups, the process's own numbers (pg_id)
	names  map[string]string
	alike  map[string]*trace.CommTensors
	stacks map[string]int // of out.Stacks, by content
	seen   map[string]int // … by where their texts stand
	key    []byte
	head   record
}

// mostFrames is how many frames of a stack are kept: PyTorch records about a
// hundred at most.
const mostFrames = 256

// comm is the whole dump.
func (d *decoder) comm(root value, truncated bool, pattern *regexp.Regexp) (*trace.Comm, error) {
	if root.kind != dict {
		return nil, d.bad(trace.ErrFormat, 0, "no dict at the top, as a Flight Recorder dump has: it may have broken off, or be another pickle")
	}
	d.read(root, &d.head)
	rank, host := RankOf(d.document.name, pattern)
	d.out = &trace.Comm{
		Sources:   []trace.CommSource{{Name: d.document.name, Kind: trace.SourceFlightRecorder}},
		Processes: []trace.CommProcess{{Rank: rank, Host: host, LocalRank: -1, Device: -1}},
	}
	d.ids = d.ids[:0]
	d.groups, d.names, d.alike = map[string]int{}, map[string]string{}, map[string]*trace.CommTensors{}
	d.stacks, d.seen = map[string]int{}, map[string]int{}
	if version := string(d.text(d.head[fVersion])); version != "" && !strings.HasPrefix(version, "2.") {
		d.note(trace.NoteRecorder, "Flight Recorder version "+version+", which is read as version 2")
	}
	if d.head[fConfig].kind == null && d.head[fStatus].kind == null && d.head[fEntries].kind == null && d.head[fVersion].kind == null {
		return nil, d.bad(trace.ErrFormat, 0, "a dict without entries, pg_config and version: no Flight Recorder dump")
	}
	d.entries()
	d.status()
	if err := d.exhausted(); err != nil {
		return nil, err
	}
	if truncated {
		d.note(trace.NoteTruncated, fmt.Sprintf("the dump breaks off after %d entries", len(d.out.Calls)))
	}
	return d.out, nil
}

func (d *decoder) note(kind trace.NoteKind, text string) {
	d.out.Notes = append(d.out.Notes, trace.Note{Kind: kind, Text: text})
}

// entries makes calls of all entries, in the order of the ring.
func (d *decoder) entries() {
	skipped := 0
	var e record
	first := int64(-1)
	for items, next := d.chunk(d.head[fEntries]); items != nil; items, next = d.next(next) {
		d.out.Calls = slices.Grow(d.out.Calls, min(len(items), d.unread()))
		for _, v := range items {
			if v.kind != dict || d.containers[v.x].taken {
				skipped++
				continue
			}
			d.containers[v.x].taken = true
			d.read(v, &e)
			if id, ok := number(e[fRecord]); ok && first < 0 {
				first = max(id, 0)
			}
			if call, ok := d.call(&e); ok {
				d.out.Calls = append(d.out.Calls, call)
			} else {
				skipped++
			}
		}
	}
	d.out.Processes[0].Lost = max(first, 0)
	if skipped > 0 {
		d.note(trace.NoteRecorder, fmt.Sprintf("%d entries without a time of entry or a name are left out", skipped))
	}
}

// unread is how many entries there can be: those of a list that names one over
// and over are not.
func (d *decoder) unread() int { return len(d.data)/64 + 1 }

// call is one entry.
func (d *decoder) call(e *record) (c trace.CommCall, ok bool) {
	created, timed := number(e[fCreated])
	name := d.held(e[fProfiling])
	if !timed && name == "" {
		return c, false
	}
	c = trace.UnknownCall(0)
	c.Group, c.Name, c.Enter, c.HasEnter = d.group(e), name, created, timed && created != 0
	c.Tensors, c.Stack = d.tensors(e), d.stack(e[fFrames])
	c.State, c.Retired = stateOf(d.text(e[fState])), e[fRetired].kind == boolean && e[fRetired].x != 0
	c.Line = numberOr(e[fRecord], int64(len(d.out.Calls))) + 1
	c.Op, c.Peer = operation(name)
	seq := e[fCollectiveSeq]
	if seq.kind == null {
		seq = e[fSeq]
	}
	if c.Op == nccl.Send || c.Op == nccl.Recv || e[fIsP2P].kind == boolean && e[fIsP2P].x != 0 {
		if p2p, ok := number(e[fP2PSeq]); ok && p2p > 0 {
			seq = e[fP2PSeq]
		}
	}
	c.Seq, c.OpID = numberOr(seq, -1), numberOr(e[fOpID], -1)
	c.Count = elements(c.Tensors.InSizes)
	return c, true
}

// number is a whole number, also one that a JSON dump writes as text.
func number(v value) (int64, bool) {
	return v.x, v.kind == integer
}

func numberOr(v value, otherwise int64) int64 {
	if v.kind != integer {
		return otherwise
	}
	return v.x
}

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

// held is a text, held once.
func (d *decoder) held(v value) string {
	b := d.text(v)
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := strings.ToValidUTF8(string(b), "�")
	d.names[string(b)] = s
	return s
}

// tensors is what an entry took and gave, held once for all entries alike.
func (d *decoder) tensors(e *record) *trace.CommTensors {
	d.key = d.key[:0]
	for _, f := range [...]field{fInSizes, fOutSizes} {
		for tensors, next := d.chunk(e[f]); tensors != nil; tensors, next = d.next(next) {
			for _, t := range tensors {
				for dims, more := d.chunk(t); dims != nil; dims, more = d.next(more) {
					for _, n := range dims {
						d.key = binary.AppendVarint(d.key, numberOr(n, -1))
					}
				}
				d.key = append(d.key, ending...)
			}
		}
		d.key = append(d.key, ending...)
	}
	for _, f := range [...]field{fInTypes, fOutTypes} {
		for types, next := d.chunk(e[f]); types != nil; types, next = d.next(next) {
			for _, t := range types {
				d.key = append(append(d.key, d.text(t)...), 0)
			}
		}
		d.key = append(d.key, ending...)
	}
	if t, ok := d.alike[string(d.key)]; ok {
		return t
	}
	t := &trace.CommTensors{InSizes: d.shape(e[fInSizes]), OutSizes: d.shape(e[fOutSizes]), InTypes: d.typeNames(e[fInTypes]), OutTypes: d.typeNames(e[fOutTypes])}
	d.alike[string(d.key)] = t
	return t
}

// ending is no varint and no name of a type.
const ending = "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"

// shape is a list of sizes: of each tensor, its dimensions.
func (d *decoder) shape(v value) (shape [][]int64) {
	for tensors, next := d.chunk(v); tensors != nil; tensors, next = d.next(next) {
		for _, t := range tensors {
			one := []int64{}
			for dims, more := d.chunk(t); dims != nil; dims, more = d.next(more) {
				for _, n := range dims {
					one = append(one, numberOr(n, -1))
				}
			}
			shape = append(shape, one)
		}
	}
	return shape
}

func (d *decoder) typeNames(v value) (names []string) {
	for items, next := d.chunk(v); items != nil; items, next = d.next(next) {
		for _, t := range items {
			names = append(names, d.held(t))
		}
	}
	return names
}

// stack is the index of an entry's frames, None where it has none.
func (d *decoder) stack(v value) int {
	if v.kind != list || d.containers[v.x].first < 0 {
		return trace.None
	}
	d.key = d.key[:0]
	left := mostFrames
	for items, next := d.chunk(v); items != nil && left > 0; items, next = d.next(next) {
		items = items[:min(len(items), left)]
		left -= len(items)
		for _, frame := range items {
			f := d.frame(frame)
			d.key = binary.LittleEndian.AppendUint64(d.key, uint64(f.function.x)<<32|uint64(f.function.n))
			d.key = binary.LittleEndian.AppendUint64(d.key, uint64(f.file.x)<<32|uint64(f.file.n))
			d.key = binary.LittleEndian.AppendUint32(d.key, uint32(f.line.x))
		}
	}
	if i, ok := d.seen[string(d.key)]; ok {
		return i
	}
	frames := d.frames(v)
	content := fmt.Sprint(frames)
	i, ok := d.stacks[content]
	if !ok {
		i = len(d.out.Stacks)
		d.out.Stacks = append(d.out.Stacks, frames)
		d.stacks[content] = i
	}
	d.seen[string(d.key)] = i
	return i
}

// frame is one line of a stack.
type frame struct{ function, file, line value }

func (d *decoder) frame(v value) (f frame) {
	for items, next := d.chunk(v); items != nil; items, next = d.next(next) {
		for i := 0; i+1 < len(items); i += 2 {
			switch items[i].key {
			case fName:
				f.function = items[i+1]
			case fFile:
				f.file = items[i+1]
			case fLine:
				f.line = items[i+1]
			}
		}
	}
	return f
}

func (d *decoder) frames(v value) (frames []trace.Frame) {
	for items, next := d.chunk(v); items != nil && len(frames) < mostFrames; items, next = d.next(next) {
		for _, v := range items[:min(len(items), mostFrames-len(frames))] {
			f := d.frame(v)
			frames = append(frames, trace.Frame{Function: d.held(f.function), File: d.held(f.file), Line: int(numberOr(f.line, 0))})
		}
	}
	return frames
}

var states = map[string]trace.CommState{"scheduled": trace.CommScheduled, "started": trace.CommStarted, "completed": trace.CommCompleted}

func stateOf(name []byte) trace.CommState { return states[string(name)] }

// elements is the number of elements of all tensors, −1 where it is not known.
func elements(shape [][]int64) int64 {
	if len(shape) == 0 {
		return -1
	}
	sum := int64(0)
	for _, t := range shape {
		n := int64(1)
		for _, dim := range t {
			if dim < 0 || dim > 0 && n > (1<<62)/dim {
				return -1
			}
			n *= dim
		}
		if sum += n; sum < 0 {
			return -1
		}
	}
	return sum
}
