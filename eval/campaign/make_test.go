package campaign

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace"
)

// making is a Maker of one function.
type making func(ctx context.Context, t *Task, keep func(*trace.Window) error) error

func (m making) Make(ctx context.Context, t *Task, keep func(*trace.Window) error) error {
	return m(ctx, t, keep)
}

// contents are the files below a folder, hidden ones too.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out[path] = text(t, dir, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWorkersChangeNothing(t *testing.T) {
	one, many := t.TempDir(), t.TempDir()
	execute(t, one, small(t), Execution{Version: "1", Workers: 1})
	execute(t, many, small(t), Execution{Version: "1", Workers: 5})
	if diff := cmp.Diff(contents(t, one), contents(t, many)); diff != "" {
		t.Errorf("one worker and five make different campaigns:\n%s", diff)
	}
}

// TestFailedRuns: a run that cannot be made is told of, leaves nothing, and is
// tried again; the others are made.
func TestFailedRuns(t *testing.T) {
	s, dir := small(t), t.TempDir()
	cause := errors.New("no such device")
	broken := making(func(ctx context.Context, task *Task, keep func(*trace.Window) error) error {
		switch task.ID {
		case "e3-data-120ms-r8-s1":
			return nil // and no window
		case "e3-forward_host-120ms-r8-s0":
			return cause
		case "e0-nofault-r8-s0":
			return keep(&trace.Window{Run: "another"})
		}
		return Simulation{}.Make(ctx, task, keep)
	})
	o := execute(t, dir, s, Execution{Version: "1", Maker: broken})
	if o.Made != 4 || o.Wanting != 3 || len(o.Failed) != 3 {
		t.Fatalf("%+v, expected 4 made and 3 failed", o)
	}
	for i, want := range []string{
		"run e3-data-120ms-r8-s1: 0 windows were recorded, expected 1",
		"run e3-forward_host-120ms-r8-s0: no such device",
		`run e0-nofault-r8-s0: a window of run "another" came, expected "e0-nofault-r8-s0"`,
	} {
		if got := o.Failed[i].Error(); !strings.HasPrefix(got, want) {
			t.Errorf("failure %d is %q, expected %q", i, got, want)
		}
	}
	if !errors.Is(o.Failed[1], cause) {
		t.Errorf("%v hides its cause", o.Failed[1])
	}
	for path := range contents(t, dir) {
		if strings.HasSuffix(path, ".tmp") || strings.Contains(path, "data-120ms-r8-s1") {
			t.Errorf("%s is there", path)
		}
	}
	if o := execute(t, dir, s, Execution{Version: "1"}); !cmp.Equal(o, Outcome{Made: 3, Stood: 4}) {
		t.Errorf("tried again: %+v, expected 3 made", o)
	}
}

// TestExecuteEndsWithItsContext: what is done is counted and stands, what was
// begun leaves nothing.
func TestExecuteEndsWithItsContext(t *testing.T) {
	s, dir := small(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int32
	m := making(func(ctx context.Context, task *Task, keep func(*trace.Window) error) error {
		if begun.Add(1) == 3 {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}
		return Simulation{}.Make(ctx, task, keep)
	})
	o, err := Execute(ctx, dir, s, Execution{Version: "1", Maker: m, Workers: 1})
	if !errors.Is(err, context.Canceled) || !cmp.Equal(o, Outcome{Made: 2, Wanting: 5}) {
		t.Errorf("%+v, %v, expected 2 made and 5 wanting", o, err)
	}
	if got := files(t, dir, runsName); len(got) != 2 {
		t.Errorf("the folder has %v, expected two archives", got)
	}
	if o := execute(t, dir, s, Execution{Version: "1"}); !cmp.Equal(o, Outcome{Made: 5, Stood: 2}) {
		t.Errorf("taken up: %+v, expected 5 made", o)
	}
}

// prepared notes what it is asked to prepare.
type prepared struct {
	Simulation
	ids *[]string
	err error
}

func (p prepared) Prepare(_ context.Context, tasks []Task) error {
	for _, t := range tasks {
		*p.ids = append(*p.ids, t.ID)
	}
	return p.err
}

func TestPreparerIsToldWhatIsWanting(t *testing.T) {
	s, dir := small(t), t.TempDir()
	execute(t, dir, s, Execution{Version: "1"})
	var ids []string
	e := Execution{Version: "1", Maker: prepared{ids: &ids}}
	if execute(t, dir, s, e); ids != nil {
		t.Errorf("asked to prepare %v when everything is done", ids)
	}
	for _, run := range []string{"e0-nofault-r8-s0", "e3-data-120ms-r8-s1"} {
		if err := os.Remove(filepath.Join(dir, rowFolder, run+".csv")); err != nil {
			t.Fatal(err)
		}
	}
	if execute(t, dir, s, e); !slices.Equal(ids, []string{"e3-data-120ms-r8-s1", "e0-nofault-r8-s0"}) {
		t.Errorf("prepared %v, expected the two that were removed, in the order of the plan", ids)
	}
	s.Groups[0].Steps = 41
	refused := errors.New("refused")
	if _, err := Execute(t.Context(), dir, s, Execution{Maker: prepared{ids: &ids, err: refused}}); !errors.Is(err, refused) {
		t.Errorf("%v, expected %v", err, refused)
	}
}

// beginning notes what Prepare may use.
type beginning struct {
	Simulation
	ctx *context.Context
}

func (b beginning) Prepare(ctx context.Context, _ []Task) error {
	*b.ctx = ctx
	return nil
}

// TestPreparerEndsWithTheExecution: what goes on in the background does not
// outlive the campaign.
func TestPreparerEndsWithTheExecution(t *testing.T) {
	var ctx context.Context
	execute(t, t.TempDir(), small(t), Execution{Version: "1", Maker: beginning{ctx: &ctx}})
	if ctx.Err() == nil {
		t.Error("the execution is over and the context of Prepare is not")
	}
}
