package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/fixtures/comm/job"
)

var update = flag.Bool("update", false, "rewrite golden files and the output shown in the documentation")

// TestMain makes the test binary serve as sfstat too, so that scripts and the
// documentation's commands run the whole program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sfstat": main})
}

// root is the folder of the module, seen from this package.
const root = "../.."

func TestScripts(t *testing.T) {
	fixtures, err := filepath.Abs(filepath.Join(root, "fixtures"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("FIXTURES", fixtures)
			env.Setenv("DDP", filepath.Join(fixtures, "ddp"))
			env.Setenv("CAMPAIGN", filepath.Join(fixtures, "campaign"))
			env.Setenv("COMM", filepath.Join(fixtures, "comm", "run"))
			env.Setenv("SOURCES", filepath.Join(fixtures, "sources"))
			env.Setenv("MONITORING", filepath.Join(fixtures, "monitoring"))
			env.Setenv("XPLANE", filepath.Join(fixtures, "xplane"))
			env.Setenv("KINETO", filepath.Join(fixtures, "kineto"))
			env.Setenv("FR", filepath.Join(fixtures, "flightrecorder"))
			env.Setenv("CAPTURED", filepath.Join(fixtures, "captured"))
			env.Setenv("OPS", filepath.Join(fixtures, "optrace"))
			env.Setenv("OPERATORS", filepath.Join(fixtures, "operators"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"lines":   lines,
			"commjob": commJob,
			"store":   store,
		},
		RequireExplicitExec: true,
	})
}

// exits CODE ARGS... runs sfstat in the background of nothing: it fails unless
// the exit code is CODE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits CODE ARGS...")
	}
	err := ts.Exec("sfstat", args[1:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, expected %s", code, args[0])
	}
}

// lines FILE N fails unless FILE (or stdout, stderr) has N lines.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	n := strings.Count(ts.ReadFile(args[0]), "\n")
	if got := strconv.Itoa(n); got != args[1] {
		ts.Fatalf("%s has %d lines, expected %s:\n%s", args[0], n, args[1], ts.ReadFile(args[0]))
	}
}

// commJob SCENARIO NODES SEED FOLDER writes logs and exports of an invented job.
func commJob(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: commjob SCENARIO NODES SEED FOLDER")
	}
	nodes, err := strconv.Atoi(args[1])
	ts.Check(err)
	seed, err := strconv.ParseUint(args[2], 10, 64)
	ts.Check(err)
	s, err := job.Scenario(args[0], nodes, seed)
	ts.Check(err)
	ts.Check(job.Write(ts.MkAbs(args[3]), s))
}

// runArgs runs the program in this process.
func runArgs(t *testing.T, in io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"sfstat"}, args...), in, &out, &errs)
	return code, out.String(), errs.String()
}

func TestPanicIsOneLineAndOurFault(t *testing.T) {
	var out, errs bytes.Buffer
	p := newProgram(strings.NewReader(""), &out, &errs)
	app := p.app()
	app.Command("selfcheck").Run = func(*cli.Context) error { panic("index out of range\nsecond line") }
	if code := p.run(app, []string{"sfstat", "selfcheck"}); code != exitInternal {
		t.Errorf("exit code %d, expected %d", code, exitInternal)
	}
	if out.Len() > 0 {
		t.Errorf("standard output holds %q", out.String())
	}
	if got := errs.String(); !strings.HasPrefix(got, "sfstat selfcheck: this is a bug in sfstat") || strings.Count(got, "\n") != 1 {
		t.Errorf("standard error holds %q, expected one line", got)
	}
}

func TestPanicShowsItsStackWhenAsked(t *testing.T) {
	var out, errs bytes.Buffer
	p := newProgram(strings.NewReader(""), &out, &errs)
	p.getenv = func(name string) string {
		if name == "SFSTAT_DEBUG" {
			return "1"
		}
		return ""
	}
	app := p.app()
	app.Command("selfcheck").Run = func(*cli.Context) error { panic("boom") }
	p.run(app, []string{"sfstat", "selfcheck"})
	if !strings.Contains(errs.String(), "main_test.go") {
		t.Errorf("no stack in %q", errs.String())
	}
}

