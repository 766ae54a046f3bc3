package kineto

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// repeated is a text again and again, without being held.
type repeated struct {
	text string
	left int // how often
	at   int // in text
}

func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if r.left == 0 {
			return n, io.EOF
		}
		took := copy(p[n:], r.text[r.at:])
		if n, r.at = n+took, r.at+took; r.at == len(r.text) {
			r.at = 0
			r.left--
		}
	}
	return n, nil
}

// readAllocating reads a trace and tells the bytes that were allocated for it.
func readAllocating(parts ...io.Reader) (r *profile.Rank, bytes uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err = Read(io.MultiReader(parts...), "t.json", Options{})
	runtime.ReadMemStats(&after)
	return r, after.TotalAlloc - before.TotalAlloc, err
}

// much is a text of n MiB that is no value by itself.
func much(mib int) io.Reader { return &repeated{text: strings.Repeat("x", 1<<10), left: mib << 10} }

// TestLargerThanMemory: what is too large to be held is left out, where it is
// is said, and all else is used, whatever its size.
func TestLargerThanMemory(t *testing.T) {
	const size, held, passed = 80, 2*maxEvent + 8<<20, 16 << 20 // MiB; bytes for what is held up to its bound, and for what is not
	s := strings.NewReader
	for name, tt := range map[string]struct {
		parts []io.Reader
		note  string // "": none
		most  uint64
	}{
		"a name": {[]io.Reader{s(`{"traceEvents":[{"ph":"X","name":"`), much(2 * size), s(`","ts":1,"dur":2},` + step + `]}`)},
			"events that are larger than 64 MiB and were left out: 1, the first at byte 16", held},
		"arguments, behind": {[]io.Reader{s(`{"traceEvents":[` + step + `,{"ph":"X","args":{"a":["`), much(size), s(`",{"b":"]}"}]}},{}]}`)},
			"events that are larger than 64 MiB and were left out: 1, the first at byte 199", held},
		"the rank": {[]io.Reader{s(`{"distributedInfo":{"rank":"`), much(size), s(`"},"traceEvents":[` + step + `]}`)},
			"metadata larger than 64 MiB, and left out: distributedInfo, at byte 19", held},
		"a key":             {[]io.Reader{s(`{"`), much(size), s(`":[1,2],"traceEvents":[` + step + `]}`)}, "", passed},
		"device properties": {[]io.Reader{s(`{"deviceProperties":[{"a":"`), much(size), s(`","b":inf}],"traceEvents":[` + step + `]}`)}, "", passed},
		"white space":       {[]io.Reader{s(`{"traceEvents":[` + step), &repeated{text: "\n", left: size << 20}, s(`]}`)}, "", passed},
	} {
		t.Run(name, func(t *testing.T) {
			r, bytes, err := readAllocating(tt.parts...)
			if err != nil {
				t.Fatal(err)
			}
			stepAgain(t, r)
			if tt.note == "" && len(r.Notes) > 0 || tt.note != "" && (len(r.Notes) != 1 || !noted(r, input.NoteRecorder, tt.note)) {
				t.Errorf("notes %v, want %q alone", r.Notes, tt.note)
			}
			if bytes > tt.most {
				t.Errorf("%d MiB were allocated", bytes>>20)
			}
		})
	}
}

// TestDeepNest: a hundred million brackets are refused in memory that does not
// grow with them, or left out where events came before.
func TestDeepNest(t *testing.T) {
	nest := func() io.Reader { return &repeated{text: strings.Repeat("[", 1<<10), left: 100_000_000 >> 10} }
	for name, tt := range map[string]struct {
		before string
		kind   error // nil: the step is there
	}{
		"for a trace":           {`[`, input.ErrEmpty},
		"in metadata":           {`{"x":`, input.ErrFormat},
		"in the info":           {`{"distributedInfo":`, input.ErrFormat},
		"in an event":           {`{"traceEvents":[{"args":`, input.ErrEmpty},
		"in an event, behind":   {`{"traceEvents":[` + step + `,{"args":`, nil},
		"for an event, behind":  {`{"traceEvents":[` + step + `,`, nil},
		"in metadata, behind":   {`{"traceEvents":[` + step + `],"x":`, nil},
		"behind the whole file": {`{"traceEvents":[` + step + `]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, bytes, err := readAllocating(strings.NewReader(tt.before), nest())
			if bytes > 32<<20 {
				t.Errorf("%d MiB were allocated", bytes>>20)
			}
			if tt.kind != nil {
				if !errors.Is(err, tt.kind) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
					t.Errorf("error %v, want one line of kind %v", err, tt.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			stepAgain(t, r)
			if len(r.Notes) == 0 {
				t.Error("nothing is said")
			}
		})
	}
}

// TestMillionFrames: the frames of with_stack cost no memory.
func TestMillionFrames(t *testing.T) {
	frames := &repeated{text: x("python_function", "torch/nn/modules/module.py(1494): _call_impl", 1020, 5) + ",\n", left: 1_000_000}
	r, bytes, err := readAllocating(strings.NewReader(`{"traceEvents":[`), frames, strings.NewReader(step+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	stepAgain(t, r)
	if bytes > 8<<20 || len(r.Notes) > 0 {
		t.Errorf("%d MiB were allocated, notes %v", bytes>>20, r.Notes)
	}
}

// TestHugeConfiguration: the process groups of a large job take a megabyte, and
// each is known.
func TestHugeConfiguration(t *testing.T) {
	const size, count = 2048, 100
	var groups []string
	for g := range count {
		groups = append(groups, fmt.Sprintf(`{"pg_name":"%d","pg_desc":"group %d","backend_config":"cuda:nccl","pg_size":%d,"ranks":[%s]}`, g, g, size, numbers(size)))
	}
	text := `{"distributedInfo":{"backend":"nccl","pg_count":100,"pg_config":[` + strings.Join(groups, ",") + `],"rank":1999,"world_size":2048},"traceEvents":[` + step + `,` +
		k(allReduce, 4, 1012, 1020, 30, `, "Collective name":"allreduce","Process Group Name":"97","Process Group Ranks":"[0, 1, 2, ...]"`) + `]}`
	r := must(t, text)
	if c := r.Comm.Groups[0]; len(text) < 1<<20 || r.ID != 1999 || r.World != 2048 || c.Desc != "group 97" || len(c.Members) != size || c.Size != size {
		t.Errorf("%d bytes: rank %d of %d, collective of %s with %d members", len(text), r.ID, r.World, c.Desc, len(c.Members))
	}
}

// TestGzipBomb: what expands without end is refused in one line, however small
// it is stored.
func TestGzipBomb(t *testing.T) {
	stored := ingesttest.Gzip(t, `{"traceEvents":[`+strings.Repeat(" ", 200<<20))
	src, err := ingest.NewSource(strings.NewReader(stored), "t.json.gz", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	_, bytes, err := readAllocating(src)
	if !errors.Is(err, input.ErrTooLarge) || !strings.Contains(err.Error(), "as a decompression bomb does") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if bytes > 32<<20 {
		t.Errorf("%d MiB were allocated of %d kB stored", bytes>>20, len(stored)>>10)
	}
}
