package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/sfstat/sfstat/trace/input"
)

var limits = Limits{Footer: 1 << 20, Window: 8 << 20}

const mostRows = 1 << 20

// opened is the file of b, if it is sound.
func opened(b []byte, rows int64) (*File, error) {
	f, err := Open(Input{bytes.NewReader(b), int64(len(b)), "t.parquet"}, limits)
	if err == nil {
		err = f.Check(rows)
	}
	return f, err
}

func open(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := opened(b, mostRows)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Rows in the encodings of the format, under each compression.
type plainRow struct {
	I32  int32    `parquet:"i32"`
	I64  int64    `parquet:"i64"`
	F32  float32  `parquet:"f32"`
	F64  float64  `parquet:"f64"`
	Text string   `parquet:"text,plain"`
	Opt  *int64   `parquet:"opt"`
	OptF *float32 `parquet:"optf"`
}

type snappyRow struct {
	I32  int32    `parquet:"i32,dict,snappy"`
	I64  int64    `parquet:"i64,dict,snappy"`
	F32  float32  `parquet:"f32,dict,snappy"`
	F64  float64  `parquet:"f64,dict,snappy"`
	Text string   `parquet:"text,dict,snappy"`
	Opt  *int64   `parquet:"opt,dict,snappy"`
	OptF *float32 `parquet:"optf,snappy"`
}

type gzipRow struct {
	I32  int32    `parquet:"i32,delta,gzip"`
	I64  int64    `parquet:"i64,delta,gzip"`
	F32  float32  `parquet:"f32,split,gzip"`
	F64  float64  `parquet:"f64,split,gzip"`
	Text string   `parquet:"text,gzip"`
	Opt  *int64   `parquet:"opt,gzip"`
	OptF *float32 `parquet:"optf,gzip"`
}

type zstdRow struct {
	I32  int32    `parquet:"i32,zstd"`
	I64  int64    `parquet:"i64,dict,zstd"`
	F32  float32  `parquet:"f32,zstd"`
	F64  float64  `parquet:"f64,zstd"`
	Text string   `parquet:"text,dict,zstd"`
	Opt  *int64   `parquet:"opt,zstd"`
	OptF *float32 `parquet:"optf,zstd"`
}

func rows(n int) []plainRow {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	out := make([]plainRow, n)
	for i := range out {
		r := &out[i]
		*r = plainRow{I32: rng.Int32() - 1<<30, I64: rng.Int64() - 1<<62, F32: rng.Float32() * 50, F64: rng.NormFloat64(), Text: fmt.Sprint("op-", rng.IntN(9))}
		if i%3 == 0 {
			r.I64 = int64(i % 7)
		}
		if rng.IntN(4) > 0 {
			r.Opt = &r.I64
		}
		if i%50 < 40 {
			r.OptF = &r.F32
		}
	}
	return out
}

func write[T any](t testing.TB, in []plainRow, convert func(plainRow) T, options ...pq.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[T](&b, options...)
	for _, r := range in {
		if _, err := w.Write([]T{convert(r)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func check(t *testing.T, b []byte, want []plainRow) {
	t.Helper()
	f := open(t, b)
	if f.Rows() != int64(len(want)) || len(f.Columns()) != 7 {
		t.Fatalf("%d rows, columns %v", f.Rows(), f.Columns())
	}
	column := make(map[string]Values)
	for i, c := range f.Columns() {
		v, err := f.Read(i)
		if err != nil {
			t.Fatal(err)
		}
		column[c.Name] = v
	}
	for _, name := range []string{"i32", "i64", "f32", "f64", "text"} {
		if column[name].Null != nil {
			t.Errorf("%s has nulls", name)
		}
	}
	float := func(name string, i int) float64 { return math.Float64frombits(uint64(column[name].Bits[i])) }
	for i, r := range want {
		if column["i32"].Bits[i] != int64(r.I32) || column["i64"].Bits[i] != r.I64 || float("f32", i) != float64(r.F32) || float("f64", i) != r.F64 ||
			column["text"].Strings[column["text"].Bits[i]] != r.Text {
			t.Fatalf("row %d is not %+v", i, r)
		}
		if null := column["opt"].Null != nil && column["opt"].Null[i]; null != (r.Opt == nil) || !null && column["opt"].Bits[i] != *r.Opt || null && column["opt"].Bits[i] != 0 {
			t.Fatalf("row %d: optional %d, null %v, expected %v", i, column["opt"].Bits[i], null, r.Opt)
		}
		if null := column["optf"].Null != nil && column["optf"].Null[i]; null != (r.OptF == nil) || !null && float("optf", i) != float64(*r.OptF) {
			t.Fatalf("row %d: optional float %v, null %v, expected %v", i, float("optf", i), null, r.OptF)
		}
	}
}

// What an independent writer writes is what is read, in all encodings,
// compressions and page versions, over pages and row groups.
func TestReadsWhatOthersWrite(t *testing.T) {
	for _, version := range []int{1, 2} {
		for _, n := range []int{1, 2, 300, 5000} {
			o := []pq.WriterOption{pq.DataPageVersion(version), pq.PageBufferSize(1000), pq.MaxRowsPerRowGroup(1700)}
			t.Run(fmt.Sprintf("v%d/%d", version, n), func(t *testing.T) {
				in := rows(n)
				check(t, write(t, in, func(r plainRow) plainRow { return r }, o...), in)
				check(t, write(t, in, func(r plainRow) snappyRow { return snappyRow(r) }, o...), in)
				check(t, write(t, in, func(r plainRow) gzipRow { return gzipRow(r) }, o...), in)
				check(t, write(t, in, func(r plainRow) zstdRow { return zstdRow(r) }, o...), in)
			})
		}
	}
}

func TestNoRows(t *testing.T) {
	b := write(t, nil, func(r plainRow) plainRow { return r })
	f := open(t, b)
	v, err := f.Read(0)
	if f.Rows() != 0 || err != nil || len(v.Bits) != 0 {
		t.Errorf("%d rows, %v, %v", f.Rows(), v, err)
	}
}

// Columns that are not read say what they are; the others still are.
func TestForeignColumns(t *testing.T) {
	type inner struct {
		X int64 `parquet:"x"`
	}
	type row struct {
		Flag  bool     `parquet:"flag"`
		Group inner    `parquet:"group"`
		List  []int64  `parquet:"list"`
		Price int64    `parquet:"price,decimal(2:10)"`
		Fixed [16]byte `parquet:"fixed,uuid"`
		Lz4   int64    `parquet:"lz4,lz4"`
		When  int64    `parquet:"when,timestamp(microsecond)"`
		Good  int64    `parquet:"good"`
	}
	var buf bytes.Buffer
	w := pq.NewGenericWriter[row](&buf)
	if _, err := w.Write([]row{{List: []int64{1, 2}, Good: 7, When: 5}, {Good: 8}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, buf.Bytes())
	for i, c := range f.Columns() {
		v, err := f.Read(i)
		want := map[string]string{"x": "nested or repeated, expected", "list": "nested or repeated, expected",
			"price": "DECIMAL, expected", "fixed": "FIXED_LEN_BYTE_ARRAY, expected"}[c.Name]
		switch {
		case want == "" && (err != nil || len(v.Bits) != 2):
			t.Errorf("%s: %v, %v", c.Name, v, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, expected %q", c.Name, err, want)
		}
		if c.Name == "when" && c.Tick != 1000 {
			t.Errorf("ticks of %d ns, expected 1000", c.Tick)
		}
	}
}

// TestCompressions: what each of the compressions holds is read, unsigned numbers as they are.
func TestCompressions(t *testing.T) {
	type row struct {
		Plain  uint64 `parquet:"plain"`
		Lz4    uint64 `parquet:"lz4,lz4"`
		Brotli uint64 `parquet:"brotli,brotli"`
		Snappy uint64 `parquet:"snappy,snappy"`
		Gzip   uint64 `parquet:"gzip,gzip"`
		Zstd   uint64 `parquet:"zstd,zstd"`
		Signed int64  `parquet:"signed,brotli"`
	}
	var buf bytes.Buffer
	w := pq.NewGenericWriter[row](&buf)
	numbers := []uint64{0, 7, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for _, n := range numbers {
		if _, err := w.Write([]row{{n, n, n, n, n, n, int64(n)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := open(t, buf.Bytes()).Text(func(int) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range numbers {
		cells, err := text.Next()
		if err != nil {
			t.Fatal(err)
		}
		for i, cell := range cells {
			want := strconv.FormatUint(n, 10)
			if i == len(cells)-1 {
				want = strconv.FormatInt(int64(n), 10)
			}
			if cell != want {
				t.Errorf("column %d of %d is %s, expected %s", i, n, cell, want)
			}
		}
	}
}

func TestRefusesOtherFiles(t *testing.T) {
	b := write(t, rows(50), func(r plainRow) snappyRow { return snappyRow(r) })
	footer := int(b[len(b)-8]) | int(b[len(b)-7])<<8
	for _, c := range []struct {
		name string
		b    []byte
		kind error
	}{
		{"empty", nil, ErrNotParquet},
		{"text", []byte("dp_rank,stage,step\n0,0,0\n"), ErrNotParquet},
		{"magic only", []byte("PAR1"), input.ErrTruncated},
		{"cut", b[:len(b)-20], input.ErrTruncated},
		{"footer too long", append(bytes.Clone(b[:len(b)-8]), 0xff, 0xff, 0xff, 0x7f, 'P', 'A', 'R', '1'), input.ErrTooLarge},
		{"beheaded", append([]byte("PAR1"), b[len(b)-8-footer:]...), input.ErrTruncated},
	} {
		if _, err := opened(c.b, mostRows); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, expected kind %v", c.name, err, c.kind)
		}
	}
	if _, err := opened(b, 49); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("50 rows of at most 49: %v", err)
	}
}

// readAll reads every column, whatever comes of it.
func readAll(b []byte) error {
	f, err := opened(b, mostRows)
	if err != nil {
		return err
	}
	for i := range f.Columns() {
		if _, e := f.Read(i); e != nil {
			err = e
		}
	}
	return err
}

// A file with changed bytes is refused or read, without a panic and without
// more memory than its rows need.
func TestDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	in := rows(200)
	files := [][]byte{
		write(t, in, func(r plainRow) plainRow { return r }),
		write(t, in, func(r plainRow) snappyRow { return snappyRow(r) }, pq.DataPageVersion(2)),
		write(t, in, func(r plainRow) gzipRow { return gzipRow(r) }, pq.DataPageVersion(1)),
		write(t, in, func(r plainRow) zstdRow { return zstdRow(r) }),
	}
	refused := 0
	for i := range 4000 {
		b := bytes.Clone(files[i%len(files)])
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(b))
			if i%2 == 0 { // headers and footers are where sizes are
				at = len(b) - 1 - rng.IntN(min(len(b), 900))
			}
			b[at] = byte(rng.IntN(256))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readAll(b)
		runtime.ReadMemStats(&after)
		if err != nil {
			refused++
		}
		// 2^20 rows, the limit, are 8 MiB in each of seven columns; a page of strings is at most 64 MiB
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 512<<20 {
			t.Errorf("change %d: %d bytes allocated for a file of %d (%v)", i, grown, len(b), err)
		}
	}
	if refused < 1000 {
		t.Errorf("only %d of 4000 damaged files were refused", refused)
	}
}

func FuzzRead(f *testing.F) {
	in := rows(40)
	f.Add(write(f, in, func(r plainRow) plainRow { return r }))
	f.Add(write(f, in, func(r plainRow) snappyRow { return snappyRow(r) }, pq.DataPageVersion(1)))
	f.Add(write(f, in, func(r plainRow) gzipRow { return gzipRow(r) }, pq.DataPageVersion(2)))
	f.Add(write(f, in, func(r plainRow) zstdRow { return zstdRow(r) }))
	if b, err := os.ReadFile("../../fixtures/optrace/trace-heavy-stage.parquet"); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readAll(b); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}

// largePages is a file of one page per column: positions in a dictionary, in long runs and in none, of which the second
// column lacks some.
func largePages(t *testing.T, rows int) []byte {
	t.Helper()
	type row struct {
		A int64  `parquet:"a,dict,zstd"`
		B *int64 `parquet:"b,dict,zstd"`
		C int64  `parquet:"c,plain,zstd"`
	}
	var b bytes.Buffer
	w := pq.NewGenericWriter[row](&b, pq.PageBufferSize(1<<30))
	all := make([]row, rows)
	for i := range all {
		a, v := largeAt(i)
		all[i] = row{A: a, B: v}
	}
	if _, err := w.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func largeAt(i int) (a int64, b *int64) {
	a = int64(i / 150_000)
	if i > 300_000 {
		a = int64(i * i % 37)
	}
	if i%11 > 0 && i%200_000 < 100_000 {
		v := int64(i % 5)
		b = &v
	}
	return a, b
}

// TestLargePages: positions in a dictionary are decoded as they are asked for, and are those of a page that is decoded whole.
func TestLargePages(t *testing.T) {
	const rows = 700_001
	for _, n := range []int{1, 1000, rows} {
		f := open(t, largePages(t, rows))
		for column := range 2 {
			c, err := f.Cursor(column)
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < rows; {
				r, err := c.Next(n)
				if err != nil {
					t.Fatal(err)
				}
				next := 0
				for i := range r.Rows {
					a, b := largeAt(at + i)
					if column == 0 {
						b = &a
					}
					if b == nil {
						continue
					}
					if r.Row(next) != i || r.Values[next] != *b {
						t.Fatalf("row %d of column %d: %d in row %d, expected %d", at+i, column, r.Values[next], at+r.Row(next), *b)
					}
					next++
				}
				if next != len(r.Values) {
					t.Fatalf("%d values more from row %d on", len(r.Values)-next, at)
				}
				at += r.Rows
			}
			if _, err := c.Next(1); err != io.EOF {
				t.Errorf("after the last: %v", err)
			}
		}
	}
}

// TestHeld: pages may not take more than is allowed; what is decoded as it is asked for counts little.
func TestHeld(t *testing.T) {
	const rows = 1 << 20
	b := largePages(t, rows)
	for held, columns := range map[int64]int{1 << 19: 0, 4 << 20: 2, 16 << 20: 3} {
		f, err := Open(Input{bytes.NewReader(b), int64(len(b)), "t.parquet"}, Limits{Footer: 1 << 20, Window: 64 << 20, Held: held})
		if err == nil {
			err = f.Check(rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		for column := range 3 {
			c, err := f.Cursor(column)
			if err == nil {
				_, err = c.Next(1)
			}
			if want := column < columns; (err == nil) != want || err != nil && !errors.Is(err, input.ErrTooLarge) {
				t.Errorf("%d bytes, column %d: %v", held, column, err)
			}
		}
	}
}
