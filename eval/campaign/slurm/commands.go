package slurm

import (
	"context"
	"time"

	"github.com/sfstat/sfstat/internal/slurm"
)

// element is one run of a batch as Slurm calls it.
type element = slurm.Element

// scheduler is what is asked of Slurm.
type scheduler struct {
	// submit hands a script in and returns the number of its job.
	submit func(ctx context.Context, script string) (job string, err error)
	// live are the elements of batches, by name, that wait or run.
	live func(ctx context.Context, names []string) (map[element]bool, error)
	// find is the number of the job of that name, which was not submitted before
	// since; "" if Slurm knows none.
	find func(ctx context.Context, name string, since time.Time) (job string, err error)
	// state is a word such as TIMEOUT for an element that has ended; "" if
	// Slurm has forgotten it.
	state func(ctx context.Context, e element) string
}

// commands is Slurm by its programs.
var commands = scheduler{slurm.Submit, slurm.Live, slurm.Find, slurm.State}
