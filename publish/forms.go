package publish

import (
	"fmt"
	"reflect"
	"slices"
)

// Form is the form of a document that a command writes as JSON.
type Form struct {
	Name    string
	Version int
	Doc     string
	of      reflect.Type
}

// Forms are those of all documents, by name.
var Forms = []Form{
	{"arrivals", 1, "who arrives last where ranks synchronise: sfstat arrivals", reflect.TypeFor[Jobs[ArrivalJob]]()},
	{"batch", 1, "what the runs of an archive come to: sfstat batch", reflect.TypeFor[Batch]()},
	{"blame", 1, "where delays began: sfstat blame", reflect.TypeFor[Traces[Blame]]()},
	{"comm", 1, "what a job communicated: sfstat comm", reflect.TypeFor[Traffic]()},
	{"comm-matrix", 1, "how many bytes each rank sends each other: sfstat comm --show matrix", reflect.TypeFor[CommMatrix]()},
	{"comm-schedule", 1, "what Megatron-LM calls: sfstat comm --show schedule", reflect.TypeFor[CommSchedule]()},
	{"comm-steps", 1, "what a job communicated in each step: sfstat comm --show steps", reflect.TypeFor[CommSteps]()},
	{"comm-topology", 1, "the machines of a job, as NCCL printed them: sfstat comm --show topology", reflect.TypeFor[Topology]()},
	{"compare", 1, "what two sets of runs differ in: sfstat compare", reflect.TypeFor[Comparison]()},
	{"frontier", 1, "the accounts of windows and role groups: sfstat frontier", reflect.TypeFor[Windows[Window]]()},
	{"hang", 1, "who is missing where a job stands still: sfstat hang", reflect.TypeFor[Jobs[HangJob]]()},
	{"ks", 1, "K-S distances between the completion times of workers: sfstat ks", reflect.TypeFor[Traces[Completions]]()},
	{"overhead", 1, "what something costs: sfstat overhead", reflect.TypeFor[Overhead]()},
	{"slack", 1, "how long each rank was ahead of the last one at each boundary: sfstat frontier --detail slack", reflect.TypeFor[Windows[Slack]]()},
	{"sources", 1, "what several recorders say of one run: sfstat campaign sources", reflect.TypeFor[Sources]()},
	{"verdict", 4, "the verdict on all runs of the input: sfstat diagnose", reflect.TypeFor[Verdict]()},
	{"whatif", 1, "what uneven work costs: sfstat whatif", reflect.TypeFor[Traces[Whatif]]()},
	{"zscore", 1, "operators that run unlike themselves on other ranks: sfstat zscore", reflect.TypeFor[Traces[Outliers]]()},
}

// documentTypes are what types begin with that other documents have, too.
var documentTypes = []string{"Verdict", "Window", "Gates", "Whatif", "Names", "Batch", "Compare", "Changes", "Sources", "Traffic", "Topology", "Arrivals"}

// FormOf returns the form of a document of that name.
func FormOf(name string) (f *Form, ok bool) {
	i := slices.IndexFunc(Forms, func(f Form) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	return &Forms[i], true
}

// ID returns what documents of the form call it: "sfstat.frontier/1".
func (f *Form) ID() string { return fmt.Sprintf("sfstat.%s/%d", f.Name, f.Version) }
