package main

import (
	"bytes"
	"cmp"
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
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/report"
)

// figureWidths are the values of --figure-width, in the order of plots.Width.
var figureWidths = []string{plots.Column: "column", plots.Page: "page"}

// campaignReport writes tables, figures and the page of a campaign into its folder.
func (p *program) campaignReport(c *cli.Context) error {
	formats, err := figureFormats(c.String("figure-format"))
	if err != nil {
		return err
	}
	e, err := p.openEvaluation(c)
	if err != nil {
		return err
	}
	if e.runs != nil {
		for _, what := range e.runs.Unread {
			p.remark(c, "not read: %s", what)
		}
	}
	made, figures, err := e.artifacts()
	if err != nil {
		return err
	}
	text, err := textOf(c)
	if err != nil {
		return err
	}
	if made, err = text.AddFigures(made); err != nil {
		return badInput(err)
	}
	written, err := tableFiles(made, c.String("table-format"))
	if err != nil {
		return err
	}
	if path := c.String("published"); path != "" {
		for i := range written {
			written[i].Command += " --published " + relativeTo(e.dir, path)
		}
	}
	drawn, err := figureFiles(figures, formats, c.String("figure-width"))
	if err != nil {
		return err
	}
	if len(written)+len(drawn) == 0 {
		return badInput(errors.New("nothing to report: the recordings in communication/ have no logs beside exports, no truth.csv and no model.yaml"))
	}
	if err := p.writeArtifacts(e, "tables", written); err != nil {
		return err
	}
	if err := p.writeArtifacts(e, "figures", drawn); err != nil {
		return err
	}
	if c.String("table-format") == "latex" && len(drawn) > 0 {
		if err := p.writeTo(filepath.Join(e.dir, "figures", "figures.tex"), func(w io.Writer) error { return writeCaptions(w, drawn, text) }); err != nil {
			return err
		}
	}
	if err := p.writeUncertainty(c, e, made); err != nil {
		return err
	}
	return p.writeIndex(c, e, made)
}

// textOf reads the figures of a text that --published names; an empty text without the flag.
func textOf(c *cli.Context) (*tables.Text, error) {
	path := c.String("published")
	if path == "" {
		return new(tables.Text), nil
	}
	t, err := tables.ReadText(path)
	if err != nil {
		return nil, badInput(err)
	}
	return t, nil
}

// writeCaptions writes an environment for each figure, of its first format, with caption and label.
func writeCaptions(w io.Writer, drawn []artifactFile, text *tables.Text) error {
	var out bytes.Buffer
	written := map[string]bool{}
	for _, f := range drawn {
		if !written[f.Name] {
			written[f.Name] = true
			caption := cmp.Or(text.Captions[f.Name], tables.Picture{File: f.File}.Caption())
			table.LaTeXFigure(&out, "figures/"+f.File, caption, "fig:"+f.Name)
		}
	}
	_, err := out.WriteTo(w)
	return err
}

// writeUncertainty writes how much figures depend on the seeds, and what differs from the campaign that --against names.
func (p *program) writeUncertainty(c *cli.Context, e *evaluation, made []tables.Artifact) error {
	var errs []tables.Uncertainty
	if e.runs != nil {
		errs = e.runs.Uncertainties()
	}
	if len(errs) > 0 {
		if err := p.writeTo(filepath.Join(e.dir, "uncertainty.csv"), func(w io.Writer) error { return tables.WriteUncertainties(w, errs) }); err != nil {
			return err
		}
	}
	dir := c.String("against")
	if dir == "" {
		return nil
	}
	other, err := p.evaluationIn(c, dir)
	if err != nil {
		return err
	}
	theirs, _, err := other.artifacts()
	if err != nil {
		return err
	}
	var otherErrs []tables.Uncertainty
	if other.runs != nil {
		otherErrs = other.runs.Uncertainties()
	}
	pairs := tables.CompareCampaigns(made, theirs, errs, otherErrs)
	differ, beyond := 0, 0
	for i := range pairs {
		if pairs[i].Differs() {
			differ++
		}
		if pairs[i].IsBeyondError() {
			beyond++
		}
	}
	path := filepath.Join(e.dir, "against.csv")
	if err := p.writeTo(path, func(w io.Writer) error { return tables.WriteAgainst(w, pairs) }); err != nil {
		return err
	}
	p.remark(c, "%d of %s differ from %s, %d by more than their seeds explain: %s", differ, table.Counted(len(pairs), "cell"), dir, beyond, path)
	return nil
}

