package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
)

const commRun = "../../fixtures/comm/run"

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left on device") }

// chromeRead is an event as the Trace Event Format has it.
type chromeRead struct {
	Ph   string         `json:"ph"`
	Name string         `json:"name"`
	Cat  string         `json:"cat"`
	Pid  *int           `json:"pid"`
	Tid  *int           `json:"tid"`
	Ts   *float64       `json:"ts"`
	Dur  *float64       `json:"dur"`
	Args map[string]any `json:"args"`
}

// chromeLine is one line of a track, in a viewer.
type chromeLine struct{ pid, tid int }

// chromeFile is a trace, its events sorted out.
type chromeFile struct {
	counts  map[string]int // by category
	spans   map[chromeLine][]chromeRead
	threads map[chromeLine]string // names
	order   map[chromeLine]float64
	ranks   map[int]string
}

// readChrome refuses what the Trace Event Format or a viewer does not take: an unknown field or phase, an event without
// what its phase needs, a name that is given twice, a length of nothing, a track without name.
func readChrome(t *testing.T, r *comm.Result) *chromeFile {
	t.Helper()
	var out bytes.Buffer
	if err := Chrome(&out, r); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		DisplayTimeUnit string       `json:"displayTimeUnit"`
		TraceEvents     []chromeRead `json:"traceEvents"`
	}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.DisplayTimeUnit != "ns" && doc.DisplayTimeUnit != "ms" {
		t.Errorf("displayTimeUnit is %q", doc.DisplayTimeUnit)
	}
	f := &chromeFile{map[string]int{}, map[chromeLine][]chromeRead{}, map[chromeLine]string{}, map[chromeLine]float64{}, map[int]string{}}
	for i, e := range doc.TraceEvents {
		if e.Pid == nil || e.Tid == nil || e.Name == "" {
			t.Fatalf("event %d has no process, thread or name: %+v", i, e)
		}
		switch e.Ph {
		case "M":
			f.meta(t, e)
		case "X":
			if e.Ts == nil || *e.Ts < 0 || e.Dur == nil || *e.Dur <= 0 || e.Cat == "" {
				t.Errorf("event %d, %s: %+v", i, e.Name, e)
				continue
			}
			f.counts[e.Cat]++
			at := chromeLine{*e.Pid, *e.Tid}
			if f.threads[at] == "" || f.ranks[at.pid] == "" {
				t.Errorf("%s is on %v, which has no name before it", e.Name, at)
			}
			f.spans[at] = append(f.spans[at], e)
		default:
			t.Errorf("event %d is of phase %q", i, e.Ph)
		}
	}
	return f
}

func (f *chromeFile) meta(t *testing.T, e chromeRead) {
	t.Helper()
	at := chromeLine{*e.Pid, *e.Tid}
	name, _ := e.Args["name"].(string)
	index, numbered := e.Args["sort_index"].(float64)
	switch {
	case e.Name == "process_name" && name != "" && f.ranks[at.pid] == "":
		f.ranks[at.pid] = name
	case e.Name == "thread_name" && name != "" && f.threads[at] == "":
		f.threads[at] = name
	case e.Name == "thread_sort_index" && numbered:
		f.order[at] = index
	case e.Name == "process_sort_index" && numbered && index == float64(at.pid):
	default:
		t.Errorf("metadata %+v", e)
	}
}

// nests holds what a viewer asks of one line: an event lies within the one before it, or after it. Times are taken as
// Perfetto does, as whole nanoseconds cut off from microseconds.
func (f *chromeFile) nests(t *testing.T) {
	t.Helper()
	ns := func(us float64) int64 { return int64(us * 1000) }
	for at, spans := range f.spans {
		sort.SliceStable(spans, func(a, b int) bool { return *spans[a].Ts < *spans[b].Ts })
		var open []int64
		for _, e := range spans {
			start := ns(*e.Ts)
			end := start + ns(*e.Dur)
			for len(open) > 0 && open[len(open)-1] <= start {
				open = open[:len(open)-1]
			}
			if len(open) > 0 && end > open[len(open)-1] {
				t.Errorf("%v %s: %s ends at %d ns, after the event that it began in, at %d", at, f.threads[at], e.Name, end, open[len(open)-1])
			}
			open = append(open, end)
		}
	}
}

// named is the lines of a rank that have a name, in their order on the screen.
func (f *chromeFile) named(pid int, name string) (list []chromeLine) {
	for at, n := range f.threads {
		if at.pid == pid && n == name {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b chromeLine) int { return int(f.order[a] - f.order[b]) })
	return list
}

// The trace has each kernel twice, on the track of its stream and on that of its kind of parallelism, every step, a name and
// a place for every track, and what the calls say.
func TestChrome(t *testing.T) {
	const kernelName = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
	f := readChrome(t, read(t, commRun))
	f.nests(t)
	for cat, want := range map[string]int{"step": 12, "nccl": 132, "TP": 96, "DP": 24, "unknown": 12} {
		if f.counts[cat] != want {
			t.Errorf("%d events of %s, want %d", f.counts[cat], cat, want)
		}
	}
	for rank := range 4 {
		if want := fmt.Sprintf("rank %d (node%d)", rank, rank/2); f.ranks[rank] != want {
			t.Errorf("process %d is %q, want %q", rank, f.ranks[rank], want)
		}
		f.kindsAreOperations(t, rank)
	}
	var tp chromeRead // the first of rank 1, which prints no tuning lines
	for at, spans := range f.spans {
		if at.pid == 1 && spans[0].Args["kind"] == "TP" {
			tp = spans[0]
		}
	}
	for name, want := range map[string]any{"op": "AllReduce", "count": 1048576.0, "dtype": "bfloat16", "bytes": 2097152.0, "communicator": "0x5f3a11c0de4402",
		"kind": "TP", "algorithm": "RING", "protocol": "SIMPLE", "channels": 24.0, "certain": true, "kernel_calls": 1.0,
		"step_name": "iteration 1", "reduction": "sum", "nranks": 2.0, "limit_link": "NVL", "limit_gbps": 80.0, "bus_limit_gbps": 80.0, "kernel": kernelName} {
		if tp.Args[name] != want {
			t.Errorf("%s is %v, want %v", name, tp.Args[name], want)
		}
	}
	if bus, ok := tp.Args["bus_gbps"].(float64); !ok || bus < 50 || bus > 80 {
		t.Errorf("bus bandwidth %v GB/s", tp.Args["bus_gbps"])
	}
}

