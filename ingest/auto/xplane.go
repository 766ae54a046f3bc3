package auto

import (
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/xplane"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// XPlane profiles lie where the framework puts them, LOGDIR/plugins/profile/TIME/HOST.xplane.pb:
// TIME is that of each process, and one of a process that has a folder of its own lies
// below that, rank3/plugins/…. So the profiles of a job are those of one LOGDIR, or of folders
// beside each other that differ in their number.

// numbered is the name of a folder of one process.
var numbered = regexp.MustCompile(`(?i)^(?:|.*[^a-z0-9]|.*(?:rank|worker|process|proc|host|node|task))[-_. ]?(\d{1,6})$`)

// profileFolder returns the folder whose profiles belong together.
func profileFolder(_ *Reader, in *Input) string {
	folder := filepath.Dir(in.Path)
	if in.Format != XPlane {
		return folder
	}
	root, own := tensorFolder(in.Path)
	if own && numbered.MatchString(filepath.Base(root)) {
		return filepath.Dir(root)
	}
	return root
}

// tensorFolder returns the log folder of a process; own reports whether the path is the profile in such a folder.
func tensorFolder(path string) (root string, own bool) {
	root = filepath.Dir(path)
	profiles := filepath.Dir(root)
	if filepath.Base(profiles) == "profile" && filepath.Base(filepath.Dir(profiles)) == "plugins" {
		return filepath.Dir(filepath.Dir(profiles)), true
	}
	return root, false
}

// isXPlaneSidecar reports whether a file is what frameworks write for a browser beside an XPlane
// profile, of which it leaves out what is too long.
func isXPlaneSidecar(path string) bool {
	whole := WholeXPlane(path)
	return whole != "" && exists(whole)
}

// WholeXPlane returns the whole profile in the folder of its part with this name; "" for other names.
func WholeXPlane(path string) string {
	stem, ok := strings.CutSuffix(path, ".trace.json.gz")
	if !ok {
		return ""
	}
	return stem + ".xplane.pb"
}

// readXPlane reads one file, twice, of which the first counts.
func (u *unit) readXPlane(in *Input) (*profile.Rank, error) {
	if u.r.piped[in] != nil {
		return nil, input.At(input.Pos{File: in.Path}, input.Bad(input.ErrFormat, "an XPlane profile is read twice, which a pipe does not allow: give the file"))
	}
	var uncounted meter
	count := &u.r.meter
	rank, err := xplane.Read(func() (io.ReadCloser, error) {
		src, err := ingest.OpenOn(u.r.o.Disk, in.Path, u.r.o.Limits)
		if err != nil {
			return nil, err
		}
		m := &metered{Source: src, m: count, quiet: true}
		count = &uncounted
		return m, nil
	}, in.Path, xplane.Options{Stages: u.r.o.Stages, Detail: u.r.o.Detail})
	if err != nil {
		return nil, err
	}
	root, own := tensorFolder(in.Path)
	if m := numbered.FindStringSubmatch(filepath.Base(root)); m != nil && own && u.folder != root {
		rank.ID, _ = strconv.Atoi(m[1])
	}
	if rank.Host == "" && own {
		rank.Host = strings.TrimSuffix(filepath.Base(in.Path), ".xplane.pb")
	}
	return rank, nil
}
