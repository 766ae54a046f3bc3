package report

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// published is a document that a command writes as JSON: an object with its name and
// version, the fields of a struct, and what was refused where the struct does not say so.
type published struct {
	name     string
	version  int
	doc      string
	of       reflect.Type
	problems bool
}

// documents are the published ones, by name.
var documents = []published{
	{"arrivals", 1, "who arrives last where ranks synchronise: sfstat arrivals", reflect.TypeFor[jobsJSON[arrivalJobJSON]](), true},
	{"batch", 1, "what the runs of an archive come to: sfstat batch", reflect.TypeFor[batchJSON](), false},
	{"blame", 1, "where delays began: sfstat blame", reflect.TypeFor[tracesJSON[blameJSON]](), true},
	{"comm", 1, "what a job communicated: sfstat comm", reflect.TypeFor[trafficJSON](), true},
	{"comm-matrix", 1, "how many bytes each rank sends each other: sfstat comm --show matrix", reflect.TypeFor[matrixJSON](), true},
	{"comm-steps", 1, "what a job communicated in each step: sfstat comm --show steps", reflect.TypeFor[stepsJSON](), true},
	{"comm-topology", 1, "the machines of a job, as NCCL printed them: sfstat comm --show topology", reflect.TypeFor[topologyJSON](), true},
	{"compare", 1, "what two sets of runs differ in: sfstat compare", reflect.TypeFor[comparisonJSON](), true},
	{"frontier", 1, "the accounts of windows and role groups: sfstat frontier", reflect.TypeFor[windowsJSON[windowJSON]](), true},
	{"hang", 1, "who is missing where a job stands still: sfstat hang", reflect.TypeFor[jobsJSON[hangJobJSON]](), true},
	{"ks", 1, "K-S distances between the completion times of workers: sfstat ks", reflect.TypeFor[tracesJSON[completionsJSON]](), true},
	{"overhead", 1, "what something costs: sfstat overhead", reflect.TypeFor[overheadJSON](), false},
	{"slack", 1, "how long each rank was ahead of the last one at each boundary: sfstat frontier --detail slack", reflect.TypeFor[windowsJSON[Slack]](), true},
	{"sources", 1, "what several recorders say of one run: sfstat campaign sources", reflect.TypeFor[sourcesJSON](), false},
	{"verdict", 3, "the verdict on all runs of the input: sfstat diagnose", reflect.TypeFor[verdictJSON](), false},
	{"whatif", 1, "what uneven work costs: sfstat whatif", reflect.TypeFor[tracesJSON[whatifJSON]](), true},
	{"zscore", 1, "operators that run unlike themselves on other ranks: sfstat zscore", reflect.TypeFor[tracesJSON[outliersJSON]](), true},
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
func (o Output) publish(f forms) error {
	p, ok := documentOf(f.schema)
	if !ok {
		return fmt.Errorf("report: no document is called %q", f.schema)
	}
	out, err := appendFields(fmt.Appendf(nil, `{"schema":%q`, p.id()), reflect.ValueOf(f.json()))
	if err == nil && p.problems {
		out, err = appendJSON(append(out, `,"problems":`...), reflect.ValueOf(problemsOf(o.Problems)))
	}
	if err != nil {
		return err
	}
	_, err = o.W.Write(indent(append(out, '}')))
	return err
}

// SchemaNames are the names of the published documents, in order.
func SchemaNames() []string { return each(documents, func(p published) string { return p.name }) }

// Schemas writes the names of the published documents, and what each is.
func (o Output) Schemas() error {
	var out strings.Builder
	for _, p := range documents {
		fmt.Fprintf(&out, "%-13s  %s\n", p.name, p.doc)
	}
	_, err := io.WriteString(o.W, out.String())
	return err
}

// Schema writes the JSON Schema of a published document.
func (o Output) Schema(name string) error {
	p, ok := documentOf(name)
	if !ok {
		return fmt.Errorf("no schema is called %q", name)
	}
	compact, err := unescaped(p.schema())
	if err != nil {
		return err
	}
	_, err = o.W.Write(indent(compact))
	return err
}
