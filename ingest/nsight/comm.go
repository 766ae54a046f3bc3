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
		recording: *newRecording(f, path, Options{Limits: lim, Stages: stagemap.Default()}),
		of:        make(map[processID]*commProcess), ours: make(map[int64]named), devices: make(map[processID]map[int64]int),
		launched: make(map[launchOf]launchedAt), configs: make(map[comms.Config]*comms.Config),
		api: make(map[processID][]apiRange),
	}
	if err := errors.Join(r.tables(), r.schemaTables()); err != nil {
		return nil, err
	}
	if err := r.kernelRows(); err != nil {
		return nil, err
	}
	if len(r.of) == 0 {
		return nil, input.At(input.Pos{File: path},
			input.Bad(input.ErrEmpty, "no kernel of NCCL or RCCL in it: record with nsys profile --trace=cuda,nvtx"))
	}
	if err := errors.Join(r.launches(), r.events(r.event), r.decoded()); err != nil {
		return nil, err
	}
	return r.finish(name)
}

// commReader keeps NCCL's share of a file.
type commReader struct {
	recording
	of       map[processID]*commProcess
	ours     map[int64]named // kernel names, by string id
	devices  map[processID]map[int64]int
	launched map[launchOf]launchedAt
	kernels  int
	configs  map[comms.Config]*comms.Config // each once
	schemas  schemas
	api      map[processID][]apiRange // ranges of NCCL's own
	ranges   int                      // of them, in all
	phases   int                      // in all
}

type named struct {
	nccl.KernelName
	ours bool
}

type launchOf struct {
	process     processID
	correlation int64
}

type launchedAt struct {
	at, thread int64
	ok         bool
}

// kernelRow is a kernel with what tells one of NCCL's from another, and how it
// was launched; what the file lacks is absent.
type kernelRow struct {
	work
	graphNode                   int64    // node of a CUDA graph
	grid, block                 [3]int64 // blocks, threads of one
	registers                   int64    // of a thread
	staticShared, dynamicShared int64    // bytes of a block
	local                       int64    // bytes of local memory, in all
}

// kernelName is the column of a kernel's name.
const kernelName = "demangledName|shortName"

// ncclKernels returns the kernels that NCCL's names tell.
func (r *commReader) ncclKernels() export.Those {
	out := export.Those{Column: kernelName, Values: []int64{}}
	for _, id := range slices.Sorted(maps.Keys(r.names)) {
		if _, ours := nccl.ParseKernel(r.names[id]); ours {
			out.Values = append(out.Values, id)
		}
	}
	return out
}

// kernelRows takes the kernels, in the order of the file.
func (r *commReader) kernelRows() error {
	var k kernelRow
	return r.file.ScanThose(kernelTable, r.ncclKernels(), export.Row{"start": &k.start, "end": &k.end, "deviceId": &k.device, "streamId": &k.stream,
		"correlationId": &k.correlation, "globalPid": (*int64)(&k.owner), kernelName: &k.name, "graphNodeId": &k.graphNode,
		"gridX": &k.grid[0], "gridY": &k.grid[1], "gridZ": &k.grid[2], "blockX": &k.block[0], "blockY": &k.block[1], "blockZ": &k.block[2],
		"registersPerThread": &k.registers, "staticSharedMemory": &k.staticShared, "dynamicSharedMemory": &k.dynamicShared, "localMemoryTotal": &k.local},
		func() error { return r.kernel(&k) })
}

