package archive_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// forged is an archive of one window of two steps and two ranks, in pieces
// that a test may change before it is written.
type forged struct {
	columns []forgedColumn
	data    []forgedData
	rows    int
	meta    string
	sum     string // "" for the right one
}

type forgedColumn struct {
	name     string
	typ      reflect.Type
	nullable bool
}

// forgedData are the values of a column, without those of null rows.
type forgedData struct {
	present []bool // nil: all
	values  []any
}

var (
	integer = reflect.TypeFor[int64]()
	double  = reflect.TypeFor[float64]()
	boolean = reflect.TypeFor[bool]()
	text    = reflect.TypeFor[string]()
)

func data[T any](values ...T) forgedData {
	var d forgedData
	for _, v := range values {
		d.values = append(d.values, v)
	}
	return d
}

func forge() *forged {
	return &forged{
		columns: []forgedColumn{{name: "run", typ: text}, {name: "window", typ: integer}, {name: "step", typ: integer}, {name: "rank", typ: integer},
			{name: "a", typ: integer}, {name: "wall_ns", typ: integer, nullable: true}},
		data: []forgedData{data("job", "job", "job", "job"), data[int64](7, 7, 7, 7), data[int64](5, 5, 6, 6),
			data[int64](0, 1, 0, 1), data[int64](10, 20, 30, 40), data[int64](11, 21, 31, 41)},
		rows: 4,
		meta: `{"format":"sfstat.archive/1","stages":["a"],"runs":["job"],"cohorts":[{"world_size":2,"ranks":[0,1]}],` +
			`"forms":[{"run":0,"cohort":0,"steps":2}],"windows":[[0,7,5]]}`,
	}
}

// set replaces a piece of the metadata, which must be there.
func (f *forged) set(old, new string) {
	if !strings.Contains(f.meta, old) {
		panic("no " + old)
	}
	f.meta = strings.Replace(f.meta, old, new, 1)
}

