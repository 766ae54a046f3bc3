package kineto

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// readStored reads a trace as it is stored.
func readStored(t *testing.T, stored string) *profile.Rank {
	t.Helper()
	src, err := ingest.NewSource(strings.NewReader(stored), "t.json", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := Read(src, "t.json", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestByteOrderMark: a mark before the text means nothing, compressed or not.
func TestByteOrderMark(t *testing.T) {
	text := "\xEF\xBB\xBF" + doc(step)
	for _, stored := range []string{text, ingesttest.Gzip(t, text), ingesttest.Zstd(t, text)} {
		r := readStored(t, stored)
		if stepAgain(t, r); len(r.Notes) > 0 {
			t.Errorf("notes %v", r.Notes)
		}
	}
}

// TestBehindTheEnd: a trace that is whole is used, and what is odd about its
// end is said; where the input breaks off there, it counts as truncated.
func TestBehindTheEnd(t *testing.T) {
	text := doc(step)
	packed := ingesttest.Gzip(t, text)
	flipped := []byte(packed)
	flipped[len(flipped)-8] ^= 0xff // the first byte of the check sum
	for name, tt := range map[string]struct {
		stored, note string
		kind         input.NoteKind
	}{
		"gzip without its trailer":   {packed[:len(packed)-8], "the input ends too early, behind the end of the trace", input.NoteTruncated},
		"gzip with half its trailer": {packed[:len(packed)-3], "the input ends too early, behind the end of the trace", input.NoteTruncated},
		"another check sum":          {string(flipped), "something in it may be damaged as well", input.NoteTruncated},
		"another document":           {text + text, fmt.Sprintf("is not read: %d bytes, from byte %d", len(text), len(text)), input.NoteRecorder},
		"zeros":                      {text + "\x00\x00\n", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := readStored(t, tt.stored)
			stepAgain(t, r)
			if tt.note == "" && len(r.Notes) > 0 || tt.note != "" && (len(r.Notes) != 1 || !noted(r, tt.kind, tt.note)) {
				t.Errorf("notes %v, want %q alone", r.Notes, tt.note)
			}
		})
	}
}

// TestQuotes: a quote too many spoils the event that it is in, at most, and not
// what follows.
func TestQuotes(t *testing.T) {
	for name, tt := range map[string]struct {
		event string
		lost  bool
	}{
		"one in a name":              {`{"ph":"X","cat":"cpu_op","name":"a"b","ts":1020,"dur":1}`, false},
		"one in arguments":           {`{"ph":"X","cat":"cpu_op","name":"x","ts":1020,"dur":1,"args":{"a":"b"c"}}`, true},
		"one in nested arguments":    {`{"ph":"X","cat":"cpu_op","name":"x","ts":1020,"dur":1,"args":{"a":{"x":["b"c"]}}}`, true},
		"two in arguments":           {`{"ph":"X","cat":"cpu_op","name":"x","ts":1020,"dur":1,"args":{"a":"b "c" d"}}`, false},
		"a path that ends in \\":     {`{"ph":"X","cat":"cpu_op","name":"C:\dir\","ts":1020,"dur":1}`, false},
		"a template with everything": {`{"ph":"X","cat":"cpu_op","name":"void k<"a\b", (lambda [](int) { return "x"; })>(\u12, '\x')","ts":1020,"dur":1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			after := strings.Repeat(x("cpu_op", "aten::mm", 1021, 1)+",\n", 3)
			r := must(t, doc(tt.event, after+step))
			stepAgain(t, r)
			if lost := noted(r, input.NoteRecorder, "events that could not be read and were left out: 1,"); lost != tt.lost || noted(r, input.NoteTruncated, "") {
				t.Errorf("notes %v", r.Notes)
			}
		})
	}
}

// TestMissingMembers: what an event lacks is not needed, or the event means
// nothing; an event without a duration has none, and that is said.
func TestMissingMembers(t *testing.T) {
	for name, tt := range map[string]struct {
		events []string
		note   string
	}{
		"no pid":          {[]string{strings.ReplaceAll(step, `"pid":7,`, "")}, ""},
		"no tid":          {[]string{strings.ReplaceAll(step, `"tid":7,`, "")}, ""},
		"neither":         {[]string{strings.ReplaceAll(step, `"pid":7,"tid":7,`, "")}, ""},
		"no name":         {[]string{step, `{"ph":"X","cat":"user_annotation","pid":7,"tid":7,"ts":1060,"dur":9}`}, ""},
		"nothing":         {[]string{step, `{}`, `{"ph":"X"}`}, "have no time"},
		"an open range":   {[]string{step, `{"ph":"B","cat":"user_annotation","name":"backward","pid":7,"tid":7,"ts":1060}`}, "ranges that began and never ended, and were left out: 1"},
		"only an end":     {[]string{step, `{"ph":"E","pid":7,"tid":7,"ts":1060}`}, ""},
		"no duration":     {[]string{step, `{"ph":"X","cat":"user_annotation","name":"backward","pid":7,"tid":7,"ts":1060}`}, "have no duration and count as having no length: 1"},
		"NaN for a while": {[]string{step, `{"ph":"X","cat":"user_annotation","name":"backward","pid":7,"tid":7,"ts":1060,"dur":NaN}`}, "have no duration and count as having no length: 1"},
		"zero":            {[]string{step, x("user_annotation", "backward", 1060, 0)}, ""},
		"before itself":   {[]string{step, x("user_annotation", "backward", 1060, -5)}, "end before they begin and count as having no length: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := must(t, doc(tt.events...))
			stepAgain(t, r)
			if tt.note == "" && len(r.Notes) > 0 || tt.note != "" && (len(r.Notes) != 1 || !noted(r, input.NoteRecorder, tt.note)) {
				t.Errorf("notes %v, want %q alone", r.Notes, tt.note)
			}
		})
	}
}

// TestAccelerators: what the events of every accelerator and age are called: a launch in the forward pass, a kernel of 20 µs and a copy of 10.
func TestAccelerators(t *testing.T) {
	for name, c := range map[string]struct{ runtime, launch, kernel, copied, key string }{
		"CUDA":         {"cuda_runtime", "cudaLaunchKernel", "kernel", "gpu_memcpy", "correlation"},
		"CUDA driver":  {"cuda_driver", "cuLaunchKernelEx", "kernel", "gpu_memset", "correlation"},
		"PyTorch 1.8":  {"Runtime", "cudaLaunchKernel", "Kernel", "Memcpy", "correlation"},
		"1.8, filled":  {"Runtime", "cudaLaunchKernel", "Kernel", "Memset", "Correlation ID"},
		"ROCm":         {"cuda_runtime", "hipLaunchKernel", "kernel", "gpu_memcpy", "correlation"},
		"ROCm, module": {"hip_runtime", "hipExtModuleLaunchKernel", "kernel", "gpu_memcpy", "correlation"},
		"XPU":          {"xpu_runtime", "urEnqueueKernelLaunch", "kernel", "gpu_memcpy", "correlation"},
		"XPU driver":   {"xpu_driver", "zeCommandListAppendLaunchKernel", "kernel", "gpu_memcpy", "correlation"},
		"MTIA":         {"mtia_runtime", "runFunction - job_prep_and_submit_for_execution", "mtia_ccp_events", "gpu_memcpy", "correlation"},
		"HPU":          {"privateuse1_runtime", "launch", "hpu_op", "gpu_memcpy", "correlation"},
		"PrivateUse1":  {"privateuse1_runtime", "aclrtLaunchKernel", "kernel", "gpu_memcpy", "correlation"},
		"MLU":          {"mlu_runtime", "cnInvokeKernel launch", "kernel", "mlu_memcpy", "correlation"},
		"GCU":          {"gcu_runtime", "topsLaunchKernel", "kernel", "GCU_MEMCPY", "correlation"},
	} {
		t.Run(name, func(t *testing.T) {
			on := func(cat, name string, id, ts, dur int) string {
				return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":0,"tid":"stream 7","ts":%d,"dur":%d,"args":{%q:%d}}`, cat, name, ts, dur, c.key, id)
			}
			r := must(t, doc(step, on(c.runtime, c.launch, 5, 1012, 1), on(c.kernel, "gemm", 5, 1060, 20), on(c.runtime, "xMemcpyAsync", 6, 1013, 1), on(c.copied, "copy", 6, 1085, 10)))
			stepAgain(t, r)
			got := *r.Steps[0].Time
			want := profile.Categories{Start: 1000_000, End: 1100_000, First: 1060_000, Last: 1095_000, Compute: 20_000, Memory: 10_000, Idle: 70_000}
			if got != want || len(r.Notes) > 0 {
				t.Errorf("got %+v, want %+v; notes %v", got, want, r.Notes)
			}
			if busy := r.Steps[0].Device.Busy[stageOf(r, stagemap.Forward)]; busy != 30_000 {
				t.Errorf("the forward pass launched %d ns", busy)
			}
		})
	}
}

