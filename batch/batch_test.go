package batch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/flatrow"
)

// victim is the archive that the test binary judges, to be killed meanwhile.
const victim = "SFSTAT_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		beKilled(dir)
	}
	os.Exit(m.Run())
}

// job is the specification of a small run; without a rank it is healthy.
func job(name string, seed uint64, rank int) simulate.Spec {
	s := simulate.DefaultSpec()
	s.Run, s.Seed, s.Ranks, s.RanksPerHost = name, seed, 8, 2
	s.Schedule.Windows, s.Schedule.Steps = 3, 20
	if rank >= 0 {
		s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 80, Ranks: []int{rank}}}
	}
	return s
}

// record writes the windows of a run, as an archive or as packets.
func record(t *testing.T, path string, spec simulate.Spec) {
	t.Helper()
	g, err := simulate.New(spec)
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	a, p := archive.NewWriter(f), packet.NewWriter(f)
	for {
		w, err := g.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if strings.HasSuffix(path, ".parquet") {
			must(t, a.Write(w))
		} else {
			must(t, p.Write(w))
		}
	}
	if strings.HasSuffix(path, ".parquet") {
		must(t, a.Close())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fleet is an archive of so many runs, each third of them with a slow rank.
func fleet(t *testing.T, runs int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range runs {
		rank := -1
		if i%3 == 0 {
			rank = 2 + i%2
		}
		name := fmt.Sprintf("job-%02d", i)
		file := name + ".parquet"
		if i%5 == 4 {
			file = name + ".jsonl"
		}
		record(t, filepath.Join(dir, fmt.Sprintf("day-%d", i/4), file), job(name, uint64(i), rank))
	}
	return dir
}

func run(t *testing.T, dir string, o Options) *findings.Summary {
	t.Helper()
	var err error
	o.Output.Format, err = flatrow.FormatOf(o.Output.Path)
	must(t, err)
	s, err := Run(t.Context(), []string{dir}, o)
	must(t, err)
	return s
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

// TestSameBytes: the rows do not depend on threads, and the formats hold the same
// rows, also those of shards.
func TestSameBytes(t *testing.T) {
	dir, out := fleet(t, 9), t.TempDir()
	csv := filepath.Join(out, "a.csv")
	s := run(t, dir, Options{Output: Output{Path: csv}, Threads: 1})
	if s.Windows != 27 || len(s.Runs()) != 9 {
		t.Fatalf("%d windows of %d runs, expected 27 of 9", s.Windows, len(s.Runs()))
	}
	want := read(t, csv)
	for _, threads := range []int{2, 5} {
		path := filepath.Join(out, fmt.Sprintf("threads-%d.parquet", threads))
		run(t, dir, Options{Output: Output{Path: path}, Threads: threads})
		if got := gathered(t, path); !bytes.Equal(got, want) {
			t.Errorf("%d threads, Parquet:\n%s", threads, cmp.Diff(string(want), string(got)))
		}
	}
	if !bytes.Equal(read(t, filepath.Join(out, "threads-2.parquet")), read(t, filepath.Join(out, "threads-5.parquet"))) {
		t.Error("the bytes of two and of five threads differ")
	}
	var shards []string
	for i := range 2 {
		path := filepath.Join(out, fmt.Sprintf("shard-%d.jsonl", i))
		run(t, dir, Options{Output: Output{Path: path}, Shard: Shard{i, 2}})
		shards = append(shards, path)
	}
	a, b := sorted(want), sorted(gathered(t, shards...))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("shards:\n%s", diff)
	}
	if left, _ := filepath.Glob(filepath.Join(out, "*"+partsSuffix)); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// gathered are the rows of outputs as CSV.
func gathered(t *testing.T, paths ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "gathered.csv")
	s, err := Gather(paths, Options{Output: Output{Path: out, Format: flatrow.CSV}})
	must(t, err)
	if len(s.Refused) > 0 {
		t.Fatal(s.Refused)
	}
	return read(t, out)
}

func sorted(csv []byte) []string { return slices.Sorted(strings.Lines(string(csv))) }

// TestTruth: each run with a slow rank is flagged with that rank, its host and
// stage, no other is, and the host that two of the three share is counted.
func TestTruth(t *testing.T) {
	dir := fleet(t, 9)
	s := run(t, dir, Options{Output: Output{Path: filepath.Join(t.TempDir(), "a.jsonl")}})
	for _, r := range s.Runs() {
		i, err := strconv.Atoi(strings.TrimPrefix(r.Name, "job-"))
		must(t, err)
		if r.Flagged() != (i%3 == 0) {
			t.Errorf("%s: flagged is %v", r.Name, r.Flagged())
		}
		if i%3 == 0 && (*r.Worst.Rank != int64(2+i%2) || *r.Worst.Host != "node1" || *r.Worst.Stage != simulate.StageData) {
			t.Errorf("%s: rank %d of %s in %s", r.Name, *r.Worst.Rank, *r.Worst.Host, *r.Worst.Stage)
		}
	}
	// Three of three runs on one of four hosts: 4 × (1/4)³.
	if h := s.Hosts(); len(h) != 1 || h[0].Runs != 3 || h[0].P != 0.0625 {
		t.Errorf("hosts: %+v", h)
	}
}

// beKilled judges the archive, slowly, with its outputs beside it.
func beKilled(dir string) {
	o := Options{Output: Output{Path: filepath.Join(filepath.Dir(dir), "out", "a.parquet"), Format: flatrow.Parquet}, Resume: GoOn, Threads: 2,
		Progress: func(Progress) { time.Sleep(2 * time.Millisecond) }}
	fmt.Println("begun")
	if _, err := Run(context.Background(), []string{dir}, o); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestKilled kills batches at random instants, one after the other, and lets one
// come to its end: its output has the bytes of one that was never killed.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	dir := fleet(t, 12)
	must(t, os.MkdirAll(filepath.Join(filepath.Dir(dir), "out"), 0o777))
	whole := filepath.Join(t.TempDir(), "whole.parquet")
	run(t, dir, Options{Output: Output{Path: whole}})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), victim+"="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	output := filepath.Join(filepath.Dir(dir), "out", "a.parquet")
	run(t, dir, Options{Output: Output{Path: output}, Resume: GoOn})
	if !bytes.Equal(read(t, output), read(t, whole)) {
		t.Error("the bytes differ from those of a batch that was not killed")
	}
	if left, err := os.ReadDir(filepath.Dir(output)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestUnfinished: parts of another batch are neither used nor thrown away.
func TestUnfinished(t *testing.T) {
	dir := fleet(t, 4)
	o := Options{Output: Output{Path: filepath.Join(t.TempDir(), "a.csv"), Format: flatrow.CSV}, Threads: 1}
	ctx, stop := context.WithCancel(t.Context())
	stopped := o
	stopped.Progress = func(p Progress) {
		if p.Bytes > 0 {
			stop()
		}
	}
	if _, err := Run(ctx, []string{dir}, stopped); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), []string{dir}, o); !errors.Is(err, ErrUnfinished) {
		t.Errorf("from the start: %v", err)
	}
	record(t, filepath.Join(dir, "one-more.parquet"), job("one-more", 99, -1))
	o.Resume = GoOn
	if _, err := Run(t.Context(), []string{dir}, o); !errors.Is(err, ErrUnfinished) {
		t.Errorf("with another input: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "one-more.parquet")))
	if _, err := Run(t.Context(), []string{dir}, o); err != nil {
		t.Errorf("with the same inputs: %v", err)
	}
}

// TestClockSetBack: times of files are compared, and mean nothing else: a batch of files
// from the future goes on, and one of whose files has another time by now does not.
func TestClockSetBack(t *testing.T) {
	for _, year := range []int{1971, 2200} {
		dir := fleet(t, 4)
		path, odd := filepath.Join(dir, "day-0", "job-00.parquet"), time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		must(t, os.Chtimes(path, odd, odd))
		ctx, stop := context.WithCancel(t.Context())
		o := Options{Output: Output{Path: filepath.Join(t.TempDir(), "a.csv"), Format: flatrow.CSV}, Threads: 1, Resume: GoOn}
		o.Progress = func(p Progress) {
			if p.Bytes > 0 {
				stop()
			}
		}
		if _, err := Run(ctx, []string{dir}, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		o.Progress = nil
		must(t, os.Chtimes(path, odd.Add(-time.Hour), odd.Add(-time.Hour)))
		if _, err := Run(t.Context(), []string{dir}, o); !errors.Is(err, ErrUnfinished) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d, set back by an hour: %v", year, err)
		}
		must(t, os.Chtimes(path, odd, odd))
		if s, err := Run(t.Context(), []string{dir}, o); err != nil || s.Windows != 12 || len(s.Refused) > 0 {
			t.Errorf("%d, as it was: %v", year, err)
		}
	}
}

// TestTwoAtOnce: the second of two batches with one output gives way.
func TestTwoAtOnce(t *testing.T) {
	dir := fleet(t, 2)
	o := Options{Output: Output{Path: filepath.Join(t.TempDir(), "a.csv"), Format: flatrow.CSV}, Threads: 1}
	var second error
	first := o
	first.Progress = func(Progress) { _, second = Run(t.Context(), []string{dir}, o) }
	if _, err := Run(t.Context(), []string{dir}, first); err != nil {
		t.Fatal(err)
	}
	if second == nil || !strings.Contains(second.Error(), "another sfstat batch") {
		t.Errorf("the second: %v", second)
	}
	if _, err := Run(t.Context(), []string{dir}, o); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// TestBadInputs: each is one line of the summary, and the others are judged.
func TestBadInputs(t *testing.T) {
	dir := fleet(t, 4)
	good := read(t, filepath.Join(dir, "day-0", "job-00.parquet"))
	must(t, os.WriteFile(filepath.Join(dir, "cut.parquet"), good[:len(good)/2], 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "cut.jsonl"), []byte(`{"schema":"sfstat.packet/1","run":"r","win`), 0o666))
	must(t, os.WriteFile(filepath.Join(dir, "README"), []byte("about these runs\n"), 0o666))
	must(t, os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "dangling.parquet")))
	o := Options{Output: Output{Path: filepath.Join(dir, "findings.parquet")}}
	for range 2 { // the second finds the output of the first
		s := run(t, dir, o)
		var bad []string
		for _, r := range s.Refused {
			bad = append(bad, filepath.Base(r.Path))
			if strings.Contains(r.Error, "\n") || strings.Contains(r.Error, dir) {
				t.Errorf("%s: %q is not one line without its path", r.Path, r.Error)
			}
		}
		slices.Sort(bad)
		if diff := cmp.Diff([]string{"cut.jsonl", "cut.parquet", "dangling.parquet"}, bad); diff != "" {
			t.Error(diff)
		}
		if s.Windows != 12 {
			t.Errorf("%d windows, expected 12", s.Windows)
		}
	}
}

// TestNowhere: the folder of the output is not made.
func TestNowhere(t *testing.T) {
	dir, none := fleet(t, 1), filepath.Join(t.TempDir(), "none")
	o := Options{Output: Output{Path: filepath.Join(none, "a.csv"), Format: flatrow.CSV}}
	if _, err := Run(t.Context(), []string{dir}, o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("the folder is there")
	}
}

// TestSameName: recordings of one name in one folder are different runs.
func TestSameName(t *testing.T) {
	dir := t.TempDir()
	for i, rank := range []int{-1, 3, 5} {
		record(t, filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)), job("job", uint64(i), rank))
	}
	s := run(t, dir, Options{Output: Output{Path: filepath.Join(t.TempDir(), "a.csv")}})
	var ranks []int64
	for _, r := range s.Runs() {
		if r.Flagged() {
			ranks = append(ranks, *r.Worst.Rank)
		}
	}
	slices.Sort(ranks)
	if s.Windows != 9 || len(s.Refused) > 0 || !slices.Equal(ranks, []int64{3, 5}) {
		t.Errorf("%d windows, ranks %v flagged, refused %v", s.Windows, ranks, s.Refused)
	}
}

// TestGrows: a file that is written to while it is read is named.
func TestGrows(t *testing.T) {
	dir := fleet(t, 5)
	path := filepath.Join(dir, "day-1", "job-04.jsonl")
	var grown bool
	o := Options{Output: Output{Path: filepath.Join(t.TempDir(), "a.csv"), Format: flatrow.CSV}, Threads: 1, Progress: func(Progress) {
		if !grown {
			grown = true
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("{\"schema\":")
			must(t, errors.Join(err, f.Close()))
		}
	}}
	s, err := Run(t.Context(), []string{dir}, o)
	must(t, err)
	if len(s.Refused) == 0 || !strings.Contains(s.Refused[len(s.Refused)-1].Error, "it grew from") {
		t.Errorf("refused: %+v", s.Refused)
	}
}
