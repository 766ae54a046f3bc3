// Package commfiles finds and reads what a job left of its communication: NCCL's
// debug logs, exports of Nsight Systems and dumps of NCCL's Inspector, mixed, by content and not by name.
//
// Folders are searched with all that is below them. A file that was named and is neither is
// a problem; one that was found in a folder is passed over. A file that cannot be
// read does not keep the others from being read; a copy of one before it is a problem too. The order in which paths are given does
// not matter. A log may come through a pipe, or as "-" from standard input.
package commfiles

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/inspector"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace"
)

// Found is what was read.
type Found struct {
	Comm     *trace.Comm
	Problems []Problem
	Passed   int // files in folders that are none of these

	comms      []*trace.Comm // of exports and dumps
	foreign    error         // the first of them that another command reads
	beginnings beginnings
}

// Problem is a file that was refused.
type Problem struct {
	Path string
	Err  error
}

// sniffed is how much of a file is looked at to tell what it is. Launchers and programs may
// write before NCCL does.
const sniffed = 1 << 20

// maxFiles bounds the files of the folders given.
const maxFiles = 100_000

// file is a candidate and the name that it has in results: its path within the folder given,
// or its last part where it was named itself.
type file struct {
	path, name string
	named      bool
}

// Read reads all logs and exports of paths.
func Read(paths []string, lim ingest.Limits) (*Found, error) {
	files, problems := find(paths)
	f := &Found{Problems: problems, beginnings: beginnings{}}
	b := nccllog.NewBuilder(lim)
	for _, c := range files {
		if err := f.read(c, b, lim); err != nil {
			f.Problems = append(f.Problems, Problem{c.path, err})
		}
	}
	f.Comm = trace.JoinComms(append([]*trace.Comm{b.Comm()}, f.comms...)...)
	if len(f.Comm.Sources) == 0 {
		if len(f.Problems) == 1 {
			return nil, f.Problems[0].Err
		}
		if len(f.Problems) == 0 && f.foreign != nil {
			return nil, f.foreign
		}
		err := errors.New("no debug log of NCCL, no dump of its Inspector and no export of Nsight Systems in any input: record with NCCL_DEBUG=INFO " +
			"NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH, or with nsys profile --trace=cuda,nvtx and nsys export --type=sqlite")
		for _, p := range f.Problems {
			err = errors.Join(err, p.Err)
		}
		return nil, err
	}
	return f, nil
}

// read reads one file, whatever it is.
func (f *Found) read(c file, b *nccllog.Builder, lim ingest.Limits) error {
	src, err := open(c.path, lim)
	kind := other
	if err == nil {
		defer src.Close()
		kind, err = sniff(src)
	}
	switch {
	case err != nil && (c.named || errors.Is(err, fs.ErrPermission)):
		return err
	case err != nil || kind >= other && !c.named:
		if err == nil && kind > other && f.foreign == nil {
			f.foreign = kind.instead(c.path)
		}
		f.Passed++
		return nil
	case kind > other:
		return kind.instead(c.path)
	case kind == other:
		return trace.At(trace.Pos{File: c.path}, trace.Bad(trace.ErrFormat,
			"no line of NCCL's debug log in its first %d bytes, no SQLite export of Nsight Systems, and no dump of NCCL's Inspector: record with NCCL_DEBUG=INFO", sniffed))
	}
	if err := f.beginnings.copied(c.path, src, lim); err != nil {
		return err
	}
	return f.take(c, kind, src, b, lim)
}

// take reads a file of which it is known what it is.
func (f *Found) take(c file, kind kind, src *ingest.Source, b *nccllog.Builder, lim ingest.Limits) error {
	switch {
	case kind == inspectorDump:
		d, err := inspector.Read(src, c.name, lim)
		if err != nil {
			return err
		}
		f.comms = append(f.comms, d)
		return nil
	case kind == database && src.Size() == ingest.UnknownSize:
		return trace.At(trace.Pos{File: c.path}, trace.Bad(trace.ErrFormat, "an SQLite database that comes through a pipe: give the file by its name"))
	case kind == database:
		export, err := nsight.ReadComm(c.path, c.name, lim)
		if err != nil {
			return err
		}
		f.comms = append(f.comms, export)
		return nil
	}
	return b.Read(src, c.name)
}

// kind is what a file is.
type kind uint8

