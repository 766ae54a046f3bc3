package nsight

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Magic begins every file that may be an export.
const Magic = export.Magic

// Options of Read. The zero value is usable.
type Options struct {
	Limits  ingest.Limits
	Stages  *stagemap.Map // nil: the built-in one
	Detail  profiler.Detail
	Refused []string // exports of the run that were refused before
}

// ErrForeign is what [Check] says of a whole database that is none of Nsight Systems.
var ErrForeign = export.ErrForeign

// Check reports why the file at path cannot be an export, by its header and
// its tables; nil when it can.
func Check(path string) error {
	f, err := export.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// recording is what is being read of one file.
type recording struct {
	file      *export.File
	path      string
	o         Options
	host      string           // "" when not recorded
	epoch     int64            // nanoseconds UTC at which the session's times are 0; not above 0 when not recorded
	names     map[int64]string // StringIds
	domains   map[domain]string
	gpus      map[device]int64
	processes map[processID]*process
	known     map[string]stagemap.Class      // of texts of NVTX ranges
	shapes    map[int64]profiler.LaunchShape // of API calls, by the string id of their names
	warnings  []string                       // of the capture, different ones
	skipped   int                            // rows whose times cannot be
	open      int                            // steps and stages that had not ended
}

type domain struct {
	process processID
	id      int64
}

type device struct{ pid, cuda int64 }

// read reads one file. The ranks are in the order of their GPUs; their numbers
// are those that the process gave itself, −1 where it did not.
func read(path string, o Options) (ranks []*process, err error) {
	if o.Stages == nil {
		o.Stages = stagemap.Default()
	}
	ranks, err = readBy(path, o, (*export.File).Merge)
	if errors.Is(err, export.ErrUnordered) {
		return readBy(path, o, (*export.File).Timeline)
	}
	return ranks, err
}

// inOrder hands on the rows of tables by their start.
type inOrder func(f *export.File, tables []string, row export.Row, each func(table int) error) error

func readBy(path string, o Options, order inOrder) (ranks []*process, err error) {
	f, err := export.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := newRecording(f, path, o)
	defer r.discard()
	if err := r.tables(); err != nil {
		return nil, err
	}
	if err := r.events(r.event); err != nil {
		return nil, err
	}
	if err := r.timeline(order, r.took); err != nil {
		return nil, err
	}
	if ranks, err = r.ranks(); err != nil {
		return nil, input.At(input.Pos{File: path}, err)
	}
	if len(ranks) == 0 {
		return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty,
			"no process in it ran work on a GPU or marked steps: record with nsys profile --trace=cuda,nvtx"))
	}
	return ranks, nil
}

func newRecording(f *export.File, path string, o Options) *recording {
	return &recording{file: f, path: path, o: o, names: make(map[int64]string), domains: make(map[domain]string), gpus: make(map[device]int64),
		processes: make(map[processID]*process), known: make(map[string]stagemap.Class), shapes: make(map[int64]profiler.LaunchShape)}
}

// discard ends the profiles that are not finished.
func (r *recording) discard() {
	for _, p := range r.processes {
		if p.b != nil {
			p.b.Discard()
		}
	}
}

