package csv

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rankWord is how texts call a rank.
const rankWord = `(?:local[_ ]?rank|global[_ ]?rank|ranks?|gpus?|cuda|worker|process|proc|device|trainer)`

// The places of a rank in a text: rank3, [rank 3], ('data', 3).
var (
	rankInside = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(` + rankWord + `[ _:.=#-]*(\d+))(?:[^0-9a-z]|$)`)
	rankAlone  = regexp.MustCompile(`(?i)^[^0-9]*?(\d+)[^0-9a-z]*$`)
	rankTuple  = regexp.MustCompile(`^\(\s*'(.+?)',\s*'?(?:` + rankWord + `[ _:.-]*)?(\d+)'?\s*\)$`)
	rankNumber = regexp.MustCompile(`^(.*[^0-9])[._-]?(\d+)$`)
	bounds     = regexp.MustCompile(`__(?:MIN|MAX)$`)
)

// RankIn finds the rank that a text names by a word, and what is left of the text without it.
func RankIn(text string) (rank int, rest string, ok bool) {
	if m := rankTuple.FindStringSubmatch(text); m != nil {
		rank, err := strconv.Atoi(m[2])
		return rank, m[1], err == nil
	}
	m := rankInside.FindStringSubmatchIndex(text)
	if m == nil {
		return 0, text, false
	}
	rank, err := strconv.Atoi(text[m[4]:m[5]])
	before, behind := text[:m[2]], text[m[3]:]
	if _, metric, isRun := strings.Cut(behind, " - "); isRun { // a run's name and a metric of it, as Weights & Biases exports them
		before, behind = "", metric
	}
	rest = strings.Trim(strings.TrimRight(before, " _./:-[(")+" "+strings.TrimLeft(behind, " _./:-])"), " ")
	return rank, rest, err == nil && rank < 1<<20
}

// rankColumnRows are the rows of a table that has a row for each step, and a column for each rank and stage.
type rankColumnRows struct {
	rows
	fixed  []int   // columns that are of no rank
	places [][]int // [rank][stage], −1: no column
	ranks  []int
	next   int // rank of the row
	wide   []string
	cells  []string
}

// ranksInNames finds the ranks in the names of columns; ok where a table has no column of the rank, one of the step, and a column
// for each of at least two ranks.
func ranksInNames(names []string) (b rankColumnRows, header []string, ok bool) {
	known := meanings(names)
	if !hasKind(known, step) || hasKind(known, rank) {
		return b, nil, false
	}
	if b, header, ok = groupByRank(names, known, RankIn); ok {
		return b, header, true
	}
	b, header, ok = groupByRank(names, known, func(name string) (int, string, bool) {
		m := rankNumber.FindStringSubmatch(name)
		if m == nil {
			return 0, "", false
		}
		rank, err := strconv.Atoi(m[2])
		return rank, strings.TrimRight(m[1], "._-"), err == nil && rank < 1<<20
	})
	numbered := func() bool {
		for i, r := range b.ranks {
			if i != r {
				return false
			}
		}
		return true
	}
	return b, header, ok && len(b.places[0]) > 1 && numbered()
}

// groupByRank groups columns whose names have a rank.
func groupByRank(names []string, known []column, in func(name string) (rank int, rest string, ok bool)) (b rankColumnRows, header []string, ok bool) {
	type place struct{ rank, stage int }
	var stages []string
	of := make(map[place]int)
	for i, name := range names {
		if known[i].kind == step || known[i].kind == window || known[i].kind == attr {
			b.fixed = append(b.fixed, i)
			continue
		}
		rank, stage, found := in(strings.TrimSpace(name))
		if bounds.MatchString(name) || !found || stage == "" || isNotTime(stage) {
			continue
		}
		s := slices.Index(stages, stage)
		if s < 0 {
			s = len(stages)
			stages = append(stages, stage)
		}
		if _, twice := of[place{rank, s}]; twice {
			return b, nil, false
		}
		of[place{rank, s}] = i
		if !slices.Contains(b.ranks, rank) {
			b.ranks = append(b.ranks, rank)
		}
	}
	slices.Sort(b.ranks)
	for _, rank := range b.ranks {
		var row []int
		for s := range stages {
			i, found := of[place{rank, s}]
			if !found {
				i = -1
			}
			row = append(row, i)
		}
		b.places = append(b.places, row)
	}
	for _, i := range b.fixed {
		header = append(header, names[i])
	}
	header = append(header, "rank")
	return b, append(header, stages...), len(b.ranks) > 1
}

// hasKind reports whether one of the columns is of a kind.
func hasKind(columns []column, k kind) bool {
	return slices.ContainsFunc(columns, func(c column) bool { return c.kind == k })
}

// Next returns the row of the next rank of which a step has a value.
func (b *rankColumnRows) Next() ([]string, error) {
	for {
		if b.wide == nil || b.next == len(b.ranks) {
			wide, err := b.rows.Next()
			if err != nil {
				return nil, err
			}
			b.wide, b.next = wide, 0
		}
		places := b.places[b.next]
		b.next++
		b.cells = b.cells[:0]
		for _, i := range b.fixed {
			b.cells = append(b.cells, b.cell(i))
		}
		b.cells = append(b.cells, strconv.Itoa(b.ranks[b.next-1]))
		empty := true
		for _, i := range places {
			cell := b.cell(i)
			empty = empty && isMissing(strings.TrimSpace(cell))
			b.cells = append(b.cells, cell)
		}
		if !empty {
			return b.cells, nil
		}
	}
}

// cell returns a cell of the wide row; "" where the row is shorter.
func (b *rankColumnRows) cell(i int) string {
	if i < 0 || i >= len(b.wide) {
		return ""
	}
	return b.wide[i]
}

func (b *rankColumnRows) AtEnd() bool { return b.next == len(b.ranks) && b.rows.AtEnd() }

// secondHeader joins the names of a header of two rows, the second of which has ranks, as pandas writes it, and passes over the
// third, which names the index. names comes back where there is no such.
func secondHeader(names []string, s *sampledRows) []string {
	sample := s.sample()
	if !isTwoRows(names) || len(sample) < 3 || len(sample[0]) != len(names) || len(sample[1]) != len(names) {
		return names
	}
	twice := make(map[string]bool)
	out := slices.Clone(names)
	for i, name := range names {
		number := strings.TrimSpace(sample[0][i])
		m := rankAlone.FindStringSubmatch(number)
		if isNameless(name) && m == nil {
			out[i] = strings.TrimSpace(sample[1][i])
			continue
		}
		if m == nil || twice[name+" "+m[1]] {
			return names
		}
		twice[name+" "+m[1]] = true
		out[i] = name + " rank" + m[1]
	}
	if out[0] == "" || len(twice) < 2 {
		return names
	}
	for _, cell := range sample[1][1:] {
		if strings.TrimSpace(cell) != "" {
			return names
		}
	}
	s.skip(2)
	return out
}

// isTwoRows reports whether the first row of a table may be half of a header: it names columns twice.
func isTwoRows(names []string) bool {
	seen := make(map[string]int)
	for _, n := range names {
		seen[n]++
	}
	return len(names) > 4 && len(seen) <= len(names)/2 && isNameless(names[0])
}
