package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// WriteTrace writes an operator trace to a file of its own, with its layout in
// a meta file beside it.
func (s *sink) WriteTrace(o *operator.Trace) error {
	name := s.traceName(o)
	switch {
	case s.target.container == packets:
		return badUsage("operator trace %s cannot be written as packets: give a .csv or .parquet file, or --to csv or --to parquet", o.Run)
	case s.target.folder:
		if err := s.makeFolder(); err != nil {
			return err
		}
		if slices.ContainsFunc(s.traces, func(o *output) bool { return o.name == name }) {
			return badInput(fmt.Errorf("two operator traces are called %q, which would be one file in %s: convert them one by one", o.Run, s.target.path))
		}
	case len(s.all)+len(s.traces) > 0:
		return badInput(fmt.Errorf("operator trace %s is not all that there is to write, and a file holds one: give a folder (-o DIR/ --to %s)",
			o.Run, containers[s.target.container].name))
	}
	if name != "-" {
		if err := s.writeMeta(name, o); err != nil {
			return err
		}
	}
	write := optrace.WriteCSV
	if s.target.container == parquet {
		write = optrace.WriteParquet
	}
	return s.writeFile(name, s.target.pack, func(w io.Writer) error { return traceError(o, write(w, o)) })
}

// traceName returns the file that an operator trace goes to.
func (s *sink) traceName(o *operator.Trace) string {
	if !s.target.folder {
		return s.target.path
	}
	return filepath.Join(s.target.path, "trace-"+fileName(o.Run)+containers[s.target.container].extension+s.target.pack)
}

// fileName makes the name of a run a part of a file's name.
func fileName(run string) string {
	return strings.Map(func(r rune) rune {
		if r == filepath.Separator || r == '/' || unicode.IsControl(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, run)
}

// writeFile writes one complete file, which gets its name with the others.
func (s *sink) writeFile(name, pack string, write func(io.Writer) error) error {
	o, err := s.p.begin(name, pack)
	if err != nil {
		return err
	}
	s.traces = append(s.traces, o)
	return o.fill(write)
}

// writeMeta writes the layout of the trace that is to be at path, unless a meta
// file is there that tells it. One that tells something else may be of another
// trace, and is replaced only when its trace is.
func (s *sink) writeMeta(path string, o *operator.Trace) error {
	meta := optrace.MetaFor(path)
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return nil // a pipe: nothing stands beside it
	case optrace.MetaBeside(path) == "":
	default:
		meta = optrace.MetaBeside(path)
		m, problem := optrace.LoadMeta(meta)
		if problem == nil && m.Fits(o) {
			if m.Resolution < o.Resolution && o.Resolution > 1 {
				s.remarks = append(s.remarks, fmt.Sprintf("%s, which was there, does not say that times are good to %d ns only: add the line resolution_ns: %d",
					meta, o.Resolution, o.Resolution))
			}
			return nil
		}
		if errors.Is(err, os.ErrNotExist) {
			return badInput(fmt.Errorf("%s is there already and does not tell the name and layout of %s, whose meta file it would be: choose another name or remove it", meta, path))
		}
	}
	return s.writeFile(meta, "", func(w io.Writer) error { return optrace.WriteMeta(w, o) })
}

// traceError prefixes an error of a writer with its operator trace.
func traceError(o *operator.Trace, err error) error {
	for _, kind := range []error{input.ErrMissing, input.ErrFormat, input.ErrEmpty} {
		if errors.Is(err, kind) {
			return badInput(fmt.Errorf("operator trace %s: %w", o.Run, err))
		}
	}
	return err
}
