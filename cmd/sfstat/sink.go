package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/packet"
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

// wanted is what can be written. A profiler trace holds windows and operators,
// and only a folder has room for both; packets have none for operators.
func (t *target) wanted() auto.Wanted {
	if t.folder && t.container != packets {
		return auto.EveryForm
	}
	return auto.Everything
}

// windowWriter is what the writers of all containers are.
type windowWriter interface {
	Write(*trace.Window) error
	Close() error
}

// sink writes windows and operator traces to a target. Files get their names
// when everything is written, or never.
type sink struct {
	p      *program
	target target
	made   bool                 // the folder, by us
	files  map[string]*sinkFile // that are open, by what they hold
	all    []*sinkFile
	traces []*output // operator traces, each after its meta file

	remarks []string // for the user, when all went well
}

// output is one file of a sink, or standard output: what is written goes through a
// compressor and a buffer. It gets its name with the others.
type output struct {
	io.Writer
	name   string
	layers []io.Closer      // outermost first
	file   *atomicfile.File // nil: standard output
}

// create begins an output.
func (s *sink) create(name, pack string) (*output, error) {
	o := &output{name: name}
	out := s.p.out
	if name != "-" {
		file, err := s.p.outputs.create(name)
		if err != nil {
			return nil, err
		}
		out, o.file = file, file
	}
	buffer := flushing{bufio.NewWriterSize(out, 64<<10)}
	o.Writer, o.layers = buffer, []io.Closer{buffer}
	z, err := compressor(pack, buffer)
	if z != nil {
		o.Writer, o.layers = z, []io.Closer{z, buffer}
	}
	return o, err
}

// finish writes what is buffered.
func (o *output) finish() error {
	for len(o.layers) > 0 {
		layer := o.layers[0]
		o.layers = o.layers[1:]
		if err := layer.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (o *output) commit() error {
	if o.file == nil {
		return nil
	}
	return o.file.Commit()
}

// compressor is what compresses on the way to out, nil where nothing does; closing it
// leaves out open.
func compressor(pack string, out io.Writer) (io.WriteCloser, error) {
	switch pack {
	case ".gz":
		return gzip.NewWriter(out), nil
	case ".zst":
		return zstd.NewWriter(out)
	}
	return nil, nil
}

// sinkFile is a file of windows: the container's writer over an output.
type sinkFile struct {
	*output
	writer windowWriter // nil when it is finished
	run    string
	beside *besideFile // nil where there is nothing to lie there
}

// finish writes what is buffered.
func (f *sinkFile) finish() error {
	if f.writer == nil {
		return nil
	}
	err := f.writer.Close()
	if err == nil {
		err = f.output.finish()
	}
	f.writer = nil
	if f.beside != nil && err == nil {
		err = f.beside.finish()
	}
	return err
}

func newSink(p *program, t target) *sink {
	return &sink{p: p, target: t, files: make(map[string]*sinkFile)}
}

// Write sends a window to its file, which in a folder is one of its run.
func (s *sink) Write(w *trace.Window) error {
	key := s.key(w)
	f := s.files[key]
	if f == nil {
		if len(s.traces) > 0 && !s.target.folder {
			return badInput(fmt.Errorf("windows and an operator trace do not fit into one file: give a folder (-o DIR/ --to %s)", containers[s.target.container].name))
		}
		if len(s.all) > 0 && !s.target.folder {
			return badInput(fmt.Errorf("run %q, window %d has another stage list than the windows before it, and a %s file holds one: "+
				"give a folder (-o %s/ --to %s) or a .jsonl file", w.Run, w.Index, containers[s.target.container].name,
				strings.TrimSuffix(s.target.path, filepath.Ext(s.target.path)), containers[s.target.container].name))
		}
		if err := s.finishOthers(w.Run); err != nil {
			return err
		}
		var err error
		if f, err = s.open(w.Run); err != nil {
			return err
		}
		s.files[key] = f
		s.all = append(s.all, f)
	}
	if err := f.writer.Write(w); err != nil {
		return ofWindow(w, err)
	}
	return ofWindow(w, s.writeBeside(f, w))
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

// key tells windows apart that need files of their own: in a folder those of
// each run and, but for packets, each list of columns, side channels included.
// In a single file the writer decides which channels fit.
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

// windowsName is a free name in the folder for windows of a run.
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
	}
	out, err := s.create(name, s.target.pack)
	if err != nil {
		return nil, err
	}
	return &sinkFile{output: out, writer: newWindowWriter(s.target, out), run: run}, nil
}

func newWindowWriter(t target, out io.Writer) windowWriter {
	switch t.container {
	case wideCSV:
		return csv.NewWriter(out)
	case parquet:
		return archive.NewWriter(out)
	}
	return closing{packet.NewWriter(out)}
}

// closing is for a writer with nothing to finish.
type closing struct{ *packet.Writer }

func (closing) Close() error { return nil }

// flushing makes a buffer a layer: to close it is to flush it.
type flushing struct{ *bufio.Writer }

func (f flushing) Close() error { return f.Flush() }

func (s *sink) makeFolder() error {
	made, err := makeFolder(s.target.path)
	s.made = s.made || made
	return err
}

// Commit finishes all files and gives them their names, which it returns.
func (s *sink) Commit() ([]string, error) {
	var names []string
	for _, f := range s.all {
		if err := f.finish(); err != nil {
			return nil, err
		}
	}
	for _, f := range s.all {
		if err := f.commit(); err != nil {
			return nil, err
		}
		beside, err := s.commitBeside(f)
		if err != nil {
			return nil, err
		}
		names = append(append(names, f.name), beside...)
	}
	for _, w := range s.traces {
		if err := w.commit(); err != nil {
			return nil, err
		}
		names = append(names, w.name)
	}
	return names, nil
}

// Discard drops everything; the files are removed at the end of the program.
func (s *sink) Discard() {
	if s.made {
		s.p.outputs.discard()
		os.Remove(s.target.path)
	}
}
