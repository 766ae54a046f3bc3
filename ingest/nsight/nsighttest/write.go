// Package nsighttest writes small exports of Nsight Systems, in the tables of
// several ages, for tests and fixtures.
package nsighttest

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// Age is a generation of the tables.
type Age uint8

const (
	Of2024 Age = iota // schema 3.16
	Of2021            // no processes, session, devices, runtime; fewer columns
	Of2026            // session clocks, NVTX event ids
)

// Export is what a file holds. Times are nanoseconds since the start of the
// session.
type Export struct {
	Age       Age
	Host      string
	Epoch     int64 // UTC nanoseconds of the start of the session
	Processes []Process
	Without   []string // tables that are left out
	PageSize  int      // of SQLite; 0 means 4096, as Nsight Systems has it
	Payloads  PayloadForm
	Warnings  []string // of the capture
}

// Process is one process of the host.
type Process struct {
	PID     int
	Name    string
	Device  int64 // CUDA index of its GPU
	GPU     int64 // of the host
	Domains map[int64]string
	Ranges  []Range
	Calls   []Call
	Work    []Work
	Copies  []Work
	Graphs  []Work // CUDA graphs that were recorded as one
}

// Range is an NVTX range; without an End it was open when the capture ended.
type Range struct {
	Start, End int64
	Text       string
	Registered bool  // the text stands in StringIds
	Thread     int   // after the main one
	Domain     int64 // 0 is the default
	Type       int   // 0 means push/pop, 59
	Payload    []Field
}

// Call is an API call.
type Call struct {
	Start, End  int64
	Thread      int
	Correlation int64
	Name        string
}

// Work is a kernel or a copy.
type Work struct {
	Start, End  int64
	Stream      int64
	Correlation int64
	Name        string
	GraphNode   int64 // 0: none
	Bytes       int64
	Grid        int // blocks; 0 means 24
}

// GlobalPID is the id by which Nsight Systems knows a process of the host.
func GlobalPID(pid int) int64 { return 0x0105<<48 | int64(pid)<<24 }

// writer collects strings and rows.
type writer struct {
	e       Export
	tx      *sql.Tx
	strings map[string]int64
	texts   []string // by id, from 1
	schemas map[schemaOf]int64
	decoded map[string]bool // tables of decoded payloads, and names that were changed for them
	events  int             // of NVTX so far
	err     error
}

// Write writes the export to a file, in place of what is there.
func Write(path string, e Export) error {
	dir, err := os.MkdirTemp("", "nsighttest-") // the path itself may be more than the driver takes for a name
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "export.sqlite")
	if err := write(made, e); err != nil {
		return err
	}
	data, err := os.ReadFile(made)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func write(path string, e Export) (err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	size := e.PageSize
	if size == 0 {
		size = 4096
	}
	if _, err := db.Exec(fmt.Sprintf("PRAGMA page_size = %d; PRAGMA journal_mode = off", size)); err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	w := &writer{e: e, tx: tx, strings: make(map[string]int64), schemas: make(map[schemaOf]int64), decoded: make(map[string]bool)}
	w.create()
	w.session()
	for _, p := range e.Processes {
		w.process(p)
	}
	for i, text := range w.texts {
		w.insert("StringIds", "id", i+1, "value", text)
	}
	if w.err != nil {
		return errors.Join(w.err, tx.Rollback())
	}
	return tx.Commit()
}

func (w *writer) text(s string) int64 {
	if _, ok := w.strings[s]; !ok {
		w.texts = append(w.texts, s)
		w.strings[s] = int64(len(w.texts))
	}
	return w.strings[s]
}

// insert adds a row: columns and values by turns.
func (w *writer) insert(table string, pairs ...any) {
	if w.err != nil || slices.Contains(w.e.Without, table) {
		return
	}
	have, ok := schema(w.e.Age)[table]
	if !ok {
		return
	}
	var names []string
	var values []any
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i].(string)
		if strings.Contains(have+",", " "+name+" ") {
			names, values = append(names, "["+name+"]"), append(values, pairs[i+1])
		}
	}
	marks := strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")
	_, w.err = w.tx.Exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ","), marks), values...)
}

