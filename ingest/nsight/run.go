package nsight

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/natural"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// Problem is a file that was refused.
type Problem struct {
	Path string
	Err  error
}

// Run is what the exports of one run hold.
type Run struct {
	Ranks []*profile.Rank // ascending
	// Comm is the calls and kernels of NCCL, by the path of each export that has such; with what NCCL attached to its ranges,
	// unless Options.Kernels asks for kernels without.
	Comm map[string]*comms.Record
}

// Read reads the exports of one run, several at a time and each once, and numbers the ranks
// in them. Files that are refused are listed, and the others returned.
//
// Ranks are numbered by the first of these that gives every rank a number of
// its own: what an NVTX range or mark of the process says ("rank 3"), where all
// have one; the number in the file's name, where files hold one rank each: after
// the word rank, or, where they count from 0 without a gap, the last; the order
// of hosts and, within a host, of GPUs, as launchers number them. A note
// says which it was, for it is a guess but for the first. The order of hosts says nothing where a file is refused,
// here or before (Options.Refused): then files are counted by their names, as if those that are refused held as many
// ranks as the others; where these differ, they are refused, too.
func Read(paths []string, o Options) (Run, []Problem) {
	errs := make([]error, len(paths))
	read := make([]content, len(paths))
	parallel.Do(len(paths), 0, func(i int) {
		defer bug.Contain(paths[i], &errs[i])
		read[i], errs[i] = readFile(paths[i], o)
	})
	var problems []Problem
	all, run := make([][]*process, len(paths)), Run{Comm: make(map[string]*comms.Record)}
	for i, err := range errs {
		if err != nil {
			problems = append(problems, Problem{paths[i], err})
			continue
		}
		if all[i] = read[i].ranks; read[i].comm != nil {
			run.Comm[paths[i]] = read[i].comm
		}
	}
	copies := dropCopies(paths, all, run.Comm)
	refused := slices.Clone(o.Refused)
	for _, p := range problems {
		refused = append(refused, p.Path)
	}
	if len(refused) == 0 || !needsHostOrder(all) {
		run.Ranks = number(all)
		run.tell(copies)
		return run, problems
	}
	if run.Ranks = numberAround(paths, all, refused); run.Ranks != nil {
		run.tell(copies)
		return run, problems
	}
	for i, path := range paths {
		if errs[i] == nil {
			problems = append(problems, Problem{path, input.At(input.Pos{File: path}, input.Bad(input.ErrMissing,
				"nothing but the order of hosts tells its ranks, and an export beside it is refused: export that again, or take it away"))})
		}
	}
	return Run{}, problems
}

// dropCopies takes away the exports whose processes are all in another one, to the nanosecond, and lists them.
func dropCopies(paths []string, files [][]*process, comm map[string]*comms.Record) (copies []string) {
	type key struct {
		host string
		id   processID
		gpu  int64
	}
	seen := make(map[key][]*profile.Rank)
	for i, f := range files {
		known := func(p *process) bool {
			return slices.ContainsFunc(seen[key{p.rank.Host, p.id, p.gpu}], p.rank.CopyOf)
		}
		if len(f) > 0 && !slices.ContainsFunc(f, func(p *process) bool { return !known(p) }) {
			copies = append(copies, filepath.Base(paths[i]))
			files[i] = nil
			delete(comm, paths[i])
		}
		for _, p := range files[i] {
			seen[key{p.rank.Host, p.id, p.gpu}] = append(seen[key{p.rank.Host, p.id, p.gpu}], p.rank)
		}
	}
	return copies
}

// tell notes the exports that are copies of others.
func (r *Run) tell(copies []string) {
	if len(copies) > 0 && len(r.Ranks) > 0 {
		first := r.Ranks[0]
		first.Notes = append(first.Notes, input.Note{Kind: input.NoteStepsRepeated,
			Text: "copies of an export are left out, so that one rank does not count twice: " + strings.Join(copies[:min(4, len(copies))], ", ")})
	}
}

// numberAround numbers the ranks of files in the order of their names, as if those that are refused held as many; nil
// where files differ in how many they hold.
func numberAround(paths []string, files [][]*process, refused []string) []*profile.Rank {
	each := 0
	of := make(map[string][]*process)
	for i, f := range files {
		if each = max(each, len(f)); len(f) > 0 {
			of[paths[i]] = f
		}
	}
	order := slices.Concat(refused, slices.Collect(maps.Keys(of)))
	slices.SortFunc(order, natural.Compare)
	order = slices.Compact(order)
	if each*len(order) > trace.MaxRanks {
		return nil
	}
	var ranks []*profile.Rank
	for at, path := range order {
		f := of[path]
		if len(f) > 0 && len(f) != each {
			return nil
		}
		number([][]*process{f}) // within the file
		for _, p := range f {
			p.rank.ID, p.rank.World, p.rank.Notes = at*each+p.rank.ID, each*len(order), nil
			ranks = append(ranks, p.rank)
		}
	}
	slices.SortFunc(ranks, func(a, b *profile.Rank) int { return cmp.Compare(a.ID, b.ID) })
	ranks[0].Notes = append(ranks[0].Notes, input.Note{Kind: input.NoteRanksNumbered, Text: fmt.Sprintf(
		"nothing tells the ranks of the exports, and %s is refused: they are counted by the names of the files, as if each held %d; only host and GPU are certain",
		filepath.Base(refused[0]), each)})
	return ranks
}

