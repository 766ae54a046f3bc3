package nsight

import (
	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
)

// The large tables that are read.
const (
	kernelTable  = "CUPTI_ACTIVITY_KIND_KERNEL"
	runtimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME"
	memcpyTable  = "CUPTI_ACTIVITY_KIND_MEMCPY"
	memsetTable  = "CUPTI_ACTIVITY_KIND_MEMSET"
	graphTable   = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	nvtxTable    = "NVTX_EVENTS"
	stringTable  = "StringIds"
)

// threadID is a global thread id of Nsight Systems: hardware and virtual
// machine in the upper 16 bits, then 24 bits of process and 24 of thread.
type threadID int64

const threadBits = 24

// process returns the global id of the thread's process: the same with thread 0.
func (t threadID) process() processID { return processID(t &^ (1<<threadBits - 1)) }

// number returns the number of the thread in its process.
func (t threadID) number() int64 { return int64(t) & (1<<threadBits - 1) }

// processID is a global process id of Nsight Systems, a threadID with thread 0.
type processID int64

// pid returns the number of the process in the profiler's PID namespace.
func (p processID) pid() int64 { return int64(p >> threadBits & (1<<threadBits - 1)) }

// Kinds of NVTX events (ENUM_NSYS_EVENT_TYPE).
const (
	mark         = 34
	pushPop      = 59
	startEnd     = 60
	domainCreate = 75
)

// event is an NVTX event with what the program attached to it, which an export
// has as JSON, as it lay in memory, or not at all. The end is absent for a mark
// and for a range that was open when the capture ended.
type event struct {
	start, end int64
	kind       int64
	thread     threadID
	domain     int64
	text       string // "" when the text was registered:
	textID     int64  // in StringIds, or absent
	row        int64  // of the table
	id         int64  // by which other tables call the event: eventId, or else the row
	json       string // "" when the text was registered:
	jsonID     int64  // in StringIds, or absent
	binary     []byte // valid until the next event
}

// events calls each with every NVTX event; the value is reused. What programs attached is there where communication is kept.
func (r *recording) events(each func(*event)) error {
	var e event
	row := export.Row{"start": &e.start, "end": &e.end, "eventType": &e.kind, "globalTid": (*int64)(&e.thread), "domainId": &e.domain, "text": &e.text, "textId": &e.textID}
	if r.comm != nil {
		row["rowid"], row["eventId"], row["jsonText"], row["jsonTextId"], row["binaryData"] = &e.row, &e.id, &e.json, &e.jsonID, &e.binary
	}
	return r.file.Scan(nvtxTable, row, func() error {
		if e.id == export.Absent {
			e.id = e.row
		}
		each(&e)
		return nil
	})
}

// work is a call of the CUDA runtime or driver, or something that a GPU did.
// Times are nanoseconds since the start of the session.
type work struct {
	start, end  int64
	owner       threadID // of a call, or the process
	device      int64    // CUDA index in its process
	stream      int64
	correlation int64 // of the launch, in its process
	name        int64 // of a call or kernel, in StringIds
	row         int64 // of the table
}

// timeline is the tables with work, in the order in which what happens at once
// is handed over: a call before what it launched.
var timeline = []string{runtimeTable, kernelTable, memcpyTable, memsetTable, graphTable}

// timeline calls each with all API calls and everything that GPUs did, by
// start; the value is reused.
func (r *recording) timeline(order startOrder, each func(table string, w *work) error) error {
	var w work
	row := export.Row{"start": &w.start, "end": &w.end, "globalTid|globalPid": (*int64)(&w.owner),
		"deviceId": &w.device, "streamId": &w.stream, "correlationId": &w.correlation, "nameId|demangledName|shortName": &w.name}
	if r.comm != nil {
		row["rowid"] = &w.row
	}
	return order(r.file, timeline, row, func(table int) error {
		return each(timeline[table], &w)
	})
}
