package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"testing"
)

// The trace has each kernel twice, on the track of its stream and on that of its kind of parallelism, every step, nothing
// over anything else on one track, and what the calls say.
func TestChrome(t *testing.T) {
	var out bytes.Buffer
	if err := Chrome(&out, fixtureTraffic(t, commRun)); err != nil {
		t.Fatal(err)
	}
	type event struct {
		Ph, Name, Cat string
		Pid, Tid      int
		Ts, Dur       float64
		Args          map[string]any
	}
	var doc struct {
		TraceEvents []event
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	tracks := map[[2]int][]event{}
	for _, e := range doc.TraceEvents {
		if e.Ph == "X" {
			counts[e.Cat]++
			tracks[[2]int{e.Pid, e.Tid}] = append(tracks[[2]int{e.Pid, e.Tid}], e)
		}
	}
	for cat, want := range map[string]int{"step": 12, "nccl": 132, "TP": 96, "DP": 24, "unknown": 12} {
		if counts[cat] != want {
			t.Errorf("%d events of %s, want %d", counts[cat], cat, want)
		}
	}
	for track, events := range tracks {
		slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.Ts, b.Ts) })
		for i := 1; i < len(events); i++ {
			if end := events[i-1].Ts + events[i-1].Dur; events[i].Ts < end-0.001 {
				t.Errorf("track %v: %s at %.3f begins before %s ends at %.3f", track, events[i].Name, events[i].Ts, events[i-1].Name, end)
			}
		}
	}
	first := tracks[[2]int{1, streamTrack + 1}][0].Args // of rank 1, which prints no tuning lines
	for name, want := range map[string]any{"op": "AllReduce", "count": 1048576.0, "dtype": "bfloat16", "bytes": 2097152.0, "communicator": "0x5f3a11c0de4402",
		"kind": "TP", "algorithm": "RING", "protocol": "SIMPLE", "channels": 24.0, "certain": true} {
		if first[name] != want {
			t.Errorf("%s is %v, want %v", name, first[name], want)
		}
	}
	if bus, ok := first["bus_bandwidth_gbps"].(float64); !ok || bus < 50 || bus > 80 {
		t.Errorf("bus bandwidth %v GB/s", first["bus_bandwidth_gbps"])
	}
	for _, paths := range [][]string{{commRun + "/nccl.node0.4000.log"}, {commRun + "/node1.sqlite"}} {
		out.Reset()
		if err := Chrome(&out, fixtureTraffic(t, paths...)); err != nil || !json.Valid(out.Bytes()) {
			t.Errorf("%v: %v\n%s", paths, err, out.Bytes())
		}
	}
	if err := Chrome(full{}, fixtureTraffic(t, commRun)); err == nil {
		t.Error("the failed write is not reported")
	}
}
