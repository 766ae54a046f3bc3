package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
)

func (p *program) campaignSources(c *cli.Context) error {
	gates, err := loadGates(c)
	if err != nil {
		return err
	}
	if len(c.Args) < 2 {
		return badUsage("%d sources, expected two or more: a file or a folder for each recorder", len(c.Args))
	}
	o := crosscheck.Options{Gates: &gates}
	if c.String("match") == crosscheck.ByOrder.String() {
		o.Match = crosscheck.ByOrder
	}
	names := c.Args
	if err := checkExist(names); err != nil {
		return err
	}
	var all []crosscheck.Source
	for _, path := range names {
		s, err := p.source(c, path)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	comparison, err := crosscheck.Compare(all, o)
	if errors.Is(err, crosscheck.ErrNoStep) {
		return badInput(fmt.Errorf("%w; --match order compares the first steps of each whatever their numbers", err))
	}
	if err != nil {
		return badInput(err)
	}
	comparison.Doubts = append(comparison.Doubts, findTwins(names)...)
	if err := p.publish(c, nil, func(to report.Output) error { return to.Sources(comparison) }); err != nil {
		return err
	}
	return failOn(c, confidenceOf(comparison))
}

// findTwins returns a warning for each pair of sources that are one file or folder under two names, whose agreement means
// nothing.
func findTwins(names []string) []string {
	var out []string
	for i, a := range names {
		for _, b := range names[i+1:] {
			first, err := os.Stat(a)
			second, problem := os.Stat(b)
			if err == nil && problem == nil && os.SameFile(first, second) {
				out = append(out, fmt.Sprintf("%s and %s are the same: that they agree says nothing about recorders", a, b))
			}
		}
	}
	return out
}

// source reads what one recorder saw. All of it must be good: a file that is
// left out would count as a difference.
func (p *program) source(c *cli.Context, path string) (crosscheck.Source, error) {
	s := crosscheck.Source{Name: path}
	in, err := p.readFrom(c, reading{names: []string{path}, kinds: auto.Windows, strict: true, timeline: stages.OnHost}, func(j recorded.Job) error {
		s.Windows = append(s.Windows, j.Windows...)
		return nil
	})
	if err != nil {
		return s, err
	}
	bytes, read := auto.StoredBytes(in.Read)
	s.Bytes, s.Format = bytes, read.String()
	if len(s.Windows) == 0 {
		return s, badInput(input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty, "no windows in it")))
	}
	return s, nil
}

// confidenceOf reads a comparison as a finding.
func confidenceOf(c *crosscheck.Comparison) evidence.Confidence {
	for _, a := range c.Accounts[1:] {
		if !a.Held.SameRouting {
			return evidence.Strong
		}
	}
	if !c.Agree() {
		return evidence.Ambiguous
	}
	return evidence.Insufficient
}
