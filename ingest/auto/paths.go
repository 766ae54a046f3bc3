package auto

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/disk"
)

// candidate is a file that may be an input.
type candidate struct {
	path    string
	name    string // in results: its path within the folder given, or the last part of one that was named
	real    string // what path leads to, the same for all its names; "": not known yet
	named   bool   // by the user; else it was found in a folder
	skipped string // why it is not looked into, "" if it is
	known   bool   // skipped because it is hidden, or there under another path
	err     error  // why it cannot be looked into
}

// Listed is a file that may be an input.
type Listed struct {
	Path    string
	Skipped string // why it is not looked into, "" if it is
	Err     error  // why it cannot be looked into
}

// List returns the files that Open would look at, by path, each once: named ones, and
// the contents of folders, to any depth. No file is opened.
func List(on disk.Disk, paths []string) []Listed {
	var out []Listed
	for _, c := range expand(on, paths) {
		out = append(out, Listed{c.path, c.skipped, c.err})
	}
	return out
}

// candidates returns the files that paths lead to.
func (o *Options) candidates(paths []string) (all []candidate, err error) {
	if !o.Found {
		return filesOfRuns(expand(o.Disk, paths), o.Runs)
	}
	for _, path := range paths {
		all = append(all, candidate{path: path, name: filepath.Base(path)})
	}
	return all, nil
}

// expand turns what the user gave into files, by path, each once: folders into
// what is in them, to any depth.
func expand(on disk.Disk, paths []string) []candidate {
	var all []candidate
	for _, p := range paths {
		c := candidate{path: p, name: filepath.Base(p), named: true}
		if p == ingest.Stdin {
			all = append(all, c)
			continue
		}
		info, err := on.Stat(p)
		switch {
		case err != nil:
			c.err = ingest.Unreadable(p, err)
			all = append(all, c)
		case info.IsDir():
			for _, c := range folder(on, p, make(map[string]string)) {
				if name, err := filepath.Rel(p, c.path); err == nil {
					c.name = filepath.ToSlash(name)
				}
				all = append(all, c)
			}
		default:
			all = append(all, c)
		}
	}
	// A file that was named comes before its like found in a folder.
	slices.SortStableFunc(all, func(a, b candidate) int {
		if a.path == b.path && a.named != b.named && a.named {
			return -1
		}
		return strings.Compare(a.path, b.path)
	})
	return once(all)
}

// folder lists the files of dir and of the folders in it. been are the folders
// that were listed, by their real paths: links may lead to one again.
func folder(on disk.Disk, dir string, been map[string]string) []candidate {
	real := realPath(dir)
	been[real] = dir
	entries, err := on.ReadDir(dir)
	if err != nil {
		return []candidate{{path: dir, err: ingest.Unreadable(dir, err)}}
	}
	var out []candidate
	for _, e := range entries {
		c := candidate{path: filepath.Join(dir, e.Name()), real: filepath.Join(real, e.Name())}
		is, err := e.Type(), error(nil) // of most files no more is asked: there may be very many
		if is&os.ModeSymlink != 0 {
			var info os.FileInfo
			if info, err = on.Stat(c.path); err == nil {
				is, c.real = info.Mode().Type(), realPath(c.path)
			}
		}
		switch {
		case strings.HasPrefix(e.Name(), "."):
			c.skipped, c.known = "hidden", true
		case err != nil:
			c.err = ingest.Unreadable(c.path, err)
		case is.IsDir() && isWithin(real, c.real):
			c.skipped, c.known = "a link to a folder that it is in", true
		case is.IsDir() && been[c.real] != "":
			c.skipped, c.known = "the same folder as "+been[c.real], true
		case is.IsDir():
			out = append(out, folder(on, c.path, been)...)
			continue
		case !is.IsRegular():
			c.skipped = "not a regular file"
		case isXPlaneSidecar(c.path):
			c.skipped = "the profile in " + strings.TrimSuffix(e.Name(), ".trace.json.gz") + ".xplane.pb, shortened"
		}
		out = append(out, c)
	}
	return out
}

// once skips files that come a second time, under the same or another path.
func once(all []candidate) []candidate {
	seen := make(map[string]string)
	for i := range all {
		c := &all[i]
		if c.skipped != "" || c.err != nil {
			continue
		}
		if c.real == "" && c.path != ingest.Stdin {
			c.real = realPath(c.path)
		}
		if first, ok := seen[c.real]; ok {
			c.skipped, c.known = "the same file as "+first, true
			continue
		}
		seen[c.real] = c.path
	}
	return all
}

// IsWithin reports whether a path leads to the folder or below it.
func IsWithin(path, folder string) bool { return isWithin(realPath(path), realPath(folder)) }

// isWithin reports whether dir, a real path, is the folder or below it.
func isWithin(dir, folder string) bool {
	rest, ok := strings.CutPrefix(dir, folder)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(folder, string(filepath.Separator)))
}

// realPath returns the path of the file that path leads to, the same for all its names as far as the file system tells.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if link, err := filepath.EvalSymlinks(path); err == nil {
		path = link
	}
	return path
}

// isNamedAsPackets reports whether a file is named as packets. The name decides only two questions: whether a foreign
// file in a folder is reported as refused, and how an undecided JSON object is read.
func isNamedAsPackets(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
}
