package export

// The tables that are read.
const (
	kernelTable  = "CUPTI_ACTIVITY_KIND_KERNEL"
	runtimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME"
	memcpyTable  = "CUPTI_ACTIVITY_KIND_MEMCPY"
	memsetTable  = "CUPTI_ACTIVITY_KIND_MEMSET"
	graphTable   = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	nvtxTable    = "NVTX_EVENTS"
	stringTable  = "StringIds"
	gpuTable     = "TARGET_INFO_GPU"
	deviceTable  = "TARGET_INFO_CUDA_DEVICE"
	sessionTable = "TARGET_INFO_SESSION_START_TIME"
	systemTable  = "TARGET_INFO_SYSTEM_ENV"
	metaTable    = "META_DATA_EXPORT"
	fieldTable   = "NVTX_PAYLOAD_SCHEMA_ENTRIES"
	enumTable    = "NVTX_PAYLOAD_ENUMS"
	linkTable    = "NVTX_EVENTS_PAYLOAD_SCHEMAS"
	plainTable   = "NVTX_EXPORT_TRANSLATION"
	warningTable = "DIAGNOSTIC_EVENT"
)

// ThreadID is a global thread id of Nsight Systems: hardware and virtual
// machine in the upper 16 bits, then 24 bits of process and 24 of thread.
type ThreadID int64

const threadBits = 24

// Process is the global id of the thread's process: the same with thread 0.
func (t ThreadID) Process() ProcessID { return ProcessID(t &^ (1<<threadBits - 1)) }

// ProcessID is a global process id of Nsight Systems, a ThreadID with thread 0.
type ProcessID int64

// PID is the number of the process in the profiler's PID namespace.
func (p ProcessID) PID() int { return int(p >> threadBits & (1<<threadBits - 1)) }

// EventType is the kind of an NVTX event (ENUM_NSYS_EVENT_TYPE).
type EventType int64

const (
	Mark         EventType = 34
	PushPop      EventType = 59
	StartEnd     EventType = 60
	DomainCreate EventType = 75
)

// Event is an NVTX event. End is Absent for a mark and for a range that was
// open when the capture ended.
type Event struct {
	Start, End int64
	Type       EventType
	Thread     ThreadID
	Domain     int64
	Text       string // "" when the text was registered:
	TextID     int64  // in StringIds, or Absent
}

// Events calls each with every NVTX event; the value is reused.
func (f *File) Events(each func(*Event) error) error {
	var e Event
	return f.scan(nvtxTable, e.columns(), func() error { return each(&e) })
}

// Domains calls each with every event that creates a domain: its text is the
// domain's name.
func (f *File) Domains(each func(*Event) error) error {
	if !f.Has(nvtxTable, "eventType") {
		return nil
	}
	return f.Events(func(e *Event) error {
		if e.Type != DomainCreate {
			return nil
		}
		return each(e)
	})
}

func (e *Event) columns() []column {
	return []column{
		{name: "start", num: &e.Start}, {name: "end", num: &e.End}, {name: "eventType", num: (*int64)(&e.Type)},
		{name: "globalTid", num: (*int64)(&e.Thread)}, {name: "domainId", num: &e.Domain},
		{name: "text", text: &e.Text}, {name: "textId", num: &e.TextID},
	}
}

// Strings calls each with every registered string.
func (f *File) Strings(each func(id int64, value string) error) error {
	var id int64
	var value string
	return f.scan(stringTable, []column{{name: "id", num: &id}, {name: "value", text: &value}},
		func() error { return each(id, value) })
}

// Warnings calls each with every warning and error of the capture itself: events that may be lost,
// what could not be traced (ENUM_DIAGNOSTIC_SEVERITY_LEVEL).
func (f *File) Warnings(each func(text string) error) error {
	var severity int64
	var text string
	return f.scan(warningTable, []column{{name: "severity", num: &severity}, {name: "text", text: &text}}, func() error {
		if severity != 2 && severity != 3 {
			return nil
		}
		return each(text)
	})
}

// HasKernels reports whether the file has kernels, by table.
func (f *File) HasKernels() bool { return f.Has(kernelTable, "start", "end") }

// HasCalls reports whether the file has API calls, by table.
func (f *File) HasCalls() bool { return f.Has(runtimeTable, "start", "correlationId", "globalTid") }

// HasEvents reports whether the file has NVTX ranges, by table.
func (f *File) HasEvents() bool { return f.Has(nvtxTable, "start", "end", "eventType", "globalTid") }
