package packet

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Schema is the value of the key "schema" in every packet that is read.
const Schema = "sfstat.packet/1"

// field is a key of a packet, as an index into fieldNames.
type field uint8

// The fields in the order in which recorders write them.
const (
	fieldSchema field = iota
	fieldRun
	fieldWindow
	fieldRank
	fieldWorld
	fieldHost
	fieldLocalRank
	fieldRole
	fieldStages
	fieldFirstStep
	fieldDurations
	fieldWall
	fieldSide
	fieldEpoch
	fieldLines
	fieldArrivals
	fieldNotes
	fieldDataWait
	fieldAccumulation
	fieldGatherOK
	fieldCount
)

// required are the fields that every packet has, one bit each.
const required = sidecarRequired | 1<<fieldWorld | 1<<fieldStages | 1<<fieldDurations

var fieldNames = [fieldCount]string{"schema", "run", "window", "rank", "world_size", "host", "local_rank", "role", "stages",
	"first_step", "durations_ns", "wall_ns", "side", "epoch_ns", "lines", "arrivals", "notes", "data_wait", "accumulation", "gather_ok"}

const (
	maxUnknown = 256     // unknown keys in one packet
	maxSide    = 4096    // side channels in one packet
	maxNotes   = 4096    // notes in one packet
	maxKept    = 1 << 14 // names, and roles, that are kept to be used again
	maxKeptLen = 256     // bytes in each
)

// decoder reads packets. It keeps what many packets have in common: names,
// roles, the stage list.
type decoder struct {
	scanner
	reads string // the schema of the lines; "" is Schema
	names map[string]string
	roles map[string]trace.Role // by their JSON

	stagesJSON []byte // of the last packet, and
	stages     trace.Schema

	in      string   // the key whose value is being read, "" between them
	next    field    // that is expected
	seen    uint32   // fields of this packet, one bit each
	unknown []string // keys of this packet that are not fields
	at      [fieldCount]int
	width   int  // of durations_ns
	length  int  // of durations_ns in the last packet
	hasWall bool // wall_ns was given, and not as null
	arrived arrivals
	column  [3]int // entries of the arrays of the side channel being read

	Unknown int64 // keys skipped in all packets
}

// keyError is what is wrong in a line, in which key and at which byte.
type keyError struct {
	key    string
	column int // 1-based
	err    error
}

// decode reads the packet in line into p, which may be a used one: its memory
// is used again. p.Pos is left alone.
func (d *decoder) decode(line []byte, p *trace.Part) *keyError {
	d.begin(line, p)
	f := d.packet(p)
	if f == nil {
		f = d.complete(required)
	}
	if f == nil {
		f = d.check(p)
	}
	if opening := bytes.TrimSpace(line); f != nil && (string(opening) == "{" || string(opening) == "[") {
		f = d.fail(0, input.ErrTruncated, "found %q alone on its line, expected one packet per line (jq -c '.' writes them so)", opening)
	}
	return d.placeFault(f)
}

// placeFault returns a fault with the key that it is in.
func (d *decoder) placeFault(f *fault) *keyError {
	if f == nil {
		return nil
	}
	return &keyError{d.in, f.at + 1, f.err}
}

// begin makes ready for a line, and for p to take it.
func (d *decoder) begin(line []byte, p *trace.Part) {
	d.b, d.i, d.in, d.seen, d.width, d.hasWall = line, 0, "", 0, 0, false
	d.unknown = d.unknown[:0]
	d.arrived.reset()
	*p = trace.Part{Pos: p.Pos, Accumulation: 1, GatherOK: true, Rank: trace.Rank{LocalRank: -1},
		Durations: p.Durations[:0], Wall: p.Wall[:0], Side: p.Side[:0]}
}

func (d *decoder) packet(p *trace.Part) *fault {
	f := d.object("a packet, which is a JSON object", func(key []byte, at int) *fault {
		return d.member(p, key, at)
	})
	if f != nil {
		return f
	}
	if d.space(); d.i < len(d.b) {
		return d.fail(d.i, input.ErrFormat, "found %s after the packet, expected the end of the line", d.excerpt())
	}
	return nil
}

func (d *decoder) member(p *trace.Part, key []byte, at int) *fault {
	name, ok := fieldOf(key, d.next)
	if !ok {
		return d.skipUnknown(key, at)
	}
	d.next = name + 1
	d.in = fieldNames[name]
	if d.seen&(1<<name) != 0 {
		return d.fail(at, input.ErrDuplicate, "the key %q is given twice", d.in)
	}
	d.at[name] = d.i
	d.seen |= 1 << name
	null, f := false, (*fault)(nil)
	if required>>name&1 == 0 {
		null, f = d.null()
	}
	if f == nil && !null {
		f = d.value(p, name)
	}
	if f == nil {
		d.in = ""
	}
	return f
}