func stageOf(r *profile.Rank, name string) int {
	for i, s := range r.Stages {
		if s == name {
			return i
		}
	}
	return -1
}

// TestNoWork: what looks like work on the device and is none.
func TestNoWork(t *testing.T) {
	for _, e := range []string{
		`{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":1020,"dur":30,"args":{"stream":7,"correlation":5}}`,
		`{"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":7,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"cuda_sync","name":"Event Sync","pid":0,"tid":7,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"xpu_sync","name":"wait","pid":0,"tid":7,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"cuda_event","name":"cudaEventRecord","pid":0,"tid":7,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"overhead","name":"Activity Buffer Request","pid":-1,"tid":0,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"gpu_user_annotation","name":"forward","pid":0,"tid":7,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"gpu_user_annotation","name":"nccl:all_reduce","pid":0,"tid":7,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":1020,"dur":30}`,
		`{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":7,"tid":7,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"python_function","name":"torch/csrc/x.cpp(1): ncclAllReduce","pid":7,"tid":7,"ts":1020,"dur":30}`,
		`{"ph":"X","cat":"cpu_op","name":"aten::to","pid":7,"tid":7,"ts":1020,"dur":30,"args":{"stream":7,"correlation":5}}`,
		`{"ph":"s","id":5,"pid":7,"tid":7,"ts":1020,"cat":"ac2g","name":"ac2g"}`,
		`{"ph":"s","id":6,"pid":7,"tid":7,"ts":1020,"cat":"fwdbwd","name":"fwdbwd"}`,
		`{"ph":"f","id":9,"pid":7,"tid":7,"ts":1020,"cat":"fwdbwd","name":"fwdbwd","bp":"e"}`,
		`{"ph":"C","name":"GPU 0 Utilization","pid":0,"ts":1020,"args":{"x":50}}`,
	} {
		r := must(t, doc(step, e))
		stepAgain(t, r)
		if s := r.Steps[0]; s.Time != nil || s.Device != nil || len(r.Comm.Calls) > 0 || len(r.Ops) > 0 || len(r.Notes) > 0 {
			t.Errorf("%s: work %+v, collectives %v, notes %v", e, s.Time, r.Comm.Calls, r.Notes)
		}
	}
}