func (f *forged) bytes(t testing.TB) []byte {
	t.Helper()
	var fields []reflect.StructField
	for i, c := range f.columns {
		tag := c.name
		if c.nullable {
			tag += ",optional"
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", i), Type: c.typ, Tag: reflect.StructTag(`parquet:` + strconv.Quote(tag))})
	}
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()), parquet.Compression(&parquet.Zstd))
	for i, column := range w.ColumnWriters() {
		d, next := f.data[i], 0
		for row := range f.rows {
			var v parquet.Value
			if d.present == nil || d.present[row] {
				v = parquet.ValueOf(d.values[next])
				next++
				if f.columns[i].nullable {
					v = v.Level(0, 1, i)
				}
			}
			if _, err := column.WriteRowValues([]parquet.Value{v}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if f.sum == "" {
		f.sum = fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(f.meta)))
	}
	if f.meta != "" {
		w.SetKeyValueMetadata(archive.Key, f.meta)
		w.SetKeyValueMetadata(archive.Key+".crc32", f.sum)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestForged(t *testing.T) {
	want := &trace.Window{Run: "job", Index: 7, FirstStep: 5, WorldSize: 2, Schema: trace.Schema{Stages: []string{"a"}},
		Ranks: []trace.Rank{{ID: 0, LocalRank: -1}, {ID: 1, LocalRank: -1}}, Durations: []int64{10, 20, 30, 40}, Wall: []int64{11, 21, 31, 41}}
	check := func(name string, edit func(f *forged)) {
		t.Helper()
		f := forge()
		edit(f)
		got, err := readAll(f.bytes(t))
		if d := cmp.Diff([]*trace.Window{want}, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	check("as it is", func(*forged) {})
	check("more columns", func(f *forged) {
		f.columns = append(f.columns, forgedColumn{name: "mine", typ: double})
		f.data = append(f.data, data[float64](1, 2, 3, 4))
	})
	check("nullable without nulls", func(f *forged) {
		f.columns[4].nullable = true
		f.data[4].present = []bool{true, true, true, true}
	})
}

// Files that no writer made. Each is refused with the kind of its fault and a
// line that helps.
func TestHostile(t *testing.T) {
	tests := []struct {
		name string
		edit func(f *forged)
		want error
		says string
	}{
		{"no metadata", func(f *forged) { f.meta = "" }, archive.ErrNotArchive, "a program that rewrote it"},
		{"operator trace", func(f *forged) {
			f.meta = ""
			for i, name := range []string{"optype", "dp_rank", "start_ts", "duration", "seq_id", "stage"} {
				f.columns[i].name = name
			}
		}, archive.ErrNotArchive, "looks like an operator trace"},
		{"any table", func(f *forged) {
			f.meta = ""
			f.columns[3].name = "price"
		}, archive.ErrNotArchive, "its columns are run, window, step, price"},
		{"checksum", func(f *forged) { f.sum = "00000000" }, input.ErrFormat, "damaged"},
		{"no checksum", func(f *forged) { f.sum = "zz" }, input.ErrFormat, "damaged"},
		{"newer", func(f *forged) { f.set("archive/1", "archive/2") }, input.ErrFormat, "newer sfstat"},
		{"not JSON", func(f *forged) { f.meta = "{" }, input.ErrFormat, "metadata"},
		{"deep JSON", func(f *forged) { f.meta = strings.Repeat("[", 100000) }, input.ErrFormat, "metadata"},
		{"JSON of another type", func(f *forged) { f.set(`"steps":2`, `"steps":"2"`) }, input.ErrFormat, "metadata"},
		{"forms no list", func(f *forged) { f.set(`"windows":[[0,7,5]]`, `"windows":{}`) }, input.ErrFormat, "list"},
		{"missing run", func(f *forged) { f.set(`"run":0`, `"run":1`) }, input.ErrMissing, "form 0"},
		{"negative run", func(f *forged) { f.set(`"run":0`, `"run":-1`) }, input.ErrFormat, "run -1"},
		{"missing cohort", func(f *forged) { f.set(`"cohort":0`, `"cohort":9`) }, input.ErrMissing, "cohort 9"},
		{"missing form", func(f *forged) { f.set(`[0,7,5]`, `[1,7,5]`) }, input.ErrMissing, "form 1"},
		{"missing channel", func(f *forged) { f.set(`"steps":2`, `"steps":2,"channels":[0]`) }, input.ErrMissing, "channel 0"},
		{"channel without columns", func(f *forged) { f.set(`"runs"`, `"channels":["c"],"runs"`) }, input.ErrMissing, `no column "c"`},
		{"no steps", func(f *forged) { f.set(`"steps":2`, `"steps":0`) }, input.ErrFormat, "0 steps"},
		{"too many steps", func(f *forged) { f.set(`"steps":2`, `"steps":3`) }, input.ErrMissing, "rows were removed"},
		{"absurdly many steps", func(f *forged) { f.set(`"steps":2`, `"steps":9223372036854775807`) }, input.ErrMissing, "rows were removed"},
		{"too few steps", func(f *forged) { f.set(`"steps":2`, `"steps":1`) }, input.ErrDuplicate, "rows were added"},
		{"ragged cohort", func(f *forged) { f.set(`"ranks":[0,1]`, `"ranks":[0,1],"hosts":["a"]`) }, input.ErrFormat, "cohort"},
		{"no ranks", func(f *forged) { f.set(`"ranks":[0,1]`, `"ranks":[]`) }, input.ErrFormat, "cohort"},
		{"ranks descend", func(f *forged) {
			f.set(`[0,1]`, `[1,0]`)
			f.data[3] = data[int64](1, 0, 1, 0)
		}, input.ErrFormat, "ascend"},
		{"rank twice", func(f *forged) {
			f.set(`[0,1]`, `[1,1]`)
			f.data[3] = data[int64](1, 1, 1, 1)
		}, input.ErrDuplicate, "rank 1"},
		{"rank outside the world", func(f *forged) { f.set(`"world_size":2`, `"world_size":1`) }, input.ErrTooLarge, "world of 1"},
		{"negative coordinate", func(f *forged) { f.set(`"ranks":[0,1]`, `"ranks":[0,1],"roles":{"dp":[0,-2]}`) }, input.ErrNegative, "dp"},
		{"unknown data wait", func(f *forged) { f.set(`"steps":2`, `"steps":2,"data_wait":"x"`) }, input.ErrType, "data_wait"},
		{"first step overflows", func(f *forged) { f.set(`[0,7,5]`, `[0,7,9223372036854775807]`) }, input.ErrOverflow, "first step"},
		{"first step negative", func(f *forged) { f.set(`[0,7,5]`, `[0,7,-5]`) }, input.ErrOverflow, "first step"},
		{"residual stage", func(f *forged) {
			f.set(`["a"]`, `["`+stagename.Residual+`"]`)
			f.columns[4].name = stagename.Residual
		}, input.ErrDuplicate, "derived"},
		{"no stages", func(f *forged) { f.set(`["a"]`, `[]`) }, input.ErrEmpty, "no stages"},
		{"stage without column", func(f *forged) { f.set(`["a"]`, `["b"]`) }, input.ErrMissing, `no column "b"`},
		{"stage of another type", func(f *forged) {
			f.columns[4].typ, f.data[4] = double, data[float64](1, 2, 3, 4)
		}, input.ErrType, "DOUBLE, expected INT64"},
		{"null duration", func(f *forged) {
			f.columns[4].nullable, f.data[4] = true, forgedData{[]bool{true, false, true, true}, data[int64](1, 2, 3).values}
		}, input.ErrMissing, "column a]: row 1 is null"},
		{"null wall", func(f *forged) { f.data[5] = forgedData{present: make([]bool, 4)} }, input.ErrMissing, "column wall_ns]: row 0 is null"},
		{"negative duration", func(f *forged) { f.data[4].values[2] = int64(-1) }, input.ErrNegative, `step 6, stage "a", rank 0`},
		{"negative wall", func(f *forged) { f.data[5].values[1] = int64(math.MinInt64) }, input.ErrNegative, "wall"},
		{"overflow", func(f *forged) { f.data[4].values[2] = int64(math.MaxInt64) }, input.ErrOverflow, "step"},
		{"row twice", func(f *forged) { f.data[3].values[1] = int64(0) }, input.ErrFormat, "row 1 has rank 0"},
		{"unknown rank", func(f *forged) { f.data[3].values[3] = int64(9) }, input.ErrFormat, "row 3 has rank 9"},
		{"unknown step", func(f *forged) { f.data[2].values[3] = int64(7) }, input.ErrFormat, "row 3 has step 7"},
		{"step before", func(f *forged) { f.data[2].values[0] = int64(math.MinInt64) }, input.ErrFormat, "row 0 has step"},
		{"rows in another order", func(f *forged) {
			f.data[2], f.data[3] = data[int64](5, 6, 5, 6), data[int64](0, 0, 1, 1)
		}, input.ErrFormat, "row 1 has step 6 among the rows of window 7 of run \"job\": sort the table"},
		{"ranks in another order", func(f *forged) { f.data[3] = data[int64](0, 1, 1, 0) }, input.ErrFormat, "row 2 has rank 1"},
		{"row of another window", func(f *forged) { f.data[1].values[2] = int64(8) }, input.ErrFormat, "row 2 has window 8"},
		{"row of another run", func(f *forged) {
			f.data[0] = data("job", "job", "job", "x")
		}, input.ErrFormat, "row 3 has run x"},
		{"samples without readiness", func(f *forged) {
			f.set(`"runs"`, `"channels":["c"],"runs"`)
			f.set(`"steps":2`, `"steps":2,"channels":[0]`)
			f.columns = append(f.columns, forgedColumn{name: "c", typ: double, nullable: true}, forgedColumn{name: "c.ready", typ: boolean, nullable: true})
			f.data = append(f.data, data[float64](1, 2, 3, 4), forgedData{[]bool{true, false, true, true}, data(true, true, true).values})
		}, input.ErrRagged, "ready"},
		{"samples of no channel", func(f *forged) {
			f.set(`"runs"`, `"channels":["c"],"runs"`)
			f.columns = append(f.columns, forgedColumn{name: "c", typ: double, nullable: true}, forgedColumn{name: "c.ready", typ: boolean, nullable: true})
			f.data = append(f.data, data[float64](1, 2, 3, 4), data(true, true, true, true))
		}, input.ErrFormat, `channel "c"`},
		{"names with line ends", func(f *forged) {
			f.meta = ""
			f.columns[2].name, f.columns[3].name = "a\nb", "\x1b[2J"
		}, archive.ErrNotArchive, `"a\nb"`},
		{"run with line ends", func(f *forged) { f.data[0].values[0] = "a\r\nb" }, input.ErrFormat, `run "a\r\nb"`},
		{"ready but not a number", func(f *forged) {
			f.set(`"runs"`, `"channels":["c"],"runs"`)
			f.set(`"steps":2`, `"steps":2,"channels":[0]`)
			f.columns = append(f.columns, forgedColumn{name: "c", typ: double, nullable: true}, forgedColumn{name: "c.ready", typ: boolean, nullable: true})
			f.data = append(f.data, data[float64](1, math.NaN(), 3, 4), data(true, true, true, true))
		}, input.ErrNotFinite, "NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := forge()
			tt.edit(f)
			_, err := readAll(f.bytes(t))
			checkRefusal(t, err)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q, want kind %q and the words %q", err, tt.want, tt.says)
			}
		})
	}
}

// checkRefusal checks the form of an error: one line that begins with the file.
func checkRefusal(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("accepted")
	}
	ingesttest.CheckPosition(t, err, "test.parquet")
}

func small(t testing.TB) ([]byte, []*trace.Window) {
	a, b := synthesize(shape{3, 4, .01, 1}, 1), synthesize(shape{2, 2, .01, 1}, 2)
	b.Wall, b.Index = nil, 1
	b.Side = []trace.SideChannel{{Name: "c", Samples: []trace.Sample{{Step: 20, Rank: 1, Value: 3.5, Ready: true}}}}
	windows := []*trace.Window{a, b}
	return write(t, windows...), windows
}

func TestTruncatedAnywhere(t *testing.T) {
	whole, _ := small(t)
	for n := range whole {
		_, err := readAll(whole[:n])
		checkRefusal(t, err)
		if n >= 4 && !errors.Is(err, input.ErrTruncated) {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(whole), err)
		}
		if n < 4 && !errors.Is(err, archive.ErrNotArchive) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
}

// A damaged byte is found, or it stood where it does not matter: never does a
// file give other windows than were written.
func TestDamagedAnywhere(t *testing.T) {
	whole, want := small(t)
	for i := range whole {
		for _, mask := range []byte{0x01, 0x80, 0xff} {
			bad := bytes.Clone(whole)
			bad[i] ^= mask
			got, err := readAll(bad)
			if err != nil {
				checkRefusal(t, err)
			} else if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("byte %d of %d changed by %#x: other windows\n%s", i, len(whole), mask, d)
			}
		}
	}
}

