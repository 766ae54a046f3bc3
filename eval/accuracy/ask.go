package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// program is the build of sfstat that is scored, with benchstat for reference; "" without it.
type program struct{ sfstat, benchstat string }

// patience is how long the program may take over one job.
const patience = 5 * time.Minute

// diagnose is the verdict on a job.
func (p program) diagnose(j job) (*verdict, error) {
	path := j.path
	if j.packets != nil {
		path = "-"
	}
	text, err := output(p.sfstat, j.packets, "diagnose", "--format", "json", path)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// output runs a program and returns what it prints. Jobs are scored side by side, so that each gets one core.
// An exit status counts as an answer where something is printed.
func output(program string, input []byte, args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdin = bytes.NewReader(input)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if len(text) == 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return nil, fmt.Errorf("%s %s: %v: %s", program, strings.Join(args, " "), err, line)
	}
	return text, nil
}
