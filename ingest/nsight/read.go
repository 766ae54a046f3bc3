package nsight

import (
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
	Limits ingest.Limits
	Stages *stagemap.Map // nil: the built-in one
	Detail profiler.Detail
}

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
	session   export.Session
	names     map[int64]string // StringIds
	domains   map[domain]string
	gpus      map[device]int64
	processes map[export.ProcessID]*process
	known     map[string]stagemap.Class      // of texts of NVTX ranges
	shapes    map[int64]profiler.LaunchShape // of API calls, by the string id of their names
	warnings  []string                       // of the capture, different ones
	skipped   int                            // rows whose times cannot be
	open      int                            // steps and stages that had not ended
}

type domain struct {
	process export.ProcessID
	id      int64
}

type device struct{ pid, cuda int64 }

// read reads one file. The ranks are in the order of their GPUs; their numbers
// are those that the process gave itself, −1 where it did not.
func read(path string, o Options) (ranks []*process, err error) {
	if o.Stages == nil {
		o.Stages = stagemap.Default()
	}
	f, err := export.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := &recording{file: f, path: path, o: o, names: make(map[int64]string), domains: make(map[domain]string), gpus: make(map[device]int64)}
	defer r.discard()
	if err := r.tables(); err != nil {
		return nil, err
	}
	r.begin()
	if err := f.Events(r.event); err != nil {
		return nil, err
	}
	if err := r.timeline(); err != nil {
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

// begin forgets what processes did.
func (r *recording) begin() {
	r.discard()
	r.processes = make(map[export.ProcessID]*process)
	r.known = make(map[string]stagemap.Class)
	r.shapes = make(map[int64]profiler.LaunchShape)
	r.skipped, r.open = 0, 0
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
	if r.session, err = r.file.Session(); err != nil {
		return err
	}
	room := r.o.Limits.OrDefault().Pending
	err = r.file.Strings(func(id int64, value string) error {
		if room -= int64(len(value)) + 64; room < 0 {
			return input.Bad(input.ErrTooLarge, "more than %d bytes of strings", r.o.Limits.OrDefault().Pending)
		}
		r.names[id] = value
		return nil
	})
	if err != nil {
		return err
	}
	err = r.file.Devices(func(d export.Device) error {
		if d.PID != export.Absent && d.CUDA != export.Absent && d.GPU != export.Absent {
			r.gpus[device{d.PID, d.CUDA}] = d.GPU
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = r.file.Domains(func(e *export.Event) error {
		r.domains[domain{e.Thread.Process(), e.Domain}] = r.textOf(e)
		return nil
	})
	if err != nil {
		return err
	}
	return r.file.Warnings(func(text string) error {
		if len(r.warnings) < maxWarnings && !slices.Contains(r.warnings, text) {
			r.warnings = append(r.warnings, text)
		}
		return nil
	})
}

// maxWarnings is how many warnings of a capture are told.
const maxWarnings = 3

func (r *recording) textOf(e *export.Event) string {
	if e.Text == "" && e.TextID != export.Absent {
		return r.names[e.TextID]
	}
	return e.Text
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
	if e := r.session.Epoch; e > 0 && e < latest {
		start, end = start+e, end+e
	}
	return start, end, true
}

// ncclDomain is the NVTX domain of NCCL's own ranges.
const ncclDomain = "NCCL"

// event takes an NVTX event.
func (r *recording) event(e *export.Event) error {
	if e.Type != export.PushPop && e.Type != export.StartEnd && e.Type != export.Mark {
		return nil
	}
	p := r.process(e.Thread.Process())
	text := r.textOf(e)
	if n, ok := rankIn(text); ok {
		claim(&p.claimed, n)
	}
	if e.Type == export.Mark {
		return nil
	}
	called := strings.HasPrefix(text, "nccl") && (r.domains[domain{p.id, e.Domain}] == ncclDomain || !strings.Contains(text, ":"))
	class := r.classify(text)
	if !called && class.Role == stagemap.Unmapped && !strings.Contains(text, ":") {
		return nil
	}
	if e.End == export.Absent {
		if class.Role != stagemap.Unmapped {
			r.open++
		}
		return nil
	}
	start, end, ok := r.times(e.Start, e.End)
	switch {
	case !ok:
	case called:
		if nccl.OpIn(text) != nccl.UnknownOp {
			p.b.Call(profiler.Call{Name: text, Thread: int64(e.Thread), Start: start, End: end, Seq: -1, Bytes: -1, Self: -1, Peer: -1})
		}
	default:
		if class.Role == stagemap.Step {
			p.marks++
		}
		if id := p.b.Name([]byte(text)); p.b.Matters(id) {
			p.b.Range(id, int64(e.Thread), start, end)
		}
	}
	return nil
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
func (r *recording) process(id export.ProcessID) *process {
	p := r.processes[id]
	if p == nil {
		p = &process{id: id, b: profiler.NewBuilder(r.o.Stages, r.o.Detail), names: make(map[int64]profiler.NameID), devices: make(map[int64]int), claimed: unclaimed}
		r.processes[id] = p
	}
	return p
}

// timeline reads what was launched and what ran, as stored if that is in the
// order of time.
func (r *recording) timeline() error {
	to := export.Sink{Call: r.call, Activity: r.activity}
	err := r.file.Timeline(export.AsStored, to)
	if !errors.Is(err, export.ErrUnordered) {
		return err
	}
	r.begin()
	return errors.Join(r.file.Events(r.event), r.file.Timeline(export.Sorted, to))
}

func (r *recording) call(c *export.Call) error {
	shape, ok := r.shapes[c.Name]
	if !ok {
		if shape = profiler.LaunchShapeOf(r.names[c.Name]); r.names[c.Name] == "" {
			shape = profiler.LaunchesOne
		}
		r.shapes[c.Name] = shape
	}
	if shape == profiler.LaunchesNothing || c.Correlation <= 0 {
		return nil
	}
	if at, _, ok := r.times(c.Start, c.Start); ok {
		r.process(c.Thread.Process()).b.Launch(c.Correlation, at, shape)
	}
	return nil
}

func (r *recording) activity(a *export.Activity) error {
	start, end, ok := r.times(a.Start, a.End)
	if !ok {
		return nil
	}
	p := r.process(a.Process)
	p.devices[a.Device]++
	p.work++
	w := profiler.Work{Queue: a.Device<<32 | a.Stream&(1<<32-1), Start: start, End: end, Correlation: a.Correlation, Kind: profiler.Memory}
	switch a.Kind {
	case export.Kernel:
		w.Name = p.kernel(r, a.Name)
		w.Kind = p.b.KindOf(w.Name)
	case export.Copy:
		w.Name = p.b.Name([]byte("memcpy"))
	case export.Fill:
		w.Name = p.b.Name([]byte("memset"))
	case export.Graph:
		w.Name, w.Kind = p.b.Name([]byte("CUDA graph")), profiler.Compute
		p.graphs++
	}
	p.b.Work(w)
	return nil
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
