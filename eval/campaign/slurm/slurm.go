// Package slurm makes the runs of a campaign on a cluster with Slurm.
//
// Runs of one size become an array of jobs, a job for each run, in it a task
// for each rank. What is handed in lies in slurm/NNNN of the campaign's folder,
// with what each job printed, recorded (packets/RUN) and how it ended. Arrays
// share nothing: a job that was submitted for what a run once was neither reads
// nor writes what belongs to the run as it is. All nodes must see the folder
// under the same path.
//
// Jobs go on when the program that submitted them ends, however it ends. The
// next one finds them: by how they ended, which they note in their folder, and by
// the name of the job in Slurm's queue, which no other has. So nothing is submitted
// twice. A run is taken from an earlier array only if
// specification and version are the same, and if that did not fail.
package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/ddp"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// mostElements is how many jobs an array may have where Slurm is as it comes
// (MaxArraySize 1001).
const mostElements = 1000

// Options of a Maker.
type Options struct {
	Cluster  campaign.Cluster
	Version  string        // of this program; runs of another are made anew
	Python   string        // interpreter that has PyTorch; "": ddp.Python()
	DryRun   bool          // everything is written, nothing submitted: Prepare ends with *NotSubmitted
	Poll     time.Duration // how often a run looks whether its job has ended; 0: two seconds
	Patience time.Duration // how long an ended job may not have said how it ended; 0: a minute
}

// NotSubmitted is how a dry run ends.
type NotSubmitted struct {
	Dir     string // where the scripts are
	Batches int
	Runs    int
}

func (e *NotSubmitted) Error() string {
	return fmt.Sprintf("%d arrays of %d runs are written to %s and not submitted", e.Batches, e.Runs, e.Dir)
}

// Maker makes runs as jobs of Slurm.
type Maker struct {
	o   Options
	dir string // of the campaign, absolute
	ask scheduler

	// After Prepare: the runs, and the names of all arrays.
	runs  map[string]awaited
	names []string
	queue
}

var (
	_ campaign.Maker    = (*Maker)(nil)
	_ campaign.Preparer = (*Maker)(nil)
)

// MostWorkers is with how many workers at the most a campaign is executed by a
// Maker. A worker does little but wait, so there may be as many as runs; but it
// holds the archive of its run open.
const MostWorkers = 200

// New makes runs of the campaign in the folder dir. Execute it with as many
// workers as it has runs, up to MostWorkers.
func New(dir string, o Options) (*Maker, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(dir, "\"%\\\r\n") {
		return nil, input.At(input.Pos{File: dir}, input.Bad(input.ErrFormat, `sbatch cannot take a path with one of " %% \ in it: choose another folder`))
	}
	o.Python = cmp.Or(o.Python, ddp.Python())
	o.Poll = cmp.Or(o.Poll, 2*time.Second)
	o.Patience = cmp.Or(o.Patience, time.Minute)
	return &Maker{o: o, dir: dir, ask: commands, runs: make(map[string]awaited)}, nil
}

// path returns where batches lie.
func (m *Maker) path() string { return filepath.Join(m.dir, "slurm") }

// Prepare finds the runs that were submitted before, and submits the others.
func (m *Maker) Prepare(ctx context.Context, tasks []campaign.Task) error {
	if m.o.DryRun {
		return m.dryRun(tasks)
	}
	if err := m.find(ctx, tasks); err != nil {
		return err
	}
	var wanting []*campaign.Task
	for i := range tasks {
		if m.runs[tasks[i].ID].batch == nil {
			wanting = append(wanting, &tasks[i])
		}
	}
	written, err := m.write(m.path(), wanting)
	if err != nil {
		return err
	}
	for _, b := range written {
		job, err := m.ask.submit(ctx, filepath.Join(b.dir, scriptName))
		if err != nil {
			return err // it may have been submitted nevertheless: the next execution asks for its name
		}
		if err := b.noteJob(job); err != nil {
			return err
		}
		for i := range b.entries {
			m.runs[b.entries[i].run] = awaited{b, i}
		}
		m.names = append(m.names, b.name)
	}
	return nil
}

