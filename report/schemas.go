package report

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/publish"
)

// published is a document that a command writes as JSON: an object with its name and
// version, the fields of a struct, and what was refused where the struct does not say so.
type published struct {
	name     string
	version  int
	doc      string
	of       reflect.Type
	problems bool
	// list and columns are the rows of its CSV, as itemsOf has them.
	list, columns string
}

// documents are the published ones, by name.
var documents = []published{
	{"arrivals", 1, "who arrives last where ranks synchronise: sfstat arrivals", reflect.TypeFor[jobsJSON[arrivalJobJSON]](), true,
		"jobs.places.ranks", "run op group stage source_line call=source_line.call after waits_for points skew_ns noise_ns rank arrival_ns delay_ns last strikes cost_ns p"},
	{"comm", 1, "what a job communicated: sfstat comm", reflect.TypeFor[trafficJSON](), true,
		"communicators.operations", "communicator=id kind nranks ranks op calls bytes"},
	{"comm-matrix", 1, "how many bytes each rank sends each other: sfstat comm --show matrix", reflect.TypeFor[matrixJSON](), true,
		"sent", ""},
	{"comm-steps", 1, "what a job communicated in each step: sfstat comm --show steps", reflect.TypeFor[stepsJSON](), true,
		"steps.operations", "era step step_name op calls bytes"},
	{"comm-topology", 1, "the machines of a job, as NCCL printed them: sfstat comm --show topology", reflect.TypeFor[topologyJSON](), true,
		"machines.paths", "host from_rank to_rank class gbps"},
	{"hang", 1, "who is missing where a job stands still: sfstat hang", reflect.TypeFor[jobsJSON[hangJobJSON]](), true,
		"rows", ""},
}

func documentOf(name string) (p *published, ok bool) {
	i := slices.IndexFunc(documents, func(p published) bool { return p.name == name })
	if i < 0 {
		return nil, false
	}
	return &documents[i], true
}

// id names the form of a document, as the document does: "sfstat.frontier/1".
func (p *published) id() string { return fmt.Sprintf("sfstat.%s/%d", p.name, p.version) }

// publish writes the JSON of a result: its name, its fields, and what was refused.
func (o Output) publish(p *published, f forms) error {
	var e encoder
	e.open('{')
	err := errors.Join(e.field("schema", reflect.ValueOf(p.id())), e.fields(reflect.ValueOf(f.json())))
	if p.problems {
		err = errors.Join(err, e.field("problems", reflect.ValueOf(problemsOf(o.Problems))))
	}
	if err != nil {
		return err
	}
	e.end('}')
	_, err = o.W.Write(append(e.out, '\n'))
	return err
}

// SchemaNames are the names of the published documents, in order.
func SchemaNames() []string {
	names := append(each(documents, func(p published) string { return p.name }), each(publish.Forms, func(f publish.Form) string { return f.Name })...)
	slices.Sort(names)
	return names
}

// Schemas writes the names of the published documents, and what each is.
func (o Output) Schemas() error {
	var out strings.Builder
	for _, name := range SchemaNames() {
		if f, ok := publish.FormOf(name); ok {
			fmt.Fprintf(&out, "%-13s  %s\n", f.Name, f.Doc)
			continue
		}
		p, _ := documentOf(name)
		fmt.Fprintf(&out, "%-13s  %s\n", p.name, p.doc)
	}
	_, err := io.WriteString(o.W, out.String())
	return err
}

// Schema writes the JSON Schema of a published document.
func (o Output) Schema(name string) error {
	p, ok := documentOf(name)
	if !ok {
		return publish.WriteSchema(o.W, name)
	}
	return publish.Write(o.W, p.schema())
}
