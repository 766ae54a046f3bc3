package kineto

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// read reads text as a trace.
func read(t testing.TB, text string) (*profile.Rank, error) {
	t.Helper()
	return Read(strings.NewReader(text), "t.json", Options{Detail: profiler.EachOperator})
}

// must reads text that is a trace.
func must(t testing.TB, text string) *profile.Rank {
	t.Helper()
	r, err := read(t, text)
	if err != nil {
		t.Fatalf("%v\nin %.300s", err, text)
	}
	return r
}

// doc is a trace with these events.
func doc(events ...string) string { return `{"traceEvents": [` + strings.Join(events, ",\n") + `]}` }

// x is an event of the host: µs, main thread.
func x(cat, name string, ts, dur int) string {
	return fmt.Sprintf(`{"ph": "X", "cat": %q, "name": %q, "pid": 7, "tid": 7, "ts": %d, "dur": %d, "args": {"External id": 3}}`, cat, name, ts, dur)
}

// k is a kernel, and its launch, which lasts 1 µs.
func k(name string, correlation, launch, ts, dur int, more string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": %d, "dur": 1, "args": {"cbid": 211, "correlation": %d}},
{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": %d, "dur": %d, "args": {"stream": 7, "correlation": %d%s}}`,
		launch, correlation, name, ts, dur, correlation, more)
}

// step is a step of 100 µs with a forward pass of 40.
const step = `{"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":7,"tid":7,"ts":1000,"dur":100},
{"ph":"X","cat":"user_annotation","name":"forward","pid":7,"tid":7,"ts":1010,"dur":40}`

// stepAgain checks that r has the step.
func stepAgain(t *testing.T, r *profile.Rank) {
	t.Helper()
	if len(r.Steps) != 1 || r.Steps[0].Index != 5 || r.Steps[0].End-r.Steps[0].Start != 100_000 ||
		len(r.Steps[0].Spans) != 1 || r.Steps[0].Spans[0].End-r.Steps[0].Spans[0].Start != 40_000 {
		t.Errorf("steps %+v", r.Steps)
	}
}

func noted(r *profile.Rank, kind input.NoteKind, text string) bool {
	return slices.ContainsFunc(r.Notes, func(n input.Note) bool { return n.Kind == kind && strings.Contains(n.Text, text) })
}

