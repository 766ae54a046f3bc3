package export_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
	"github.com/sfstat/sfstat/trace/input"
)

// small is an export with a row in every table.
func small(age nsighttest.Age) nsighttest.Export {
	return nsighttest.Export{Age: age, Host: "n0", Epoch: 1766084870252528232, Processes: []nsighttest.Process{{
		PID: 4711, Name: "python3", Device: 0, GPU: 3,
		Domains: map[int64]string{1: "NCCL"},
		Ranges: []nsighttest.Range{
			{Start: 100, End: 900, Text: "iteration 1"},
			{Start: 110, End: 400, Text: "forward", Registered: true},
			{Start: 500, Text: "open", Type: 60},
		},
		Calls:  []nsighttest.Call{{Start: 120, End: 130, Correlation: 7, Name: "cudaLaunchKernel_v7000"}},
		Work:   []nsighttest.Work{{Start: 200, End: 300, Stream: 7, Correlation: 7, Name: "gemm(float*)"}},
		Copies: []nsighttest.Work{{Start: 310, End: 320, Stream: 7, Correlation: 8, Bytes: 4096}},
	}}}
}

func write(t testing.TB, e nsighttest.Export) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rank 0 #1?.sqlite") // a name that is no plain URI
	if err := nsighttest.Write(path, e); err != nil {
		t.Fatal(err)
	}
	return path
}

// read is everything that a file yields, in words.
func read(path string) (seen map[string]int, err error) {
	f, err := export.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	seen = make(map[string]int)
	count := func(what string) { seen[what]++ }
	s, err := f.Session()
	if s.Host != "" {
		count("host " + s.Host)
	}
	if s.Epoch != export.Absent {
		count("epoch")
	}
	return seen, errors.Join(err,
		f.Strings(func(int64, string) error { count("string"); return nil }),
		f.Devices(func(d export.Device) error { count("device"); return nil }),
		f.Domains(func(e *export.Event) error { count("domain " + e.Text); return nil }),
		f.Events(func(e *export.Event) error {
			if e.Type != export.DomainCreate {
				count("event")
			}
			if e.End == export.Absent {
				count("without end")
			}
			return nil
		}),
		f.Timeline(export.Sorted, export.Sink{
			Call: func(*export.Call) error { count("call"); return nil },
			Activity: func(a *export.Activity) error {
				count([]string{"kernel", "copy", "fill", "graph"}[a.Kind])
				return nil
			}}))
}

func TestAges(t *testing.T) {
	full := map[string]int{"host n0": 1, "epoch": 1, "string": 3, "device": 1, "domain NCCL": 1,
		"event": 3, "without end": 2, "call": 1, "kernel": 1, "copy": 1}
	for age, want := range map[nsighttest.Age]map[string]int{
		nsighttest.Of2024: full,
		nsighttest.Of2026: full,
		nsighttest.Of2021: {"string": 2, "domain NCCL": 1, "event": 3, "without end": 2, "kernel": 1},
	} {
		e := small(age)
		got, err := read(write(t, e))
		if age == nsighttest.Of2021 {
			delete(got, "string") // the writer registers names of rows that it then leaves out
			delete(want, "string")
		} else {
			want["string"] = got["string"]
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("age %d: %v\n%s", age, err, diff)
		}
	}
}

