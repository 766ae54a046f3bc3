package alignment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/align"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/internal/largedata"
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

type truthFile struct {
	Ranks []struct {
		Rank      int
		PID       int64
		Host      string
		Log       string
		Sqlite    string
		GlobalPid int64 `json:"global_pid"`
	}
	CallFields   []string `json:"call_fields"`
	KernelFields []string `json:"kernel_fields"`
	Calls        map[string][][]any
	Kernels      map[string][][]any
	TotalPairs   int `json:"total_pairs"`
}

// dump prints the kernels of NCCL of one export, a JSON array each.
const dump = `
import json, sqlite3, sys
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro&immutable=1", uri=True)
has = {n for (n,) in db.execute("select name from sqlite_master")}
utc = db.execute("select utcEpochNs from TARGET_INFO_SESSION_START_TIME").fetchone()[0] if "TARGET_INFO_SESSION_START_TIME" in has else 0
runtime = {}
if "CUPTI_ACTIVITY_KIND_RUNTIME" in has:
    for start, corr, tid in db.execute("select start, correlationId, globalTid from CUPTI_ACTIVITY_KIND_RUNTIME"):
        runtime[(tid & ~0xFFFFFF, corr)] = (start, tid & 0xFFFFFF)
for start, end, stream, corr, pid, grid, block, name in db.execute(
    "select k.start, k.end, k.streamId, k.correlationId, k.globalPid, k.gridX, k.blockX, s.value "
    "from CUPTI_ACTIVITY_KIND_KERNEL k join StringIds s on s.id = k.demangledName order by k.start"):
    launch, tid = runtime.get((pid, corr), (-1, 0))
    print(json.dumps([pid, corr, stream, start + utc, end + utc, launch + utc if launch >= 0 else -1, tid, grid, block, name]))
`

// kernelsOf reads an export, kernels by globalPid.
func kernelsOf(t testing.TB, path string) (map[int64][]align.Kernel, map[int64][]int64) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here, which reads the exports")
	}
	out, err := exec.Command(python, "-c", dump, path).Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	kernels, corr := map[int64][]align.Kernel{}, map[int64][]int64{}
	for text := range bytes.Lines(out) {
		var row []json.Number
		var name string
		var cells []json.RawMessage
		if err := json.Unmarshal(text, &cells); err != nil {
			t.Fatal(err)
		}
		row = make([]json.Number, 9)
		for i := range row {
			row[i] = json.Number(cells[i])
		}
		json.Unmarshal(cells[9], &name)
		v := func(i int) int64 { n, _ := row[i].Int64(); return n }
		k, ok := nccl.ParseKernel(name)
		if !ok {
			continue
		}
		kernels[v(0)] = append(kernels[v(0)], align.Kernel{KernelName: k, Stream: v(2), Start: v(3), End: v(4), Launch: v(5),
			HasLaunch: v(5) >= 0, Thread: v(6), Grid: int32(v(7)), Block: int32(v(8))})
		corr[v(0)] = append(corr[v(0)], v(1))
	}
	return kernels, corr
}

// loadScenario reads a folder.
func loadScenario(t testing.TB, dir string) scenario {
	t.Helper()
	var truth truthFile
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err == nil {
		err = json.Unmarshal(text, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	log := readLogs(t, dir)
	s := scenario{name: filepath.Base(dir)}
	exports := map[string]map[int64][]align.Kernel{}
	corrs := map[string]map[int64][]int64{}
	var clocks []string // a file per node, each with a clock of its own
	byID := map[uint64][]align.Member{}
	for k, r := range truth.Ranks {
		for i := range log.Communicators {
			c := &log.Communicators[i]
			if p := log.Processes[c.Process]; p.PID == r.PID && p.Host == r.Host && c.ID != 0 {
				byID[c.ID] = append(byID[c.ID], align.Member{Process: k, Comm: i})
			}
		}
		if exports[r.Sqlite] == nil {
			clocks = append(clocks, r.Sqlite)
			exports[r.Sqlite], corrs[r.Sqlite] = kernelsOf(t, filepath.Join(dir, r.Sqlite))
		}
		out := rank{truth: map[[2]int]bool{}, corr: corrs[r.Sqlite][r.GlobalPid]}
		out.process.Kernels = exports[r.Sqlite][r.GlobalPid]
		out.process.Clock = slices.Index(clocks, r.Sqlite)
		for i := range log.Calls {
			c := &log.Calls[i]
			if p := log.Processes[c.Process]; p.PID == r.PID && p.Host == r.Host {
				out.process.Calls = append(out.process.Calls, callOf(log, c))
				out.lines = append(out.lines, line{filepath.Base(log.Files[c.File]), c.Line})
			}
		}
		out.learnTruth(&truth, fmt.Sprint(r.Rank), r.Log)
		s.ranks = append(s.ranks, out)
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		s.groups = append(s.groups, byID[id])
	}
	return s
}

func readLogs(t testing.TB, dir string) *nccllog.Log {
	b := nccllog.NewBuilder(ingest.Limits{})
	files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, f := range files {
		src, err := ingest.Open(f, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Read(src); err != nil {
			t.Fatal(err)
		}
		src.Close()
	}
	return b.Log()
}

// callOf is a logged call as the engine takes it.
func callOf(log *nccllog.Log, c *nccllog.LoggedCall) align.Call {
	call := align.Call{Op: c.Op, Datatype: c.Datatype, Reduction: c.Reduction, Count: c.Count, Ranks: c.Ranks, Comm: c.Comm,
		OpCount: c.OpCount, Stream: c.Stream, Send: c.Send, Recv: c.Recv, Root: c.Root, Thread: c.TID, Time: c.Time, HasTime: c.Clock != nccllog.NoClock}
	if u := log.TuningOf(c); u != nil {
		call.Algo, call.Protocol, call.Channels = u.Algo, u.Protocol, u.Channels
		call.NoKernel = u.Kernel == nccllog.CopyEngine
	}
	return call
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
	dirs, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl/dev"), "*"))
	var list []scenario
	for _, d := range dirs {
		if len(names) == 0 || strings.Contains(strings.Join(names, " ")+" ", filepath.Base(d)+" ") {
			list = append(list, loadScenario(t, d))
		}
	}
	return list
}
