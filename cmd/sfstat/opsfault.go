package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/internal/strictyaml"
)

// faultFlag is --fault; commas are part of a value.
func faultFlag() cli.Flag {
	return list("", "fault", "hide a `FAULT` (may be repeated): "+strings.Join(opsFaultKinds()[1:], ", ")+" or none, then fields of the specification, as slow-worker,dp=1,pp=2,factor=1.5; "+
		"places left out are chosen by the seed, without a size it is factor=1.5, or delay_ms=120 for late-start", opsFaultKinds()...)
}

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
		name, value, _ := strings.Cut(field, "=")
		if !slices.Contains(faultFields, name) {
			return f, badUsage("--fault %s: no field %q, expected FIELD=VALUE with one of %s%s", typed, name, strings.Join(faultFields, ", "), suggestion(name, faultFields, ""))
		}
		if value == "" {
			return f, badUsage("--fault %s: %s has no value, expected %s=VALUE", typed, name, name)
		}
		if err := strictyaml.Decode(field, []byte(name+": "+value), &f); err != nil {
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

// faultFields are what may follow, by the names that they have in a specification.
var faultFields = []string{"dp", "pp", "seq", "op", "delay_ms", "factor", "sigma", "shared", "from", "until", "every", "probability"}
