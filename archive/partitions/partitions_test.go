package partitions

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// childDir is the environment variable that makes the test binary a writer that is killed.
const childDir = "SFSTAT_PARTITIONS_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

// midnight is in the middle of the job's windows.
var midnight = time.Date(2026, 5, 6, 0, 0, 0, 0, time.UTC)

// job is windows of a run over two days, whose epochs are known.
func job(seed uint64, n int) []*trace.Window {
	windows := ingesttest.Windows(seed, n, ingesttest.Shape{Ranks: 4, Steps: 10, Stages: 3})
	for i, w := range windows {
		at := midnight.Add(time.Duration(i-n/2) * time.Minute).UnixNano()
		for r := range w.Ranks {
			w.Epochs = append(w.Epochs, at+int64(r))
		}
	}
	return windows
}

// without is a window of which the first ranks have not reported.
func without(w *trace.Window, ranks int) *trace.Window {
	part := *w
	R, S := len(w.Ranks), len(w.Schema.Stages)
	part.Ranks, part.Epochs, part.Side = w.Ranks[ranks:], w.Epochs[ranks:], nil
	part.Durations, part.Wall = nil, nil
	for t := range w.Steps() {
		for s := range S {
			part.Durations = append(part.Durations, w.Step(t)[s*R+ranks:(s+1)*R]...)
		}
		part.Wall = append(part.Wall, w.WallOf(t)[ranks:]...)
	}
	return &part
}

// read is the windows of an archive as commands read it, by run and number.
func read(t *testing.T, dir string) (windows []*trace.Window) {
	t.Helper()
	if list, _ := filepath.Glob(filepath.Join(dir, "day=*", "run=*", "*.parquet")); len(list) == 0 {
		return nil
	}
	r, err := auto.Open([]string{dir}, auto.Options{Kinds: auto.Windows, Strict: ingest.FirstError})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		item, err := r.Next()
		if err != nil {
			break
		}
		windows = append(windows, item.Windows...)
	}
	if p := r.Problems(); len(p) > 0 {
		t.Fatal(p[0].Err)
	}
	slices.SortStableFunc(windows, byNumber)
	return windows
}

func byNumber(a, b *trace.Window) int {
	return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Index, b.Index))
}

func open(t *testing.T, dir string) *Archive {
	t.Helper()
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	a.group = 1000 // values: a few windows
	return a
}

func add(t *testing.T, a *Archive, windows ...*trace.Window) {
	t.Helper()
	for _, w := range windows {
		if err := a.Add(w); err != nil {
			t.Fatal(err)
		}
	}
}

func flush(t *testing.T, a *Archive, want int) {
	t.Helper()
	if n, err := a.Flush(); err != nil || n != want {
		t.Fatalf("%d windows written, %v; expected %d", n, err, want)
	}
}

