package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// scenario is a folder of the generated data: what each rank logged and ran, and which
// pairs are true.
type scenario struct {
	name   string
	ranks  []rank
	groups [][]align.Member // the sides of each communicator, by its id
}

type rank struct {
	process align.Process
	lines   []line          // of each call
	corr    []int64         // of each kernel
	truth   map[[2]int]bool // kernel, call
	pairs   int             // true ones that both sides still have
}

type line struct {
	file string
	line int64
}

// kernelsOf reads NCCL's kernels of an export in the order of their starts, by globalPid, each with its
// correlation id.
func kernelsOf(t testing.TB, path string) (map[int64][]comms.Kernel, map[int64][]int64) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var utc int64
	if hasTable(t, db, "TARGET_INFO_SESSION_START_TIME") {
		if err := db.QueryRow("select utcEpochNs from TARGET_INFO_SESSION_START_TIME").Scan(&utc); err != nil {
			t.Fatal(err)
		}
	}
	launches := launchesOf(t, db)
	rows, err := db.Query(`select k.start, k.end, k.streamId, k.correlationId, k.globalPid, k.gridX, k.blockX, s.value
		from CUPTI_ACTIVITY_KIND_KERNEL k join StringIds s on s.id = k.demangledName order by k.start`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	kernels, corr := map[int64][]comms.Kernel{}, map[int64][]int64{}
	for rows.Next() {
		var k comms.Kernel
		var id, process int64
		var name string
		if err := rows.Scan(&k.Start, &k.End, &k.Stream, &id, &process, &k.Grid, &k.Block, &name); err != nil {
			t.Fatal(err)
		}
		var ours bool
		if k.KernelName, ours = nccl.ParseKernel(name); !ours {
			continue
		}
		k.Start, k.End = k.Start+utc, k.End+utc
		if l, ok := launches[launchKey{process, id}]; ok {
			k.Launch, k.Thread, k.HasLaunch = l.start+utc, l.thread, true
		}
		kernels[process] = append(kernels[process], k)
		corr[process] = append(corr[process], id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return kernels, corr
}

type launchKey struct{ process, correlation int64 }

type launch struct{ start, thread int64 }

// launchesOf reads the calls of the CUDA runtime, where there are any.
func launchesOf(t testing.TB, db *sql.DB) map[launchKey]launch {
	if !hasTable(t, db, "CUPTI_ACTIVITY_KIND_RUNTIME") {
		return nil
	}
	rows, err := db.Query("select start, correlationId, globalTid from CUPTI_ACTIVITY_KIND_RUNTIME")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[launchKey]launch{}
	for rows.Next() {
		var start, id, tid int64
		if err := rows.Scan(&start, &id, &tid); err != nil {
			t.Fatal(err)
		}
		const threads = 1<<24 - 1
		all[launchKey{tid &^ threads, id}] = launch{start, tid & threads}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func hasTable(t testing.TB, db *sql.DB, name string) bool {
	var n int
	if err := db.QueryRow("select count(*) from sqlite_master where name = ?", name).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// loadScenario reads a folder.
func loadScenario(t testing.TB, dir string) scenario {
	t.Helper()
	truth, err := readTruth(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := readLogs(t, dir)
	s := scenario{name: filepath.Base(dir)}
	exports := map[string]map[int64][]comms.Kernel{}
	corrs := map[string]map[int64][]int64{}
	var clocks []string // a file per node, each with a clock of its own
	byID := map[uint64][]align.Member{}
	for k, r := range truth.Ranks {
		for i := range log.Groups {
			c := &log.Groups[i]
			if p := log.Processes[c.Process]; p.PID == r.PID && p.Host == r.Host && c.ID != 0 {
				byID[c.ID] = append(byID[c.ID], align.Member{Process: k, Comm: i})
			}
		}
		if exports[r.Sqlite] == nil {
			clocks = append(clocks, r.Sqlite)
			exports[r.Sqlite], corrs[r.Sqlite] = kernelsOf(t, filepath.Join(dir, r.Sqlite))
		}
		out := rank{truth: map[[2]int]bool{}, corr: corrs[r.Sqlite][r.GlobalPid]}
		out.process.Groups = log.Groups
		out.process.Kernels = exports[r.Sqlite][r.GlobalPid]
		out.process.Clock = slices.Index(clocks, r.Sqlite)
		for i := range log.Calls {
			c := &log.Calls[i]
			if p := log.Processes[c.Process]; p.PID == r.PID && p.Host == r.Host {
				out.process.Calls = append(out.process.Calls, c)
				out.lines = append(out.lines, line{filepath.Base(log.Sources[c.Source].Path), c.Line})
			}
		}
		out.learnTruth(truth, fmt.Sprint(r.Rank), r.Log)
		s.ranks = append(s.ranks, out)
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		s.groups = append(s.groups, byID[id])
	}
	return s
}

func readLogs(t testing.TB, dir string) *comms.Record {
	b := nccllog.NewBuilder(ingest.Limits{})
	files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, f := range files {
		src, err := ingest.Open(f, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Read(src, f); err != nil {
			t.Fatal(err)
		}
		src.Close()
	}
	return b.Comm()
}

// learnTruth sets the true pairs of a rank: of a kernel that is in the export, every call whose
// line is whole.
func (r *rank) learnTruth(f *truthFile, id, log string) {
	column := func(names []string, want string) int {
		for i, n := range names {
			if n == want {
				return i
			}
		}
		return -1
	}
	present, calls := column(f.KernelFields, "present"), column(f.KernelFields, "calls")
	lost := column(f.CallFields, "lost")
	kernelAt, callAt := map[int64]int{}, map[int64]int{}
	for k, c := range r.corr {
		kernelAt[c] = k
	}
	for i, l := range r.lines {
		callAt[l.line] = i
	}
	for _, k := range f.Kernels[id] {
		if k[present].(float64) != 1 {
			continue
		}
		for _, i := range k[calls].([]any) {
			call := f.Calls[id][int(i.(float64))]
			number, why := int64(call[0].(float64)), call[lost].(string)
			if number == 0 || why != "" && why != "orphan" {
				continue
			}
			kernel, ok := kernelAt[int64(k[0].(float64))]
			line, ok2 := callAt[number]
			if ok && ok2 {
				r.truth[[2]int{kernel, line}] = true
			}
			r.pairs++
		}
	}
}

// scenarios loads all folders, or those named.
func scenarios(t testing.TB, names ...string) []scenario {
	dirs, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl"), "dev*", "*"))
	var list []scenario
	for _, d := range dirs {
		if len(names) == 0 || strings.Contains(strings.Join(names, " ")+" ", filepath.Base(d)+" ") {
			list = append(list, loadScenario(t, d))
		}
	}
	return list
}

// decodeTruth reads some of what is true of a scenario.
func decodeTruth(t testing.TB, dir string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, truthName))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
