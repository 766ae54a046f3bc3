package disk

import (
	"io/fs"
	"syscall"
	"time"
)

// ChangeTime returns when a file last changed, its time of modification being set included; the zero
// time where the system does not say.
func ChangeTime(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(s.Ctimespec.Sec), int64(s.Ctimespec.Nsec))
	}
	return time.Time{}
}
