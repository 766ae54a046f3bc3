package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/plots"
)

func (p *program) campaignIndexCommand() *cli.Command {
	return &cli.Command{
		Name: "index", Usage: "write all tables and figures of an evaluation with a page that sets them beside the published ones", ArgsUsage: "FOLDER",
		Description: "Makes what campaign tables and campaign plots make, into tables/ and figures/ of the campaign, and writes index.html there: every table and figure, " +
			"which figures differ from the published ones, by how much and why; comparison.csv has the same as rows. " +
			"Other figures that lie in figures/ (SVG, PNG) are shown too.",
		Flags:     join([]cli.Flag{gatesFlag()}, screenFlags()),
		UsageText: `sfstat campaign index paper`,
		Action:    p.campaignIndex,
	}
}

func (p *program) campaignIndex(c *cli.Context) error {
	e, err := openEvaluation(c)
	if err != nil {
		return err
	}
	made, err := e.tables()
	if err != nil {
		return err
	}
	drawn, err := e.figures(plots.Page)
	if err != nil {
		return err
	}
	for _, name := range []string{"tables", "figures"} {
		if err := os.Mkdir(filepath.Join(e.dir, name), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return badInput(err)
		}
	}
	if err := p.writeTables(filepath.Join(e.dir, "tables"), "md", made, &e.by); err != nil {
		return err
	}
	if _, err := p.writeFigures(filepath.Join(e.dir, "figures"), drawn, drawing{[]plots.Format{plots.SVG}, "page"}, &e.by); err != nil {
		return err
	}
	x := tables.Index{Name: filepath.Base(e.dir), Tables: made}
	if e.runs != nil {
		x.Name = e.runs.Name
	}
	if x.Figures, err = picturesIn(e.dir); err != nil {
		return badInput(err)
	}
	if err := p.writeTo(filepath.Join(e.dir, "comparison.csv"), func(w io.Writer) error { return x.WriteCSV(w) }); err != nil {
		return err
	}
	if err := p.writeTo(filepath.Join(e.dir, "index.html"), func(w io.Writer) error { return x.WriteHTML(w) }); err != nil {
		return err
	}
	p.remark(c, "%s and %s on %s; %d of %s differ from the published ones", counted(len(made), "table"), counted(len(x.Figures), "figure"),
		filepath.Join(e.dir, "index.html"), len(x.Differing()), counted(len(x.Cells()), "cell"))
	return nil
}

// picturesIn are the figures of a folder of a campaign, one of each name: SVG
// before PNG.
func picturesIn(dir string) ([]tables.Picture, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "figures"))
	if err != nil {
		return nil, err
	}
	var out []tables.Picture
	for _, ending := range []string{".svg", ".png"} {
		for _, e := range entries {
			next := tables.Picture{File: "figures/" + e.Name()}
			if strings.HasSuffix(e.Name(), ending) && !slices.ContainsFunc(out, func(o tables.Picture) bool { return o.Name() == next.Name() }) {
				out = append(out, next)
			}
		}
	}
	return out, nil
}
