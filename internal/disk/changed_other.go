//go:build !linux && !darwin

package disk

import (
	"io/fs"
	"time"
)

// ChangeTime returns the zero time: other systems do not say when a file last changed.
func ChangeTime(fs.FileInfo) time.Time { return time.Time{} }
