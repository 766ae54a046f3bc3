package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/report"
)

// suspected is how many workers, stages, replicas and kinds of operators are
// priced where nothing was asked for, each.
const suspected = 5

func (p *program) whatif(c *cli.Context) error {
	typed := c.List("fix")
	o := whatif.Options{}
	if c.String("ideal") == "peers" {
		o.Ideal = whatif.IdealOverPeers
	}
	selections := make([]whatif.Selection, len(typed))
	for i, text := range typed {
		where, err := parseFix(text)
		if err != nil {
			return err
		}
		selections[i] = whatif.Selection{where}
	}
	results, in, err := analyseTraces(p, c, viewWithSchedule(o), func(t report.Traced) (report.WhatIf, error) {
		x := report.WhatIf{Traced: t, Result: t.View.Model.Analyze(), Ideal: o.Ideal}
		if len(selections) == 0 {
			x.Suspects = t.View.Model.Suspects(x.Result, suspected)
		}
		for i, s := range selections {
			e, err := t.View.Model.Price(s)
			if err != nil {
				return x, fmt.Errorf("--fix %s: %w", typed[i], err)
			}
			x.Fixes = append(x.Fixes, report.Fix{Selection: typed[i], Effect: e[0]})
		}
		return x, nil
	})
	if err != nil {
		return err
	}
	return p.publish(c, in.Problems, func(to report.Output) error { return to.WhatIf(results) })
}

// fixFields are what a selection can name; each adds one value.
var fixFields = []struct {
	name string
	add  func(*whatif.Where, string) error
}{
	{"rank", func(w *whatif.Where, s string) error { return addNumber(&w.Ranks, s) }},
	{"dp", func(w *whatif.Where, s string) error { return addNumber(&w.DP, s) }},
	{"stage", func(w *whatif.Where, s string) error { return addNumber(&w.Stages, s) }},
	{"op", func(w *whatif.Where, s string) error { w.Ops = append(w.Ops, s); return nil }},
	{"step", func(w *whatif.Where, s string) error { return addNumber(&w.Steps, s) }},
}

// fixNames returns the names of the fixes, each with an end.
func fixNames(end string) []string {
	var names []string
	for _, f := range fixFields {
		names = append(names, f.name+end)
	}
	return names
}

func addNumber[T int | int64](to *[]T, s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || int64(T(n)) != n {
		return fmt.Errorf("a whole number")
	}
	*to = append(*to, T(n))
	return nil
}

// parseFix reads a selection as --fix has it. A field that stands twice is
// refused: whether both or either are meant cannot be told.
func parseFix(typed string) (whatif.Where, error) {
	var w whatif.Where
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(typed, ",") {
		name, values, _ := strings.Cut(part, "=")
		if seen[name] {
			return w, badUsage("--fix %s: %s stands twice; join several values by +, as %s=1+2", typed, name, name)
		}
		seen[name] = true
		if err := addFix(&w, name, values); err != nil {
			return w, badUsage("--fix %s: %v", typed, err)
		}
	}
	return w, nil
}

func addFix(w *whatif.Where, name, values string) error {
	for _, f := range fixFields {
		if f.name != name {
			continue
		}
		for _, value := range strings.FieldsFunc(values+" ", func(r rune) bool { return r == '+' || r == '|' }) {
			if value = strings.TrimSpace(value); value == "" {
				return fmt.Errorf("%s has no value, expected %s=VALUE", name, name)
			}
			if err := f.add(w, value); err != nil {
				return fmt.Errorf("%s is %q, expected %w", name, value, err)
			}
		}
		return nil
	}
	return fmt.Errorf("nothing is called %q, expected %s, with =VALUE%s", name, cli.OrList(fixNames("")), cli.Suggestion(name, fixNames(""), ""))
}
