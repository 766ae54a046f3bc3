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
}

var (
	_ campaign.Maker    = Maker{}
	_ campaign.Preparer = Maker{}
)

// Python is the interpreter to use where nothing else is said: that of
// $SFSTAT_PYTHON, or python3.
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
	switch t.Profiler {
	case campaign.PyTorch:
		w.Args = append(w.Args, "--profile", profile)
	case campaign.Nsight:
		w.Args, w.Under = append(w.Args, "--nvtx"), nsys(profile)
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	if err := t.KeepPairs(m.Dir, out); err != nil {
		return err
	}
	return campaign.KeepWindows(ctx, out, keep)
}

// WriteSpec writes what a run does, as its job reads it.
func WriteSpec(path string, t *campaign.Task) error {
	s, err := t.Spec.Resolved()
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.WriteText(path, string(text)+"\n")
}

// Arguments are the words for the program of a rank that say what it records and how,
// behind those that name specification and output. A paired run carries each window
// out twice, without the recorder and with it, and writes the time of a step of both
// to pairs.csv; its packets are gathered on rank 0, those of others lie in a file for
// each rank.
func Arguments(t *campaign.Task) []string {
	words := []string{"--recording", "events"}
	if t.Spec.Side.Every == 0 {
		words[1] = "cpu"
	}
	if t.Paired {
		words = append(words, "--group", "gather", "--pairs")
	}
	return words
}

// nsys is the command that records what runs after it, ranges alone, and leaves
// its report and the export of that in a folder, by rank.
func nsys(folder string) []string {
	return []string{"nsys", "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--export=sqlite",
		"--output=" + filepath.Join(folder, "rank-%q{RANK}")}
}
