package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
)

func (p *program) watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "follow a running job: one line per window, and the full verdict when it changes", ArgsUsage: "PATH...",
		Description: "Polls files and folders that a recorder is writing, and runs sfstat diagnose on them whenever they " +
			"change. A file that cannot be read yet, because it is being written or replaced, is tried again at the next poll.",
		Flags: join([]cli.Flag{
			&cli.DurationFlag{Name: "every", Value: 2 * time.Second, Usage: "poll every `DURATION`"},
			&cli.DurationFlag{Name: "idle", Usage: "stop when nothing has changed for `DURATION`; by default only an interrupt or --fail-on stops it"},
			&cli.StringFlag{Name: "exec", Usage: "run `COMMAND` with sh when a verdict changes, with SFSTAT_RUN, SFSTAT_STATUS, SFSTAT_RANK and SFSTAT_HOST set and the JSON verdict on standard input"},
			captureFlag(),
		}, analysisFlags(), profileFlags(), selectionFlags(), []cli.Flag{rankPatternFlag(), verdictFailOnFlag(), minGainFlag(), widthFlag()}, screenFlags()),
		UsageText: `sfstat watch runs/job-42
sfstat watch runs/job-42 --fail-on strong && echo "healthy to the end"
sfstat watch runs/job-42 --exec './page.sh "$SFSTAT_STATUS" "$SFSTAT_HOST"'`,
		Action: p.watch,
	}
}

func (p *program) watch(c *cli.Context) error {
	if slices.Contains(c.Args().Slice(), ingest.Stdin) {
		return badUsage("follows files and folders, not standard input")
	}
	every := c.Duration("every")
	if every < 10*time.Millisecond {
		return badUsage("--every is %v, expected 10ms or more", every)
	}
	if _, err := paths(c); err != nil {
		return err
	}
	p.err = &once{w: p.err, seen: map[string]bool{}}
	w := watching{p: p, c: c, seen: followed{}, asked: capturing{}}
	f := following{names: c.Args().Slice(), every: every, idle: c.Duration("idle")}
	if err := f.follow(c.Context, w.look); err != nil {
		return err
	}
	return w.failed
}

// following is how files that change are followed.
type following struct {
	names  []string
	every  time.Duration // between looks
	idle   time.Duration // after which it ends without a change; 0: never
	judged snapshot      // what was looked at before
}

// mostRestless is how many looks in a row may find changes before what is there is
// judged nevertheless.
const mostRestless = 5

// follow calls look whenever the files have changed and are still for one of our
// looks, until that fails, the context ends or nothing happens for long enough.
func (f *following) follow(ctx context.Context, look func() error) error {
	before, restless := f.judged, 0
	for changed := time.Now(); ; {
		now := snapshotOf(f.names)
		switch settled := now.equal(before); {
		case (settled || restless >= mostRestless) && !now.equal(f.judged):
			f.judged, restless = now, 0
			if err := look(); err != nil {
				return err
			}
			changed = time.Now()
		case !settled:
			restless++
			changed = time.Now()
		case f.idle > 0 && time.Since(changed) >= f.idle:
			return nil
		default:
			restless = 0
		}
		before = now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(f.every):
		}
	}
}

// snapshot is the files of paths, with sizes and times.
type snapshot []string

func snapshotOf(paths []string) snapshot {
	s := snapshot{}
	for _, path := range paths {
		_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it may be gone already
			}
			if info, err := d.Info(); err == nil && !d.IsDir() {
				s = append(s, fmt.Sprint(name, "\x00", info.Size(), "\x00", info.ModTime().UnixNano()))
			}
			return nil
		})
	}
	return s
}

func (s snapshot) equal(o snapshot) bool { return s != nil && o != nil && slices.Equal(s, o) }

// watching is a command that follows.
type watching struct {
	p      *program
	c      *cli.Context
	seen   followed
	asked  capturing
	failed error // what the command ends with, if it is idle
}

// once passes on what was not written before: the same is wrong with an input
// every time it is read.
type once struct {
	w    io.Writer
	seen map[string]bool
}

// mostRemembered bounds what once remembers.
const mostRemembered = 1000

func (o *once) Write(b []byte) (int, error) {
	if o.seen[string(b)] {
		return len(b), nil
	}
	if len(o.seen) >= mostRemembered {
		clear(o.seen)
	}
	o.seen[string(b)] = true
	return o.w.Write(b)
}

