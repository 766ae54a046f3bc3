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

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/doctor"
	"github.com/sfstat/sfstat/report"
)

func (p *program) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "what could be recorded of a training job here, and the lines that record it", ArgsUsage: " ",
		Description: "Asks the job's Python (SFSTAT_PYTHON, else the one that sfstat was installed into, else python3) which packages it has, and looks for GPUs and profilers. " +
			"For each kind of recording it says whether it can be made here, what it would show, and what to run. Nothing is changed.",
		Flags: join([]cli.Flag{outputFlag("write to `FILE` instead of standard output")}, screenFlags()),
		UsageText: `sfstat doctor
SFSTAT_PYTHON=~/venv/bin/python sfstat doctor
srun -n1 sfstat doctor`,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return badUsage("doctor takes no arguments, got %q", c.Args().First())
			}
			m := doctor.Machine{Beside: interpreterBeside(), Getenv: os.Getenv, LookPath: exec.LookPath, Run: func(program string, args ...string) ([]byte, error) { return ran(c.Context, program, args) }}
			return p.publish(c, nil, func(to report.Output) error { return to.Recordings(m.Look()) })
		},
	}
}

// interpreterBeside is the Python of the environment into which a wheel put this program; "" where there is none.
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

// ran is what a program prints; of one that fails, the last line of its complaint is the error.
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
