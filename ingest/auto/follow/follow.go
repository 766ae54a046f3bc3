// Package follow keeps track of files that change while jobs run: which of them
// are read together, which of these have changed, and what was appended to packets.
//
// [Files.Look] parts all files into units, each of which is read by itself as if it
// were read among all: the packets of a run, a Parquet file, the other files of a
// folder, and a whole folder where it holds more than stage times. A unit is
// unchanged as long as its files are the same (device and inode), and have the same
// sizes and times, that of the last change among them, which no program sets. What is learned only by reading, that two units have recordings of
// one run, [Files.Join] tells.
package follow

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace/input"
)

// File is an input as it was at a look.
type File struct {
	Path string
	info fs.FileInfo
	held auto.Held
}

// isUnchanged reports whether a file is what it was before.
func (f *File) isUnchanged(before *File) bool {
	return f.Path == before.Path && f.info.Size() == before.info.Size() && f.info.ModTime().Equal(before.info.ModTime()) &&
		disk.ChangeTime(f.info).Equal(disk.ChangeTime(before.info)) && os.SameFile(f.info, before.info)
}

// longer reports whether a file may be what it was before with something appended.
func (f *File) longer(before *File) bool {
	return f.isUnchanged(before) || f.Path == before.Path && f.info.Size() > before.info.Size() && os.SameFile(f.info, before.info)
}

// Unit is files that are read together.
type Unit struct {
	Key    string   // the same at each look
	Label  string   // of packets, as auto.Options has it
	Files  []File   // by path
	Beside []string // readings of monitoring, which explain all units
	Joined bool     // there may be more than stage times
	plain  bool     // packets alone, not compressed
	on     disk.Disk
}

// Paths returns the paths of all files to read.
func (u *Unit) Paths() []string {
	out := make([]string, 0, len(u.Files)+len(u.Beside))
	for _, f := range u.Files {
		out = append(out, f.Path)
	}
	return append(out, u.Beside...)
}

// IsUnchanged reports whether nothing of a unit has changed since before. What was appended to
// readings beside it changes nothing: those of a job that has ended go on.
func (u *Unit) IsUnchanged(before *Unit) bool {
	return u.Label == before.Label && slices.Equal(u.Beside, before.Beside) && slices.EqualFunc(u.Files, before.Files, func(a, b File) bool { return a.isUnchanged(&b) })
}

// HasGrown reports whether a unit is what it was before, with packets appended.
func (u *Unit) HasGrown(before *Unit) bool {
	return u.plain && before.plain && u.Label == before.Label && slices.EqualFunc(u.Files, before.Files, func(a, b File) bool { return a.longer(&b) })
}

// Size returns the size of the files of a unit, bytes.
func (u *Unit) Size() (sum int64) {
	for _, f := range u.Files {
		sum += f.info.Size()
	}
	return sum
}

// Plain reports whether a unit is packets alone, to which lines are appended.
func (u *Unit) Plain() bool { return u.plain }

// Files are the files of paths. Make one with [New].
type Files struct {
	on       disk.Disk
	paths    []string
	known    map[string]File // by path
	last     []*Unit         // of the last look; nil: they are to be parted anew
	took     time.Duration   // how long looks take at which nothing has changed
	tookLast time.Duration   // how long the last of them took
	joined   map[string]string
	Refused  []auto.Problem // what could not be looked at, the last time
}

// New follows files, and folders to any depth.
func New(on disk.Disk, paths []string) *Files {
	return &Files{on: disk.Or(on), paths: paths, known: make(map[string]File), joined: make(map[string]string)}
}

// Join makes two units one from the next look on.
func (s *Files) Join(a, b string) {
	if a, b = s.root(a), s.root(b); a != b {
		s.joined[max(a, b)] = min(a, b)
		s.last = nil
	}
}

func (s *Files) root(key string) string {
	for s.joined[key] != "" {
		key = s.joined[key]
	}
	return key
}

// idleShare is the part of a processor that looking may take where nothing changes.
const idleShare = 0.015

// longestPause is how long a pause becomes by that, at most: a clock that was set, or a machine that stood still,
// makes of a look one that took days.
const longestPause = time.Minute

// Pause returns how long to wait before the next look, where every is wanted: longer, if looking takes long.
func (s *Files) Pause(every time.Duration) time.Duration {
	return max(every, min(time.Duration(float64(s.took)/idleShare), longestPause))
}

