package auto

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	rank   int  // −1: not known
	word   bool // it says the rank
	padded bool // the number of the rank has a zero before it
	stage  string
}

var (
	hostInside = regexp.MustCompile(`(?i)^(|.*?[^a-z])((?:node|host|server|machine|ip|dgx|gpu-?node)[_.-]?[\w.-]*\d+)$`)
	zeroBefore = regexp.MustCompile(`(?:^|\D)0\d+\D*$`)
	digits     = regexp.MustCompile(`\d+`)
	endNumber  = regexp.MustCompile(`^(.*?)[._-]?(\d+)$`)
	boardName  = regexp.MustCompile(`^(?:run)?[ _-]*(?:.*?[ _-])??tag[ _-]+`)
)

// shareTables joins tables that are parts of one, and gives tables of one rank that rank. Where a folder has several
// such tables, a run is named after its files.
func (r *Reader) shareTables() {
	within := rootsOf(r.paths)
	for _, g := range groupBy(r.tableShares(&within), func(s *shareOf) string { return fmt.Sprint(s.extent.Series, s.folder) }) {
		runs, rest := runsOf(g)
		rest = fillRuns(runs, rest)
		numbered := 0 // runs whose files are told apart by their names alone
		for _, run := range runs {
			if !run.named {
				numbered++
			}
		}
		for _, run := range runs {
			if len(run.stretches) > 1 {
				r.nameMissingParts(pathsOfShares(run))
			}
			r.mergeRun(run)
			if !run.named && numbered > 1 {
				run.unit().run = cmp.Or(strings.TrimRight(run.stretches[0][0].stem, "-_. "), filepath.Base(g[0].folder))
			}
		}
		r.nameLost(runs, &within)
		for i, s := range rest {
			if !r.leaveOut(s, runs, rest[:i]) && !s.hasRankColumn() && !s.extent.Bare {
				r.readUnranked(s)
			}
		}
	}
}

// hasRankColumn reports whether columns say of which ranks a table is.
func (s *shareOf) hasRankColumn() bool { return s.extent.Named || s.extent.OnHost }

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
func (r *Reader) tableShares(within *roots) (out []*shareOf) {
	for _, u := range r.units {
		if in := u.inputs[0]; !u.row.isTable() || r.piped[in] != nil || exists(packet.SidecarPath(in.Path)) {
			continue
		}
		if s := r.shareOf(u, within); s != nil {
			out = append(out, s)
		}
	}
	return out
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
	return placeShare(&shareOf{unit: u, extent: extent, folder: dirOf(path), rank: -1}, path, within)
}

// placeShare sets what the path of a table says, and returns the table.
func placeShare(s *shareOf, path string, within *roots) *shareOf {
	name := tableStem(path)
	s.stem, s.padded = name, zeroBefore.MatchString(name)
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
	if host, folder := hostAbove(s.folder, root); s.host == "" && host != "" {
		s.host, s.folder = host, folder
	}
	if m := endNumber.FindStringSubmatch(s.stem); m != nil && s.rank < 0 && !s.extent.Series && !s.hasRankColumn() {
		s.rank, _, _ = csv.RankIn("rank" + m[2])
		s.stem = m[1]
	}
	if s.extent.Series {
		s.stage, s.stem = boardName.ReplaceAllString(s.stem, ""), ""
	}
	return s
}

// tableExtension is how names of tables end.
var tableExtension = regexp.MustCompile(`(?i)(?:\.(?:gz|zst|csv|tsv|txt|log|dat|json|jsonl|ndjson|parquet|pq))+$`)

// tableStem returns the name of a file without what says how it is stored.
func tableStem(path string) string { return tableExtension.ReplaceAllString(filepath.Base(path), "") }

// hostAbove returns the folder of a host above another one, below a root, and the folder without it: of node0/job that is job.
func hostAbove(folder, root string) (host, without string) {
	for up := filepath.Dir(folder); len(up) > len(root); up = filepath.Dir(up) {
		if host := filepath.Base(up); hostInside.MatchString(host) {
			return host, filepath.Dir(up) + strings.TrimPrefix(folder, up)
		}
	}
	return "", folder
}

// isOfRank reports whether the path of a file says of which rank it is.
func isOfRank(path string) bool { return NamesRank(path) || isRankFolder(dirOf(path)) }