// dryRun writes what would be submitted if nothing had been before.
func (m *Maker) dryRun(tasks []campaign.Task) error {
	dir := filepath.Join(m.path(), "dry-run")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	var all []*campaign.Task
	for i := range tasks {
		all = append(all, &tasks[i])
	}
	written, err := m.write(dir, all)
	if err != nil {
		return err
	}
	return &NotSubmitted{Dir: dir, Batches: len(written), Runs: len(tasks)}
}

// find takes up the runs that earlier executions submitted.
func (m *Maker) find(ctx context.Context, tasks []campaign.Task) error {
	before, err := batches(m.path())
	if err != nil || len(before) == 0 {
		return err
	}
	for _, b := range before {
		m.names = append(m.names, b.name)
	}
	live, err := m.ask.live(ctx, m.names)
	if err != nil {
		return err
	}
	numbers := make(map[string]string) // of arrays whose number nobody came to note
	for e, name := range live {
		numbers[name], _, _ = strings.Cut(string(e), "_")
	}
	for _, b := range before {
		if job := numbers[b.name]; b.job == "" && job != "" {
			if err := b.noteJob(job); err != nil {
				return err
			}
		}
		if err := m.takeUp(b, live, tasks); err != nil {
			return err
		}
	}
	return nil
}

// takeUp waits for the runs of a batch that are wanted as they are there, and
// have not failed.
func (m *Maker) takeUp(b *batch, live map[element]string, tasks []campaign.Task) error {
	for i, e := range b.entries {
		wanted := slices.ContainsFunc(tasks, func(t campaign.Task) bool {
			return e == entry{t.ID, t.Hash, m.o.Version}
		})
		if !wanted {
			continue
		}
		how, err := b.readEnding(i)
		if err != nil {
			return err
		}
		if _, waits := live[b.element(i)]; how == good || how == notEnded && waits {
			m.runs[e.run] = awaited{b, i}
		}
	}
	return nil
}

// kind is what runs of one array have in common; arguments are further words for the
// program.
type kind struct {
	ranks     int
	arguments string
}

// write makes the batches of tasks, in their order.
func (m *Maker) write(dir string, tasks []*campaign.Task) ([]*batch, error) {
	var kinds []kind
	of := make(map[kind][]*campaign.Task)
	for _, t := range tasks {
		k := kind{t.Spec.Ranks, strings.Join(ddp.Arguments(t), "\x00")}
		if of[k] == nil {
			kinds = append(kinds, k)
		}
		of[k] = append(of[k], t)
	}
	var out []*batch
	for _, k := range kinds {
		for part := range slices.Chunk(of[k], mostElements) {
			b, err := newBatch(dir, part, m.o.Version, m.fill)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
	}
	return out, nil
}

// fill writes what the jobs of a batch execute: specifications, program and
// script.
func (m *Maker) fill(b *batch, tasks []*campaign.Task) error {
	for _, t := range tasks {
		if err := ddp.WriteSpec(filepath.Join(b.dir, specsName, t.ID+".json"), t); err != nil {
			return fmt.Errorf("run %s: %w", t.ID, err)
		}
	}
	installed, err := ddp.Install(filepath.Join(b.dir, programName))
	if err != nil {
		return err
	}
	var text strings.Builder
	err = scriptText.Execute(&text, &script{Name: b.name, Runs: len(tasks), Ranks: tasks[0].Spec.Ranks, Batch: b.dir, PythonPath: installed.PythonPath,
		Words: slices.Concat([]string{m.o.Python, installed.Job}, ddp.Arguments(tasks[0])), Cluster: m.o.Cluster})
	if err != nil {
		return err
	}
	return atomicfile.WriteText(filepath.Join(b.dir, scriptName), text.String())
}

// Make waits for the job of a run and keeps what it recorded.
func (m *Maker) Make(ctx context.Context, t *campaign.Task, keep func(*trace.Window) error) error {
	a := m.runs[t.ID] // Prepare was told of it
	if err := m.await(ctx, a); err != nil {
		return err
	}
	err := campaign.KeepWindows(ctx, t.PacketFolder(a.packets(a.i)), keep)
	if err == nil {
		err = t.KeepRounds(m.dir, a.packets(a.i))
	}
	if err != nil && ctx.Err() == nil {
		err = errors.Join(fmt.Errorf("packets of job %s: %w", a.element(a.i), err), a.refuse(a.i))
	}
	return err
}
