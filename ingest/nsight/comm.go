package nsight

import (
	"cmp"
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
	id      processID
	phases  map[int64][]comms.Span // of each thread
	devices map[int64]int          // kernels, by CUDA index
	launches
	calls []call      // of NCCL's API, by start, as its own NVTX ranges tell
	made  []madeGroup // by start
}

// maxKernels bounds the kernels of NCCL that are held, of one file.
const maxKernels = 1 << 25

// ReadComm reads the communication of an export, which results call name: the kernels of NCCL and RCCL and, where NCCL's own NVTX
// ranges are in it, the calls that launched them. Memory grows with NCCL's
// kernels, the strings and the steps, not with the other rows.
func ReadComm(path, name string, lim ingest.Limits) (*comms.Record, error) {
	c, err := read(path, Options{Limits: lim, Kernels: true})
	if err = cmp.Or(c.commErr, err); err != nil && c.comm == nil {
		return nil, err
	}
	if c.comm == nil {
		return nil, input.At(input.Pos{File: path},
			input.Bad(input.ErrEmpty, "no kernel of NCCL or RCCL in it: record with nsys profile --trace=cuda,nvtx"))
	}
	c.comm.Sources[0].Name = name
	return c.comm, nil
}

// communication keeps NCCL's share of a file while its rows go by.
type communication struct {
	r        *recording
	attached bool // NCCL's sizes are attached to ranges
	of       map[processID]*commProcess
	ours     map[int64]kernelName // kernel names, by string id
	kernels  int
	shape    shape                          // of the kernel that was looked up last
	shapeErr error                          // why one could not be
	configs  map[comms.Config]*comms.Config // each once
	schemas  schemas
	api      map[processID][]apiRange // ranges of NCCL's own
	ranges   int                      // of them, in all
	phases   int                      // in all
}

// keepCommunication keeps NCCL's share of the file where NCCL may have attached sizes to its ranges, or kernels alone
// are wanted.
func (r *recording) keepCommunication() error {
	c := &communication{r: r, of: make(map[processID]*commProcess), ours: make(map[int64]kernelName),
		configs: make(map[comms.Config]*comms.Config), api: make(map[processID][]apiRange)}
	if err := c.schemaTables(); err != nil {
		return err
	}
	if err := c.attachments(); err != nil {
		return err
	}
	if !c.attached && !r.o.Kernels && !r.file.Has(nvtxTable, "jsonText") {
		return nil
	}
	s := &c.shape
	shapes, err := r.file.Lookup(kernelTable, export.Row{"graphNodeId": &s.graphNode,
		"gridX": &s.grid[0], "gridY": &s.grid[1], "gridZ": &s.grid[2], "blockX": &s.block[0], "blockY": &s.block[1], "blockZ": &s.block[2],
		"registersPerThread": &s.registers, "staticSharedMemory": &s.staticShared, "dynamicSharedMemory": &s.dynamicShared, "localMemoryTotal": &s.local})
	if err != nil {
		return err
	}
	r.shapes, r.comm = shapes, c
	return nil
}

type kernelName struct {
	nccl.KernelName
	ours bool
}

type launchRecord struct{ correlation, at, thread int64 }

// launches are the latest calls of a process that launched something, by the end of their correlation, and the kernels whose calls come
// after them.
type launches struct {
	latest  []launchRecord
	awaited map[int64][]int // kernels, by correlation
}

// mostLaunches is how many launches are kept: programs run some thousands ahead of their device, and number them one by one.
const mostLaunches = 1 << 14

// launch takes a call that launches something, by when it was on the common axis.
func (c *communication) launch(w *work, at int64) {
	p := c.process(w.owner.process(), at)
	made := launchRecord{w.correlation, at, w.owner.number()}
	for _, i := range p.awaited[w.correlation] {
		made.setLaunchOf(&p.Kernels[i])
	}
	delete(p.awaited, w.correlation)
	if p.latest == nil {
		p.latest = make([]launchRecord, mostLaunches)
	}
	if kept := &p.latest[w.correlation%mostLaunches]; kept.correlation != w.correlation {
		*kept = made
	}
}

