package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// full is a packet with every key. No string has a colon of its own: the cases
// below change the space around those of the syntax.
const full = `{"schema":"sfstat.packet/1","run":"job-42","window":7,"rank":3,"world_size":8,"host":"n0","local_rank":3,` +
	`"role":{"pp":1,"dp":3},"stages":["a","b"],"first_step":20,"durations_ns":[[1,20],[300,4000],[50000,600000]],` +
	`"wall_ns":[7000000,80000000,900000000],"side":{"a_cuda_event_ms":{"steps":[20,22],"ms":[60.5,null],"ready":[true,false]}},` +
	`"epoch_ns":1700000000000000000,"lines":{"b":"train.py\u003a66","c":"train.py\u003a70"},"arrivals":{"version":1,"source":"flight_recorder","lost":2,` +
	`"groups":[{"name":"0","desc":"default_pg","ranks":[0,3]},{"name":"1"}],"silent":[1],"ops":["gloo\u003aall_reduce","nccl\u003asend 0->1"],"step":[20,-1],"stage":[1,-1],` +
	`"group":[0,1],"op":[0,1],"seq":[7,1],"elements":[8,-1],"enter_ns":[1700000000000000300,-50],"held_ns":[-1,40]},` +
	`"notes":["rank 3 lost a window","é"],"data_wait":"preceding","accumulation":4,"gather_ok":false}`

var fullPart = trace.Part{Run: "job-42", Index: 7, WorldSize: 8, FirstStep: 20, Accumulation: 4, DataWait: trace.DataWaitPreceding,
	Rank:   trace.Rank{ID: 3, Host: "n0", LocalRank: 3, Role: trace.Role{{Axis: "dp", Index: 3}, {Axis: "pp", Index: 1}}},
	Schema: trace.Schema{Stages: []string{"a", "b"}}, Durations: []int64{1, 20, 300, 4000, 50000, 600000},
	Wall:  []int64{7000000, 80000000, 900000000},
	Side:  []trace.SideChannel{{Name: "a_cuda_event_ms", Samples: []trace.Sample{{Step: 20, Value: 60.5, Ready: true}, {Step: 22}}}},
	Epoch: 1700000000000000000, Arrivals: fullArrivals(), Notes: []string{"rank 3 lost a window", "é"}}

func fullArrivals() *comms.Record {
	reduce, send := comms.UnknownCall(0), comms.UnknownCall(0)
	reduce.Op, reduce.Name, reduce.Group, reduce.Seq, reduce.Count = nccl.AllReduce, "gloo:all_reduce", 0, 7, 8
	reduce.Enter, reduce.HasEnter, reduce.Step, reduce.Stage, reduce.Stack = 1700000000000000300, true, 20, "b", 0
	reduce.Tensors = &comms.Tensors{InSizes: [][]int64{{8}}}
	send.Op, send.Name, send.Group, send.Seq, send.Enter, send.Exit, send.HasEnter, send.Peer = nccl.Send, "nccl:send 0->1", 1, 1, 1700000000000000250, 1700000000000000290, true, 1
	return &comms.Record{Run: "job-42", Sources: []comms.Source{{Name: "flight_recorder", Kind: comms.SourcePacket}},
		Processes: []comms.Process{{Rank: 3, Host: "n0", LocalRank: 3, Device: -1, Lost: 2}},
		Groups: []comms.Group{{Name: "0", Desc: "default_pg", Rank: 1, Size: 2, Members: []int{0, 3}, Enqueued: -1, Completed: -1},
			{Name: "1", Rank: -1, Enqueued: -1, Completed: -1, Silent: true}},
		Calls: []comms.Call{reduce, send}, Stacks: [][]comms.Frame{{{File: "train.py", Line: 66}}}}
}

// bare is a packet with the required keys only.
const bare = `{"schema":"sfstat.packet/1","run":"r","window":0,"rank":0,"world_size":1,"stages":["a"],"first_step":0,"durations_ns":[[5]]}`