// footerOf takes a file apart and withFooter puts it together again.
func footerOf(b []byte) (body, foot []byte) {
	n := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	return b[:len(b)-8-n], b[len(b)-8-n : len(b)-8]
}

func withFooter(body, foot []byte) []byte {
	b := append(bytes.Clone(body), foot...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(foot))), "PAR1"...)
}

// Footers that claim what the file cannot hold. Refusing must not cost memory
// in proportion to the claim.
func TestAbsurdFooters(t *testing.T) {
	whole, _ := small(t)
	body, foot := footerOf(whole)
	varint := func(v int64) []byte { return binary.AppendVarint(nil, v) }
	replace := func(old, new []byte) []byte {
		if !bytes.Contains(foot, old) {
			t.Fatalf("the footer has no %x", old)
		}
		return withFooter(body, bytes.ReplaceAll(foot, old, new))
	}
	// 16 rows in all: num_rows is field 3 after the schema list, an i64.
	rows := append([]byte{0x16}, varint(16)...)
	tests := []struct {
		name string
		file []byte
	}{
		{"four billion bytes of footer", append(bytes.Clone(whole[:len(whole)-8]), 0xff, 0xff, 0xff, 0xff, 'P', 'A', 'R', '1')},
		{"a billion schema elements", withFooter(body, []byte{0x15, 4, 0x19, 0xfc, 0x80, 0x94, 0xeb, 0xdc, 3, 0})},
		{"a name of a billion bytes", withFooter(body, []byte{0x15, 4, 0x19, 0x2c, 0x48, 0x80, 0x94, 0xeb, 0xdc, 3, 0})},
		{"nested a thousand deep", withFooter(body, bytes.Repeat([]byte{0x1c}, 1000))},
		{"a trillion rows", replace(rows, append([]byte{0x16}, varint(1<<40)...))},
		{"negative rows", replace(rows, append([]byte{0x16}, varint(-1)...))},
		{"empty footer", withFooter(body, nil)},
		{"footer of zeros", withFooter(body, make([]byte, 100))},
		{"footer of ones", withFooter(body, bytes.Repeat([]byte{0xff}, 100))},
		{"only magic", []byte("PAR1PAR1")},
		{"magic and length", []byte("PAR1\x00\x00\x00\x00PAR1")},
		{"encrypted", []byte("PAREsomething else herePARE")},
		{"text", []byte("run,window,step,rank\n")},
		{"empty", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readAll(tt.file)
			runtime.ReadMemStats(&after)
			checkRefusal(t, err)
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("refusing took %d bytes", used)
			}
		})
	}
}

