package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
)

func (p *program) watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "follow a running job: one line per window, and the full verdict when it changes", ArgsUsage: "PATH...",
		Description: "Polls files and folders that recorders are writing, and judges what has changed as sfstat diagnose does: of packets that grow, the new windows " +
			"alone. A file that cannot be read yet, because it is being written or replaced, is tried again when it has changed.",
		Flags: join([]cli.Flag{
			everyFlag("", time.Second, "poll every `DURATION`"),
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
	o, err := p.liveVerdicts(c)
	if err != nil {
		return err
	}
	p.err = &once{w: p.err, seen: map[string]bool{}}
	w := watching{p: p, c: c, seen: followed{}, asked: capturing{}, failed: badInput(errors.New("nothing in any input"))}
	if err := live.New(o).Follow(c.Context, c.Duration("every"), c.Duration("idle"), w.judged); err != nil {
		return err
	}
	return w.failed
}

// watching is a command that follows.
type watching struct {
	p      *program
	c      *cli.Context
	seen   followed
	asked  capturing
	failed error // what the command ends with, if it is idle; nil once a run was judged
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

// judged says what is new of a unit. What cannot be read now may be read the next time.
func (w *watching) judged(x live.Change) error {
	switch {
	case x.Gone:
		return nil
	case x.Err != nil:
		if w.failed != nil {
			w.failed = badInput(x.Err)
		}
		w.p.remark(w.c, "%s: %s", prefix(w.c.Command.Name), oneLine(x.Err))
		return nil
	}
	j := w.p.judged(w.c, &x)
	if len(x.Verdict.Runs) == 0 {
		return nil
	}
	w.failed = nil
	w.p.capture(w.c, w.asked, j)
	for _, n := range w.seen.news(x.Verdict) {
		if err := w.tell(j, n); err != nil {
			return err
		}
	}
	return failOnVerdict(w.c, x.Verdict)
}

// tell writes a line for each new window of a run, and its screen if its verdict
// is another than before.
func (w *watching) tell(j *judgement, n news) error {
	var out bytes.Buffer
	to := report.Output{W: &out, Style: w.p.style(w.c)}
	for _, i := range n.windows {
		if err := to.Window(n.run, &n.run.Windows[i]); err != nil {
			return err
		}
	}
	if n.changed {
		out.WriteByte('\n')
		if err := to.Screen(n.run); err != nil {
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

// forget drops windows that are not among those of a verdict any more.
func (of *toldRun) forget(r *diagnose.RunVerdict) {
	if len(r.Earlier) == 0 || len(r.Windows) == 0 || len(of.windows) <= 2*len(r.Windows) {
		return
	}
	first := r.Windows[0].Main.Window
	maps.DeleteFunc(of.windows, func(key [2]int64, _ bool) bool { return key[0] < first })
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
		of.forget(r)
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