// TestUnknownCategories: what a new version calls otherwise is not lost in
// silence.
func TestUnknownCategories(t *testing.T) {
	event := `{"ph":"X","cat":"gpu_kernel","name":"gemm","pid":0,"tid":7,"ts":1020,"dur":30}`
	r := must(t, doc(step, event, event, `{"ph":"X","cat":"collective_comm","name":"x","pid":0,"tid":7,"ts":1020,"dur":30}`))
	stepAgain(t, r)
	if !noted(r, input.NoteRecorder, "events of categories that are not known here, and were left out: 2 of gpu_kernel, 1 of collective_comm") {
		t.Errorf("notes %v", r.Notes)
	}
	var all []string
	for i := range 1000 {
		all = append(all, strings.Replace(event, "gpu_kernel", fmt.Sprintf("%03d\\n%s", i, strings.Repeat("c", 100)), 1))
	}
	r = must(t, doc(append(all, step)...))
	if len(r.Notes) != 1 || len(r.Notes[0].Text) > 600 || strings.Contains(r.Notes[0].Text, "\n") || !noted(r, input.NoteRecorder, "left out: 992 of others") {
		t.Errorf("notes %v", r.Notes)
	}
}

// TestNamedStages: what PyTorch and its frameworks name by themselves is a
// stage of the step without a word from the user.
func TestNamedStages(t *testing.T) {
	for name, want := range map[string]string{
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__": stagemap.Data,
		"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__":   stagemap.Data,
		"Optimizer.step#AdamW.step":                                     stagemap.Optimizer,
		"Optimizer.zero_grad#AdamW.zero_grad":                           stagemap.Optimizer,
		"DistributedDataParallel.forward":                               stagemap.Forward,
		"FullyShardedDataParallel.forward":                              stagemap.Forward,
		"[pl][profile][Strategy]DDPStrategy.training_step":              stagemap.Forward,
		"[pl][profile][Strategy]DDPStrategy.backward":                   stagemap.Backward,
		"[pl][profile][_TrainingEpochLoop].train_dataloader_next":       stagemap.Data,
		"[pl][profile][Callback]EarlyStopping.on_train_batch_end":       stagemap.Callbacks,
		"nn.Module: Linear_0":                                           "",
		"aten::linear":                                                  "",
	} {
		r := must(t, doc(`{"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":7,"tid":7,"ts":1000,"dur":100}`, x("user_annotation", name, 1020, 50)))
		got, length := "", int64(0)
		for _, s := range r.Steps[0].Spans {
			if r.Stages[s.Stage] != stagemap.Forward || want == stagemap.Forward { // a backward pass implies one
				got, length = r.Stages[s.Stage], s.End-s.Start
			}
		}
		if got != want || want != "" && length != 50_000 {
			t.Errorf("%s: %d ns of %q, want %q", name, length, got, want)
		}
	}
}

