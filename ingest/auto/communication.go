package auto

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// Communication is what a job left of its communication: NCCL's
// debug logs, exports of Nsight Systems and dumps of NCCL's Inspector, mixed, by content and not by name.
type Communication struct {
	Comm     *comms.Record // logs first, then the other files by path
	Problems []Problem
	Passed   int // files in folders that are none of these
}

// recorder reads the files of one format.
type recorder interface {
	read(src *ingest.Source, name string) error
	comms() []*comms.Record // of what was read
}

// files is the recorder of a format each of whose files stands for itself.
type files struct {
	one  func(src *ingest.Source, name string, lim ingest.Limits) (*comms.Record, error)
	lim  ingest.Limits
	list []*comms.Record
}

func eachFile(one func(*ingest.Source, string, ingest.Limits) (*comms.Record, error)) func(ingest.Limits) recorder {
	return func(lim ingest.Limits) recorder { return &files{one: one, lim: lim} }
}

func (f *files) read(src *ingest.Source, name string) error {
	c, err := f.one(src, name, f.lim)
	if err == nil {
		f.list = append(f.list, c)
	}
	return err
}

func (f *files) comms() []*comms.Record { return f.list }

// logs is the recorder of debug logs, whose processes may stand in several files.
type logs struct{ *nccllog.Builder }

func newLogs(lim ingest.Limits) recorder { return logs{nccllog.NewBuilder(lim)} }

func (l logs) read(src *ingest.Source, name string) error { return l.Read(src, name) }
func (l logs) comms() []*comms.Record                     { return []*comms.Record{l.Comm()} }

func readExport(src *ingest.Source, name string, lim ingest.Limits) (*comms.Record, error) {
	if src.Size() == ingest.UnknownSize {
		return nil, input.At(input.Pos{File: src.Name()}, input.Bad(input.ErrFormat, "an SQLite database that comes through a pipe: give the file by its name"))
	}
	return nsight.ReadComm(src.Name(), name, lim)
}

// commSniffed is how much of a file is looked at for a line of NCCL's. Launchers and programs may
// write before NCCL does.
const commSniffed = 1 << 20

// maxFiles bounds the files of the folders given.
const maxFiles = 100_000

// commFile is a candidate and the name that it has in results: its path within the folder given,
// or its last part where it was named itself.
type commFile struct {
	path, name string
	named      bool
}