func TestRows(t *testing.T) {
	f, err := export.Open(write(t, small(nsighttest.Of2024)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var order []string
	err = f.Timeline(export.Sorted, export.Sink{
		Call: func(c *export.Call) error {
			order = append(order, "call")
			if c.Thread.Process().PID() != 4711 || c.Correlation != 7 || c.Start != 120 {
				t.Errorf("call %+v", *c)
			}
			return nil
		},
		Activity: func(a *export.Activity) error {
			order = append(order, []string{"kernel", "copy"}[a.Kind])
			if a.Kind == export.Kernel && (a.Start != 200 || a.End != 300 || a.Stream != 7 || a.Correlation != 7 || a.Process.PID() != 4711 ||
				a.GraphNode != export.Absent || a.Name == export.Absent) {
				t.Errorf("kernel %+v", *a)
			}
			return nil
		},
	})
	if diff := cmp.Diff([]string{"call", "kernel", "copy"}, order); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestTimeline: tables that are in no order come in order, calls before what
// they launch.
func TestTimeline(t *testing.T) {
	e := small(nsighttest.Of2024)
	p := &e.Processes[0]
	p.Calls, p.Work = nil, nil
	for i := range int64(500) {
		at := i * 7919 % 500 * 1000
		p.Calls = append(p.Calls, nsighttest.Call{Start: at, End: at + 10, Correlation: at/1000 + 1, Name: "cudaLaunchKernel"})
		p.Work = append(p.Work, nsighttest.Work{Start: at + 500, End: at + 600, Correlation: at/1000 + 1, Name: "k"})
	}
	f, err := export.Open(write(t, e))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Timeline(export.AsStored, export.Sink{Call: noCall, Activity: func(*export.Activity) error { return nil }}); !errors.Is(err, export.ErrUnordered) {
		t.Errorf("as stored: %v", err)
	}
	calls, work := int64(0), int64(0)
	err = f.Timeline(export.Sorted, export.Sink{
		Call: func(c *export.Call) error {
			if calls++; c.Correlation != calls || work != calls-1 {
				t.Fatalf("call %d comes as number %d after %d kernels", c.Correlation, calls, work)
			}
			return nil
		},
		Activity: func(a *export.Activity) error {
			if a.Kind == export.Kernel {
				work++
			}
			return nil
		},
	})
	if calls != 500 || work != 500 || err != nil {
		t.Errorf("%d calls, %d kernels, %v", calls, work, err)
	}
}

func noCall(*export.Call) error { return nil }

// TestWithout leaves out one table at a time.
func TestWithout(t *testing.T) {
	for _, table := range []string{"StringIds", "PROCESSES", "TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_SYSTEM_ENV",
		"META_DATA_EXPORT", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"} {
		e := small(nsighttest.Of2024)
		e.Without = []string{table}
		if _, err := read(write(t, e)); err != nil {
			t.Errorf("without %s: %v", table, err)
		}
	}
}

func TestDamage(t *testing.T) {
	good, err := os.ReadFile(write(t, small(nsighttest.Of2024)))
	if err != nil {
		t.Fatal(err)
	}
	patch := func(at int, b ...byte) []byte {
		bad := bytes.Clone(good)
		copy(bad[at:], b)
		return bad
	}
	for _, c := range []struct {
		name  string
		data  []byte
		kind  error
		words string
	}{
		{"empty", nil, input.ErrEmpty, "empty"},
		{"text", []byte("rank,step\n0,1\n"), input.ErrFormat, "not an SQLite database"},
		{"header cut", good[:60], input.ErrTruncated, "60 bytes of an SQLite database"},
		{"half", good[:len(good)/2], input.ErrTruncated, "cut short"},
		{"last byte missing", good[:len(good)-1], input.ErrTruncated, "cut short"},
		{"page size 0", patch(16, 0, 0), input.ErrFormat, "pages of 0 bytes"},
		{"page size 3", patch(16, 0, 3), input.ErrFormat, "pages of 3 bytes"},
		{"more pages than there are", patch(28, 0x7f, 0xff, 0xff, 0xff), input.ErrTruncated, "cut short"},
		{"format of the future", patch(18, 9, 9), input.ErrFormat, "SQLite"},
		{"schema page gone", patch(100, 0xee, 0xee), input.ErrFormat, "damaged"},
		{"all but the header gone", append(bytes.Clone(good[:100]), make([]byte, len(good)-100)...), input.ErrFormat, "SQLite"},
	} {
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := read(path)
		switch {
		case !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: %v, expected %q in one line of kind %q", c.name, err, c.words, c.kind)
		case !strings.HasPrefix(err.Error(), path):
			t.Errorf("%s: %v does not say which file", c.name, err)
		}
	}
}

func TestNotAtRest(t *testing.T) {
	for _, suffix := range []string{"-wal", "-journal"} {
		path := write(t, small(nsighttest.Of2024))
		if err := os.WriteFile(path+suffix, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := read(path); !errors.Is(err, input.ErrTruncated) || !strings.Contains(err.Error(), "lies beside it") {
			t.Errorf("%s: %v", suffix, err)
		}
	}
}

// TestLeavesNoTrace reads a file in a folder that may not be written, in
// write-ahead mode, which would otherwise need files of its own beside it.
func TestLeavesNoTrace(t *testing.T) {
	path := write(t, small(nsighttest.Of2024))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[18], data[19] = 2, 2 // write-ahead mode
	dir := t.TempDir()
	path = filepath.Join(dir, "x.sqlite")
	if err := errors.Join(os.WriteFile(path, data, 0o444), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	if seen, err := read(path); err != nil || seen["kernel"] != 1 {
		t.Errorf("%v, %v", seen, err)
	}
	after, err := os.ReadFile(path)
	if entries, _ := os.ReadDir(dir); len(entries) != 1 || !bytes.Equal(after, data) || err != nil {
		t.Errorf("%d files in the folder, %v; the file is the same: %v", len(entries), err, bytes.Equal(after, data))
	}
}

func TestOtherDatabases(t *testing.T) {
	for name, statements := range map[string][]string{
		"others": {"CREATE TABLE bookmarks (id INTEGER)"},
		"a view with no end": {"CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start FROM n",
			"CREATE TABLE x (y)"},
	} {
		if _, err := read(database(t, statements...)); !errors.Is(err, input.ErrFormat) || !strings.Contains(err.Error(), "no export of Nsight Systems") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func database(t *testing.T, statements ...string) string {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestOddValues: SQLite keeps any value in any column, and a table may have
// code of its own.
func TestOddValues(t *testing.T) {
	path := database(t,
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, globalPid, demangledName, streamId AS (zeroblob(1000000000)))",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('12', 13.7, NULL, x'00'), ('twelve', 1e300, 5, 6)",
		"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value)",
		"INSERT INTO StringIds VALUES (1, CAST(x'61ff62' AS TEXT)), (2, x'c328'), (3, 17), (4, NULL)")
	f, err := export.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got [][]int64
	var texts []string
	err = errors.Join(
		f.Timeline(export.Sorted, export.Sink{Call: noCall, Activity: func(a *export.Activity) error {
			got = append(got, []int64{a.Start, a.End, int64(a.Process), a.Name, a.Stream})
			return nil
		}}),
		f.Strings(func(_ int64, s string) error { texts = append(texts, s); return nil }))
	const none = export.Absent
	want := [][]int64{{none, none, 5, 6, none}, {12, 13, none, none, none}} // without a start, first
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"a\uFFFDb", "\uFFFD(", "17", ""}, texts); diff != "" {
		t.Error(diff)
	}
}

func TestTextTooLong(t *testing.T) {
	path := database(t, "CREATE TABLE NVTX_EVENTS (start INTEGER)", "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value)",
		"INSERT INTO StringIds VALUES (1, 'fine'), (2, hex(zeroblob(1000000)))")
	if _, err := read(path); !errors.Is(err, input.ErrTooLarge) || strings.Count(err.Error(), "[StringIds#1]") != 1 {
		t.Error(err)
	}
}

// TestSharedPages makes the interior page of a table name one leaf again and
// again: without a check every level multiplies the rows.
func TestSharedPages(t *testing.T) {
	path := database(t, "PRAGMA page_size = 512", "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value)", "CREATE TABLE NVTX_EVENTS (start INTEGER)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO StringIds SELECT i, 'string ' || i FROM n")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for at := 512; at < len(data); at += 512 {
		if data[at] != 5 { // no interior page of a table
			continue
		}
		cells := int(binary.BigEndian.Uint16(data[at+3:]))
		first := at + int(binary.BigEndian.Uint16(data[at+12:]))
		for c := range cells {
			cell := at + int(binary.BigEndian.Uint16(data[at+12+2*c:]))
			copy(data[cell:cell+4], data[first:first+4])
			n++
		}
	}
	if n == 0 {
		t.Fatal("no interior page to damage")
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path); !errors.Is(err, input.ErrFormat) || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	for age := range nsighttest.Of2026 + 1 {
		data, err := os.ReadFile(write(f, small(age)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint32(0), []byte{})
		f.Add(data, uint32(4096+8), []byte{0, 0, 0, 1})
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint32, patch []byte) {
		data = bytes.Clone(data)
		if len(data) > 0 {
			copy(data[int(at)%len(data):], patch)
		}
		path := filepath.Join(t.TempDir(), "x.sqlite")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = read(path)
	})
}
