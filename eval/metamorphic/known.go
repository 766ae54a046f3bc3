package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed known.yaml
var knownText []byte

// known are the cells that fail, by what is wrong with them.
type known []fault

// fault is what is wrong with a change of some recordings.
type fault struct {
	Change     string
	Says       string   // what the program says, in a plain sentence
	Truth      string   // what would be true
	Recordings []string // by name
}

func readKnown() (out known, err error) {
	d := yaml.NewDecoder(bytes.NewReader(knownText))
	d.KnownFields(true)
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("known.yaml: %w", err)
	}
	seen := map[[2]string]bool{}
	for _, f := range out {
		if f.Says == "" || f.Truth == "" || !slices.ContainsFunc(changes, func(c change) bool { return c.name == f.Change }) {
			return nil, fmt.Errorf("known.yaml: change %q of %q: expected a change that there is, what is said and what is true", f.Change, f.Recordings)
		}
		for _, r := range f.Recordings {
			if seen[[2]string{r, f.Change}] {
				return nil, fmt.Errorf("known.yaml: %s, %s is listed twice", r, f.Change)
			}
			seen[[2]string{r, f.Change}] = true
		}
	}
	return out, nil
}

// has reports whether a cell is known to fail.
func (k known) has(o outcome) bool {
	return slices.ContainsFunc(k, func(f fault) bool { return f.Change == o.change && slices.Contains(f.Recordings, o.recording) })
}

// unexpectedCells returns the cells that fail unexpectedly, and the known failures that pass; nil where there are none.
func (k known) unexpectedCells(done []outcome, changes []change) error {
	var wrong []string
	for _, o := range done {
		switch {
		case o.state == broken && !k.has(o):
			wrong = append(wrong, fmt.Sprintf("%s, %s: %s", o.recording, o.change, o.why))
		case o.state != broken && k.has(o):
			wrong = append(wrong, fmt.Sprintf("%s, %s: %s: remove this row from known.yaml", o.recording, o.change, o.state))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d cells are not as known.yaml has them:\n%s", len(wrong), strings.Join(wrong, "\n"))
}
