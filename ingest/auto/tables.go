package auto

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/natural"
)

// Many loops write a table for each rank or host, and some programs one for each stage of it. Files of one folder, or of a folder
// for each rank or host, are one table where no rank is in two of them.

// shareOf is a file that may be a part of a table, and what its path tells.
type shareOf struct {
	unit   *unit
	extent csv.Extent
	folder string // of the run
	stem   string // of its name, without what tells it from those of other ranks
	host   string
	rank   int // −1: not known
	word   bool
	stage  string
}

var (
	hostInside = regexp.MustCompile(`(?i)^(|.*?[^a-z])((?:node|host|server|machine|ip|dgx|gpu-?node)[_.-]?[\w.-]*\d+)$`)
	digits     = regexp.MustCompile(`\d+`)
	endNumber  = regexp.MustCompile(`^(.*?)[._-]?(\d+)$`)
	boardName  = regexp.MustCompile(`^(?:run)?[ _-]*(?:.*?[ _-])??tag[ _-]+`)
)

// shareTables joins tables that are parts of one, and gives those of one rank that rank. Where a folder has several such tables, a run goes
// by the name of its files.
func (r *Reader) shareTables() {
	joined := make(map[string][]*shareOf) // first parts, by folder
	for _, g := range groupBy(r.tableShares(), func(s *shareOf) string {
		switch {
		case s.extent.Series:
			return s.folder + "\x01"
		case s.hasRankColumn():
			return s.folder + "\x02"
		}
		return s.folder + "\x00" + s.stem
	}) {
		switch {
		case g[0].hasRankColumn() && !g[0].extent.Series:
			r.joinNamed(g)
		case isOne(g):
			r.merge(g)
			joined[g[0].folder] = append(joined[g[0].folder], g[0])
		default:
			for _, s := range g {
				r.readAlone(s)
			}
		}
	}
	for folder, of := range joined {
		if len(of) == 1 {
			continue
		}
		for _, s := range of {
			s.unit.run = cmp.Or(strings.TrimRight(s.stem, "-_. "), filepath.Base(folder))
		}
	}
}

// hasRankColumn reports whether columns say of which ranks a table is.
func (s *shareOf) hasRankColumn() bool { return s.extent.Named || s.extent.OnHost }

// joinNamed joins tables of a folder whose columns say the rank, where they are parts of one; else those with the same columns that are, and
// else those with the same name but for what tells hosts apart, which is then that of their run.
func (r *Reader) joinNamed(g []*shareOf) {
	if r.joinTables(g, "") {
		return
	}
	for _, alike := range groupBy(g, func(s *shareOf) string { return strings.Join(s.extent.Header, "\x00") }) {
		if r.joinTables(alike, "") {
			continue
		}
		for _, run := range groupBy(alike, func(s *shareOf) string { return digits.ReplaceAllString(s.stem, "") }) {
			r.joinTables(run, strings.TrimRight(run[0].stem, "-_. 0123456789"))
		}
	}
}

// joinTables makes one run of tables that are parts of one: of other ranks, or hosts; or of stretches of its steps with these, in files of the
// same name but for a number. A name of the run replaces that of its folder.
func (r *Reader) joinTables(g []*shareOf, name string) bool {
	run := cmp.Or(name, filepath.Base(g[0].folder))
	if areParts(g) {
		r.merge(g)
		g[0].unit.run = run
		return true
	}
	stretches := groupBy(g, func(s *shareOf) string { return strconv.FormatInt(s.extent.First, 10) })
	for _, s := range g {
		if !slices.Equal(s.extent.Header, g[0].extent.Header) || !digits.MatchString(s.stem) || digits.ReplaceAllString(s.stem, "#") != digits.ReplaceAllString(g[0].stem, "#") {
			return false
		}
	}
	if len(stretches) < 2 || slices.ContainsFunc(stretches, func(of []*shareOf) bool { return len(of) > 1 && !areParts(of) }) {
		return false
	}
	slices.SortStableFunc(stretches, func(a, b []*shareOf) int { return cmp.Compare(a[0].extent.First, b[0].extent.First) })
	u := stretches[0][0].unit
	for i, of := range stretches {
		if r.merge(of); i > 0 {
			u.shares = append(u.shares, of[0].unit.shares...)
			r.fold(u, of[0].unit)
		}
	}
	u.run = run
	return true
}

// isTable reports whether files of a format are tables of the times of steps by whatever program.
func (f *row) isTable() bool {
	return f.format == WideCSV || f.format == WideParquet || f.format == JSONTable
}

// openTable opens a table of text, JSON objects or Parquet; open opens one that is read from its beginning.
func (r *Reader) openTable(in *Input, open func(*Input) (io.ReadCloser, error)) (*csv.Source, error) {
	if in.Format == WideParquet {
		c, err := openColumnar(r.o.Disk, in.Path)
		if err != nil {
			return nil, err
		}
		src, err := csv.NewParquet(c.Input, c.file, r.o.Limits)
		if err != nil {
			c.file.Close()
		}
		return src, err
	}
	src, err := open(in)
	if err != nil {
		return nil, err
	}
	if in.Format == JSONTable {
		return csv.NewJSON(src, in.Path, r.o.Limits), nil
	}
	return csv.NewText(src, in.Path, r.o.Limits), nil
}