func TestPanicRemovesOutputs(t *testing.T) {
	dir := t.TempDir()
	p := newProgram(strings.NewReader(""), io.Discard, io.Discard)
	app := p.app()
	app.Command("selfcheck").Run = func(*cli.Context) error {
		return p.writeTo(filepath.Join(dir, "out"), func(w io.Writer) error {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return err
			}
			panic("in the middle")
		})
	}
	p.run(app, []string{"sfstat", "selfcheck"})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// brokenPipe is standard output whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
}

func TestReaderThatGoesAway(t *testing.T) {
	for _, args := range [][]string{{"--print-gates"}, {"--help"}, {"simulate", "-o", "-"}, {"completion", "bash"}} {
		var errs bytes.Buffer
		if code := run(append([]string{"sfstat"}, args...), strings.NewReader(""), brokenPipe{}, &errs); code != exitUnread || errs.Len() > 0 {
			t.Errorf("%v: exit code %d and %q, expected a quiet end", args, code, errs.String())
		}
	}
}

// fullDisk is an output that fails for another reason.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

func TestOutputThatFailsIsAnError(t *testing.T) {
	for _, args := range [][]string{{"--print-gates"}, {"--help"}, {"simulate", "-o", "-"}} {
		var errs bytes.Buffer
		code := run(append([]string{"sfstat"}, args...), strings.NewReader(""), fullDisk{}, &errs)
		if code == exitDone || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit code %d and %q", args, code, errs.String())
		}
	}
}

// lockedBuffer may be written to while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestInterruptIsAllThatIsSaid interrupts work whose files are closed under
// it: the errors that follow from that are nobody's business.
func TestInterruptIsAllThatIsSaid(t *testing.T) {
	dir := t.TempDir()
	var said lockedBuffer
	p := newProgram(strings.NewReader(""), io.Discard, &said)
	app := p.app()
	over := make(chan struct{})
	app.Command("selfcheck").Run = func(*cli.Context) error {
		defer close(over)
		f, err := p.outputs.create(filepath.Join(dir, "out"))
		if err != nil {
			return err
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(os.Interrupt)
		}
		for err == nil {
			time.Sleep(time.Millisecond)
			_, err = f.Write([]byte("x"))
		}
		return err
	}
	if code := p.run(app, []string{"sfstat", "selfcheck"}); code != exitInterrupted {
		t.Errorf("exit code %d, expected %d", code, exitInterrupted)
	}
	<-over
	time.Sleep(10 * time.Millisecond) // for what carryOut might say after the command
	if got := said.String(); got != "sfstat: interrupted\n" {
		t.Errorf("standard error holds %q", got)
	}
}

// stuck is an input that never ends and never says anything.
type stuck chan struct{}

func (s stuck) Read([]byte) (int, error) {
	select {}
}

func TestInterruptEndsAWaitingProgramAndRemovesOutputs(t *testing.T) {
	dir := t.TempDir()
	var said lockedBuffer
	p := newProgram(make(stuck), io.Discard, &said)
	app := p.app()
	begun := make(chan struct{})
	app.Command("selfcheck").Run = func(*cli.Context) error {
		return p.writeTo(filepath.Join(dir, "out"), func(w io.Writer) error {
			close(begun)
			_, err := io.Copy(w, p.in)
			return err
		})
	}
	go func() {
		<-begun
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(os.Interrupt)
		}
	}()
	if code := p.run(app, []string{"sfstat", "selfcheck"}); code != exitInterrupted {
		t.Errorf("exit code %d, expected %d", code, exitInterrupted)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if got := said.String(); got != "sfstat: interrupted\n" {
		t.Errorf("standard error holds %q", got)
	}
	if _, err := p.outputs.create(filepath.Join(dir, "late")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a file can be begun after the end: %v", err)
	}
}