// launchedBy finds what launched kernel i, now or when it comes.
func (p *commProcess) launchedBy(i int) {
	k := &p.Kernels[i]
	if k.Correlation <= 0 {
		return
	}
	if p.latest != nil {
		if made := p.latest[k.Correlation%mostLaunches]; made.correlation == k.Correlation {
			made.setLaunchOf(k)
			return
		}
	}
	if len(p.awaited) < mostLaunches {
		if p.awaited == nil {
			p.awaited = make(map[int64][]int)
		}
		p.awaited[k.Correlation] = append(p.awaited[k.Correlation], i)
	}
}

// setLaunchOf notes with a kernel what launched it.
func (l launchRecord) setLaunchOf(k *comms.Kernel) {
	k.Launch, k.Thread, k.HasLaunch = l.at, l.thread, true
}

// kernel takes a kernel if it is one of NCCL's, with its times on the common axis.
func (c *communication) kernel(w *work, start, end int64) error {
	name, known := c.ours[w.name]
	if !known {
		name.KernelName, name.ours = nccl.ParseKernel(c.r.names[w.name])
		c.ours[w.name] = name
	}
	if !name.ours {
		return nil
	}
	if c.kernels++; c.kernels > maxKernels {
		return input.Bad(input.ErrTooLarge, "more than %d kernels of NCCL: record fewer steps, or a file for each rank", maxKernels)
	}
	p := c.process(w.owner.process(), start)
	p.devices[w.device]++
	k := comms.Kernel{KernelName: name.KernelName, Start: start, End: end, HasSpan: true, Stream: w.stream, Correlation: w.correlation}
	found, err := c.r.shapes.Read(w.row)
	c.shapeErr = cmp.Or(c.shapeErr, err)
	if s := &c.shape; found {
		k.Grid, k.Block, k.Replay = small(s.grid[0]), small(s.block[0]), s.graphNode != export.Absent && s.graphNode != 0
		k.Config = c.config(c.r.names[w.name], s)
	}
	p.Kernels = append(p.Kernels, k)
	p.launchedBy(len(p.Kernels) - 1)
	return nil
}

// process returns the process with this id, which is seen at a time.
func (c *communication) process(id processID, at int64) *commProcess {
	p := c.of[id]
	if p == nil {
		p = &commProcess{id: id, Process: comms.Process{ID: int64(id), PID: id.pid(), Rank: unclaimed, LocalRank: -1, Begin: at},
			phases: map[int64][]comms.Span{}, devices: map[int64]int{}}
		c.of[id] = p
	}
	p.Begin = min(p.Begin, at)
	return p
}

// maxConfigs bounds the ways of launching that are held; programs have some dozens.
const maxConfigs = 1 << 16

// shape is how a kernel was launched, as its row has it; what the file lacks is absent.
type shape struct {
	graphNode                   int64    // node of a CUDA graph
	grid, block                 [3]int64 // blocks, threads of one
	registers                   int64    // of a thread
	staticShared, dynamicShared int64    // bytes of a block
	local                       int64    // bytes of local memory, in all
}

// config returns how a kernel was launched, one value for all that were launched alike.
func (c *communication) config(name string, s *shape) *comms.Config {
	made := comms.Config{Name: name, Registers: valueOrUnknown(s.registers), StaticShared: valueOrUnknown(s.staticShared),
		DynamicShared: valueOrUnknown(s.dynamicShared), Local: valueOrUnknown(s.local)}
	for i := range s.grid {
		made.Grid[i], made.Block[i] = valueOrUnknown(s.grid[i]), valueOrUnknown(s.block[i])
	}
	if c.configs[made] == nil && len(c.configs) < maxConfigs {
		c.configs[made] = &made
	}
	return c.configs[made]
}

