package tables

import (
	"encoding/csv"
	"io"
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