// artifactFile is an artifact that is to be written.
type artifactFile struct {
	tables.Artifact
	write func(io.Writer) error
}

// tableFiles returns the tables of a campaign in a format.
func tableFiles(made []tables.Artifact, format string) ([]artifactFile, error) {
	var as report.Format
	if err := as.UnmarshalText([]byte(format)); err != nil {
		return nil, err
	}
	ending := "." + format
	if as == report.LaTeX {
		ending = ".tex"
	}
	var out []artifactFile
	for _, a := range made {
		a.File, a.Command = a.Name+ending, "sfstat campaign report . --table-format "+format
		labelled := *a.Table
		labelled.Label = "tab:" + a.Name
		a.Table = &labelled
		out = append(out, artifactFile{a, func(w io.Writer) error { return report.Output{W: w, Format: as}.Tables(a.Table) }})
	}
	return out, nil
}

// figureFiles draws the figures of a campaign, in formats. One of nothing, such as of
// bandwidth without times, is left out.
func figureFiles(figures []tables.Artifact, formats []plots.Format, width string) ([]artifactFile, error) {
	var out []artifactFile
	for _, a := range figures {
		f, err := a.Figure.Draw(plots.Width(slices.Index(figureWidths, width)))
		if errors.Is(err, plots.ErrNothing) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		a.Command = "sfstat campaign report . --figure-format " + strings.Join(names(formats), ",") + " --figure-width " + width
		for _, as := range formats {
			a.File = a.Name + "." + as.String()
			out = append(out, artifactFile{a, func(w io.Writer) error { return f.Write(w, as) }})
		}
	}
	return out, nil
}

// writeArtifacts writes artifacts into a folder of the campaign, made if it is not there,
// and a list of what they were made from.
func (p *program) writeArtifacts(e *evaluation, folder string, files []artifactFile) error {
	if len(files) == 0 {
		return nil
	}
	dir := filepath.Join(e.dir, folder)
	if _, err := makeFolder(p.disk, dir); err != nil {
		return err
	}
	var written []tables.Artifact
	for _, a := range files {
		e.by.mark(&a.Artifact)
		h := sha256.New()
		if err := p.writeTo(filepath.Join(dir, a.File), func(w io.Writer) error { return a.write(io.MultiWriter(w, h)) }); err != nil {
			return err
		}
		a.Hash = hex.EncodeToString(h.Sum(nil))
		written = append(written, a.Artifact)
	}
	return p.writeTo(filepath.Join(dir, "artifact_manifest.csv"), func(w io.Writer) error { return tables.WriteManifest(w, written) })
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

// writeIndex writes the page of a campaign, and what differs on it as rows.
func (p *program) writeIndex(c *cli.Context, e *evaluation, made []tables.Artifact) error {
	x := tables.Index{Name: filepath.Base(e.dir), Tables: made}
	if e.runs != nil {
		x.Name = e.runs.Name
		for name, write := range map[string]func(io.Writer) error{"rows.csv": e.runs.WriteRows, "summary.csv": e.runs.WriteSummary} {
			if err := p.writeTo(filepath.Join(e.dir, name), write); err != nil {
				return err
			}
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
	open := 0
	for _, cell := range x.DifferingCells() {
		if !cell.IsExplained() {
			open++
		}
	}
	without := ""
	if open > 0 {
		without = fmt.Sprintf(", %d without an explanation", open)
	}
	p.remark(c, "%s and %s on %s; %d of %s differ from the published ones%s", table.Counted(len(made), "table"), table.Counted(len(x.Figures), "figure"),
		page, len(x.DifferingCells()), table.Counted(len(x.Cells()), "cell"), without)
	return nil
}

// picturesIn returns the figures of a campaign's folder, one of each name: SVG before PNG.
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
