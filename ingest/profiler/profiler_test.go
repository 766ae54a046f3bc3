package profiler

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

const us = 1000

// feed is what a test gives a builder, in microseconds.
type feed struct{ b *Builder }

func newFeed() feed { return feed{NewBuilder(nil, EachOperator)} }

func (f feed) finish() *profile.Rank {
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
	f.b.Launch(1, corr, launch*us, LaunchesOne)
	kind := f.b.KindOf(id)
	if strings.HasPrefix(name, "Mem") {
		kind = Memory
	}
	f.b.Work(Work{Name: id, Queue: queue, Start: start * us, End: end * us, Correlation: corr, Kind: kind})
	return f
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// spans writes the stages of a step: "data 0-10, forward 10-20".
func spans(r *profile.Rank, s profile.Step) string {
	var out []string
	for _, p := range s.Spans {
		out = append(out, r.Stages[p.Stage]+" "+itoa(p.Start/us)+"-"+itoa(p.End/us))
	}
	return strings.Join(out, ", ")
}

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
		"backward waits for what runs behind it, and for what that delays": {newFeed().on(main, "forward", 10, 40).on(main, "Optimizer.step#SGD.step", 90, 95).
			on(main, "autograd::engine::evaluate_function: A", 45, 50).on(8, "gloo:all_reduce", 48, 70).on(8, "gloo:all_reduce", 70, 85),
			stagemap.Forward + " 10-40, " + stagemap.Backward + " 45-85, " + stagemap.Optimizer + " 90-95"},
		"what the next stage does not wait for": {newFeed().on(main, "forward", 10, 40).on(main, "backward", 45, 60).on(8, "gloo:all_reduce", 30, 75),
			stagemap.Forward + " 10-45, " + stagemap.Backward + " 45-60"},
		"a collective of no stage": {newFeed().on(main, "forward", 10, 40).on(8, "gloo:all_reduce", 50, 70), stagemap.Forward + " 10-40"},
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
	want := profile.Categories{Start: 0, End: 100 * us, First: 15 * us, Last: 90 * us,
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
	if got := slices.Collect(d.Exposed.All()); !slices.Equal(got, []profile.Exposure{{Stage: bwd, Call: 0, Start: 70 * us, End: 90 * us, Before: 30 * us}}) {
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
		"profiler's beat the user's":     {newFeed().on(1, "iteration 7", 1, 90).on(1, "ProfilerStep#2", 0, 100), []int64{2}, "", false},
		"user's":                         {newFeed().on(1, "## iteration 7 ##", 0, 100).on(1, "## iteration 8 ##", 100, 200), []int64{7, 8}, "", false},
		"without numbers":                {newFeed().on(1, "train_step", 0, 100).on(1, "train_step", 100, 200), []int64{0, 1}, "", false},
		"two threads":                    {newFeed().on(1, "ProfilerStep#2", 0, 100).on(1, "ProfilerStep#3", 100, 200).on(2, "ProfilerStep#2", 50, 130), []int64{2, 3}, "", false},
		"inside one another":             {newFeed().on(1, "ProfilerStep#2", 0, 100).on(1, "ProfilerStep#3", 10, 20), []int64{2}, "inside other steps", false},
		"overlapping":                    {newFeed().on(1, "ProfilerStep#2", 0, 100).on(1, "ProfilerStep#3", 90, 200), []int64{2, 3}, "before the one before", false},
		"numbers that fall":              {newFeed().on(1, "ProfilerStep#9", 0, 100).on(1, "ProfilerStep#3", 100, 200), []int64{9, 3}, "do not ascend with time", false},
		"numbers that repeat":            {newFeed().on(1, "ProfilerStep#9", 0, 100).on(1, "ProfilerStep#9", 100, 200), []int64{0, 1}, "counted from 0", false},
		"none, two optimizer steps":      {newFeed().on(1, "Optimizer.step#A.step", 90, 100).on(1, "Optimizer.step#A.step", 190, 200), []int64{0, 1}, "nothing marks steps", false},
		"none, one optimizer in another": {newFeed().on(1, "Optimizer.step#B.step", 85, 105).on(1, "Optimizer.step#A.step", 90, 100).on(1, "Optimizer.step#B.step", 185, 205).on(1, "Optimizer.step#A.step", 190, 200), []int64{0, 1}, "nothing marks steps", false},
		"none at all":                    {newFeed().on(1, "forward", 0, 100), []int64{0}, "the whole recording", false},
		"cut last":                       {newFeed().on(1, "ProfilerStep#1", 0, 9000).on(1, "ProfilerStep#2", 9100, 9150), []int64{1, 2}, "", true},
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
			if noted := slices.ContainsFunc(r.Notes, func(n input.Note) bool { return strings.Contains(n.Text, tt.noted) }); tt.noted != "" && !noted {
				t.Errorf("notes %v", r.Notes)
			}
			if last := r.Steps[len(r.Steps)-1]; last.Cut != tt.cutLast {
				t.Errorf("the last step is cut: %v", last.Cut)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]nccl.Op{
		"ncclAllReduceRingLLKernel_sum_f32(ncclColl)":                                        nccl.AllReduce,
		"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)":                              nccl.AllGather,
		"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)": nccl.SendRecv,
		"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)":     nccl.ReduceScatter,
		"ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f16(x)":                                 nccl.AllReduce,
		"ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)":                       nccl.UnknownOp,
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)":           nccl.AllReduce,
		"mscclKernel_Sum_half_Simple_1":                                                      nccl.UnknownOp,
		"void oneRankReduce<FuncPreMulSum<float>>(x)":                                        nccl.Reduce,
		"void deep_ep::intranode::dispatch<8>(int4*)":                                        nccl.AlltoAll,
		"void deep_ep::internode_ll::combine<8>(int4*)":                                      nccl.AlltoAll,
		"void c10d::symmetric_memory::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)":      nccl.AllReduce,
		"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)":       nccl.AllReduce,
		"void c10d::symmetric_memory::two_shot_all_reduce_kernel<c10::BFloat16>(x)":          nccl.AllReduce,
		"void nvshmemi_alltoall_kernel<4>(x)":                                                nccl.AlltoAll,
		"rcclGenericKernel<3, false>(ncclDevKernelArgsStorage<4096ul>)":                      nccl.UnknownOp,
	} {
		if kindOfKernel(name) != Communication {
			t.Errorf("%s does not communicate", name)
		}
		if got := nccl.OpIn(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"void at::native::reduce_kernel<512, 1>(x)", "ampere_sgemm_128x64_tn", "Memcpy HtoD (Pinned -> Device)"} {
		if kindOfKernel(name) != Compute {
			t.Errorf("%s communicates", name)
		}
	}
	for name, want := range map[string]Kind{
		"void dpsk::ep::internode::dispatch<false, 8, true, 8>(int4*, float*)": Communication,
		"void my::ep::intranode::combine<__nv_bfloat16, 8>(int4*)":             Communication,
		"triton_red_fused_all_gather_matmul_0":                                 Communication,
		"void custom_AllReduce_kernel(float*)":                                 Communication,
		// What a kernel is made for, or takes, says nothing of what it does.
		"void gemm::kernel<Epilogue::ReduceScatter>(float*)":     Compute,
		"void route::pack(all_to_all_arguments)":                 Compute,
		"void at::native::_scatter_gather_elementwise_kernel<1>": Compute,
	} {
		if got := kindOfKernel(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]nccl.Op{"_allgather_base": nccl.AllGather, "nccl:_reduce_scatter_base": nccl.ReduceScatter, "gloo:all_reduce": nccl.AllReduce,
		"all_to_allv": nccl.AlltoAll, "allreduce_coalesced": nccl.AllReduce, "nccl:send 0->1": nccl.Send, "barrier": nccl.Barrier} {
		if got := nccl.OpIn(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
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