func (w *writer) create() {
	all := schema(w.e.Age)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "NVTX_PAYLOAD") && !w.e.Payloads.binary() && !w.e.Payloads.decoded() || lazily[name] && !w.e.Payloads.decoded() {
			continue // tables are made when there is something to put in them
		}
		if w.err == nil && !slices.Contains(w.e.Without, name) {
			_, w.err = w.tx.Exec("CREATE TABLE " + name + " (" + all[name] + ")")
		}
	}
}

func (w *writer) session() {
	w.insert("META_DATA_EXPORT", "name", "EXPORT_SCHEMA_VERSION", "value", map[Age]string{Of2024: "3.16.1", Of2026: "3.25.0"}[w.e.Age])
	w.insert("TARGET_INFO_SESSION_START_TIME", "utcEpochNs", w.e.Epoch)
	if w.e.Host != "" {
		w.insert("TARGET_INFO_SYSTEM_ENV", "globalVid", 1, "devStateName", "CLI", "name", "Hostname", "nameEnum", 200, "value", w.e.Host)
	}
	w.insert("DIAGNOSTIC_EVENT", "timestamp", 1, "timestampType", 1, "source", 1, "severity", 1, "text", "NVTX injection initialized successfully")
	for _, text := range w.e.Warnings {
		w.insert("DIAGNOSTIC_EVENT", "timestamp", 1, "timestampType", 1, "source", 1, "severity", 2, "text", text)
	}
}

func (w *writer) process(p Process) {
	global := GlobalPID(p.PID)
	w.insert("PROCESSES", "globalPid", global, "pid", p.PID, "name", p.Name)
	if len(p.Work) > 0 {
		w.insert("TARGET_INFO_CUDA_DEVICE", "gpuId", p.GPU, "cudaId", p.Device, "pid", p.PID, "uuid", "", "numMultiprocessors", 108)
	}
	for _, id := range slices.Sorted(maps.Keys(p.Domains)) {
		w.events++
		w.insert("NVTX_EVENTS", "start", 0, "eventType", 75, "text", p.Domains[id], "globalTid", global|int64(p.PID), "domainId", id, "eventId", w.events)
	}
	for _, r := range p.Ranges {
		var text, textID, end any = r.Text, nil, r.End
		if r.Registered {
			text, textID = nil, w.text(r.Text)
		}
		if r.End == 0 {
			end = nil
		}
		kind := r.Type
		if kind == 0 {
			kind = 59
		}
		w.events++
		w.decode(r, p.PID)
		w.insert("NVTX_EVENTS", "start", r.Start, "end", end, "eventType", kind, "globalTid", global|int64(p.PID+r.Thread),
			"text", text, "textId", textID, "domainId", r.Domain, "eventId", w.events, "jsonText", w.json(r), "binaryData", w.binary(r))
	}
	for _, c := range p.Calls {
		w.insert("CUPTI_ACTIVITY_KIND_RUNTIME", "start", c.Start, "end", c.End, "eventClass", 0, "globalTid", global|int64(p.PID+c.Thread),
			"correlationId", c.Correlation, "nameId", w.text(c.Name), "returnValue", 0)
	}
	w.work("CUPTI_ACTIVITY_KIND_KERNEL", p, p.Work)
	w.work("CUPTI_ACTIVITY_KIND_MEMCPY", p, p.Copies)
	w.work("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", p, p.Graphs)
}

func (w *writer) work(table string, p Process, all []Work) {
	for _, k := range all {
		var node any
		if k.GraphNode != 0 {
			node = k.GraphNode
		}
		short, _, _ := strings.Cut(k.Name, "(")
		grid := k.Grid
		if grid == 0 {
			grid = 24
		}
		w.insert(table, "start", k.Start, "end", k.End, "deviceId", p.Device, "contextId", 1, "streamId", k.Stream,
			"correlationId", k.Correlation, "globalPid", GlobalPID(p.PID), "demangledName", w.text(k.Name), "shortName", w.text(short),
			"gridX", grid, "blockX", 256, "bytes", k.Bytes, "graphNodeId", node)
	}
}
