package nsight

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// process is one process of a recording, and later the rank that it was.
type process struct {
	id       processID
	b        *profiler.Builder
	names    map[int64]profiler.NameID // of kernels, by string id
	devices  map[int64]int             // pieces of work, by CUDA index
	work     int
	marks    int // of steps
	graphs   int // that were recorded as one piece of work
	nameless int // kernels without a name
	claimed  int // rank that an NVTX text names; unclaimed, contradicted
	gpu      int64
	rank     *profile.Rank
}

const (
	unclaimed    = -1
	contradicted = -2
)

// claim notes a rank that a process gives itself.
func claim(claimed *int, rank int) {
	if *claimed != unclaimed && *claimed != rank {
		rank = contradicted
	}
	*claimed = rank
}

// ranks returns the processes that are ranks, in the order of their GPUs, with
// their profiles.
func (r *recording) ranks() (ranks []*process, err error) {
	marked, others := 0, 0
	for _, p := range r.processes {
		if p.marks > 0 {
			marked++
		}
	}
	for _, p := range r.processes {
		switch {
		case p.marks > 0 || marked == 0 && p.work > 0:
			p.gpu = r.gpuOf(p)
			ranks = append(ranks, p)
		case p.work > 0:
			others++
		}
	}
	slices.SortFunc(ranks, func(a, b *process) int { return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.id, b.id)) })
	for i, p := range ranks {
		r.tell(p)
		for _, text := range r.warnings {
			if i == 0 {
				p.b.Note(input.NoteRecorder, "Nsight Systems warns of this capture: %.160q", text)
			}
		}
		if i == 0 && others > 0 {
			p.b.Note(input.NoteRecorder, "other processes that had work on a GPU and marked no steps, and were left out: %d", others)
		}
		if p.rank, err = p.b.Finish(); err != nil {
			return nil, err
		}
		p.b = nil
		p.rank.Source, p.rank.LocalRank, p.rank.Host = r.path, i, r.hostName()
	}
	return ranks, nil
}

// hostName returns the name of the host, or what is the same for files of one host.
func (r *recording) hostName() string {
	if r.host != "" {
		return r.host
	}
	return strings.TrimSuffix(filepath.Base(r.path), filepath.Ext(r.path))
}

// gpuOf returns the GPU of the host on which the process had most work.
func (r *recording) gpuOf(p *process) int64 {
	best := busiestDevice(p.devices)
	if gpu, ok := r.gpus[device{p.id.pid(), best}]; ok {
		return gpu
	}
	return best
}

// tell notes what the file lacks for the process, and what that prevents.
func (r *recording) tell(p *process) {
	note := func(format string, args ...any) { p.b.Note(input.NoteRecorder, format, args...) }
	switch {
	case !r.file.Has(nvtxTable, "start", "end", "eventType", "globalTid"):
		note("no NVTX ranges in the file (NVTX_EVENTS): steps and stages cannot be told; annotate them and record with --trace=nvtx")
	case p.marks == 0:
		note("no NVTX range of the process marks steps")
	}
	switch {
	case !r.file.Has(kernelTable, "start", "end"):
		note("no kernels in the file (CUPTI_ACTIVITY_KIND_KERNEL): no device time and no collectives; record with --trace=cuda")
	case p.work > 0 && !r.file.Has(runtimeTable, "start", "correlationId", "globalTid"):
		note("no API calls in the file (CUPTI_ACTIVITY_KIND_RUNTIME): which stage launched a kernel is guessed from when it ran")
	}
	if p.nameless > 0 {
		note("kernels without a name (StringIds), so that collectives among them cannot be told: %d", p.nameless)
	}
	if r.epoch <= 0 {
		note("the file does not say when its session began: its times stand alone, and are compared with other files' by collectives only")
	}
	if p.graphs > 0 {
		note("launches of CUDA graphs that were recorded as one piece of work, inside which collectives are not seen: %d; record with --cuda-graph-trace=node", p.graphs)
	}
	if len(p.devices) > 1 {
		note("the process used %d GPUs: their work counts together", len(p.devices))
	}
	if r.open > 0 {
		note("steps and stages that had not ended when the recording did, and were left out: %d", r.open)
	}
	if r.skipped > 0 {
		note("rows with times that cannot be, such as an end before the start, and were left out: %d", r.skipped)
	}
}