// fieldOf looks for the field named key, first where it is expected.
func fieldOf(key []byte, expected field) (field, bool) {
	for i := range fieldCount {
		if f := (expected + i) % fieldCount; string(key) == fieldNames[f] {
			return f, true
		}
	}
	return 0, false
}

func (d *decoder) value(p *trace.Part, name field) (f *fault) {
	var n int64
	switch name {
	case fieldSchema:
		at := d.i
		var s string
		s, f = d.name(trace.MaxName)
		if want := cmp.Or(d.reads, Schema); f == nil && s != want {
			f = d.fail(at, input.ErrFormat, "the schema is %q, this version reads %q", s, want)
		}
	case fieldRun:
		p.Run, f = d.name(trace.MaxName)
	case fieldWindow:
		p.Index, f = d.integer("a window number", 0, math.MaxInt64)
	case fieldRank:
		n, f = d.integer("a rank", 0, trace.MaxRanks-1)
		p.Rank.ID = int(n)
	case fieldWorld:
		n, f = d.integer("a world size", 1, trace.MaxRanks)
		p.WorldSize = int(n)
	case fieldStages:
		p.Schema, f = d.schema()
	case fieldFirstStep:
		p.FirstStep, f = d.integer("a step number", 0, math.MaxInt64)
	case fieldDurations:
		if cap(p.Durations) == 0 { // as many as the last packet had
			p.Durations = make([]int64, 0, d.length)
		}
		p.Durations, d.width, f = d.matrix(p.Durations)
		d.length = len(p.Durations)
	case fieldWall:
		d.hasWall = true
		p.Wall, f = d.nanos(p.Wall)
	case fieldHost:
		p.Rank.Host, f = d.name(trace.MaxName)
	case fieldLocalRank:
		n, f = d.integer("a local rank", -1, trace.MaxRanks-1)
		p.Rank.LocalRank = int(n)
	case fieldRole:
		p.Rank.Role, f = d.role()
	case fieldSide:
		p.Side, f = d.sideChannels(p.Side)
	case fieldEpoch:
		p.Epoch, f = d.integer("nanoseconds since 1970", 0, math.MaxInt64)
	case fieldLines:
		f = d.lines()
	case fieldArrivals:
		f = d.arrivals()
	case fieldNotes:
		p.Notes, f = d.texts("notes", maxNotes)
	case fieldDataWait:
		p.DataWait, f = d.dataWait()
	case fieldAccumulation:
		n, f = d.integer("an accumulation factor", 0, trace.MaxStages)
		p.Accumulation = int(n)
	case fieldGatherOK:
		p.GatherOK, f = d.boolean()
	}
	return f
}

// complete refuses a line without some of its fields.
func (d *decoder) complete(fields uint32) *fault {
	missing := fields &^ d.seen
	switch name := field(bits.TrailingZeros32(missing)); {
	case missing == 0:
		return nil
	case name == fieldSchema:
		return d.fail(0, input.ErrMissing, "the packet has no %q, expected %q: %q", fieldNames[name], fieldNames[name], cmp.Or(d.reads, Schema))
	default:
		return d.fail(0, input.ErrMissing, "the packet has no %q", fieldNames[name])
	}
}

// check holds the parts of the packet against each other.
func (d *decoder) check(p *trace.Part) *fault {
	blame := func(name field, kind error, format string, args ...any) *fault {
		d.in = fieldNames[name]
		return d.fail(d.at[name], kind, format, args...)
	}
	S := len(p.Schema.Stages)
	if d.width == 0 {
		return blame(fieldDurations, input.ErrEmpty, "the packet has no steps")
	}
	if d.width != S {
		return blame(fieldDurations, input.ErrRagged, "the steps have %d durations, %d stages are listed", d.width, S)
	}
	T := p.Steps()
	if !d.hasWall {
		p.Wall = nil
	} else if len(p.Wall) != T {
		return blame(fieldWall, input.ErrRagged, "%d wall times for %d steps", len(p.Wall), T)
	}
	if p.Rank.ID >= p.WorldSize {
		return blame(fieldRank, input.ErrTooLarge, "rank %d in a world of %d: ranks count from 0", p.Rank.ID, p.WorldSize)
	}
	for _, c := range p.Side {
		for _, s := range c.Samples {
			if s.Step < p.FirstStep || s.Step-p.FirstStep >= int64(T) {
				return blame(fieldSide, input.ErrRagged, "channel %q has a sample of step %d, the packet has %d steps from %d", c.Name, s.Step, T, p.FirstStep)
			}
		}
	}
	if err := p.Validate(); err != nil {
		return &fault{0, err}
	}
	if d.seen&(1<<fieldArrivals) != 0 {
		var err error
		if p.Arrivals, err = d.arrived.comm(p); err != nil {
			d.in = fieldNames[fieldArrivals]
			return &fault{d.at[fieldArrivals], err}
		}
	}
	return nil
}