// look judges what is there and says what is new. What cannot be read now may be
// read the next time.
func (w *watching) look() error {
	w.p.outputs.forget()
	j, err := w.p.judge(w.c, func(frontier.Options) (seeing, error) { return func(auto.Item) error { return nil }, nil })
	w.failed = err
	if err != nil {
		w.p.remark(w.c, "%s: %s", prefix(w.c.Command.Name), oneLine(err))
		return nil
	}
	w.p.capture(w.c, w.asked, j)
	for _, n := range w.seen.news(j.verdict) {
		if err := w.tell(j, n); err != nil {
			return err
		}
	}
	return failOnVerdict(w.c, j.verdict)
}

// tell writes a line for each new window of a run, and its screen if its verdict
// is another than before.
func (w *watching) tell(j *judgement, n news) error {
	var out bytes.Buffer
	for _, i := range n.windows {
		fmt.Fprintln(&out, report.WindowLine(n.run, &n.run.Windows[i]))
	}
	if n.changed {
		out.WriteByte('\n')
		if err := (report.Output{W: &out, Style: w.p.style(w.c)}).Screen(n.run); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	if _, err := w.p.out.Write(out.Bytes()); err != nil {
		return err
	}
	if command := w.c.String("exec"); n.changed && command != "" {
		return w.exec(j, n.run, command)
	}
	return nil
}

// execLimit is how long a command of --exec may take.
const execLimit = time.Minute

// exec runs the command of --exec. That it fails is said, and ends nothing.
func (w *watching) exec(j *judgement, r *diagnose.RunVerdict, command string) error {
	var in bytes.Buffer
	if err := (report.Output{W: &in, Format: report.JSON, Problems: j.problems}).Verdict(j.verdict); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(w.c.Context, execLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, w.p.out, w.p.err
	rank, host := "", ""
	if len(r.Suspects) > 0 {
		host = r.Suspects[0].Host
		if r.Suspects[0].Rank != nil {
			rank = strconv.Itoa(*r.Suspects[0].Rank)
		}
	}
	cmd.Env = append(os.Environ(), "SFSTAT_RUN="+report.Visible(r.Run), "SFSTAT_STATUS="+r.Status.String(), "SFSTAT_RANK="+rank, "SFSTAT_HOST="+report.Visible(host))
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && w.c.Context.Err() == nil {
		w.p.remark(w.c, "%s: --exec: %v", prefix(w.c.Command.Name), err)
	}
	return nil
}

// followed is what was said of each run.
type followed map[string]*toldRun

type toldRun struct {
	windows map[[2]int64]bool // by number and first step
	verdict string            // what the last screen was about
}

// news is what is new of a run.
type news struct {
	run     *diagnose.RunVerdict
	windows []int // in run.Windows
	changed bool  // the verdict is another
}

// news are the runs of which something is new: windows that are complete, or are
// followed by another, and verdicts that name another status, suspect or certainty.
func (f followed) news(v *diagnose.Verdict) []news {
	var out []news
	for i := range v.Runs {
		r := &v.Runs[i]
		of := f[r.Run]
		if of == nil {
			of = &toldRun{windows: map[[2]int64]bool{}}
			f[r.Run] = of
		}
		n := news{run: r}
		for k := range r.Windows {
			m := r.Windows[k].Main
			key := [2]int64{m.Window, m.FirstStep}
			if of.windows[key] || len(m.Quality.Missing) > 0 && k == len(r.Windows)-1 {
				continue
			}
			of.windows[key] = true
			n.windows = append(n.windows, k)
		}
		if now := gist(r); now != of.verdict {
			of.verdict, n.changed = now, true
		}
		if n.changed || len(n.windows) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// gist is what of a verdict is worth a new screen.
func gist(r *diagnose.RunVerdict) string {
	if len(r.Suspects) == 0 || !r.Suspects[0].Flagged() {
		return r.Status.String()
	}
	s := &r.Suspects[0]
	rank := -1
	if s.Rank != nil {
		rank = *s.Rank
	}
	line := evidence.SourceLine{}
	if e, ok := evidence.Find[evidence.SpentIn](s.Evidence); ok {
		line = e.Source
	}
	return fmt.Sprintln(r.Status, s.Kind, s.Cause, rank, s.Host, s.Stage, s.Op, s.Group, s.Confidence, line)
}
