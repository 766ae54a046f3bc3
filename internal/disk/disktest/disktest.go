// Package disktest has disks that fail, and clocks that are wrong.
package disktest

import (
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sfstat/sfstat/internal/disk"
)

// Failing is the disk of this machine, but for one operation: the n-th, from 1. A write that fails
// has written half, as on a disk that is full. It may be used from several goroutines.
type Failing struct {
	disk.OS
	n     int
	cause syscall.Errno

	mu   sync.Mutex
	seen int
	at   string
}

// New returns a disk whose n-th operation fails with a cause; 0: none does.
func New(n int, cause syscall.Errno) *Failing { return &Failing{n: n, cause: cause} }

// Operations returns how many operations there were.
func (d *Failing) Operations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// FailedCall returns what failed, "" where nothing did.
func (d *Failing) FailedCall() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// next counts an operation, and returns its error.
func (d *Failing) next(op, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen++; d.seen != d.n {
		return nil
	}
	d.at = fmt.Sprintf("operation %d, %s %s", d.n, op, name)
	return &fs.PathError{Op: op, Path: name, Err: d.cause}
}

func (d *Failing) Open(name string) (disk.File, error) {
	if err := d.next("open", name); err != nil {
		return nil, err
	}
	return d.watch(d.OS.Open(name))
}

func (d *Failing) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	if err := d.next("open", name); err != nil {
		return nil, err
	}
	return d.watch(d.OS.OpenFile(name, flag, mode))
}

// watch returns a file whose reads and writes may fail.
func (d *Failing) watch(f disk.File, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	return &file{f, d}, nil
}

func (d *Failing) Stat(name string) (fs.FileInfo, error) {
	if err := d.next("stat", name); err != nil {
		return nil, err
	}
	return d.OS.Stat(name)
}

func (d *Failing) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := d.next("readdir", name); err != nil {
		return nil, err
	}
	return d.OS.ReadDir(name)
}

func (d *Failing) Mkdir(name string, mode fs.FileMode) error {
	if err := d.next("mkdir", name); err != nil {
		return err
	}
	return d.OS.Mkdir(name, mode)
}

func (d *Failing) Rename(from, to string) error {
	if err := d.next("rename", to); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *Failing) Remove(name string) error {
	if err := d.next("remove", name); err != nil {
		return err
	}
	return d.OS.Remove(name)
}

type file struct {
	disk.File
	d *Failing
}

func (f *file) Read(p []byte) (int, error) {
	if err := f.d.next("read", f.Name()); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.d.next("read", f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *file) Write(p []byte) (int, error) {
	if err := f.d.next("write", f.Name()); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *file) Stat() (fs.FileInfo, error) {
	if err := f.d.next("stat", f.Name()); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *file) Sync() error {
	if err := f.d.next("sync", f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// Close closes the file in every case: there is no second try.
func (f *file) Close() error {
	err := f.d.next("close", f.Name())
	if closed := f.File.Close(); closed != nil {
		return closed
	}
	return err
}

// Clocked is the disk of this machine with another clock. It may be used from several goroutines.
type Clocked struct {
	disk.OS
	Clock func(asked int) time.Time // what it shows when it is looked at for the so many-th time, from 0
	asked atomic.Int64
}

// Now returns what the clock shows, without a reading that cannot be set.
func (d *Clocked) Now() time.Time { return d.Clock(int(d.asked.Add(1) - 1)).Round(0) }

// WrongClocks returns clocks that are set back or forward by days again and again, or stand still.
func WrongClocks() map[string]*Clocked {
	const day = 24 * time.Hour
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return map[string]*Clocked{
		"back": {Clock: func(n int) time.Time { return begin.Add(-time.Duration(n) * day) }},
		"forward": {Clock: func(n int) time.Time {
			return begin.Add(time.Duration(n/8)*3*day + time.Duration(n)*time.Microsecond)
		}},
		"to and fro": {Clock: func(n int) time.Time {
			return begin.Add(time.Duration(n%3-1) * 9 * day)
		}},
		"still": {Clock: func(int) time.Time { return begin }},
	}
}
