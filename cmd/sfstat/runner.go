package main

import (
	"os"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/ddp"
	"github.com/sfstat/sfstat/eval/campaign/slurm"
)

// executionOf returns how the runner of a campaign makes its runs in the folder dir.
func executionOf(c *cli.Context, dir string, s *campaign.Spec) (campaign.Execution, error) {
	e := campaign.Execution{Version: programVersion()}
	if c.Bool("dry-run") && s.Runner != campaign.Slurm {
		return e, badUsage("--dry-run is for runner slurm, and the runner of the campaign is %v", s.Runner)
	}
	switch s.Runner {
	case campaign.Local:
		e.Workers = 1 // whose ranks share the machine
		self, err := os.Executable()
		if err != nil {
			return e, err
		}
		e.Maker = ddp.Maker{Dir: dir, Python: c.String("python"), Sfstat: self}
	case campaign.Slurm:
		m, err := slurm.New(dir, slurm.Options{Cluster: s.Slurm, Version: e.Version, Python: c.String("python"), DryRun: c.Bool("dry-run")})
		if err != nil {
			return e, err
		}
		tasks, err := s.Plan()
		if err != nil {
			return e, err
		}
		e.Workers = min(len(tasks), slurm.MostWorkers)
		e.Maker = m
	}
	return e, nil
}