// needsHostOrder reports whether nothing but the order of hosts and GPUs numbers the ranks of files.
func needsHostOrder(files [][]*process) bool {
	all, single := joinRanks(files)
	if len(all) == 0 {
		return false
	}
	_, how := choose(all, single)
	return how == orderOfHosts
}

// joinRanks returns the ranks of all files, and whether no file holds two.
func joinRanks(files [][]*process) (all []*process, single bool) {
	single = true
	for _, f := range files {
		all = append(all, f...)
		single = single && len(f) <= 1
	}
	return all, single
}

// orderOfHosts is how ranks are numbered where nothing tells theirs.
const orderOfHosts = "by the order of hosts and, within a host, of GPUs"

// readFile is read, unless a test has another.
var readFile = read

// number gives the ranks of files their numbers.
func number(files [][]*process) []*profile.Rank {
	all, single := joinRanks(files)
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b *process) int {
		if a.rank.Host == b.rank.Host {
			return cmp.Or(cmp.Compare(a.gpu, b.gpu), natural.Compare(a.rank.Source, b.rank.Source), cmp.Compare(a.id, b.id))
		}
		return natural.Compare(a.rank.Host, b.rank.Host)
	})
	numbers, how := choose(all, single)
	ranks := make([]*profile.Rank, len(all))
	local := make(map[string]int)
	for i, p := range all {
		ranks[i] = p.rank
		p.rank.ID, p.rank.LocalRank = numbers[i], local[p.rank.Host]
		local[p.rank.Host]++
	}
	slices.SortFunc(ranks, func(a, b *profile.Rank) int { return cmp.Compare(a.ID, b.ID) })
	if len(ranks) > 1 {
		ranks[0].Notes = append(ranks[0].Notes, input.Note{Kind: input.NoteRecorder,
			Text: fmt.Sprintf("the %d ranks are numbered %s: %s", len(ranks), how, hosts(ranks))})
	}
	return ranks
}

// choose picks the numbers of the ranks, and says how. single: no file holds
// two ranks.
func choose(all []*process, single bool) (numbers []int, how string) {
	n := len(all)
	claims, words, last := make([]int, n), make([]int, n), make([]int, n)
	for i, p := range all {
		claims[i], words[i], last[i] = p.claimed, numberIn(p.rank.Source, rankWord), numberIn(p.rank.Source, lastNumber)
	}
	switch {
	case distinct(claims):
		return claims, "by what NVTX ranges say of each process"
	case single && distinct(words):
		return words, "by the names of the files"
	case single && n > 1 && distinct(last) && slices.Max(last) == n-1: // else it may be a host's number, or a date
		return last, "by the names of the files"
	}
	for i := range all {
		numbers = append(numbers, i)
	}
	return numbers, orderOfHosts
}

// distinct reports whether every entry is a rank, and no two the same.
func distinct(ranks []int) bool {
	sorted := slices.Sorted(slices.Values(ranks))
	if sorted[0] < 0 || sorted[len(sorted)-1] >= trace.MaxRanks {
		return false
	}
	return len(slices.Compact(sorted)) == len(ranks)
}

// hosts names which ranks are on which host, at most four of them.
func hosts(ranks []*profile.Rank) string {
	of := make(map[string][]int)
	var names []string
	for _, r := range ranks {
		if of[r.Host] == nil {
			names = append(names, r.Host)
		}
		of[r.Host] = append(of[r.Host], r.ID)
	}
	var parts []string
	for _, name := range names[:min(len(names), 4)] {
		parts = append(parts, trace.RankList(of[name])+" on "+name)
	}
	if len(names) > 4 {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

var (
	rankWord   = regexp.MustCompile(`(?i)rank[-_ .=]?(\d{1,7})(?:\D|$)`)
	lastNumber = regexp.MustCompile(`(\d{1,7})\D*$`)
	wholeRank  = regexp.MustCompile(`(?i)^\W*(?:global[ _-]?)?rank[ _:=#-]{0,2}(\d{1,7})\W*$`)
)

// numberIn returns the number that a pattern finds in a file's name, −1: none.
func numberIn(path string, pattern *regexp.Regexp) int {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	m := pattern.FindStringSubmatch(name)
	if m == nil {
		return unclaimed
	}
	n, _ := strconv.Atoi(m[1]) // seven digits at most
	return n
}

// rankIn reads the text of a range that names a rank and nothing else.
func rankIn(text string) (int, bool) {
	if len(text) > 32 || !strings.ContainsAny(text, "rR") {
		return 0, false
	}
	m := wholeRank.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}
