package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// scheduler is what is asked of Slurm.
type scheduler struct {
	submit func(ctx context.Context, script string) (job string, err error)
	live   func(ctx context.Context, names []string) (map[element]string, error)
	state  func(ctx context.Context, e element) string
}

// commands is Slurm by its programs: sbatch, squeue, scontrol.
var commands = scheduler{submit, live, state}

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

// live returns the waiting and running elements of arrays by name, with the names of their arrays.
func live(ctx context.Context, names []string) (map[element]string, error) {
	out, err := output(ctx, "squeue", "--noheader", "--array", "--format=%i %j", "--name="+strings.Join(names, ","))
	if err != nil {
		return nil, err
	}
	left := make(map[element]string)
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) == 2 {
			left[element(words[0])] = words[1]
		}
	}
	return left, nil
}

// state returns a word such as TIMEOUT for an ended element; "" if Slurm has forgotten it.
func state(ctx context.Context, e element) string {
	out, _ := output(ctx, "scontrol", "--oneliner", "show", "job", string(e)) // no answer says no more
	for field := range strings.FieldsSeq(out) {
		if state, ok := strings.CutPrefix(field, "JobState="); ok {
			return state
		}
	}
	return ""
}

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
		return "", fmt.Errorf("%s is not on this machine: run this on a login node of the cluster", name)
	}
	return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(said.String()))
}
