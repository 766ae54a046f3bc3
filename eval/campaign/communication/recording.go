package communication

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace/input"
)

// Folder is where recordings lie in a campaign's folder, a folder each.
const Folder = "communication"

// What lies beside logs and exports.
const (
	modelName = "model.yaml"
	truthName = "truth.csv"
)

// Recording is what one job left of its communication, put together.
type Recording struct {
	Name   string // of its folder
	Result *comm.Result
	Model  *volume.Model // nil: not known
	Truth  *Truth        // nil: not known
	Inputs []campaign.Provenance
}

// Read reads the recordings of a campaign's folder, by name; none is no error. What is no folder is passed over, and so
// is what begins with a dot. A recording that cannot be read whole is an error.
func Read(dir string) ([]*Recording, error) {
	entries, err := os.ReadDir(filepath.Join(dir, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*Recording
	for _, e := range entries {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, Folder, e.Name()))
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(path); strings.HasPrefix(e.Name(), ".") || err == nil && !info.IsDir() {
			continue
		}
		r, err := readRecording(path, e.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func readRecording(path, name string) (*Recording, error) {
	r := &Recording{Name: name}
	err := r.readKnown(path)
	if err != nil {
		return nil, err
	}
	found, problems, err := auto.ReadComm([]string{path}, auto.Options{})
	if err != nil {
		return nil, input.At(input.Pos{File: path}, err)
	}
	if len(problems) > 0 {
		return nil, problems[0].Err
	}
	if r.Result, err = comm.Analyze(found, comm.Options{Model: r.Model}); err != nil {
		if errors.As(err, new(*volume.RanksError)) {
			path = filepath.Join(path, modelName)
		}
		return nil, input.At(input.Pos{File: path}, err)
	}
	for _, s := range found.Sources {
		if err := r.noteInput(path, s.Name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readKnown reads what is known of the job besides what it recorded.
func (r *Recording) readKnown(path string) error {
	m, err := ReadModel(filepath.Join(path, modelName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		r.Model = &m.Model
		if err := r.noteInput(path, modelName); err != nil {
			return err
		}
	}
	if r.Truth, err = readTruth(filepath.Join(path, truthName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.noteInput(path, truthName)
}

// noteInput notes a file of the recording as an input.
func (r *Recording) noteInput(path, name string) error {
	hash, err := campaign.FileHash(nil, filepath.Join(path, name))
	r.Inputs = append(r.Inputs, campaign.Provenance{Run: r.Name, Input: Folder + "/" + r.Name + "/" + name, InputHash: hash})
	return err
}
