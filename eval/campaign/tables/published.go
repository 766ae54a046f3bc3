package tables

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/internal/table"
)

// publication is what StageFrontier (arXiv 2606.06751) reports, to stand beside what is found here.
// published.yaml says what its parts are.
type publication struct {
	Tables    map[string]publishedTable `yaml:"tables"`
	Groups    map[string]publishedGroup `yaml:"groups"`
	Cases     map[string]string         `yaml:"cases"`
	Gates     []publishedGate           `yaml:"gates"`
	Questions []question                `yaml:"questions"`
	Captions  []caption                 `yaml:"captions"`
	Sentences map[string]string         `yaml:"sentences"`
}

type publishedTable struct {
	Columns []string            `yaml:"columns"`
	Rows    map[string][]string `yaml:"rows"`
	Notes   []string            `yaml:"notes"`
}

type publishedGroup struct {
	Role      string `yaml:"role"`
	Ranks     string `yaml:"ranks"`
	Seeds     string `yaml:"seeds"`
	Delays    string `yaml:"delays_ms"`
	Elsewhere string `yaml:"elsewhere"`
}

type publishedGate struct {
	Gate  string `yaml:"gate"`
	Paper string `yaml:"paper"`
	Why   string `yaml:"why"`
}

type question struct {
	Name     string   `yaml:"question"`
	Evidence string   `yaml:"evidence"`
	Cells    []string `yaml:"cells"`
	Paper    string   `yaml:"paper"`
}

type caption struct {
	Figure  string `yaml:"figure"`
	Caption string `yaml:"caption"`
}

//go:embed published.yaml
var publishedText []byte

var published = sync.OnceValue(func() *publication {
	p := new(publication)
	if err := strictyaml.Decode("published.yaml", publishedText, p); err != nil { // a test reads it
		panic(err)
	}
	return p
})

// row returns the published figures of a row of ours, by the cells that name it; nil without any.
func (p *publishedTable) row(name string) []string { return p.Rows[p.rowNamed(name)] }

// rowNamed finds the name of the published row that stands for a row of ours.
func (p *publishedTable) rowNamed(name string) string {
	for more := true; more; {
		if p.Rows[name] != nil {
			return name
		}
		at := strings.LastIndex(name, ", ")
		if more = at > 0; more {
			name = name[:at]
		}
	}
	return "*"
}

// addPublished gives a table what is published of an artifact: columns beside ours, and notes.
func addPublished(t *table.Table, artifact string) *table.Table {
	var names []string
	for _, row := range t.Records() {
		names = append(names, rowName(t, row))
	}
	return addPublishedTo(t, artifact, names)
}

// rowName returns the name of a row from its cells as displayed.
func rowName(t *table.Table, cells []string) string {
	return strings.Join(cells[:max(1, t.Keys)], ", ")
}

// addPublishedTo adds the published figures to a table whose rows are named by other cells.
func addPublishedTo(t *table.Table, artifact string, names []string) *table.Table {
	p := published().Tables[artifact]
	for _, head := range p.Columns {
		t.Columns = append(t.Columns, table.Words("paper: "+head)...)
	}
	for i, name := range names {
		figures := p.row(name)
		if figures == nil {
			figures = slices.Repeat([]string{none}, len(p.Columns))
		}
		t.Rows[i] = append(t.Rows[i], table.Texts(figures...)...)
	}
	t.Notes = append(t.Notes, p.Notes...)
	return t
}

// countSentence returns a sentence with a count.
func countSentence(name string, counted ...any) string {
	text := published().Sentences[name]
	if len(counted) == 0 {
		return text
	}
	return fmt.Sprintf(text, counted...)
}
