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
	{"blame", 1, "where delays began: sfstat blame", reflect.TypeFor[Traces[Blame]]()},
	{"frontier", 1, "the accounts of windows and role groups: sfstat frontier", reflect.TypeFor[Windows]()},
	{"ks", 1, "K-S distances between the completion times of workers: sfstat ks", reflect.TypeFor[Traces[Completions]]()},
	{"verdict", 3, "the verdict on all runs of the input: sfstat diagnose", reflect.TypeFor[Verdict]()},
	{"whatif", 1, "what uneven work costs: sfstat whatif", reflect.TypeFor[Traces[Whatif]]()},
	{"zscore", 1, "operators that run unlike themselves on other ranks: sfstat zscore", reflect.TypeFor[Traces[Outliers]]()},
}

// documentTypes are what types begin with that other documents have, too.
var documentTypes = []string{"Verdict", "Window", "Gates", "Whatif", "Names"}

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
