package inspector

import (
	"encoding/json"
	"strconv"

	"github.com/sfstat/sfstat/trace/nccl"
)

// object is a line as dumped. What a line lacks is nil.
type object struct {
	Header   *header   `json:"header"`
	Metadata *metadata `json:"metadata"`
	Coll     *coll     `json:"coll_perf"`
	P2P      *p2p      `json:"p2p_perf"`
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
	Op     string  `json:"coll"`
	Seq    *int64  `json:"coll_sn"`
	Bytes  *int64  `json:"coll_msg_size_bytes"`
	Took   *int64  `json:"coll_exec_time_us"`
	Timing string  `json:"coll_timing_source"`
	Bus    float64 `json:"coll_busbw_gbs"`
	Trace  *events `json:"event_trace_ts"`
}

type p2p struct {
	Op     string  `json:"p2p"`
	Seq    *int64  `json:"p2p_sn"`
	Peer   *int64  `json:"p2p_peer"`
	Bytes  *int64  `json:"p2p_msg_size_bytes"`
	Took   *int64  `json:"p2p_exec_time_us"`
	Timing string  `json:"p2p_timing_source"`
	Bus    float64 `json:"p2p_busbw_gbs"`
	Trace  *events `json:"event_trace_ts"`
}

type events struct {
	Kernels []kernelEvents `json:"kernel_events"`
}

type kernelEvents struct {
	Start int64 `json:"kernel_start_ts"`
	Stop  int64 `json:"kernel_stop_ts"`
}

// parser turns lines into records.
type parser struct {
	d         *Dump
	processes map[Process]int
	names     map[string]string
}

// Bounds of what is believed.
const (
	mostRanks  = 1 << 20
	mostBytes  = 1 << 56
	mostMicros = 1 << 53 // since 1970, or of a duration
	maxNames   = 1 << 16
)

// parse adds the record of a line; why is "" then, else what is wrong with the line.
func (p *parser) parse(line []byte, at int64) (why string) {
	var o object
	if err := json.Unmarshal(line, &o); err != nil {
		return "no JSON object that can be read"
	}
	if o.Header == nil || o.Header.Rank == nil || o.Header.Ranks == nil {
		return "no header with id, rank and n_ranks"
	}
	r := Record{Line: at, Peer: -1}
	var seq, bytes, took, peer *int64
	var timing string
	var trace *events
	op := ""
	switch {
	case o.Coll != nil:
		op, seq, bytes, took, timing, trace, r.Bus = o.Coll.Op, o.Coll.Seq, o.Coll.Bytes, o.Coll.Took, o.Coll.Timing, o.Coll.Trace, o.Coll.Bus
	case o.P2P != nil:
		op, seq, bytes, took, timing, trace, r.Bus = o.P2P.Op, o.P2P.Seq, o.P2P.Bytes, o.P2P.Took, o.P2P.Timing, o.P2P.Trace, o.P2P.Bus
		if peer = o.P2P.Peer; peer == nil || *peer < 0 || *peer >= mostRanks {
			return "a message without a peer"
		}
		r.Peer = int32(*peer)
	default:
		return "neither coll_perf nor p2p_perf"
	}
	if r.Op = nccl.ParseOp(op); r.Op == nccl.UnknownOp {
		return "an operation that is not NCCL's"
	}
	if seq == nil || bytes == nil || took == nil {
		return "no number, size or duration"
	}
	if !within(*seq, mostMicros) || !within(*bytes, mostBytes) || !within(*took, mostMicros/1000) {
		return "a number, size or duration that cannot be"
	}
	r.Seq, r.Bytes, r.Duration, r.Timing = *seq, *bytes, *took*1000, timings[timing]
	if why := p.place(&r, &o); why != "" {
		return why
	}
	r.traced(trace)
	p.d.Records = append(p.d.Records, r)
	return ""
}

func within(v, most int64) bool { return v >= 0 && v <= most }

// place sets communicator and process.
func (p *parser) place(r *Record, o *object) (why string) {
	id, err := strconv.ParseUint(o.Header.ID, 0, 64)
	if err != nil || id == 0 {
		return "no communicator's hash in the header"
	}
	rank, ranks := *o.Header.Rank, *o.Header.Ranks
	if ranks < 1 || ranks > mostRanks || rank < 0 || rank >= ranks || !within(o.Header.Nodes, mostRanks) {
		return "a rank or number of ranks that cannot be"
	}
	r.Comm, r.Rank, r.Ranks, r.Nodes = id, int32(rank), int32(ranks), int32(o.Header.Nodes)
	if name := o.Header.Name; name != "unknown" {
		r.Name = p.keep(name)
	}
	var who Process
	if o.Metadata != nil {
		if !within(o.Metadata.Dumped, mostMicros) || !within(o.Metadata.PID, 1<<32) {
			return "a time or process that cannot be"
		}
		who = Process{Host: p.keep(o.Metadata.Host), PID: o.Metadata.PID}
		r.Dumped = o.Metadata.Dumped * 1000
	}
	at, ok := p.processes[who]
	if !ok {
		if len(p.processes) >= maxNames {
			return "more processes than one file can have"
		}
		at = len(p.d.Processes)
		p.processes[who] = at
		p.d.Processes = append(p.d.Processes, who)
	}
	r.Process = at
	return ""
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

// traced takes when kernels ran, from the first start of a channel to the last end.
func (r *Record) traced(e *events) {
	if e == nil {
		return
	}
	for _, k := range e.Kernels {
		if k.Start <= 0 || k.Stop < k.Start || k.Stop > mostMicros/1000*999 {
			continue
		}
		if !r.HasTrace || k.Start*1000 < r.Start {
			r.Start = k.Start * 1000
		}
		r.End = max(r.End, k.Stop*1000)
		r.HasTrace = true
	}
}
