package ddp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/trace"
)

// Maker makes runs of a campaign on this machine, every rank a process. Ranks share
// the machine, so whoever executes a campaign with it makes one run at a time.
//
// A job leaves packets in a folder of its own, packets/RUN in the folder of the
// campaign, which stays; so does its program with the specification, in job, until
// the next one takes their place.
type Maker struct {
	Dir    string // folder of the campaign
	Python string // interpreter that has PyTorch; "": Python()
	Sfstat string // this program, for arm sample
}

var (
	_ campaign.Maker    = Maker{}
	_ campaign.Preparer = Maker{}
)

// Python returns the default interpreter: $SFSTAT_PYTHON, or python3.
func Python() string { return cmp.Or(os.Getenv("SFSTAT_PYTHON"), "python3") }

// Prepare looks whether what jobs need is installed, before the first begins.
func (m Maker) Prepare(ctx context.Context, tasks []campaign.Task) error {
	for i := range tasks {
		if tasks[i].Profiler == campaign.Nsight {
			if _, err := exec.LookPath("nsys"); err != nil {
				return fmt.Errorf("run %s: profiler nsight: install Nsight Systems (%w)", tasks[i].ID, err)
			}
		}
	}
	python := cmp.Or(m.Python, Python())
	out, err := exec.CommandContext(ctx, python, "-c", "import torch.distributed").CombinedOutput()
	switch lines := strings.Split(strings.TrimSpace(string(out)), "\n"); {
	case err == nil:
		return m.prepareArms(ctx, python, tasks)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("no interpreter %s: name one that has PyTorch with --python", python)
	default:
		return fmt.Errorf("%s cannot run a PyTorch job (%s): %s -m pip install torch, or name another interpreter with --python",
			python, lines[len(lines)-1], python)
	}
}

// mayHurry is a program that fails where a process may not have real-time priority.
const mayHurry = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"

// prepareArms looks whether what the arms of runs need is there.
func (m Maker) prepareArms(ctx context.Context, python string, tasks []campaign.Task) error {
	for i := range tasks {
		t := &tasks[i]
		if slices.Contains(t.Arms, campaign.Sample) {
			if _, err := exec.LookPath(m.Sfstat); err != nil {
				return fmt.Errorf("run %s: arm sample needs the program sfstat (%w)", t.ID, err)
			}
		}
		if t.Realtime && exec.CommandContext(ctx, python, "-c", mayHurry).Run() != nil && ctx.Err() == nil {
			return fmt.Errorf("run %s: realtime: %s may not have real-time priority, which needs Linux and CAP_SYS_NICE, as root has: leave realtime out", t.ID, python)
		}
	}
	return nil
}

// Make runs the job of a run and keeps what it recorded. What an attempt before this
// one left is removed. When a rank fails, or ctx ends, all are killed with all that
// they have started; the failure is a [*RankError].
func (m Maker) Make(ctx context.Context, t *campaign.Task, keep func(*trace.Window) error) error {
	dir, err := filepath.Abs(m.Dir)
	if err != nil {
		return err
	}
	out, job, profile := filepath.Join(dir, campaign.PacketsName, t.ID), filepath.Join(dir, "job"), t.ProfileFolder(dir)
	for _, left := range []string{out, job, profile} {
		if left == "" {
			continue
		}
		if err := os.RemoveAll(left); err != nil {
			return err
		}
		if err := os.MkdirAll(left, 0o777); err != nil {
			return err
		}
	}
	installed, err := Install(job)
	if err != nil {
		return err
	}
	file := filepath.Join(job, "spec.json")
	if err := WriteSpec(file, t); err != nil {
		return err
	}
	w := World{Python: m.Python, Ranks: t.Spec.Ranks, PythonPath: installed.PythonPath}
	w.Args = append([]string{installed.Job, "--spec", file, "--out", out}, Arguments(t)...)
	if slices.Contains(t.Arms, campaign.Sample) {
		w.Args = append(w.Args, "--sfstat", m.Sfstat)
	}
	switch t.Profiler {
	case campaign.PyTorch:
		w.Args = append(w.Args, "--profile", profile)
	case campaign.Nsight:
		w.Args, w.Under = append(w.Args, "--nvtx"), nsys(profile)
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	if err := t.KeepRounds(m.Dir, out); err != nil {
		return err
	}
	return campaign.KeepWindows(ctx, t.PacketFolder(out), keep)
}

// WriteSpec writes what a run does, as its job reads it.
func WriteSpec(path string, t *campaign.Task) error {
	s, err := t.Spec.ResolvedSpec()
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.WriteText(path, string(text)+"\n")
}

// Arguments returns the arguments of a rank's program for what it records and how, after specification and output. A run with
// arms carries each window out under every one and writes what they took to rounds.csv; the packets of an arm are gathered on
// rank 0, in a folder of its own, those of other runs lie in a file for each rank.
func Arguments(t *campaign.Task) []string {
	words := []string{"--recording", "events"}
	if t.Spec.Side.Every == 0 {
		words[1] = "cpu"
	}
	if t.HasArms() {
		var names []string
		for _, a := range t.Arms {
			names = append(names, a.String())
		}
		words = append(words, "--group", "gather", "--arms", strings.Join(names, ","))
	}
	if t.Realtime {
		words = append(words, "--realtime")
	}
	return words
}

// nsys returns the command that records the program after it, ranges alone, and leaves its report and the export of that in a
// folder, by rank.
func nsys(folder string) []string {
	return []string{"nsys", "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--export=sqlite",
		"--output=" + filepath.Join(folder, "rank-%q{RANK}")}
}
