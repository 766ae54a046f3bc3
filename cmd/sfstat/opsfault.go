package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// faultFlag collects --fault, which may be repeated, as it was typed. Commas
// are part of a value.
type faultFlag struct {
	*cli.GenericFlag
	typed *typedFaults
}

type typedFaults []string

func (t *typedFaults) Set(value string) error { *t = append(*t, value); return nil }
func (t *typedFaults) String() string         { return "" }

func newFaultFlag() *faultFlag {
	typed := &typedFaults{}
	return &faultFlag{typed: typed, GenericFlag: &cli.GenericFlag{Name: "fault", Value: typed,
		Usage: "hide a `FAULT` (may be repeated): " + strings.Join(opsFaultKinds()[1:], ", ") + " or none, then fields of the specification, as slow-worker,dp=1,pp=2,factor=1.5; " +
			"places left out are chosen by the seed, without a size it is factor=1.5, or delay_ms=120 for late-start"}}
}

func (f *faultFlag) offers() []string { return opsFaultKinds() }

// opsFaultKinds are the names of faults, none first.
func opsFaultKinds() []string {
	var names []string
	for k := pipeline.NoFault; k <= pipeline.LateStart; k++ {
		names = append(names, k.String())
	}
	return names
}

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
		return f, badUsage("--fault is %q, expected a kind of fault first: %s%s", kind, orList(opsFaultKinds()), suggestion(kind, opsFaultKinds(), ""))
	}
	for found {
		var field string
		field, fields, found = strings.Cut(fields, ",")
		if err := setFaultField(&f, field); err != nil {
			return f, badUsage("--fault %s: %v", typed, err)
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

// faultFields are the fields of a fault by name; each sets its own from text.
var faultFields = []struct {
	name string
	set  func(*pipeline.Fault, string) error
}{
	{"dp", func(f *pipeline.Fault, s string) error { return setPlace(&f.DP, s) }},
	{"pp", func(f *pipeline.Fault, s string) error { return setPlace(&f.PP, s) }},
	{"seq", func(f *pipeline.Fault, s string) error { return setPlace(&f.Seq, s) }},
	{"op", func(f *pipeline.Fault, s string) error { f.Op = s; return nil }},
	{"delay_ms", func(f *pipeline.Fault, s string) error { return setNumber((*float64)(&f.Delay), s) }},
	{"factor", func(f *pipeline.Fault, s string) error { return setNumber(&f.Factor, s) }},
	{"sigma", func(f *pipeline.Fault, s string) error { return setNumber(&f.Sigma, s) }},
	{"shared", func(f *pipeline.Fault, s string) error { return setNumber(&f.Shared, s) }},
	{"from", func(f *pipeline.Fault, s string) error { return setCount(&f.From, s) }},
	{"until", func(f *pipeline.Fault, s string) error { return setCount(&f.Until, s) }},
	{"every", func(f *pipeline.Fault, s string) error { return setCount(&f.Every, s) }},
	{"probability", func(f *pipeline.Fault, s string) error { return setNumber(&f.Probability, s) }},
}

func setFaultField(f *pipeline.Fault, field string) error {
	name, value, _ := strings.Cut(field, "=")
	var names []string
	for _, known := range faultFields {
		if known.name != name {
			names = append(names, known.name)
			continue
		}
		if err := known.set(f, value); err != nil {
			return fmt.Errorf("%s is %q, expected %w", name, value, err)
		}
		return nil
	}
	return fmt.Errorf("no field %q, expected FIELD=VALUE with one of %s%s", name, strings.Join(names, ", "), suggestion(name, names, ""))
}

func setPlace(to **int, s string) error {
	n := 0
	*to = &n
	return setCount(&n, s)
}

func setCount(to *int, s string) error {
	n, err := strconv.Atoi(s)
	if *to = n; err != nil || n < 0 {
		return fmt.Errorf("a whole number, 0 or more")
	}
	return nil
}

func setNumber(to *float64, s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if *to = x; err != nil {
		return fmt.Errorf("a number")
	}
	return nil
}
