package calls

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace/comms"
)

func read(t *testing.T, path string) *comm.Result {
	t.Helper()
	found, _, err := auto.ReadComm([]string{path}, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return analyzed(t, found)
}

func analyzed(t *testing.T, c *comms.Record) *comm.Result {
	t.Helper()
	r, err := comm.Analyze(c, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// By hand from fixtures/comm/make: every rank calls 8 times for tensors, twice for gradients and once on all ranks, in each of three steps; rank 3 waits
// 0.3 ms for rank 2 in each of its calls for tensors; the link of tensors carries 80 GB/s, and rings of two ranks use all of it.
func TestRows(t *testing.T) {
	r := read(t, "../../fixtures/comm/run")
	n, waited := map[string]int{}, 0
	for x := range rowsOf(r) {
		n[fmt.Sprintf("%s %s", *x.Kind, *x.StepName)]++
		if *x.Kind == "TP" && x.Rank == 3 && *x.Wait > 270_000 && *x.Wait < 330_000 {
			waited++
		}
		if *x.Kind == "TP" && (*x.LimitGBps != 80 || *x.BusLimit != 80 || *x.AlgorithmLimit != 80 || *x.BusEfficiency != *x.BusGBps/80 || *x.BusEfficiency > 1) {
			t.Errorf("rank %d line %d: limit %v, %v of %v", x.Rank, x.Line, *x.LimitGBps, *x.BusEfficiency, *x.BusGBps)
		}
	}
	want := map[string]int{}
	for _, step := range []string{"iteration 1", "iteration 2", "iteration 3"} {
		want["TP "+step], want["DP "+step], want["unknown "+step] = 32, 8, 4
	}
	if diff := cmp.Diff(want, n); diff != "" || waited != 24 {
		t.Errorf("rank 3 waited %d times, want 24; calls, want −, got +:\n%s", waited, diff)
	}
}
