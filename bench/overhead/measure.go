package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/ddp"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/trace"
)

// size is the runs of one number of ranks that are done.
type size struct {
	ranks    int
	rounds   []campaign.Round
	tooLong  bool          // a run did not end within the limit
	failed   error         // of runs that failed for another reason
	analysis time.Duration // of a window, from file to verdict; 0: no run is done
}

// warmup is the steps before anything is timed: connections, buckets and threads are made in them.
const warmup = 3

// spec returns the campaign of a size.
func (s *settings) spec(ranks int) *campaign.Spec {
	steps := warmup
	g := campaign.Group{Name: "overhead", Published: "E1", Families: []simulate.Family{simulate.NoFault}, Ranks: []int{ranks},
		Windows: s.windows, Steps: s.steps, Warmup: &steps}
	for seed := range s.runs {
		g.Seeds = append(g.Seeds, uint64(seed))
	}
	g.Recorder, g.Realtime = s.arms, s.realtime
	return &campaign.Spec{Name: fmt.Sprintf("overhead-r%d", ranks), Runner: campaign.Local, Groups: []campaign.Group{g}}
}

// errTooLong is what a run that does not end within the limit fails with, and all runs of its size after it.
var errTooLong = errors.New("the run did not end within the limit")

// timeLimit makes runs that end within a time.
type timeLimit struct {
	ddp.Maker
	limit time.Duration
	over  bool
}

// Make makes a run. The first that takes too long is the last that is tried.
func (m *timeLimit) Make(ctx context.Context, t *campaign.Task, keep func(*trace.Window) error) error {
	if m.over {
		return errTooLong
	}
	own, cancel := context.WithTimeout(ctx, m.limit)
	defer cancel()
	err := m.Maker.Make(own, t, keep)
	if err != nil && ctx.Err() == nil && errors.Is(own.Err(), context.DeadlineExceeded) {
		m.over = true
		return errTooLong
	}
	return err
}

// measure makes the runs of a size that are not done, and reads all that are.
func (s *settings) measure(ctx context.Context, ranks int, log io.Writer) (size, error) {
	dir := filepath.Join(s.out, "campaigns", fmt.Sprintf("r%d", ranks))
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return size{ranks: ranks}, err
	}
	version, err := ddp.Digest()
	if err != nil {
		return size{ranks: ranks}, err
	}
	maker := &timeLimit{Maker: ddp.Maker{Dir: dir, Python: s.python, Sfstat: s.sfstat}, limit: s.limit}
	told := -1
	o, err := campaign.Execute(ctx, dir, s.spec(ranks), campaign.Execution{Version: version, Maker: maker, Workers: 1, Progress: func(done, total int) {
		if done != told {
			fmt.Fprintf(log, "%d ranks: %d of %d runs\n", ranks, done, total)
			told = done
		}
	}})
	if err != nil {
		return size{ranks: ranks}, err
	}
	done, err := read(dir, ranks)
	done.tooLong = maker.over
	for _, f := range o.Failed {
		if !errors.Is(f, errTooLong) {
			done.failed = errors.Join(done.failed, fmt.Errorf("%d ranks: %w", ranks, f))
		}
	}
	return done, err
}

// read takes the rounds of the runs of a folder that are done, and how long the analysis of a window of the first takes.
func read(dir string, ranks int) (size, error) {
	all := size{ranks: ranks}
	folder, err := campaign.Open(nil, dir)
	if err != nil {
		return all, err
	}
	for i := range folder.Tasks {
		t := &folder.Tasks[i]
		if _, err := os.Stat(folder.Row(t)); err != nil {
			continue
		}
		rounds, err := t.Rounds(nil, dir)
		if err != nil {
			return all, err
		}
		all.rounds = append(all.rounds, rounds...)
		if all.analysis == 0 {
			if all.analysis, err = analyse(folder.Archive(t)); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// repetitions of an analysis; the fastest counts, which least else disturbed.
const repetitions = 7

// analyse returns how long a window takes from the archive of its run to the verdict, the run shared among its windows.
func analyse(archive string) (best time.Duration, err error) {
	for range repetitions {
		windows, begin := 0, time.Now()
		in, err := auto.Open([]string{archive}, auto.Options{})
		if err != nil {
			return 0, err
		}
		session := diagnose.New(diagnose.Options{})
		for j, err := range in.Jobs() {
			if err == nil {
				windows++
				err = session.Add(j.Windows[0])
			}
			if err != nil {
				return 0, errors.Join(err, in.Close())
			}
		}
		session.Verdict()
		took := time.Since(begin) / time.Duration(max(1, windows))
		if err := in.Close(); err != nil {
			return 0, err
		}
		if best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// writePairs writes the rounds of each size and arm, as sfstat overhead --pairs and Table 7 read them.
func writePairs(out string, sizes []size) error {
	dir := filepath.Join(out, campaign.OverheadName)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for i := range sizes {
		for _, arm := range sizes[i].arms() {
			path := filepath.Join(dir, fmt.Sprintf("%d-gloo-%v.csv", sizes[i].ranks, arm))
			if err := atomicfile.WriteFile(path, func(w io.Writer) error { return campaign.WriteRounds(w, sizes[i].roundsOf(arm)) }); err != nil {
				return err
			}
		}
	}
	return nil
}
