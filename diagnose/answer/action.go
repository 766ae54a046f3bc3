package answer

import "github.com/sfstat/sfstat/diagnose/evidence"

// Action is something to do next.
type Action struct {
	Action ActionKind `json:"action"`
	Host   string     `json:"host,omitempty"`
	Ranks  []int      `json:"ranks,omitempty"` // the suspects first
	Stages []string   `json:"stages,omitempty"`
	Steps  *[2]int64  `json:"steps,omitempty"` // first and last, as recorded
	Window *int64     `json:"window,omitempty"`
	With   Source     `json:"with,omitempty"`

	Line *evidence.SourceLine `json:"source_line,omitempty"` // to look at
	// What monitoring shows, of CheckMonitored: one of them.
	Monitored *evidence.Monitored `json:"monitored,omitempty"`
	Reported  *evidence.Reported  `json:"reported,omitempty"`
}

// ActionKind is what to do.
type ActionKind string

const (
	InspectHost    ActionKind = "inspect_host"     // drain it, or look at its clocks, throttling, temperature
	Profile        ActionKind = "profile"          // ranks in steps, with a kernel profiler
	SampleStack    ActionKind = "sample_stack"     // py-spy on ranks
	CheckLoader    ActionKind = "check_loader"     // the data loader's own metrics
	ReadLine       ActionKind = "read_line"        // of the program, that takes the rank longer than its peers
	DumpStack      ActionKind = "dump_stack"       // py-spy dump on ranks that stand still
	CheckKernelLog ActionKind = "check_kernel_log" // of a host, for Xid errors
	TurnOn         ActionKind = "turn_on"          // a source that would decide
	TestLink       ActionKind = "test_link"        // nccl-tests between ranks
	Compare        ActionKind = "compare"          // with a healthy run, or another job
	CheckMonitored ActionKind = "check_monitored"  // in what a GPU or host differed at the time
)
