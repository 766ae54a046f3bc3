package tables

import (
	"io"

	"github.com/sfstat/sfstat/internal/table"
)

// manifestHead is the first row of a manifest.
var manifestHead = []string{"artifact", "file", "file_sha256", "command", "input", "input_sha256", "spec_sha256", "made_by"}

// WriteManifest writes which artifact was made from what: CSV, a row for each
// artifact and input.
func WriteManifest(w io.Writer, artifacts []Artifact) error {
	var rows [][]string
	for _, a := range artifacts {
		for _, in := range a.Inputs {
			rows = append(rows, []string{a.Name, a.File, a.Hash, a.Command, in.Input, in.InputHash, in.SpecHash, in.Version})
		}
	}
	return table.WriteCSV(w, manifestHead, rows)
}
