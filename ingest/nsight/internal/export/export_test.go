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

// tables are those of a timeline.
var tables = []string{"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"}

// read is everything that a file yields: the rows of each table.
func read(path string) (seen map[string]int, err error) {
	f, err := export.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	seen = make(map[string]int)
	for _, table := range f.Tables() {
		row := export.Row{}
		for _, column := range f.Columns(table) {
			row[column] = new(export.Value)
		}
		if err := f.Scan(table, row, func() error { seen[table]++; return nil }); err != nil {
			return nil, err
		}
	}
	return seen, f.Timeline(tables, export.Row{"start": new(int64)}, func(int) error { return nil })
}

func TestAges(t *testing.T) {
	full := map[string]int{"StringIds": 5, "PROCESSES": 1, "TARGET_INFO_SESSION_START_TIME": 1, "TARGET_INFO_SYSTEM_ENV": 1, "TARGET_INFO_CUDA_DEVICE": 1,
		"META_DATA_EXPORT": 1, "DIAGNOSTIC_EVENT": 1, "NVTX_EVENTS": 4,
		"CUPTI_ACTIVITY_KIND_RUNTIME": 1, "CUPTI_ACTIVITY_KIND_KERNEL": 1, "CUPTI_ACTIVITY_KIND_MEMCPY": 1}
	for age, want := range map[nsighttest.Age]map[string]int{
		nsighttest.Of2024: full,
		nsighttest.Of2026: full,
		nsighttest.Of2021: {"StringIds": 5, "NVTX_EVENTS": 4, "CUPTI_ACTIVITY_KIND_KERNEL": 1},
	} {
		got, err := read(write(t, small(age)))
		delete(got, "NVTX_PAYLOAD_SCHEMAS")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("age %d: %v\n%s", age, err, diff)
		}
	}
}