// valueOrUnknown returns a number of a file, −1 for what it lacks.
func valueOrUnknown(n int64) int64 {
	if n == export.Absent || n < 0 {
		return -1
	}
	return n
}

func small(n int64) int32 { return int32(min(max(n, 0), 1<<30)) }

// event keeps the steps, NCCL's own ranges, and the rank that a process gives itself.
func (c *communication) event(e *event, m *meaning) {
	at, _, ok := c.r.axis(e.start, e.start)
	if !ok {
		return
	}
	p := c.process(e.thread.process(), at)
	if !c.attached && strings.HasPrefix(e.json, "{") && jsonPayload(e.json).bytes != unknown {
		c.attached = true
	}
	if e.kind == pushPop && e.end != export.Absent && m.mayBeNCCL() && c.r.ncclRange(e, m.text) {
		c.addAPIRange(e, strings.TrimPrefix(m.text, "nccl"))
		return
	}
	if m.rank >= 0 {
		claim(&p.Rank, m.rank)
	}
	if e.kind == mark || e.end == export.Absent {
		return
	}
	start, end, ok := c.r.axis(e.start, e.end)
	switch {
	case !ok:
	case m.class.Role == stagemap.Step && len(p.Steps) < maxKernels:
		p.Steps = append(p.Steps, comms.Span{Name: m.text, Start: start, End: end})
	case m.class.Role == stagemap.Stage || m.microbatch:
		if c.phases++; c.phases <= maxKernels {
			thread := e.thread.number()
			p.phases[thread] = append(p.phases[thread], comms.Span{Name: m.text, Start: start, End: end})
		}
	}
}

// microbatch is how programs call a part of a step's batch.
var microbatch = regexp.MustCompile(`(?i)micro[ _-]?batch|\bmb[ _-]?\d`)

// phasesOf returns the phases of the thread that marked most: others, such as those of autograd, mark the same once more.
func (p *commProcess) phasesOf() []comms.Span {
	var most []comms.Span
	for _, t := range slices.Sorted(maps.Keys(p.phases)) {
		if len(p.phases[t]) > len(most) {
			most = p.phases[t]
		}
	}
	return most
}

// finish puts the parts together: processes by id, kernels by start, with their launches, calls with their groups; nil where no process ran
// a kernel of NCCL.
func (c *communication) finish() (*comms.Record, error) {
	for id, p := range c.of {
		if len(p.Kernels) == 0 {
			delete(c.of, id)
			delete(c.api, id)
		}
	}
	if len(c.of) == 0 {
		return nil, nil
	}
	buses := map[int64]uint64{}
	var id int64
	var text string
	err := c.r.file.Scan("TARGET_INFO_GPU", export.Row{"id": &id, "busLocation": &text}, func() error {
		buses[id] = nccl.ParseBus(text)
		return nil
	})
	if err := cmp.Or(err, c.shapeErr, c.readDecodedPayloads()); err != nil {
		return nil, err
	}
	record := &comms.Record{Sources: []comms.Source{{Path: c.r.path, Kind: comms.SourceNsight}}}
	for _, id := range slices.Sorted(maps.Keys(c.of)) {
		p := c.of[id]
		slices.SortStableFunc(p.Kernels, func(a, b comms.Kernel) int { return cmp.Compare(a.Start, b.Start) })
		p.tie(c.api[id])
		delete(c.api, id)
		p.Phases = p.phasesOf()
		p.Device = busiestDevice(p.devices)
		if gpu, ok := c.r.gpus[device{p.PID, p.Device}]; ok {
			p.Bus = buses[gpu]
		}
		p.Rank, p.Host = max(p.Rank, unclaimed), c.r.host
		p.addTo(record)
		delete(c.of, id)
	}
	return record, nil
}

// busiestDevice returns the device with most kernels, of equals the lowest.
func busiestDevice(devices map[int64]int) (best int64) {
	most := 0
	for d, n := range devices {
		if n > most || n == most && d < best {
			best, most = d, n
		}
	}
	return best
}
