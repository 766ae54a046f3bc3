package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/trace"
)

// container is a file format for windows; CSV and Parquet are formats for
// operator traces too, of other columns.
type container uint8

const (
	packets container = iota
	wideCSV
	parquet
)

// containers by the name that --to has and the extension that files have.
var containers = [...]struct{ name, extension string }{
	packets: {"packets", ".jsonl"},
	wideCSV: {"csv", ".csv"},
	parquet: {"parquet", ".parquet"},
}

// target is how windows and operator traces are to be written.
type target struct {
	path      string // "-" is standard output
	folder    bool   // path is a folder; every run has a file in it, or one for each list of columns
	container container
	pack      string // ".gz", ".zst" or ""
}

// newTarget reads the container and the compression off the extension, unless
// to names the container. A path is a folder when there is one, when it ends in
// a slash, and with to also when it has no extension.
func newTarget(path, to string) (target, error) {
	t := target{path: path}
	info, err := os.Stat(path)
	t.folder = strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator)) || err == nil && info.IsDir() ||
		errors.Is(err, os.ErrNotExist) && to != "" && path != "-" && filepath.Ext(path) == ""
	name := path
	for _, pack := range []string{".gz", ".zst"} {
		if stem, ok := strings.CutSuffix(name, pack); ok {
			name, t.pack = stem, pack
		}
	}
	for _, has := range containers {
		if to != "" && to != has.name && !t.folder && strings.HasSuffix(name, has.extension) {
			return t, badUsage("%s is %s by its name, and --to says %s: leave one of the two out", path, has.name, to)
		}
	}
	for c, has := range containers {
		if to == has.name || to == "" && strings.HasSuffix(name, has.extension) {
			t.container = container(c)
			if t.container == parquet && t.pack != "" {
				return t, badUsage("%s: Parquet is compressed inside, leave %s off", path, t.pack)
			}
			return t, nil
		}
	}
	if to == "" && (path == "-" || t.folder) {
		return t, nil
	}
	return t, badUsage("%s: the extension does not say what to write; use .jsonl, .csv or .parquet (.jsonl.gz, .csv.zst …), or --to csv for a folder", path)
}

// binary reports whether a person cannot read what is written.
func (t *target) binary() bool { return t.container == parquet || t.pack != "" }

// writable returns what is read to be written. A profiler trace holds windows and operators,
// and only a folder has room for both; packets have none for operators.
func (t *target) writable() reading {
	if t.folder && t.container != packets {
		return reading{kinds: auto.Windows | auto.Operators | auto.Devices, detail: profiler.EachOperator}
	}
	return reading{kinds: auto.Windows | auto.Operators}
}

// sink writes windows and operator traces to a target. Files get their names
// when everything is written, or never.
type sink struct {
	p      *program
	target target
	made   bool                 // the folder, by us
	swept  bool                 // what killed programs left in it is gone
	files  map[string]*sinkFile // that are open, by what they hold
	all    []*sinkFile
	traces []*output // operator traces, each after its meta file

	remarks []string // for the user, when all went well
}

// fill has write fill a sink, and prints the names of its files.
func (p *program) fill(c *cli.Context, t target, write func(*sink) (what string, err error)) error {
	s := &sink{p: p, target: t, files: make(map[string]*sinkFile)}
	var names []string
	what, err := write(s)
	if err == nil {
		names, err = s.commit()
	}
	if err != nil {
		if s.made {
			p.outputs.discard()
			_ = p.disk.Remove(t.path)
		}
		return err
	}
	for _, text := range s.remarks {
		p.remark(c, "%s", text)
	}
	if t.path != "-" {
		p.remark(c, "%s written to %s", what, strings.Join(names, ", "))
	}
	return nil
}

// sinkFile is a file of windows, and the one beside it with what it has no columns for.
type sinkFile struct {
	*output
	write func(*trace.Window) error
	ends  func() error // what write has begun; nil when it is finished
	run   string

	beside  *output // nil where there is nothing to lie there
	besides *packet.SidecarWriter
}

// finish writes what is buffered.
func (f *sinkFile) finish() error {
	if f.ends == nil {
		return nil
	}
	err := f.ends()
	f.ends = nil
	if err == nil {
		err = f.output.finish()
	}
	if err == nil && f.beside != nil {
		err = f.beside.finish()
	}
	return err
}

// Write sends a window to its file, which in a folder is one of its run.
func (s *sink) Write(w *trace.Window) error {
	f, err := s.fileFor(w)
	if err != nil {
		return err
	}
	if err := f.write(w); err != nil {
		return windowError(w, err)
	}
	return windowError(w, s.writeBeside(f, w))
}

