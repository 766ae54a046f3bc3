package nsight_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// simulated is one window of a job with a rank that is slow in forward.
func simulated(t *testing.T, ranks, steps int) *trace.Window {
	t.Helper()
	s := simulate.DefaultSpec()
	s.Ranks, s.Seed, s.RanksPerHost = ranks, 7, ranks
	s.Schedule.Windows, s.Schedule.Steps = 1, steps
	g, err := simulate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// synchronised is a window whose ranks begin steps and end backward at once; rank 2
// is slow in forward.
func synchronised(ranks, steps int) *trace.Window {
	w := &trace.Window{Run: "synchronised", FirstStep: 10, WorldSize: ranks, Schema: trace.Schema{Stages: []string{
		simulate.StageData, "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "optim.step_cpu_wall"}}}
	for r := range ranks {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n0", LocalRank: r})
	}
	for t := range steps {
		var rows [4][]int64
		for r := range ranks {
			data, forward := int64(1_000_000+1000*((r+t)%3)), int64(5_000_000+1000*((2*r+t)%5))
			if r == 2 {
				forward += 2_000_000
			}
			for s, d := range []int64{data, forward, 20_000_000 - data - forward, 2_000_000} {
				rows[s] = append(rows[s], d)
			}
		}
		w.Durations = append(w.Durations, slices.Concat(rows[:]...)...)
		w.Wall = append(w.Wall, slices.Repeat([]int64{22_500_000}, ranks)...)
	}
	return w
}

// save writes an export of one host; name is that of the file.
func save(t *testing.T, dir, name string, e nsighttest.Export) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := nsighttest.Write(path, e); err != nil {
		t.Fatal(err)
	}
	return path
}

// mustRead reads files that are all good.
func mustRead(t *testing.T, paths ...string) []*profile.Rank {
	t.Helper()
	run, problems := nsight.Read(paths, nsight.Options{Detail: profiler.EachOperator})
	ranks := run.Ranks
	if len(problems) > 0 {
		t.Fatal(problems[0].Err)
	}
	return ranks
}

// said reports whether a note of a rank has these words.
func said(ranks []*profile.Rank, words string) bool {
	return slices.ContainsFunc(ranks, func(r *profile.Rank) bool {
		return slices.ContainsFunc(r.Notes, func(n input.Note) bool { return strings.Contains(n.Text, words) })
	})
}

// TestStages renders a window and reads it back: the same durations to the
// nanosecond, in tables of every age, in order or not, with registered names or
// plain words.
func TestStages(t *testing.T) {
	want := simulated(t, 4, 8)
	for age := range nsighttest.Of2026 + 1 {
		for _, shuffled := range []bool{false, true} {
			processes := nsighttest.RanksOfWindow(want, nsighttest.Gloss{Short: shuffled})
			if shuffled {
				for i := range processes {
					nsighttest.Shuffle(&processes[i], 3)
				}
			}
			path := save(t, t.TempDir(), "node.sqlite", nsighttest.Export{Age: age, Host: "n0", Epoch: 1766084870252528232, Processes: processes})
			divided, err := stages.Divide(mustRead(t, path), stages.Options{Timeline: stages.OnHost})
			if err != nil || len(divided.Windows) != 1 {
				t.Fatalf("age %d: %d windows, %v", age, len(divided.Windows), err)
			}
			if diff := cmp.Diff(want.Schema, divided.Windows[0].Schema); diff != "" {
				t.Error(diff)
			}
			if !slices.Equal(want.Durations, divided.Windows[0].Durations) || !slices.Equal(want.Wall, divided.Windows[0].Wall) || divided.Windows[0].FirstStep != want.FirstStep {
				t.Errorf("age %d, shuffled %v: durations differ", age, shuffled)
			}
		}
	}
}

// TestDevice: kernels belong to the stage that launched them, collectives are
// found and matched, and clocks that differ between files are brought together.
func TestDevice(t *testing.T) {
	w := synchronised(4, 8)
	skew := []int64{0, 0, 2_500_000, 2_500_000}
	processes := nsighttest.RanksOfWindow(w, nsighttest.Gloss{Kernels: 3, Skew: func(r int) int64 { return skew[r] }})
	for _, shuffled := range []bool{false, true} {
		if shuffled {
			for i := range processes {
				nsighttest.Shuffle(&processes[i], 5)
			}
		}
		dir := t.TempDir()
		ranks := mustRead(t,
			save(t, dir, "a.sqlite", nsighttest.Export{Host: "n0", Epoch: 1766084870252528232, Processes: processes[:2]}),
			save(t, dir, "b.sqlite", nsighttest.Export{Host: "n1", Epoch: 1766084870252528232, Processes: processes[2:]}))
		if len(ranks) != 4 || ranks[3].Host != "n1" || ranks[3].LocalRank != 1 {
			t.Fatalf("%d ranks, the last %+v", len(ranks), ranks[len(ranks)-1])
		}
		at := w.Schema.Index("model.fwd_loss_cpu_wall")
		for r, rank := range ranks {
			if len(rank.Comm.Calls) != w.Steps() {
				t.Errorf("rank %d: %d collectives in %d steps", r, len(rank.Comm.Calls), w.Steps())
			}
			for s := range rank.Steps {
				d := rank.Steps[s].Device
				if d == nil || d.Busy[rank.Steps[s].Spans[1].Stage] != w.Step(s)[at*4+r] {
					t.Errorf("rank %d, step %d: forward keeps the device busy %v, expected %d", r, s, d, w.Step(s)[at*4+r])
				}
			}
		}
		divided, err := stages.Divide(ranks, stages.Options{Each: true})
		o := divided.Operators
		if err != nil {
			t.Fatal(err)
		}
		ends := map[int64]int64{} // of the collective of each step, on one clock
		for i := range o.Start {
			if o.Group[i] < 0 {
				continue
			}
			step, end := o.Steps[o.Step[i]], o.Start[i]+o.Dur[i]
			first, ok := ends[step]
			if !ok {
				ends[step] = end
			} else if d := end - first; d < -1000 || d > 1000 {
				t.Errorf("step %d: the collective ends on rank %d %d ns after the first rank", step, o.Ranks[o.Rank[i]].ID, d)
			}
		}
		if len(ends) != w.Steps() {
			t.Errorf("collectives of %d steps, expected %d", len(ends), w.Steps())
		}
	}
}

// one is an export of a process with two steps of a stage of 1 ms each, which a
// test adds to.
func one(add func(p *nsighttest.Process)) nsighttest.Export {
	p := nsighttest.Process{PID: 10, Name: "python3", Domains: map[int64]string{1: "NCCL"}}
	for i := range int64(3) {
		at := 1_000_000 + i*2_000_000
		p.Ranges = append(p.Ranges, nsighttest.Range{Start: at, End: at + 1_500_000, Text: fmt.Sprintf("iteration %d", i)},
			nsighttest.Range{Start: at, End: at + 1_000_000, Text: "forward"}, nsighttest.Range{Start: at + 1_000_000, End: at + 1_400_000, Text: "backward"})
	}
	if add != nil {
		add(&p)
	}
	return nsighttest.Export{Host: "n0", Epoch: 1766084870252528232, Processes: []nsighttest.Process{p}}
}

const allReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"

// TestCallsAndKernels are the cases in which a call is not a kernel.
func TestCallsAndKernels(t *testing.T) {
	launch := func(p *nsighttest.Process, at, correlation int64, name string) {
		p.Calls = append(p.Calls, nsighttest.Call{Start: at, End: at + 5, Correlation: correlation, Name: name})
	}
	for name, c := range map[string]struct {
		add         func(p *nsighttest.Process)
		collectives int
		says        string
	}{
		"a group: three calls, one kernel": {func(p *nsighttest.Process) {
			for i := range int64(3) {
				p.Ranges = append(p.Ranges, nsighttest.Range{Start: 1_100_000 + i*10, End: 1_100_008 + i*10, Text: "ncclAllReduce", Registered: true, Domain: 1})
			}
			p.Ranges = append(p.Ranges, nsighttest.Range{Start: 1_100_030, End: 1_100_100, Text: "ncclGroupEnd", Registered: true, Domain: 1})
			launch(p, 1_100_040, 1, "cuLaunchKernelEx")
			p.Work = append(p.Work, nsighttest.Work{Start: 1_200_000, End: 1_300_000, Correlation: 1, Name: allReduce})
		}, 1, ""},
		"one rank or nothing to send: a call and no kernel": {func(p *nsighttest.Process) {
			p.Ranges = append(p.Ranges, nsighttest.Range{Start: 1_100_000, End: 1_100_008, Text: "ncclAllReduce", Domain: 1})
			launch(p, 1_150_000, 1, "cudaLaunchKernel_v7000")
			p.Work = append(p.Work, nsighttest.Work{Start: 1_200_000, End: 1_300_000, Correlation: 1, Name: "gemm"})
		}, 0, ""},
		"a graph node by node: many kernels of one launch": {func(p *nsighttest.Process) {
			launch(p, 1_100_000, 1, "cudaGraphLaunch_v10000")
			for i := range int64(4) {
				p.Work = append(p.Work, nsighttest.Work{Start: 2_600_000 + i*1000, End: 2_600_900 + i*1000, Correlation: 1, Name: allReduce, GraphNode: 17 + i})
			}
		}, 4, ""},
		"a graph as a whole": {func(p *nsighttest.Process) {
			launch(p, 1_100_000, 1, "cudaGraphLaunch_v10000")
			p.Graphs = append(p.Graphs, nsighttest.Work{Start: 1_200_000, End: 1_300_000, Correlation: 1})
		}, 0, "inside which collectives are not seen: 1;"},
		"copy engines: no kernel at all": {func(p *nsighttest.Process) {
			launch(p, 1_100_000, 1, "cudaMemcpyAsync_v3020")
			p.Copies = append(p.Copies, nsighttest.Work{Start: 1_200_000, End: 1_300_000, Correlation: 1, Bytes: 1 << 20})
		}, 0, ""},
		"names of every age": {func(p *nsighttest.Process) {
			for i, name := range []string{"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)",
				"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
				"ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f16(ncclSymkDevWorkArgs)", "mscclKernel_Sum_half_Simple_1(mscclWork)",
				"void oneRankReduce<FuncPreMulSum<float>>(void*)"} {
				p.Work = append(p.Work, nsighttest.Work{Start: 1_200_000 + int64(i)*1000, End: 1_200_900 + int64(i)*1000, Name: name})
			}
		}, 7, ""},
		"a recording that ends inside a step": {func(p *nsighttest.Process) {
			p.Ranges = append(p.Ranges, nsighttest.Range{Start: 7_000_000, Text: "iteration 3"}, nsighttest.Range{Start: 7_000_000, Text: "forward"})
		}, 0, "had not ended when the recording did, and were left out: 2"},
		"an end before its start": {func(p *nsighttest.Process) {
			p.Work = append(p.Work, nsighttest.Work{Start: 1_300_000, End: 1_200_000, Name: "gemm"})
		}, 0, "such as an end before the start, and were left out: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			ranks := mustRead(t, save(t, t.TempDir(), "x.sqlite", one(c.add)))
			if len(ranks) != 1 || len(ranks[0].Steps) != 3 || len(ranks[0].Comm.Calls) != c.collectives {
				t.Fatalf("%d ranks, the first with %d steps and %d collectives", len(ranks), len(ranks[0].Steps), len(ranks[0].Comm.Calls))
			}
			if c.says != "" && !said(ranks, c.says) {
				t.Errorf("no note says %q: %v", c.says, ranks[0].Notes)
			}
			for _, k := range ranks[0].Comm.Calls {
				if strings.Contains(name, "graph") && (k.Step != ranks[0].Steps[0].Index || k.Stage != ranks[0].Stages[1]) {
					t.Errorf("a kernel of the graph counts for step %d, stage %q, and not for its launch", k.Step, k.Stage)
				}
			}
			if _, err := stages.Divide(ranks, stages.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAnnotatedCommunication: a kernel of an unknown name communicates where it was launched in a range that is named after a
// collective.
func TestAnnotatedCommunication(t *testing.T) {
	for text, want := range map[string]int64{"AllReduce": 4000, "vllm::all_reduce": 4000, "reduce loss": 0} {
		p := nsighttest.Process{PID: 7, Name: "python3",
			Ranges: []nsighttest.Range{{Start: 0, End: 100_000, Text: "iteration 0"}, {Start: 10_000, End: 20_000, Text: text}},
			Calls:  []nsighttest.Call{{Start: 12_000, End: 13_000, Correlation: 1, Name: "cudaLaunchKernel"}},
			Work:   []nsighttest.Work{{Start: 30_000, End: 34_000, Stream: 9, Correlation: 1, Name: "void fancy::run<4>(int*)"}}}
		ranks := mustRead(t, save(t, t.TempDir(), "node.sqlite", nsighttest.Export{Host: "n0", Epoch: 1766084870252528232, Processes: []nsighttest.Process{p}}))
		if got := ranks[0].Steps[0].Time.Communication; got != want {
			t.Errorf("in %q %d ns communicate, expected %d", text, got, want)
		}
	}
}

// TestCorrelations: ids repeat across processes.
func TestCorrelations(t *testing.T) {
	e := one(nil)
	e.Processes = append(e.Processes, one(nil).Processes...)
	e.Processes[1].PID, e.Processes[1].Device, e.Processes[1].GPU = 11, 1, 1
	for i := range e.Processes {
		at := 1_100_000 + int64(i)*1_000_000 // in forward of the first, in backward of the second
		e.Processes[i].Calls = []nsighttest.Call{{Start: at, End: at + 5, Correlation: 1, Name: "cudaLaunchKernel"}}
		e.Processes[i].Work = []nsighttest.Work{{Start: 2_200_000, End: 2_300_000, Correlation: 1, Name: "gemm"}}
	}
	for i, r := range mustRead(t, save(t, t.TempDir(), "x.sqlite", e)) {
		if busy := r.Steps[0].Device.Busy; busy[1+i] != 100_000 {
			t.Errorf("rank %d: the stages keep the device busy %v", i, busy)
		}
	}
}

// TestWarnings: what Nsight Systems itself says is missing from a capture is said of it, once.
func TestWarnings(t *testing.T) {
	e := one(nil)
	e.Warnings = []string{"Not all CUDA events might have been collected.", "Not all CUDA events might have been collected."}
	warned := 0
	for _, n := range mustRead(t, save(t, t.TempDir(), "x.sqlite", e))[0].Notes {
		if strings.Contains(n.Text, "warns of this capture") {
			warned++
			if !strings.HasSuffix(n.Text, `"Not all CUDA events might have been collected."`) {
				t.Error(n.Text)
			}
		}
	}
	if warned != 1 {
		t.Errorf("%d notes of warnings, want 1", warned)
	}
}

// TestLacking: what a file does not have is said with what it prevents.
func TestLacking(t *testing.T) {
	work := func(p *nsighttest.Process) {
		p.Calls = []nsighttest.Call{{Start: 1_100_000, End: 1_100_005, Correlation: 1, Name: "cudaLaunchKernel"}}
		p.Work = []nsighttest.Work{{Start: 1_200_000, End: 1_300_000, Correlation: 1, Name: allReduce}}
	}
	for table, says := range map[string]string{
		"NVTX_EVENTS":                    "no NVTX ranges in the file",
		"CUPTI_ACTIVITY_KIND_KERNEL":     "no kernels in the file",
		"CUPTI_ACTIVITY_KIND_RUNTIME":    "no API calls in the file",
		"TARGET_INFO_SESSION_START_TIME": "does not say when its session began",
		"StringIds":                      "collectives among them cannot be told: 1",
	} {
		e := one(work)
		e.Without = []string{table}
		if ranks := mustRead(t, save(t, t.TempDir(), "x.sqlite", e)); !said(ranks, says) {
			t.Errorf("without %s no note says %q: %v", table, says, ranks[0].Notes)
		}
	}
	e := one(nil)
	e.Without = []string{"NVTX_EVENTS"}
	_, problems := nsight.Read([]string{save(t, t.TempDir(), "x.sqlite", e)}, nsight.Options{})
	if len(problems) != 1 || !strings.Contains(problems[0].Err.Error(), "no process in it ran work on a GPU or marked steps") {
		t.Errorf("%v", problems)
	}
}

// TestCopies: an export that lies there twice counts once.
func TestCopies(t *testing.T) {
	dir := t.TempDir()
	e := one(nil)
	ranks := mustRead(t, save(t, dir, "a.sqlite", e), save(t, dir, "b.sqlite", e))
	if len(ranks) != 1 || !said(ranks, "copies of an export are left out, so that one rank does not count twice: b.sqlite") {
		t.Errorf("%d ranks, %+v", len(ranks), ranks[0].Notes)
	}
	e.Processes[0].Ranges[0].End++
	if ranks := mustRead(t, filepath.Join(dir, "a.sqlite"), save(t, dir, "c.sqlite", e)); len(ranks) != 2 {
		t.Errorf("%d ranks of two exports that differ", len(ranks))
	}
}

// TestNumbering: which rank a process is.
func TestNumbering(t *testing.T) {
	type file struct {
		name, host string
		gpus       []int64
		claims     []string // an NVTX mark of each process
	}
	for name, c := range map[string]struct {
		files []file
		want  []string // host and GPU, by rank
		ids   []int
		says  string
	}{
		"GPUs of a host, also where each process sees one": {[]file{{"n.sqlite", "n0", []int64{2, 0, 3, 1}, nil}},
			[]string{"n0/0", "n0/1", "n0/2", "n0/3"}, []int{0, 1, 2, 3}, "by the order of hosts"},
		"hosts by number": {[]file{{"b.sqlite", "n10", []int64{0, 1}, nil}, {"a.sqlite", "n9", []int64{1, 0}, nil}},
			[]string{"n9/0", "n9/1", "n10/0", "n10/1"}, []int{0, 1, 2, 3}, "0-1 on n9, 2-3 on n10"},
		"a file for each rank": {[]file{{"report-rank11.sqlite", "n0", []int64{0}, nil}, {"report-rank3.sqlite", "n0", []int64{1}, nil}},
			[]string{"n0/1", "n0/0"}, []int{3, 11}, "by the names of the files"},
		"a file for each rank, numbered": {[]file{{"prof.1.sqlite", "n0", []int64{0}, nil}, {"prof.0.sqlite", "n0", []int64{1}, nil}},
			[]string{"n0/1", "n0/0"}, []int{0, 1}, "by the names of the files"},
		"numbers that are the hosts'": {[]file{{"node21.sqlite", "node21", []int64{0}, nil}, {"node20.sqlite", "node20", []int64{0}, nil}},
			[]string{"node20/0", "node21/0"}, []int{0, 1}, "by the order of hosts"},
		"the same number twice": {[]file{{"rank0.sqlite", "n0", []int64{0}, nil}, {"x-rank0.sqlite", "n1", []int64{0}, nil}},
			[]string{"n0/0", "n1/0"}, []int{0, 1}, "by the order of hosts"},
		"what they say": {[]file{{"n.sqlite", "n0", []int64{0, 1}, []string{"rank 5", "[rank4]"}}},
			[]string{"n0/1", "n0/0"}, []int{4, 5}, "by what NVTX ranges say"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var paths []string
			for _, f := range c.files {
				e := nsighttest.Export{Host: f.host}
				for i, gpu := range f.gpus {
					p := one(nil).Processes[0]
					p.PID, p.GPU = 100+i, gpu
					p.Work = []nsighttest.Work{{Start: 1_200_000, End: 1_300_000, Name: "gemm"}}
					if f.claims != nil {
						p.Ranges = append(p.Ranges, nsighttest.Range{Start: 5, Text: f.claims[i], Type: 34})
					}
					p.Name = fmt.Sprint(f.host, "/", gpu)
					e.Processes = append(e.Processes, p)
				}
				paths = append(paths, save(t, dir, f.name, e))
			}
			ranks := mustRead(t, paths...)
			var ids []int
			for _, r := range ranks {
				ids = append(ids, r.ID)
			}
			if diff := cmp.Diff(c.ids, ids); diff != "" {
				t.Errorf("ranks: %s", diff)
			}
			for i, r := range ranks {
				if host, _, _ := strings.Cut(c.want[i], "/"); r.Host != host {
					t.Errorf("rank %d is on %s, expected %s", r.ID, r.Host, c.want[i])
				}
			}
			if !said(ranks, c.says) {
				t.Errorf("no note says %q: %v", c.says, ranks[0].Notes)
			}
		})
	}
}

// TestTruth reads exports of jobs of known truth, where they are at hand.
func TestTruth(t *testing.T) {
	for _, s := range truths(t, largedata.Need(t, "data/nccl/dev")) {
		t.Run(s.name, func(t *testing.T) {
			ranks := mustRead(t, s.paths...)
			if len(ranks) != len(s.Ranks) {
				t.Fatalf("%d ranks, expected %d", len(ranks), len(s.Ranks))
			}
			for i, r := range ranks {
				want := s.Ranks[i]
				if r.ID != want.Rank || s.Features.Schema == "2024.6" && r.Host != want.Host || r.LocalRank != want.Local {
					t.Errorf("rank %d: host %s, local rank %d, expected %+v", r.ID, r.Host, r.LocalRank, want)
				}
				kernels := 0
				for _, n := range s.Expected[fmt.Sprint(r.ID)].Kernels {
					kernels += n
				}
				if len(r.Comm.Calls) != kernels {
					t.Errorf("rank %d: %d collectives, expected %d", r.ID, len(r.Comm.Calls), kernels)
				}
			}
		})
	}
}
