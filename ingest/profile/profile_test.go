package profile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest/profile/stagemap"
	"github.com/sfstat/sfstat/trace"
)

const us = 1000

// feed is what a test gives a builder, in microseconds.
type feed struct{ b *Builder }

func newFeed() feed { return feed{NewBuilder(nil, EachOperator)} }

func (f feed) finish() *Rank {
	r, err := f.b.Finish()
	if err != nil {
		panic(err) // of a temporary file, which none of the small ones has
	}
	return r
}

func (f feed) on(thread int64, name string, start, end int64) feed {
	f.b.Range(f.b.Name([]byte(name)), thread, start*us, end*us)
	return f
}

func (f feed) kernel(name string, queue, launch, start, end int64) feed {
	id := f.b.Name([]byte(name))
	corr := launch*1000 + start + 1
	f.b.Launch(corr, launch*us, LaunchesOne)
	kind := f.b.KindOf(id)
	if strings.HasPrefix(name, "Mem") {
		kind = Memory
	}
	f.b.Work(Work{Name: id, Queue: queue, Start: start * us, End: end * us, Correlation: corr, Kind: kind})
	return f
}

// spans writes the stages of a step: "data 0-10, forward 10-20".
func spans(r *Rank, s Step) string {
	var out []string
	for _, p := range s.Spans {
		out = append(out, r.Stages[p.Stage]+" "+itoa(p.Start/us)+"-"+itoa(p.End/us))
	}
	return strings.Join(out, ", ")
}

func itoa(n int64) string { return listSteps([]int64{n}) }

