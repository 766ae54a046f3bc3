package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/glyph"
)

// program is one run of sfstat: its streams, and what must be undone if
// it ends early. Commands are methods of it.
type program struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	getenv func(string) string
	disk   disk.Disk // inputs and outputs are on it

	outputs     outputs
	interrupted atomic.Bool // what fails from now on fails because of that
	windsDown   atomic.Bool // the command ends by itself, and soon, when it is interrupted

	said map[string]bool // lines that are not said again; nil: all are

	mu       sync.Mutex
	progress *progress           // on screen now; nil when none is
	bugs     map[*bug.Error]bool // that were contained
	refused  map[string]bool     // refusals that were said, as what is followed is read again and again
}

func newProgram(in io.Reader, out, err io.Writer) *program {
	p := &program{in: in, out: out, err: err, getenv: os.Getenv, refused: make(map[string]bool)}
	p.workOn(disk.OS{})
	return p
}

// workOn sets where inputs and outputs are.
func (p *program) workOn(d disk.Disk) { p.disk, p.outputs.disk = d, d }

// run runs the whole program and returns the exit code.
func run(args []string, in io.Reader, out, err io.Writer) int {
	p := newProgram(in, out, err)
	return p.run(p.app(), args)
}

// windDown is how long a command that ends by itself is waited for after an
// interrupt.
const windDown = 20 * time.Second

// run carries the command line out. The work is done in a goroutine, so that
// an interrupt ends it wherever it waits, even in a read from a terminal; what
// was half written is removed in every case. A command that has processes of
// its own to end, or something to say about what is done, is waited for; a
// second interrupt does not wait.
func (p *program) run(app *cli.App, args []string) int {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan int, 1)
	go func() { done <- p.carryOut(ctx, app, args) }()
	defer p.outputs.discard()
	ended := exitInterrupted
	select {
	case code := <-done:
		return code
	case by := <-interrupts:
		if by == syscall.SIGTERM {
			ended = exitTerminated
		}
	}
	p.interrupted.Store(true)
	cancel()
	if p.windsDown.Load() {
		select {
		case code := <-done:
			if code == exitInterrupted { // it has said so
				return ended
			}
		case <-interrupts:
		case <-time.After(windDown):
		}
	}
	p.outputs.discard()
	p.say("sfstat: interrupted")
	return ended
}

// carryOut runs the command and reports its error, if any, in one line. A
// panic is a bug of ours and never reaches the user as a stack trace, unless
// SFSTAT_DEBUG asks for it. Where one was contained, what could be judged is
// printed, and the exit code is that of a bug.
func (p *program) carryOut(ctx context.Context, app *cli.App, args []string) int {
	command := ""
	var err error
	panicked := bug.Guard("", func() {
		var req cli.Request
		req, err = app.Parse(args[min(1, len(args)):])
		if command = req.Name; err == nil {
			err = p.dispatch(ctx, app, req)
		} else {
			err = badInput(err)
		}
	})
	if panicked != nil {
		err = panicked
	}
	code := exitCode(err)
	if err != nil && !closedPipe(err) && (!p.interrupted.Load() || code == exitInterrupted) {
		p.say("%s: %s%s", prefix(command), oneLine(err), stageMeant(err))
	}
	p.note(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.bugs) > 0 && code != exitInterrupted {
		return exitInternal
	}
	return code
}

// stageMeant returns the suggestion for a stage that no window has: people leave off the words around its name.
func stageMeant(err error) string {
	var unknown *frontier.UnknownStageError
	if !errors.As(err, &unknown) {
		return ""
	}
	wholes := make(map[string]string) // stages by the words of their names
	var words []string
	for _, stage := range unknown.Stages {
		parts := strings.FieldsFunc(stage, func(r rune) bool { return strings.ContainsRune("._@/", r) })
		for _, word := range append(parts, stage) {
			if wholes[word] == "" {
				wholes[word], words = stage, append(words, word)
			}
		}
	}
	if meant := cli.Nearest(unknown.Name, words); meant != "" {
		return "; did you mean " + wholes[meant] + "?"
	}
	return ""
}

// note remembers that an error is a bug, if it is one, and shows where if SFSTAT_DEBUG asks for it.
func (p *program) note(err error) {
	b := bug.PanicOf(err)
	if b == nil {
		return
	}
	p.mu.Lock()
	known := p.bugs[b]
	if p.bugs == nil {
		p.bugs = make(map[*bug.Error]bool)
	}
	p.bugs[b] = true
	p.mu.Unlock()
	if !known && p.getenv("SFSTAT_DEBUG") != "" {
		p.say("%s", b.Stack)
	}
}

func prefix(command string) string { return strings.TrimSpace("sfstat " + command) }

// oneLine keeps the promise that an error is one line, whatever a library or
// a hostile file name put into it.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	return glyph.Visible(strings.Join(lines, "; "))
}

// say writes a line to standard error, clear of a progress bar.
func (p *program) say(format string, args ...any) {
	line := fmt.Sprintf(format+"\n", args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said[line] {
		return
	}
	if p.progress != nil {
		p.progress.clear()
	}
	fmt.Fprint(p.err, line)
	if len(p.said) >= mostSaid {
		clear(p.said)
	}
	if p.said != nil {
		p.said[line] = true
	}
}

// Write passes on what another program says on standard error.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.progress != nil {
		p.progress.clear()
	}
	return p.err.Write(b)
}

// mostSaid bounds what is remembered of what was said.
const mostSaid = 1000

// dedupeMessages makes the program print each message once: an input has the same fault every time it is read.
func (p *program) dedupeMessages() { p.said = make(map[string]bool) }

// remark prints a remark.
func (p *program) remark(c *cli.Context, format string, args ...any) {
	if !c.Bool("quiet") {
		p.say(format, args...)
	}
}
