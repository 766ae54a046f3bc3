package nccllog

import (
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Builder puts files together as a [Log]. Its memory grows with the calls,
// communicators and topology that it keeps, up to Limits.Pending bytes.
type Builder struct {
	log    Log
	lim    ingest.Limits
	held   int64 // bytes, about
	file   int
	reader *Reader

	processes map[processKey]int
	last      processKey // of the last record, and
	lastAt    int        // its process, to spare the map
	live      map[pointerKey]int
	threads   map[threadKey]*thread
	orphans   []orphan
	unused    tally
	damages   tally
	versions  map[string]bool
}

type processKey struct {
	host string
	pid  int64
	file int   // of a process without pid
	dev  int32 // of a process without pid
}

type pointerKey struct {
	process int
	pointer uint64
}

type threadKey struct {
	process int
	tid     int64
	dev     int32
}

// orphan is a call whose process is not known.
type orphan struct {
	call int // index of Calls
	dev  int32
}

// What is held for one of each, bytes; map entries included.
const (
	callBytes    = 200
	commBytes    = 400
	processBytes = 400
	threadBytes  = 300
	nodeBytes    = 64
	pathBytes    = 48
	textBytes    = 100
)

// NewBuilder starts an empty log.
func NewBuilder(lim ingest.Limits) *Builder {
	return &Builder{lim: lim.OrDefault(), lastAt: None, processes: map[processKey]int{}, live: map[pointerKey]int{},
		threads: map[threadKey]*thread{}, versions: map[string]bool{},
		log: Log{Census: Census{Calls: map[nccl.Op]int64{}}}}
}

// Read reads one file to its end. An error is of the input, or says that there is
// more than may be held; what was read until then stays.
func (b *Builder) Read(src *ingest.Source) error {
	b.file = len(b.log.Files)
	b.log.Files = append(b.log.Files, src.Name())
	b.reader = NewReader(src, src.Name(), b.lim)
	for b.reader.Scan() {
		r := b.reader.Record()
		b.count(r)
		b.take(r)
		if b.held > b.lim.Pending {
			return trace.At(trace.Pos{File: src.Name(), Line: r.Line}, trace.Bad(trace.ErrTooLarge,
				"more calls than may be held in %d bytes: give fewer files at once", b.lim.Pending))
		}
	}
	b.log.Census.Lines += b.reader.lines.Pos().Line
	return b.reader.Err()
}

// take puts a record where it belongs.
func (b *Builder) take(r *Record) {
	if r.Kind == VersionLine {
		b.version(r.Text)
	}
	if !r.HasHead {
		if r.Kind == CallLine {
			b.orphan(r)
		}
		return
	}
	p := b.process(r)
	b.log.Processes[p].Lines++
	b.log.Processes[p].mention(r)
	switch r.Kind {
	case CallLine:
		b.call(p, r)
	case TuningLine:
		b.tuning(p, r)
	case CommLine:
		b.commLine(p, r)
	case ShapeLine, ChannelLine:
		b.addition(p, r)
	case TopologyLine:
		b.topology(p, r)
	case WarnLine:
		b.held += textBytes
		b.log.Warnings = append(b.log.Warnings, Warning{Process: p, File: b.file, Line: r.Line, Text: clean(r.Text)})
	}
}

// mention counts a message that begins with an operation.
func (p *Process) mention(r *Record) {
	switch r.Kind {
	case CallLine:
		p.named(r.Call.Op).Calls++
	case TuningLine:
		if r.Tuning.Op != nccl.UnknownOp {
			p.named(r.Tuning.Op).Tunings++
		}
	case Damaged:
		c := cursor{b: r.Text}
		if op := nccl.ParseOp(c.name()); op != nccl.UnknownOp && (c.try(":") || c.try(" [")) {
			p.named(op).Damaged++
		}
	}
}

// named is the mentions of an operation, to be counted up.
func (p *Process) named(op nccl.Op) *Mentions {
	for i := range p.Named {
		if p.Named[i].Op == op {
			return &p.Named[i]
		}
	}
	p.Named = append(p.Named, Mentions{Op: op})
	return &p.Named[len(p.Named)-1]
}

// version keeps what a line says of versions, once.
func (b *Builder) version(text []byte) {
	if !b.versions[string(text)] && len(b.versions) < maxTopics {
		b.versions[string(text)] = true
		b.log.Versions = append(b.log.Versions, clean(text))
	}
}

// process finds the process of a record. One that lost host and pid is told by
// file and device.
func (b *Builder) process(r *Record) int {
	key := processKey{host: r.Head.Host, pid: r.Head.PID}
	if key.pid == 0 {
		key = processKey{file: b.file + 1, dev: r.Head.Device}
	}
	if b.lastAt != None && key == b.last {
		return b.lastAt
	}
	p, ok := b.processes[key]
	if !ok {
		p = len(b.log.Processes)
		b.log.Processes = append(b.log.Processes, Process{Host: key.host, PID: key.pid})
		b.processes[key] = p
		b.held += processBytes + int64(len(key.host))
	}
	b.last, b.lastAt = key, p
	return p
}

// call keeps a call.
func (b *Builder) call(p int, r *Record) {
	comm := b.commOf(p, &r.Call, r.Line)
	i := b.append(p, comm, r)
	if proc := &b.log.Processes[p]; proc.Clock == NoClock {
		proc.Clock = r.Head.Clock
	}
	b.thread(p, r).called(b, i)
}

// append keeps a call of a known or unknown process.
func (b *Builder) append(p, comm int, r *Record) int {
	b.log.Calls = append(b.log.Calls, LoggedCall{Call: r.Call, Process: p, Comm: comm, Tuning: None, TID: r.Head.TID,
		Device: r.Head.Device, Time: r.Head.Time, Clock: r.Head.Clock, File: b.file, Line: r.Line})
	b.log.Census.Calls[r.Call.Op]++
	b.held += callBytes
	return len(b.log.Calls) - 1
}

// orphan keeps a call that has only the communicator's pointer to tell whose it is;
// Log finds out.
func (b *Builder) orphan(r *Record) {
	i := b.append(None, None, r)
	b.log.Calls[i].Orphan = true
	b.orphans = append(b.orphans, orphan{call: i, dev: r.Head.Device})
}

// Log is everything read so far. The builder must not be used any more.
func (b *Builder) Log() *Log {
	b.settle()
	for _, t := range b.threads {
		t.closeBlock(b)
	}
	sortByCount(b.unused.list)
	sortByCount(b.damages.list)
	b.log.Census.Unused, b.log.Census.Damages = b.unused.list, b.damages.list
	return &b.log
}

func sortByCount(list []Example) {
	slices.SortStableFunc(list, func(x, y Example) int { return int(min(max(y.Count-x.Count, -1), 1)) })
}
