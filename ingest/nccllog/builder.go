package nccllog

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Builder puts files together as a [comms.Record]. Its memory grows with the calls,
// communicators and topology that it keeps, up to Limits.Pending bytes.
type Builder struct {
	lim    ingest.Limits
	held   int64 // bytes, about
	stored int64 // bytes of the files read
	source int   // that is being read
	reader *logline.Reader

	comm      comms.Record // sources, calls, warnings and what is counted; the rest is made at the end
	devices   []int32      // of comm.Calls, as their lines' heads say
	processes []process
	groups    []communicator
	blocks    []block
	records   int64
	kinds     [logline.Damaged + 1]int64

	at      map[processKey]int
	last    processKey // of the last record, and
	lastAt  int        // its process, to spare the map
	live    map[pointerKey]int
	threads map[threadKey]*thread
	orphans []orphan
	wired   wiring
}

// process is one process, by host and pid. One whose lines all lost their heads has pid 0.
type process struct {
	host   string
	pid    int64
	source int
	rank   int // in the job, as RCCL says behind calls; -1: nothing says it
	lines  int64
	named  []comms.Lines
}

type processKey struct {
	host   string
	pid    int64
	source int   // of a process without pid
	dev    int32 // of a process without pid
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

// What is held for one of each, bytes; map entries included.
const (
	callBytes    = 400
	commBytes    = 400
	processBytes = 400
	threadBytes  = 300
	nodeBytes    = 64
	pathBytes    = 48
	textBytes    = 100
)

// NewBuilder starts an empty log.
func NewBuilder(lim ingest.Limits) *Builder {
	return &Builder{lim: lim.OrDefault(), lastAt: comms.None, at: map[processKey]int{}, live: map[pointerKey]int{}, threads: map[threadKey]*thread{}}
}

// Read reads one file to its end; name is what results call it. An error is of the input, or says that there is
// more than may be held; what was read until then stays.
func (b *Builder) Read(src *ingest.Source, name string) error {
	b.source = len(b.comm.Sources)
	b.comm.Sources = append(b.comm.Sources, comms.Source{Name: name, Path: src.Name(), Kind: comms.SourceNCCLLog})
	if b.stored += src.Size(); src.Size() == ingest.UnknownSize {
		b.stored = math.MaxInt64 / 2
	}
	most := b.lim.Scale(b.stored).Pending
	b.reader = logline.NewReader(src, src.Name(), b.lim)
	for b.reader.Scan() {
		r := b.reader.Record()
		b.records++
		b.kinds[r.Kind]++
		b.take(r)
		if b.held > most {
			return input.At(input.Pos{File: src.Name(), Line: r.Line}, input.Bad(input.ErrTooLarge,
				"more calls than may be held in %d bytes: give fewer files at once", most))
		}
	}
	return b.reader.Err()
}

// take puts a record where it belongs.
func (b *Builder) take(r *logline.Record) {
	if r.Kind == logline.Damaged {
		b.comm.CountUnread(comms.Unread{Reason: r.Why, Source: b.source, Line: r.Line, Text: clean(r.Text)})
	}
	if !r.HasHead {
		if r.Kind == logline.CallLine {
			b.orphan(r)
		}
		return
	}
	p := b.process(r)
	b.processes[p].lines++
	b.processes[p].mention(r)
	switch r.Kind {
	case logline.CallLine:
		b.call(p, r)
	case logline.TuningLine:
		b.tuning(p, r)
	case logline.CommLine:
		b.commLine(p, r)
	case logline.TopologyLine:
		b.topology(p, r)
	case logline.Other:
		b.wire(r)
	case logline.WarnLine:
		b.held += textBytes
		b.comm.Warnings = append(b.comm.Warnings, comms.Warning{Process: p, Source: b.source, Line: r.Line, Text: clean(r.Text)})
	}
}

// maxExample is how many bytes of a text are kept.
const maxExample = 200

func clean(text []byte) string {
	text = bytes.TrimSpace(text[:min(len(text), maxExample)])
	return strings.ToValidUTF8(string(text), "?")
}

// mention counts a message that begins with an operation.
func (p *process) mention(r *logline.Record) {
	switch r.Kind {
	case logline.CallLine:
		p.lineOf(r.Call.Op).Calls++
	case logline.TuningLine:
		if r.Tuning.Op != nccl.UnknownOp {
			p.lineOf(r.Tuning.Op).Tunings++
		}
	case logline.Damaged:
		if op := logline.Operation(r.Text); op != nccl.UnknownOp {
			p.lineOf(op).Damaged++
		}
	}
}

// lineOf returns the lines of an operation, to be counted up.
func (p *process) lineOf(op nccl.Op) *comms.Lines {
	for i := range p.named {
		if p.named[i].Op == op {
			return &p.named[i]
		}
	}
	p.named = append(p.named, comms.Lines{Op: op})
	return &p.named[len(p.named)-1]
}

// process finds the process of a record. One that lost host and pid is told by
// file and device.
func (b *Builder) process(r *logline.Record) int {
	key := processKey{host: r.Head.Host, pid: r.Head.PID}
	if key.pid == 0 {
		key = processKey{source: b.source + 1, dev: r.Head.Device}
	}
	if b.lastAt != comms.None && key == b.last {
		return b.lastAt
	}
	p, ok := b.at[key]
	if !ok {
		p = len(b.processes)
		b.processes = append(b.processes, process{host: key.host, pid: key.pid, source: b.source, rank: -1})
		b.at[key] = p
		b.held += processBytes + int64(len(key.host))
	}
	b.last, b.lastAt = key, p
	return p
}

// call keeps a call.
func (b *Builder) call(p int, r *logline.Record) {
	group := b.groupOf(p, &r.Call, r.Line)
	i := b.append(p, group, r)
	if r.Call.Global >= 0 {
		b.processes[p].rank, b.groups[group].global = int(r.Call.Global), int(r.Call.Global)
	}
	b.thread(p, r).noteCall(b, i)
}

// append keeps a call of a known or unknown process.
func (b *Builder) append(p, group int, r *logline.Record) int {
	x := &r.Call
	c := comms.UnknownCall(p)
	c.Group, c.Op, c.Launch = group, x.Op, int64(min(x.OpCount, math.MaxInt64))
	c.Enter, c.HasEnter = r.Head.Time, r.Head.Clock != logline.NoClock
	c.Count, c.Bytes, c.Datatype, c.Reduction = int64(min(x.Count, math.MaxInt64)), x.Bytes(), x.Datatype, x.Reduction
	if x.Op.Rooted() || x.Op == nccl.Send || x.Op == nccl.Recv {
		c.Peer = int(x.Root)
	}
	c.Thread, c.Stream, c.Send, c.Recv = r.Head.TID, x.Stream, x.Send, x.Recv
	c.Source, c.Line = b.source, r.Line
	b.comm.Calls, b.devices = append(b.comm.Calls, c), append(b.devices, r.Head.Device)
	b.held += callBytes
	return len(b.comm.Calls) - 1
}

// orphan keeps a call that has only the communicator's pointer to tell whose it is;
// Comm finds out.
func (b *Builder) orphan(r *logline.Record) {
	i := b.append(comms.None, comms.None, r)
	b.orphans = append(b.orphans, orphan{i, r.Call})
}

// Comm returns everything read so far. The builder must not be used any more.
func (b *Builder) Comm() *comms.Record {
	damaged := b.adoptOrphans()
	b.splitProcesses()
	process := b.listProcesses(damaged)
	group := b.listGroups(damaged, process)
	for i := range b.comm.Calls {
		c := &b.comm.Calls[i]
		c.Process, c.Group = process[c.Process], group[c.Group]
	}
	for i := range b.comm.Warnings {
		w := &b.comm.Warnings[i]
		w.Process = process[w.Process]
	}
	for i := range b.blocks {
		if x := &b.blocks[i]; x.group != comms.None {
			if x.group = group[x.group]; x.group != comms.None {
				b.comm.Paths = append(b.comm.Paths, x.ways()...)
			}
		}
	}
	b.comm.Links = b.links()
	for _, text := range b.Concludes() {
		b.comm.Notes = append(b.comm.Notes, input.Note{Kind: input.NoteWired, Text: text})
	}
	slices.SortStableFunc(b.comm.Unread, func(x, y comms.Unread) int { return cmp.Compare(y.Count, x.Count) })
	return &b.comm
}

// splitProcesses makes of a process that drives several GPUs one for each: those that have two ranks of one communicator. What belongs
// to a GPU are the communicators on its device, and their calls.
func (b *Builder) splitProcesses() {
	type member struct {
		process int
		id      uint64
	}
	ranks, several := map[member]int32{}, map[int]bool{}
	for i := range b.groups {
		g := &b.groups[i]
		if g.inferred || g.ID == 0 {
			continue
		}
		key := member{g.process, g.ID}
		if rank, known := ranks[key]; known && rank != g.Rank {
			several[g.process] = true
		}
		ranks[key] = g.Rank
	}
	if len(several) == 0 {
		return
	}
	type device struct {
		process int
		cuda    int32
	}
	made := map[device]int{}
	for i := range b.groups {
		g := &b.groups[i]
		if !several[g.process] || g.inferred {
			continue
		}
		key := device{g.process, g.CudaDev}
		p, known := made[key]
		if !known {
			p = g.process
			if slices.ContainsFunc(slices.Collect(maps.Keys(made)), func(d device) bool { return d.process == g.process }) {
				p = len(b.processes)
				one := b.processes[g.process]
				one.named = nil // its lines are counted once
				b.processes = append(b.processes, one)
			}
			made[key] = p
		}
		if g.process = p; g.global >= 0 {
			b.processes[p].rank = g.global
		}
	}
	for i := range b.comm.Calls {
		if c := &b.comm.Calls[i]; c.Group != comms.None {
			c.Process = b.groups[c.Group].process
		}
	}
}

// listProcesses adds the processes that are believed to the record, and returns the index there of each; of a damaged head that of its owner.
func (b *Builder) listProcesses(damaged map[int]int) []int {
	process, hosts := make([]int, len(b.processes)), map[string]int{} // each host with its clock
	for i := range b.processes {
		x := &b.processes[i]
		if isDamaged(damaged, i) {
			continue
		}
		if _, known := hosts[x.host]; !known {
			hosts[x.host] = len(hosts)
		}
		process[i] = len(b.comm.Processes)
		b.comm.Processes = append(b.comm.Processes, comms.Process{Rank: x.rank, Host: x.host, LocalRank: -1, PID: x.pid, Device: -1, Clock: hosts[x.host],
			Source: x.source, Lines: x.named})
	}
	for p, q := range damaged {
		process[p] = process[q]
	}
	return process
}

// listGroups adds the communicators of these processes, and returns the index of each; None of a damaged head's, which no call is of any more.
func (b *Builder) listGroups(damaged map[int]int, process []int) []int {
	group := slices.Repeat([]int{comms.None}, len(b.groups))
	for i := range b.groups {
		g := &b.groups[i]
		if isDamaged(damaged, g.process) {
			continue
		}
		if g.process = process[g.process]; g.parent != comms.None {
			g.parent = group[g.parent]
		}
		p := &b.comm.Processes[g.process]
		if !g.inferred {
			p.Device = int64(g.CudaDev)
		}
		if g.HasBus {
			p.Bus = g.Bus
		}
		group[i] = len(b.comm.Groups)
		b.comm.Groups = append(b.comm.Groups, g.group())
	}
	return group
}
