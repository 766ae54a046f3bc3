package comm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/inspector"
	"github.com/sfstat/sfstat/trace/comms"
)

var dumpFiles = []string{"node0.cluster-pid4000.log", "node0.cluster-pid4007.log", "node1.cluster-pid4014.log", "node1.cluster-pid4021.log"}

// dumped reads the dumps of the fixture job, each line as change has it; "" drops it.
func dumped(t *testing.T, in *comms.Record, change func(n int, line string) string) *comms.Record {
	t.Helper()
	all := []*comms.Record{in}
	for _, name := range dumpFiles {
		text, err := os.ReadFile(filepath.Join("../../fixtures/comm/inspector", name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for n := range lines {
			lines[n] = change(n, lines[n])
		}
		src, err := ingest.NewSource(strings.NewReader(strings.Join(lines, "\n")), name, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := inspector.Read(src, name, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return comms.Join(all...)
}

func same(_ int, line string) string { return line }

// brief is a line as it is without NCCL_INSPECTOR_DUMP_VERBOSE.
func brief(_ int, line string) string {
	if i := strings.Index(line, `,"event_trace_ts"`); i > 0 {
		return line[:i] + "}}"
	}
	return line
}

// Dumps with the times of kernels tell what logs and exports together do: communicators, volumes, clocks, who arrives last.
func TestDumps(t *testing.T) {
	want := analyze(t, fixture(t, logFiles, exportFiles), Options{})
	for name, in := range map[string]*comms.Record{"alone": dumped(t, &comms.Record{}, same), "beside logs": dumped(t, fixture(t, logFiles, nil), same)} {
		r := analyze(t, in, Options{})
		if len(r.Communicators) != 5 || len(r.Collectives) != len(want.Collectives) || len(r.Matches) != 132 || r.Timeless || r.Sampled || r.Leftover != 0 {
			t.Fatalf("%s: %d communicators, %d collectives, %d matches", name, len(r.Communicators), len(r.Collectives), len(r.Matches))
		}
		if got := r.OpCounts; got[want.Collectives[0].Op] != 132 {
			t.Errorf("%s: calls %v", name, got)
		}
		late, _ := r.Latecomers()
		if len(late) != 1 || r.Ranks[late[0].Rank].Rank != 2 {
			t.Errorf("%s: latecomers %+v", name, late)
		}
		for i := range r.Ranks {
			if r.Ranks[i].Log != None && r.Ranks[i].Device != int64(i%2) {
				t.Errorf("%s: device %d", name, r.Ranks[i].Device)
			}
			if r.Ranks[i].Join != ByNumber || r.Ranks[i].PID != want.Ranks[i].PID || r.Ranks[i].Certain != 33 {
				t.Errorf("%s: rank %+v", name, r.Ranks[i])
			}
		}
		for _, c := range r.Clocks {
			if off := c.Offset - int64(c.Rank/2)*2_400_000; !c.Known || max(off, -off) > 2_000 {
				t.Errorf("%s: clock %+v", name, c)
			}
		}
	}
}

// Durations alone tell who arrived last at what, and how fast data moved; not what a rank did before.
func TestDumpsWithoutTimes(t *testing.T) {
	want := analyze(t, fixture(t, logFiles, exportFiles), Options{})
	r := analyze(t, dumped(t, &comms.Record{}, brief), Options{})
	if !r.Timeless || len(r.Collectives) != len(want.Collectives) || len(r.Clocks) != 0 || len(r.Suspects()) != 0 {
		t.Fatalf("%+v, %d collectives, %d clocks, suspects %+v", r.Timeless, len(r.Collectives), len(r.Clocks), r.Suspects())
	}
	got, _ := r.Lateness()
	all, _ := want.Lateness()
	for i := range got {
		if got[i].Of != all[i].Of || i == 2 && got[i].Last != all[i].Last || max(got[i].Caused-all[i].Caused, all[i].Caused-got[i].Caused) > int64(all[i].Of)*2_000 {
			t.Errorf("rank %d: %+v, want about %+v", i, got[i], all[i])
		}
	}
	buses := func(r *Result) map[string]float64 {
		list := map[string]float64{}
		for _, c := range r.Speed.Cells {
			list[fmt.Sprint(r.Communicators[c.Subject].ID, " ", c.Op, " ", c.Class)] = c.Bus
		}
		return list
	}
	found, right := buses(r), buses(want)
	for key, bus := range right {
		if ratio := found[key] / bus; bus > 1 && !(ratio > 0.95 && ratio < 1.05) {
			t.Errorf("%s: %v GB/s, want %v", key, found[key], bus)
		}
	}
	if len(found) != len(right) || len(right) == 0 {
		t.Errorf("measures %v, want %v", found, right)
	}
}

// A dump that lacks operations says so, and nobody is blamed for time before one.
func TestDumpsSampled(t *testing.T) {
	r := analyze(t, dumped(t, fixture(t, logFiles, nil), func(n int, line string) string {
		if n%3 == 1 {
			return ""
		}
		return line
	}), Options{})
	if !r.Sampled || len(r.Suspects()) != 0 || len(r.Matches) == 0 || !noted(r, NoteDumpsSampled) {
		t.Errorf("%t, %d matches, %v", r.Sampled, len(r.Matches), r.Notes)
	}
	for _, m := range r.Matches {
		c := &r.Calls[m.Call]
		for i := range r.Recorded.Calls {
			x := &r.Recorded.Calls[i]
			if x.Process == r.Ranks[m.Rank].Profile && x.Kernel == m.Kernel && (c.Bytes != x.Bytes || c.Launch != x.OpSeq) {
				t.Errorf("call %+v is tied to record %+v", c, x)
			}
		}
	}
}

// Exports have all kernels: dumps beside them are left out, and that is said.
func TestDumpsBesideExports(t *testing.T) {
	r := analyze(t, dumped(t, fixture(t, logFiles, exportFiles), same), Options{})
	if r.Sampled || len(r.Matches) != 132 || !noted(r, NoteDumpsUnused) {
		t.Errorf("%+v", r.Notes)
	}
}

func noted(r *Result, kind NoteKind) bool {
	return slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Kind == kind })
}
