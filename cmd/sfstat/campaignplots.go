package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/plots"
)

// figureWidths are the values of --width, in the order of plots.Width.
var figureWidths = []string{plots.Column: "column", plots.Page: "page"}

func (p *program) campaignPlotsCommand() *cli.Command {
	return &cli.Command{
		Name: "plots", Usage: "draw the figures of an evaluation from its archives", ArgsUsage: "FOLDER",
		Description: "Scores the archives of a finished campaign and draws what they can feed: how often each method is right beside the " +
			"published counts, the share of the delayed stage and what is found by delay, measurements that lie in the campaign's " +
			"folder measured/, and recordings of communication in communication/. artifact_manifest.csv says what each figure was made from and by what command.",
		Flags: join([]cli.Flag{
			gatesFlag(),
			&cli.StringFlag{Name: "format", Value: "png,svg,pdf", Category: forOutput, Usage: "draw every figure as each of `LIST`: png, svg, pdf"},
			choiceFor(forOutput, choice("width", "how wide figures are printed: 8.5 cm or 17.5 cm", figureWidths...)),
			outputFlag("write into `FOLDER`; without it, into figures/ of the campaign"),
		}, screenFlags()),
		UsageText: `sfstat campaign plots detectability
sfstat campaign plots detectability --format pdf --width page -o paper/figures`,
		Action: p.campaignPlots,
	}
}

func (p *program) campaignPlots(c *cli.Context) error {
	formats, err := figureFormats(c.String("format"))
	if err != nil {
		return err
	}
	width := c.String("width")
	e, err := openEvaluation(c)
	if err != nil {
		return err
	}
	figures, err := e.figures(plots.Width(slices.Index(figureWidths, width)))
	if err != nil {
		return err
	}
	if len(figures) == 0 {
		return badInput(errors.New("nothing to draw: no group of the campaign is for table 4 or has several delays_ms, and there is neither measured/ nor communication/"))
	}
	out, err := outputFolder(c, filepath.Join(e.dir, "figures"))
	if err != nil {
		return err
	}
	files, err := p.writeFigures(out, figures, drawing{formats, width}, &e.by)
	if err != nil {
		return err
	}
	p.remark(c, "%s in %s and %s written to %s", counted(len(figures), "figure"), counted(files, "file"), manifestName, out)
	return nil
}

// drawing is how figures are drawn.
type drawing struct {
	formats []plots.Format
	width   string
}

// writeFigures draws figures into a folder, and what they were made from. It
// returns the number of files.
func (p *program) writeFigures(folder string, figures []tables.Artifact, d drawing, by *scoring) (int, error) {
	var files []tables.Artifact
	for _, a := range figures {
		for _, as := range d.formats {
			file, err := p.drawArtifact(folder, a, as)
			if err != nil {
				return 0, err
			}
			file.Command = "sfstat campaign plots . --format " + strings.Join(names(d.formats), ",") + " --width " + d.width
			by.mark(&file)
			files = append(files, file)
		}
	}
	return len(files), p.writeManifest(folder, files)
}

// figureFormats reads a list of formats.
func figureFormats(list string) ([]plots.Format, error) {
	var out []plots.Format
	for name := range strings.SplitSeq(list, ",") {
		var f plots.Format
		if err := f.UnmarshalText([]byte(strings.TrimSpace(name))); err != nil {
			return nil, badUsage("--format: %v", err)
		}
		if slices.Contains(out, f) {
			return nil, badUsage("--format has %v twice", f)
		}
		out = append(out, f)
	}
	return out, nil
}

// outputFolder is the folder that --output names, made if it is not there.
func outputFolder(c *cli.Context, otherwise string) (string, error) {
	out := c.String("output")
	if out == "" {
		out = otherwise
	}
	if err := os.Mkdir(out, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return "", badInput(err)
	}
	return out, nil
}

// drawArtifact writes a figure into a folder and notes where.
func (p *program) drawArtifact(folder string, a tables.Artifact, as plots.Format) (_ tables.Artifact, err error) {
	a.File = a.Name + "." + as.String()
	a.Hash, err = p.writeHashed(filepath.Join(folder, a.File), func(w io.Writer) error { return a.Figure.Write(w, as) })
	return a, err
}