// openInput returns an input whose bytes count as read.
func (r *Reader) openInput(in *Input) (io.ReadCloser, error) { return r.open(in) }

// peekInput returns an input of which only the beginning is looked at.
func (r *Reader) peekInput(in *Input) (io.ReadCloser, error) { return r.source(in.Path) }

// rows hands on the windows of a table of text or JSON objects.
func (u *unit) rows(give func(part) bool) error {
	if u.shares != nil {
		return u.sharedTable(give)
	}
	in, err := u.r.openTable(u.inputs[0], u.r.openInput)
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := csv.Open(in, u.r.tables())
	if err != nil {
		return err
	}
	return u.tableOf(c, give)
}

// tableShares returns the tables that may be parts of one.
func (r *Reader) tableShares() (out []*shareOf) {
	within := rootsOf(r.paths)
	for _, u := range r.units {
		if in := u.inputs[0]; !u.row.isTable() || r.piped[in] != nil || exists(packet.SidecarPath(in.Path)) {
			continue
		}
		if s := r.shareOf(u, &within); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// groupBy returns shares by a key, groups and members in the order in which they come.
func groupBy(shares []*shareOf, key func(*shareOf) string) (groups [][]*shareOf) {
	at := make(map[string]int)
	for _, s := range shares {
		k := key(s)
		if _, known := at[k]; !known {
			at[k] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], s)
	}
	return groups
}

// shareOf returns what a table is a part of; nil where it has the times of several ranks, and no column that says the rank.
func (r *Reader) shareOf(u *unit, within *roots) *shareOf {
	path := u.inputs[0].Path
	src, err := r.openTable(u.inputs[0], r.peekInput)
	if err != nil {
		return nil
	}
	defer src.Close()
	extent, ok := csv.ExtentOf(src)
	if !ok {
		return nil
	}
	s := &shareOf{unit: u, extent: extent, folder: dirOf(path), rank: -1}
	name := strings.TrimSuffix(stem(path), ".jsonl")
	s.stem = name
	if rank, rest, ok := csv.RankIn(name); ok {
		s.rank, s.word, s.stem = rank, true, rest
		if hostInside.MatchString(rest) {
			s.host, s.stem = rest, ""
		}
	}
	if m := hostInside.FindStringSubmatch(name); m != nil && s.hasRankColumn() && s.rank < 0 {
		s.stem, s.host = m[1], m[2]
	}
	root := within.rootOf(path)
	for s.folder != root && strings.HasPrefix(s.folder, root) {
		last := filepath.Base(s.folder)
		if rank, rest, ok := csv.RankIn(last); ok && s.rank < 0 && rest == "" {
			s.rank, s.word = rank, true
		} else if s.rank < 0 && ofRank.MatchString(last) {
			_, s.rank, _ = placeOf(filepath.Join(s.folder, "x"), nil)
			s.word = true
		} else if s.host == "" && hostInside.MatchString(last) {
			s.host = last
		} else {
			break
		}
		s.folder = filepath.Dir(s.folder)
	}
	if m := endNumber.FindStringSubmatch(s.stem); m != nil && s.rank < 0 && !extent.Series && !s.hasRankColumn() {
		s.rank, _, _ = csv.RankIn("rank" + m[2])
		s.stem = m[1]
	}
	if extent.Series {
		s.stage, s.stem = boardName.ReplaceAllString(s.stem, ""), ""
	}
	return s
}

// isOfRank reports whether the path of a file says of which rank it is.
func isOfRank(path string) bool { return NamesRank(path) || JobFolder(dirOf(path)) != dirOf(path) }

// JobFolder returns the folder of the job that a file in a folder is of: the one above where the folder is named for a rank, as in
// job/rank3.
func JobFolder(folder string) string {
	name := filepath.Base(folder)
	if _, rest, ok := csv.RankIn(name); ok && rest == "" {
		return filepath.Dir(folder)
	}
	return folder
}

// NamesRank reports whether the name of a file says of which rank it is.
func NamesRank(path string) bool {
	_, _, ok := csv.RankIn(stem(path))
	return ok
}

// roots are the folders within which the files of a job are sought.
type roots struct {
	given  []string // folders that were given
	common string   // the folder that all files lie in that were given themselves
}

// rootsOf returns the roots of given paths, each of which is looked at once.
func rootsOf(paths []string) (out roots) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			out.given = append(out.given, path)
			continue
		}
		dir := dirOf(path)
		if out.common == "" {
			out.common = dir
		}
		for out.common != dir && !strings.HasPrefix(dir, out.common+"/") && out.common != filepath.Dir(out.common) {
			out.common = filepath.Dir(out.common)
		}
	}
	return out
}

