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
	"github.com/sfstat/sfstat/trace/comms"
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
	Kernels bool     // those of NCCL are kept where nothing is attached to the calls that launched them, too
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
	file       *export.File
	path       string
	o          Options
	host       string           // "" when not recorded
	epoch      int64            // nanoseconds UTC at which the session's times are 0; not above 0 when not recorded
	names      map[int64]string // StringIds
	domains    map[domain]string
	gpus       map[device]int64
	processes  map[processID]*process
	known      map[string]*meaning // of texts of NVTX ranges
	registered map[int64]*meaning  // of those that are in StringIds
	undecided  []event             // whose domain has no name yet
	apiCalls   map[int64]apiCall   // by the string id of their names
	warnings   []string            // of the capture, different ones
	skipped    int                 // rows whose times cannot be
	open       int                 // steps and stages that had not ended
	comm       *communication      // nil: nothing of NCCL is kept
	shapes     *export.Lookup      // of kernels; nil: it is not opened
}

// apiCall is what a call of the runtime or driver does.
type apiCall struct {
	shape        profiler.LaunchShape
	synchronises bool // it waits for the device
}

// content is what one file holds.
type content struct {
	ranks []*process // in the order of their GPUs; their numbers are those that the process gave itself, −1 where it did not
	// comm is the calls and kernels of NCCL, nil where there are none or where nothing is attached to calls and kernels alone
	// are not wanted; commErr says why it could not be read, which leaves the ranks alone.
	comm    *comms.Record
	commErr error
}

type domain struct {
	process processID
	id      int64
}

type device struct{ pid, cuda int64 }

// read reads one file, in one walk: a second one, which SQLite sorts, where rows turn out to be in no order.
func read(path string, o Options) (c content, err error) {
	if o.Stages == nil {
		o.Stages = stagemap.Default()
	}
	f, err := export.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if c, err = readBy(f, path, o, (*export.File).Merge); errors.Is(err, export.ErrUnordered) {
		return readBy(f, path, o, (*export.File).Timeline)
	}
	return c, err
}

// startOrder hands on the rows of tables by their start.
type startOrder func(f *export.File, tables []string, row export.Row, each func(table int) error) error

func readBy(f *export.File, path string, o Options, order startOrder) (c content, err error) {
	r := newRecording(f, path, o)
	defer r.discard()
	if err := r.tables(); err != nil {
		return c, err
	}
	c.commErr = r.keepCommunication()
	if err := r.events(r.event); err != nil {
		return c, err
	}
	r.decide()
	if r.comm != nil && !o.Kernels && !r.comm.attached {
		r.comm = nil
	}
	if err := r.timeline(order, r.took); err != nil {
		return c, err
	}
	if r.comm != nil {
		c.comm, c.commErr = r.comm.finish()
	}
	if c.ranks, err = r.ranks(); err != nil {
		return c, input.At(input.Pos{File: path}, err)
	}
	if c.commErr != nil && len(c.ranks) > 0 {
		first := c.ranks[0].rank
		first.Notes = append(first.Notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf("calls and kernels of NCCL cannot be read: %v", c.commErr)})
	}
	if len(c.ranks) == 0 {
		return c, input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty,
			"no process in it ran work on a GPU or marked steps: record with nsys profile --trace=cuda,nvtx"))
	}
	return c, nil
}

func newRecording(f *export.File, path string, o Options) *recording {
	return &recording{file: f, path: path, o: o, names: make(map[int64]string), domains: make(map[domain]string), gpus: make(map[device]int64),
		processes: make(map[processID]*process), known: make(map[string]*meaning), registered: make(map[int64]*meaning), apiCalls: make(map[int64]apiCall)}
}