// TestSmallFileOfLargeWindow: 16 MiB of times are read at a time of a file of any size, and one step more in parts, which
// have all of it.
func TestSmallFileOfLargeWindow(t *testing.T) {
	const ranks = 8
	for steps, parts := range map[int]int{1 << 17: 1, 1<<17 + 1: 9} {
		w := &trace.Window{Index: 4, FirstStep: 100, WorldSize: ranks, Schema: trace.Schema{Stages: []string{"a"}}, Durations: make([]int64, ranks*steps),
			Notes: []input.Note{{Kind: input.NoteRecorder, Text: "lost"}}}
		for i := range w.Durations {
			w.Durations[i] = int64(i / 50_000)
		}
		for r := range ranks {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r})
		}
		b := write(t, w)
		if len(b) > 1<<16 {
			t.Fatalf("the file has %d bytes", len(b))
		}
		got, err := readAll(b)
		if err != nil || len(got) != parts {
			t.Fatalf("%d steps: %d windows, %v", steps, len(got), err)
		}
		var all []int64
		for i, g := range got {
			if g.Index != 4 || g.FirstStep != 100+int64(len(all)/ranks) || len(g.Durations) > len(w.Durations)/parts+ranks || (len(g.Notes) > 0) != (i == 0) {
				t.Errorf("window %d from step %d with %d times and %d notes", g.Index, g.FirstStep, len(g.Durations), len(g.Notes))
			}
			all = append(all, g.Durations...)
		}
		if !slices.Equal(all, w.Durations) {
			t.Errorf("%d steps: other times", steps)
		}
	}
}

