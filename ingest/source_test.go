package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/input"
)

// gzipped is data as one gzip member.
func gzipped(t testing.TB, data string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// zstded is data as one zstd frame.
func zstded(t testing.TB, data string, o ...zstd.EOption) string {
	t.Helper()
	w, err := zstd.NewWriter(nil, o...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(data), nil))
}

// text is n bytes of lines that compress a little.
func text(n int) string {
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%d,", rng.Int64N(1e9))
		if rng.IntN(50) == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()[:n]
}

func TestSource(t *testing.T) {
	long := text(1 << 20)
	for _, want := range []string{"", "x", "ab", "abc", "hello\n", long} {
		const mark = "\xEF\xBB\xBF"
		for _, tt := range []struct {
			name, stored string
			comp         Compression
		}{
			{"plain", want, Plain},
			{"plain with mark", mark + want, Plain},
			{"gzip", gzipped(t, want), Gzip},
			{"gzip with mark", gzipped(t, mark+want), Gzip},
			{"gzip in two members", gzipped(t, want[:len(want)/2]) + gzipped(t, want[len(want)/2:]), Gzip},
			{"zstd", zstded(t, want, zstd.WithZeroFrames(true)), Zstd},
			{"zstd in two frames", zstded(t, want[:len(want)/2], zstd.WithZeroFrames(true)) + zstded(t, want[len(want)/2:], zstd.WithZeroFrames(true)), Zstd},
			{"zstd after a skippable frame", "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstded(t, want, zstd.WithZeroFrames(true)), Zstd},
		} {
			name := fmt.Sprintf("%d bytes, %s", len(want), tt.name)
			s, err := NewSource(iotest.HalfReader(strings.NewReader(tt.stored)), "x", Limits{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, n := range []int{0, 2, 5, 3, 200_000} { // a growing and a shrinking peek
				got, err := s.Peek(n)
				if string(got) != want[:min(n, len(want))] || n > len(want) && err != io.EOF || n <= len(want) && err != nil {
					t.Errorf("%s: Peek(%d) = %d bytes, %v", name, n, len(got), err)
				}
			}
			got, err := io.ReadAll(s)
			if err != nil || string(got) != want {
				t.Errorf("%s: read %d bytes, %v", name, len(got), err)
			}
			if s.Compression() != tt.comp {
				t.Errorf("%s: taken for %v", name, s.Compression())
			}
			if s.StoredBytes() != int64(len(tt.stored)) {
				t.Errorf("%s: consumed %d of %d bytes", name, s.StoredBytes(), len(tt.stored))
			}
			for range 2 {
				if err := s.Close(); err != nil {
					t.Errorf("%s: Close: %v", name, err)
				}
			}
		}
	}
}

// TestSourceCut cuts compressed inputs at every byte: what could be
// decompressed comes, then the error says that the input is cut.
func TestSourceCut(t *testing.T) {
	want := text(2000)
	for comp, stored := range map[Compression]string{Gzip: gzipped(t, want), Zstd: zstded(t, want)} {
		for n := 4; n < len(stored); n++ {
			s, err := NewSource(strings.NewReader(stored[:n]), "x", Limits{})
			var got []byte
			if err == nil {
				got, err = io.ReadAll(s)
				s.Close()
			}
			if !errors.Is(err, input.ErrTruncated) || !strings.HasPrefix(err.Error(), "x") {
				t.Fatalf("%v, first %d of %d bytes: %v", comp, n, len(stored), err)
			}
			if !strings.HasPrefix(want, string(got)) {
				t.Fatalf("%v, first %d bytes: other data", comp, n)
			}
		}
	}
	if s, err := NewSource(strings.NewReader(gzipped(t, want)[:len(gzipped(t, want))-8]), "x", Limits{}); err != nil {
		t.Error(err)
	} else if got, _ := io.ReadAll(s); string(got) != want {
		t.Errorf("gzip without its trailer: %d bytes, want all %d", len(got), len(want))
	}
}

// spread puts n spaces after every byte.
func spread(s string, n int) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		b.WriteString(strings.Repeat(" ", n))
	}
	return b.String()
}

// endless repeats a block and counts what was asked of it; it gives up when
// nobody stops reading.
type endless struct {
	block string
	at    int
	n     int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n > 1<<30 {
		return 0, errors.New("nobody stopped reading")
	}
	n := copy(p, e.block[e.at:])
	e.at = (e.at + n) % len(e.block)
	e.n += int64(n)
	return n, nil
}

// TestSourceHostile: bombs and broken data are refused in one line, early and
// in little memory.
func TestSourceHostile(t *testing.T) {
	zeros := strings.Repeat("\x00", 4<<20)
	broken := []byte(gzipped(t, text(10_000)))
	broken[len(broken)/2] ^= 0xff
	sum := []byte(gzipped(t, "hello"))
	sum[len(sum)-8] ^= 1
	brokenZst := []byte(zstded(t, text(10_000)))
	brokenZst[len(brokenZst)/2] ^= 0xff
	tests := []struct {
		name string
		in   io.Reader
		kind error
		says string
	}{
		{"gzip bomb", &endless{block: gzipped(t, zeros)}, input.ErrTooLarge, "decompression bomb"},
		{"zstd bomb", &endless{block: zstded(t, zeros)}, input.ErrTooLarge, "decompression bomb"},
		{"zstd with a window of 2 GiB", strings.NewReader("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"), input.ErrTooLarge, "window of more than 128 MiB"},
		{"zstd with a window of 3.75 TiB", strings.NewReader("\x28\xb5\x2f\xfd\x00\xff\x01\x00\x00"), input.ErrTooLarge, "window of more than 128 MiB"},
		{"zstd with a dictionary", strings.NewReader("\x28\xb5\x2f\xfd\x21\x07\x00\x01\x00\x00"), input.ErrFormat, "dictionary"},
		{"broken gzip", bytes.NewReader(broken), input.ErrFormat, "not valid gzip"},
		{"gzip with another sum", bytes.NewReader(sum), input.ErrFormat, "not valid gzip"},
		{"gzip with something after it", strings.NewReader(gzipped(t, "hello") + "rubbish rubbish"), input.ErrFormat, "not valid gzip"},
		{"broken zstd", bytes.NewReader(brokenZst), input.ErrFormat, "not valid zstd"},
		{"failing disk", io.MultiReader(strings.NewReader(gzipped(t, text(1<<20))[:1000]), iotest.ErrReader(errors.New("input/output error"))), nil, "input/output error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := NewSource(tt.in, "f.gz", Limits{})
			n := int64(0)
			if err == nil {
				n, err = io.Copy(io.Discard, s)
				s.Close()
			}
			runtime.ReadMemStats(&after)
			var placed *input.Error
			if !errors.As(err, &placed) || placed.Pos.File != "f.gz" || tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Fatalf("error %v, want %v", err, tt.kind)
			}
			if !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			if n > ratioFree+1<<20 {
				t.Errorf("%d bytes came before the refusal", n)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 40<<20 {
				t.Errorf("%d MiB allocated", used>>20)
			}
		})
	}
}

