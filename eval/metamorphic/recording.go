package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/profiler"
)

// recording is what was recorded of a job: a file or a folder of them.
type recording struct {
	name string // among all
	path string
	kind string // of its times, as the columns of the table have it
}

// file is one file of a recording as it is stored.
type file struct {
	name   string // below the recording, with slashes
	path   string // of the file that it was read from; "" for one that was made
	stored []byte
	form   *form
}

// plain returns the content of a file, unpacked.
func (f *file) plain() ([]byte, error) {
	src, err := ingest.NewSource(bytes.NewReader(f.stored), f.name, ingest.Limits{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	text, err := io.ReadAll(src)
	if err != nil {
		return nil, notApplicable("%s is damaged: %v", f.name, err)
	}
	return text, nil
}

// withContent returns the file with another content, which is not packed.
func (f *file) withContent(text []byte) *file {
	out := *f
	out.stored, out.path = text, ""
	for _, ext := range []string{".gz", ".zst"} {
		out.name = strings.TrimSuffix(out.name, ext)
	}
	return &out
}

// withName returns the file under another name.
func (f *file) withName(name string) *file {
	out := *f
	out.name = name
	return &out
}

// files returns the files of a recording that a verdict may rest on, by name; none where no format is known. Archives that lie beside a
// table or a trace under its name belong to it.
func (r *recording) files() ([]*file, error) {
	root, paths := r.path, []string{r.path}
	info, err := os.Stat(r.path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		root = filepath.Dir(r.path)
		paths = append(paths, companions(r.path)...)
	}
	in, err := auto.Open(paths, auto.Options{Kinds: auto.Windows | auto.Operators | auto.Devices | auto.Entries | auto.Calls, Detail: profiler.Overview})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out []*file
	for _, i := range in.Inputs() {
		of, ok := forms[i.Format]
		if i.MetaOf != "" {
			of, ok = partner, true
		}
		if !ok {
			continue
		}
		stored, err := os.ReadFile(i.Path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, i.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, &file{filepath.ToSlash(name), i.Path, stored, of})
	}
	slices.SortFunc(out, func(a, b *file) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// companions returns the files that lie beside a table or a trace and belong to it.
func companions(path string) (out []string) {
	dir, base := filepath.Split(path)
	stem, trace := strings.CutPrefix(strings.TrimSuffix(base, filepath.Ext(base)), "trace-")
	for _, name := range []string{base + ".arrivals.jsonl.zst", "meta-" + stem + ".yaml"} {
		if _, err := os.Stat(dir + name); err == nil && (trace || !strings.HasPrefix(name, "meta-")) {
			out = append(out, dir+name)
		}
	}
	return out
}

// written is when all files were written: what a dump leaves open depends on which is older.
var written = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// write writes files into a folder, and returns their paths in the same order.
func write(folder string, files []*file) (paths []string, err error) {
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			return nil, fmt.Errorf("%s: two files of one name", f.name)
		}
		if err := os.WriteFile(path, f.stored, 0o666); err != nil {
			return nil, err
		}
		if err := os.Chtimes(path, written, written); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// verdictOf returns what is claimed of files, which are read as one folder, or in their order where ordered is
// true of them.
func verdictOf(files []*file, in reading) (*spoken, error) {
	folder, err := os.MkdirTemp("", "metamorphic")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	root := filepath.Join(folder, "job") // names the run where no file does
	paths, err := write(root, files)
	if err != nil {
		return nil, err
	}
	if in == asFolder {
		paths = []string{root}
	}
	out := ask(paths)
	out.refused = strings.ReplaceAll(strings.ReplaceAll(out.refused, root+string(filepath.Separator), ""), root, "the folder")
	return out, nil
}

// reading is how files are named to the program.
type reading uint8

const (
	asFolder reading = iota
	oneByOne
)

// packers are ways to store a file, by the end of its name.
var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	".gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	".zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
}

// compress returns a file stored in a way.
func (f *file) compress(ext string) (*file, error) {
	text, err := f.plain()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := packers[ext](&out)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	of := f.withContent(out.Bytes())
	return of.withName(of.name + ext), nil
}

// exists reports whether something lies at a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !os.IsNotExist(err) && err != fs.ErrInvalid
}
