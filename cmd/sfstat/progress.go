package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
)

// progressDelay is how long work must last before a bar is worth looking at.
const progressDelay = 500 * time.Millisecond

// progress shows on a terminal how far the work is.
type progress struct {
	what  work
	w     io.Writer
	now   func() time.Time
	since time.Time
	bar   *progressbar.ProgressBar // nil until the work has taken a while
}

// work is what a bar is about, in a word.
type work string

const (
	readingInputs work = "reading" // counted in bytes
	judging       work = "judging" // counted in bytes
	makingRuns    work = "running" // counted in runs
)

func newProgress(what work, w io.Writer, now func() time.Time) *progress {
	return &progress{what: what, w: w, now: now, since: now()}
}

// update shows done of total; a total of 0 or less is unknown.
func (p *progress) update(done, total int64) {
	if total <= 0 {
		total = -1
	}
	if p.bar == nil {
		if p.now().Sub(p.since) < progressDelay {
			return
		}
		counted := progressbar.OptionShowBytes(true)
		if p.what == makingRuns {
			counted = progressbar.OptionShowCount()
		}
		// Drawn by updates alone: with an interval of its own, a bar of unknown
		// length goes on drawing after it was cleared.
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetDescription(string(p.what)), counted,
			progressbar.OptionSetSpinnerChangeInterval(0), progressbar.OptionSetWriter(p.w), progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	if total > 0 && total != p.bar.GetMax64() {
		p.bar.ChangeMax64(total)
	}
	_ = p.bar.Set64(done) // a bar that cannot be drawn is no reason to stop
}

// clear takes the bar off the screen; the next update draws it again.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// showProgress begins a bar when there is a terminal to show it on, and
// returns what the work reports to; nil when nothing is shown.
func (p *program) showProgress(c *cli.Context, what work) func(done, total int64) {
	if _, ok := terminal(p.err); !ok || c.Bool("quiet") || c.Bool("no-progress") || p.getenv("TERM") == "dumb" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress = newProgress(what, p.err, time.Now)
	return func(done, total int64) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.progress != nil {
			p.progress.update(done, total)
		}
	}
}

// hideProgress ends the bar, if there is one.
func (p *program) hideProgress() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.progress != nil {
		p.progress.clear()
		p.progress = nil
	}
}
