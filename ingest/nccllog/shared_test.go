package nccllog

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/internal/largedata"
)

// readFiles puts files together.
func readFiles(t testing.TB, paths ...string) *Builder {
	t.Helper()
	b := NewBuilder(ingest.Limits{})
	for _, p := range paths {
		src, err := ingest.Open(p, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Read(src, p); err != nil {
			t.Fatal(err)
		}
		src.Close()
	}
	b.Comm()
	return b
}

// tallyOf is what is compared of a real excerpt.
type tallyOf struct {
	Lines                          int64
	Calls                          string // by operation
	Comms                          int    // that calls name
	Types                          string // datatypes, in order
	Tunings, Inits, Warns, Damaged int64
	Processes                      int
}

// The counts are those of real-logs/INDEX.md, which were made by eye: calls by
// operation, communicators, datatypes, tuning and init lines, warnings. Damaged are its cut calls,
// cut tuning lines, cut init lines, and heads without a message.
func TestRealLogs(t *testing.T) {
	want := map[string]tallyOf{
		"megatron-275":    {Lines: 5, Calls: "Broadcast 2", Comms: 2, Types: "int8", Processes: 2},
		"nccl-1029":       {Lines: 9, Inits: 4, Damaged: 1, Processes: 5},
		"nccl-1189":       {Lines: 16, Processes: 1},
		"nccl-1238":       {Lines: 5, Calls: "AllReduce 4", Comms: 1, Types: "float32", Damaged: 1, Processes: 1},
		"nccl-1453":       {Lines: 45, Tunings: 27, Damaged: 1, Processes: 2},
		"nccl-147":        {Lines: 8, Calls: "Broadcast 6", Comms: 5, Types: "int64 float16", Damaged: 2, Processes: 7},
		"nccl-1595":       {Lines: 22, Tunings: 21, Processes: 1},
		"nccl-203":        {Lines: 23, Calls: "AllReduce 7", Comms: 2, Types: "float32", Inits: 2, Damaged: 1, Processes: 2},
		"nccl-214":        {Lines: 10, Inits: 2, Warns: 4, Processes: 7},
		"nccl-2241":       {Lines: 22, Inits: 2, Processes: 2},
		"nccl-531":        {Lines: 14, Calls: "AllGather 11", Comms: 11, Types: "int8", Warns: 1, Damaged: 1, Processes: 12},
		"nccl-566":        {Lines: 17, Processes: 2},
		"nccl-584":        {Lines: 11, Calls: "Recv 1 Send 6", Comms: 2, Types: "float32", Damaged: 1, Processes: 1},
		"nccl-787":        {Lines: 16, Calls: "Recv 1 Send 1", Comms: 2, Types: "float32", Processes: 1},
		"nccl-tests-182":  {Lines: 14, Processes: 2},
		"nccl-tests-256":  {Lines: 18, Processes: 1},
		"ray-59778":       {Lines: 9, Processes: 2},
		"tinygrad-29":     {Lines: 8, Inits: 5, Processes: 5}, // one for each of five GPUs
		"torchtitan-1369": {Lines: 8, Calls: "AllGather 3 AllReduce 2 ReduceScatter 2", Comms: 2, Types: "float32", Processes: 2},
		"yolov5-2814":     {Lines: 11, Calls: "AllReduce 1 Broadcast 4", Comms: 2, Types: "uint8 int64 float32", Processes: 2},
	}
	files, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl/real-logs"), "*.log"))
	for _, f := range files {
		name := filepath.Base(f[:len(f)-len(".log")])
		t.Run(name, func(t *testing.T) {
			log := readFiles(t, f)
			if diff := cmp.Diff(want[name], tell(log)); diff != "" {
				t.Errorf("want −, got +:\n%s\n%v\n%v", diff, log.comm.Unread, log.comm.Processes)
			}
		})
	}
}

func tell(b *Builder) tallyOf {
	got := tallyOf{Lines: b.reader.Lines(), Tunings: b.kinds[logline.TuningLine], Inits: b.kinds[logline.CommLine], Warns: b.kinds[logline.WarnLine],
		Damaged: b.kinds[logline.Damaged], Processes: len(b.comm.Processes)}
	ops := map[string]int{}
	types := map[string]int{}
	comms := map[uint64]bool{}
	for _, call := range b.comm.Calls {
		ops[call.Op.String()]++
		types[call.Datatype.String()] = int(call.Datatype)
		comms[b.comm.Groups[call.Group].Handle] = true
	}
	got.Comms = len(comms)
	for i, op := range slices.Sorted(maps.Keys(ops)) {
		if i > 0 {
			got.Calls += " "
		}
		got.Calls += fmt.Sprint(op, " ", ops[op])
	}
	for i, name := range slices.SortedFunc(maps.Keys(types), func(a, b string) int { return types[a] - types[b] }) {
		if i > 0 {
			got.Types += " "
		}
		got.Types += name
	}
	return got
}

// truth is what a generated scenario says of itself.
type truth struct {
	Ranks []struct {
		Rank int
		PID  int64
		Host string
	}
	Comms []struct {
		CommID string `json:"comm_id"`
		Nranks int32
		Ptr    map[string]string
	}
	Version  string `json:"nccl_version"`
	Expected map[string]struct {
		LogCalls  map[string]int `json:"log_calls"`
		Tuning    map[string]int `json:"log_tuning_lines"`
		Duplicate map[string]int `json:"log_duplicate_lines"`
		Naive     map[string]int `json:"log_naive"` // lines that begin with an operation
	}
}

// Every call of every generated log is read and given to its process, tuning lines are
// tied, and the lines that look like calls are not taken for any.
func TestScenarios(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl/dev"), "*"))
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var want truth
			text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
			log := readFiles(t, files...)
			byRank := map[string]map[string]int{}
			tuned := map[string]map[string]int{}
			rankOf := map[string]string{}
			for _, r := range want.Ranks {
				rankOf[fmt.Sprint(r.Host, ":", r.PID)] = fmt.Sprint(r.Rank)
			}
			for _, c := range log.comm.Calls {
				p := log.comm.Processes[c.Process]
				rank := rankOf[fmt.Sprint(p.Host, ":", p.PID)]
				if byRank[rank] == nil {
					byRank[rank], tuned[rank] = map[string]int{}, map[string]int{}
				}
				byRank[rank][c.Op.String()]++
				if c.Tuning != nil {
					tuned[rank][c.Op.String()]++
				}
			}
			named := map[string]map[string]int{}
			for i := range log.comm.Processes {
				p := &log.comm.Processes[i]
				lines := map[string]int{}
				for _, m := range p.Lines {
					lines[m.Op.String()] = int(m.Total())
				}
				named[rankOf[fmt.Sprint(p.Host, ":", p.PID)]] = lines
			}
			untied := int64(0)
			for rank, e := range want.Expected {
				if strings.HasPrefix(want.Version, "2.21") { // whose tuning lines begin with a number, and are in this count all the same
					for op, n := range e.Tuning {
						e.Naive[op] -= n
					}
				}
				if diff := cmp.Diff(e.Naive, named[rank]); diff != "" {
					t.Errorf("rank %s, lines that begin with an operation, want −, got +:\n%s", rank, diff)
				}
				for op, n := range e.Duplicate {
					e.LogCalls[op] += n
				}
				if diff := cmp.Diff(e.LogCalls, byRank[rank]); diff != "" {
					t.Errorf("rank %s, want −, got +:\n%s", rank, diff)
				}
				for op, n := range e.Tuning {
					untied += int64(n - tuned[rank][op])
				}
			}
			c := &log.comm
			if lost := log.kinds[logline.Damaged]; untied != c.Untied || untied > lost { // their calls are damaged, or lost their heads
				t.Errorf("%d tuning lines without a call, %d counted, %d records are damaged", untied, c.Untied, lost)
			}
			t.Logf("%d lines, damaged %v, untied %d, orphans %d, strays %d, kinds %v", log.reader.Lines(), c.Unread, c.Untied, c.Orphans, c.Strays, log.kinds)
		})
	}
}