// A few bytes that decompress to a large table: refused over the limits,
// before the window is allocated.
func TestBombs(t *testing.T) {
	const steps = 1 << 18
	w := &trace.Window{WorldSize: 8, Schema: trace.Schema{Stages: []string{"a"}}, Durations: make([]int64, 8*steps)}
	for r := range 8 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r})
	}
	b := write(t, w)
	if len(b) > 1<<16 {
		t.Fatalf("the bomb has %d bytes", len(b))
	}
	_, err := readAll(b)
	checkRefusal(t, err)
	if !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("ratio: %v", err)
	}
	generous := ingest.Limits{Ratio: 1 << 20, Pending: 1 << 20}
	r, err := archive.NewReader(bytes.NewReader(b), int64(len(b)), "test.parquet", generous)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Next()
	checkRefusal(t, err)
	if !errors.Is(err, input.ErrTooLarge) || !strings.Contains(err.Error(), "limit") {
		t.Errorf("pending: %v", err)
	}
}

func TestOpen(t *testing.T) {
	whole, want := small(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "w.parquet")
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := archive.Open(path, ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		got, err := r.Next()
		if d := cmp.Diff(w, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after the last window: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := archive.Open(filepath.Join(dir, "none"), ingest.Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := archive.Open(dir, ingest.Limits{}); !errors.Is(err, input.ErrType) {
		t.Errorf("a folder: %v", err)
	}
}

// Any bytes are windows or an error. The checksum of the metadata is put right
// so that what lies behind it is reached.
func FuzzReader(f *testing.F) {
	whole, _ := small(f)
	f.Add(whole)
	f.Add(forge().bytes(f))
	body, foot := footerOf(whole)
	f.Add(withFooter(body, foot[:len(foot)/2]))
	f.Fuzz(func(t *testing.T, b []byte) {
		windows, err := readAll(b)
		if err != nil {
			checkRefusal(t, err)
		}
		for _, w := range windows {
			if err := w.Validate(); err != nil {
				t.Fatalf("an invalid window was read: %v", err)
			}
		}
	})
}

// FuzzMeta forges archives with any metadata around a sound table.
func FuzzMeta(f *testing.F) {
	f.Add(forge().meta)
	f.Fuzz(func(t *testing.T, meta string) {
		g := forge()
		g.meta = meta
		windows, err := readAll(g.bytes(t))
		if err != nil {
			checkRefusal(t, err)
		}
		for _, w := range windows {
			if err := w.Validate(); err != nil {
				t.Fatalf("an invalid window was read: %v", err)
			}
		}
	})
}
