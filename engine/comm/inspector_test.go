package comm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	"github.com/sfstat/sfstat/trace/comms"
)

// Dumps with the times of kernels tell what logs and exports together do: communicators, volumes, clocks, who arrives last.
func TestDumps(t *testing.T) {
	want := analyze(t, commtest.Job(t, commtest.Logs, commtest.Exports), Options{})
	for name, in := range map[string]*comms.Record{"alone": commtest.JoinDumps(t, &comms.Record{}, commtest.KeepLine), "beside logs": commtest.JoinDumps(t, commtest.Job(t, commtest.Logs, nil), commtest.KeepLine)} {
		r := analyze(t, in, Options{})
		if len(r.Communicators) != 5 || len(r.Collectives) != len(want.Collectives) || len(r.Matches) != 132 || r.Timeless || r.Sampled || r.Leftover != 0 {
			t.Fatalf("%s: %d communicators, %d collectives, %d matches", name, len(r.Communicators), len(r.Collectives), len(r.Matches))
		}
		if got := r.OpCounts; got[want.Collectives[0].Op] != 132 {
			t.Errorf("%s: calls %v", name, got)
		}
		for i := range r.Ranks {
			if r.Ranks[i].Log != comms.None && r.Ranks[i].Device != int64(i%2) {
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
	want := analyze(t, commtest.Job(t, commtest.Logs, commtest.Exports), Options{})
	r := analyze(t, commtest.JoinDumps(t, &comms.Record{}, commtest.Brief), Options{})
	if !r.Timeless || len(r.Collectives) != len(want.Collectives) || len(r.Clocks) != 0 {
		t.Fatalf("%+v, %d collectives, %d clocks", r.Timeless, len(r.Collectives), len(r.Clocks))
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
	r := analyze(t, commtest.JoinDumps(t, commtest.Job(t, commtest.Logs, nil), func(n int, line string) string {
		if n%3 == 1 {
			return ""
		}
		return line
	}), Options{})
	if !r.Sampled || len(r.Matches) == 0 || !noted(r, NoteDumpsSampled) {
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
	r := analyze(t, commtest.JoinDumps(t, commtest.Job(t, commtest.Logs, commtest.Exports), commtest.KeepLine), Options{})
	if r.Sampled || len(r.Matches) != 132 || !noted(r, NoteDumpsUnused) {
		t.Errorf("%+v", r.Notes)
	}
}

func noted(r *Result, kind NoteKind) bool {
	return slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Kind == kind })
}
