//go:build unix

package export

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The bytes that SQLite locks to write: pending, reserved, and the range that
// readers share (https://sqlite.org/src/file/src/os.h). A lock for writing on
// any of them is a transaction that has begun.
const (
	firstLocked = 0x40000000
	lockedBytes = 2 + 510
)

// lockedBy returns the process that has the file locked to write it, with ok false
// where there is none or that cannot be told. Nothing is locked to find out.
func lockedBy(file *os.File) (pid int, ok bool) {
	lock := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart, Start: firstLocked, Len: lockedBytes}
	if err := unix.FcntlFlock(file.Fd(), unix.F_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return 0, false
	}
	return int(lock.Pid), true
}
