package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/strictyaml"
)

// truthName is the table of what runs hide, in a folder of runs.
const truthName = "truth.csv"

// specLimit bounds a specification file.
const specLimit = 16 << 20

// readSpec reads a specification from a file, or from standard input.
func readSpec[T any](p *program, path string, parse func(path string, text []byte) (T, error)) (spec T, err error) {
	var text []byte
	if path == ingest.Stdin {
		text, err = readAtMost(path, p.in, specLimit)
	} else {
		text, err = readSmall(path, specLimit)
	}
	if err == nil {
		spec, err = parse(path, text)
	}
	return spec, badInput(err)
}

// The headings of the flags that only one of the two simulators has.
const (
	forWindows   = "Without --operators"
	forOperators = "With --operators"
)

func (p *program) simulate(c *cli.Context) error {
	if err := refuseOperands(c); err != nil {
		return err
	}
	simulator, other, refusal := p.simulateWindows, forOperators, "--%s needs --operators"
	if c.Bool("operators") {
		simulator, other, refusal = p.simulateOperators, forWindows, "--%s is for windows, not for --operators"
	}
	for _, f := range c.Command.Flags {
		if f.In == other && c.IsSet(f.Name) {
			return badUsage(refusal, f.Name)
		}
	}
	if name := c.String("run"); strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return badUsage("--run is %q, expected a name without / and \\ that does not begin with a dot: files are named by it", name)
	}
	return simulator(c)
}

// overrides carries out what belongs to the flags that are given.
func overrides(c *cli.Context, set map[string]func()) {
	for name, change := range set {
		if c.IsSet(name) {
			change()
		}
	}
}

// printSpec prints the specification (--print-spec).
func (p *program) printSpec(c *cli.Context, spec any) error {
	return p.emit(c, func(w io.Writer) error { return strictyaml.Encode(w, spec) })
}

// namesOf returns the names of an enumeration, from one to another.
func namesOf[E interface {
	~uint8
	fmt.Stringer
}](first, last E) (names []string) {
	for e := first; e <= last; e++ {
		names = append(names, e.String())
	}
	return names
}

// unknownFault returns the error of a value of --fault that begins with no fault.
func unknownFault(typed string, known []string) error {
	return badUsage("--fault is %q, expected %s%s", typed, cli.OrList(known), cli.Suggestion(typed, known, ""))
}

// simulation is a run that is about to be written.
type simulation struct {
	run    string
	target target
	write  func(*sink) (what string, err error)

	truth  any                   // as JSON, with the steps
	table  func(io.Writer) error // its rows of a table, with their header
	truths []string              // files for it, each in the form that its extension says
}

// writeSimulation writes a run and what it hides.
func (p *program) writeSimulation(c *cli.Context, m simulation) error {
	return p.fill(c, m.target, func(s *sink) (string, error) {
		what, err := m.write(s)
		for _, path := range m.truths {
			if err == nil {
				err = p.writeTruth(path, m)
			}
		}
		return what + " of run " + m.run, err
	})
}

// writeTruth writes what a run hides: JSON with the steps, or its rows of a table,
// where they replace what the table said about the run.
func (p *program) writeTruth(path string, m simulation) error {
	if strings.HasSuffix(path, ".json") {
		return p.writeTo(path, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(m.truth)
		})
	}
	rows, err := m.rows(path)
	if err != nil {
		return err
	}
	return p.writeTo(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

// rows returns the rows of the table at path, below its header, with the run's own in place of its former ones.
func (m *simulation) rows(path string) ([][]string, error) {
	var text bytes.Buffer
	if err := m.table(&text); err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil || path == "-" {
		return rows, err
	}
	had, err := readSmall(path, specLimit)
	if errors.Is(err, os.ErrNotExist) {
		return rows, nil
	}
	if err != nil {
		return nil, badInput(fmt.Errorf("cannot add to the truth table: %w", err))
	}
	old, err := csv.NewReader(bytes.NewReader(had)).ReadAll()
	if err != nil || len(old) == 0 || !slices.Equal(old[0], rows[0]) {
		return nil, badInput(fmt.Errorf("cannot add to the truth table: %s is another table, the header of this one is %s: write into another folder",
			path, strings.Join(rows[0], ",")))
	}
	old = slices.DeleteFunc(old, func(row []string) bool { return row[0] == m.run })
	return append(old, rows[1:]...), nil
}