// isRankFolder reports whether a folder is named for a rank, as rank3.
func isRankFolder(folder string) bool {
	_, rest, ok := csv.RankIn(filepath.Base(folder))
	return ok && rest == ""
}

// JobFolder returns the folder of the job that a file in a folder is of: folders that are named for a rank are parts of it, as job/rank3.
func JobFolder(folder string) string {
	if isRankFolder(folder) {
		return filepath.Dir(folder)
	}
	return folder
}

// SharedFolder returns the path of a folder without the folder of its host, which the folders of a job on several hosts
// share: job for job/node3 and for node3/job. The path need not exist.
func SharedFolder(folder string) string {
	for hostInside.MatchString(filepath.Base(folder)) {
		folder = filepath.Dir(folder)
	}
	_, folder = hostAbove(folder, "/")
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

// rootOf returns the given folder that contains a file. For a file that was given itself it is the common folder of all
// such files.
func (r *roots) rootOf(path string) string {
	for _, given := range r.given {
		if isWithin(path, given) {
			return dirOf(filepath.Join(given, "x"))
		}
	}
	return r.common
}

// mergeRun makes one unit of the tables of a run.
func (r *Reader) mergeRun(run *tableRun) {
	u := run.unit()
	for i, of := range run.stretches {
		other := r.merge(of)
		if i == 0 {
			u = other
			continue
		}
		u.shares = append(u.shares, other.shares...)
		r.fold(u, other)
	}
	u.run = run.name
	for _, s := range slices.Concat(run.stretches...) {
		if ranks := s.ranks(); ranks != nil && s.host == "" && !s.extent.OnHost { // that a file does not read does not take its ranks out of the world
			u.world = max(u.world, slices.Max(ranks)+1)
		}
	}
}

// merge makes one unit of the parts of a table, and returns it.
func (r *Reader) merge(g []*shareOf) *unit {
	onHost := g[0].hasRankColumn() && !partsByRank(g) && partsByHost(g)
	if onHost {
		for _, s := range g {
			s.host = s.hosts()[0]
		}
	}
	slices.SortStableFunc(g, func(a, b *shareOf) int {
		return cmp.Or(natural.Compare(a.host, b.host), cmp.Compare(a.firstRank(), b.firstRank()), natural.Compare(a.unit.inputs[0].Path, b.unit.inputs[0].Path))
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
	return u
}

// firstRank returns the rank of a table, of several the first; −1: it is not known.
func (s *shareOf) firstRank() int {
	if ranks := s.ranks(); ranks != nil && s.extent.Named {
		return ranks[0]
	}
	return s.rank
}

// ranksOnHosts returns the ranks of tables whose paths number them on each host, counted on through the hosts, in the order of these; nil where
// there is one host, or no number is on two of them. A number that a host leaves out between its others is of a rank that has no table.
func ranksOnHosts(g []*shareOf) (ranks []int) {
	host := make(map[int]string)
	repeated := false
	for _, s := range g {
		if s.hasRankColumn() {
			return nil
		}
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

// readUnranked reads a table without ranks as the rank in its name, or as rank 0. A table found in a folder with other
// recordings is passed over.
func (r *Reader) readUnranked(s *shareOf) {
	in := s.unit.inputs[0]
	if in.Skipped != "" || !slices.Contains(r.units, s.unit) {
		return
	}
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
	taken, given := true, false
	var refused []csv.RefusedShare
	for _, shares := range u.shares {
		windows, err := csv.NewShares(shares, csv.RunOfShares{Name: u.run, World: u.world, Files: len(u.inputs)}, o)
		if err == nil {
			refused = append(refused, windows.Refused()...)
			err = u.windows(ingest.NewOnce(windows), func(p part) bool {
				taken, given = give(p), true
				return taken
			})
		}
		if err != nil || !taken {
			return err
		}
	}
	return u.refuseShares(refused, given)
}

// refuseShares notes the files of a table that are left out. The error is not nil where they are all, or under ingest.FirstError.
func (u *unit) refuseShares(refused []csv.RefusedShare, given bool) error {
	for _, s := range refused {
		u.r.problems = append(u.r.problems, Problem{s.Name, s.Err})
	}
	if len(refused) > 0 && (!given || u.r.o.Strict == ingest.FirstError) {
		return refused[0].Err
	}
	return nil
}