// TestSourceRatio: a small input may compress without bound, a large one
// within the ratio is read.
func TestSourceRatio(t *testing.T) {
	for name, stored := range map[string]string{
		"60 MiB of zeros":  strings.Repeat(gzipped(t, strings.Repeat("\x00", 4<<20)), 15),
		"80 MiB, 100-fold": strings.Repeat(gzipped(t, spread(text(4<<10), 1000)), 20),
	} {
		s, err := NewSource(strings.NewReader(stored), "x", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, s)
		if err != nil {
			t.Errorf("%s, stored in %d bytes: %v after %d", name, len(stored), err, n)
		}
		s.Close()
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(path, []byte(gzipped(t, "hello")), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(s); string(got) != "hello" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if s.Size() != int64(len(gzipped(t, "hello"))) || s.Compression() != Gzip || s.Name() != path {
		t.Errorf("size %d, %v, %q", s.Size(), s.Compression(), s.Name())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
	for path, want := range map[string]string{
		dir:                          ": cannot be read: is a directory",
		filepath.Join(dir, "absent"): ": cannot be read: no such file or directory",
	} {
		if _, err := Open(path, Limits{}); err == nil || err.Error() != path+want {
			t.Errorf("open: %v, want %s%s", err, path, want)
		}
	}
}

// TestCloseEarly: a source that is closed before its end leaves no goroutine.
func TestCloseEarly(t *testing.T) {
	before := runtime.NumGoroutine()
	stored := gzipped(t, text(1<<20))
	for range 20 {
		s, err := NewSource(strings.NewReader(stored), "x", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Peek(10); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	for range 5000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

func TestLines(t *testing.T) {
	long := strings.Repeat("0123456789", lineBuffer/4)
	edge := strings.Repeat("x", lineBuffer)
	tests := []string{
		"", "a", "a\n", "a\nb", "a\nb\n", "\n", "\n\n", "a\n\nb\n", long, long + "\n", long + "\n" + long + "\nb",
		edge, edge + "\n", edge[1:] + "\n", edge[2:] + "\na\n", "a\n" + edge + "\nb", strings.Repeat(edge[5:]+"\n", 5),
	}
	for _, in := range tests {
		want := strings.Split(strings.TrimSuffix(in, "\n"), "\n")
		if in == "" {
			want = nil
		}
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(in), "halves": iotest.HalfReader(strings.NewReader(in)),
			"with the end": iotest.DataErrReader(strings.NewReader(in)), "CRLF": strings.NewReader(strings.ReplaceAll(in, "\n", "\r\n")),
		} {
			l := NewLines(r, "x", Limits{}, nil)
			var got []string
			for {
				line, err := l.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(line))
				if l.Pos() != (input.Pos{File: "x", Line: int64(len(got))}) {
					t.Fatalf("%.20q: line %d is at %v", in, len(got), l.Pos())
				}
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
				t.Errorf("%s: %.20q of %d bytes: %d lines, want %d", name, in, len(in), len(got), len(want))
			}
		}
	}
}

// TestLinesTooLong: a line without end is refused where the limit is, however
// long it goes on.
func TestLinesTooLong(t *testing.T) {
	for _, limit := range []int64{10, 1000, lineBuffer, 3 * lineBuffer} {
		endless := &endless{block: strings.Repeat("x", 1000)}
		l := NewLines(io.MultiReader(strings.NewReader("first\n"), endless), "big.jsonl", Limits{Line: limit}, nil)
		if line, err := l.Next(); string(line) != "first" || err != nil {
			t.Fatalf("first line %q, %v", line, err)
		}
		_, err := l.Next()
		if limit < lineBuffer { // the line must end to be measured
			l = NewLines(strings.NewReader("first\n"+strings.Repeat("x", int(limit)+1)+"\n"), "big.jsonl", Limits{Line: limit}, nil)
			l.Next()
			_, err = l.Next()
		} else if endless.n > limit+2*lineBuffer {
			t.Errorf("limit %d: %d bytes were read", limit, endless.n)
		}
		if want := fmt.Sprintf("big.jsonl:2: a line of more than %d bytes", limit); !errors.Is(err, input.ErrTooLarge) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, again := l.Next(); again != err {
			t.Errorf("after the refusal: %v", again)
		}
	}
}

// FuzzSource: no input makes opening panic, and errors name the file.
func FuzzSource(f *testing.F) {
	for _, s := range []string{"", "hello", "\x1f\x8b\x08", "\x28\xb5\x2f\xfd", gzipped(f, "hello"), zstded(f, "hello"), "\xEF\xBB\xBFx"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := NewSource(bytes.NewReader(data), "x", Limits{Window: 1 << 20})
		if err == nil {
			s.Peek(100)
			_, err = io.Copy(io.Discard, s)
			s.Close()
		}
		if b := bug.PanicOf(err); b != nil {
			t.Errorf("%v\n%s", b, b.Stack)
		}
		var placed *input.Error
		if err != nil && (!errors.As(err, &placed) || placed.Pos.File != "x") {
			t.Fatalf("error without the file: %v", err)
		}
	})
}

// failing panics where the data ends, as a decoder with a bug would.
type failing struct{ r io.Reader }

func (f failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		panic("boom")
	}
	return n, err
}

// TestDecoderPanics: decompressing goes on in a goroutine; a panic in it is an error of the file.
func TestDecoderPanics(t *testing.T) {
	packed := gzipped(t, strings.Repeat("line\n", 100_000))
	s, err := NewSource(failing{strings.NewReader(packed[:len(packed)/2])}, "a.gz", Limits{})
	if err == nil {
		_, err = io.Copy(io.Discard, s)
	}
	if err == nil || err.Error() != "a.gz: this is a bug in sfstat, please report it: boom" {
		t.Errorf("%v, expected a bug in a.gz", err)
	}
}
