package inspector

import (
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// object is a line as dumped. What a line lacks is nil.
type object struct {
	Header   *header   `json:"header"`
	Metadata *metadata `json:"metadata"`
	Coll     *coll     `json:"coll_perf"`
	P2P      *p2p      `json:"p2p_perf"`
	Stats    *stats    `json:"dump_stats"`  // from 4.1
	Ended    *ended    `json:"summary"`     // of RCCL's profiler
	Proxy    *struct{} `json:"proxy_trace"` // of the network, from 4.2: neither a call nor a kernel
}

// stats begins a dump of one communicator. From 4.3 the records behind it have no header of their own.
type stats struct {
	Colls        int64 `json:"coll_records"`
	CollsDropped int64 `json:"coll_dropped_total"` // of the communicator so far
	P2Ps         int64 `json:"p2p_records"`
	P2PsDropped  int64 `json:"p2p_dropped_total"`
	Proxies      int64 `json:"proxy_records"`
}

type header struct {
	ID    string `json:"id"`
	Name  string `json:"comm_name"`
	Rank  *int64 `json:"rank"`
	Ranks *int64 `json:"n_ranks"`
	Nodes int64  `json:"nnodes"`
}

type metadata struct {
	Dumped int64  `json:"dump_timestamp_us"`
	Host   string `json:"hostname"`
	PID    int64  `json:"pid"`
}

type coll struct {
	Op     string   `json:"coll"`
	Seq    *int64   `json:"coll_sn"`
	Bytes  *int64   `json:"coll_msg_size_bytes"`
	Took   *float64 `json:"coll_exec_time_us"` // whole, but of RCCL's profiler
	Timing string   `json:"coll_timing_source"`
	Trace  *events  `json:"event_trace_ts"`
	Algo   string   `json:"coll_algo"` // from 4.2
	Proto  string   `json:"coll_proto"`
	Parts  *parts   `json:"decomposition"` // of RCCL's profiler
}

// parts is what of a collective its proxies spent, each a mean over those that can, µs.
type parts struct {
	PeerWait float64 `json:"proxy_peer_wait_us"` // for the remote side
}

// ended is the last line of RCCL's profiler.
type ended struct {
	Dropped int64 `json:"dropped_collectives"`
	Leaked  int64 `json:"leaked_collectives"`
}

type p2p struct {
	Op     string   `json:"p2p"`
	Seq    *int64   `json:"p2p_sn"`
	Peer   *int64   `json:"p2p_peer"`
	Bytes  *int64   `json:"p2p_msg_size_bytes"`
	Took   *float64 `json:"p2p_exec_time_us"`
	Timing string   `json:"p2p_timing_source"`
	Trace  *events  `json:"event_trace_ts"`
}

type events struct {
	Kernels []kernelEvents `json:"kernel_events"`
}

type kernelEvents struct {
	Start int64   `json:"kernel_start_ts"`
	Stop  int64   `json:"kernel_stop_ts"`
	Took  float64 `json:"duration_us"` // of RCCL's profiler, whose times are ticks of the device
}

// process is who dumped.
type process struct {
	host string
	pid  int64
}

// groupKey is a communicator of one process.
type groupKey struct {
	process int
	hash    uint64
}

// parser turns lines into calls and their kernels.
type parser struct {
	c         *comms.Record
	processes map[process]int
	clocks    map[string]int // of hosts
	groups    map[groupKey]int
	names     map[string]string
	dump      *object       // that has begun; its header and metadata are those of records without
	left      int64         // records of it that are still to come
	dropped   map[int]int64 // of each communicator, so far
	end       int64         // of the record before, by RCCL's profiler
	missing   int64         // records that dumps announced and that did not come
}

// Bounds of what is believed.
const (
	mostRanks  = 1 << 20
	mostBytes  = 1 << 56
	heldBytes  = 1 << 40 // a message of more is no size that a GPU holds
	mostMicros = 1 << 53 // since 1970, or of a duration
	maxNames   = 1 << 16
)

// kernelClock is the source of a duration that the device itself measured, in its kernel.
const kernelClock = "kernel_gpu"

// parse adds the record of a line; why is "" then, else what is wrong with the line.
func (p *parser) parse(line []byte, at int64) (why string) {
	var o object
	if err := json.Unmarshal(line, &o); err != nil {
		return "no JSON object that can be read"
	}
	if o.Ended != nil {
		p.missing += max(0, o.Ended.Dropped) + max(0, o.Ended.Leaked)
		return ""
	}
	p.fillFromName(&o)
	if why := p.fillFromDump(&o); why != "" || o.Proxy != nil {
		return why
	}
	if o.Header == nil || o.Header.Rank == nil || o.Header.Ranks == nil {
		return "no header with id, rank and n_ranks"
	}
	if o.Stats != nil {
		return p.begin(&o)
	}
	x := o.Coll
	peer := -1
	switch {
	case x != nil:
	case o.P2P != nil:
		m := o.P2P
		if m.Peer == nil || *m.Peer < 0 || *m.Peer >= mostRanks {
			return "a message without a peer"
		}
		peer, x = int(*m.Peer), &coll{Op: m.Op, Seq: m.Seq, Bytes: m.Bytes, Took: m.Took, Timing: m.Timing, Trace: m.Trace}
	default:
		return "neither coll_perf nor p2p_perf"
	}
	op := nccl.ParseOp(x.Op)
	switch {
	case op == nccl.UnknownOp:
		return "an operation that is not NCCL's"
	case x.Seq == nil || x.Bytes == nil || x.Took == nil:
		return "no number, size or duration"
	case !isWithin(*x.Seq, mostMicros) || !isWithin(*x.Bytes, mostBytes) || !(*x.Took >= 0 && *x.Took <= mostMicros/1000):
		return "a number, size or duration that cannot be"
	}
	process, group, why := p.place(&o)
	if why != "" {
		return why
	}
	c := comms.UnknownCall(process)
	c.Group, c.Op, c.OpSeq, c.Peer, c.Line = group, op, *x.Seq, peer, at
	if *x.Bytes <= heldBytes {
		c.Bytes = *x.Bytes
	}
	if algo, proto := nccl.ParseAlgo(x.Algo), nccl.ParseProtocol(x.Proto); algo != nccl.UnknownAlgo {
		c.Tuning = &comms.Tuning{Algo: algo, Protocol: proto}
	}
	p.add(c, x, &o)
	return ""
}

// fillFromDump gives a record without header that of the dump which it is in, and counts it.
func (p *parser) fillFromDump(o *object) (why string) {
	switch {
	case o.Stats != nil || o.Header != nil && o.Metadata != nil && p.left == 0:
		return ""
	case o.Header != nil: // up to 4.2 each has its own
		p.left = max(p.left-1, 0)
		return ""
	case p.dump == nil:
		return "no header, and no dump that it is in"
	case p.left == 0:
		return "a record beyond those that its dump announces"
	}
	p.left--
	o.Header, o.Metadata = p.dump.Header, p.dump.Metadata
	return ""
}

// begin begins a dump. What the one before announced and did not have is missing.
func (p *parser) begin(o *object) (why string) {
	s := o.Stats
	for _, n := range [...]int64{s.Colls, s.CollsDropped, s.P2Ps, s.P2PsDropped, s.Proxies} {
		if !isWithin(n, mostMicros/8) {
			return "a number of records that cannot be"
		}
	}
	_, group, why := p.place(o)
	if why != "" {
		return why
	}
	p.missing += p.left
	p.dump, p.left, p.dropped[group] = o, s.Colls+s.P2Ps+s.Proxies, max(p.dropped[group], s.CollsDropped+s.P2PsDropped)
	return ""
}

// countLost adds up what communicators dropped and what dumps lack, of each process.
func (p *parser) countLost() {
	for g, n := range p.dropped {
		p.c.Processes[p.c.Groups[g].Process].Lost += n
	}
	if p.missing += p.left; p.missing > 0 && len(p.c.Processes) > 0 {
		p.c.Processes[0].Lost += p.missing
	}
}

func isWithin(v, most int64) bool { return v >= 0 && v <= most }

// add keeps a call and the kernel that ran it.
func (p *parser) add(c comms.Call, x *coll, o *object) {
	of := &p.c.Processes[c.Process]
	k := comms.Kernel{Duration: int64(*x.Took * 1000), Stream: int64(c.Group), Correlation: c.Line}
	k.Op, k.Datatype = c.Op, nccl.UnknownType
	if c.Op.PointToPoint() {
		k.Op = nccl.SendRecv
	}
	if o.Metadata != nil {
		k.Reported = o.Metadata.Dumped * 1000
	}
	if x.Parts != nil {
		p.takeParts(&k, x)
	} else {
		span(&k, x.Trace)
	}
	if k.HasSpan && x.Timing == kernelClock && k.Duration > 0 {
		k.Start = k.End - k.Duration
	}
	if k.HasSpan && (of.Begin == 0 || k.Start < of.Begin) {
		of.Begin = k.Start
	}
	c.Kernel, c.KernelSure = len(of.Kernels), true
	of.Kernels = append(of.Kernels, k)
	p.c.Calls = append(p.c.Calls, c)
}

// named is the name of a file of RCCL's profiler, which has what its header lacks.
var named = regexp.MustCompile(`_rank\d+_(.+)_pid(\d+)_(0x[0-9a-fA-F]+)\.jsonl`)

// fillFromName takes the communicator, host and process of a record of RCCL's profiler from the file's name.
func (p *parser) fillFromName(o *object) {
	if o.Header == nil || o.Header.ID != "" {
		return
	}
	if m := named.FindStringSubmatch(p.c.Sources[0].Path); m != nil {
		o.Header.ID = m[3]
		pid, _ := strconv.ParseInt(m[2], 10, 64)
		o.Metadata = &metadata{Host: m[1], PID: pid}
	}
}

// takeParts takes what RCCL's profiler has of a kernel. Its times are ticks of the device's own clock, of as many to the
// microsecond as the duration beside them says: they order the records of a rank, and compare with no other's.
func (p *parser) takeParts(k *comms.Kernel, x *coll) {
	if wait := x.Parts.PeerWait; wait >= 0 && wait <= mostMicros/1000 {
		k.PeerWait, k.HasPeerWait = int64(wait*1000), true
	}
	p.end += k.Duration
	k.Reported = p.end
	if x.Trace == nil {
		return
	}
	for _, e := range x.Trace.Kernels {
		if ticks := e.Stop - e.Start; ticks > 0 && e.Took > 0 && isWithin(e.Stop, mostMicros) {
			if at := float64(e.Stop) * e.Took * 1000 / float64(ticks); at < 1<<62 {
				k.Reported, p.end = int64(at), int64(at)
			}
		}
	}
}

// span takes when kernels ran, from the first start of a channel to the last end.
func span(k *comms.Kernel, e *events) {
	if e == nil {
		return
	}
	for _, x := range e.Kernels {
		if x.Start <= 0 || x.Stop < x.Start || x.Stop > mostMicros/1000*999 {
			continue
		}
		if !k.HasSpan || x.Start*1000 < k.Start {
			k.Start = x.Start * 1000
		}
		k.End, k.HasSpan = max(k.End, x.Stop*1000), true
	}
}

// place finds the process and the communicator of a line.
func (p *parser) place(o *object) (at, group int, why string) {
	id, err := strconv.ParseUint(o.Header.ID, 0, 64)
	if err != nil || id == 0 {
		return 0, 0, "no communicator's hash in the header nor, as of RCCL's profiler, in the name of the file (..._rank0_HOST_pid7_0xHASH.jsonl)"
	}
	rank, ranks := *o.Header.Rank, *o.Header.Ranks
	if ranks < 1 || ranks > mostRanks || rank < 0 || rank >= ranks || !isWithin(o.Header.Nodes, mostRanks) {
		return 0, 0, "a rank or number of ranks that cannot be"
	}
	var who process
	if m := o.Metadata; m != nil {
		if !isWithin(m.Dumped, mostMicros) || !isWithin(m.PID, 1<<32) {
			return 0, 0, "a time or process that cannot be"
		}
		who = process{p.keep(m.Host), m.PID}
	}
	at, ok := p.processes[who]
	if !ok {
		if len(p.processes) >= maxNames {
			return 0, 0, "more processes than one file can have"
		}
		at = p.newProcess(who)
	}
	key := groupKey{at, id}
	if group, ok = p.groups[key]; !ok {
		group = len(p.c.Groups)
		p.groups[key] = group
		g := comms.Group{Process: at, ID: id, Rank: int(rank), Size: int(ranks), FromStart: true, Enqueued: -1, Completed: -1}
		if o.Header.Name != "unknown" {
			g.Name = p.keep(o.Header.Name)
		}
		p.c.Groups = append(p.c.Groups, g)
	}
	return at, group, ""
}

// newProcess adds a process. Those of one host read one clock.
func (p *parser) newProcess(who process) int {
	clock, known := p.clocks[who.host]
	if !known {
		clock = len(p.clocks)
		p.clocks[who.host] = clock
	}
	at := len(p.c.Processes)
	p.processes[who] = at
	p.c.Processes = append(p.c.Processes, comms.Process{ID: who.pid, Rank: -1, Host: who.host, LocalRank: -1, PID: who.pid, Device: -1, Clock: clock})
	return at
}

// keep holds each text once.
func (p *parser) keep(text string) string {
	if kept, ok := p.names[text]; ok {
		return kept
	}
	if len(p.names) < maxNames {
		p.names[text] = text
	}
	return text
}