// skipUnknown skips the value of a key that is not ours, unless it came before.
func (d *decoder) skipUnknown(key []byte, at int) *fault {
	d.in = string(key)
	if slices.Contains(d.unknown, d.in) {
		return d.fail(at, input.ErrDuplicate, "the key %q is given twice", d.in)
	}
	if len(d.unknown) == maxUnknown {
		return d.fail(at, input.ErrTooLarge, "more than %d unknown keys", maxUnknown)
	}
	d.unknown = append(d.unknown, d.in)
	d.Unknown++
	f := d.skip(0)
	if f == nil {
		d.in = ""
	}
	return f
}

// name reads a string and keeps one copy of it for all packets.
func (d *decoder) name(limit int) (string, *fault) {
	at := d.i
	b, f := d.text("a string")
	if f != nil {
		return "", f
	}
	if len(b) > limit {
		return "", d.fail(at, input.ErrTooLarge, "a name of %d bytes, at most %d are read", len(b), limit)
	}
	return d.intern(b), nil
}

// intern keeps one copy of a name, as long as there are not too many.
func (d *decoder) intern(b []byte) string {
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if d.names == nil {
		d.names = make(map[string]string)
	}
	if len(d.names) < maxKept && len(s) <= maxKeptLen {
		d.names[s] = s
	}
	return s
}

// schema reads the stage list. Packets repeat it: the JSON of the last one is
// compared before it is read.
func (d *decoder) schema() (trace.Schema, *fault) {
	at := d.i
	if len(d.stagesJSON) > 0 && bytes.HasPrefix(d.b[at:], d.stagesJSON) {
		d.i += len(d.stagesJSON)
		return d.stages, nil
	}
	var stages []string
	f := d.list("an array of stage names", func() *fault {
		if len(stages) == trace.MaxStages {
			return d.fail(d.i, input.ErrTooLarge, "more than %d stages", trace.MaxStages)
		}
		s, f := d.name(trace.MaxStageName)
		stages = append(stages, s)
		return f
	})
	if f != nil {
		return trace.Schema{}, f
	}
	schema := trace.Schema{Stages: stages}
	if err := schema.Validate(); err != nil {
		return trace.Schema{}, &fault{at, err}
	}
	d.stagesJSON = append(d.stagesJSON[:0], d.b[at:d.i]...)
	d.stages = schema
	return schema, nil
}

// role reads coordinates such as {"dp":3,"pp":1}. Windows repeat them.
func (d *decoder) role() (trace.Role, *fault) {
	at := d.i
	if end := bytes.IndexByte(d.b[at:min(len(d.b), at+maxKeptLen)], '}'); end > 0 {
		if r, ok := d.roles[string(d.b[at:at+end+1])]; ok {
			d.i = at + end + 1
			return r, nil
		}
	}
	var coords []trace.Coord
	f := d.object("an object of role coordinates", func(key []byte, keyAt int) *fault {
		if len(coords) == trace.MaxAxes || len(key) > trace.MaxName {
			return d.fail(keyAt, input.ErrTooLarge, "a role of more than %d axes or with a name of more than %d bytes", trace.MaxAxes, trace.MaxName)
		}
		axis := string(key)
		n, f := d.integer("a coordinate", 0, math.MaxInt32)
		coords = append(coords, trace.Coord{Axis: axis, Index: int(n)})
		return f
	})
	if f != nil || len(coords) == 0 {
		return nil, f
	}
	role, err := trace.NewRole(coords...)
	if err != nil {
		return nil, &fault{at, err}
	}
	if d.roles == nil {
		d.roles = make(map[string]trace.Role)
	}
	if len(d.roles) < maxKept && d.i-at <= maxKeptLen {
		d.roles[string(d.b[at:d.i])] = role
	}
	return role, nil
}

// texts reads an array of texts, of most at the utmost.
func (d *decoder) texts(what string, most int) (all []string, f *fault) {
	f = d.list("an array of "+what, func() *fault {
		if len(all) == most {
			return d.fail(d.i, input.ErrTooLarge, "more than %d %s", most, what)
		}
		text, f := d.name(trace.MaxName)
		all = append(all, text)
		return f
	})
	return all, f
}

func (d *decoder) dataWait() (trace.DataWait, *fault) {
	at := d.i
	s, f := d.name(trace.MaxName)
	if f != nil {
		return 0, f
	}
	w, err := trace.ParseDataWait(s)
	if err != nil {
		return 0, &fault{at, err}
	}
	return w, nil
}

// placeInLine names the place within the line for a input.Pos.
func (e *keyError) placeInLine() string {
	col := "column " + strconv.Itoa(e.column)
	switch {
	case e.key == "":
		return col
	case len(e.key) > 60:
		return col + ", key " + strconv.QuoteToASCII(e.key[:60]) + "…"
	case slices.Contains(fieldNames[:], e.key):
		return col + ", " + e.key
	}
	return col + ", key " + strconv.QuoteToASCII(e.key)
}
