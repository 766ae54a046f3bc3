package slurm

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sfstat/sfstat/internal/bug"
)

// longestPoll is the longest time between two questions to Slurm, and
// mostUnanswered how many of them in a row may fail.
const (
	longestPoll    = 30 * time.Second
	mostUnanswered = 20
)

// awaited is a run whose job was submitted.
type awaited struct {
	batch *batch
	i     int           // in the batch
	over  chan struct{} // closed when the job has ended, or is given up
	err   error         // how, if not well; to be read after over

	missed time.Time // since when Slurm does not know it; zero: it does
	failed time.Time // since when it is known to have ended badly; zero: it is not
}

func newAwaited(b *batch, i int) *awaited {
	return &awaited{batch: b, i: i, over: make(chan struct{})}
}

func (a *awaited) end(err error) {
	a.err = err
	close(a.over)
}

// watch looks how jobs end, until all have or ctx does. Jobs say so themselves,
// by a file; Slurm is asked for those that cannot any more.
func (m *Maker) watch(ctx context.Context) {
	pending := make(map[*awaited]bool)
	var panicked error
	defer func() {
		if panicked != nil {
			for a := range pending {
				a.end(panicked)
			}
		}
	}()
	defer bug.Contain("", &panicked)
	for _, a := range m.runs {
		pending[a] = true
	}
	wait, unanswered := m.o.Poll, 0
	for {
		before := len(pending)
		m.settle(ctx, pending)
		if len(pending) == 0 {
			return
		}
		live, err := m.ask.live(ctx, namesOf(pending))
		if unanswered++; err == nil {
			unanswered = 0
			m.missing(ctx, pending, live)
		}
		if unanswered == mostUnanswered {
			for a := range pending {
				a.end(fmt.Errorf("%w (asked %d times; its job %s may go on, and the same command finds it again)", err, unanswered, a.batch.element(a.i)))
			}
			return
		}
		if wait = min(2*wait, max(longestPoll, m.o.Poll)); len(pending) < before {
			wait = m.o.Poll
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func namesOf(pending map[*awaited]bool) []string {
	seen := make(map[string]bool)
	var names []string
	for a := range pending {
		if !seen[a.batch.name] {
			seen[a.batch.name] = true
			names = append(names, a.batch.name)
		}
	}
	return names
}

// settle ends those that have said how they ended.
func (m *Maker) settle(ctx context.Context, pending map[*awaited]bool) {
	for a := range pending {
		how, err := a.batch.ended(a.i)
		switch {
		case err != nil:
			a.end(err)
		case how == notEnded:
			continue
		case how == good:
			a.end(nil)
		default:
			state := m.ask.state(ctx, a.batch.element(a.i))
			if a.failed.IsZero() {
				a.failed = time.Now()
			}
			if (state == "RUNNING" || state == "COMPLETING") && time.Since(a.failed) < m.o.Patience {
				continue // Slurm does not know yet why it ended
			}
			a.end(failure(a, "ended with exit status "+string(how), state))
		}
		delete(pending, a)
	}
}

// missing ends those that Slurm does not know any more, and that have not said
// how they ended for a while: a shared folder may show that late.
func (m *Maker) missing(ctx context.Context, pending map[*awaited]bool, live map[element]bool) {
	for a := range pending {
		switch {
		case live[a.batch.element(a.i)]:
			a.missed = time.Time{}
		case a.missed.IsZero():
			a.missed = time.Now()
		case time.Since(a.missed) > m.o.Patience:
			a.end(failure(a, "is gone and has not said how it ended", m.ask.state(ctx, a.batch.element(a.i))))
			delete(pending, a)
		}
	}
}

// failure says what is known about a job that did not end well; state is
// Slurm's word, "" if it has forgotten the job.
func failure(a *awaited, what, state string) error {
	if state != "" {
		state = " (Slurm: " + state + ")"
	}
	said := lastLines(a.batch.log(a.i))
	if said == "" {
		return fmt.Errorf("job %s %s%s, and printed nothing to %s", a.batch.element(a.i), what, state, a.batch.log(a.i))
	}
	return fmt.Errorf("job %s %s%s; the last of %s:\n%s", a.batch.element(a.i), what, state, a.batch.log(a.i), said)
}

// lastLines are the end of a text file, at most some lines of it.
func lastLines(path string) string {
	const bytes, lines = 4096, 8
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > bytes {
		_, _ = f.Seek(-bytes, io.SeekEnd) // or from the beginning
	}
	text := make([]byte, bytes)
	n, _ := io.ReadFull(f, text) // or what there is
	all := strings.Split(strings.TrimSpace(string(text[:n])), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