// rootOf returns the folder that was given and that a file lies in; of one that was given itself the folder that all of those lie in.
func (r *roots) rootOf(path string) string {
	for _, given := range r.given {
		if isWithin(path, given) {
			return dirOf(filepath.Join(given, "x"))
		}
	}
	return r.common
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
	words := !slices.ContainsFunc(g, func(s *shareOf) bool { return !s.word })
	return len(g) > 1 && (words || most < len(g))
}

// areParts reports whether tables whose columns say the rank are parts of one: no rank is in two of them, or no host where ranks are numbered
// on each; and their columns are the same where any has several ranks.
func areParts(g []*shareOf) bool {
	return len(g) > 1 && (partsByRank(g) || partsByHost(g))
}

func partsByRank(g []*shareOf) bool {
	seen, several := make(map[int]bool), false
	for _, s := range g {
		several = several || len(s.extent.Ranks) > 1
		for _, rank := range s.extent.Ranks {
			if seen[rank] {
				return false
			}
			seen[rank] = true
		}
		if !s.extent.Named {
			return false
		}
	}
	return !several || haveSameColumns(g)
}

func partsByHost(g []*shareOf) bool {
	seen := make(map[string]bool)
	for _, s := range g {
		hosts := s.hosts()
		if len(hosts) != 1 || seen[hosts[0]] || !s.extent.OnHost {
			return false
		}
		seen[hosts[0]] = true
	}
	return haveSameColumns(g)
}

// hosts returns the hosts that a table says it is of, else the one that its path does.
func (s *shareOf) hosts() []string {
	if len(s.extent.Hosts) == 0 && s.host != "" {
		return []string{s.host}
	}
	return s.extent.Hosts
}

func haveSameColumns(g []*shareOf) bool {
	return !slices.ContainsFunc(g, func(s *shareOf) bool { return !slices.Equal(s.extent.Header, g[0].extent.Header) })
}

// merge makes one unit of the parts of a table.
func (r *Reader) merge(g []*shareOf) {
	onHost := g[0].hasRankColumn() && !partsByRank(g) && partsByHost(g)
	if onHost {
		for _, s := range g {
			s.host = s.hosts()[0]
		}
	}
	slices.SortStableFunc(g, func(a, b *shareOf) int {
		return cmp.Or(natural.Compare(a.host, b.host), cmp.Compare(a.rank, b.rank), natural.Compare(a.unit.inputs[0].Path, b.unit.inputs[0].Path))
	})
	u, shares, ranks := g[0].unit, []csv.Share(nil), ranksOnHosts(g)
	for i, s := range g {
		share := r.share(s)
		share.OnHost = onHost
		if ranks != nil && !s.hasRankColumn() {
			share.Rank, share.Local = ranks[i], s.rank
		}
		if shares = append(shares, share); i > 0 {
			r.fold(u, s.unit)
		}
	}
	u.shares = [][]csv.Share{shares}
	u.folder = g[0].folder
	u.run = filepath.Base(g[0].folder)
}

// ranksOnHosts returns the ranks of tables whose paths number them on each host, counted on through the hosts, in the order of these; nil where
// there is one host, or no number is on two of them. A number that a host leaves out between its others is of a rank that has no table.
func ranksOnHosts(g []*shareOf) (ranks []int) {
	host := make(map[int]string)
	repeated := false
	for _, s := range g {
		was, known := host[s.rank]
		repeated = repeated || known && was != s.host
		host[s.rank] = s.host
	}
	if !repeated {
		return nil
	}
	first, low := 0, g[0].rank
	for i, s := range g {
		if i > 0 && s.host != g[i-1].host {
			first, low = ranks[i-1]+1, s.rank
		}
		ranks = append(ranks, first+s.rank-low)
	}
	return ranks
}

// fold makes the inputs of a unit those of another.
func (r *Reader) fold(u, other *unit) {
	u.inputs, u.size = append(u.inputs, other.inputs...), u.size+other.size
	r.units = slices.DeleteFunc(r.units, func(one *unit) bool { return one == other })
	r.given--
}

// share returns the part of a table that a file is.
func (r *Reader) share(s *shareOf) csv.Share {
	in := s.unit.inputs[0]
	rank := s.rank
	if s.hasRankColumn() {
		rank = -1
	}
	return csv.Share{Name: in.Path, Rank: rank, Host: s.host, Local: -1, Stage: s.stage, Open: func() (*csv.Source, error) { return r.openTable(in, r.openInput) }}
}

// readAlone reads a table that does not say of which rank it is as that of the rank in its name, or of rank 0. One that was found in a folder
// beside other recordings is passed over.
func (r *Reader) readAlone(s *shareOf) {
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
	s.unit.shares = [][]csv.Share{{r.share(s)}}
	s.unit.run = filepath.Base(in.Path)
}

// sharedTable hands on the windows of a table in several files.
func (u *unit) sharedTable(give func(part) bool) error {
	o := u.r.tables()
	o.Ahead = false
	taken := true
	for _, shares := range u.shares {
		windows, err := csv.NewShares(shares, u.run, o)
		if err == nil {
			err = u.windows(ingest.NewOnce(windows), func(p part) bool {
				taken = give(p)
				return taken
			})
		}
		if err != nil || !taken {
			return err
		}
	}
	return nil
}
