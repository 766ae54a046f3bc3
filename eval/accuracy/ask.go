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

// program is the build of sfstat that is scored.
type program string

// patience is how long the program may take over one job.
const patience = 5 * time.Minute

// diagnose returns the verdict on a job.
func (p program) diagnose(j job) (*verdict, error) {
	path := j.path
	if j.packets != nil {
		path = "-"
	}
	text, err := p.output(j.packets, "diagnose", "--format", "json", path)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// output runs the program and returns what it prints. Jobs are scored side by side, so that each gets one core.
// An exit status counts as an answer where something is printed.
func (p program) output(input []byte, args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, string(p), args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdin = bytes.NewReader(input)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if len(text) == 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return nil, fmt.Errorf("%s %s: %v: %s", p, strings.Join(args, " "), err, line)
	}
	return text, nil
}
