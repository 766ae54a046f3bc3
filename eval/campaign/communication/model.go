package communication

import (
	"fmt"
	"os"

	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace/input"
)

// modelLimit bounds a description of a model; a real one has half a kB.
const modelLimit = 1 << 20

// ReadModel reads a description of a model, its layout and the arguments of its training script, and completes the model.
func ReadModel(path string) (m megatron.Job, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return m, err
	}
	if info.Size() > modelLimit {
		return m, fmt.Errorf("%s has %d bytes, expected a description of a model of at most %d", path, info.Size(), modelLimit)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	if err := strictyaml.Decode(path, text, &m); err != nil {
		return m, err
	}
	if m.Model, err = m.Model.Complete(); err != nil {
		return m, input.At(input.Pos{File: path}, err)
	}
	return m, nil
}
