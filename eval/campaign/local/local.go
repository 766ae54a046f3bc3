// Package local makes the runs of a campaign on this machine, as real jobs:
// every rank is a process.
//
// A job leaves packets in a folder of its own, packets/RUN in the folder of the
// campaign, which stays; so does its program with the specification, in job,
// until the next one takes their place. What it hides was decided before it began, by the
// specification of its task, so its truth is known.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/ddp"
	"github.com/sfstat/sfstat/trace"
)

// Maker makes runs by package ddp. Ranks share the machine, so whoever
// executes a campaign with it makes one run at a time.
type Maker struct {
	Dir    string // folder of the campaign
	Python string // interpreter that has PyTorch; "": ddp.Python()
}

var (
	_ campaign.Maker    = Maker{}
	_ campaign.Preparer = Maker{}
)

// Prepare refuses what no job could do, before the first begins, and looks
// whether the interpreter has what jobs need.
func (m Maker) Prepare(ctx context.Context, tasks []campaign.Task) error {
	for i := range tasks {
		if _, err := ddp.Check(tasks[i].Spec); err != nil {
			return fmt.Errorf("run %s: %w", tasks[i].ID, err)
		}
		if tasks[i].Profiler == campaign.Nsight {
			if _, err := exec.LookPath("nsys"); err != nil {
				return fmt.Errorf("run %s: profiler nsight: install Nsight Systems (%w)", tasks[i].ID, err)
			}
		}
	}
	python := cmp.Or(m.Python, ddp.Python())
	out, err := exec.CommandContext(ctx, python, "-c", "import torch.distributed").CombinedOutput()
	switch lines := strings.Split(strings.TrimSpace(string(out)), "\n"); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("no interpreter %s: name one that has PyTorch with --python", python)
	default:
		return fmt.Errorf("%s cannot run a PyTorch job (%s): %s -m pip install torch, or name another interpreter with --python",
			python, lines[len(lines)-1], python)
	}
}

// Make launches the job of a run and keeps what it recorded. What an attempt
// before this one left is removed.
func (m Maker) Make(ctx context.Context, t *campaign.Task, keep func(*trace.Window) error) error {
	out, job := filepath.Join(m.Dir, "packets", t.ID), filepath.Join(m.Dir, "job")
	profile := t.ProfileFolder(m.Dir)
	for _, left := range []string{out, job, profile} {
		if left == "" {
			continue
		}
		if err := os.RemoveAll(left); err != nil {
			return err
		}
	}
	o := ddp.Options{Python: m.Python, Spec: t.Spec, Out: out, Paired: t.Paired, Dir: job}
	switch t.Profiler {
	case campaign.PyTorch:
		o.Profile = profile
	case campaign.Nsight:
		o.Nsight = profile
	}
	if err := ddp.Launch(ctx, o); err != nil {
		return err
	}
	if err := t.KeepPairs(m.Dir, out); err != nil {
		return err
	}
	return campaign.KeepWindows(ctx, out, keep)
}