// tables reads the small tables.
func (r *recording) tables() (err error) {
	if err := r.session(); err != nil {
		return err
	}
	room := r.o.Limits.OrDefault().Pending
	var id int64
	var value string
	err = r.file.Scan(stringTable, export.Row{"id": &id, "value": &value}, func() error {
		if room -= int64(len(value)) + 64; room < 0 {
			return input.Bad(input.ErrTooLarge, "more than %d bytes of strings", r.o.Limits.OrDefault().Pending)
		}
		r.names[id] = value
		return nil
	})
	if err != nil {
		return err
	}
	var d device
	var gpu int64
	err = r.file.Scan("TARGET_INFO_CUDA_DEVICE", export.Row{"pid": &d.pid, "cudaId": &d.cuda, "gpuId": &gpu}, func() error {
		if d.pid != export.Absent && d.cuda != export.Absent && gpu != export.Absent {
			r.gpus[d] = gpu
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.events(func(e *event) {
		if e.kind == domainCreate {
			r.domains[domain{e.thread.process(), e.domain}] = r.textOf(e)
		}
	})
}

// session reads what the file says of the recording as a whole.
func (r *recording) session() error {
	var epoch, severity int64
	var name, text string
	return cmp.Or(
		r.file.Scan("TARGET_INFO_SESSION_START_TIME", export.Row{"utcEpochNs": &epoch}, func() error {
			if r.epoch <= 0 {
				r.epoch = epoch
			}
			return nil
		}),
		r.file.Scan("TARGET_INFO_SYSTEM_ENV", export.Row{"name": &name, "value": &text}, func() error {
			if name == "Hostname" && r.host == "" {
				r.host = text
			}
			return nil
		}),
		r.file.Scan("DIAGNOSTIC_EVENT", export.Row{"severity": &severity, "text": &text}, func() error {
			warns := severity == 2 || severity == 3 // ENUM_DIAGNOSTIC_SEVERITY_LEVEL: events that may be lost, what could not be traced
			if warns && len(r.warnings) < maxWarnings && !slices.Contains(r.warnings, text) {
				r.warnings = append(r.warnings, text)
			}
			return nil
		}))
}

// maxWarnings is how many warnings of a capture are told.
const maxWarnings = 3

func (r *recording) textOf(e *event) string {
	if e.text == "" && e.textID != export.Absent {
		return r.names[e.textID]
	}
	return e.text
}

// latest bounds times: a hundred years of recording.
const latest = 1 << 61

// times are a start and an end on the common axis; ok is false when they
// cannot be.
func (r *recording) times(start, end int64) (from, to int64, ok bool) {
	if start < 0 || end < start || end > latest {
		r.skipped++
		return 0, 0, false
	}
	if e := r.epoch; e > 0 && e < latest {
		start, end = start+e, end+e
	}
	return start, end, true
}

// ncclDomain is the NVTX domain of NCCL's own ranges.
const ncclDomain = "NCCL"

// event takes an NVTX event.
func (r *recording) event(e *event) {
	if e.kind != pushPop && e.kind != startEnd && e.kind != mark {
		return
	}
	p := r.process(e.thread.process())
	text := r.textOf(e)
	if n, ok := rankIn(text); ok {
		claim(&p.claimed, n)
	}
	if e.kind == mark {
		return
	}
	called := strings.HasPrefix(text, "nccl") && (r.domains[domain{p.id, e.domain}] == ncclDomain || !strings.Contains(text, ":"))
	class := r.classify(text)
	if !called && class.Role == stagemap.Unmapped && !strings.Contains(text, ":") {
		return
	}
	if e.end == export.Absent {
		if class.Role != stagemap.Unmapped {
			r.open++
		}
		return
	}
	start, end, ok := r.times(e.start, e.end)
	switch {
	case !ok:
	case called:
		if nccl.OpIn(text) != nccl.UnknownOp {
			p.b.Call(profiler.Call{Name: text, Thread: int64(e.thread), Start: start, End: end, Seq: -1, Bytes: -1, Self: -1, Peer: -1})
		}
	default:
		if class.Role == stagemap.Step {
			p.marks++
		}
		if id := p.b.Name([]byte(text)); p.b.Matters(id) {
			p.b.Range(id, int64(e.thread), start, end)
		}
	}
}

// maxKnown is how many texts are remembered with their class. Programs may
// number their ranges.
const maxKnown = 1 << 14

func (r *recording) classify(text string) stagemap.Class {
	class, ok := r.known[text]
	if !ok {
		if len(r.known) >= maxKnown {
			clear(r.known)
		}
		class = r.o.Stages.Classify(text)
		r.known[text] = class
	}
	return class
}

// process is the process with this id, made if there is none.
func (r *recording) process(id processID) *process {
	p := r.processes[id]
	if p == nil {
		p = &process{id: id, b: profiler.NewBuilder(r.o.Stages, r.o.Detail), names: make(map[int64]profiler.NameID), devices: make(map[int64]int), claimed: unclaimed}
		r.processes[id] = p
	}
	return p
}

// took takes an API call or a piece of work on a GPU.
func (r *recording) took(table string, w *work) {
	if table == runtimeTable {
		r.call(w)
	} else {
		r.activity(table, w)
	}
}

func (r *recording) call(w *work) {
	shape, ok := r.shapes[w.name]
	if !ok {
		if shape = profiler.LaunchShapeOf(r.names[w.name]); r.names[w.name] == "" {
			shape = profiler.LaunchesOne
		}
		r.shapes[w.name] = shape
	}
	if shape == profiler.LaunchesNothing || w.correlation <= 0 {
		return
	}
	if at, _, ok := r.times(w.start, w.start); ok {
		r.process(w.owner.process()).b.Launch(w.correlation, at, shape)
	}
}

func (r *recording) activity(table string, w *work) {
	start, end, ok := r.times(w.start, w.end)
	if !ok {
		return
	}
	p := r.process(w.owner.process())
	p.devices[w.device]++
	p.work++
	out := profiler.Work{Queue: w.device<<32 | w.stream&(1<<32-1), Start: start, End: end, Correlation: w.correlation, Kind: profiler.Memory}
	switch table {
	case kernelTable:
		out.Name = p.kernel(r, w.name)
		out.Kind = p.b.KindOf(out.Name)
	case memcpyTable:
		out.Name = p.b.Name([]byte("memcpy"))
	case memsetTable:
		out.Name = p.b.Name([]byte("memset"))
	case graphTable:
		out.Name, out.Kind = p.b.Name([]byte("CUDA graph")), profiler.Compute
		p.graphs++
	}
	p.b.Work(out)
}

// kernel is the name of a kernel, by its string id.
func (p *process) kernel(r *recording, id int64) profiler.NameID {
	name, ok := p.names[id]
	if !ok {
		text := r.names[id]
		if text == "" {
			text = fmt.Sprintf("kernel %d", id)
			if id == export.Absent {
				text = "kernel"
			}
			p.nameless++
		}
		name = p.b.Name([]byte(text))
		p.names[id] = name
	}
	return name
}
