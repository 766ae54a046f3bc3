package tables

import (
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/eval/campaign"
)

// manifestHead is the first row of a manifest.
var manifestHead = []string{"artifact", "file", "file_sha256", "command", "input", "input_sha256", "spec_sha256", "made_by"}

// WriteManifest writes which artifact was made from what: CSV, a row for each
// artifact and input.
func WriteManifest(w io.Writer, artifacts []Artifact) error {
	out := csv.NewWriter(w)
	if err := out.Write(manifestHead); err != nil {
		return err
	}
	for _, a := range artifacts {
		for _, in := range a.Inputs {
			if err := out.Write([]string{a.Name, a.File, a.Hash, a.Command, in.Input, in.InputHash, in.SpecHash, in.Version}); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// Kept are the artifacts of the manifest at path, where one is, whose files lie
// beside it as it says and are not among those that were written: what another
// command made, or the same one in another format.
func Kept(path string, written []Artifact) ([]Artifact, error) {
	rows, err := campaign.ReadTable(path, manifestHead)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Artifact // in the order of the manifest
	for _, r := range rows {
		n := len(all)
		if n == 0 || all[n-1].File != r[1] {
			all = append(all, Artifact{Name: r[0], File: r[1], Hash: r[2], Command: r[3]})
			n++
		}
		all[n-1].Inputs = append(all[n-1].Inputs, campaign.Provenance{Input: r[4], InputHash: r[5], SpecHash: r[6], Version: r[7]})
	}
	return slices.DeleteFunc(all, func(a Artifact) bool {
		if slices.ContainsFunc(written, func(w Artifact) bool { return w.File == a.File }) || !filepath.IsLocal(a.File) {
			return true
		}
		hash, err := campaign.FileHash(filepath.Join(filepath.Dir(path), a.File))
		return err != nil || hash != a.Hash // gone, or another since
	}), nil
}