// Look lists the units that there are, by key.
func (s *Files) Look() []*Unit {
	began := s.on.Now()
	s.Refused = nil
	now := make(map[string]File, len(s.known))
	var files []File
	var beside []string
	changed := false
	for _, l := range auto.List(s.on, s.paths) {
		if l.Err != nil {
			s.Refused = append(s.Refused, auto.Problem{Path: l.Path, Err: l.Err})
		}
		if l.Err != nil || l.Skipped != "" {
			continue
		}
		info, err := s.on.Stat(l.Path)
		if err != nil {
			continue // it is gone by now
		}
		if !info.Mode().IsRegular() { // reading it may never end
			s.Refused = append(s.Refused, auto.Problem{Path: l.Path, Err: input.At(input.Pos{File: l.Path},
				input.Bad(input.ErrType, "not a regular file: files and folders are followed; sfstat diagnose reads a pipe"))})
			continue
		}
		f, same := s.look(l.Path, info)
		changed = changed || !same
		now[l.Path] = f
		if f.held.Readings {
			beside = append(beside, l.Path)
			continue
		}
		files = append(files, f)
	}
	if changed = changed || len(now) != len(s.known); changed || s.last == nil {
		s.known, s.last = now, s.units(files, beside)
	} else {
		now := s.on.Now().Sub(began)
		s.took, s.tookLast = min(now, s.tookLast), now // a clock that is set in a look does not count
	}
	return slices.Clone(s.last)
}

// look sees what a file holds, unless it is the same as it was.
func (s *Files) look(path string, info fs.FileInfo) (f File, same bool) {
	f = File{Path: path, info: info}
	if before, known := s.known[path]; known && f.isUnchanged(&before) && !before.held.Unread {
		f.held = before.held
		return f, true
	}
	f.held = auto.Peek(s.on, path, ingest.Limits{})
	return f, false
}

// folder is what lies in a folder.
type folder struct{ windows, more bool }

// units parts files, which are sorted by path.
func (s *Files) units(files []File, beside []string) []*Unit {
	folders := make(map[string]*folder)
	var packets []string
	var held []auto.Held
	for i := range files {
		f := &files[i]
		dir := filepath.Dir(f.Path)
		if folders[dir] == nil {
			folders[dir] = &folder{}
		}
		folders[dir].windows = folders[dir].windows || f.held.Windows
		folders[dir].more = folders[dir].more || f.held.More
		if f.held.Run() != "" {
			packets, held = append(packets, f.Path), append(held, f.held)
		}
	}
	with := companionFolders(folders)
	labels := make(map[string]string, len(packets))
	for i, label := range auto.Labels(packets, held) {
		labels[packets[i]] = label
	}
	at := make(map[string]*Unit)
	for _, f := range files {
		dir := filepath.Dir(f.Path)
		if into, ok := with[dir]; ok {
			dir = into
		}
		key := s.root(keyOf(&f, dir, labels[f.Path], folders[dir].more))
		u := at[key]
		if u == nil {
			u = &Unit{Key: key, Label: labels[f.Path], Beside: beside, plain: true, on: s.on}
			at[key] = u
		}
		if u.Label != labels[f.Path] {
			u.Label = "" // they tell themselves apart
		}
		u.Files = append(u.Files, f)
		u.Joined = u.Joined || folders[dir].more || strings.HasSuffix(f.Path, packet.SidecarSuffix) || len(beside) > 0
		u.plain = u.plain && f.held.Plain && len(beside) == 0
	}
	out := make([]*Unit, 0, len(at))
	for _, u := range at {
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b *Unit) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// keyOf names the unit of a file whose folder, or the one that this is read with, is
// dir, and holds more than stage times or not.
func keyOf(f *File, dir, label string, more bool) string {
	switch {
	case more:
		return "folder " + dir
	case f.held.Run() != "":
		return "run " + strconv.Quote(label) + f.held.Run()
	case strings.HasSuffix(strings.ToLower(f.Path), ".parquet"):
		return "file " + f.Path
	}
	if table, ok := strings.CutSuffix(f.Path, packet.SidecarSuffix); ok {
		return "file " + table
	}
	return "folder " + dir
}

// companionFolders returns the folders without windows whose files are read with those of
// another folder: that above, the only one with windows below that, or the only one that there is.
func companionFolders(folders map[string]*folder) map[string]string {
	into := make(map[string]string)
	var all []string // with windows
	below := make(map[string][]string)
	for dir, f := range folders {
		if f.windows {
			all = append(all, dir)
			below[filepath.Dir(dir)] = append(below[filepath.Dir(dir)], dir)
		}
	}
	for dir, f := range folders {
		up := filepath.Dir(dir)
		switch above := folders[up]; {
		case !f.more || f.windows:
			continue
		case above != nil && above.windows:
			into[dir] = up
		case len(below[up]) == 1:
			into[dir] = below[up][0]
		case len(all) == 1:
			into[dir] = all[0]
		}
	}
	for _, dir := range into {
		folders[dir].more = true
	}
	return into
}
