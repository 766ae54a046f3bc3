package nsight

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// commProcess is one process that ran kernels of NCCL, until its calls have their groups.
type commProcess struct {
	comms.Process
	phases map[int64][]comms.Span // of each thread
	calls  []call                 // of NCCL's API, by start, as its own NVTX ranges tell
	made   []madeGroup            // by start
}

// maxKernels bounds the kernels of NCCL that are held, of one file.
const maxKernels = 1 << 25

// ReadComm reads the communication of an export, which results call name: the kernels of NCCL and RCCL and, where NCCL's own NVTX
// ranges are in it, the calls that launched them. Memory grows with NCCL's
// kernels, the strings and the steps, not with the other rows.
func ReadComm(path, name string, lim ingest.Limits) (c *comms.Record, err error) {
	f, err := export.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := &commReader{
		recording: recording{file: f, path: path, o: Options{Limits: lim, Stages: stagemap.Default()},
			names: make(map[int64]string), domains: make(map[domain]string), gpus: make(map[device]int64)},
		of: make(map[export.ProcessID]*commProcess), ours: make(map[int64]named), devices: make(map[export.ProcessID]map[int64]int),
		launched: make(map[launchOf]launchedAt), configs: make(map[comms.Config]*comms.Config),
		api: make(map[export.ProcessID][]apiRange),
	}
	if err := errors.Join(r.tables(), r.schemaTables()); err != nil {
		return nil, err
	}
	r.begin()
	if err := f.Kernels(r.kernel); err != nil {
		return nil, err
	}
	if len(r.of) == 0 {
		return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty, "no kernel of NCCL or RCCL in it: record with nsys profile --trace=cuda,nvtx"))
	}
	if err := errors.Join(f.Calls(r.call), f.PayloadEvents(r.event), r.decoded()); err != nil {
		return nil, err
	}
	return r.finish(name)
}

// commReader keeps NCCL's share of a file.
type commReader struct {
	recording
	of       map[export.ProcessID]*commProcess
	ours     map[int64]named // kernel names, by string id
	devices  map[export.ProcessID]map[int64]int
	launched map[launchOf]launchedAt
	kernels  int
	configs  map[comms.Config]*comms.Config // each once
	schemas  schemas
	api      map[export.ProcessID][]apiRange // ranges of NCCL's own
	ranges   int                             // of them, in all
	phases   int                             // in all
}

type named struct {
	nccl.KernelName
	ours bool
}

type launchOf struct {
	process     export.ProcessID
	correlation int64
}

type launchedAt struct {
	at, thread int64
	ok         bool
}

func (r *commReader) kernel(k *export.KernelRow) error {
	name, known := r.ours[k.Name]
	if !known {
		name.KernelName, name.ours = nccl.ParseKernel(r.names[k.Name])
		r.ours[k.Name] = name
	}
	if !name.ours {
		return nil
	}
	start, end, ok := r.times(k.Start, k.End)
	if !ok {
		return nil
	}
	if r.kernels++; r.kernels > maxKernels {
		return input.Bad(input.ErrTooLarge, "more than %d kernels of NCCL: record fewer steps, or a file for each rank", maxKernels)
	}
	p := r.of[k.Process]
	if p == nil {
		p = &commProcess{Process: comms.Process{ID: int64(k.Process), PID: int64(k.Process.PID()), Rank: unclaimed, LocalRank: -1, Begin: start}, phases: map[int64][]comms.Span{}}
		r.of[k.Process], r.devices[k.Process] = p, map[int64]int{}
	}
	r.devices[k.Process][k.Device]++
	p.Begin = min(p.Begin, start)
	replay := k.GraphNode != export.Absent && k.GraphNode != 0
	p.Kernels = append(p.Kernels, comms.Kernel{KernelName: name.KernelName, Start: start, End: end, HasSpan: true, Stream: k.Stream, Correlation: k.Correlation,
		Grid: small(k.Grid), Block: small(k.Block), Replay: replay, Config: r.config(k)})
	r.launched[launchOf{k.Process, k.Correlation}] = launchedAt{}
	return nil
}

// maxConfigs bounds the ways of launching that are held; programs have some dozens.
const maxConfigs = 1 << 16

// config is how a kernel was launched.
func (r *commReader) config(k *export.KernelRow) *comms.Config {
	c := comms.Config{Name: r.names[k.Name], Grid: [3]int64{known(k.Grid), known(k.GridY), known(k.GridZ)}, Block: [3]int64{known(k.Block), known(k.BlockY), known(k.BlockZ)},
		Registers: known(k.Registers), StaticShared: known(k.StaticShared), DynamicShared: known(k.DynamicShared), Local: known(k.Local)}
	if r.configs[c] == nil && len(r.configs) < maxConfigs {
		r.configs[c] = &c
	}
	return r.configs[c]
}

