// Package atomicfile writes files that are either complete or not there: a
// reader never sees half a file, and a failed run leaves the old one as it
// was.
//
// A [File] is written under a temporary name beside its destination, so that
// the final rename stays inside one file system. [File.Commit] gives it its
// name, [File.Discard] removes it. Whoever creates a File calls one
// of them; [WriteFile] does, where a file is written in one go.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gofrs/flock"

	"github.com/sfstat/sfstat/internal/disk"
)

// File is an output that has no name yet. It is an io.Writer.
type File struct {
	on   disk.Disk
	file disk.File
	dest string // what Commit names the file; "" when written in place

	lock  *flock.Flock // of the temporary file, which says that it is being written; nil where there is none
	ended atomic.Bool  // committed or discarded
}

// Create begins an output that will replace path. A link is followed, so what
// it points to is replaced and the link stays. Something that is not a plain
// file, such as a pipe or /dev/null, cannot be replaced and is written in
// place.
func Create(path string) (*File, error) { return CreateOn(disk.OS{}, path) }

// CreateOn creates a file as [Create] does, on a disk.
func CreateOn(on disk.Disk, path string) (*File, error) {
	dest, mode := path, fs.FileMode(0o666) // before umask, as os.Create
	switch info, err := on.Stat(path); {
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
	case err == nil && !info.Mode().IsRegular():
		file, err := on.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{on: on, file: file}, nil
	case err == nil:
		if dest, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	file, err := temporary(on, dest, mode)
	if err != nil {
		return nil, err
	}
	return &File{on: on, file: file, dest: dest, lock: takeLock(file.Name())}, nil
}

// WriteFile writes what content gives under a path. Where either fails, what was
// there stays.
func WriteFile(path string, content func(io.Writer) error) error {
	return WriteFileOn(disk.OS{}, path, content)
}

// WriteFileOn writes a file as [WriteFile] does, on a disk.
func WriteFileOn(on disk.Disk, path string, content func(io.Writer) error) error {
	f, err := CreateOn(on, path)
	if err != nil {
		return err
	}
	return f.Fill(content)
}

// WriteText writes a text, or bytes, under a path as WriteFile does.
func WriteText[T string | []byte](path string, text T) error {
	return WriteFile(path, func(w io.Writer) error { _, err := w.Write([]byte(text)); return err })
}

// Fill writes what content gives and commits the file; where content fails, it
// discards it.
func (f *File) Fill(content func(io.Writer) error) error {
	if err := content(f); err != nil {
		f.Discard()
		return err
	}
	return f.Commit()
}

// temporary opens a new file beside dest. It does not use os.CreateTemp, whose
// files nobody else may read.
func temporary(on disk.Disk, dest string, mode fs.FileMode) (disk.File, error) {
	dir, base := filepath.Split(dest)
	for range 100 {
		name := dir + "." + base + "." + strconv.FormatUint(rand.Uint64(), 36) + ".tmp"
		file, err := on.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return file, replacePath(dest, err)
		}
	}
	return nil, fmt.Errorf("write %s: no free temporary name beside it", dest)
}

// replacePath replaces the temporary name in an error by the one that the user
// knows.
func replacePath(dest string, err error) error {
	var at *fs.PathError
	var renamed *os.LinkError
	switch {
	case errors.As(err, &at):
		return &fs.PathError{Op: "write", Path: dest, Err: at.Err}
	case errors.As(err, &renamed):
		return &fs.PathError{Op: "write", Path: dest, Err: renamed.Err}
	}
	return err
}

// stale are the names that temporary gives.
var stale = regexp.MustCompile(`^\..+\.[0-9a-z]{1,13}\.tmp$`)

// locks reports whether files that are being written can be told by a lock. On Windows a lock
// keeps the writer out too; there no file can be removed that is open.
const locks = runtime.GOOS != "windows"

// takeLock takes the lock of a temporary file; nil where the file system has none.
func takeLock(name string) *flock.Flock {
	if !locks {
		return nil
	}
	lock := flock.New(name, flock.SetFlag(os.O_RDONLY))
	if got, err := lock.TryLock(); err != nil || !got {
		_ = lock.Close()
		return nil
	}
	return lock
}

func (f *File) unlock() {
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// RemoveStale removes from a folder what programs left that were killed while
// they wrote. Where the file system has locks, what is being written stays.
func RemoveStale(on disk.Disk, dir string) error { return removeStale(on, dir, stale.MatchString) }

// RemoveStaleOf removes what was left beside a file by programs that were killed
// while they wrote it. What is being written stays as of RemoveStale.
func RemoveStaleOf(on disk.Disk, path string) error {
	dir, base := filepath.Split(path)
	return removeStale(on, filepath.Join(dir, "."), func(name string) bool {
		token, ok := strings.CutPrefix(name, "."+base+".")
		return ok && stale.MatchString("._."+token) && strings.Count(token, ".") == 1
	})
}

// RemoveStaleNamed removes from a folder what was left of files whose names begin in one of these ways, as of RemoveStaleOf.
func RemoveStaleNamed(on disk.Disk, dir string, begin ...string) error {
	return removeStale(on, dir, func(name string) bool {
		return stale.MatchString(name) && slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(name, "."+b) })
	})
}

func removeStale(on disk.Disk, dir string, is func(name string) bool) error {
	entries, err := on.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !is(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		lock := takeLock(path)
		if locks && lock == nil {
			continue
		}
		err := on.Remove(path)
		if lock != nil {
			_ = lock.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *File) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	return n, replacePath(f.name(), err)
}

func (f *File) name() string {
	if f.dest == "" {
		return f.file.Name()
	}
	return f.dest
}

// Commit makes the file durable and gives it its name. After an error nothing
// is left behind.
func (f *File) Commit() error {
	if f.dest == "" {
		return f.file.Close()
	}
	err := f.file.Sync()
	if !f.ended.CompareAndSwap(false, true) { // somebody else has discarded it
		return replacePath(f.dest, cmp.Or(err, fs.ErrClosed))
	}
	defer f.unlock()
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = f.on.Rename(f.file.Name(), f.dest)
	}
	if err != nil {
		_ = f.on.Remove(f.file.Name())
	}
	return replacePath(f.dest, err)
}

// Discard drops what was written; the destination stays as it was. It does
// nothing after Commit, so it can be deferred.
func (f *File) Discard() {
	if !f.ended.CompareAndSwap(false, true) {
		return
	}
	defer f.unlock()
	_ = f.file.Close()
	if f.dest != "" {
		_ = f.on.Remove(f.file.Name())
	}
}
