package stages

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/profile"
)

const us = 1000

// feed is what a test gives a builder, in microseconds.
type feed struct{ b *profiler.Builder }

func newFeed() feed { return feed{profiler.NewBuilder(nil, profiler.EachOperator)} }

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
	f.b.Launch(1, corr, launch*us, profiler.LaunchesOne)
	kind := f.b.KindOf(id)
	if strings.HasPrefix(name, "Mem") {
		kind = profiler.Memory
	}
	f.b.Work(profiler.Work{Name: id, Queue: queue, Start: start * us, End: end * us, Correlation: corr, Kind: kind})
	return f
}

func itoa(n int64) string { return listSteps([]int64{n}) }

// job is two ranks whose forward kernels end at 40 and 60 µs, then all-reduce
// until 70; clock is how far the second rank's clock is ahead, in µs.
func job(clock int64) []*profile.Rank {
	var ranks []*profile.Rank
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
		divided, err := Divide(job(clock), Options{Run: "job"})
		if err != nil {
			t.Fatal(err)
		}
		if len(divided.Windows) != 1 {
			t.Fatalf("%d windows", len(divided.Windows))
		}
		w := divided.Windows[0]
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
	var ranks []*profile.Rank
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
	divided, err := Divide(ranks, Options{Run: "job"})
	if err != nil {
		t.Fatal(err)
	}
	w := divided.Windows[0]
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
		var ranks []*profile.Rank
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
		divided, err := Divide(ranks, Options{Run: "job"})
		if err != nil {
			t.Fatal(err)
		}
		return divided.Windows[0]
	}
	w := stages(60)
	if diff := cmp.Diff([]string{unmappedDevice, "model.fwd_loss_device", "wait.model.backward", "comm.model.backward"}, w.Schema.Stages); diff != "" {
		t.Fatalf("stages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{0, 60 * us, 40 * us, 40 * us, 60 * us, 0, 10 * us, 10 * us}, w.Step(1)); diff != "" {
		t.Errorf("step 1 (-want +got):\n%s", diff)
	}
	if w := stages(9); slices.Contains(w.Schema.Stages, unmappedDevice) {
		t.Errorf("less than a twentieth of the time is a stage of its own: %v", w.Schema.Stages)
	}
}

// together brings the clocks of ranks together.
func together(ranks []*profile.Rank) []clock.Placed { return clocks(ranks, match(ranks)) }

func TestClocks(t *testing.T) {
	got := together(job(1_000_000))
	if got[0].Clock != (clock.Clock{}) || got[1].Offset != 1_000_000*us || got[1].Residual != 0 || got[1].Points != 3 {
		t.Errorf("clocks %+v", got)
	}
}

// TestHostTimeline: the same job on the host, with what its device did beside.
func TestHostTimeline(t *testing.T) {
	divided, err := Divide(job(0), Options{Timeline: OnHost})
	if err != nil {
		t.Fatal(err)
	}
	w := divided.Windows[0]
	if diff := cmp.Diff([]int64{20 * us, 20 * us, 10 * us, 10 * us}, w.Step(0)); diff != "" {
		t.Errorf("step 0 (-want +got):\n%s", diff)
	}
	if len(w.Side) != 1 || w.Side[0].Name != "model.fwd_loss_cuda_event_ms" || w.Side[0].Samples[1].Value != 0.06 {
		t.Errorf("side channels %+v", w.Side)
	}
}

// eachOperator returns the operators of profiles one by one.
func eachOperator(ranks []*profile.Rank) (*operator.Trace, error) {
	d, err := Divide(ranks, Options{Run: "job", Each: true})
	return d.Operators, err
}

func TestOpTrace(t *testing.T) {
	o, err := eachOperator(job(1_000_000))
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
	divided, err := Divide(job(0)[:1], Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := divided.Windows[0]
	if got := w.Missing(); !slices.Equal(got.IDs(), []int{1}) {
		t.Errorf("missing %v", got)
	}
	// Nobody to compare with: no wait.
	if diff := cmp.Diff([]int64{40 * us, 0, 30 * us}, w.Step(0)); diff != "" {
		t.Errorf("step 0 (-want +got):\n%s", diff)
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
		if got := shortName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	long := strings.Repeat("x", 200)
	if a, b := shortName(long+"a"), shortName(long+"b"); a == b || len(a) > mostName {
		t.Errorf("%q and %q", a, b)
	}
}

// TestTruncatedRank: a cut trace limits what may be said, and steps of which a
// rank lost the device work are left out.
func TestTruncatedRank(t *testing.T) {
	ranks := job(0)
	ranks[1].Steps[2].Device = nil
	ranks[1].Notes = append(ranks[1].Notes, input.Note{Kind: input.NoteTruncated, Text: "cut"})
	divided, err := Divide(ranks, Options{})
	if err != nil || len(divided.Windows) != 1 {
		t.Fatalf("%d windows, %v", len(divided.Windows), err)
	}
	w := divided.Windows[0]
	if !slices.Equal(w.GatherFailed, []int{1}) || !w.Has(input.NoteTruncated) || w.Steps() != 2 {
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
	divided, err := Divide(ranks, Options{})
	if err != nil || len(divided.Windows) != 1 {
		t.Fatalf("%d windows, %v", len(divided.Windows), err)
	}
	w := divided.Windows[0]
	if w.WorldSize != 3 || !slices.Equal(w.Missing().IDs(), []int{2}) || w.Schema.Index("model.fwd_loss_device") < 0 ||
		!slices.ContainsFunc(w.Notes, func(n input.Note) bool { return strings.Contains(n.Text, "rank 2 recorded no device work") }) {
		t.Errorf("ranks %v of %d, stages %v, notes %v", w.Ranks, w.WorldSize, w.Schema.Stages, w.Notes)
	}
	if divided, err = Divide(ranks, Options{Timeline: OnHost}); err != nil || len(divided.Windows[0].Ranks) != 3 {
		t.Errorf("on the host: %v", err)
	}
	o, err := eachOperator(ranks)
	if err != nil || len(o.Ranks) != 2 || o.Layout.DP != 2 || o.Layout.World != 3 ||
		!slices.ContainsFunc(o.Notes, func(n input.Note) bool { return strings.Contains(n.Text, "rank 2 recorded no device work") }) {
		t.Errorf("operators of %+v, %v", o, err)
	}
}

// TestCutSteps: a first and a last step that are cut off on one rank are left
// out on all, and that is said.
func TestCutSteps(t *testing.T) {
	var ranks []*profile.Rank
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
	divided, err := Divide(ranks, Options{})
	if err != nil || len(divided.Windows) != 1 {
		t.Fatalf("%d windows, %v", len(divided.Windows), err)
	}
	w := divided.Windows[0]
	if w.FirstStep != 1 || w.Steps() != 3 ||
		!slices.ContainsFunc(w.Notes, func(n input.Note) bool { return strings.Contains(n.Text, "steps 0, 4 are cut off") }) {
		t.Errorf("%d steps from %d, notes %v", w.Steps(), w.FirstStep, w.Notes)
	}
}
