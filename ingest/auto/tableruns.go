package auto

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Which tables of a folder are of one run is decided here, by what each says of itself, in its name or in its rows: its ranks, its host, its
// stages and where its steps begin. Its format, its unit, and the order of its columns do not count.

// tableRun is the tables of a run: of its ranks or hosts, in stretches of its steps that follow one another.
type tableRun struct {
	stretches [][]*shareOf
	name      string
	named     bool // columns say the ranks
}

func (t *tableRun) unit() *unit { return t.stretches[0][0].unit }

// runsOf returns the runs of the tables of a folder, and the tables of no run.
func runsOf(g []*shareOf) (runs []*tableRun, rest []*shareOf) {
	var byColumn, byName []*shareOf
	for _, s := range g {
		switch {
		case s.extent.Bare:
			rest = append(rest, s)
		case s.hasRankColumn() && !s.extent.Series:
			byColumn = append(byColumn, s)
		default:
			byName = append(byName, s)
		}
	}
	if len(byColumn) > 0 {
		runs, rest = runsByColumn(byColumn, rest)
	}
	for _, family := range groupBy(byName, func(s *shareOf) string { return strings.ToLower(s.stem) }) {
		ranks, twice := firstOfEach(family)
		if !isOneRun(ranks) {
			ranks, rest = joinColumns(ranks, rest)
		}
		if !isOneRun(ranks) {
			rest = append(rest, family...)
			continue
		}
		runs, rest = append(runs, &tableRun{stretches: [][]*shareOf{ranks}, name: filepath.Base(g[0].folder)}), append(rest, twice...)
	}
	return joinKinds(runs), rest
}

// joinKinds joins the two runs of a folder into one where columns name the ranks of one run, file names those of the
// other, and no rank is in both.
func joinKinds(runs []*tableRun) []*tableRun {
	if len(runs) != 2 || runs[0].named == runs[1].named || len(runs[0].stretches) > 1 || len(runs[1].stretches) > 1 {
		return runs
	}
	all := slices.Concat(runs[0].stretches[0], runs[1].stretches[0])
	seen := make(map[int]bool)
	for _, s := range all {
		ranks := s.ranks()
		if ranks == nil || s.extent.OnHost || (s.host == "") != (all[0].host == "") || slices.ContainsFunc(ranks, func(rank int) bool { return seen[rank] }) {
			return runs
		}
		for _, rank := range ranks {
			seen[rank] = true
		}
	}
	if !haveSameStages(all) {
		return runs
	}
	return []*tableRun{{stretches: [][]*shareOf{all}, name: runs[0].name}}
}

// runsByColumn returns the runs of the tables of a folder whose columns name ranks, and adds tables of no run to rest.
// All tables are one run if they are parts of one; else tables with equal stages are; else tables with equal stages and
// equal names up to digits, whose run has that name.
func runsByColumn(g, rest []*shareOf) (runs []*tableRun, _ []*shareOf) {
	if run := runOf(g, ""); run != nil {
		return []*tableRun{run}, rest
	}
	for _, alike := range groupBy(g, func(s *shareOf) string { return strings.Join(s.extent.Stages, "\x00") }) {
		if run := runOf(alike, ""); run != nil {
			runs = append(runs, run)
			continue
		}
		for _, named := range groupBy(alike, func(s *shareOf) string { return digits.ReplaceAllString(s.stem, "") }) {
			if run := runOf(named, strings.TrimRight(named[0].stem, "-_. 0123456789")); run != nil {
				runs = append(runs, run)
			} else {
				rest = append(rest, named...)
			}
		}
	}
	return runs, rest
}

// runOf returns the run of tables that are parts of one run, nil where they are not. Parts are of different ranks or
// hosts, or of successive steps in files whose names differ only in a number. name replaces the name of the folder.
func runOf(g []*shareOf, name string) *tableRun {
	run := &tableRun{name: cmp.Or(name, filepath.Base(g[0].folder)), named: true}
	if areParts(g) {
		run.stretches = [][]*shareOf{g}
		return run
	}
	run.stretches = groupBy(g, func(s *shareOf) string { return strconv.FormatInt(s.extent.First, 10) })
	for _, s := range g {
		if !slices.Equal(s.extent.Stages, g[0].extent.Stages) || !digits.MatchString(s.stem) || digits.ReplaceAllString(s.stem, "#") != digits.ReplaceAllString(g[0].stem, "#") {
			return nil
		}
	}
	if len(run.stretches) < 2 || slices.ContainsFunc(run.stretches, func(of []*shareOf) bool { return len(of) > 1 && !areParts(of) }) {
		return nil
	}
	slices.SortStableFunc(run.stretches, func(a, b []*shareOf) int { return cmp.Compare(a[0].extent.First, b[0].extent.First) })
	return run
}

