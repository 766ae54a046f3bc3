package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/doctor"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/sample"
)

func (p *program) doctor(c *cli.Context) error {
	if err := refuseOperands(c); err != nil {
		return err
	}
	m := doctor.Machine{Beside: interpreterBeside(), Getenv: os.Getenv, LookPath: exec.LookPath, Reader: sample.Reader,
		Run: func(program string, args ...string) ([]byte, error) { return ran(c.Context, program, args) }}
	return p.publish(c, nil, func(to report.Output) error { return to.Recordings(m.Look()) })
}

// interpreterBeside returns the Python of the environment into which a wheel put this program; "" where there is none.
func interpreterBeside() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	path, err := exec.LookPath(filepath.Join(filepath.Dir(self), "python"))
	if err != nil {
		return ""
	}
	return path
}

// patience is how long a program may take to say what it knows.
const patience = 20 * time.Second

// ran returns the output of a program; the error of a program that fails is the last line of its complaint.
func ran(ctx context.Context, program string, args []string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr, cmd.WaitDelay = &complaint, time.Second
	out, err := cmd.Output()
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("it did not answer within %v", patience)
	}
	if lines := strings.Split(strings.TrimSpace(complaint.String()), "\n"); err != nil && lines[len(lines)-1] != "" {
		return nil, errors.New(lines[len(lines)-1])
	}
	return out, err
}