// TestDocuments: the step is found whatever it is wrapped in, and nothing is
// said about it.
func TestDocuments(t *testing.T) {
	for name, text := range map[string]string{
		"object":                 `{"traceEvents":[` + step + `]}`,
		"bare array":             `[` + step + `]`,
		"metadata before":        `{"schemaVersion":1,"deviceProperties":[{"id":0,"x":inf,"y":[1,{"z":"]}"}]}],"with_stack":1,"traceEvents":[` + step + `],"traceName":"/tmp/x"}`,
		"metadata of odd types":  `{"schemaVersion":"one","distributedInfo":[1,2],"baseTimeNanoseconds":"x","displayTimeUnit":null,"traceEvents":[` + step + `]}`,
		"metadata that is not":   `{"distributedInfo":{"rank":NaN,"world_size":-1,"pg_config":{}},"traceEvents":[` + step + `]}`,
		"events twice":           `{"traceEvents":[],"traceEvents":[` + step + `]}`,
		"events of another type": `{"traceEvents":{},"x":1,"traceEvents":[` + step + `]}`,
		"trailing commas":        `{"traceEvents":[` + step + `,],}`,
		"white space":            " \n\t{ \"traceEvents\" :\r\n [ " + step + " ] } \n",
		"long line":              `{"a":"` + strings.Repeat("x", 3*bufferSize) + `","traceEvents":[` + step + `]}`,
		"long event":             doc(`{"ph":"i","name":"`+strings.Repeat("y", 3*bufferSize)+`","ts":1}`, step),
		"empty objects":          doc(`{}`, step, `{ }`),
		"other phases": doc(`{"ph":"i","name":"x","ts":1,"s":"g"}`, `{"ph":"I","name":"Iteration Start: PyTorch Profiler","pid":"Traces","tid":"Trace PyTorch Profiler","ts":1,"s":"g"}`, `{"ph":"M","name":"process_name","pid":7,"args":{"name":"python"}}`, step,
			`{"ph":"s","id":1,"pid":7,"tid":7,"ts":1,"cat":"ac2g","name":"ac2g"}`, `{"ph":"f","id":1,"pid":0,"tid":7,"ts":1,"cat":"ac2g","name":"ac2g","bp":"e"}`,
			`{"ph":"C","name":"mem","ts":1,"args":{"x":1}}`, `{"ph":"t","name":"x","ts":2}`),
		"named behind their use": doc(step, `{"ph":"M","name":"process_name","ts":0,"pid":7,"tid":0,"args":{"name":"python"}}`, `{"ph":"M","name":"thread_name","pid":7,"tid":7,"args":{"name":"thread 7 (python)"}}`,
			`{"ph":"M","name":"process_sort_index","pid":"Spans","args":{"sort_index":536870912}}`),
		"no pid, tid or args": doc(step, `{"ph":"X","name":"x","ts":1030,"dur":1}`),
		"named threads":       doc(step, `{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":1,"dur":99999}`),
		"the device's copies": doc(step, `{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#5","pid":0,"tid":7,"ts":1020,"dur":300}`,
			`{"ph":"X","cat":"gpu_user_annotation","name":"forward","pid":0,"tid":7,"ts":1060,"dur":30}`),
		"a million frames":      doc(step, strings.Repeat(x("python_function", "nn.Module: Linear_0", 1020, 5)+",\n", 10_000)+`{}`),
		"operators of the name": doc(step, x("cpu_op", "forward", 1060, 30), x("cpu_op", "backward", 1060, 30), x("cpu_op", "aten::forward", 1060, 3)),
		"keys in another order": doc(`{"args":{"a":{"b":[1,2,"}"]}},"dur":100,"ts":1000,"tid":7,"pid":7,"name":"ProfilerStep#5","cat":"user_annotation","ph":"X"}`,
			`{"dur":40,"name":"forward","ts":1010,"ph":"X","tid":7,"cat":"user_annotation"}`),
		"old categories": doc(`{"ph":"X","cat":"Operator","name":"ProfilerStep#5","pid":7,"tid":"7","ts":1000,"dur":100}`,
			`{"ph":"X","cat":"Operator","name":"forward","pid":7,"tid":"7","ts":1010,"dur":40}`),
		"no category": doc(`{"ph":"X","cat":"","name":"ProfilerStep#5","pid":7,"tid":7,"ts":1000,"dur":100}`, `{"ph":"X","name":"forward","pid":7,"tid":7,"ts":1010,"dur":40}`),
		"begin and end": doc(`{"ph":"B","name":"ProfilerStep#5","pid":7,"tid":7,"ts":1000}`, `{"ph":"B","name":"forward","pid":7,"tid":7,"ts":1010}`,
			`{"ph":"E","pid":7,"tid":7,"ts":1050}`, `{"ph":"E","pid":7,"tid":7,"ts":1100}`, `{"ph":"E","pid":7,"tid":7,"ts":1200}`),
		"ends by their names": doc(`{"ph":"B","name":"ProfilerStep#5","pid":7,"tid":7,"ts":1000}`, `{"ph":"B","name":"x","pid":7,"tid":7,"ts":1005}`, `{"ph":"B","name":"forward","pid":7,"tid":7,"ts":1010}`,
			`{"ph":"E","name":"x","pid":7,"tid":7,"ts":1020}`, `{"ph":"E","name":"forward","pid":7,"tid":7,"ts":1050}`, `{"ph":"E","name":"ProfilerStep#5","pid":7,"tid":7,"ts":1100}`),
		"without phase":        doc(strings.ReplaceAll(step, `"ph":"X",`, "")),
		"unordered":            doc(`{"ph":"X","cat":"user_annotation","name":"forward","pid":7,"tid":7,"ts":1010,"dur":40}`, `{"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":7,"tid":7,"ts":1000,"dur":100}`),
		"duplicate keys":       doc(strings.ReplaceAll(step, `"dur":40`, `"dur":1,"dur":40`)),
		"numbers as strings":   doc(strings.NewReplacer(`1000`, `"1000"`, `"dur":40`, `"dur":"40.000"`, `"tid":7`, `"tid":"7"`).Replace(step)),
		"strings as numbers":   doc(step, `{"ph":"X","cat":"cpu_op","name":5,"pid":7,"tid":7,"ts":1020,"dur":1}`),
		"decimals":             doc(strings.NewReplacer(`1000`, `1000.000`, `"dur":40`, `"dur":4e1`).Replace(step)),
		"invalid UTF-8":        doc(step, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"\xff\xfe\x80\",\"ts\":1020,\"dur\":1}"),
		"control characters":   doc(step, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"a\tb\nc\x01\",\"ts\":1020,\"dur\":1}"),
		"bad escapes":          doc(step, `{"ph":"X","cat":"user_annotation","name":"C:\path\users\u12","ts":1020,"dur":1}`),
		"quotes in a name":     doc(`{"ph":"X","cat":"cpu_op","name":"f("a", "b")","ts":1020,"dur":1}`, step),
		"backslash at the end": doc(`{"ph":"X","cat":"cpu_op","name":"C:\dir\","ts":1020,"dur":1}`, step),
		"quotes in args":       doc(`{"ph":"X","cat":"cpu_op","name":"x","ts":1020,"dur":1,"args":{"a":"lambda "x": {1}","b":2}}`, step),
		"NaN in args":          doc(`{"ph":"X","cat":"cpu_op","name":"x","ts":1020,"dur":1,"args":{"a":NaN,"b":-Infinity,"c":[Infinity]}}`, step),
		"integers beyond 2^53": doc(step, `{"ph":"X","cat":"cpu_op","name":"x","ts":1020,"dur":1,"args":{"a":123456789012345678901234567890}}`),
	} {
		t.Run(name, func(t *testing.T) {
			r := must(t, text)
			stepAgain(t, r)
			for _, n := range r.Notes {
				t.Errorf("note %v", n)
			}
		})
	}
}