// TestStages: nested, overlapping and background ranges, each moment once.
func TestStages(t *testing.T) {
	const main, engine = 1, 2
	for name, tt := range map[string]struct {
		f    feed
		want string
	}{
		"nested": {newFeed().on(main, "## forward ##", 10, 40).on(main, "DistributedDataParallel.forward", 12, 38).on(main, "forward", 13, 14),
			stagemap.Forward + " 10-40"},
		"inner first in the file":                 {newFeed().on(main, "forward", 13, 14).on(main, "## forward ##", 10, 40), stagemap.Forward + " 10-40"},
		"another stage inside is the outer one's": {newFeed().on(main, "forward", 10, 40).on(main, "data", 20, 30), stagemap.Forward + " 10-40"},
		"overlapping":                             {newFeed().on(main, "forward", 10, 40).on(main, "backward", 30, 60), stagemap.Forward + " 10-40, " + stagemap.Backward + " 40-60"},
		"an optimizer's closure": {newFeed().on(main, "Optimizer.step#LBFGS.step", 10, 90).on(main, "forward", 20, 40).on(main, "backward", 40, 60),
			stagemap.Optimizer + " 10-20, " + stagemap.Forward + " 20-40, " + stagemap.Backward + " 40-60, " + stagemap.Optimizer + " 60-90"},
		"backward on its own thread": {newFeed().on(main, "forward", 10, 40).on(main, "Optimizer.step#SGD.step", 80, 90).
			on(engine, "autograd::engine::evaluate_function: A", 45, 50).on(engine, "autograd::engine::evaluate_function: B", 70, 85),
			stagemap.Forward + " 10-40, " + stagemap.Backward + " 45-80, " + stagemap.Optimizer + " 80-90"},
		"annotated backward wins over the engine": {newFeed().on(main, "forward", 10, 40).on(main, "backward", 42, 60).
			on(engine, "autograd::engine::evaluate_function: A", 45, 75), stagemap.Forward + " 10-40, " + stagemap.Backward + " 42-60"},
		"no forward named": {newFeed().on(main, "enumerate(DataLoader)#x.__next__", 2, 10).on(main, "backward", 40, 60),
			stagemap.Data + " 2-10, " + stagemap.Forward + " 10-40, " + stagemap.Backward + " 40-60"},
		"cut to the step":               {newFeed().on(main, "forward", -5, 40).on(main, "Optimizer.step#SGD.step", 90, 120), stagemap.Forward + " 0-40, " + stagemap.Optimizer + " 90-100"},
		"another thread does not count": {newFeed().on(main, "forward", 10, 40).on(7, "data", 50, 60), stagemap.Forward + " 10-40"},
		"two of accumulation": {newFeed().on(main, "forward", 0, 10).on(main, "backward", 10, 20).on(main, "forward", 20, 30).on(main, "backward", 30, 40),
			stagemap.Forward + " 0-10, " + stagemap.Backward + " 10-20, " + stagemap.Forward + " 20-30, " + stagemap.Backward + " 30-40"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.f.on(main, "ProfilerStep#3", 0, 100).finish()
			if len(r.Steps) != 1 || r.Steps[0].Index != 3 {
				t.Fatalf("steps %v", r.Steps)
			}
			if got := spans(r, r.Steps[0]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestDevice: an account by hand. Times in µs; the step is 0 to 100, forward
// 10 to 30 on the host, backward 30 to 40.
//
//	stream 1: A forward 15–35, B backward 45–60, C backward 60–70 (launched at 38)
//	stream 2: nccl, backward 50–90 (launched at 35); copy 20–40, forward
func TestDevice(t *testing.T) {
	f := newFeed().on(1, "ProfilerStep#0", 0, 100).on(1, "forward", 10, 30).on(1, "backward", 30, 40).
		kernel("A", 1, 12, 15, 35).kernel("Memcpy HtoD", 2, 13, 20, 40).
		kernel("B", 1, 32, 45, 60).kernel("C", 1, 38, 60, 70).kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2, 35, 50, 90)
	r := f.finish()
	d := r.Steps[0].Device
	if d == nil {
		t.Fatal("no account of the device")
	}
	// Compute 20 + 15 + 10, communication 40, memory 20; nothing runs in 0–15,
	// 40–45 and 90–100; communication alone in 70–90.
	want := Categories{Start: 0, End: 100 * us, First: 15 * us, Last: 90 * us,
		Compute: 45 * us, Communication: 40 * us, Memory: 20 * us, Idle: 30 * us, ExposedComm: 20 * us}
	if got := *r.Steps[0].Time; got != want {
		t.Errorf("categories %+v, want %+v", got, want)
	}
	// Forward: 10–12 (host), 12–15 (launched, not begun), 15–40; backward:
	// 40–45 (launched) and 45–70. 90–100 is nobody's.
	fwd, bwd := slices.Index(r.Stages, stagemap.Forward), slices.Index(r.Stages, stagemap.Backward)
	if d.Own[fwd] != 30*us || d.Own[bwd] != 30*us {
		t.Errorf("own time of forward %d, of backward %d, want 30 µs each", d.Own[fwd], d.Own[bwd])
	}
	if d.Busy[fwd] != 25*us || d.Busy[bwd] != 25*us {
		t.Errorf("busy time %v", d.Busy)
	}
	if got := slices.Collect(d.Exposed.All()); !slices.Equal(got, []Exposure{{Stage: bwd, Collective: 0, Start: 70 * us, End: 90 * us, Before: 30 * us}}) {
		t.Errorf("exposed %+v", got)
	}
}

// TestDeviceRunsBehind: what the first step launched runs into the second,
// whose device time begins after it; together they leave no gap.
func TestDeviceRunsBehind(t *testing.T) {
	r := newFeed().on(1, "ProfilerStep#0", 0, 100).on(1, "ProfilerStep#1", 100, 200).on(1, "forward", 10, 30).on(1, "forward", 110, 130).
		kernel("A", 1, 12, 20, 150).kernel("A", 1, 112, 150, 260).finish()
	a, b := r.Steps[0].Device, r.Steps[1].Device
	if a.Start != 0 || a.End != 150*us || b.Start != 150*us || b.End != 260*us {
		t.Errorf("device steps %d–%d and %d–%d", a.Start, a.End, b.Start, b.End)
	}
	if got := b.Own[slices.Index(r.Stages, stagemap.Forward)]; got != 110*us {
		t.Errorf("forward of step 1 has %d ns", got)
	}
}

func TestSteps(t *testing.T) {
	for name, tt := range map[string]struct {
		f       feed
		want    []int64
		noted   string
		cutLast bool
	}{
		"profiler's beat the user's": {newFeed().on(1, "iteration 7", 1, 90).on(1, "ProfilerStep#2", 0, 100), []int64{2}, "", false},
		"user's":                     {newFeed().on(1, "## iteration 7 ##", 0, 100).on(1, "## iteration 8 ##", 100, 200), []int64{7, 8}, "", false},
		"without numbers":            {newFeed().on(1, "train_step", 0, 100).on(1, "train_step", 100, 200), []int64{0, 1}, "", false},
		"two threads":                {newFeed().on(1, "ProfilerStep#2", 0, 100).on(1, "ProfilerStep#3", 100, 200).on(2, "ProfilerStep#2", 50, 130), []int64{2, 3}, "", false},
		"inside one another":         {newFeed().on(1, "ProfilerStep#2", 0, 100).on(1, "ProfilerStep#3", 10, 20), []int64{2}, "inside other steps", false},
		"overlapping":                {newFeed().on(1, "ProfilerStep#2", 0, 100).on(1, "ProfilerStep#3", 90, 200), []int64{2, 3}, "before the one before", false},
		"numbers that fall":          {newFeed().on(1, "ProfilerStep#9", 0, 100).on(1, "ProfilerStep#3", 100, 200), []int64{9, 3}, "do not ascend with time", false},
		"numbers that repeat":        {newFeed().on(1, "ProfilerStep#9", 0, 100).on(1, "ProfilerStep#9", 100, 200), []int64{0, 1}, "counted from 0", false},
		"none, two optimizer steps":  {newFeed().on(1, "Optimizer.step#A.step", 90, 100).on(1, "Optimizer.step#A.step", 190, 200), []int64{0, 1}, "nothing marks steps", false},
		"none at all":                {newFeed().on(1, "forward", 0, 100), []int64{0}, "the whole recording", false},
		"cut last":                   {newFeed().on(1, "ProfilerStep#1", 0, 9000).on(1, "ProfilerStep#2", 9100, 9150), []int64{1, 2}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.f.finish()
			var got []int64
			for _, s := range r.Steps {
				got = append(got, s.Index)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("steps %v, want %v", got, tt.want)
			}
			if noted := slices.ContainsFunc(r.Notes, func(n trace.Note) bool { return strings.Contains(n.Text, tt.noted) }); tt.noted != "" && !noted {
				t.Errorf("notes %v", r.Notes)
			}
			if last := r.Steps[len(r.Steps)-1]; last.Cut != tt.cutLast {
				t.Errorf("the last step is cut: %v", last.Cut)
			}
		})
	}
}

// job is two ranks whose forward kernels end at 40 and 60 µs, then all-reduce
// until 70; clock is how far the second rank's clock is ahead, in µs.
func job(clock int64) []*Rank {
	var ranks []*Rank
	for id, end := range []int64{40, 60} {
		c := clock * int64(id)
		f := newFeed()
		for s := int64(0); s < 3; s++ {
			t := c + 100*s
			f = f.on(1, "ProfilerStep#"+itoa(s), t, t+100).on(1, "forward", t, t+20).on(1, "backward", t+20, t+30).
				kernel("A", 1, t, t, t+end).kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2, t+25, t+end, t+70)
		}
		r := f.finish()
		r.ID, r.World = id, 2
		ranks = append(ranks, r)
	}
	return ranks
}

// TestWindows: the wait of the early rank is told from the transfer, whatever
// the clocks.
func TestWindows(t *testing.T) {
	for _, clock := range []int64{0, 1_000_000} {
		windows, err := Windows(job(clock), Options{Run: "job"})
		if err != nil {
			t.Fatal(err)
		}
		if len(windows) != 1 {
			t.Fatalf("%d windows", len(windows))
		}
		w := windows[0]
		want := []string{"model.fwd_loss_device", "wait.model.backward", "comm.model.backward"}
		if diff := cmp.Diff(want, w.Schema.Stages); diff != "" {
			t.Fatalf("stages (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{40 * us, 60 * us, 20 * us, 0, 10 * us, 10 * us}, w.Step(1)); diff != "" {
			t.Errorf("clock %d: step 1 (-want +got):\n%s", clock, diff)
		}
		if diff := cmp.Diff([]int64{100 * us, 100 * us}, w.WallOf(1)); diff != "" {
			t.Errorf("wall (-want +got):\n%s", diff)
		}
	}
}

// TestCoveredTransfer: gradients are reduced in two buckets, the first beside
// other work. That it is exposed on the early rank comes of the late one: had
// that come in time, its transfer would have been covered too.
func TestCoveredTransfer(t *testing.T) {
	var ranks []*Rank
	for id, bucket := range []int64{20, 50} {
		f := newFeed()
		computed := 40 + 30*int64(id)
		for s := range int64(3) {
			t := 100 * s
			f = f.on(1, "ProfilerStep#"+itoa(s), t, t+100).on(1, "backward", t, t+10).kernel("A", 1, t, t, t+computed).
				kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2, t+1, t+bucket, t+60).
				kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2, t+2, t+max(60, computed), t+80)
		}
		r := f.finish()
		r.ID, r.World = id, 2
		ranks = append(ranks, r)
	}
	windows, err := Windows(ranks, Options{Run: "job"})
	if err != nil {
		t.Fatal(err)
	}
	w := windows[0]
	if diff := cmp.Diff([]string{"model.backward_device", "wait.model.backward", "comm.model.backward"}, w.Schema.Stages[:3]); diff != "" {
		t.Fatalf("stages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{40 * us, 70 * us, 30 * us, 0, 10 * us, 10 * us}, w.Step(1)[:6]); diff != "" {
		t.Errorf("step 1 (-want +got):\n%s", diff)
	}
}

// TestUnmappedBeforeWait: time of no stage for which others wait in the same
// step is a stage that lies before the wait; what follows the communication,
// and a little, is left over.
func TestUnmappedBeforeWait(t *testing.T) {
	stages := func(stall int64) *trace.Window {
		var ranks []*Rank
		for id := range int64(2) {
			f := newFeed()
			for s := range int64(3) {
				t, begin := 200*s, 200*s+stall*id
				f = f.on(1, "ProfilerStep#"+itoa(s), t, t+200).on(1, "forward", begin, begin+20).on(1, "backward", begin+20, begin+30).
					kernel("A", 1, begin, begin, begin+40).kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2, begin+25, begin+40, t+stall+50)
			}
			r := f.finish()
			r.ID, r.World = int(id), 2
			ranks = append(ranks, r)
		}
		windows, err := Windows(ranks, Options{Run: "job"})
		if err != nil {
			t.Fatal(err)
		}
		return windows[0]
	}
	w := stages(60)
	if diff := cmp.Diff([]string{UnmappedDevice, "model.fwd_loss_device", "wait.model.backward", "comm.model.backward"}, w.Schema.Stages); diff != "" {
		t.Fatalf("stages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{0, 60 * us, 40 * us, 40 * us, 60 * us, 0, 10 * us, 10 * us}, w.Step(1)); diff != "" {
		t.Errorf("step 1 (-want +got):\n%s", diff)
	}
	if w := stages(9); slices.Contains(w.Schema.Stages, UnmappedDevice) {
		t.Errorf("less than a twentieth of the time is a stage of its own: %v", w.Schema.Stages)
	}
}

func TestClocks(t *testing.T) {
	got := Clocks(job(1_000_000))
	if got[0] != (Clock{}) || got[1].Offset != 1_000_000*us || got[1].Residual != 0 || got[1].Matches != 3 {
		t.Errorf("clocks %+v", got)
	}
}

// TestHostTimeline: the same job on the host, with what its device did beside.
func TestHostTimeline(t *testing.T) {
	windows, err := Windows(job(0), Options{Timeline: OnHost})
	if err != nil {
		t.Fatal(err)
	}
	w := windows[0]
	if diff := cmp.Diff([]int64{20 * us, 20 * us, 10 * us, 10 * us}, w.Step(0)); diff != "" {
		t.Errorf("step 0 (-want +got):\n%s", diff)
	}
	if len(w.Side) != 1 || w.Side[0].Name != "model.fwd_loss_cuda_event_ms" || w.Side[0].Samples[1].Value != 0.06 {
		t.Errorf("side channels %+v", w.Side)
	}
}

func TestOpTrace(t *testing.T) {
	o, err := OpTrace(job(1_000_000), Options{Run: "job"})
	if err != nil {
		t.Fatal(err)
	}
	if o.Len() != 12 || len(o.Names) != 2 || len(o.Steps) != 3 {
		t.Fatalf("%d operators, names %v, steps %v", o.Len(), o.Names, o.Steps)
	}
	g, err := o.Grid()
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Instances) != 2 || g.Replicas != 2 {
		t.Errorf("grid %+v", g)
	}
	wait, transfer := int64(0), int64(0)
	for i := range o.Start {
		if o.Group[i] >= 0 && o.Ranks[o.Rank[i]].ID == 0 && o.Step[i] == 0 {
			wait, transfer = o.Start[i], o.Dur[i]
		}
	}
	if wait != 40*us || transfer != 30*us {
		t.Errorf("the all-reduce of rank 0 begins at %d and lasts %d", wait, transfer)
	}
}

