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
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// File is an output that has no name yet. It is an io.Writer.
type File struct {
	file *os.File
	dest string // what Commit names the file; "" when written in place
}

// Create begins an output that will replace path. A link is followed, so what
// it points to is replaced and the link stays. Something that is not a plain
// file, such as a pipe or /dev/null, cannot be replaced and is written in
// place.
func Create(path string) (*File, error) {
	dest, mode := path, fs.FileMode(0o666) // before umask, as os.Create
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "write", Path: path, Err: errors.New("is a directory")}
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{file: file}, nil
	case err == nil:
		if dest, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	file, err := temporary(dest, mode)
	if err != nil {
		return nil, err
	}
	return &File{file: file, dest: dest}, nil
}

// WriteFile writes what content gives under a path. Where either fails, what was
// there stays.
func WriteFile(path string, content func(io.Writer) error) error {
	f, err := Create(path)
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
func temporary(dest string, mode fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(dest)
	for range 100 {
		name := dir + "." + base + "." + strconv.FormatUint(rand.Uint64(), 36) + ".tmp"
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			return file, inTermsOf(dest, err)
		}
	}
	return nil, fmt.Errorf("write %s: no free temporary name beside it", dest)
}

// inTermsOf replaces the temporary name in an error by the one that the user
// knows.
func inTermsOf(dest string, err error) error {
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

// RemoveStale removes from a folder what programs left that were killed while
// they wrote. Nobody may be writing into it.
func RemoveStale(dir string) error { return removeStale(dir, stale.MatchString) }

// RemoveStaleOf removes what was left beside a file by programs that were killed
// while they wrote it. Nobody may be writing it.
func RemoveStaleOf(path string) error {
	dir, base := filepath.Split(path)
	return removeStale(filepath.Join(dir, "."), func(name string) bool {
		token, ok := strings.CutPrefix(name, "."+base+".")
		return ok && stale.MatchString("._."+token) && strings.Count(token, ".") == 1
	})
}

func removeStale(dir string, is func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !is(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *File) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	return n, inTermsOf(f.name(), err)
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
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.file.Name(), f.dest)
	}
	if err != nil {
		os.Remove(f.file.Name())
	}
	return inTermsOf(f.dest, err)
}

// Discard drops what was written; the destination stays as it was. It does
// nothing after Commit, so it can be deferred.
func (f *File) Discard() {
	if f.file.Close() == nil && f.dest != "" {
		os.Remove(f.file.Name())
	}
}