// TestDamaged: events that cannot be read are left out, counted and placed.
func TestDamaged(t *testing.T) {
	for name, tt := range map[string]struct{ text, note string }{
		"junk between":       {doc(`{"ph":"X"}`, `junk`, step), "could not be read"},
		"an unclosed string": {doc(`{"ph":"X","name":"x,"ts":1}`, `{"ph":"X","name":x y}`, step), "could not be read"},
		"no colon":           {doc(`{"ph" "X"}`, step), "could not be read"},
		"NaN for a time":     {doc(`{"ph":"X","name":"a","ts":NaN,"dur":1}`, step), "have no time"},
		"no time":            {doc(`{"ph":"X","name":"a"}`, step), "have no time"},
		"a time without end": {doc(`{"ph":"X","name":"a","ts":99999999999999999999,"dur":1}`, step), "have no time"},
		"negative duration":  {doc(x("user_annotation", "nccl:x", 1020, -5), step), "end before they begin"},
	} {
		t.Run(name, func(t *testing.T) {
			r := must(t, tt.text)
			stepAgain(t, r)
			if !noted(r, input.NoteRecorder, tt.note) {
				t.Errorf("notes %v, want one that says %q", r.Notes, tt.note)
			}
		})
	}
}

// TestTimes: stamps are decimal numbers, to the nanosecond.
func TestTimes(t *testing.T) {
	for text, want := range map[string]int64{
		"1719870000000000.123": 1719870000000000123, "1": 1000, "0.5": 500, "0": 0, "-1.5": -1500, "12.3456": 12345, `"7"`: 7000, `"7.25"`: 7250,
		"1e3": 1_000_000, "2.5E-1": 250, "4611686018427387": 4611686018427387000,
	} {
		if got, n := nanos([]byte(text + ",")); n != len(text) || got != want {
			t.Errorf("%s: %d ns, %d bytes, want %d", text, got, n, want)
		}
	}
	for _, text := range []string{"", "x", "-", ".", `"`, `"7`, "NaN", "9999999999999999", "1e300", `"1e3`, "null"} {
		if got, n := nanos([]byte(text)); n != 0 {
			t.Errorf("%q: %d ns", text, got)
		}
	}
}