// discard ends the profiles that are not finished, and what is open but the file.
func (r *recording) discard() {
	if r.shapes != nil {
		r.shapes.Close()
	}
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
	return r.file.Scan("TARGET_INFO_CUDA_DEVICE", export.Row{"pid": &d.pid, "cudaId": &d.cuda, "gpuId": &gpu}, func() error {
		if d.pid != export.Absent && d.cuda != export.Absent && gpu != export.Absent {
			r.gpus[d] = gpu
		}
		return nil
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

// times returns a start and an end on the common axis; ok is false when they
// cannot be.
func (r *recording) times(start, end int64) (from, to int64, ok bool) {
	if from, to, ok = r.axis(start, end); !ok {
		r.skipped++
	}
	return from, to, ok
}

// axis returns what times returns, and counts nothing.
func (r *recording) axis(start, end int64) (from, to int64, ok bool) {
	if start < 0 || end < start || end > latest {
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
	if e.kind == domainCreate {
		r.domains[domain{e.thread.process(), e.domain}] = r.textOf(e)
	}
	if e.kind != pushPop && e.kind != startEnd && e.kind != mark {
		return
	}
	p, m := r.process(e.thread.process()), r.meaning(e)
	if m.mayBeNCCL() && r.domainUnknown(e) && len(r.undecided) < maxUndecided {
		later := *e
		later.binary = slices.Clone(e.binary)
		r.undecided = append(r.undecided, later)
		return
	}
	r.takeResolved(p, e, m)
}

// maxUndecided bounds the events that wait for the name of their domain. Programs register domains before they use them, and
// exports have events in the order of time, or nearly so.
const maxUndecided = 1 << 18

// domainUnknown reports whether the name of the event's domain may still come. The domain 0, where programs have none of their own, has no name.
func (r *recording) domainUnknown(e *event) bool {
	_, known := r.domains[domain{e.thread.process(), e.domain}]
	return !known && e.domain != 0 && e.domain != export.Absent
}

// decide takes the events that waited for the names of their domains.
func (r *recording) decide() {
	for i := range r.undecided {
		e := &r.undecided[i]
		r.takeResolved(r.process(e.thread.process()), e, r.meaning(e))
	}
	r.undecided = nil
}

// ncclRange reports whether a range with such a text is of NCCL's making: in its domain, or, where the file
// does not name that, by the name of a function. Those of other programs read "nccl:all_reduce".
func (r *recording) ncclRange(e *event, text string) bool {
	name, known := r.domains[domain{e.thread.process(), e.domain}]
	return known && name == ncclDomain || !known && text != "" && !strings.Contains(text, ":")
}

// takeResolved takes an event whose domain has been named if it will be.
func (r *recording) takeResolved(p *process, e *event, m *meaning) {
	if r.comm != nil {
		r.comm.event(e, m)
	}
	if m.rank >= 0 {
		claim(&p.claimed, m.rank)
	}
	if e.kind == mark {
		return
	}
	called := m.nccl && (!m.colon || r.ncclRange(e, m.text))
	if !called && m.class.Role == stagemap.Unmapped && !m.colon && !m.annotates {
		return
	}
	if e.end == export.Absent {
		if m.class.Role != stagemap.Unmapped {
			r.open++
		}
		return
	}
	start, end, ok := r.times(e.start, e.end)
	switch {
	case !ok:
	case called:
		if nccl.OpIn(m.text) != nccl.UnknownOp {
			p.b.Call(profiler.Call{Name: m.text, Thread: int64(e.thread), Start: start, End: end, Seq: -1, Bytes: -1, Self: -1, Peer: -1})
		}
	default:
		if m.class.Role == stagemap.Step {
			p.marks++
		}
		id := p.b.Name([]byte(m.text))
		if p.b.IsDispatch(id) {
			p.b.Dispatch(id, int64(e.thread), start, end)
		}
		if p.b.Matters(id) {
			p.b.Range(id, int64(e.thread), start, end)
		}
	}
}

// meaning is what the text of an NVTX event says.
type meaning struct {
	text       string
	class      stagemap.Class
	rank       int // that it names, −1: none
	nccl       bool
	colon      bool
	annotates  bool // a collective
	microbatch bool
}

// mayBeNCCL reports whether the text may be that of a range of NCCL's own, which an export may lack.
func (m *meaning) mayBeNCCL() bool { return m.nccl || m.text == "" }

// maxKnown is how many texts are remembered with what they mean. Programs may
// number their ranges.
const maxKnown = 1 << 14

// meaning returns what the text of an event says.
func (r *recording) meaning(e *event) *meaning {
	if e.text == "" && e.textID != export.Absent {
		m := r.registered[e.textID]
		if m == nil {
			m = r.meaningOf(r.names[e.textID])
			r.registered[e.textID] = m
		}
		return m
	}
	m := r.known[e.text]
	if m == nil {
		if len(r.known) >= maxKnown {
			clear(r.known)
		}
		m = r.meaningOf(e.text)
		r.known[e.text] = m
	}
	return m
}

func (r *recording) meaningOf(text string) *meaning {
	m := &meaning{text: text, class: r.o.Stages.Classify(text), rank: -1, nccl: strings.HasPrefix(text, "nccl"), colon: strings.Contains(text, ":"), annotates: profiler.AnnotatesCommunication(text),
		microbatch: microbatch.MatchString(text)}
	if n, ok := rankIn(text); ok {
		m.rank = n
	}
	return m
}

// process returns the process with this id, made if there is none.
func (r *recording) process(id processID) *process {
	p := r.processes[id]
	if p == nil {
		p = &process{id: id, b: profiler.NewBuilder(r.o.Stages, r.o.Detail), names: make(map[int64]profiler.NameID), devices: make(map[int64]int), claimed: unclaimed}
		r.processes[id] = p
	}
	return p
}

// took takes an API call or a piece of work on a GPU.
func (r *recording) took(table string, w *work) error {
	if table == runtimeTable {
		r.call(w)
		return nil
	}
	return r.activity(table, w)
}

func (r *recording) call(w *work) {
	does, ok := r.apiCalls[w.name]
	if !ok {
		name := r.names[w.name]
		if does = (apiCall{profiler.LaunchShapeOf(name), profiler.SynchronisesBy(name)}); name == "" {
			does.shape = profiler.LaunchesOne
		}
		r.apiCalls[w.name] = does
	}
	if does.synchronises {
		if start, end, ok := r.axis(w.start, w.end); ok {
			r.process(w.owner.process()).b.AddSynchronisation(start, end)
		}
	}
	shape := does.shape
	if shape == profiler.LaunchesNothing || w.correlation <= 0 {
		return
	}
	if at, _, ok := r.times(w.start, w.start); ok {
		r.process(w.owner.process()).b.Launch(int64(w.owner), w.correlation, at, shape)
		if r.comm != nil {
			r.comm.launch(w, at)
		}
	}
}

func (r *recording) activity(table string, w *work) error {
	start, end, ok := r.times(w.start, w.end)
	if !ok {
		return nil
	}
	p := r.process(w.owner.process())
	p.devices[w.device]++
	p.work++
	out := profiler.Work{Queue: w.device<<32 | w.stream&(1<<32-1), Start: start, End: end, Correlation: w.correlation, Kind: profiler.Memory}
	switch table {
	case kernelTable:
		out.Name = p.kernel(r, w.name)
		out.Kind = p.b.KindOf(out.Name)
		if r.comm != nil {
			if err := r.comm.kernel(w, start, end); err != nil {
				return err
			}
		}
	case memcpyTable:
		out.Name = p.b.Name([]byte("memcpy"))
	case memsetTable:
		out.Name = p.b.Name([]byte("memset"))
	case graphTable:
		out.Name, out.Kind = p.b.Name([]byte("CUDA graph")), profiler.Compute
		p.graphs++
	}
	p.b.Work(out)
	return nil
}

// kernel returns the name of a kernel, by its string id.
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