// open opens an export until the test ends.
func open(t *testing.T, path string) *export.File {
	t.Helper()
	f, err := export.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestRows: what a table lacks is absent, and what is there is not.
func TestRows(t *testing.T) {
	f := open(t, write(t, small(nsighttest.Of2024)))
	var order []string
	var start, end, process, correlation, thread, node, none, alternative int64
	row := export.Row{"start": &start, "end": &end, "globalPid": &process, "globalTid": &thread, "correlationId": &correlation, "graphNodeId": &node, "no such": &none, "nothing|end|start": &alternative}
	err := f.Timeline(tables, row, func(table int) error {
		order = append(order, tables[table])
		if alternative != end {
			t.Errorf("%d is not the end, %d", alternative, end)
		}
		if none != export.Absent || node != export.Absent {
			t.Errorf("%d and %d, expected none", none, node)
		}
		switch table {
		case 0:
			if thread != 0x0105<<48|4711<<24|4711 || correlation != 7 || start != 120 || process != export.Absent {
				t.Errorf("call at %d of %x, %d", start, thread, correlation)
			}
		case 1:
			if start != 200 || end != 300 || correlation != 7 || process != 0x0105<<48|4711<<24 || thread != export.Absent {
				t.Errorf("kernel at %d to %d of %x, %d", start, end, process, correlation)
			}
		}
		return nil
	})
	if diff := cmp.Diff(tables, order); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestTimeline: tables that are in no order come in order, calls before what
// they launch, also at the same time.
func TestTimeline(t *testing.T) {
	e := small(nsighttest.Of2024)
	p := &e.Processes[0]
	p.Calls, p.Work = nil, nil
	for i := range int64(500) {
		at := i * 7919 % 500 * 1000
		p.Calls = append(p.Calls, nsighttest.Call{Start: at, End: at + 10, Correlation: at/1000 + 1, Name: "cudaLaunchKernel"})
		p.Work = append(p.Work, nsighttest.Work{Start: at, End: at + 600, Correlation: at/1000 + 1, Name: "k"})
	}
	var start, correlation, calls, work int64
	err := open(t, write(t, e)).Timeline(tables, export.Row{"start": &start, "correlationId": &correlation}, func(table int) error {
		switch table {
		case 0:
			if calls++; correlation != calls || work != calls-1 {
				t.Fatalf("call %d comes as number %d after %d kernels", correlation, calls, work)
			}
		case 1:
			work++
		}
		return nil
	})
	if calls != 500 || work != 500 || err != nil {
		t.Errorf("%d calls, %d kernels, %v", calls, work, err)
	}
}

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
		{"page size 0", patch(16, 0, 0), input.ErrFormat, "damaged"},
		{"page size 3", patch(16, 0, 3), input.ErrFormat, "damaged"},
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
	if seen, err := read(path); err != nil || seen["CUPTI_ACTIVITY_KIND_KERNEL"] != 1 {
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
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (NULL, 13.7, NULL, x'00'), (12, '13', 5, 6)",
		"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value)",
		"INSERT INTO StringIds VALUES (1, CAST(x'61ff62' AS TEXT)), (2, x'c328'), (3, 17), (4, NULL)")
	f := open(t, path)
	var start, end, process, name, stream, id int64
	var text string
	var got [][]int64
	var texts []string
	row := export.Row{"start": &start, "end": &end, "globalPid": &process, "demangledName": &name, "streamId": &stream}
	err := errors.Join(
		f.Timeline(tables, row, func(int) error {
			got = append(got, []int64{start, end, process, name, stream})
			return nil
		}),
		f.Scan("StringIds", export.Row{"id": &id, "value": &text}, func() error { texts = append(texts, text); return nil }))
	const none = export.Absent
	want := [][]int64{{none, 13, none, none, none}, {12, 13, 5, 6, none}}
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
	if _, err := read(path); !errors.Is(err, input.ErrTooLarge) || strings.Count(err.Error(), "[StringIds]") != 1 {
		t.Error(err)
	}
}

// TestEndlessTree makes the interior pages of a table a chain, in which each
// names the next as all of its children: every level multiplies the rows.
func TestEndlessTree(t *testing.T) {
	path := database(t, "PRAGMA page_size = 512", "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, name TEXT)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, 'name ' || i FROM n")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var interior []int
	leaf := 0
	for at := 512; at < len(data); at += 512 {
		switch data[at] {
		case 5:
			interior = append(interior, at)
		case 13:
			leaf = at
		}
	}
	interior = interior[:12] // SQLite refuses 20 levels
	for i, at := range interior {
		next := leaf
		if i+1 < len(interior) {
			next = interior[i+1]
		}
		binary.BigEndian.PutUint32(data[at+8:], uint32(next/512+1))
		for c := range int(binary.BigEndian.Uint16(data[at+3:])) {
			cell := at + int(binary.BigEndian.Uint16(data[at+12+2*c:]))
			binary.BigEndian.PutUint32(data[cell:], uint32(next/512+1))
		}
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, row, none := open(t, path), export.Row{"start": new(int64)}, func() error { return nil }
	for name, err := range map[string]error{
		"in the order of the file": f.Scan("CUPTI_ACTIVITY_KIND_KERNEL", row, none),
		"sorted":                   f.Timeline(tables, row, func(int) error { return nil }),
	} {
		if !errors.Is(err, input.ErrFormat) || !strings.Contains(err.Error(), "more rows than it has room for") {
			t.Errorf("%s: %v", name, err)
		}
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

// TestEndlessText: the text of a row is in pages of which each names the next, here itself: a small file holds a long text.
func TestEndlessText(t *testing.T) {
	path := database(t, "PRAGMA page_size = 512", "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER)", "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
		"INSERT INTO StringIds VALUES (1, printf('%.*c', 1000000, 'n'))")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := 512
	for !bytes.HasPrefix(data[at+4:], []byte("nnnn")) {
		at += 512
	}
	pages := uint32(at/512 + 1)
	binary.BigEndian.PutUint32(data[at:], pages)
	binary.BigEndian.PutUint32(data[28:], pages)
	if err := os.WriteFile(path, data[:at+512], 0o644); err != nil {
		t.Fatal(err)
	}
	var text string
	err = open(t, path).Scan("StringIds", export.Row{"value": &text}, func() error { return nil })
	if !errors.Is(err, input.ErrFormat) || !strings.Contains(err.Error(), "has room for") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