func TestBaseTime(t *testing.T) {
	r := must(t, `{"traceEvents":[`+step+`],"baseTimeNanoseconds":1719853884000000000}`)
	if got := r.Steps[0].Start; got != 1719853884001000000 {
		t.Errorf("the step begins at %d", got)
	}
	if got := r.Steps[0].Spans[0].Start; got != 1719853884001010000 {
		t.Errorf("its stage at %d", got)
	}
}

// TestTruncated: what came before the cut is there, and it is said; nothing
// that is no trace passes for one.
func TestTruncated(t *testing.T) {
	text := doc(step, x("user_annotation", "backward", 1060, 20), x("python_function", "a", 1, 1), x("python_function", "b", 1, 1))
	first := strings.Index(text, "backward")
	for n := range text {
		r, err := read(t, text[:n])
		switch {
		case err != nil && !errors.Is(err, input.ErrEmpty):
			t.Fatalf("first %d bytes: %v", n, err)
		case err == nil && !noted(r, input.NoteTruncated, "ends in the middle"):
			t.Fatalf("first %d bytes: no note, %v", n, r.Notes)
		case n > first && (err != nil || r.Steps[0].Index != 5):
			t.Fatalf("first %d bytes: the step is lost: %v", n, err)
		}
	}
	stored := ingesttest.Gzip(t, doc(step, strings.Repeat(x("python_function", "a", 1, 1)+",\n", 10_000)+"{}"))
	src, err := ingest.NewSource(strings.NewReader(stored[:len(stored)-20]), "t.gz", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := Read(src, "t.gz", Options{Detail: profiler.EachOperator})
	if err != nil {
		t.Fatal(err)
	}
	stepAgain(t, r)
	if !noted(r, input.NoteTruncated, "ends in the middle") {
		t.Errorf("notes %v", r.Notes)
	}
}

// TestRefused: one line that says where and why.
func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		kind error
	}{
		"empty":            {"", input.ErrEmpty},
		"no events":        {`{"traceEvents":[]}`, input.ErrEmpty},
		"only metadata":    {doc(`{"ph":"M","name":"x"}`), input.ErrEmpty},
		"a number":         {"17", input.ErrFormat},
		"no key":           {`{17:3}`, input.ErrFormat},
		"a deep nest":      {`{"x":` + strings.Repeat("[", 10_000_000), input.ErrFormat},
		"a deep info":      {`{"distributedInfo":` + strings.Repeat("[", 10_000_000), input.ErrFormat},
		"a deep event":     {`{"traceEvents":[{"args":` + strings.Repeat("[", 10_000_000), input.ErrEmpty},
		"all damaged":      {`{"traceEvents":[` + strings.Repeat(`{"a":"b" c,`, 2*maxDamaged), input.ErrFormat},
		"all open":         {`{"traceEvents":[` + strings.Repeat(`{"args":{"a":[1,`, 20_000), input.ErrEmpty},
		"an endless event": {`{"traceEvents":[{"name":"` + strings.Repeat("x", maxEvent+1), input.ErrEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, tt.text)
			var placed *input.Error
			if !errors.Is(err, tt.kind) || !errors.As(err, &placed) || placed.Pos.File != "t.json" || strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestBomb: a decompression bomb is refused in one line.
func TestBomb(t *testing.T) {
	stored := ingesttest.Zstd(t, `{"traceEvents":[`+strings.Repeat(" ", 200<<20))
	src, err := ingest.NewSource(strings.NewReader(stored), "t.zst", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := Read(src, "t.zst", Options{Detail: profiler.EachOperator}); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

// TestReadError: an error of the input is the error.
func TestReadError(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(`{"traceEvents":[`+step), errorReader{})
	if _, err := Read(broken, "t.json", Options{Detail: profiler.EachOperator}); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("error %v", err)
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestIdentity(t *testing.T) {
	config := `[{"pg_name":"0","pg_desc":"default_pg","backend_config":"cuda:nccl","pg_size":40,"ranks":[` + numbers(40) + `]}]`
	r := must(t, `{"traceEvents":[`+step+`],"host_name":"n3","distributedInfo":{"backend":"nccl","rank":3,"world_size":40,"pg_config":`+config+`}}`)
	if r.ID != 3 || r.World != 40 || r.Backend != "nccl" || r.Host != "n3" {
		t.Errorf("rank %d of %d, backend %q, host %q", r.ID, r.World, r.Backend, r.Host)
	}
	r = must(t, `{"distributedInfo":{"rank":"3","world_size":"40"},"traceEvents":[`+step+`]}`)
	if r.ID != 3 || r.World != 40 {
		t.Errorf("rank %d of %d", r.ID, r.World)
	}
	if r := must(t, doc(step)); r.ID != -1 || r.World != 0 {
		t.Errorf("rank %d of %d", r.ID, r.World)
	}
}

func numbers(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return strings.Join(out, ", ")
}

const allReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

func TestInteger(t *testing.T) {
	for text, want := range map[string]struct {
		n  int64
		ok bool
	}{
		"0": {0, true}, "-7": {-7, true}, `"12"`: {12, true},
		"9223372036854775807": {math.MaxInt64, true}, "-9223372036854775808": {math.MinInt64, true},
		"9223372036854775808": {math.MinInt64, true}, "18446744073709551615": {-1, true}, `"18446744073709551615"`: {-1, true},
		"18446744073709551616": {0, false}, "99999999999999999999": {0, false}, "-9223372036854775809": {0, false},
		"": {0, false}, "-": {0, false}, `""`: {0, false}, "1.5": {0, false}, "--1": {0, false},
	} {
		if n, ok := integer([]byte(text)); ok != want.ok || ok && n != want.n {
			t.Errorf("integer(%s) = %d, %v, expected %d, %v", text, n, ok, want.n, want.ok)
		}
	}
}

// TestCollectives: what is known of a collective, by the age of PyTorch.
func TestCollectives(t *testing.T) {
	full := `"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 4, "dtype": "BFloat16", "In split size": "[]",
"Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]"`
	type known struct {
		Op          nccl.Op
		Group, Desc string
		Ranks       []int
		Size        int
		Seq, Bytes  int64
		Self, Peer  int
	}
	whole := known{Op: nccl.AllReduce, Group: "0", Desc: "default_pg", Ranks: []int{0, 1, 2, 3}, Size: 4, Seq: -1, Bytes: 2048, Self: -1, Peer: -1}
	numbered := whole
	numbered.Seq = 17
	for name, tt := range map[string]struct {
		events []string
		want   known
	}{
		"kernel arguments, 2.3": {[]string{k(allReduce, 4, 1012, 1020, 30, ", "+full)}, whole},
		"and a number, 2.5":     {[]string{k(allReduce, 4, 1012, 1020, 30, `, "Seq": 17, `+full)}, numbered},
		"of a call, 2.1": {[]string{`{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":7,"tid":7,"ts":1011,"dur":5,"args":{` + full + `}}`,
			k(allReduce, 4, 1012, 1020, 30, "")}, whole},
		"call after its kernel in the file": {[]string{k(allReduce, 4, 1012, 1020, 30, ""),
			`{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":7,"tid":7,"ts":1011,"dur":5,"args":{` + full + `}}`}, whole},
		"annotation inside a bare call, 1.8": {[]string{x("cpu_op", "record_param_comms", 1011, 5), x("user_annotation", "nccl:all_reduce", 1012, 3),
			k("ncclDevKernel_Generic(ncclDevComm*)", 4, 1013, 1020, 30, "")}, known{Op: nccl.AllReduce, Seq: -1, Bytes: -1, Self: -1, Peer: -1}},
		"kernel alone": {[]string{k("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", 4, 1012, 1020, 30, "")},
			known{Op: nccl.AllGather, Seq: -1, Bytes: -1, Self: -1, Peer: -1}},
		"identifiers beyond int64": {[]string{k(allReduce, 4, 1012, 1020, 30, `, "Comms Id": 18446744073709551615, "Parent Comms Id": "18446744073709551615", "Seq": 9223372036854775808, "Src Rank": 18446744073709551615, `+full)}, whole},
		"RCCL":                     {[]string{k("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 4, 1012, 1020, 30, ", "+full)}, whole},
		"members cut, by start and stride": {[]string{k(allReduce, 4, 1012, 1020, 30,
			`, "Collective name":"allreduce","Group size":3,"Global rank start":1,"Global rank stride":8,"Process Group Ranks":"[1, 9, ...]"`)},
			known{Op: nccl.AllReduce, Ranks: []int{1, 9, 17}, Size: 3, Seq: -1, Bytes: -1, Self: -1, Peer: -1}},
		"send": {[]string{k("ncclDevKernel_SendRecv(x)", 4, 1012, 1020, 30, `, "Collective name":"send","In msg nelems":8,"dtype":"Float","Rank":1,"Src Rank":1,"Dst Rank":2`)},
			known{Op: nccl.Send, Seq: -1, Bytes: 32, Self: -1, Peer: 2}},
		"receive, 2.5": {[]string{k("ncclDevKernel_SendRecv(x)", 4, 1012, 1020, 30, `, "Collective name":"recv","In msg nelems":8,"dtype":"Float","Rank":1,"Src Rank":6,"Process Group Ranks":"[2, 6]"`)},
			known{Op: nccl.Recv, Ranks: []int{2, 6}, Seq: -1, Bytes: 32, Self: -1, Peer: 6}},
		"send by its name": {[]string{x("user_annotation", "nccl:send 0->1", 1011, 5), k("ncclDevKernel_SendRecv(x)", 4, 1012, 1020, 30, "")},
			known{Op: nccl.Send, Seq: -1, Bytes: -1, Self: 0, Peer: 1}},
		"receive": {[]string{k("ncclDevKernel_SendRecv(x)", 4, 1012, 1020, 30, `, "Collective name":"recv","In msg nelems":8,"dtype":"Half","Rank":1,"Src Rank":0,"Dst Rank":1`)},
			known{Op: nccl.Recv, Seq: -1, Bytes: 16, Self: -1, Peer: 0}},
		"sends and receives together": {[]string{x("user_annotation", "nccl:coalesced", 1011, 5), k("ncclDevKernel_SendRecv(x)", 4, 1012, 1020, 30, "")},
			known{Op: nccl.SendRecv, Seq: -1, Bytes: -1, Self: -1, Peer: -1}},
		"coalesced": {[]string{k(allReduce, 4, 1012, 1020, 30, `, "Collective name":"allreduce_coalesced","In msg nelems":3,"Out msg nelems":3,"dtype":"Long","Seq":4`)},
			known{Op: nccl.AllReduce, Seq: 4, Bytes: 24, Self: -1, Peer: -1}},
		"unequal splits": {[]string{k("ncclDevKernel_SendRecv(x)", 4, 1012, 1020, 30, `, "Collective name":"all_to_allv","In msg nelems":6,"Out msg nelems":9,"In split size":"[1, 5]","Out split size":"[4, 5]","dtype":"Byte","Group size":2`)},
			known{Op: nccl.AlltoAll, Size: 2, Seq: -1, Bytes: 6, Self: -1, Peer: -1}},
		"members cut, and nothing else": {[]string{k(allReduce, 4, 1012, 1020, 30, `, "Collective name":"allreduce","Group size":64,"Process Group Name":"9","Process Group Ranks":"[0, 1, 2, ...]"`)},
			known{Op: nccl.AllReduce, Group: "9", Size: 64, Seq: -1, Bytes: -1, Self: -1, Peer: -1}},
		"custom all-reduce": {[]string{k("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)", 4, 1012, 1020, 30, "")},
			known{Op: nccl.AllReduce, Seq: -1, Bytes: -1, Self: -1, Peer: -1}},
		"a name of no library, with arguments": {[]string{k("my_ring_kernel(x)", 4, 1012, 1020, 30, `, "Collective name":"_allgather_base","In msg nelems":2,"dtype":"Float"`)},
			known{Op: nccl.AllGather, Seq: -1, Bytes: 8, Self: -1, Peer: -1}},
		"gloo, without a device": {[]string{`{"ph":"X","cat":"user_annotation","name":"gloo:all_reduce","pid":7,"tid":99,"ts":1020,"dur":30}`},
			known{Op: nccl.AllReduce, Seq: -1, Bytes: -1, Self: -1, Peer: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := must(t, doc(append([]string{step}, tt.events...)...))
			if len(r.Comm.Calls) != 1 {
				t.Fatalf("calls %+v", r.Comm.Calls)
			}
			c := &r.Comm.Calls[0]
			g := &r.Comm.Groups[c.Group]
			if from, to := r.Comm.Ran(0); from != 1_020_000 || to != 1_050_000 || c.Step != r.Steps[0].Index {
				t.Errorf("from %d to %d in step %d", from, to, c.Step)
			}
			got := known{Op: c.Op, Group: g.Name, Desc: g.Desc, Ranks: g.Members, Size: g.Size, Seq: c.Seq, Bytes: c.Bytes, Self: g.Rank, Peer: c.Peer}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestCutMembers: a list of members that was cut is found in the configuration.
func TestCutMembers(t *testing.T) {
	config := `[{"pg_name":"7","pg_desc":"dp","pg_size":40,"ranks":[` + numbers(40) + `]}]`
	r := must(t, `{"traceEvents":[`+step+`,`+k(allReduce, 4, 1012, 1020, 30, `, "Collective name":"allreduce","Process Group Name":"7","Process Group Ranks":"[0, 1, 2, ...]"`)+
		`],"distributedInfo":{"rank":0,"world_size":40,"pg_config":`+config+`}}`)
	if c := r.Comm.Groups[0]; len(c.Members) != 40 || c.Desc != "dp" || c.Size != 40 {
		t.Errorf("collective %+v", c)
	}
}

// TestLaunches: to which stage work belongs, by what the file tells of its
// launch. Forward is 1010 to 1050; the work begins at 1060.
func TestLaunches(t *testing.T) {
	kernel := func(correlation string) string {
		return `{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1060,"dur":20,"args":{` + correlation + `}}`
	}
	launch := func(cat, name, correlation string) string {
		return `{"ph":"X","cat":"` + cat + `","name":"` + name + `","pid":7,"tid":7,"ts":1012,"dur":1,"args":{` + correlation + `}}`
	}
	for name, tt := range map[string]struct {
		events []string
		busy   int64 // µs of forward
	}{
		"CUDA runtime":        {[]string{launch("cuda_runtime", "cudaLaunchKernel", `"correlation": 5`), kernel(`"correlation": 5`)}, 20},
		"work first":          {[]string{kernel(`"correlation": 5`), launch("cuda_runtime", "cudaLaunchKernel", `"correlation": 5`)}, 20},
		"CUDA driver":         {[]string{launch("cuda_driver", "cuLaunchKernelEx", `"correlation": 5`), kernel(`"correlation": 5`)}, 20},
		"old":                 {[]string{launch("Runtime", "cudaLaunchKernel", `"Correlation ID": 5`), strings.Replace(kernel(`"Correlation ID": 5`), `"kernel"`, `"Kernel"`, 1)}, 20},
		"HIP":                 {[]string{launch("cuda_runtime", "hipExtModuleLaunchKernel", `"correlation": 5`), kernel(`"correlation": 5`)}, 20},
		"XPU":                 {[]string{launch("xpu_runtime", "urEnqueueKernelLaunch", `"correlation": 5`), kernel(`"correlation": 5`)}, 20},
		"as text":             {[]string{launch("cuda_runtime", "cudaLaunchKernel", `"correlation": "5"`), kernel(`"correlation": "5"`)}, 20},
		"a graph, twice":      {[]string{launch("cuda_runtime", "cudaGraphLaunch", `"correlation": 5`), kernel(`"correlation": 5`), strings.NewReplacer("1060", "1080", `"tid":7`, `"tid":8`).Replace(kernel(`"correlation": 5`))}, 40},
		"reused":              {[]string{launch("cuda_runtime", "cudaLaunchKernel", `"correlation": 5`), kernel(`"correlation": 5`), kernel(`"correlation": 5`)}, 20},
		"none: when it began": {[]string{kernel(`"correlation": 0`)}, 0},
		"−1":                  {[]string{launch("cuda_runtime", "cudaLaunchKernel", `"correlation": -1`), kernel(`"correlation": -1`)}, 0},
		"missing":             {[]string{kernel(``)}, 0},
		"no launch":           {[]string{kernel(`"correlation": 5`)}, 0},
		"another call":        {[]string{launch("cuda_runtime", "cudaEventRecord", `"correlation": 5`), kernel(`"correlation": 5`)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := must(t, doc(append([]string{step}, tt.events...)...))
			got := int64(0)
			if d := r.Steps[0].Device; d != nil {
				for _, b := range d.Busy {
					got += b
				}
			}
			if got != tt.busy*1000 {
				t.Errorf("forward has %d ns of work, want %d µs", got, tt.busy)
			}
		})
	}
}

// TestCategories: HTA's, by hand: two streams, a copy and a collective.
//
//	compute 1010–1030 and 1025–1045: 35; copy 1050–1060: 10; all-reduce
//	1040–1080: 40, of which 5 are covered; a last kernel 1090–1095. Of the step,
//	which is as long as the host says, nothing runs in 1000–1010, in 1080–1090
//	and after 1095.
func TestCategories(t *testing.T) {
	r := must(t, doc(step, k("gemm", 1, 1011, 1010, 20, ""), strings.Replace(k("gemm", 2, 1012, 1025, 20, ""), `"pid": 0, "tid": 7`, `"pid": 0, "tid": 9`, 1),
		strings.Replace(k("Memcpy HtoD", 3, 1013, 1050, 10, ""), `"kernel"`, `"gpu_memcpy"`, 1), k(allReduce, 4, 1014, 1040, 40, ""), k("gemm", 5, 1015, 1090, 5, "")))
	want := profile.Categories{Start: 1000_000, End: 1100_000, First: 1010_000, Last: 1095_000,
		Compute: 40_000, Communication: 40_000, Memory: 10_000, Idle: 25_000, ExposedComm: 35_000}
	if got := *r.Steps[0].Time; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestUnescape: what was meant.
func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`"a\"b"`: `a"b`, `"C:\path"`: `C:\path`, `"C:\new"`: "C:\new", `"\u00e9"`: "é", `"\u12"`: `\u12`, `"\\"`: `\`, `"\`: `\`, `12`: `12`, `""`: "", `"`: `"`} {
		if got := string(text([]byte(in))); got != want && in != `"\` {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestChunks: how the input arrives changes nothing.
func TestChunks(t *testing.T) {
	text := doc(step, k(allReduce, 4, 1012, 1020, 30, ""), `{"ph":"X","cat":"cpu_op","name":"f("a", "b")","ts":1020,"dur":1}`)
	want := must(t, text)
	for _, size := range []int{1, 2, 3, 7, 64, 1000} {
		got, err := Read(&chunks{text, size}, "t.json", Options{Detail: profiler.EachOperator})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", got.Steps[0].Device) != fmt.Sprintf("%+v", want.Steps[0].Device) || len(got.Notes) != len(want.Notes) {
			t.Errorf("in pieces of %d: %+v, want %+v", size, got, want)
		}
	}
}

type chunks struct {
	text string
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.text)
	c.text = c.text[n:]
	return n, nil
}

// FuzzRead: no input makes the reader panic or hang, and what it reads can be
// made into windows and operators, or is refused.
func FuzzRead(f *testing.F) {
	f.Add(doc(step, k(allReduce, 4, 1012, 1020, 30, `, "Collective name":"allreduce"`), k("gemm", 5, 1030, 1090, 5, "")))
	f.Add(doc(`{"ph":"B","name":"ProfilerStep#1","ts":1}`, `{"ph":"E","ts":5}`))
	f.Add(`[{"ph":"X","name":"f("a", "b")","ts":-1e3,"dur":"5"},junk{"a":{}}`)
	f.Add(`{"distributedInfo":{"rank":1,"pg_config":[{"pg_name":"0","ranks":[0]}]},"baseTimeNanoseconds":99,"traceEvents":[` + step)
	f.Add(fmt.Sprintf(`[{"ph":"X","name":"ProfilerStep#1","ts":%d,"dur":%d}]`, -maxMicros, int64(math.MaxInt64)))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := read(t, text)
		if err != nil {
			var placed *input.Error
			if !errors.As(err, &placed) {
				t.Fatalf("error without a position: %v", err)
			}
			return
		}
		for _, j := range stages.Jobs([]*profile.Rank{r}) {
			divided, err := stages.Divide(j.Ranks, stages.Options{Run: "x", Each: true})
			for _, w := range divided.Windows {
				if err := w.Validate(); err != nil {
					t.Fatal(err)
				}
			}
			_ = err
		}
	})
}
