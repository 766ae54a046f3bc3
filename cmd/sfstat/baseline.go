package main

import (
	"os"
	"slices"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
	"github.com/sfstat/sfstat/trace/sums"
)

// The values of --baseline that are no path.
const (
	cohortBaseline = "cohort"
	rankBaseline   = "rank"
)

// healthy reads the run of --baseline; nil where the flag names none.
func (p *program) healthy(c *cli.Context) (*frontier.Sample, error) {
	path := c.String("baseline")
	if slices.Contains([]string{"", cohortBaseline, rankBaseline}, path) {
		return nil, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, badUsage("--baseline is %q: expected cohort, rank, or a file or folder with a healthy run: %v", path, err)
	}
	var sample frontier.Sample
	series, flat := map[string]*frontier.Series{}, map[string]*sums.Rule{}
	what := reading{names: []string{path}, kinds: auto.Windows, strict: true, unselected: true}
	_, err := p.readFrom(c, what, func(j recorded.Job) error {
		return forTraces(j.Windows, func(w *trace.Window) error {
			one := []*trace.Window{w}
			if flat[w.Run] == nil {
				flat[w.Run] = new(sums.Rule)
			}
			flat[w.Run].Apply(one)
			return input.At(input.Pos{File: path}, addHealthy(&sample, series, one[0]))
		})
	})
	if err != nil {
		return nil, badInput(err)
	}
	if sample.Steps() == 0 {
		return nil, badInput(input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty, "no step of a healthy run in it")))
	}
	return &sample, nil
}

// addHealthy adds a window of a healthy run, whose series say in which stages the
// ranks synchronise.
func addHealthy(sample *frontier.Sample, series map[string]*frontier.Series, w *trace.Window) error {
	if series[w.Run] == nil {
		series[w.Run] = frontier.NewSeries(frontier.Options{})
	}
	a, err := series[w.Run].Add(w)
	if err != nil {
		return err
	}
	return sample.Add(w, a.Main.SyncPoint.Stages())
}
