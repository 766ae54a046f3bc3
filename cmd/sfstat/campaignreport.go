package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/report"
)

// manifestName is the list of what tables or figures are made from, beside them.
const manifestName = "artifact_manifest.csv"

// figureWidths are the values of --figure-width, in the order of plots.Width.
var figureWidths = []string{plots.Column: "column", plots.Page: "page"}

// campaignReport writes tables, figures and the page of a campaign into its folder.
func (p *program) campaignReport(c *cli.Context) error {
	formats, err := figureFormats(c.String("figure-format"))
	if err != nil {
		return err
	}
	e, err := openEvaluation(c)
	if err != nil {
		return err
	}
	width := c.String("figure-width")
	made, figures, err := e.artifacts()
	if err != nil {
		return err
	}
	drawn, err := drawn(figures, plots.Width(slices.Index(figureWidths, width)))
	if err != nil {
		return err
	}
	if len(made)+len(drawn) == 0 {
		return badInput(errors.New("nothing to report: the recordings in communication/ have no logs beside exports, no truth.csv and no model.yaml"))
	}
	if err := p.writeTables(e, c.String("table-format"), made); err != nil {
		return err
	}
	if err := p.writeFigures(e, formats, width, drawn); err != nil {
		return err
	}
	return p.writeIndex(c, e, made)
}

// writeTables writes the tables of a campaign, and what they were made from.
func (p *program) writeTables(e *evaluation, format string, made []tables.Artifact) error {
	var as report.Format
	if err := as.UnmarshalText([]byte(format)); err != nil {
		return err
	}
	ending := "." + format
	if as == report.LaTeX {
		ending = ".tex"
	}
	for i := range made {
		a := &made[i]
		a.File, a.Command = a.Name+ending, "sfstat campaign report . --table-format "+format
		e.by.mark(a)
		err := p.writeHashed(e, "tables", a, func(w io.Writer) error {
			return report.Output{W: w, Format: as}.Tables(a.Table)
		})
		if err != nil {
			return err
		}
	}
	return p.writeManifest(e, "tables", made)
}

// drawing is a figure that is drawn.
type drawing struct {
	tables.Artifact
	figure *plots.Figure
}

// drawn draws figures. One of nothing, such as of bandwidth without times, is left out.
func drawn(figures []tables.Artifact, w plots.Width) ([]drawing, error) {
	var out []drawing
	for _, a := range figures {
		f, err := a.Figure.Draw(w)
		if errors.Is(err, plots.ErrNothing) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		out = append(out, drawing{a, f})
	}
	return out, nil
}

// writeFigures writes the figures of a campaign, and what they were made from.
func (p *program) writeFigures(e *evaluation, formats []plots.Format, width string, drawn []drawing) error {
	command := "sfstat campaign report . --figure-format " + strings.Join(names(formats), ",") + " --figure-width " + width
	var files []tables.Artifact
	for _, a := range drawn {
		for _, as := range formats {
			file := a.Artifact
			file.File, file.Command = a.Name+"."+as.String(), command
			e.by.mark(&file)
			if err := p.writeHashed(e, "figures", &file, func(w io.Writer) error { return a.figure.Write(w, as) }); err != nil {
				return err
			}
			files = append(files, file)
		}
	}
	return p.writeManifest(e, "figures", files)
}

// figureFormats reads a list of formats.
func figureFormats(list string) ([]plots.Format, error) {
	var out []plots.Format
	for name := range strings.SplitSeq(list, ",") {
		var f plots.Format
		if err := f.UnmarshalText([]byte(strings.TrimSpace(name))); err != nil {
			return nil, badUsage("--figure-format: %v", err)
		}
		if slices.Contains(out, f) {
			return nil, badUsage("--figure-format has %v twice", f)
		}
		out = append(out, f)
	}
	return out, nil
}

// writeHashed writes an artifact into a folder of the campaign, made if it is not
// there, and keeps the SHA-256 of its bytes.
func (p *program) writeHashed(e *evaluation, folder string, a *tables.Artifact, write func(io.Writer) error) error {
	dir := filepath.Join(e.dir, folder)
	if _, err := makeFolder(dir); err != nil {
		return err
	}
	h := sha256.New()
	err := p.writeTo(filepath.Join(dir, a.File), func(w io.Writer) error { return write(io.MultiWriter(w, h)) })
	a.Hash = hex.EncodeToString(h.Sum(nil))
	return err
}

// writeManifest lists what the artifacts in a folder of the campaign were made from.
func (p *program) writeManifest(e *evaluation, folder string, written []tables.Artifact) error {
	if len(written) == 0 {
		return nil
	}
	return p.writeTo(filepath.Join(e.dir, folder, manifestName), func(w io.Writer) error { return tables.WriteManifest(w, written) })
}

// writeIndex writes the page of a campaign, and what differs on it as rows.
func (p *program) writeIndex(c *cli.Context, e *evaluation, made []tables.Artifact) error {
	x := tables.Index{Name: filepath.Base(e.dir), Tables: made}
	if e.runs != nil {
		x.Name = e.runs.Name
		if err := p.writeTo(filepath.Join(e.dir, "rows.csv"), e.runs.WriteRows); err != nil {
			return err
		}
	}
	var err error
	if x.Figures, err = picturesIn(e.dir); err != nil {
		return badInput(err)
	}
	if err := p.writeTo(filepath.Join(e.dir, "comparison.csv"), x.WriteCSV); err != nil {
		return err
	}
	page := filepath.Join(e.dir, "index.html")
	if err := p.writeTo(page, x.WriteHTML); err != nil {
		return err
	}
	p.remark(c, "%s and %s on %s; %d of %s differ from the published ones", counted(len(made), "table"), counted(len(x.Figures), "figure"),
		page, len(x.Differing()), counted(len(x.Cells()), "cell"))
	return nil
}

// picturesIn are the figures of a campaign's folder, one of each name: SVG before
// PNG.
func picturesIn(dir string) ([]tables.Picture, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "figures"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
