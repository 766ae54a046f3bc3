package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/fixtures/slurmtest"
	"github.com/sfstat/sfstat/fixtures/standin"
)

func TestMain(m *testing.M) {
	if os.Getenv(standin.Variable) != "" {
		standin.Main(os.Args[1:])
	}
	os.Exit(m.Run())
}

// standIn is the test binary as the job.
func standIn(t *testing.T, version string) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(standin.Variable, "1")
	return Options{Version: version, Python: self, Poll: 100 * time.Millisecond, Patience: 2 * time.Second}
}

const small = `name: small
runner: slurm
slurm: {minutes: 5, at_most: 3, partition: debug, flags: ["--comment=its"], setup: ["export A=1", "test $A = 1 || exit 9"]}
groups:
  - {name: a, families: [data], ranks: [2, 4], seeds: [0, 1], delays_ms: [120], steps: 20}
`

func spec(t *testing.T, text string) *campaign.Spec {
	t.Helper()
	s, err := campaign.ParseSpec("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// execute carries a campaign out with a Maker of its own, as a new process
// would.
func execute(t *testing.T, dir string, o Options) (campaign.Outcome, error) {
	t.Helper()
	s := spec(t, small)
	o.Cluster = s.Slurm
	m, err := New(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return campaign.Execute(t.Context(), dir, s, campaign.Execution{Version: o.Version, Maker: m, Workers: 4})
}

// submitted is how many batches lie in the folder.
func submitted(t *testing.T, dir string) int {
	t.Helper()
	bs, err := batches(filepath.Join(dir, "slurm"))
	if err != nil {
		t.Fatal(err)
	}
	return len(bs)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCluster(t *testing.T) {
	slurmtest.Start(t)
	t.Run("all runs", allRuns)
	t.Run("a run that fails", runThatFails)
	t.Run("killed and restarted", killedAndRestarted)
	t.Run("a job that is cancelled", cancelledJob)
}

// allRuns: an array for each size, and the runs that a simulation has.
func allRuns(t *testing.T) {
	dir, simulated := filepath.Join(t.TempDir(), "it's here"), t.TempDir() // quoted in the script
	if o, err := execute(t, dir, standIn(t, "1")); err != nil || !cmp.Equal(o, campaign.Outcome{Made: 4}) {
		t.Fatalf("%+v, %v, expected 4 made", o, err)
	}
	if n := submitted(t, dir); n != 2 {
		t.Errorf("%d arrays were submitted, expected one for each size", n)
	}
	s := spec(t, small)
	s.Runner, s.Slurm = campaign.Simulator, campaign.Cluster{}
	_, err := campaign.Execute(t.Context(), simulated, s, campaign.Execution{Version: "1"})
	must(t, err)
	if diff := cmp.Diff(found(t, simulated), found(t, dir)); diff != "" {
		t.Errorf("-simulated +Slurm:\n%s", diff)
	}
	if o, err := execute(t, dir, standIn(t, "1")); err != nil || !cmp.Equal(o, campaign.Outcome{Stood: 4}) {
		t.Errorf("again: %+v, %v, expected all to stand", o, err)
	}
	if o, err := execute(t, dir, standIn(t, "2")); err != nil || o.Made != 4 || submitted(t, dir) != 4 {
		t.Errorf("another version: %+v, %v, %d arrays, expected 4 made by two more", o, err, submitted(t, dir))
	}
}

// found are the runs that are done.
func found(t *testing.T, dir string) []string {
	t.Helper()
	rows, err := filepath.Glob(filepath.Join(dir, "rows", "*.csv"))
	must(t, err)
	for i := range rows {
		rows[i] = filepath.Base(rows[i])
	}
	return rows
}

func runThatFails(t *testing.T) {
	dir := t.TempDir()
	o := standIn(t, "1")
	t.Setenv(standin.Fails, "a-data-120ms-r4-s1")
	got, err := execute(t, dir, o)
	if err != nil || got.Made != 3 || len(got.Failed) != 1 {
		t.Fatalf("%+v, %v, expected 3 made and 1 failed", got, err)
	}
	said := got.Failed[0].Error() // the status is that of the rank, or of those that srun ended with it
	for _, want := range []string{"run a-data-120ms-r4-s1: job ", "ended with exit status ", "(Slurm: FAILED); the last of ", "rank 1 of a-data-120ms-r4-s1 fails, as it should"} {
		if !strings.Contains(said, want) {
			t.Errorf("the failure is %q, expected %q in it", said, want)
		}
	}
	t.Setenv(standin.Fails, "")
	if got, err := execute(t, dir, o); err != nil || got.Made != 1 || got.Stood != 3 {
		t.Errorf("again: %+v, %v, expected 1 made", got, err)
	}
}

// killedAndRestarted ends an execution while its jobs wait, and takes away the
// note of one job's number, as if it had been killed before it was made.
func killedAndRestarted(t *testing.T) {
	dir := t.TempDir()
	o := standIn(t, "1")
	begin := filepath.Join(t.TempDir(), "begin")
	t.Setenv(standin.Waits, begin)
	s := spec(t, small)
	tasks, err := s.Plan()
	must(t, err)
	o.Cluster = s.Slurm
	m, err := New(dir, o)
	must(t, err)
	must(t, m.Prepare(t.Context(), tasks)) // and never again
	if n := submitted(t, dir); n != 2 {
		t.Fatalf("%d arrays were submitted, expected 2", n)
	}
	must(t, os.Remove(filepath.Join(dir, "slurm", "0001", jobName)))
	time.AfterFunc(time.Second, func() { _ = os.WriteFile(begin, nil, 0o666) })
	if got, err := execute(t, dir, o); err != nil || !cmp.Equal(got, campaign.Outcome{Made: 4}) {
		t.Errorf("%+v, %v, expected 4 made", got, err)
	}
	if n := submitted(t, dir); n != 2 {
		t.Errorf("%d arrays were submitted in all, expected the 2 to be found again", n)
	}
}

func cancelledJob(t *testing.T) {
	dir := t.TempDir()
	o := standIn(t, "1")
	begin := filepath.Join(t.TempDir(), "begin")
	t.Setenv(standin.Waits, begin)
	go func() {
		defer func() { _ = os.WriteFile(begin, nil, 0o666) }()
		for range 200 { // until one runs
			time.Sleep(100 * time.Millisecond)
			running, _ := exec.Command("squeue", "--noheader", "--array", "--states=RUNNING", "--format=%i").Output()
			if first := strings.Fields(string(running)); len(first) > 0 {
				_ = exec.Command("scancel", first[0]).Run()
				return
			}
		}
	}()
	got, err := execute(t, dir, o)
	if err != nil || got.Made != 3 || len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Error(), "(Slurm: CANCELLED") {
		t.Fatalf("%+v, %v, expected 3 made and 1 cancelled", got, err)
	}
	if got, err := execute(t, dir, o); err != nil || got.Made != 1 {
		t.Errorf("again: %+v, %v, expected 1 made", got, err)
	}
}