var barePart = trace.Part{Run: "r", WorldSize: 1, Accumulation: 1, GatherOK: true, Rank: trace.Rank{LocalRank: -1},
	Schema: trace.Schema{Stages: []string{"a"}}, Durations: []int64{5}}

func decodeOne(line string) (*trace.Part, *keyError) {
	var d decoder
	var p trace.Part
	if e := d.decode([]byte(line), &p); e != nil {
		return nil, e
	}
	return &p, nil
}

func TestDecode(t *testing.T) {
	with := func(key, value string) string {
		return strings.Replace(bare, `"run":"r"`, `"run":"r",`+strconv.Quote(key)+`:`+value, 1)
	}
	run := func(json string) string { return strings.Replace(bare, `"r"`, json, 1) }
	part := func(change func(p *trace.Part)) trace.Part {
		p := barePart
		change(&p)
		return p
	}
	tests := []struct {
		name, line string
		want       trace.Part
	}{
		{"all keys", full, fullPart},
		{"required keys", bare, barePart},
		{"spaces", "  " + strings.NewReplacer(",", " ,\t", ":", " : ", "[", "[ ", "]", " ]", "{", "{ ", "}", " }").Replace(full) + " \r", fullPart},
		{"json.dumps spacing", strings.NewReplacer(",", ", ", ":", ": ").Replace(full), fullPart},
		{"escapes", run(`"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00"`), part(func(p *trace.Part) { p.Run = "\"\\/\b\f\n\r\tAé€😀" })},
		{"unicode", run(`"ünï€😀"`), part(func(p *trace.Part) { p.Run = "ünï€😀" })},
		{"escaped key", strings.Replace(bare, `"run"`, `"\u0072un"`, 1), barePart},
		{"null host", with("host", "null"), barePart},
		{"null wall", with("wall_ns", "null"), barePart},
		{"null side, role, local rank", strings.Replace(with("side", "null"), `"window"`, `"role":null,"local_rank":null,"window"`, 1), barePart},
		{"empty role and side", strings.Replace(with("side", "{}"), `"window"`, `"role":{ },"window"`, 1), barePart},
		{"side channel without samples", with("side", `{"x":{"steps":[],"ms":[],"ready":[]}}`), barePart},
		{"local rank -1", with("local_rank", "-1"), barePart},
		{"unknown keys", with("x", `{"a":[1,{"b":null}],"c":"}]","d":[NaN,-Infinity,Infinity,-1.5e-3]}`), barePart},
		{"largest duration", strings.Replace(bare, "[[5]]", "[[2305843009213693951]]", 1), part(func(p *trace.Part) { p.Durations = []int64{trace.MaxTotal / 2} })},
		{"side keys in another order", with("side", `{"x":{"ready":[false,true],"note":{},"ms":[1,2e1],"steps":[1,0]}}`)[:len(with("side", `{"x":{"ready":[false,true],"note":{},"ms":[1,2e1],"steps":[1,0]}}`))-len("[[5]]}")] + "[[5],[6]]}",
			part(func(p *trace.Part) {
				p.Durations = []int64{5, 6}
				p.Side = []trace.SideChannel{{Name: "x", Samples: []trace.Sample{{Step: 0, Value: 20, Ready: true}, {Step: 1, Value: 1}}}}
			})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, e := decodeOne(tt.line)
			if e != nil {
				t.Fatalf("%s: %v", e.placeInLine(), e.err)
			}
			if diff := cmp.Diff(tt.want, *got, cmp.Comparer(equalSide)); diff != "" {
				t.Errorf("part differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeyOrder decodes the packet with its keys in every rotation and in some
// random orders.
func TestKeyOrder(t *testing.T) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(full), &members); err != nil {
		t.Fatal(err)
	}
	keys := fieldNames[:]
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 50 {
		keys = append(slices.Clone(keys[1:]), keys[0])
		if i >= len(keys) {
			rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		}
		var pairs []string
		for _, k := range keys {
			pairs = append(pairs, strconv.Quote(k)+":"+string(members[k]))
		}
		got, e := decodeOne("{" + strings.Join(pairs, ",") + "}")
		if e != nil {
			t.Fatalf("%v: %v", keys, e.err)
		}
		if diff := cmp.Diff(fullPart, *got); diff != "" {
			t.Fatalf("%v (-want +got):\n%s", keys, diff)
		}
	}
}

// refusals are lines that must be refused: what is replaced in the packet full
// by what, the kind of the error, and where it must point: the key and the
// text that begins at the column.
var refusals = []struct {
	name, old, new string
	kind           error
	key, at        string
}{
	{"wrong schema", "packet/1", "packet/2", input.ErrFormat, "schema", `"sfstat.packet/2"`},
	{"schema not a string", `"sfstat.packet/1"`, `1`, input.ErrType, "schema", `1,`},
	{"no schema", `"schema":"sfstat.packet/1",`, ``, input.ErrMissing, "", `{`},
	{"no run", `"run":"job-42",`, ``, input.ErrMissing, "", `{`},
	{"no window", `"window":7,`, ``, input.ErrMissing, "", `{`},
	{"no rank", `"rank":3,`, ``, input.ErrMissing, "", `{`},
	{"no world size", `"world_size":8,`, ``, input.ErrMissing, "", `{`},
	{"no stages", `"stages":["a","b"],`, ``, input.ErrMissing, "", `{`},
	{"no first step", `"first_step":20,`, ``, input.ErrMissing, "", `{`},
	{"no durations", `"durations_ns":[[1,20],[300,4000],[50000,600000]],`, ``, input.ErrMissing, "", `{`},
	{"required key null", `"rank":3`, `"rank":null`, input.ErrType, "rank", `null`},
	{"key twice", `"rank":3`, `"rank":3,"rank":3`, input.ErrDuplicate, "rank", `"rank":3,"world`},
	{"wall twice, once null", `"wall_ns":`, `"wall_ns":null,"wall_ns":`, input.ErrDuplicate, "wall_ns", `"wall_ns":[`},
	{"unknown key twice", `"rank":3`, `"x":1,"rank":3,"x":2`, input.ErrDuplicate, "x", `"x":2`},
	{"rank as text", `"rank":3`, `"rank":"3"`, input.ErrType, "rank", `"3"`},
	{"rank as bool", `"rank":3`, `"rank":true`, input.ErrType, "rank", `true`},
	{"rank as float", `"rank":3`, `"rank":3.0`, input.ErrType, "rank", `3.0`},
	{"rank negative", `"rank":3`, `"rank":-3`, input.ErrNegative, "rank", `-3`},
	{"rank outside the world", `"rank":3`, `"rank":8`, input.ErrTooLarge, "rank", `8,`},
	{"world of none", `"world_size":8`, `"world_size":0`, input.ErrTooLarge, "world_size", `0`},
	{"absurd world", `"world_size":8`, `"world_size":1000000000`, input.ErrTooLarge, "world_size", `1000000000`},
	{"run as number", `"job-42"`, `42`, input.ErrType, "run", `42`},
	{"run too long", `job-42`, strings.Repeat("x", trace.MaxName+1), input.ErrTooLarge, "run", `"xxx`},
	{"run not UTF-8", `job-42`, "job\xff42", input.ErrFormat, "run", "\xff42"},
	{"run not UTF-8 before an escape", `job-42`, "\xc3(\\n", input.ErrFormat, "run", "\xc3("},
	{"run not UTF-8 after an escape", `job-42`, "\\n\xc3(", input.ErrFormat, "run", "\xc3("},
	{"half a surrogate pair", `job-42`, `a\ud83db`, input.ErrFormat, "run", `\ud83d`},
	{"second half alone", `job-42`, `\udc80`, input.ErrFormat, "run", `\udc80`},
	{"two first halves", `job-42`, `\ud83d\ud83d`, input.ErrFormat, "run", `\ud83d\ud83d`},
	{"bad escape", `job-42`, `C:\work`, input.ErrFormat, "run", `\work`},
	{"bad hex escape", `job-42`, `\u00zz`, input.ErrFormat, "run", `\u00zz`},
	{"tab in a string", `job-42`, "a\tb", input.ErrFormat, "run", "\tb"},
	{"NUL in a string", `job-42`, "a\x00b", input.ErrFormat, "run", "\x00b"},
	{"NaN duration", `4000`, `NaN`, input.ErrNotFinite, "durations_ns", `NaN`},
	{"infinite duration", `4000`, `Infinity`, input.ErrNotFinite, "durations_ns", `Infinity`},
	{"minus infinity", `4000`, `-Infinity`, input.ErrNotFinite, "durations_ns", `-Infinity`},
	{"float duration", `4000`, `4000.5`, input.ErrType, "durations_ns", `4000.5`},
	{"integral float duration", `4000`, `4e3`, input.ErrType, "durations_ns", `4e3`},
	{"float with zero fraction", `4000`, `4000.0`, input.ErrType, "durations_ns", `4000.0`},
	{"negative duration", `4000`, `-4000`, input.ErrNegative, "durations_ns", `-4000`},
	{"minus zero", `4000`, `-0`, input.ErrNegative, "durations_ns", `-0`},
	{"duration past int64", `4000`, `9223372036854775808`, input.ErrOverflow, "durations_ns", `9223372036854775808`},
	{"duration past uint64", `4000`, `18446744073709551617`, input.ErrOverflow, "durations_ns", `18446744073709551617`},
	{"duration of 300 digits", `4000`, strings.Repeat("9", 300), input.ErrOverflow, "durations_ns", `999`},
	{"sum past int64", `4000`, `9223372036854775807`, input.ErrOverflow, "", `{`},
	{"leading zero", `4000`, `04000`, input.ErrFormat, "durations_ns", `04000`},
	{"leading zero of a long number", `4000`, `0400000000`, input.ErrFormat, "durations_ns", `0400000000`},
	{"plus sign", `4000`, `+4000`, input.ErrFormat, "durations_ns", `+4000`},
	{"hexadecimal", `4000`, `0x40`, input.ErrFormat, "durations_ns", `x40`},
	{"null duration", `4000`, `null`, input.ErrType, "durations_ns", `null`},
	{"duration as text", `4000`, `"4000"`, input.ErrType, "durations_ns", `"4000"`},
	{"nested too deep", `4000`, `[4000]`, input.ErrType, "durations_ns", `[4000]`},
	{"flat durations", `[[1,20],[300,4000],[50000,600000]]`, `[1,20,300]`, input.ErrType, "durations_ns", `1,20`},
	{"durations not an array", `[[1,20],[300,4000],[50000,600000]]`, `{}`, input.ErrType, "durations_ns", `{}`},
	{"step too short", `[300,4000]`, `[300]`, input.ErrRagged, "durations_ns", `[300]`},
	{"step too long", `[300,4000]`, `[300,4000,1]`, input.ErrRagged, "durations_ns", `[300,4000,1]`},
	{"empty step", `[300,4000]`, `[]`, input.ErrEmpty, "durations_ns", `[]`},
	{"no steps", `[[1,20],[300,4000],[50000,600000]]`, `[]`, input.ErrEmpty, "durations_ns", `[],`},
	{"all steps of another width", `["a","b"]`, `["a","b","c"]`, input.ErrRagged, "durations_ns", `[[1,20]`},
	{"trailing comma in a step", `4000]`, `4000,]`, input.ErrFormat, "durations_ns", `],[50000`},
	{"trailing comma in steps", `600000]]`, `600000],]`, input.ErrFormat, "durations_ns", `],"wall`},
	{"missing comma", `300,4000`, `300 4000`, input.ErrType, "durations_ns", `4000`},
	{"wall too short", `80000000,900000000`, `80000000`, input.ErrRagged, "wall_ns", `[7000000`},
	{"wall too long", `900000000`, `900000000,1`, input.ErrRagged, "wall_ns", `[7000000`},
	{"empty wall", `[7000000,80000000,900000000]`, `[]`, input.ErrRagged, "wall_ns", `[]`},
	{"wall of floats", `80000000`, `8e7`, input.ErrType, "wall_ns", `8e7`},
	{"stage twice", `["a","b"]`, `["a","a"]`, input.ErrDuplicate, "stages", `["a","a"]`},
	{"nameless stage", `["a","b"]`, `["a",""]`, input.ErrEmpty, "stages", `["a",""]`},
	{"no stage names", `["a","b"]`, `[]`, input.ErrEmpty, "stages", `[]`},
	{"stage as number", `["a","b"]`, `["a",2]`, input.ErrType, "stages", `2]`},
	{"residual recorded", `["a","b"]`, `["a","step.other_cpu_wall"]`, input.ErrDuplicate, "stages", `["a","step`},
	{"stage name too long", `["a","b"]`, `["a","` + strings.Repeat("s", trace.MaxStageName+1) + `"]`, input.ErrTooLarge, "stages", `"sss`},
	{"too many stages", `["a","b"]`, `["` + strings.Repeat(`a","`, trace.MaxStages) + `b"]`, input.ErrTooLarge, "stages", `"b"]`},
	{"first step past the end of time", `"first_step":20`, `"first_step":9223372036854775807`, input.ErrRagged, "side", `{"a_cuda`},
	{"negative window", `"window":7`, `"window":-7`, input.ErrNegative, "window", `-7`},
	{"window past int64", `"window":7`, `"window":92233720368547758070`, input.ErrOverflow, "window", `9223`},
	{"role as array", `{"pp":1,"dp":3}`, `[1,3]`, input.ErrType, "role", `[1,3]`},
	{"negative coordinate", `"pp":1`, `"pp":-1`, input.ErrNegative, "role", `-1`},
	{"axis twice", `"pp":1`, `"dp":1`, input.ErrDuplicate, "role", `{"dp":1`},
	{"nameless axis", `"pp":1`, `"":1`, input.ErrEmpty, "role", `{"":1`},
	{"unknown data wait", `"preceding"`, `"sometimes"`, input.ErrType, "data_wait", `"sometimes"`},
	{"absurd accumulation", `"accumulation":4`, `"accumulation":1000000`, input.ErrTooLarge, "accumulation", `1000000`},
	{"gather as number", `"gather_ok":false`, `"gather_ok":0`, input.ErrType, "gather_ok", `0`},
	{"note as text", `"notes":["rank 3 lost a window","é"]`, `"notes":"lost"`, input.ErrType, "notes", `"lost"`},
	{"note as number", `"é"],"data_wait"`, `5],"data_wait"`, input.ErrType, "notes", `5`},
	{"note too long", `"é"],"data_wait"`, `"` + strings.Repeat("x", trace.MaxName+1) + `"],"data_wait"`, input.ErrTooLarge, "notes", `"xxx`},
	{"too many notes", `"é"]`, `"é` + strings.Repeat(`","é`, maxNotes) + `"]`, input.ErrTooLarge, "notes", `"é"`},
	{"arrivals of another version", `"version":1`, `"version":2`, input.ErrFormat, "arrivals", `{"version":2`},
	{"arrivals in a stage that is not there", `"stage":[1,-1]`, `"stage":[2,-1]`, input.ErrTooLarge, "arrivals", `{"version"`},
	{"arrivals of unequal columns", `"seq":[7,1]`, `"seq":[7]`, input.ErrRagged, "arrivals", `{"version"`},
	{"held times of unequal columns", `"held_ns":[-1,40]`, `"held_ns":[5]`, input.ErrRagged, "arrivals", `{"version"`},
	{"arrivals as text", `"step":[20,-1]`, `"step":["a",-1]`, input.ErrType, "arrivals", `"a"`},
	{"a line without a number", `"train.py\u003a66"`, `"train.py"`, input.ErrFormat, "lines", `"train.py"`},
	{"epoch before 1970", `"epoch_ns":1700000000000000000`, `"epoch_ns":-1`, input.ErrNegative, "epoch_ns", `-1`},
	{"local rank -2", `"local_rank":3`, `"local_rank":-2`, input.ErrTooLarge, "local_rank", `-2`},
	{"side arrays of different length", `[60.5,null]`, `[60.5]`, input.ErrRagged, "side", `{"steps`},
	{"side without ready", `,"ready":[true,false]`, ``, input.ErrMissing, "side", `{"steps`},
	{"null in a ready sample", `[true,false]`, `[true,true]`, input.ErrMissing, "side", `{"steps`},
	{"NaN in a sample", `null]`, `NaN]`, input.ErrNotFinite, "side", `NaN`},
	{"sample past float64", `60.5`, `1e400`, input.ErrNotFinite, "side", `1e400`},
	{"negative sample", `60.5`, `-60.5`, input.ErrNegative, "side", `{"steps`},
	{"sample outside the window", `[20,22]`, `[20,23]`, input.ErrRagged, "side", `{"a_cuda`},
	{"sample before the window", `[20,22]`, `[19,22]`, input.ErrRagged, "side", `{"a_cuda`},
	{"step sampled twice", `[20,22]`, `[20,20]`, input.ErrDuplicate, "side", `{"steps`},
	{"side array twice", `"ms":[60.5,null]`, `"ms":[60.5,null],"ms":[60.5,null]`, input.ErrDuplicate, "side", `"ms":[60.5,null],"ready`},
	{"number without fraction digits", `60.5`, `60.`, input.ErrFormat, "side", `,null`},
	{"number without exponent digits", `60.5`, `60e+`, input.ErrFormat, "side", `,null`},
	{"text after the packet", `false}`, `false} x`, input.ErrFormat, "", `x`},
	{"two packets in a line", `false}`, `false}{}`, input.ErrFormat, "", `{}`},
	{"missing colon", `"rank":3`, `"rank"3`, input.ErrType, "", `3,`},
	{"key without quotes", `"rank":3`, `rank:3`, input.ErrFormat, "", `rank`},
	{"trailing comma", `false}`, `false,}`, input.ErrFormat, "", `}`},
	{"deep nesting", `"rank":3`, `"x":` + strings.Repeat("[", 1e5) + `,"rank":3`, input.ErrTooLarge, "x", `[`},
	{"array", full, `[1,2]`, input.ErrType, "", `[1,2]`},
	{"text", full, `hello`, input.ErrFormat, "", `hello`},
	{"log line before it", `{"schema"`, `[rank0]: {"schema"`, input.ErrType, "", `[rank0]`},
	{"line that ends early", full, full[:strings.Index(full, "000],[5")], input.ErrTruncated, "durations_ns", ``},
}

func TestRefusals(t *testing.T) {
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			line := strings.Replace(full, tt.old, tt.new, 1)
			if line == full {
				t.Fatalf("%q is not in the packet", tt.old)
			}
			p, e := decodeOne(line)
			if e == nil {
				t.Fatalf("accepted: %+v", p)
			}
			if !errors.Is(e.err, tt.kind) {
				t.Errorf("kind of %q, want %q", e.err, tt.kind)
			}
			if e.key != tt.key {
				t.Errorf("key %q, want %q: %v", e.key, tt.key, e.err)
			}
			if !strings.HasPrefix(line[e.column-1:], tt.at) {
				t.Errorf("points at %.20q, want %.20q: %v", line[e.column-1:], tt.at, e.err)
			}
			for _, c := range e.err.Error() {
				if c < ' ' {
					t.Errorf("control character in %q", e.err)
				}
			}
			if n := len(e.err.Error()); n > 250 {
				t.Errorf("message of %d bytes", n)
			}
		})
	}
}

