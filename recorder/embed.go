// Package recorder holds the Python package sfstat_recorder, so that sfstat by
// itself can start jobs that record. docs/recorder.md tells what it does.
package recorder

import (
	"embed"
	"io/fs"
)

//go:embed sfstat_recorder/*.py sfstat_recorder/py.typed
var files embed.FS

// Files is the folder sfstat_recorder and what lies in it.
func Files() fs.FS { return files }
