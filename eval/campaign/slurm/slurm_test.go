package slurm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/trace"
)

// pretended is a Slurm whose jobs never run by themselves.
type pretended struct {
	mu     sync.Mutex
	jobs   int
	known  map[element]string
	down   error    // of live
	refuse error    // of submit, which comes too late: the job is there
	before []string // states that are told before the last
}

func (p *pretended) submit(_ context.Context, script string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs++
	job := fmt.Sprint(p.jobs)
	b, err := readBatch(filepath.Dir(script))
	if err != nil {
		return "", err
	}
	for i := range b.entries {
		p.known[element(fmt.Sprintf("%s_%d", job, i))] = b.name
	}
	return job, p.refuse
}

func (p *pretended) live(context.Context, []string) (map[element]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.known), p.down
}

func (p *pretended) state(context.Context, element) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.before) > 0 {
		state := p.before[0]
		p.before = p.before[1:]
		return state
	}
	return "TIMEOUT"
}

func (p *pretended) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// pretend is a Maker in a folder with a Slurm that is pretended.
func pretend(t *testing.T, dir string, p *pretended) (*Maker, []campaign.Task) {
	t.Helper()
	if p.known == nil {
		p.known = make(map[element]string)
	}
	o := standIn(t, "1")
	o.Poll, o.Patience = time.Millisecond, 5*time.Millisecond
	s := spec(t, small)
	o.Cluster = s.Slurm
	m, err := New(dir, o)
	must(t, err)
	m.ask = scheduler{p.submit, p.live, p.state}
	tasks, err := s.Plan()
	must(t, err)
	return m, tasks
}

func keepNone(*trace.Window) error { return nil }

// TestGone: a job that Slurm does not know any more, and that has said nothing,
// is given up with what Slurm remembers, and submitted again next time.
func TestGone(t *testing.T) {
	dir, p := t.TempDir(), &pretended{}
	m, tasks := pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), tasks))
	p.set(func() { delete(p.known, "1_0") })
	if err := m.Make(t.Context(), &tasks[0], keepNone); err == nil || !strings.Contains(err.Error(), "job 1_0 is gone and has not said how it ended (Slurm: TIMEOUT), and printed nothing to ") {
		t.Errorf("%v", err)
	}
	m, _ = pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), tasks))
	if p.jobs != 3 || m.runs[tasks[0].ID].batch.job != "3" || m.runs[tasks[1].ID].batch.job != "1" {
		t.Errorf("%d jobs were submitted, expected a third one with the first run alone", p.jobs)
	}
}

// TestLateRefusal: sbatch may fail when the job is there already, as when its
// answer is lost. The next execution finds it.
func TestLateRefusal(t *testing.T) {
	dir, p := t.TempDir(), &pretended{refuse: errors.New("socket timed out")}
	m, tasks := pretend(t, dir, p)
	if err := m.Prepare(t.Context(), tasks); !errors.Is(err, p.refuse) {
		t.Fatalf("%v, expected %v", err, p.refuse)
	}
	p.refuse = nil
	m, _ = pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), tasks))
	if p.jobs != 2 {
		t.Errorf("%d jobs were submitted, expected one for each size", p.jobs)
	}
}

// TestStillCompleting: a job says that it ended before Slurm knows why.
func TestStillCompleting(t *testing.T) {
	p := &pretended{before: []string{"RUNNING", "COMPLETING"}}
	m, tasks := pretend(t, t.TempDir(), p)
	m.o.Patience = time.Minute
	must(t, m.Prepare(t.Context(), tasks))
	must(t, atomicfile.WriteText(filepath.Join(m.runs[tasks[0].ID].batch.dir, endedName, "0"), "1\n"))
	if err := m.Make(t.Context(), &tasks[0], keepNone); err == nil || !strings.Contains(err.Error(), "ended with exit status 1 (Slurm: TIMEOUT)") {
		t.Errorf("got %v", err)
	}
}

// TestSlurmThatIsDown: it may be down for a while.
func TestSlurmThatIsDown(t *testing.T) {
	p := &pretended{}
	m, tasks := pretend(t, t.TempDir(), p)
	must(t, m.Prepare(t.Context(), tasks))
	p.set(func() { p.down = errors.New("unable to contact slurm controller") })
	a := m.runs[tasks[0].ID]
	must(t, atomicfile.WriteText(a.batch.log(0), strings.Repeat("earlier\n", 1000)+"out of memory\n"))
	must(t, atomicfile.WriteText(filepath.Join(a.batch.dir, endedName, "0"), "7\n"))
	err := m.Make(t.Context(), &tasks[0], keepNone)
	if err == nil || !strings.Contains(err.Error(), "job 1_0 ended with exit status 7 (Slurm: TIMEOUT); the last of ") || !strings.HasSuffix(err.Error(), "\nout of memory") {
		t.Errorf("what jobs say themselves is heard nevertheless: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.Make(ctx, &tasks[1], keepNone); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, expected to wait on", err)
	}
}

