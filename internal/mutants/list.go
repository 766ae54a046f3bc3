package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sfstat/sfstat/internal/strictyaml"
)

// listedMutant is a mutant of a list: a text that stands once in its file, and what takes its place.
type listedMutant struct {
	Name string `yaml:"name"`
	File string `yaml:"file"`
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// readMutants returns the mutants of a list.
func readMutants(path string) (out []*mutant, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []listedMutant
	if err := strictyaml.Decode(path, text, &list); err != nil {
		return nil, err
	}
	for _, l := range list {
		m, err := l.apply()
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, l.Name, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func (l listedMutant) apply() (*mutant, error) {
	text, err := os.ReadFile(l.File)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(l.From)); n != 1 {
		return nil, fmt.Errorf("%s has %q %d times, expected once: give more of the text around it", l.File, l.From, n)
	}
	at := bytes.Index(text, []byte(l.From))
	return &mutant{name: l.Name, number: 1 + bytes.Count(text[:at], []byte("\n")), identity: identity{File: l.File, Line: lineOf(text, at), From: l.From, To: l.To},
		text: bytes.Replace(text, []byte(l.From), []byte(l.To), 1)}, nil
}

// equivalents returns the mutants that a file names as equal to the code; none where there is no file.
func equivalents(path string) (map[identity]bool, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []struct {
		identity `yaml:",inline"`
		Reason   string `yaml:"reason"`
	}
	if err := strictyaml.Decode(path, text, &list); err != nil && !errors.Is(err, strictyaml.ErrNothing) {
		return nil, err
	}
	out := make(map[identity]bool)
	for _, e := range list {
		if e.Reason == "" {
			return nil, fmt.Errorf("%s: %s in %q has no reason", path, e.From, e.Line)
		}
		out[e.identity] = true
	}
	return out, nil
}
