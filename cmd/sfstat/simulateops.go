package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/internal/table"
)

func (p *program) simulateOperators(c *cli.Context) error {
	spec, err := p.operatorsSpec(c)
	if err != nil {
		return err
	}
	if c.Bool("print-spec") {
		return p.printSpec(c, spec)
	}
	t, err := operatorsTarget(c)
	if err != nil {
		return err
	}
	o, truth, err := pipeline.Make(spec)
	if err != nil {
		return badInput(err)
	}
	return p.writeSimulation(c, simulation{run: truth.Run, target: t, truth: truth,
		truths: []string{filepath.Join(t.path, "truth-"+fileName(truth.Run)+".json")},
		write: func(s *sink) (string, error) {
			what := fmt.Sprintf("%s of %s in %s", table.Counted(o.Len(), "operator"), table.Counted(len(o.Ranks), "worker"), table.Counted(len(o.Steps), "step"))
			return what, s.WriteTrace(o)
		}})
}

// operatorsTarget returns the folder of --output.
func operatorsTarget(c *cli.Context) (target, error) {
	path, to := c.String("output"), c.String("to")
	if path == "" || path == "-" {
		return target{}, badUsage("needs -o DIR, the folder for the trace, its layout and its truth")
	}
	if slices.Contains([]string{".jsonl", ".csv", ".parquet", ".gz", ".zst"}, filepath.Ext(path)) {
		return target{}, badUsage("-o %s: expected a folder, into which the trace goes under the name of its run; --run names it, --to csv or --to parquet is its format", path)
	}
	if to == "" {
		to = containers[parquet].name
	}
	return newTarget(strings.TrimRight(path, "/")+"/", to)
}

// operatorsSpec returns the specification of --spec, or the default, changed by the flags that are given.
func (p *program) operatorsSpec(c *cli.Context) (spec pipeline.Spec, err error) {
	spec = pipeline.DefaultSpec()
	if path := c.String("spec"); path != "" {
		if spec, err = readSpec(p, path, pipeline.ParseSpec); err != nil {
			return spec, err
		}
	}
	overrides(c, map[string]func(){
		"run":          func() { spec.Run = c.String("run") },
		"steps":        func() { spec.Steps.Count = c.Int("steps") },
		"seed":         func() { spec.Seed = c.Uint64("seed") },
		"layout":       func() { err = parseLayout(c.String("layout"), &spec.Layout) },
		"microbatches": func() { spec.Layout.Microbatches = c.Int("microbatches") },
		"fault":        func() { spec.Faults = nil },
	})
	for _, typed := range c.List("fault") {
		f, wrong := parseOpsFault(typed)
		if wrong != nil {
			return spec, wrong
		}
		if f.Kind != pipeline.NoFault {
			spec.Faults = append(spec.Faults, f)
		}
	}
	if err != nil {
		return spec, err
	}
	return spec, badInput(spec.Validate())
}

// parseLayout sets the sizes that text gives: DPxPPxTP, or DPxPP with one rank
// a worker.
func parseLayout(text string, l *pipeline.Layout) error {
	dp, pp, tp := 0, 0, 1
	sizes := strings.NewReplacer("×", "x", " ", "").Replace(text)
	_, _ = fmt.Sscanf(sizes, "%dx%dx%d", &dp, &pp, &tp) // what it made of them is compared with what was typed
	if min(dp, pp, tp) < 1 || sizes != fmt.Sprintf("%dx%d", dp, pp) && sizes != fmt.Sprintf("%dx%dx%d", dp, pp, tp) {
		return badUsage("--layout is %q, expected DPxPPxTP, such as 8x4x2 for 8 replicas of 4 stages of 2 ranks", text)
	}
	l.DP, l.PP, l.TP = dp, pp, tp
	return nil
}

// opsFaultKinds returns the names of faults, none first.
func opsFaultKinds() []string { return namesOf(pipeline.NoFault, pipeline.LateStart) }

// What a fault without a size has.
const (
	usualFactor = 1.5
	usualDelay  = pipeline.Millis(120)
)

// parseOpsFault reads a fault as --fault has it: the kind, then fields by the
// names that they have in a specification.
func parseOpsFault(typed string) (pipeline.Fault, error) {
	kind, fields, found := strings.Cut(typed, ",")
	var f pipeline.Fault
	var err error
	if f.Kind, err = pipeline.ParseKind(kind); err != nil || kind == "" {
		return f, unknownFault(kind, opsFaultKinds())
	}
	for found {
		var field string
		field, fields, found = strings.Cut(fields, ",")
		name, value, _ := strings.Cut(field, "=")
		var unknown *strictyaml.UnknownKey
		switch err := strictyaml.Decode(field, []byte(name+": "+value), &f); {
		case errors.As(err, &unknown):
			fields := slices.DeleteFunc(unknown.Known, func(known string) bool { return known == "kind" })
			return f, badUsage("--fault %s: no field %q, expected FIELD=VALUE with one of %s%s", typed, name, strings.Join(fields, ", "), cli.Suggestion(name, fields, ""))
		case name == "" || name == "kind" || value == "":
			return f, badUsage("--fault %s: %q has no field or no value, expected FIELD=VALUE", typed, field)
		case err != nil:
			return f, badUsage("--fault %s: %w", typed, err)
		}
	}
	if f.Delay == 0 && f.Factor == 0 && f.Sigma == 0 {
		if f.Kind == pipeline.LateStart {
			f.Delay = usualDelay
		} else if f.Kind != pipeline.NoFault {
			f.Factor = usualFactor
		}
	}
	return f, nil
}
