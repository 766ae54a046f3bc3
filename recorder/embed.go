// Package recorder holds the Python package sfstat_recorder, so that sfstat by
// itself can start jobs that record. docs/recorder.md tells what it does.
package recorder

import (
	"embed"
	"io/fs"
)

//go:embed sfstat_recorder/*.py sfstat_recorder/py.typed
var files embed.FS

// Files holds the folder sfstat_recorder and its contents.
func Files() fs.FS { return files }
