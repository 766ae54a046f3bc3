package tables

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/trace/input"
)

// measuredFolder holds measurements that no run of a campaign makes, as CSV.
const measuredFolder = "measured"

// mostSeries is how many series of measurements are drawn in a figure.
const mostSeries = 8

// measurement is a kind of measurements that can be drawn: a file in the folder of
// measurements of a campaign, with the columns of head.
type measurement struct {
	Name   string // of the figure, and of the file without its ending
	X, Y   plots.Axis
	column string // of X in the file
}

// measuredKinds are KAIR's Figures 5 and 6 (ASE 2025), how long completion times
// take to compare, and how long calls and kernels take to align (NCCL
// Trace Profiler, Heidelberg 2026).
var measuredKinds = []measurement{
	{Name: "overhead-by-interval", column: "interval_steps",
		X: plots.Axis{Name: "sampling interval", Unit: "steps", Log: true}, Y: plots.Axis{Name: "overhead", Unit: "%"}},
	{Name: "pause-by-workers", column: "workers",
		X: plots.Axis{Name: "workers", Log: true}, Y: plots.Axis{Name: "pause of training", Unit: "ms", Log: true}},
	{Name: "time-by-workers", column: "workers",
		X: plots.Axis{Name: "workers", Log: true}, Y: plots.Axis{Name: "time of analysis", Unit: "s", Log: true}},
	{Name: "alignment-by-length", column: "operations",
		X: plots.Axis{Name: "operations", Log: true}, Y: plots.Axis{Name: "time of alignment", Unit: "s", Log: true}},
}

// head returns the columns of a file: the series of a row, X, the value in the unit of Y, its interval (empty: none), and the
// number of measurements.
func (m *measurement) head() []string {
	return []string{"series", m.column, "value", "lower", "upper", "n"}
}

func (m *measurement) chart(lines []plots.Line) plots.Chart {
	return plots.Chart{Panels: []plots.Panel{{X: m.X, Y: m.Y, Lines: lines}}}
}

// read reads a file of measurements: its series by their first rows; those of a series
// are drawn in their order.
func (m *measurement) read(on disk.Disk, path string) ([]plots.Line, error) {
	rows, err := campaign.ReadTable(on, path, m.head())
	if err != nil {
		return nil, err
	}
	var lines []plots.Line
	for i, r := range rows {
		p, err := measuredPoint(r)
		if err != nil {
			return nil, input.At(input.Pos{File: path, Line: int64(i) + 2}, err)
		}
		k := slices.IndexFunc(lines, func(l plots.Line) bool { return l.Name == r[0] })
		if k < 0 {
			if k = len(lines); k == mostSeries {
				return nil, input.At(input.Pos{File: path, Line: int64(i) + 2}, input.Bad(input.ErrTooLarge, "more than %d series: nobody can tell them apart", mostSeries))
			}
			lines = append(lines, plots.Line{Name: r[0]})
		}
		lines[k].Points = append(lines[k].Points, p)
	}
	if len(lines) == 0 {
		return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty, "no row under the header"))
	}
	return lines, nil
}

func measuredPoint(r []string) (p plots.Point, err error) {
	for i, to := range []*float64{&p.X, &p.Y, &p.Low, &p.High} {
		text := r[i+1]
		if text == "" && i >= 2 {
			continue
		}
		if *to, err = strconv.ParseFloat(text, 64); err != nil {
			return p, input.Bad(input.ErrType, "field %d is %q, expected a number", i+2, text)
		}
	}
	if n, err := strconv.Atoi(r[5]); err != nil || n < 1 {
		return p, input.Bad(input.ErrType, "n is %q, expected how often it was measured", r[5])
	}
	return p, nil
}

// MeasuredFigures returns the figures of the measurements in a folder, which need hold no campaign; a folder without any is no
// error.
func MeasuredFigures(on disk.Disk, dir string) ([]Artifact, error) {
	f := campaign.Folder{Disk: on, Path: dir}
	var out []Artifact
	for i := range measuredKinds {
		m := &measuredKinds[i]
		path := filepath.Join(f.Path, measuredFolder, m.Name+".csv")
		lines, err := m.read(on, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		from, err := f.FileProvenance(path)
		if err != nil {
			return nil, err
		}
		out = append(out, Artifact{Name: m.Name, Figure: m.chart(lines), Inputs: []campaign.Provenance{from}})
	}
	return out, nil
}