// known is −1 for what a file lacks.
func known(n int64) int64 {
	if n == export.Absent || n < 0 {
		return -1
	}
	return n
}

func small(n int64) int32 { return int32(min(max(n, 0), 1<<30)) }

// call keeps when and by whom NCCL's kernels were launched.
func (r *commReader) call(c *export.Call) error {
	key := launchOf{c.Thread.Process(), c.Correlation}
	if l, ours := r.launched[key]; !ours || l.ok {
		return nil
	}
	at, _, ok := r.times(c.Start, c.Start)
	if ok {
		r.launched[key] = launchedAt{at: at, thread: threadOf(c.Thread), ok: true}
	}
	return nil
}

// event keeps the steps, NCCL's own ranges, and the rank that a process gives itself.
func (r *commReader) event(e *export.PayloadEvent) error {
	p := r.of[e.Thread.Process()]
	if p == nil || e.Type != export.PushPop && e.Type != export.StartEnd && e.Type != export.Mark {
		return nil
	}
	if at, _, ok := r.times(e.Start, e.Start); ok {
		p.Begin = min(p.Begin, at)
	}
	text := r.textOf(&e.Event)
	if name, ok := strings.CutPrefix(text, "nccl"); ok && e.Type == export.PushPop && e.End != export.Absent && r.ncclRange(&e.Event, name) {
		r.called(e, name)
		return nil
	}
	if text == "" && e.Type == export.PushPop && e.End != export.Absent && r.domains[domain{e.Thread.Process(), e.Domain}] == ncclDomain {
		r.called(e, "")
		return nil
	}
	if n, ok := rankIn(text); ok {
		claim(&p.Rank, n)
	}
	if e.Type == export.Mark || e.End == export.Absent {
		return nil
	}
	start, end, ok := r.times(e.Start, e.End)
	switch role := r.classify(text).Role; {
	case !ok:
	case role == stagemap.Step && len(p.Steps) < maxKernels:
		p.Steps = append(p.Steps, comms.Span{Name: text, Start: start, End: end})
	case role == stagemap.Stage || microbatch.MatchString(text):
		if r.phases++; r.phases <= maxKernels {
			thread := threadOf(e.Thread)
			p.phases[thread] = append(p.phases[thread], comms.Span{Name: text, Start: start, End: end})
		}
	}
	return nil
}

// microbatch is how programs call a part of a step's batch.
var microbatch = regexp.MustCompile(`(?i)micro[ _-]?batch|\bmb[ _-]?\d`)

// phasesOf are those of the thread that marked most: others, such as those of autograd, mark the same once more.
func (p *commProcess) phasesOf() []comms.Span {
	var most []comms.Span
	for _, t := range slices.Sorted(maps.Keys(p.phases)) {
		if len(p.phases[t]) > len(most) {
			most = p.phases[t]
		}
	}
	return most
}

// ncclRange says whether a range whose name goes on like this is of NCCL's making: in its domain, or, where the file
// does not name domains, by the name of a function. Those of other programs read "nccl:all_reduce".
func (r *commReader) ncclRange(e *export.Event, name string) bool {
	domain, known := r.domains[domain{e.Thread.Process(), e.Domain}]
	return known && domain == ncclDomain || !known && !strings.Contains(name, ":")
}

// finish puts the parts together: processes by id, kernels by start, with their launches, calls with their groups.
func (r *commReader) finish(name string) (*comms.Record, error) {
	buses := map[int64]uint64{}
	err := r.file.GPUs(func(id int64, text string) error {
		buses[id] = nccl.ParseBus(text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c := &comms.Record{Sources: []comms.Source{{Name: name, Path: r.path, Kind: comms.SourceNsight}}}
	for _, id := range slices.Sorted(maps.Keys(r.of)) {
		p := r.of[id]
		for i := range p.Kernels {
			k := &p.Kernels[i]
			if l := r.launched[launchOf{id, k.Correlation}]; l.ok {
				k.Launch, k.Thread, k.HasLaunch = l.at, l.thread, true
			}
		}
		slices.SortStableFunc(p.Kernels, func(a, b comms.Kernel) int { return cmp.Compare(a.Start, b.Start) })
		p.tie(r.api[id])
		p.Phases = p.phasesOf()
		p.Device = mostUsed(r.devices[id])
		if gpu, ok := r.gpus[device{p.PID, p.Device}]; ok {
			p.Bus = buses[gpu]
		}
		p.Rank, p.Host = max(p.Rank, unclaimed), r.session.Host
		p.addTo(c)
	}
	return c, nil
}

// mostUsed is the device with most kernels, of equals the lowest.
func mostUsed(devices map[int64]int) (best int64) {
	most := 0
	for d, n := range devices {
		if n > most || n == most && d < best {
			best, most = d, n
		}
	}
	return best
}
