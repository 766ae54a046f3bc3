package answer

import "github.com/sfstat/sfstat/diagnose/evidence"

// Action is something to do next.
type Action struct {
	Action  ActionKind // what to do
	Host    string     // on which host
	Ranks   []int      // on which ranks
	Peers   []int      // ranks to profile as well, to compare with
	Workers []Worker   // which ranks these stand for, of an operator trace whose workers stand for several
	Stages  []string   // in which stages
	Steps   *[2]int64  // first and last step to look at, as recorded
	Window  *int64     // number of the window to look at
	With    Source     // what to look with, or to turn on

	Line      *evidence.SourceLine // line of the program to look at
	Monitored *evidence.Monitored  // quantity in which a GPU or host differed
	Reported  *evidence.Reported   // what the kernel of a host reported
}

// AddPeers returns the action with ranks to compare with.
func (a Action) AddPeers(peers []int) Action {
	a.Peers = peers
	return a
}

// Worker of an operator trace that stands for several ranks.
type Worker struct {
	Worker    int   // the rank that names it
	StandsFor []int // the ranks that it stands for
}

// ActionKind is what to do.
type ActionKind string

// Names returns all kinds of actions.
func (ActionKind) Names() []string {
	return namesOf([]ActionKind{InspectHost, Profile, SampleStack, CheckLoader, ReadLine, DumpStack, CheckKernelLog, TurnOn, TestLink, Compare, CheckMonitored})
}

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
