package main

import (
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/eval/campaign/communication"
)

// commModel is what --model describes, nil without it.
func commModel(c *cli.Context) (*volume.Model, error) {
	path := c.String("model")
	if path == "" {
		return nil, nil
	}
	m, err := communication.ReadModel(path)
	if err != nil {
		return nil, badInput(err)
	}
	return &m, nil
}