// fileFor returns the file of a window, and begins a missing one.
func (s *sink) fileFor(w *trace.Window) (*sinkFile, error) {
	key := s.key(w)
	if f := s.files[key]; f != nil {
		return f, nil
	}
	as := containers[s.target.container].name
	switch {
	case s.target.folder:
	case len(s.traces) > 0:
		return nil, badInput(fmt.Errorf("windows and an operator trace do not fit into one file: give a folder (-o DIR/ --to %s)", as))
	case len(s.all) > 0:
		return nil, badInput(fmt.Errorf("run %q, window %d has another stage list than the windows before it, and a %s file holds one: "+
			"give a folder (-o %s/ --to %s) or a .jsonl file", w.Run, w.Index, as, strings.TrimSuffix(s.target.path, filepath.Ext(s.target.path)), as))
	}
	if err := s.finishOthers(w.Run); err != nil {
		return nil, err
	}
	f, err := s.open(w.Run)
	if err != nil {
		return nil, err
	}
	s.files[key], s.all = f, append(s.all, f)
	return f, nil
}

// maxOpen is how many files are written at once: an archive holds a row group.
const maxOpen = 16

// finishOthers finishes the files of other runs where many are open.
func (s *sink) finishOthers(run string) error {
	for key, f := range s.files {
		if len(s.files) < maxOpen || f.run == run {
			continue
		}
		if err := f.finish(); err != nil {
			return err
		}
		delete(s.files, key)
	}
	return nil
}

// key returns a key that differs for windows that need separate files: in a folder, windows of another run and, but for
// packets, of other columns, side channels included. In a single file the writer decides which channels fit.
func (s *sink) key(w *trace.Window) string {
	columns := w.Schema
	switch {
	case !s.target.folder && s.target.container == packets:
		return ""
	case !s.target.folder:
		return columns.Hash()
	case s.target.container == packets:
		return w.Run
	}
	columns.Stages = slices.Clone(columns.Stages)
	for _, c := range w.Side {
		columns.Stages = append(columns.Stages, c.Name)
	}
	return w.Run + "/" + columns.Hash()
}

// windowsName returns a free name in the folder for windows of a run.
func (s *sink) windowsName(run string) string {
	stem := filepath.Join(s.target.path, "windows-"+fileName(run))
	for n := 1; ; n++ {
		name := stem
		if n > 1 {
			name = fmt.Sprintf("%s-%d", stem, n)
		}
		name += containers[s.target.container].extension + s.target.pack
		if !slices.ContainsFunc(s.all, func(f *sinkFile) bool { return f.name == name }) {
			return name
		}
	}
}

// open begins a file.
func (s *sink) open(run string) (*sinkFile, error) {
	name := s.target.path
	if s.target.folder {
		if err := s.makeFolder(); err != nil {
			return nil, err
		}
		name = s.windowsName(run)
	} else {
		s.p.outputs.sweep(name)
	}
	out, err := s.p.begin(name, s.target.pack)
	if err != nil {
		return nil, err
	}
	f := &sinkFile{output: out, run: run}
	switch s.target.container {
	case packets:
		f.write, f.ends = packet.NewWriter(out).Write, func() error { return nil }
	case wideCSV:
		to := csv.NewWriter(out)
		f.write, f.ends = to.Write, to.Close
	case parquet:
		to := archive.NewWriter(out)
		f.write, f.ends = to.Write, to.Close
	}
	return f, nil
}

func (s *sink) makeFolder() error {
	made, err := makeFolder(s.p.disk, s.target.path)
	if s.made = s.made || made; err == nil && !s.swept {
		s.swept = true
		_ = atomicfile.RemoveStaleNamed(s.p.disk, s.target.path, "windows-", "trace-", "meta-") // which only tidies up
	}
	return err
}

// writeBeside writes what the table f has no columns for. Beside a stream there
// is no room for it, which is remarked once.
func (s *sink) writeBeside(f *sinkFile, w *trace.Window) (err error) {
	as := s.target.container
	if as == packets || as == parquet && len(w.Arrivals) == 0 || !packet.NeedsSidecar(w) { // Parquet has a column for epochs
		return nil
	}
	if f.name == "-" || !f.plain() {
		text := fmt.Sprintf("epochs and arrivals are left out, which --to %s has no columns for and which lie beside a file: name a file, or --to packets",
			containers[as].name)
		if !slices.Contains(s.remarks, text) {
			s.remarks = append(s.remarks, text)
		}
		return nil
	}
	if f.beside == nil {
		if f.beside, err = s.p.begin(packet.SidecarPath(f.name), ".zst"); err != nil {
			return err
		}
		f.besides = packet.NewSidecarWriter(f.beside)
	}
	return f.besides.Write(w)
}

// commit finishes all files and gives them their names, which it returns. Where a table has no file
// beside it, one of the table that it replaces goes.
func (s *sink) commit() (names []string, err error) {
	for _, f := range s.all {
		if err := f.finish(); err != nil {
			return nil, err
		}
	}
	for _, f := range s.all {
		written := []*output{f.output}
		if f.beside != nil {
			written = append(written, f.beside)
		}
		if err := commitAll(written, &names); err != nil {
			return nil, err
		}
		if f.beside == nil && s.target.container != packets && f.name != "-" {
			if err := s.p.disk.Remove(packet.SidecarPath(f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	err = commitAll(s.traces, &names)
	return names, err
}

func commitAll(all []*output, names *[]string) error {
	for _, o := range all {
		if err := o.commit(); err != nil {
			return err
		}
		*names = append(*names, o.name)
	}
	return nil
}
