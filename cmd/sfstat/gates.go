package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace/input"
)

// printEffectiveGates answers --print-gates.
func (p *program) printEffectiveGates(c *cli.Context) error {
	g, err := loadGates(c)
	if err != nil {
		return err
	}
	return p.writeTo("", func(w io.Writer) error { return strictyaml.Encode(w, g) })
}

// gatesLimit bounds a file of gates; a real one has 1 kB.
const gatesLimit = 1 << 20

// loadGates returns the gates in force: the defaults, changed by --gates.
func loadGates(c *cli.Context) (gates.Gates, error) {
	if c.String("gates") == "" {
		return gates.Default(), nil
	}
	g, _, err := gatesIn(c.String("gates"))
	return g, err
}

// gatesIn returns the gates of a file, and its text.
func gatesIn(path string) (g gates.Gates, text []byte, err error) {
	if text, err = readSmall(path, gatesLimit); err == nil {
		g, err = parseGates(path, text)
	}
	return g, text, badInput(err)
}

// readSmall reads a whole file of at most limit bytes.
func readSmall(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(path, f, limit)
}

// readAtMost reads all of what is called path, at most limit bytes.
func readAtMost(path string, r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = input.At(input.Pos{File: path}, input.Bad(input.ErrTooLarge, "more than %d bytes", limit))
	}
	return text, err
}

// parseGates reads gates over the defaults. It is strict: a gate that does not
// exist, or stands twice, is refused with its line.
func parseGates(path string, text []byte) (gates.Gates, error) {
	g := gates.Default()
	var unknown *strictyaml.UnknownKey
	switch err := strictyaml.Decode(path, text, &g); {
	case errors.As(err, &unknown):
		return gates.Gates{}, fmt.Errorf("%w%s", err, cli.Suggestion(unknown.Key, unknown.Known, ""))
	case err != nil:
		return gates.Gates{}, err
	}
	if err := g.Validate(); err != nil {
		return gates.Gates{}, input.At(input.Pos{File: path}, err)
	}
	return g, nil
}
