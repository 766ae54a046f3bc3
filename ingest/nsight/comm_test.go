package nsight_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/nccl"
)

const ncclReduceName = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"

// Only NCCL's kernels are kept, each with the launch of its own process, in the order of their starts.
func TestReadComm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	process := func(pid, late int) nsighttest.Process {
		return nsighttest.Process{PID: pid, Device: 1, GPU: 1,
			Ranges: []nsighttest.Range{{Start: 1, End: 900, Text: "iteration 7"}, {Start: 2, End: 3, Text: "rank 5"}, {Start: 4, End: 50, Text: "forward"},
				{Start: 5, End: 20, Text: "microbatch 0"}, {Start: 5, End: 50, Text: "forward", Thread: 3}, {Start: 5, End: 6, Text: "aten::add"}},
			Calls: []nsighttest.Call{{Start: int64(100 + late), End: 110, Correlation: 8, Name: "cudaLaunchKernel_v7000", Thread: 2}},
			Work: []nsighttest.Work{
				{Start: 500, End: 600, Stream: 7, Correlation: 9, Name: ncclReduceName, GraphNode: 4},
				{Start: 200, End: 300, Stream: 7, Correlation: 8, Name: ncclReduceName},
				{Start: 210, End: 250, Stream: 9, Correlation: 7, Name: "gemm"},
				{Start: 700, End: 600, Stream: 7, Correlation: 10, Name: ncclReduceName},
			}}
	}
	e := nsighttest.Export{Host: "n0", Epoch: 1_000_000, Processes: []nsighttest.Process{process(12, 5), process(11, 0)}}
	if err := nsighttest.Write(path, e); err != nil {
		t.Fatal(err)
	}
	c, err := nsight.ReadComm(path, "x", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Processes) != 2 || c.Processes[0].Host != "n0" || c.Processes[0].PID != 11 {
		t.Fatalf("%+v", c)
	}
	p := c.Processes[1]
	if len(p.Kernels) != 2 || p.Device != 1 || p.Rank != 5 || len(p.Steps) != 1 || p.Steps[0].Name != "iteration 7" || p.Steps[0].Start != 1_000_001 {
		t.Fatalf("%+v", p)
	}
	if len(p.Phases) != 2 || p.Phases[0].Name != "forward" || p.Phases[0].Start != 1_000_004 || p.Phases[1].Name != "microbatch 0" {
		t.Errorf("phases %+v", p.Phases)
	}
	first, second := p.Kernels[0], p.Kernels[1]
	if f := first.Config; f == nil || f != second.Config || f.Name != ncclReduceName || f.Grid != [3]int64{24, -1, -1} || f.Block[0] != 256 || f.Registers != -1 {
		t.Errorf("launched as %+v", f)
	}
	if first.Op != nccl.AllReduce || first.Datatype != nccl.Float32 || first.Correlation != 8 || first.Launch != 1_000_105 || !first.HasLaunch || first.Thread != 14 || first.Grid != 24 || first.Replay {
		t.Errorf("%+v", first)
	}
	if second.HasLaunch || !second.Replay || second.Correlation != 9 {
		t.Errorf("%+v", second)
	}
}

// The bus is that of the GPU that the process calls by its device; files without tables have none.
func TestReadCommWithout(t *testing.T) {
	for _, table := range []string{"", "StringIds", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_CUDA_DEVICE", "CUPTI_ACTIVITY_KIND_KERNEL"} {
		path := filepath.Join(t.TempDir(), "x.sqlite")
		e := nsighttest.Export{Without: []string{table}, Processes: []nsighttest.Process{{PID: 5, Work: []nsighttest.Work{{Start: 1, End: 2, Correlation: 1, Name: ncclReduceName}},
			Ranges: []nsighttest.Range{{Start: 1, End: 2, Text: "step 1"}}}}}
		if err := nsighttest.Write(path, e); err != nil {
			t.Fatal(err)
		}
		c, err := nsight.ReadComm(path, "x", ingest.Limits{})
		if none := table == "StringIds" || table == "CUPTI_ACTIVITY_KIND_KERNEL"; (err != nil) != none {
			t.Errorf("without %s: %+v, %v", table, c, err)
		}
	}
}

func FuzzReadComm(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.sqlite")
	e := nsighttest.Export{PageSize: 512, Processes: []nsighttest.Process{{PID: 5, Work: []nsighttest.Work{{Start: 1, End: 2, Correlation: 1, Name: ncclReduceName}}}}}
	if err := nsighttest.Write(path, e); err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{path, decodedExport(f, nsighttest.Decoded), decodedExport(f, nsighttest.DecodedAsNamed)} {
		data, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = nsight.ReadComm(path, "x", ingest.Limits{})
	})
}
