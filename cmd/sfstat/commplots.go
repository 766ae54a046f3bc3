package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
)

// plotTraffic draws what --plots asks for. A figure of nothing, such as of bandwidth without times, is left out.
func (p *program) plotTraffic(c *cli.Context, r *comm.Result) error {
	folder := c.String("plots")
	if folder == "" {
		return nil
	}
	if err := os.Mkdir(folder, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return badInput(err)
	}
	drawn := 0
	for _, x := range charts.All(r) {
		f, err := x.Of.Draw(plots.Column)
		if errors.Is(err, plots.ErrNothing) {
			continue
		}
		for _, as := range []plots.Format{plots.PNG, plots.SVG} {
			if err := p.writeFigure(filepath.Join(folder, x.Name+"."+as.String()), f, err); err != nil {
				return err
			}
		}
		drawn++
	}
	p.remark(c, "%s written to %s", counted(drawn, "figure"), folder)
	return nil
}
