package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/eval/campaign/ddp"
	"github.com/sfstat/sfstat/internal/gpus"
)

var twoRounds = strings.Join(rankColumns, ",") + `
0,off,0,2,1000,3000,2000,200,400
0,cpu,1,2,4000,6000,2200,220,480
0,events,2,2,7000,9000,2400,240,500
1,events,0,2,10000,12000,2600,240,500
1,cpu,1,2,13000,15000,2800,220,480
1,off,2,2,16000,18000,2000,200,400
`

// later is the second rank of the same launch: later by a while, and slower in
// the second round.
var later = strings.Join(rankColumns, ",") + `
0,off,0,2,1100,3100,1900,220,440
0,cpu,1,2,4100,6100,2000,240,500
0,events,2,2,7100,9100,2000,260,520
1,events,0,2,10100,12100,2000,260,520
1,cpu,1,2,13100,15100,2000,240,500
1,off,2,2,16100,18100,2400,220,440
`

func launchDir(t *testing.T, ranks ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range ranks {
		if err := os.WriteFile(filepath.Join(dir, []string{"rank00000.csv", "rank00001.csv"}[i]), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLaunchIsReadByItsSlowestRank(t *testing.T) {
	chunks, err := readLaunch(launchDir(t, twoRounds, later), 7, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := Chunk{Launch: 7, Round: 1, Arm: Off, Place: 2, Steps: 2, Begin: time.Unix(0, 16000), End: time.Unix(0, 18100), Wall: 1200, Thread: 105, Process: 210}
	if diff := cmp.Diff(want, chunks[5]); diff != "" {
		t.Errorf("chunk (-want +got):\n%s", diff)
	}
	pairs, left := pairsOf(chunks, CPU)
	if left != 0 {
		t.Errorf("%d rounds left out, expected none", left)
	}
	wantPairs := []overhead.Measurement{{Pair: "7", Window: 0, Base: 1000, With: 1100}, {Pair: "7", Window: 1, Base: 1200, With: 1400}}
	if diff := cmp.Diff(wantPairs, measurements(pairs)); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

func TestDamagedLaunch(t *testing.T) {
	for want, second := range map[string]string{
		"no such file":                "",
		"rank 1 has 5 chunks":         later[:strings.LastIndex(later, "1,off")],
		"rank 1 has arm events":       strings.Replace(later, "0,cpu,1", "0,events,1", 1),
		"column \"place\"":            "round,arm\n",
		":3: arm is \"gpu\"":          strings.Replace(later, "0,cpu", "0,gpu", 1),
		":2: column wall_ns is \"x\"": strings.Replace(later, "1900", "x", 1),
		"without steps":               strings.Replace(later, "0,off,0,2", "0,off,0,0", 1),
	} {
		dir := launchDir(t, twoRounds)
		if second != "" {
			dir = launchDir(t, twoRounds, second)
		}
		if _, err := readLaunch(dir, 0, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %q in it", err, want)
		}
	}
}

// fakeGPUs gives readings from a list, then none.
type fakeGPUs struct {
	readings []Reading
	n        int
	read     chan struct{} // closed when all are read
}

func (f *fakeGPUs) Count() int      { return 1 }
func (f *fakeGPUs) Name(int) string { return "fake" }
func (f *fakeGPUs) Close()          {}
func (f *fakeGPUs) Read(int) (Reading, error) {
	if f.n == len(f.readings) {
		return Reading{}, errors.New("lost")
	}
	f.n++
	if f.n == len(f.readings) {
		close(f.read)
	}
	return f.readings[f.n-1], nil
}

// TestThrottledRoundIsLeftOut: the GPU is slowed down while the second arm of
// the first round runs.
func TestThrottledRoundIsLeftOut(t *testing.T) {
	at := func(ns int64, sm int, why Reasons, ecc uint64) Reading {
		return Reading{When: time.Unix(0, ns), SM: sm, MaxSM: 1980, Mem: 2619, Reasons: why, Busy: 50, Degrees: 60, ECCErrors: ecc}
	}
	idle, set := Reasons(0x01), Reasons(0x02)
	fake := &fakeGPUs{read: make(chan struct{}), readings: []Reading{
		at(1500, 1980, set, 3), at(3500, 900, gpus.HardwareThermal, 3), // between chunks
		at(4500, 1980, 0, 3), at(5000, 1200, gpus.SoftwareThermal|gpus.PowerCap, 3), at(8000, 1980, idle, 3), at(17000, 1980, 0, 3)}}
	watch := NewWatch(fake, time.Microsecond)
	<-fake.read
	if err := watch.Stop(); err != nil && err.Error() != "GPU 0: lost" {
		t.Errorf("error is %v", err)
	}
	chunks, err := readLaunch(launchDir(t, twoRounds), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range chunks {
		chunks[i].GPUs = watch.During(chunks[i].Begin, chunks[i].End)
	}
	want := State{Samples: 2, LeastSM: 1200, LeastMem: 2619, MaxSM: 1980, Reasons: gpus.SoftwareThermal | gpus.PowerCap, Busy: 50, MostDegrees: 60}
	if diff := cmp.Diff(want, chunks[1].GPUs[0]); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if got := chunks[1].GPUs[0].Reasons.String(); got != "power cap + thermal (driver)" {
		t.Errorf("reasons are %q", got)
	}
	for arm := CPU; arm < arms; arm++ {
		pairs, left := pairsOf(chunks, arm)
		if left != 1 || len(pairs) != 1 || pairs[0].base.Round != 1 {
			t.Errorf("arm %v: %d pairs, %d rounds left out; expected the second round alone", arm, len(pairs), left)
		}
	}
	rows := gpuRows(chunks)
	if got := strings.Join(rows[2], ","); !strings.HasSuffix(got, ",0,2,1200,1980,2619,50,60,0,power cap + thermal (driver),true") {
		t.Errorf("row is %s", got)
	}
	if empty := chunks[4].GPUs[0]; empty.Samples != 0 || empty.Doubtful() {
		t.Errorf("state without a reading is %+v", empty)
	}
}

// TestChunksThatNobodySaw: of chunks shorter than the interval of readings it is
// not known how the GPUs were.
func TestChunksThatNobodySaw(t *testing.T) {
	b := &bench{settings: settings{launches: 1, rounds: 1}, gpus: &fakeGPUs{}, chunks: []Chunk{{GPUs: []State{{Samples: 3}}}, {GPUs: []State{{}}}}}
	var out bytes.Buffer
	if err := b.tellGPUs(&out); err != nil || !strings.Contains(out.String(), "1 of 2 chunks hold no reading of some GPU") {
		t.Errorf("%v, it tells %q", err, out.String())
	}
}

func TestMemoryErrorsAreDoubtful(t *testing.T) {
	w := &Watch{readings: [][]Reading{{{When: time.Unix(0, 1), ECCErrors: 5}, {When: time.Unix(0, 2), ECCErrors: 6}}}}
	if s := w.During(time.Unix(0, 0), time.Unix(0, 9))[0]; s.ECCErrors != 1 || !s.Doubtful() || s.Throttled() {
		t.Errorf("state is %+v, expected one error that came up", s)
	}
	if s := w.During(time.Unix(0, 2), time.Unix(0, 9))[0]; s.Samples != 1 || s.ECCErrors != 1 {
		t.Errorf("state is %+v, expected the error since the reading before", s)
	}
}

// TestPairsAreReadBack: what is written is what sfstat overhead reads.
func TestPairsAreReadBack(t *testing.T) {
	chunks, err := readLaunch(launchDir(t, twoRounds, later), 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := write(dir, chunks); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "pairs-events.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := overhead.ReadPairs("pairs", f)
	if err != nil {
		t.Fatal(err)
	}
	want := []overhead.Measurement{{Pair: "3", Window: 0, Base: 1000, With: 1200}, {Pair: "3", Window: 1, Base: 1200, With: 1300}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "gpus.csv")); err == nil {
		t.Error("gpus.csv was written without GPUs")
	}
}

func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"-o is missing": nil,
		"1 or more":     {"-o", "x", "-launches", "0"},
		"write nothing": {"-o", "x", "-window", "11"},
		"more than 0":   {"-o", "x", "-gpu-every", "0s"},
		"not defined":   {"-no-such"},
	} {
		if _, err := parse(args, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error is %v, expected %q in it", args, err, want)
		}
	}
}

func TestRealLaunch(t *testing.T) {
	if testing.Short() {
		t.Skip("a real launch takes seconds")
	}
	if out, err := exec.CommandContext(t.Context(), ddp.Python(), "-c", "import torch.distributed").CombinedOutput(); err != nil {
		t.Skipf("no PyTorch: no real launch; SFSTAT_PYTHON names an interpreter that has it (%s: %v %.200s)", ddp.Python(), err, out)
	}
	var out, log bytes.Buffer
	dir := t.TempDir()
	if err := run(context.Background(), []string{"-ranks", "2", "-launches", "2", "-rounds", "1", "-steps", "2", "-window", "1", "-o", dir}, &out, &log); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 ranks, 2 launches", "\ncpu: ", "\nevents: ", "a call of a stage takes "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	if rows := strings.Count(read(t, filepath.Join(dir, "chunks.csv")), "\n"); rows != 1+2*3 {
		t.Errorf("%d lines of chunks, expected 7", rows)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
