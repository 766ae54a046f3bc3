package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// inWatch calls f with the flags of sfstat watch over paths.
func inWatch(t *testing.T, f func(*program, *cli.Context) error, paths ...string) {
	t.Helper()
	inCommand(t, f, append([]string{"watch"}, paths...)...)
}

// inCommand calls f in place of a command, with its flags.
func inCommand(t *testing.T, f func(*program, *cli.Context) error, args ...string) {
	t.Helper()
	p := newProgram(nil, io.Discard, io.Discard)
	app := p.app()
	for _, command := range app.Commands {
		if command.Name == args[0] {
			command.Run = func(c *cli.Context) error { return f(p, c) }
		}
	}
	if code := p.carryOut(context.Background(), app, append([]string{"sfstat"}, args...)); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// simulated is the lines of packets that sfstat simulate writes.
func simulated(t *testing.T, args ...string) [][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.jsonl")
	p := newProgram(nil, io.Discard, io.Discard)
	if code := p.carryOut(context.Background(), p.app(), slices.Concat([]string{"sfstat", "simulate"}, args, []string{"-o", path})); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(bytes.Lines(text))
}

// verdictText is the JSON of runs.
func verdictText(t *testing.T, v *diagnose.Verdict) string {
	t.Helper()
	var b bytes.Buffer
	if err := (report.Output{W: &b, Format: report.JSON}).Verdict(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFollowing: a recording that grows by lines gives at the end the verdict that it
// gives when it is read at once, and no window is read twice meanwhile.
func TestFollowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.jsonl")
	lines := simulated(t, "--windows", "12", "--steps", "8", "--fault", "data")
	inWatch(t, func(p *program, c *cli.Context) error {
		o, err := p.liveVerdicts(c)
		if err != nil {
			return err
		}
		read := 0
		o.See = func(recorded.Job) { read++ }
		f := live.New(o)
		var last *diagnose.Verdict
		for from, n := 0, 0; from < len(lines); from += n {
			n = min(max(11, n-3), len(lines)-from)
			if err := os.WriteFile(path, slices.Concat(lines[:from+n]...), 0o600); err != nil {
				return err
			}
			if _, err := f.Look(c.Context, func(x live.Change) error { last = x.Verdict; return x.Err }); err != nil {
				return err
			}
		}
		whole, err := p.judge(c, o.Diagnosis, func(recorded.Job) error { return nil })
		if err != nil {
			return err
		}
		if got, want := verdictText(t, last), verdictText(t, whole.Verdict); got != want {
			t.Errorf("the verdict differs from that of all at once:\n%s\nwant\n%s", got, want)
		}
		if first := 2; read != first+12 { // at the first look it is read whole, and once more when it grows
			t.Errorf("%d windows were read, want %d", read, first+12)
		}
		return nil
	}, filepath.Dir(path))
}

// TestFollowingBadLine: a recording in which one rank's file has a bad line gives, at each
// look, the verdict of all at once.
func TestFollowingBadLine(t *testing.T) {
	const ranks, windows, bad = 4, 12, 5
	dir := t.TempDir()
	lines := simulated(t, "--ranks", "4", "--windows", "12", "--steps", "8", "--fault", "data")
	inWatch(t, func(p *program, c *cli.Context) error {
		o, err := p.liveVerdicts(c)
		if err != nil {
			return err
		}
		f := live.New(o)
		var last live.Change
		for w := range windows {
			for rank, packet := range lines[w*ranks : (w+1)*ranks] {
				if w == bad && rank == 1 {
					packet = []byte("{\"schema\":7}\n")
				}
				if err := appended(filepath.Join(dir, string(rune('0'+rank))+".jsonl"), packet); err != nil {
					return err
				}
			}
			if _, err := f.Look(c.Context, func(x live.Change) error { last = x; return x.Err }); err != nil {
				return err
			}
			whole, err := p.judge(c, o.Diagnosis, func(recorded.Job) error { return nil })
			if err != nil {
				return err
			}
			if got, want := verdictText(t, last.Verdict), verdictText(t, whole.Verdict); got != want {
				t.Errorf("window %d: the verdict differs from that of all at once:\n%s\nwant\n%s", w, got, want)
			}
			if got, want := refusals(last.Problems), refusals(whole.Problems); !slices.Equal(got, want) || len(got) > 1 || len(got) == 1 != (w >= bad) {
				t.Errorf("window %d: problems %q, want %q", w, got, want)
			}
		}
		return nil
	}, dir)
}

func appended(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// TestFollowingForLong: of a run that goes on, its last windows are kept, and these alone are
// read again for a page.
func TestFollowingForLong(t *testing.T) {
	t.Parallel()
	const ranks, windows, steps = 16, 700, 30 // 4,096 steps in a stretch
	path := filepath.Join(t.TempDir(), "job.jsonl")
	lines := simulated(t, "--ranks", "16", "--windows", "700", "--steps", "30", "--fault", "data")
	inWatch(t, func(p *program, c *cli.Context) error {
		o, err := p.liveVerdicts(c)
		if err != nil {
			return err
		}
		f := live.New(o)
		var last *diagnose.RunVerdict
		for n := ranks; n <= len(lines); n = min(n+20*ranks, max(len(lines), n+1)) {
			if err := os.WriteFile(path, slices.Concat(lines[:n]...), 0o600); err != nil {
				return err
			}
			if _, err := f.Look(c.Context, func(x live.Change) error { last = &x.Verdict.RunVerdict; return x.Err }); err != nil {
				return err
			}
		}
		kept, before := len(last.Windows), 0
		if last.Earlier != nil {
			before = last.Earlier.Windows
		}
		if kept+before != windows || kept*steps > 8192+steps || before == 0 {
			t.Errorf("%d windows are kept and %d before them, of %d", kept, before, windows)
		}
		read := 0
		again, err := f.Anew(c.Context, last.Run, func(trace.Recording) error { read++; return nil })
		if err != nil {
			return err
		}
		if *again.Verdict.Runs[0].Earlier != *last.Earlier {
			t.Errorf("before them are %v, want %v", again.Verdict.Runs[0].Earlier, last.Earlier)
		}
		if read != kept && read != kept+1 { // the first account may begin in the window before
			t.Errorf("%d windows were read again, of %d that are kept", read, kept)
		}
		return nil
	}, filepath.Dir(path))
}

// TestFollowingSlowly: that nothing happens for a long time between two windows does not
// make the windows before be read again.
func TestFollowingSlowly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.jsonl")
	p := newProgram(nil, io.Discard, io.Discard)
	if code := p.carryOut(context.Background(), p.app(), []string{"sfstat", "simulate", "--windows", "5", "--steps", "8", "-o", path}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(bytes.Lines(text))
	ranks := len(lines) / 5
	inWatch(t, func(_ *program, c *cli.Context) error {
		o, err := newProgram(nil, io.Discard, io.Discard).liveVerdicts(c)
		if err != nil {
			return err
		}
		var read []int
		n := 0
		o.See = func(recorded.Job) { n++ }
		f := live.New(o)
		for windows := range 5 {
			n = 0
			if err := os.WriteFile(path, slices.Concat(lines[:(windows+1)*ranks]...), 0o600); err != nil {
				return err
			}
			for range 20 {
				if _, err := f.Look(c.Context, func(x live.Change) error { return x.Err }); err != nil {
					return err
				}
			}
			read = append(read, n)
		}
		if want := []int{1, 2, 1, 1, 1}; !slices.Equal(read, want) {
			t.Errorf("windows read at each: %v, want %v: all once more when it is known to grow, then the new one alone", read, want)
		}
		return nil
	}, filepath.Dir(path))
}

// TestFollowingFolders: files of one run that only reading shows, files that go and
// files that break.
func TestFollowingFolders(t *testing.T) {
	dir := t.TempDir()
	table := func(rank string) string {
		return "step,rank,data_ms,backward_ms\n" + strings.Join([]string{"0," + rank + ",10,90", "1," + rank + ",10,90", "2," + rank + ",10,90"}, "\n") + "\n"
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("x/job.csv", table("0"))
	inWatch(t, func(p *program, c *cli.Context) error {
		o, err := p.liveVerdicts(c)
		if err != nil {
			return err
		}
		f := live.New(o)
		runs := map[string][]string{} // by unit
		note := func(x live.Change) error {
			delete(runs, x.Key)
			if x.Verdict != nil {
				for i := range x.Verdict.Runs {
					runs[x.Key] = append(runs[x.Key], x.Verdict.Runs[i].Run)
				}
			}
			return nil
		}
		expect := func(what string, want ...string) {
			t.Helper()
			for range 5 {
				if _, err := f.Look(c.Context, note); err != nil {
					t.Fatal(err)
				}
			}
			if got := slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(runs))...))); !slices.Equal(got, want) {
				t.Errorf("%s: runs %q, want %q", what, got, want)
			}
		}
		expect("one", "job.csv")
		put("y/job.csv", table("0"))
		expect("another of its name", "job.csv", "y/job.csv")
		put("y/job.csv", "step,rank\nnonsense\n")
		expect("which breaks", "job.csv")
		if err := os.RemoveAll(filepath.Join(dir, "y")); err != nil {
			return err
		}
		expect("and goes", "job.csv")
		return nil
	}, dir)
}

// TestLight: what serve keeps of a run is what all engines find of it.
func TestLight(t *testing.T) {
	inWatch(t, func(p *program, c *cli.Context) error {
		answers := func(light bool) (out []string) {
			o, err := p.liveVerdicts(c)
			if err != nil {
				t.Fatal(err)
			}
			o.Light = light
			_, err = live.New(o).Look(c.Context, func(x live.Change) error {
				for i := range x.Verdict.Runs {
					r := &x.Verdict.Runs[i]
					first := diagnose.Finding{}
					if len(r.Findings) > 0 {
						first = r.Findings[0]
					}
					out = append(out, fmt.Sprint(r.Run, r.Status, first.Kind, first.Cause, first.Confidence, ": ", report.Headline(r)))
				}
				return x.Err
			})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if light, all := answers(true), answers(false); !slices.Equal(light, all) || len(all) < 2 {
			t.Errorf("light\n%q\nall engines\n%q", light, all)
		}
		return nil
	}, filepath.Join(root, "fixtures", "ddp"))
}