func TestOneRank(t *testing.T) {
	windows, err := Windows(job(0)[:1], Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := windows[0]
	if got := w.Missing(); !slices.Equal(got, []int{1}) {
		t.Errorf("missing %v", got)
	}
	// Nobody to compare with: no wait.
	if diff := cmp.Diff([]int64{40 * us, 0, 30 * us}, w.Step(0)); diff != "" {
		t.Errorf("step 0 (-want +got):\n%s", diff)
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]Operation{
		"ncclAllReduceRingLLKernel_sum_f32(ncclColl)":                                        AllReduce,
		"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)":                              AllGather,
		"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)": SendRecv,
		"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)":     ReduceScatter,
		"ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f16(x)":                                 AllReduce,
		"ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)":                       UnknownOperation,
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)":           AllReduce,
		"mscclKernel_Sum_half_Simple_1":                                                      UnknownOperation,
		"void oneRankReduce<FuncPreMulSum<float>>(x)":                                        Reduce,
		"void deep_ep::intranode::dispatch<8>(int4*)":                                        AllToAll,
		"void deep_ep::internode_ll::combine<8>(int4*)":                                      AllToAll,
		"void c10d::symmetric_memory::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)":      AllReduce,
		"void c10d::symmetric_memory::two_shot_all_reduce_kernel<c10::BFloat16>(x)":          AllReduce,
		"void nvshmemi_alltoall_kernel<4>(x)":                                                AllToAll,
		"rcclGenericKernel<3, false>(ncclDevKernelArgsStorage<4096ul>)":                      UnknownOperation,
	} {
		if KindOfKernel(name) != Communication {
			t.Errorf("%s does not communicate", name)
		}
		if got := OperationOf(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"void at::native::reduce_kernel<512, 1>(x)", "ampere_sgemm_128x64_tn", "Memcpy HtoD (Pinned -> Device)"} {
		if KindOfKernel(name) != Compute {
			t.Errorf("%s communicates", name)
		}
	}
	for name, want := range map[string]Operation{"_allgather_base": AllGather, "nccl:_reduce_scatter_base": ReduceScatter, "gloo:all_reduce": AllReduce,
		"all_to_allv": AllToAll, "allreduce_coalesced": AllReduce, "nccl:send 0->1": Send, "barrier": Barrier} {
		if got := OperationOf(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestShortName(t *testing.T) {
	for in, want := range map[string]string{
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		"void at::native::reduce_kernel<512, 1, F(int)>(F)":                         "at::native::reduce_kernel<512, 1, F(int)>",
		"void at::native::(anonymous namespace)::k<float>(float*)":                  "at::native::(anonymous namespace)::k<float>",
		"void (anonymous namespace)::softmax<float>(float*, int)":                   "(anonymous namespace)::softmax<float>",
		"Memcpy HtoD (Pinned -> Device)":                                            "Memcpy HtoD (Pinned -> Device)",
		"gemm":                                                                      "gemm",
		"":                                                                          "",
	} {
		if got := ShortName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	long := strings.Repeat("x", 200)
	if a, b := ShortName(long+"a"), ShortName(long+"b"); a == b || len(a) > mostName {
		t.Errorf("%q and %q", a, b)
	}
}

// TestTruncatedRank: a cut trace limits what may be said, and steps of which a
// rank lost the device work are left out.
func TestTruncatedRank(t *testing.T) {
	ranks := job(0)
	ranks[1].Steps[2].Device = nil
	ranks[1].Notes = append(ranks[1].Notes, trace.Note{Kind: trace.NoteTruncated, Text: "cut"})
	windows, err := Windows(ranks, Options{})
	if err != nil || len(windows) != 1 {
		t.Fatalf("%d windows, %v", len(windows), err)
	}
	w := windows[0]
	if !slices.Equal(w.GatherFailed, []int{1}) || !w.Has(trace.NoteTruncated) || w.Steps() != 2 {
		t.Errorf("%d steps, gathering failed on %v, notes %v", w.Steps(), w.GatherFailed, w.Notes)
	}
}

// TestLostDevice: a rank that lost all its device work is left out, and the
// others are still measured on theirs.
func TestLostDevice(t *testing.T) {
	ranks := append(job(0), job(0)[0])
	ranks[2].ID = 2
	for i := range ranks[2].Steps {
		ranks[2].Steps[i].Device = nil
	}
	windows, err := Windows(ranks, Options{})
	if err != nil || len(windows) != 1 {
		t.Fatalf("%d windows, %v", len(windows), err)
	}
	w := windows[0]
	if w.WorldSize != 3 || !slices.Equal(w.Missing(), []int{2}) || w.Schema.Index("model.fwd_loss_device") < 0 ||
		!slices.ContainsFunc(w.Notes, func(n trace.Note) bool { return strings.Contains(n.Text, "rank 2 recorded no device work") }) {
		t.Errorf("ranks %v of %d, stages %v, notes %v", w.Ranks, w.WorldSize, w.Schema.Stages, w.Notes)
	}
	if windows, err = Windows(ranks, Options{Timeline: OnHost}); err != nil || len(windows[0].Ranks) != 3 {
		t.Errorf("on the host: %v", err)
	}
	o, err := OpTrace(ranks, Options{Run: "job"})
	if err != nil || len(o.Ranks) != 2 || o.Layout.DP != 2 || o.Layout.World != 3 ||
		!slices.ContainsFunc(o.Notes, func(n trace.Note) bool { return strings.Contains(n.Text, "rank 2 recorded no device work") }) {
		t.Errorf("operators of %+v, %v", o, err)
	}
}

// TestDrift: a clock that runs 100 ppm fast, with ends that scatter by 3 ns.
func TestDrift(t *testing.T) {
	var p points
	for i := int64(0); i < 1000; i++ {
		at := i * 1_000_000
		p = append(p, point{at, 5000 + at/10_000 + i%7 - 3})
	}
	c := p.clock(p.slope())
	if c.Offset < 4990 || c.Offset > 5010 || c.Drift < 0.99e-4 || c.Drift > 1.01e-4 || c.Residual > 4 {
		t.Errorf("clock %+v", c)
	}
	if steady := p.clock(0); steady.Residual < 10_000 {
		t.Errorf("without drift %+v", steady)
	}
}

// TestNamesBounded: the names of a profile do not grow with it.
func TestNamesBounded(t *testing.T) {
	b := NewBuilder(nil, EachOperator)
	long := b.Name(bytes.Repeat([]byte("x"), 2*maxName))
	if got := len(b.names[long]); got != maxName {
		t.Errorf("a name of %d bytes", got)
	}
	if b.Name(bytes.Repeat([]byte("x"), maxName)) != long {
		t.Error("what is cut is not the name that it was cut to")
	}
	for i := range maxNameBytes/maxName + 100 {
		b.Name(fmt.Appendf(nil, "%0*d", maxName, i))
	}
	if b.bytes > maxNameBytes+maxName {
		t.Errorf("%d bytes are held", b.bytes)
	}
	if got := b.names[b.Name(bytes.Repeat([]byte("z"), maxName))]; got != "(other)" {
		t.Errorf("one name more is %.20q", got)
	}
}

// TestCutSteps: a first and a last step that are cut off on one rank are left
// out on all, and that is said.
func TestCutSteps(t *testing.T) {
	var ranks []*Rank
	for id := range 2 {
		f := newFeed()
		for s := int64(0); s < 5; s++ {
			from, to := 100*s, 100*s+100
			switch {
			case id == 1 && s == 0:
				from = 95
			case id == 1 && s == 4:
				to = 403
			}
			f = f.on(1, "ProfilerStep#"+itoa(s), from, to)
			if to-from == 100 {
				f = f.on(1, "forward", from, from+20).on(1, "backward", from+20, from+30)
			}
		}
		r := f.finish()
		r.ID, r.World = id, 2
		ranks = append(ranks, r)
	}
	if s := ranks[1].Steps; !s[0].Cut || s[1].Cut || s[3].Cut || !s[4].Cut || ranks[0].Steps[0].Cut {
		t.Errorf("cut: %+v", s)
	}
	windows, err := Windows(ranks, Options{})
	if err != nil || len(windows) != 1 {
		t.Fatalf("%d windows, %v", len(windows), err)
	}
	w := windows[0]
	if w.FirstStep != 1 || w.Steps() != 3 ||
		!slices.ContainsFunc(w.Notes, func(n trace.Note) bool { return strings.Contains(n.Text, "steps 0, 4 are cut off") }) {
		t.Errorf("%d steps from %d, notes %v", w.Steps(), w.FirstStep, w.Notes)
	}
}