const (
	debugLog kind = iota
	database
	inspectorDump
	other
	profilerTrace // of PyTorch
	flightRecorder
)

// instead says what to do with a file that this command does not read.
func (k kind) instead(path string) error {
	text := "a profiler trace of PyTorch (Kineto), which does not name communicators and sizes as NCCL does: give it to sfstat diagnose or sfstat breakdown"
	if k == flightRecorder {
		text = "a dump of PyTorch's flight recorder, which torchfrtrace reads: for sfstat comm set NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH"
	}
	return trace.At(trace.Pos{File: path}, trace.Bad(trace.ErrFormat, "%s", text))
}

// open opens a file, once: what was read of a pipe does not come again. Shells may have written logs as UTF-16.
func open(path string, lim ingest.Limits) (src *ingest.Source, err error) {
	if path == ingest.Stdin {
		src, err = ingest.NewSource(os.Stdin, path, lim)
	} else {
		src, err = ingest.Open(path, lim)
	}
	if err == nil {
		src.FromUTF16()
	}
	return src, err
}

// sniff tells by the first bytes.
func sniff(src *ingest.Source) (kind, error) {
	head, err := src.Peek(sniffed)
	switch {
	case strings.HasPrefix(string(head[:min(len(head), len(nsight.Magic))]), nsight.Magic):
		return database, nil
	case inspector.Recognise(head):
		return inspectorDump, nil
	case nccllog.Recognise(head):
		return debugLog, nil
	case err != nil && err != io.EOF:
		return other, err
	}
	return foreign(head), nil
}

// foreign tells files that other commands or programs read by the names that they begin with: traces of PyTorch's profiler, and
// the dumps of its flight recorder, pickled or JSON.
func foreign(head []byte) kind {
	begins := head[:min(len(head), 64<<10)]
	has := func(words ...string) bool {
		for _, w := range words {
			if !bytes.Contains(begins, []byte(w)) {
				return false
			}
		}
		return true
	}
	switch object := bytes.HasPrefix(bytes.TrimSpace(begins), []byte("{")); {
	case object && has(`"traceEvents"`), object && has(`"schemaVersion"`, `"deviceProperties"`):
		return profilerTrace
	case (object || bytes.HasPrefix(begins, []byte{0x80})) && has("pg_config") && (has("nccl_version") || has("entries")):
		return flightRecorder
	}
	return other
}

// find lists the files of paths, each once, those of a folder by name.
func find(paths []string) (files []file, problems []Problem) {
	for _, p := range slices.Sorted(slices.Values(paths)) {
		if p == ingest.Stdin {
			files = append(files, file{p, p, true})
			continue
		}
		info, err := os.Stat(p)
		switch {
		case err != nil:
			problems = append(problems, Problem{p, ingest.Unreadable(p, err)})
		case info.IsDir():
			below, err := folder(p)
			if err != nil {
				problems = append(problems, Problem{p, err})
			}
			files = append(files, below...)
		default:
			files = append(files, file{p, filepath.Base(p), true})
		}
	}
	return distinct(files), problems
}

var errTooMany = errors.New("too many files")

// folder lists the regular files below a folder; those that begin with a dot are hidden.
func folder(root string) (files []file, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return ingest.Unreadable(root, err)
		case err != nil:
			return nil
		case path != root && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			name = path
		}
		if files = append(files, file{path, filepath.ToSlash(name), false}); len(files) >= maxFiles {
			return errTooMany
		}
		return nil
	})
	if errors.Is(err, errTooMany) {
		err = trace.At(trace.Pos{File: root}, trace.Bad(trace.ErrTooLarge, "more than %d files in the folder, the rest is not looked at: name the folder of the logs", maxFiles))
	}
	return files, err
}

// distinct drops a file that comes a second time. Two files that would go by one name go by
// their paths.
func distinct(files []file) []file {
	seen, named := map[string]bool{}, map[string]int{}
	files = slices.DeleteFunc(files, func(f file) bool {
		real := f.path
		if abs, err := filepath.Abs(real); err == nil {
			real = abs
		}
		if link, err := filepath.EvalSymlinks(real); err == nil {
			real = link
		}
		again := seen[real]
		seen[real] = true
		return again
	})
	for _, f := range files {
		named[f.name]++
	}
	for i := range files {
		if named[files[i].name] > 1 {
			files[i].name = filepath.ToSlash(files[i].path)
		}
	}
	return files
}
