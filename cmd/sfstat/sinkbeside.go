package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
)

// besideFile is the file beside a table of windows, with what that has no
// columns for.
type besideFile struct {
	*output
	writer *packet.BesideWriter
}

// writeBeside writes what the table f has no columns for. Beside a stream there
// is no room for it, which is remarked once.
func (s *sink) writeBeside(f *sinkFile, w *trace.Window) error {
	switch s.target.container {
	case packets:
		return nil
	case parquet: // which has a column for epochs
		if len(w.Arrivals) == 0 {
			return nil
		}
	}
	if !packet.HasBeside(w) {
		return nil
	}
	if f.name == "-" || !f.plain() {
		text := fmt.Sprintf("epochs and arrivals are left out, which --to %s has no columns for and which lie beside a file: name a file, or --to packets",
			containers[s.target.container].name)
		if !slices.Contains(s.remarks, text) {
			s.remarks = append(s.remarks, text)
		}
		return nil
	}
	if f.beside == nil {
		out, err := s.create(packet.Beside(f.name), ".zst")
		if err != nil {
			return err
		}
		f.beside = &besideFile{out, packet.NewBesideWriter(out)}
	}
	return f.beside.writer.Write(w)
}

// plain reports whether the output is, or will be, a plain file.
func (f *sinkFile) plain() bool {
	info, err := os.Stat(f.name)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular()
}

// commitBeside gives the file beside a table its name, which it returns. Where
// the table has none, one of the table that it replaces goes.
func (s *sink) commitBeside(f *sinkFile) ([]string, error) {
	if f.beside != nil {
		return []string{f.beside.name}, f.beside.commit()
	}
	if s.target.container != packets && f.name != "-" {
		if err := os.Remove(packet.Beside(f.name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, nil
}
