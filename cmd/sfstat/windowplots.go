package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
	"github.com/sfstat/sfstat/trace"
)

// picture keeps the window that --plot draws: the one in which late ranks cost
// the largest part. The zero picture keeps none.
type picture struct {
	path string
	o    frontier.Options
	runs map[string]*frontier.Series
	most float64
	d    *frontier.Detail
}

// newPicture returns the picture that --plot asks for.
func newPicture(c *cli.Context, o frontier.Options) picture {
	return picture{path: c.String("plot"), o: o, runs: map[string]*frontier.Series{}, most: -1}
}

// see looks at a window.
func (k *picture) see(w *trace.Window) error {
	if k.path == "" {
		return nil
	}
	run := k.runs[w.Run]
	if run == nil {
		run = frontier.NewSeries(k.o)
		k.runs[w.Run] = run
	}
	_, d, err := run.AddDetailed(w)
	if err != nil {
		return windowError(w, err)
	}
	cost := 0.0
	if d.Saves != nil {
		cost = *d.Saves
	}
	if cost > k.most {
		k.most, k.d = cost, d
	}
	return nil
}

// draw writes the figures of the window that was kept.
func (p *program) draw(c *cli.Context, k *picture) error {
	if k.path == "" {
		return nil
	}
	if k.d == nil {
		return badInput(errors.New("--plot: no window was read, and operator traces have none"))
	}
	extension := filepath.Ext(k.path)
	stem := strings.TrimSuffix(k.path, extension)
	drawn, err := p.drawAll(charts.Window(k.d), plots.Page, func(figure string) []string { return []string{stem + "-" + figure + extension} })
	if err != nil {
		return err
	}
	p.remark(c, "%s of window %d of %s written to %s-*%s", table.Counted(drawn, "figure"), k.d.Window, k.d.Run, stem, extension)
	return nil
}