// TestTooManyUnknownKeys: looking for duplicates among them must stay cheap.
func TestTooManyUnknownKeys(t *testing.T) {
	var b strings.Builder
	for i := range maxUnknown + 1 {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	_, e := decodeOne("{" + b.String() + bare[1:])
	if e == nil || !errors.Is(e.err, input.ErrTooLarge) {
		t.Errorf("%d unknown keys: %v, want a refusal", maxUnknown+1, e)
	}
}

// TestNanos checks the fast path for numbers against strconv: every length,
// all kinds of neighbours.
func TestNanos(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 20_000 {
		var want []int64
		text := []byte{'['}
		for i := range 1 + rng.IntN(6) {
			if i > 0 {
				text = append(text, [...]string{",", ", ", " ,", ",  ", "\t,"}[rng.IntN(5)]...)
			}
			v := int64(rng.Uint64() >> 1 >> rng.IntN(63))
			want = append(want, v)
			text = strconv.AppendInt(text, v, 10)
		}
		text = append(text, " ]"[rng.IntN(2):]...)
		text = append(text, "        1234567890123456789"[rng.IntN(28):]...)
		s := scanner{b: text}
		got, f := s.nanos(nil)
		if f != nil {
			t.Fatalf("%s: %v", text, f.err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: got %d", text, got)
		}
	}
}

// TestDecodeAgain decodes into a used part: nothing of the last packet may
// show.
func TestDecodeAgain(t *testing.T) {
	var d decoder
	var p trace.Part
	for _, tt := range []struct {
		line string
		want trace.Part
	}{{full, fullPart}, {bare, barePart}, {full, fullPart}, {full[:len(full)-1], fullPart}, {bare, barePart}} {
		e := d.decode([]byte(tt.line), &p)
		if e != nil {
			continue // the line that ends early
		}
		if diff := cmp.Diff(tt.want, p, cmp.Comparer(equalSide)); diff != "" {
			t.Fatalf("part differs (-want +got):\n%s", diff)
		}
	}
}

// TestAllocations: decoding into a used part must not allocate for every value.
func TestAllocations(t *testing.T) {
	row := "[123456789,1]"
	line := []byte(strings.Replace(bare, `["a"]`, `["a","b"]`, 1))
	line = []byte(strings.Replace(string(line), "[[5]]", "["+strings.Repeat(row+",", 999)+row+"]", 1))
	var d decoder
	var p trace.Part
	if e := d.decode(line, &p); e != nil {
		t.Fatal(e.err)
	}
	if n := testing.AllocsPerRun(20, func() { d.decode(line, &p) }); n > 4 {
		t.Errorf("%v allocations for a packet of 2,000 durations", n)
	}
}

// packetJSON is a packet as encoding/json reads it: the reference that the
// decoder is compared with.
type packetJSON struct {
	Schema       string              `json:"schema"`
	Run          string              `json:"run"`
	Window       int64               `json:"window"`
	Rank         int                 `json:"rank"`
	WorldSize    int                 `json:"world_size"`
	Host         string              `json:"host"`
	LocalRank    *int                `json:"local_rank"`
	Role         map[string]int      `json:"role"`
	Stages       []string            `json:"stages"`
	FirstStep    int64               `json:"first_step"`
	Durations    [][]int64           `json:"durations_ns"`
	Wall         []int64             `json:"wall_ns"`
	Side         map[string]sideJSON `json:"side"`
	Notes        []string            `json:"notes"`
	DataWait     string              `json:"data_wait"`
	Accumulation *int                `json:"accumulation"`
	GatherOK     *bool               `json:"gather_ok"`
}

type sideJSON struct {
	Steps []int64    `json:"steps"`
	Ms    []*float64 `json:"ms"`
	Ready []bool     `json:"ready"`
}

// reference reads a packet with encoding/json.
func reference(line []byte) (*trace.Part, error) {
	var j packetJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, err
	}
	wait, err := trace.ParseDataWait(j.DataWait)
	if err != nil {
		return nil, err
	}
	p := &trace.Part{Run: j.Run, Index: j.Window, WorldSize: j.WorldSize, FirstStep: j.FirstStep, Accumulation: 1, GatherOK: true,
		DataWait: wait, Rank: trace.Rank{ID: j.Rank, Host: j.Host, LocalRank: -1}, Schema: trace.Schema{Stages: j.Stages}, Wall: j.Wall,
		Notes: j.Notes}
	if j.LocalRank != nil {
		p.Rank.LocalRank = *j.LocalRank
	}
	if j.Accumulation != nil {
		p.Accumulation = *j.Accumulation
	}
	if j.GatherOK != nil {
		p.GatherOK = *j.GatherOK
	}
	for axis, n := range j.Role {
		p.Rank.Role = append(p.Rank.Role, trace.Coord{Axis: axis, Index: n})
	}
	if p.Rank.Role, err = trace.NewRole(p.Rank.Role...); err != nil {
		return nil, err
	}
	for _, step := range j.Durations {
		p.Durations = append(p.Durations, step...)
	}
	for name, c := range j.Side {
		channel := trace.SideChannel{Name: name}
		for i := range c.Steps {
			s := trace.Sample{Step: c.Steps[i], Ready: c.Ready[i]}
			if c.Ms[i] != nil {
				s.Value = *c.Ms[i]
			}
			channel.Samples = append(channel.Samples, s)
		}
		p.Side = append(p.Side, channel)
	}
	return p, nil
}

// FuzzDecode: no line makes the decoder panic; what it accepts is valid, is
// read alike by encoding/json, and survives being written and read again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(bare))
	for _, r := range refusals {
		if line := strings.Replace(full, r.old, r.new, 1); len(line) < 2000 {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		line, _, _ := bytes.Cut(input, []byte("\n")) // what the reader of lines hands on
		p, e := decodeOne(string(line))
		if e != nil {
			if e.column < 1 || e.column > len(line)+1 || e.placeInLine() == "" {
				t.Errorf("column %d in a line of %d bytes", e.column, len(line))
			}
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("accepted, but not valid: %v", err)
		}
		same := cmp.Comparer(equalSide)
		again, e := decodeOne(string(appendPacket(nil, p)))
		if e != nil {
			t.Fatalf("written again as %s: %v", appendPacket(nil, p), e.err)
		}
		if diff := cmp.Diff(p, again, same); diff != "" {
			t.Errorf("written and read again (-want +got):\n%s", diff)
		}
		if strings.Contains(string(line), "NaN") || strings.Contains(string(line), "Infinity") {
			return // tolerated in unknown keys, not by encoding/json
		}
		ref, err := reference(line)
		if err != nil {
			t.Fatalf("accepted, encoding/json does not: %v", err)
		}
		if !sameKeys(line) {
			return // encoding/json takes "RUN" for "run"
		}
		if len(ref.Notes) == 0 {
			ref.Notes = nil
		}
		p.Epoch, p.Arrivals = 0, nil // the reference leaves them out; written and read again they are above
		if diff := cmp.Diff(ref, p, same); diff != "" {
			t.Errorf("encoding/json reads another packet (-json +decoder):\n%s", diff)
		}
	})
}

// sameKeys reports whether no key of the packet, at any level, is one of ours
// in other letters.
func sameKeys(line []byte) bool {
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		return false
	}
	names := append(slices.Clone(fieldNames[:]), "steps", "ms", "ready")
	var same func(v any) bool
	same = func(v any) bool {
		members, _ := v.(map[string]any)
		for key, value := range members {
			for _, name := range names {
				if key != name && strings.EqualFold(key, name) {
					return false
				}
			}
			if !same(value) {
				return false
			}
		}
		return true
	}
	return same(v)
}

// equalSide compares side channels whatever their order; those without samples
// do not count.
func equalSide(a, b []trace.SideChannel) bool {
	byName := func(in []trace.SideChannel) map[string][]trace.Sample {
		out := make(map[string][]trace.Sample)
		for _, c := range in {
			if len(c.Samples) == 0 {
				continue
			}
			samples := slices.Clone(c.Samples)
			slices.SortFunc(samples, func(a, b trace.Sample) int { return int(min(1, max(-1, a.Step-b.Step))) })
			out[c.Name] = samples
		}
		return out
	}
	return cmp.Equal(byName(a), byName(b))
}
