package batch

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/objectstore"
	"github.com/sfstat/sfstat/internal/parallel"
)

// unit is files that are read as one input. Joined units hold more than stage times, and give one verdict with those of
// their run.
type unit struct {
	files  []file
	joined bool
	folder string // of all of them; "": that of the first
	beside []file // what the reader of a table opens by itself
}

// folder is the files of a folder.
type folder struct {
	path  string
	files []file
	auto.Held
	into  *folder // with whose files they are read; nil: by themselves
	split bool    // it is several, of hosts
}

// unitsOf divides sorted files into units.
//
// In a folder with stage times only, each Parquet file without a rank is a unit, and the other files are one. Folders of
// one job on several hosts are joined, and so are folders of its ranks. A folder with operators, dumps or logs is one
// unit, because the windows of their run may be in any file. If the folder has no windows, it joins the folder with
// windows above it, or the only one beside it.
func unitsOf(files []file, holds holder) ([]unit, error) {
	folders, err := foldersOf(files, holds)
	if err != nil {
		return nil, err
	}
	var out []unit
	for _, f := range folders {
		switch {
		case f.into != nil:
		case f.More:
			u := unit{files: f.files, joined: true}
			for _, other := range folders {
				if other.into == f {
					u.files = append(u.files, other.files...)
				}
			}
			out = append(out, u)
		default:
			out = append(out, stageUnits(f)...)
		}
	}
	return out, nil
}

// stageUnits returns the units of a folder that has only stage times.
func stageUnits(in *folder) (out []unit) {
	rest := -1
	at := make(map[string]int) // units of Parquet files
	for _, f := range in.files {
		table, arrivals := strings.CutSuffix(f.Path, packet.SidecarSuffix)
		i, known := at[table] // which stands before it
		switch {
		case arrivals && known:
			out[i].beside = []file{f}
		case isParquet(f.Path) && !isOfRank(f.Path) && !in.split:
			at[f.Path] = len(out)
			out = append(out, unit{files: []file{f}})
		case rest < 0:
			rest = len(out)
			out = append(out, unit{files: []file{f}})
			if in.split || in.path != folderOf(f.Path) {
				out[rest].folder = in.path
			}
		default:
			out[rest].files = append(out[rest].files, f)
		}
	}
	return out
}

// isOfRank reports whether a file is one of those that ranks wrote apart.
func isOfRank(path string) bool { return auto.NamesRank(path) || jobFolder(path) != folderOf(path) }

// jobFolder returns the folder of the job that a file is of: folders of ranks are parts of it.
func jobFolder(path string) string {
	if folder := folderOf(path); !objectstore.IsURL(folder) {
		return auto.JobFolder(folder)
	}
	return folderOf(path)
}

func isParquet(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".parquet") }

// foldersOf sorts files by folder and finds which folders are read together.
func foldersOf(files []file, holds holder) ([]*folder, error) {
	var all []*folder
	at := make(map[string]*folder)
	below := make(map[string][]*folder) // folders with windows, by the one above them
	shared := sharedFolders(files)
	for _, f := range files {
		dir := jobFolder(f.Path)
		whole, split := shared[dir]
		if split {
			dir = whole.key
		}
		if at[dir] == nil {
			at[dir] = &folder{path: dir, split: split}
			if all = append(all, at[dir]); split {
				at[dir].path = whole.path
			}
		}
		at[dir].files = append(at[dir].files, f)
	}
	if err := lookAll(all, holds); err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.Windows {
			up := folderOf(f.path)
			below[up] = append(below[up], f)
		}
	}
	for _, f := range all {
		if !f.More || f.Windows {
			continue
		}
		up := folderOf(f.path)
		if above := at[up]; above != nil && above.Windows {
			f.into = above
		} else if len(below[up]) == 1 {
			f.into = below[up][0]
		}
		if f.into != nil {
			f.into.More = true
		}
	}
	return all, nil
}

// sharedFolder is the common key and parent of folders of one job on several hosts.
type sharedFolder struct{ key, path string }

// sharedFolders returns the folders of jobs with a folder on each of several hosts.
func sharedFolders(files []file) map[string]*sharedFolder {
	of := make(map[string][]string) // folders, by what they are without their host
	seen := make(map[string]bool)
	for _, f := range files {
		dir := jobFolder(f.Path)
		if seen[dir] || objectstore.IsURL(dir) {
			continue
		}
		seen[dir] = true
		if key := auto.SharedFolder(dir); key != dir {
			of[key] = append(of[key], dir)
		}
	}
	out := make(map[string]*sharedFolder)
	for key, dirs := range of {
		if len(dirs) < 2 {
			continue
		}
		whole := &sharedFolder{key: "\x00" + key, path: dirs[0]}
		for _, dir := range dirs {
			for whole.path != filepath.Dir(whole.path) && !strings.HasPrefix(dir+"/", whole.path+"/") {
				whole.path = filepath.Dir(whole.path)
			}
			out[dir] = whole
		}
	}
	return out
}

// holder returns the contents of a file by kind.
type holder func(file) (auto.Held, error)

// lookAll looks into folders in parallel, because looking mostly waits.
func lookAll(all []*folder, holds holder) error {
	failed := make([]error, len(all))
	parallel.Do(len(all), objectstore.AtOnce, func(i int) { failed[i] = all[i].look(holds) })
	return cmp.Or(failed...)
}

// look finds the contents of the files of a folder. Of files whose names differ only in digits, as those of ranks do, it
// opens the first.
func (f *folder) look(holds holder) error {
	seen := make(map[string]bool)
	for _, in := range f.files {
		if isParquet(in.Path) {
			f.Windows = true // or operators, beside which lies what says their layout
			continue
		}
		shape := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, filepath.Base(in.Path))
		if seen[shape] {
			continue
		}
		seen[shape] = true
		held, err := holds(in)
		if err != nil {
			return err
		}
		f.Windows, f.More = f.Windows || held.Windows, f.More || held.More
	}
	return nil
}