func (r *commReader) kernel(k *kernelRow) error {
	name, known := r.ours[k.name]
	if !known {
		name.KernelName, name.ours = nccl.ParseKernel(r.names[k.name])
		r.ours[k.name] = name
	}
	if !name.ours {
		return nil
	}
	start, end, ok := r.times(k.start, k.end)
	if !ok {
		return nil
	}
	if r.kernels++; r.kernels > maxKernels {
		return input.Bad(input.ErrTooLarge, "more than %d kernels of NCCL: record fewer steps, or a file for each rank", maxKernels)
	}
	id := k.owner.process()
	p := r.of[id]
	if p == nil {
		p = &commProcess{Process: comms.Process{ID: int64(id), PID: id.pid(), Rank: unclaimed, LocalRank: -1, Begin: start},
			phases: map[int64][]comms.Span{}}
		r.of[id], r.devices[id] = p, map[int64]int{}
	}
	r.devices[id][k.device]++
	p.Begin = min(p.Begin, start)
	replay := k.graphNode != export.Absent && k.graphNode != 0
	p.Kernels = append(p.Kernels, comms.Kernel{KernelName: name.KernelName, Start: start, End: end, HasSpan: true, Stream: k.stream,
		Correlation: k.correlation, Grid: small(k.grid[0]), Block: small(k.block[0]), Replay: replay, Config: r.config(k)})
	r.launched[launchOf{id, k.correlation}] = launchedAt{}
	return nil
}

// maxConfigs bounds the ways of launching that are held; programs have some dozens.
const maxConfigs = 1 << 16

// config is how a kernel was launched.
func (r *commReader) config(k *kernelRow) *comms.Config {
	c := comms.Config{Name: r.names[k.name], Registers: known(k.registers), StaticShared: known(k.staticShared),
		DynamicShared: known(k.dynamicShared), Local: known(k.local)}
	for i := range k.grid {
		c.Grid[i], c.Block[i] = known(k.grid[i]), known(k.block[i])
	}
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

// launches keeps when and by whom NCCL's kernels were launched.
func (r *commReader) launches() error {
	var start, correlation int64
	var thread threadID
	kernels := r.ncclKernels()
	return r.file.ScanThose(runtimeTable, export.Those{Column: "correlationId", In: kernelTable, Of: &kernels}, export.Row{"start": &start, "globalTid": (*int64)(&thread), "correlationId": &correlation}, func() error {
		key := launchOf{thread.process(), correlation}
		if l, ours := r.launched[key]; !ours || l.ok {
			return nil
		}
		if at, _, ok := r.times(start, start); ok {
			r.launched[key] = launchedAt{at: at, thread: thread.number(), ok: true}
		}
		return nil
	})
}

// event keeps the steps, NCCL's own ranges, and the rank that a process gives itself.
func (r *commReader) event(e *event) {
	p := r.of[e.thread.process()]
	if p == nil || e.kind != pushPop && e.kind != startEnd && e.kind != mark {
		return
	}
	if at, _, ok := r.times(e.start, e.start); ok {
		p.Begin = min(p.Begin, at)
	}
	text := r.textOf(e)
	if name, ok := strings.CutPrefix(text, "nccl"); ok && e.kind == pushPop && e.end != export.Absent && r.ncclRange(e, name) {
		r.called(e, name)
		return
	}
	if text == "" && e.kind == pushPop && e.end != export.Absent && r.domains[domain{e.thread.process(), e.domain}] == ncclDomain {
		r.called(e, "")
		return
	}
	if n, ok := rankIn(text); ok {
		claim(&p.Rank, n)
	}
	if e.kind == mark || e.end == export.Absent {
		return
	}
	start, end, ok := r.times(e.start, e.end)
	switch role := r.classify(text).Role; {
	case !ok:
	case role == stagemap.Step && len(p.Steps) < maxKernels:
		p.Steps = append(p.Steps, comms.Span{Name: text, Start: start, End: end})
	case role == stagemap.Stage || microbatch.MatchString(text):
		if r.phases++; r.phases <= maxKernels {
			thread := e.thread.number()
			p.phases[thread] = append(p.phases[thread], comms.Span{Name: text, Start: start, End: end})
		}
	}
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
func (r *commReader) ncclRange(e *event, name string) bool {
	domain, known := r.domains[domain{e.thread.process(), e.domain}]
	return known && domain == ncclDomain || !known && !strings.Contains(name, ":")
}

// finish puts the parts together: processes by id, kernels by start, with their launches, calls with their groups.
func (r *commReader) finish(name string) (*comms.Record, error) {
	buses := map[int64]uint64{}
	var id int64
	var text string
	err := r.file.Scan("TARGET_INFO_GPU", export.Row{"id": &id, "busLocation": &text}, func() error {
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
		p.Rank, p.Host = max(p.Rank, unclaimed), r.host
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
