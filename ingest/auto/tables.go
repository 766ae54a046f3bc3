package auto

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/internal/natural"
)

// Many loops write a table for each rank, and some programs one for each stage of it. Files of one folder, or of a folder
// for each rank or host, that have one rank each are one table.

// shareOf is a file that may be a part of a table, and what its path tells.
type shareOf struct {
	unit   *unit
	sole   csv.Sole
	folder string // of the run
	stem   string // of its name, without what tells it from those of other ranks
	host   string
	rank   int // −1: not known
	word   bool
	stage  string
}

var (
	hostFolder = regexp.MustCompile(`(?i)^(?:.*[^a-z])?(?:node|host|server|machine|ip|dgx|gpu-?node)[_.-]?[\w.-]*\d+$`)
	endNumber  = regexp.MustCompile(`^(.*?)[._-]?(\d+)$`)
	boardName  = regexp.MustCompile(`^(?:run)?[ _-]*(?:.*?[ _-])??tag[ _-]+`)
)

// shareTables joins tables that are parts of one, and gives those of one rank that rank.
func (r *Reader) shareTables() {
	groups := make(map[string][]*shareOf)
	var order []string
	for _, u := range r.units {
		if u.format != WideCSV || r.piped[u.inputs[0]] != nil {
			continue
		}
		if s := r.shareOf(u); s != nil {
			key := s.folder + "\x00" + s.stem
			if s.sole.Series {
				key = s.folder + "\x01"
			} else if s.sole.Named {
				key = s.folder + "\x02"
			}
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], s)
		}
	}
	for _, key := range order {
		switch g := groups[key]; {
		case isOne(g):
			r.merge(g)
		case !g[0].sole.Named:
			for _, s := range g {
				r.alone(s)
			}
		}
	}
}

// shareOf returns what a table is a part of; nil where it has the times of several ranks.
func (r *Reader) shareOf(u *unit) *shareOf {
	path := u.inputs[0].Path
	src, err := r.source(path)
	if err != nil {
		return nil
	}
	defer src.Close()
	sole, ok := csv.SoleOf(src, path, r.o.Limits)
	if !ok {
		return nil
	}
	s := &shareOf{unit: u, sole: sole, folder: dirOf(path), rank: -1}
	if sole.Named {
		s.rank = sole.Rank
		return s
	}
	name := stem(filepath.Base(path))
	s.stem = name
	if rank, rest, ok := csv.RankIn(name); ok {
		s.rank, s.word, s.stem = rank, true, rest
		if hostFolder.MatchString(rest) {
			s.host, s.stem = rest, ""
		}
	}
	root := r.rootOf(path)
	for s.folder != root && strings.HasPrefix(s.folder, root) {
		last := filepath.Base(s.folder)
		if rank, rest, ok := csv.RankIn(last); ok && s.rank < 0 && rest == "" {
			s.rank, s.word = rank, true
		} else if s.rank < 0 && ofRank.MatchString(last) {
			_, s.rank, _ = placeOf(filepath.Join(s.folder, "x"), nil)
			s.word = true
		} else if s.host == "" && hostFolder.MatchString(last) {
			s.host = last
		} else {
			break
		}
		s.folder = filepath.Dir(s.folder)
	}
	if m := endNumber.FindStringSubmatch(name); m != nil && s.rank < 0 && !sole.Series {
		s.rank, _, _ = csv.RankIn("rank" + m[2])
		s.stem = m[1]
	}
	if sole.Series {
		s.stage, s.stem = boardName.ReplaceAllString(s.stem, ""), ""
	}
	return s
}

// rootOf returns the folder that was given and that a file lies in; that of the file where it was given itself.
func (r *Reader) rootOf(path string) string {
	for _, given := range r.paths {
		if info, err := os.Stat(given); err == nil && info.IsDir() && isWithin(path, given) {
			return dirOf(filepath.Join(given, "x"))
		}
	}
	return dirOf(path)
}

// isOne reports whether tables are parts of one: of ranks that differ, or of stages of these.
func isOne(g []*shareOf) bool {
	type place struct {
		host, stage string
		rank        int
	}
	seen := make(map[place]bool)
	most := 0
	for _, s := range g {
		p := place{s.host, s.stage, s.rank}
		if s.rank < 0 || seen[p] {
			return false
		}
		seen[p] = true
		most = max(most, s.rank)
	}
	words := !slices.ContainsFunc(g, func(s *shareOf) bool { return !s.word && !s.sole.Named })
	return len(g) > 1 && (words || most < len(g))
}

// merge makes one unit of the parts of a table.
func (r *Reader) merge(g []*shareOf) {
	slices.SortStableFunc(g, func(a, b *shareOf) int {
		return cmp.Or(natural.Compare(a.host, b.host), cmp.Compare(a.rank, b.rank), natural.Compare(a.unit.inputs[0].Path, b.unit.inputs[0].Path))
	})
	perHost := slices.ContainsFunc(g, func(s *shareOf) bool { return s.host != g[0].host })
	u := g[0].unit
	rank := -1
	for i, s := range g {
		if i == 0 || s.host != g[i-1].host || s.rank != g[i-1].rank {
			rank++
		}
		share := r.share(s)
		if perHost && !s.sole.Named {
			share.Rank, share.Local = rank, s.rank
		}
		u.shares = append(u.shares, share)
		if i > 0 {
			u.inputs, u.size = append(u.inputs, s.unit.inputs...), u.size+s.unit.size
			r.units = slices.DeleteFunc(r.units, func(other *unit) bool { return other == s.unit })
			r.given--
		}
	}
	u.folder = g[0].folder
	u.run = filepath.Base(g[0].folder)
}

// share returns the part of a table that a file is.
func (r *Reader) share(s *shareOf) csv.Share {
	in := s.unit.inputs[0]
	rank := s.rank
	if s.sole.Named {
		rank = -1
	}
	return csv.Share{Name: in.Path, Rank: rank, Host: s.host, Local: -1, Stage: s.stage, Open: func() (io.ReadCloser, error) { return r.open(in) }}
}

// alone reads a table that does not say of which rank it is as that of the rank in its name, or of rank 0. One that was found in a folder
// beside other recordings is passed over.
func (r *Reader) alone(s *shareOf) {
	in := s.unit.inputs[0]
	others := slices.ContainsFunc(r.inputs, func(other Input) bool {
		return other.Skipped == "" && other.Path != in.Path && other.Format.Readable() && other.Format.gives(r.o.Kinds)
	})
	if !in.named && others {
		in.Skipped = "a table that does not say of which rank it is"
		r.given--
		r.units = slices.DeleteFunc(r.units, func(u *unit) bool { return u == s.unit })
		return
	}
	s.rank = max(s.rank, 0)
	s.unit.shares = []csv.Share{r.share(s)}
	s.unit.run = filepath.Base(in.Path)
}

// sharedTable hands on the windows of a table in several files.
func (u *unit) sharedTable(give func(part) bool) error {
	o := u.r.tables()
	o.Ahead = false
	windows, err := csv.NewShares(u.shares, u.run, o)
	if err != nil {
		return err
	}
	return u.windows(ingest.NewOnce(windows), give)
}