// TestPacketsThatAreNoGood are not taken again.
func TestPacketsThatAreNoGood(t *testing.T) {
	dir, p := t.TempDir(), &pretended{}
	m, tasks := pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), tasks))
	packets := m.runs[tasks[0].ID].batch.packets(0)
	must(t, os.MkdirAll(packets, 0o777))
	must(t, os.WriteFile(filepath.Join(packets, "a.jsonl"), []byte("{}\n"), 0o666))
	must(t, atomicfile.WriteText(filepath.Join(dir, "slurm", "0001", endedName, "0"), "0\n"))
	if err := m.Make(t.Context(), &tasks[0], keepNone); err == nil || !strings.HasPrefix(err.Error(), "packets of job 1_0: ") {
		t.Errorf("%v", err)
	}
	m, _ = pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), tasks))
	if p.jobs != 3 {
		t.Errorf("%d jobs were submitted, expected a third one", p.jobs)
	}
}

// TestArraysShareNothing: a run whose specification was changed and changed back
// is taken from the array that was submitted for it, with what that recorded.
func TestArraysShareNothing(t *testing.T) {
	dir, p := t.TempDir(), &pretended{}
	m, tasks := pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), tasks))
	first := m.runs[tasks[0].ID].batch
	specification := filepath.Join(first.dir, specsName, tasks[0].ID+".json")
	before, err := os.ReadFile(specification)
	must(t, err)

	longer := tasks[0]
	longer.Spec.Schedule.Steps++
	longer.Hash = "another"
	m, _ = pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), []campaign.Task{longer}))
	second := m.runs[longer.ID].batch
	if second.dir == first.dir || second.packets(0) == first.packets(0) {
		t.Errorf("the changed run is recorded in %s, as the one before", second.packets(0))
	}
	if after, err := os.ReadFile(specification); err != nil || string(after) != string(before) {
		t.Errorf("the job that waits was given another specification: %v", err)
	}

	m, _ = pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), tasks[:1]))
	if got := m.runs[tasks[0].ID].batch; got.dir != first.dir || p.jobs != 3 {
		t.Errorf("changed back it is in %s after %d jobs, expected %s after 3", got.dir, p.jobs, first.dir)
	}
}

// programs puts shell scripts first on the path.
func programs(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	t.Setenv("PATH", dir)
}

// TestLive: what waits or runs, with the names of its arrays.
func TestLive(t *testing.T) {
	for name, c := range map[string]struct {
		scripts map[string]string
		want    string
	}{
		"in the queue":           {map[string]string{"squeue": "echo 12_0 sfstat-x; echo 12_1 sfstat-x"}, ""},
		"not on a login node":    {nil, "squeue is not on this machine: run this on a login node"},
		"the controller is down": {map[string]string{"squeue": "echo no contact >&2; exit 1"}, "no contact"},
	} {
		t.Run(name, func(t *testing.T) {
			programs(t, c.scripts)
			got, err := commands.live(t.Context(), []string{"sfstat-x"})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, expected %q", err, c.want)
			}
			if err == nil && !maps.Equal(got, map[element]string{"12_0": "sfstat-x", "12_1": "sfstat-x"}) {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestEndedUnnoted: the array whose number was not noted has run and left the queue.
func TestEndedUnnoted(t *testing.T) {
	dir, p := t.TempDir(), &pretended{refuse: errors.New("socket timed out")}
	m, tasks := pretend(t, dir, p)
	if err := m.Prepare(t.Context(), tasks[:1]); !errors.Is(err, p.refuse) {
		t.Fatalf("%v, expected %v", err, p.refuse)
	}
	p.refuse, p.known = nil, map[element]string{}
	must(t, atomicfile.WriteText(filepath.Join(dir, "slurm", "0001", endedName, "0"), "0\n"))
	m, _ = pretend(t, dir, p)
	must(t, m.Prepare(t.Context(), tasks[:1]))
	if p.jobs != 1 {
		t.Errorf("%d jobs were submitted, expected the first to be taken", p.jobs)
	}
}

func TestDryRun(t *testing.T) {
	dir, p := t.TempDir(), &pretended{}
	m, tasks := pretend(t, dir, p)
	m.o.DryRun = true
	for range 2 {
		var dry *NotSubmitted
		if err := m.Prepare(t.Context(), tasks); !errors.As(err, &dry) || dry.Batches != 2 || dry.Runs != 4 {
			t.Fatalf("%v, expected two arrays of four runs", err)
		}
	}
	path := filepath.Join(dir, "slurm", "dry-run", "0002", scriptName)
	text, err := os.ReadFile(path)
	must(t, err)
	for _, want := range []string{"#SBATCH --array=0-1%3\n", "#SBATCH --ntasks=4\n", "#SBATCH --time=5\n", "#SBATCH --partition=debug\n",
		"#SBATCH --comment=its\n", "\nexport A=1\n", "\nsrun --ntasks=4 --kill-on-bad-exit=1 '"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the script lacks %q:\n%s", want, text)
		}
	}
	if out, err := exec.Command("bash", "-n", path).CombinedOutput(); err != nil {
		t.Errorf("bash: %v: %s", err, out)
	}
	if p.jobs != 0 || submitted(t, dir) != 0 {
		t.Errorf("%d jobs were submitted", p.jobs)
	}
}

func TestPathsThatSbatchCannotTake(t *testing.T) {
	for _, dir := range []string{"100%", `a"b`, "a\nb"} {
		if _, err := New(filepath.Join(t.TempDir(), dir), Options{}); err == nil {
			t.Errorf("%q is taken", dir)
		}
	}
}