// TestEngineThread: the autograd engine works on a thread of its own, and FSDP
// hooks on it.
func TestEngineThread(t *testing.T) {
	for _, name := range []string{"autograd::engine::evaluate_function: AddmmBackward0", "FullyShardedDataParallel._pre_backward_hook", "FSDP::post_backward"} {
		r := must(t, doc(step, strings.Replace(x("cpu_op", name, 1060, 25), `"tid": 7`, `"tid": "pt_autograd_0"`, 1)))
		if s := r.Steps[0].Spans; len(s) != 2 || r.Stages[s[1].Stage] != stagemap.Backward || s[1].Start != 1_060_000 || s[1].End != 1_085_000 {
			t.Errorf("%s: spans %+v", name, s)
		}
	}
}

// TestOutsideSteps: what lies before the first step or behind the last belongs
// to none, and does no harm.
func TestOutsideSteps(t *testing.T) {
	r := must(t, doc(x("user_annotation", "backward", 100, 50), x("user_annotation", "backward", 5000, 50), step,
		k(allReduce, 1, 110, 120, 30, ""), k("gemm", 2, 130, 140, 5, ""), k(allReduce, 3, 5010, 5020, 30, ""), k("gemm", 4, 1012, 1060, 20, "")))
	stepAgain(t, r)
	want := profile.Categories{Start: 1000_000, End: 1100_000, First: 1060_000, Last: 1080_000, Compute: 20_000, Idle: 80_000}
	if got := *r.Steps[0].Time; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, c := range r.Comm.Calls {
		if c.Step != -1 || c.Stage != "" {
			t.Errorf("a collective outside is in step %d, stage %q", c.Step, c.Stage)
		}
	}
	if len(r.Comm.Calls) != 2 || len(r.Notes) > 0 {
		t.Errorf("collectives %+v, notes %v", r.Comm.Calls, r.Notes)
	}
}