// joinColumns adds tables of rest to a family whose names differ in numbers only. Each added table has one rank by its
// rows, and all together must be parts of one run. left are the other tables.
func joinColumns(family, rest []*shareOf) (all, left []*shareOf) {
	all = slices.Clone(family)
	for _, s := range rest {
		if ranks := s.ranks(); len(ranks) == 1 && s.extent.Named && haveSameStages(append([]*shareOf{s}, family...)) {
			s.rank = ranks[0]
			all = append(all, s)
			continue
		}
		left = append(left, s)
	}
	if _, twice := firstOfEach(all); len(twice) > 0 || !isOneRun(all) {
		return family, rest
	}
	return all, left
}

// fillRuns adds each table to the only run that lacks its ranks, and returns the tables without such a run.
func fillRuns(runs []*tableRun, rest []*shareOf) (left []*shareOf) {
	for _, s := range rest {
		var of *tableRun
		fits := 0
		for _, run := range runs {
			if run.lacks(s) {
				of = run
				fits++
			}
		}
		if fits != 1 {
			left = append(left, s)
			continue
		}
		of.stretches[0] = append(of.stretches[0], s)
	}
	return left
}

// lacks reports whether a run lacks the ranks of a table: they lie between its ranks, or follow its last.
func (t *tableRun) lacks(s *shareOf) bool {
	ranks := s.ranks()
	if len(t.stretches) > 1 || ranks == nil || s.extent.Bare || s.extent.Series || s.extent.OnHost || !haveSameStages(append([]*shareOf{s}, t.stretches[0]...)) {
		return false
	}
	most := -1
	for _, other := range t.stretches[0] {
		of := other.ranks()
		if of == nil || other.extent.OnHost || (other.host == "") != (s.host == "") || slices.ContainsFunc(ranks, func(rank int) bool { return slices.Contains(of, rank) }) {
			return false
		}
		most = max(most, slices.Max(of))
	}
	return slices.Max(ranks) <= most+len(ranks)
}

// ranks returns the ranks of a table by its rows, else by its name; nil: neither names them.
func (s *shareOf) ranks() []int {
	switch {
	case s.extent.Named && len(s.extent.Ranks) > 0:
		return s.extent.Ranks
	case !s.extent.Named && s.rank >= 0:
		return []int{s.rank}
	}
	return nil
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

// firstOfEach returns one table for each rank, host and stage; twice are the others. Tables whose numbers are padded
// as in most names come first.
func firstOfEach(g []*shareOf) (first, twice []*shareOf) {
	padded := 0
	for _, s := range g {
		if s.padded {
			padded++
		}
	}
	usual := slices.Clone(g)
	slices.SortStableFunc(usual, func(a, b *shareOf) int {
		odd := func(s *shareOf) int {
			if s.padded != (2*padded > len(g)) {
				return 1
			}
			return 0
		}
		return cmp.Compare(odd(a), odd(b))
	})
	seen := make(map[sharePlace]bool)
	for _, s := range usual {
		if s.rank >= 0 && seen[s.place()] {
			twice = append(twice, s)
			continue
		}
		seen[s.place()] = true
		first = append(first, s)
	}
	return first, twice
}

// sharePlace is what no two tables of a run share.
type sharePlace struct {
	host, stage string
	rank        int
}

func (s *shareOf) place() sharePlace { return sharePlace{s.host, s.stage, s.rank} }

// isOneRun reports whether tables at different places are parts of one run. Their names must say ranks by a word, or
// number them from 0 with few gaps.
func isOneRun(g []*shareOf) bool {
	least, most, words := math.MaxInt, -1, true
	for _, s := range g {
		if s.rank < 0 {
			return false
		}
		least, most, words = min(least, s.rank), max(most, s.rank), words && s.word
	}
	return len(g) > 1 && (words || most < len(g) || least == 0 && most < maxNumberRatio*len(g)-1)
}

// areParts reports whether tables whose columns name ranks are parts of one run: no rank is in two tables, or no host
// where ranks are numbered by host. Tables with several ranks need equal columns.
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
	return !several || haveSameStages(g)
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
	return haveSameStages(g)
}

// hosts returns the hosts of a table by its rows, else by its path.
func (s *shareOf) hosts() []string {
	if len(s.extent.Hosts) == 0 && s.host != "" {
		return []string{s.host}
	}
	return s.extent.Hosts
}

// haveSameStages reports whether tables have the same stages, or some of them others beside these.
func haveSameStages(g []*shareOf) bool {
	fewest := slices.MinFunc(g, func(a, b *shareOf) int { return cmp.Compare(len(a.extent.Stages), len(b.extent.Stages)) }).extent.Stages
	return !slices.ContainsFunc(g, func(s *shareOf) bool {
		return (len(s.extent.Stages) == 0) != (len(fewest) == 0) || slices.ContainsFunc(fewest, func(name string) bool { return !slices.Contains(s.extent.Stages, name) })
	})
}
