// Package disk is the file system and the clock that a program works on. It is an interface for
// the sake of tests alone: package disktest has one whose n-th operation fails, and so finds what a
// command leaves behind wherever it is stopped.
package disk

import (
	"io"
	"io/fs"
	"os"
	"time"
)

// Disk is a file system and a clock. Its methods are those of package os, and of time.
type Disk interface {
	Open(name string) (File, error)
	OpenFile(name string, flag int, mode fs.FileMode) (File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	Now() time.Time
}

// File is an open file of a Disk.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Sync() error
}

// OS is the disk of this machine.
type OS struct{}

// Or returns d, or the disk of this machine where that is nil.
func Or(d Disk) Disk {
	if d == nil {
		return OS{}
	}
	return d
}

func (OS) Open(name string) (File, error) { return fileOrNil(os.Open(name)) }
func (OS) OpenFile(name string, flag int, mode fs.FileMode) (File, error) {
	return fileOrNil(os.OpenFile(name, flag, mode))
}
func (OS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (OS) Mkdir(name string, mode fs.FileMode) error  { return os.Mkdir(name, mode) }
func (OS) Rename(from, to string) error               { return os.Rename(from, to) }
func (OS) Remove(name string) error                   { return os.Remove(name) }
func (OS) Now() time.Time                             { return time.Now() }

// fileOrNil keeps a nil file from becoming a File that is not nil.
func fileOrNil(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ReadFile returns all of a file.
func ReadFile(d Disk, name string) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