// marked is a step with a forward pass of 40 µs, by its number and start.
func marked(number, at int) string {
	return x("user_annotation", fmt.Sprintf("ProfilerStep#%d", number), at, 100) + "," + x("user_annotation", "forward", at+10, 40)
}

// TestClockJumps: a clock that was set between two steps. Forward, the steps
// are as they were; back, so that the numbers fall in order of time, they keep
// them, and that is said.
func TestClockJumps(t *testing.T) {
	forward := must(t, doc(marked(5, 1000), marked(6, 1000+3_600_000_000), marked(7, 1200+3_600_000_000)))
	if len(forward.Steps) != 3 || forward.Steps[0].End-forward.Steps[0].Start != 100_000 || forward.Steps[2].Index != 7 || len(forward.Notes) > 0 {
		t.Errorf("forward: %+v, notes %v", forward.Steps, forward.Notes)
	}
	back := must(t, doc(marked(5, 7_200_001_000), marked(6, 1000), marked(7, 1200)))
	if len(back.Steps) != 3 || back.Steps[0].Start != 1_000_000 || back.Steps[0].Index != 6 || back.Steps[2].Index != 5 || !noted(back, input.NoteRecorder, "do not ascend with time, as where a clock is set back: the numbers count") {
		t.Errorf("back: %+v, notes %v", back.Steps, back.Notes)
	}
}

// TestNegativeStamps: times before what stamps count from are times like all
// others.
func TestNegativeStamps(t *testing.T) {
	text := func(at int) string {
		move := func(s string) string {
			return regexp.MustCompile(`"ts": ?(\d+)`).ReplaceAllStringFunc(s, func(s string) string {
				n, _ := strconv.Atoi(strings.TrimLeft(s, `"ts: `))
				return fmt.Sprintf(`"ts":%d`, n+at)
			})
		}
		return move(doc(step, k("gemm", 1, 1011, 1010, 20, ""), k(allReduce, 4, 1014, 1040, 40, ""), k("gemm", 5, 1015, 1090, 5, "")))
	}
	want, got := must(t, text(0)), must(t, text(-1_000_000))
	got.Shift(1_000_000_000)
	got.Base = 0
	if w, g := want.Steps[0], got.Steps[0]; *g.Time != *w.Time || !slices.Equal(g.Device.Own, w.Device.Own) || !slices.Equal(g.Device.Busy, w.Device.Busy) ||
		!slices.Equal(slices.Collect(g.Device.Exposed.All()), slices.Collect(w.Device.Exposed.All())) {
		t.Errorf("got %+v %+v, want %+v %+v", *g.Time, *g.Device, *w.Time, *w.Device)
	}
}

// TestProcesses: the traces of two ranks in one file are not one rank's.
func TestProcesses(t *testing.T) {
	other := strings.NewReplacer(`"pid": 7, "tid": 7`, `"pid": 8, "tid": 8`)
	r := must(t, doc(marked(5, 1000), marked(6, 1100), other.Replace(marked(5, 1010))))
	if len(r.Steps) != 2 || len(r.Notes) != 1 || !noted(r, input.NoteRecorder, "more than one process marks steps") {
		t.Errorf("%d steps, notes %v", len(r.Steps), r.Notes)
	}
}

// TestReused: a correlation id that two processes use, or that is used again
// later, leads to the launch that came last before the work.
func TestReused(t *testing.T) {
	launch := func(ts int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":%d,"dur":1,"args":{"external id":3,"correlation":5}}`, ts)
	}
	work := func(ts int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":%d,"dur":10,"args":{"External id":3,"correlation":5}}`, ts)
	}
	backward := x("user_annotation", "backward", 1060, 30)
	r := must(t, doc(step, backward, launch(1012), work(1040), launch(1070), work(1080)))
	d := r.Steps[0].Device
	if f, b := d.Busy[stageOf(r, stagemap.Forward)], d.Busy[stageOf(r, stagemap.Backward)]; f != 10_000 || b != 10_000 {
		t.Errorf("forward launched %d ns, backward %d", f, b)
	}
}