// ReadComm reads what paths hold of communication. Folders are searched with all that is below them. A file that was named and is no
// such one is a problem; one that was found in a folder is passed over. A file that cannot be
// read does not keep the others from being read; a copy of one before it is a problem too. The order in which paths are given does
// not matter. A log may come through a pipe, or as "-" from standard input.
//
// Runs, if any, are the only ones that are read. A run is what lies in the folder of its name, among those below a path or the path itself; one that is not there is a [NoRunError].
func ReadComm(paths []string, lim ingest.Limits, runs ...string) (*Communication, error) {
	list, problems := find(paths)
	list, err := ofRuns(list, runs)
	if err != nil {
		return nil, err
	}
	r := commReader{lim: lim, out: &Communication{Problems: problems}, beginnings: beginnings{}, recorders: map[Format]recorder{}}
	for _, c := range list {
		if err := r.read(c); err != nil {
			r.out.Problems = append(r.out.Problems, Problem{c.path, err})
		}
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return r.out, nil
}

// commReader reads files, whatever they are.
type commReader struct {
	lim        ingest.Limits
	out        *Communication
	recorders  map[Format]recorder
	foreign    error // the first file that another command reads
	beginnings beginnings
}

// read reads one file.
func (r *commReader) read(c commFile) (err error) {
	defer bug.Contain(c.path, &err)
	src, err := openComm(c.path, r.lim)
	format := Unknown
	if err == nil {
		defer src.Close()
		head, peeked := src.Peek(commSniffed)
		if format = sniff(head); format.row().record == nil && peeked != io.EOF {
			err = peeked
		}
	}
	record := format.row().record
	switch {
	case err != nil && (c.named || errors.Is(err, fs.ErrPermission)):
		return err
	case err != nil || record == nil && !c.named:
		if err == nil && r.foreign == nil {
			r.foreign = instead(format, c.path)
		}
		r.out.Passed++
		return nil
	case record == nil:
		if err := instead(format, c.path); err != nil {
			return err
		}
		return input.At(input.Pos{File: c.path}, input.Bad(input.ErrFormat,
			"no line of NCCL's debug log in its first %d bytes, no SQLite export of Nsight Systems, and no dump of NCCL's Inspector: record with NCCL_DEBUG=INFO", commSniffed))
	}
	if err := r.beginnings.copied(c.path, src, r.lim); err != nil {
		return err
	}
	if r.recorders[format] == nil {
		r.recorders[format] = record(r.lim)
	}
	return r.recorders[format].read(src, c.name)
}

// finish joins what was read; the error says why there is nothing.
func (r *commReader) finish() error {
	var all []*comms.Record
	for f := Unknown; f <= Empty; f++ {
		if x := r.recorders[f]; x != nil {
			all = append(all, x.comms()...)
		}
	}
	r.out.Comm = comms.Join(all...)
	problems := r.out.Problems
	switch {
	case len(r.out.Comm.Sources) > 0:
		return nil
	case len(problems) == 1:
		return problems[0].Err
	case len(problems) == 0 && r.foreign != nil:
		return r.foreign
	}
	err := errors.New("no debug log of NCCL, no dump of its Inspector and no export of Nsight Systems in any input: record with NCCL_DEBUG=INFO " +
		"NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH, or with nsys profile --trace=cuda,nvtx and nsys export --type=sqlite")
	for _, p := range problems {
		err = errors.Join(err, p.Err)
	}
	return err
}

// instead says what to do with a file of a format that other commands read for what it has of communication, nil for any other.
func instead(f Format, path string) error {
	text := ""
	switch f {
	case Kineto:
		text = "a profiler trace of PyTorch (Kineto), which does not name communicators and sizes as NCCL does: give it to sfstat diagnose or sfstat breakdown"
	case FlightRecorder:
		text = "a dump of PyTorch's Flight Recorder, which sfstat hang, arrivals and diagnose read: for sfstat comm set NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH"
	default:
		return nil
	}
	return input.At(input.Pos{File: path}, input.Bad(input.ErrFormat, "%s", text))
}

// openComm opens a file, once: what was read of a pipe does not come again. Shells may have written logs as UTF-16.
func openComm(path string, lim ingest.Limits) (src *ingest.Source, err error) {
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

// find lists the files of paths, each once, those of a folder by name.
func find(paths []string) (files []commFile, problems []Problem) {
	for _, p := range slices.Sorted(slices.Values(paths)) {
		if p == ingest.Stdin {
			files = append(files, commFile{p, p, true})
			continue
		}
		info, err := os.Stat(p)
		switch {
		case err != nil:
			problems = append(problems, Problem{p, ingest.Unreadable(p, err)})
		case info.IsDir():
			list, err := below(p)
			if err != nil {
				problems = append(problems, Problem{p, err})
			}
			files = append(files, list...)
		default:
			files = append(files, commFile{p, filepath.Base(p), true})
		}
	}
	return distinct(files), problems
}

var errTooMany = errors.New("too many files")

// below lists the regular files below a folder; those that begin with a dot are hidden.
func below(root string) (files []commFile, err error) {
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
		if files = append(files, commFile{path, filepath.ToSlash(name), false}); len(files) >= maxFiles {
			return errTooMany
		}
		return nil
	})
	if errors.Is(err, errTooMany) {
		err = input.At(input.Pos{File: root}, input.Bad(input.ErrTooLarge, "more than %d files in the folder, the rest is not looked at: name the folder of the logs", maxFiles))
	}
	return files, err
}

// NoRunError reports that no folder is called as a run that was asked for.
type NoRunError struct {
	Run string
	Has []string // folders in which files lie, ascending
}

func (e *NoRunError) Error() string {
	return fmt.Sprintf("no file lies in a folder %q: the folders are %s", e.Run, strings.Join(e.Has, ", "))
}

// ofRuns are the files in or below a folder that is called as one of some runs, such as job or node0/job; of no runs, all.
func ofRuns(files []commFile, runs []string) (list []commFile, err error) {
	if len(runs) == 0 {
		return files, nil
	}
	found, folders := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.path == ingest.Stdin {
			continue
		}
		parts, in := folderParts(f.path), false
		folders[parts[len(parts)-1]] = true
		above := len(parts) - 1 - strings.Count(f.name, "/") // folders that the one given lies in name no run
		folder := "/" + strings.Join(parts[max(above, 0):], "/") + "/"
		for _, run := range runs {
			if strings.Contains(folder, "/"+run+"/") {
				found[run], in = true, true
			}
		}
		if in {
			list = append(list, f)
		}
	}
	for _, run := range runs {
		if !found[run] {
			return nil, &NoRunError{run, slices.Sorted(maps.Keys(folders))}
		}
	}
	return list, nil
}

// distinct drops a file that comes a second time. Two files that would go by one name go by
// their paths.
func distinct(files []commFile) []commFile {
	seen, named := map[string]bool{}, map[string]int{}
	files = slices.DeleteFunc(files, func(f commFile) bool {
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
