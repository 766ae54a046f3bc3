package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// scheduler is what is asked of Slurm.
type scheduler struct {
	submit func(ctx context.Context, script string) (job string, err error)
	live   func(ctx context.Context, names []string) (map[element]bool, error)
	find   func(ctx context.Context, name string, since time.Time) (job string, err error)
	state  func(ctx context.Context, e element) string
}

// commands is Slurm by its programs: sbatch, squeue, scontrol, sacct.
var commands = scheduler{submit, live, find, state}

// element is one job of an array as Slurm calls it: "12_3".
type element string

// submit hands a script in and returns the number of its job.
func submit(ctx context.Context, script string) (string, error) {
	out, err := output(ctx, "sbatch", "--parsable", script)
	if err != nil {
		return "", err
	}
	job, _, _ := strings.Cut(strings.TrimSpace(out), ";") // a cluster may follow
	if job == "" || strings.Trim(job, "0123456789") != "" {
		return "", fmt.Errorf("sbatch printed %q, expected the number of a job", out)
	}
	return job, nil
}

// live are the elements of arrays, by name, that wait or run.
func live(ctx context.Context, names []string) (map[element]bool, error) {
	out, err := output(ctx, "squeue", "--noheader", "--array", "--format=%i", "--name="+strings.Join(names, ","))
	if err != nil {
		return nil, err
	}
	left := make(map[element]bool)
	for e := range strings.FieldsSeq(out) {
		left[element(e)] = true
	}
	return left, nil
}

// clocksApart is by how much the clock of a cluster's accounting may differ
// from that of its shared folder, and then some.
const clocksApart = 24 * time.Hour

// find is the number of the job of that name, which was not submitted before since;
// "" if Slurm knows none.
func find(ctx context.Context, name string, since time.Time) (string, error) {
	out, err := output(ctx, "squeue", "--noheader", "--format=%F", "--states=all", "--name="+name)
	if err != nil {
		return "", err
	}
	if jobs := strings.Fields(out); len(jobs) > 0 {
		return jobs[0], nil
	}
	// sacct tells of the jobs of today unless it is told from when on.
	from := since.Add(-clocksApart).Format("2006-01-02T15:04:05")
	out, err = output(ctx, "sacct", "--noheader", "--parsable2", "--allocations", "--format=JobID", "--starttime="+from, "--name="+name)
	switch {
	case errors.Is(err, errNotInstalled), err != nil && strings.Contains(err.Error(), "accounting storage is disabled"):
		return "", nil // a cluster without accounting knows no more
	case err != nil: // it may know: to submit the job again would be a guess
		return "", fmt.Errorf("look for job %s: %w", name, err)
	}
	job, _, _ := strings.Cut(out, "_")
	return strings.TrimSpace(job), nil
}

// state is a word such as TIMEOUT for an element that has ended; "" if Slurm has
// forgotten it.
func state(ctx context.Context, e element) string {
	if out, err := output(ctx, "scontrol", "--oneliner", "show", "job", string(e)); err == nil {
		for field := range strings.FieldsSeq(out) {
			if state, ok := strings.CutPrefix(field, "JobState="); ok {
				return state
			}
		}
	}
	out, err := output(ctx, "sacct", "--noheader", "--parsable2", "--allocations", "--format=State", "--jobs="+string(e))
	if err != nil {
		return ""
	}
	state, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return state
}

var errNotInstalled = errors.New("is not on this machine: run this on a login node of the cluster")

// output runs a program of Slurm.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s %w", name, errNotInstalled)
	}
	return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(said.String()))
}