// TestWindowsComeBack: whatever is added when and how often, by whichever writer, in
// part or whole, the archive has every window once and as it is.
func TestWindowsComeBack(t *testing.T) {
	for seed := range uint64(8) {
		g := rand.New(rand.NewPCG(seed, 7))
		var all []*trace.Window
		for run := range uint64(3) {
			all = append(all, job(10*seed+run, 12)...)
		}
		dir := t.TempDir()
		a := open(t, dir)
		for range 6 {
			for _, i := range g.Perm(len(all))[:len(all)/2] {
				add(t, a, without(all[i], 1+g.IntN(3)))
				if g.IntN(2) == 0 {
					add(t, a, all[i])
				}
			}
			if _, err := a.Flush(); err != nil {
				t.Fatal(err)
			}
			if g.IntN(2) == 0 {
				a.Close()
				a = open(t, dir)
			}
		}
		add(t, a, all...)
		if _, err := a.Flush(); err != nil {
			t.Fatal(err)
		}
		add(t, a, all...)
		flush(t, a, 0)
		a.Close()
		if diff := gocmp.Diff(all, read(t, dir)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// TestLayout: a folder for each day and run, with files that are full but for the last.
func TestLayout(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	windows := job(1, 12) // of 400 values each
	for _, w := range windows {
		w.Run = "a/b=c"
	}
	undated := ingesttest.Windows(2, 1, ingesttest.Shape{Ranks: 1, Steps: 1, Stages: 1})[0]
	for _, w := range append(windows, undated) {
		add(t, a, w)
		flush(t, a, 1)
	}
	a.Close()
	got, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	for i := range got {
		got[i], _ = filepath.Rel(dir, got[i])
	}
	var want []string
	for _, day := range []string{"2026-05-05", "2026-05-06"} {
		for n := range 3 {
			want = append(want, fmt.Sprintf("day=%s/run=a%%2Fb%%3Dc/windows-%04d.parquet", day, n+1))
		}
	}
	want = append(want, "day=__HIVE_DEFAULT_PARTITION__/run=run-2/windows-0001.parquet")
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSecondLaunch: a window that has the number and steps of another, and began at
// another time, is another.
func TestSecondLaunch(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	first, second := job(1, 1)[0], job(1, 1)[0]
	for r := range second.Epochs {
		second.Epochs[r] += int64(time.Hour)
	}
	add(t, a, first, second)
	flush(t, a, 2)
	a.Close()
	a = open(t, dir)
	defer a.Close()
	add(t, a, first, second)
	flush(t, a, 0)
}

// TestOneWriter: who comes second is refused.
func TestOneWriter(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	if b, err := Open(dir); err == nil {
		b.Close()
		t.Error("two write into one archive")
	}
	a.Close()
	open(t, dir).Close()
}

// TestArrivals: arrivals lie beside, also those that a writer did not come to write
// because it was killed between the two files.
func TestArrivals(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	windows := job(1, 2)
	for _, w := range windows {
		for _, rank := range w.Ranks {
			w.Arrivals = append(w.Arrivals, arrived(w, rank))
		}
	}
	add(t, a, windows...)
	flush(t, a, 2)
	a.Close()
	if diff := gocmp.Diff(windows, read(t, dir)); diff != "" {
		t.Fatal(diff)
	}
	beside, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.arrivals.jsonl.zst"))
	for _, path := range beside {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	a = open(t, dir)
	add(t, a, windows...)
	flush(t, a, 2)
	a.Close()
	if diff := gocmp.Diff(windows, read(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// killed is the windows that the writer adds that is killed.
func killed() []*trace.Window { return job(3, 40) }

// child adds windows one by one, the first of two ranks, and says when each is written.
func child(dir string) {
	a, err := Open(dir)
	if err != nil {
		panic(err)
	}
	a.group = 4000
	for _, w := range killed() {
		for _, part := range []*trace.Window{without(w, 2), w} {
			if err := a.Add(part); err != nil {
				panic(err)
			}
			if _, err := a.Flush(); err != nil {
				panic(err)
			}
			fmt.Println(w.Index)
		}
	}
	a.Close()
}

// TestKilled: at whatever instant writers are killed, no window is there twice, none
// that was written is lost, and in the end all are there.
func TestKilled(t *testing.T) {
	dir, all := t.TempDir(), killed()
	g := rand.New(rand.NewPCG(1, 2))
	for round := range 6 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), childDir+"="+dir)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines, n := bufio.NewScanner(out), 1+g.IntN(2*len(all))
		for range n {
			if !lines.Scan() {
				break
			}
		}
		if round < 5 {
			_ = c.Process.Kill()
		}
		for lines.Scan() {
			n++
		}
		_ = c.Wait()
		have := read(t, dir)
		if len(have) < n/2 {
			t.Fatalf("round %d: %d windows are there, %d were written", round, len(have), n/2)
		}
		for i, w := range have {
			if w.Index != int64(i) {
				t.Fatalf("round %d: window %d stands where window %d is expected", round, w.Index, i)
			}
		}
	}
	if diff := gocmp.Diff(all, read(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestReadWhileWritten: whoever reads finds the windows so far, each once.
func TestReadWhileWritten(t *testing.T) {
	dir, all := t.TempDir(), killed()
	a := open(t, dir)
	defer a.Close()
	add(t, a, all[0])
	flush(t, a, 1)
	done := make(chan error, 1)
	go func() {
		for _, w := range all {
			if err := a.Add(w); err != nil {
				done <- err
				return
			}
			if _, err := a.Flush(); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for had := 1; ; {
		ended := false
		select {
		case err := <-done:
			if ended = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
		have := read(t, dir)
		if len(have) < had || ended && len(have) != len(all) {
			t.Fatalf("%d windows after %d", len(have), had)
		}
		for i, w := range have {
			if w.Index != int64(i) {
				t.Fatalf("window %d stands where window %d is expected", w.Index, i)
			}
		}
		if had = len(have); ended {
			return
		}
	}
}

// arrived is one call that a rank entered in the first step of a window.
func arrived(w *trace.Window, rank trace.Rank) *comms.Record {
	c := comms.UnknownCall(0)
	c.Op, c.Name, c.Group, c.Seq, c.Count = nccl.AllReduce, "gloo:all_reduce", 0, 7, 8
	c.Enter, c.HasEnter, c.Step, c.Stage = w.Epochs[0]+1e6, true, w.FirstStep, w.Schema.Stages[1]
	c.Tensors = &comms.Tensors{InSizes: [][]int64{{8}}}
	return &comms.Record{Run: w.Run, Sources: []comms.Source{{Name: "flight_recorder", Kind: comms.SourcePacket}},
		Processes: []comms.Process{{Rank: rank.ID, Host: rank.Host, LocalRank: rank.LocalRank, Device: -1}},
		Groups:    []comms.Group{{Name: "0", Rank: rank.ID, Size: len(w.Ranks), Members: []int{0, 1, 2, 3}, Enqueued: -1, Completed: -1}},
		Calls:     []comms.Call{c}}
}
