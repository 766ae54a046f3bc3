package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/volume"
	"github.com/sfstat/sfstat/internal/strictyaml"
)

// modelLimit bounds a description of a model; a real one has half a kB.
const modelLimit = 1 << 20

// commModel is what --model describes, nil without it.
func commModel(c *cli.Context) (*volume.Model, error) {
	path := c.String("model")
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > modelLimit {
		err = fmt.Errorf("%s has %d bytes, expected a description of a model of at most %d", path, info.Size(), modelLimit)
	}
	if err != nil {
		return nil, badInput(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, badInput(err)
	}
	var m volume.Model
	if err := strictyaml.Decode(path, text, &m); err != nil {
		return nil, badInput(err)
	}
	if m, err = m.Complete(); err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", path, err))
	}
	return &m, nil
}
