package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/report"
)

// hooks run the command of --exec beside what follows: one at a time, in the order of the verdicts that they are for.
type hooks struct {
	of      *watching
	command string
	limit   time.Duration // that a command may take
	grace   time.Duration // that commands may take behind the end of an idle watch

	ctx    context.Context
	cancel context.CancelFunc
	busy   parallel.Group
	last   chan struct{} // closed when the command that was begun last has ended
}

const (
	hookLimit = time.Minute
	hookGrace = 2 * time.Second
)

func newHooks(of *watching, command string) *hooks {
	h := &hooks{of: of, command: command, limit: hookLimit, grace: hookGrace, last: make(chan struct{})}
	close(h.last)
	h.ctx, h.cancel = context.WithCancel(of.c.Context)
	return h
}

// begin runs the command for a verdict as soon as those before have ended. That it fails is said, and ends nothing.
func (h *hooks) begin(j *live.Judgement, r *diagnose.RunVerdict) error {
	var in bytes.Buffer
	if err := (report.Output{W: &in, Format: report.JSON, Problems: j.Problems}).Verdict(j.Verdict); err != nil {
		return err
	}
	rank, host := "", ""
	if f := r.Answer().First; f != nil {
		host = f.Host
		if f.Rank != nil {
			rank = strconv.Itoa(*f.Rank)
		}
	}
	env := append(os.Environ(), "SFSTAT_RUN="+glyph.Visible(r.Run), "SFSTAT_STATUS="+r.Status.String(), "SFSTAT_RANK="+rank, "SFSTAT_HOST="+glyph.Visible(host))
	before, ended := h.last, make(chan struct{})
	h.last = ended
	h.busy.Go(func() {
		defer close(ended)
		<-before
		if err := h.run(&in, env); err != nil && h.of.c.Context.Err() == nil {
			h.of.p.remark(h.of.c, "%s: --exec: %v", h.of.c.Title(), err)
		}
	})
	return nil
}

func (h *hooks) run(in io.Reader, env []string) error {
	ctx, cancel := context.WithTimeout(h.ctx, h.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", h.command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = in, h.of.out, h.of.p, env
	cmd.WaitDelay = time.Second
	return cmd.Run()
}

// end waits until all commands have ended, those of an idle watch for a moment only: then they are ended.
func (h *hooks) end(found bool) {
	if h == nil {
		return
	}
	if !found {
		select {
		case <-h.last:
		case <-time.After(h.grace):
		}
		h.cancel()
	}
	h.busy.Wait()
	h.cancel()
}

// turns lets several write, one after the other.
type turns struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *turns) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(b)
}
