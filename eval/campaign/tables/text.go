package tables

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/input"
)

// Text is what any text publishes, to stand beside the tables of a campaign: tables by artifact, as published.yaml has StageFrontier's, and captions of tables and figures.
type Text struct {
	Source   string                    `yaml:"source,omitempty"`
	Tables   map[string]publishedTable `yaml:"tables,omitempty"`
	Captions map[string]string         `yaml:"captions,omitempty"` // by artifact
	file     string
}

// textLimit bounds such a file; published.yaml has 20 kB.
const textLimit = 4 << 20

// ReadText reads the published figures of a text.
func ReadText(path string) (*Text, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > textLimit {
		return nil, fmt.Errorf("%s has %d bytes, expected published tables of at most %d", path, info.Size(), textLimit)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseText(path, text)
}

func parseText(path string, text []byte) (*Text, error) {
	t := &Text{file: path}
	if err := strictyaml.Decode(path, text, t); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.Tables)) {
		p := t.Tables[name]
		for _, row := range slices.Sorted(maps.Keys(p.Rows)) {
			if n := len(p.Rows[row]); n != len(p.Columns) {
				return nil, t.bad("row %q of %s has %d figures, expected %d: one for each of its columns, – where the text gives none", row, name, n, len(p.Columns))
			}
		}
	}
	return t, nil
}

func (t *Text) bad(format string, args ...any) error {
	return input.At(input.Pos{File: t.file}, input.Bad(input.ErrMissing, format, args...))
}

// textPrefix begins the heads of columns with the figures of such a text.
const textPrefix = "text: "

// AddFigures gives the tables of a campaign the figures of the text, in columns of their own, and their captions.
func (t *Text) AddFigures(made []Artifact) ([]Artifact, error) {
	made = slices.Clone(made)
	at := func(name string) int {
		return slices.IndexFunc(made, func(a Artifact) bool { return a.Name == name })
	}
	for _, name := range slices.Sorted(maps.Keys(t.Tables)) {
		i := at(name)
		if i < 0 {
			var names []string
			for _, a := range made {
				names = append(names, a.Name)
			}
			return nil, t.bad("the campaign makes no table %s: it has %s", name, strings.Join(names, ", "))
		}
		a, err := t.addColumns(made[i])
		if err != nil {
			return nil, err
		}
		made[i] = a
	}
	for i := range made {
		if caption := t.Captions[made[i].Name]; caption != "" {
			clone := *made[i].Table
			clone.Title = caption
			made[i].Table = &clone
		}
	}
	return made, nil
}

// addColumns gives one table its figures of the text. Every column and row of the text must be in the table.
func (t *Text) addColumns(a Artifact) (Artifact, error) {
	p := t.Tables[a.Name]
	clone := *a.Table
	heads := clone.Heads()
	for _, head := range p.Columns {
		if !slices.Contains(heads, cmp.Or(shortHeads[head], head)) {
			return a, t.bad("%s has no column %s: its columns are %s", a.Name, head, strings.Join(heads, ", "))
		}
		clone.Columns = append(slices.Clip(clone.Columns), table.Words(textPrefix+head)...)
	}
	clone.Rows = nil
	used := map[string]bool{}
	for i, row := range a.Table.Records() {
		name := p.rowNamed(rowName(a.Table, row))
		figures := p.Rows[name]
		used[name] = true
		if figures == nil {
			figures = slices.Repeat([]string{none}, len(p.Columns))
		}
		clone.Rows = append(clone.Rows, append(slices.Clip(a.Table.Rows[i]), table.Texts(figures...)...))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Rows)) {
		if !used[name] {
			return a, t.bad("%s has no row %q", a.Name, name)
		}
	}
	clone.Notes = append(slices.Clip(clone.Notes), p.Notes...)
	if t.Source != "" {
		clone.Notes = append(clone.Notes, "Text: "+t.Source)
	}
	a.Table = &clone
	for _, c := range cellsUnder(&clone, a.Name, textPrefix) {
		a.Cells = append(slices.Clip(a.Cells), c)
	}
	return a, nil
}
