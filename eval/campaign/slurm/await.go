package slurm

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// questionEvery is how often Slurm is asked, in times that a run looks for its file, and
// mostUnanswered how many questions in a row may fail.
const (
	questionEvery  = 15
	mostUnanswered = 20
)

// awaited is a run whose job was submitted: an element of a batch.
type awaited struct {
	*batch
	i int
}

// queue is what Slurm said last.
type queue struct {
	mu         sync.Mutex
	live       map[element]string // what waits or runs, with the name of its array; nil: no answer
	asked      time.Time
	unanswered int   // questions in a row
	down       error // after too many of them
}

// await returns when the job of a run has ended, with an error where it did not end well.
// Jobs say so themselves, by a file; Slurm is asked for those that cannot any more.
func (m *Maker) await(ctx context.Context, a awaited) error {
	var since time.Time // when it first seemed to have ended badly
	for {
		how, err := a.readEnding(a.i)
		switch {
		case err != nil || how == good:
			return err
		case how == notEnded:
			err = m.checkMissing(ctx, a, &since)
		default:
			state := m.ask.state(ctx, a.element(a.i))
			if since.IsZero() {
				since = time.Now()
			}
			if state != "RUNNING" && state != "COMPLETING" || time.Since(since) > m.o.Patience { // else Slurm does not know yet why
				err = a.failure("ended with exit status "+string(how), state)
			}
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(m.o.Poll):
		}
	}
}

// checkMissing returns an error where Slurm does not know the job any more, and it has not said how
// it ended for a while: a shared folder may show that late. Slurm may be down for a while.
func (m *Maker) checkMissing(ctx context.Context, a awaited, since *time.Time) error {
	live, err := m.liveJobs(ctx)
	switch _, known := live[a.element(a.i)]; {
	case err != nil:
		return fmt.Errorf("%w (asked %d times; its job %s may go on, and the same command finds it again)", err, mostUnanswered, a.element(a.i))
	case known || live == nil:
		*since = time.Time{}
	case since.IsZero():
		*since = time.Now()
	case time.Since(*since) > m.o.Patience:
		return a.failure("is gone and has not said how it ended", m.ask.state(ctx, a.element(a.i)))
	}
	return nil
}

// liveJobs returns what waits or runs, as Slurm said not long ago, asked for all runs together; nil
// without an answer, which is an error only after many.
func (m *Maker) liveJobs(ctx context.Context) (map[element]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.asked) > questionEvery*m.o.Poll {
		m.asked = time.Now()
		var err error
		if m.live, err = m.ask.live(ctx, m.names); err == nil {
			m.unanswered = 0
		} else if m.unanswered++; m.unanswered >= mostUnanswered {
			m.down = err
		}
	}
	return m.live, m.down
}

// failure returns an error that describes a job that did not end well; state is Slurm's word, "" if it has forgotten the job.
func (a awaited) failure(what, state string) error {
	if state != "" {
		state = " (Slurm: " + state + ")"
	}
	said := lastLines(a.log(a.i))
	if said == "" {
		return fmt.Errorf("job %s %s%s, and printed nothing to %s", a.element(a.i), what, state, a.log(a.i))
	}
	return fmt.Errorf("job %s %s%s; the last of %s:\n%s", a.element(a.i), what, state, a.log(a.i), said)
}

// lastLines returns the end of a text file, at most some lines.
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