// kindsAreOperations holds a rank's tracks of kinds against its streams: the same kernels at the same times, with the
// communicator and bytes that the operation has.
func (f *chromeFile) kindsAreOperations(t *testing.T, rank int) {
	t.Helper()
	type kernel struct {
		at, length   float64
		communicator any
		bytes        any
	}
	collect := func(e chromeRead) kernel { return kernel{*e.Ts, *e.Dur, e.Args["communicator"], e.Args["bytes"]} }
	operations, kinds := map[kernel]string{}, map[kernel]string{}
	for at, spans := range f.spans {
		for _, e := range spans {
			if kind, ok := e.Args["kind"].(string); ok && at.pid == rank {
				operations[collect(e)] = kind
			} else if at.pid == rank && e.Cat == f.threads[at] {
				kinds[collect(e)] = e.Cat
			}
		}
	}
	if len(operations) != 33 || len(kinds) != 33 {
		t.Errorf("rank %d: %d operations with a kind, %d events on the tracks of kinds, want 33 of both", rank, len(operations), len(kinds))
	}
	for k, kind := range operations {
		if kinds[k] != kind {
			t.Errorf("rank %d: %v is %s, and %q on the track of kinds", rank, k, kind, kinds[k])
		}
	}
	steps, tp := f.named(rank, "steps"), f.named(rank, "TP")
	if len(steps) != 1 || len(tp) != 1 || f.order[steps[0]] >= f.order[tp[0]] {
		t.Errorf("rank %d: steps are on %v, TP on %v", rank, steps, tp)
	}
}

// Kernels of one stream that overlap, as those that are launched ahead of the end of the one before, stand on
// two lines; steps that contain others stay on one.
func TestChromeOverlaps(t *testing.T) {
	c := read(t, commRun).Recorded
	p := &c.Processes[slices.IndexFunc(c.Processes, func(p comms.Process) bool { return len(p.Kernels) > 0 })]
	first := p.Kernels[0]
	late := first
	late.Start, late.End = first.Start+(first.End-first.Start)/2, first.End+5
	p.Kernels = slices.Insert(p.Kernels, 1, late)
	whole := p.Steps[0]
	half, across := whole, whole
	half.Name, half.End = "half", (whole.Start+whole.End)/2
	across.Name, across.Start, across.End = "across", half.End-1000, whole.End+1000
	p.Steps = append(slices.Clone(p.Steps), half, across)
	f := readChrome(t, analyzed(t, c))
	f.nests(t)
	if f.counts["nccl"] != 133 || f.counts["step"] != 14 {
		t.Errorf("%v", f.counts)
	}
	if lines := f.named(0, fmt.Sprintf("operations, stream %d", first.Stream)); len(lines) != 2 {
		t.Errorf("kernels of the stream are on %v", lines)
	}
	if lines := f.named(0, "steps"); len(lines) != 2 || len(f.spans[lines[1]]) != 1 || f.spans[lines[1]][0].Name != "across" {
		t.Errorf("steps are on %v", lines)
	}
}

// A pipeline of four stages: every message between two stages has its peer, the neighbour; of the two that run it one came last and
// waits for nothing, and the bandwidth is below that of the link.
func TestChromeOfMessages(t *testing.T) {
	f := readChrome(t, read(t, filepath.Join(largedata.Need(t, "data/nccl/dev"), "pp4")))
	f.nests(t)
	messages, waited := 0, 0
	for at, spans := range f.spans {
		for _, e := range spans {
			peers, ok := e.Args["peers"].(string)
			if !ok {
				continue
			}
			messages++
			if near := fmt.Sprintf("%d,%d", at.pid-1, at.pid+1); peers != fmt.Sprint(at.pid-1) && peers != fmt.Sprint(at.pid+1) && peers != near {
				t.Errorf("rank %d exchanges messages with %s", at.pid, peers)
			}
			wait, ok := e.Args["wait_ns"].(float64)
			if !ok || wait < 0 || wait > 1000**e.Dur {
				t.Errorf("rank %d waits %v of %v ns", at.pid, e.Args["wait_ns"], 1000**e.Dur)
			}
			if wait > 0 {
				waited++
			}
			if bus, ok := e.Args["bus_gbps"].(float64); ok && bus > 100 {
				t.Errorf("rank %d: %v GB/s", at.pid, bus)
			}
		}
	}
	if messages < 200 || waited == 0 || waited == messages {
		t.Errorf("%d messages, %d of them waited", messages, waited)
	}
}

// Half of the input makes a valid trace too, and a write that fails is told.
func TestChromeOfParts(t *testing.T) {
	for _, paths := range []string{commRun + "/nccl.node0.4000.log", commRun + "/node1.sqlite"} {
		readChrome(t, read(t, paths)).nests(t)
	}
	if err := Chrome(full{}, read(t, commRun)); err == nil {
		t.Error("the failed write is not reported")
	}
}
