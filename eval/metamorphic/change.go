package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
)

// change is something that is done to a recording, and the rule for what the verdict may become.
type change struct {
	name string
	does string // for people
	rule rule
	make func(*subject) (*variant, error)
}

// subject is a recording with the verdict on it as it is.
type subject struct {
	of    *recording
	files []*file
	base  *spoken
}

// variant is a recording after a change.
type variant struct {
	files []*file
	read  reading
	names names
}

// Sizes of the changes.
const (
	apart       = 3_000_000_000 // ns by which a clock is shifted: whole seconds, as logs are stamped in words
	microsecond = 1_000
	millisecond = 1_000_000
	keptPart    = 0.9 // of a file that is cut
)

// changes are all of them, in the order of the table.
var changes = []change{
	{"rewritten", "read and written again", same, editChange(editing{edit: rewrite})},
	{"ranks renamed", "the numbers of the ranks exchanged among them", alike, (*subject).ranksRenamed},
	{"hosts renamed", "the hosts renamed, in the opposite order of names where ranks are not numbered by it", same, (*subject).hostsRenamed},
	{"files reordered", "files named in the opposite order", same, (*subject).reverseFiles},
	{"rows reordered", "rows shuffled, of tables, packets and events", same, editChange(editing{edit: reorder})},
	{"split", "the largest file split in two", same, (*subject).split},
	{"merged", "all files of a folder in one", same, (*subject).mergeFolders},
	{"gzip", "all files compressed by gzip", same, packedAs(".gz")},
	{"zstd", "all files compressed by zstd", same, packedAs(".zst")},
	{"clock shifted", "the clock of the named rank's host, or of the first's, 3 s ahead", nearly, (*subject).shiftClock},
	{"zero stage", "a stage of zeros added", nearly, editChange(editing{edit: addStage})},
	{"sum stage", "a stage added that is the sum of the others", nearly, editChange(editing{edit: addStage, sums: true})},
	{"1 µs", "times rounded to 1 µs", nearly, editChange(editing{edit: round, ns: microsecond})},
	{"1 ms", "times rounded to 1 ms", weaker, editChange(editing{edit: round, ns: millisecond})},
	{"named cut", "the file of the named rank cut at 90 %", damaged, changeRank((*subject).suspectRank, (*subject).cut)},
	{"other cut", "the file of another rank cut at 90 %", damaged, changeRank((*subject).bystander, (*subject).cut)},
	{"named gone", "the file of the named rank gone", bereft, changeRank((*subject).suspectRank, (*subject).removeRank)},
	{"other gone", "the file of another rank gone", culprit, (*subject).dropInnocent},
}

// rng returns the source of random numbers for changes of a recording.
func (s *subject) rng() *rand.Rand {
	key := fnv.New64a()
	key.Write([]byte(s.of.name))
	return rand.New(rand.NewPCG(1, key.Sum64()))
}

// editChange makes a change of an edit of all files.
func editChange(e editing) func(*subject) (*variant, error) {
	return func(s *subject) (*variant, error) {
		e := e
		e.rng = s.rng()
		return s.edit(&e)
	}
}

// packedAs makes a change of a way to store files.
func packedAs(ext string) func(*subject) (*variant, error) {
	return func(s *subject) (*variant, error) { return s.compress(ext) }
}

// edit returns the recording with all its files edited.
func (s *subject) edit(e *editing) (*variant, error) {
	out := &variant{names: e.names}
	for _, f := range s.files {
		files, err := f.edit(e)
		if err != nil {
			return nil, err
		}
		out.files = append(out.files, files...)
	}
	if e.edit != rewrite && slices.EqualFunc(s.files, out.files, alikeInside) {
		return nil, notApplicable("nothing of it changes")
	}
	return out, nil
}

// alikeInside reports whether two files have one name, but for how they are packed, and one content.
func alikeInside(a, b *file) bool {
	was, err := a.plain()
	if err != nil {
		return false
	}
	is, err := b.plain()
	return err == nil && a.withContent(nil).name == b.withContent(nil).name && bytes.Equal(was, is)
}

func (s *subject) ranksRenamed() (*variant, error) {
	ranks := s.base.ranks()
	if len(ranks) < 2 {
		return nil, notApplicable("fewer than two ranks are known")
	}
	n := names{ranks: map[int]int{}}
	s.rng().Shuffle(len(ranks), func(i, k int) { ranks[i], ranks[k] = ranks[k], ranks[i] })
	for i, r := range ranks {
		n.ranks[r] = ranks[(i+1)%len(ranks)] // none keeps its number
	}
	for _, f := range s.files {
		if f.form == operatorTrace {
			own, err := replicasRenamed(f)
			if err != nil {
				return nil, err
			}
			n.ranks = own
		}
	}
	return s.edit(&editing{edit: renameRanks, names: n})
}

func (s *subject) hostsRenamed() (*variant, error) {
	var hosts []string
	for _, f := range s.files {
		if f.form.hosts != nil {
			hosts = append(hosts, f.form.hosts(f)...)
		}
	}
	for _, h := range s.base.hosts {
		hosts = append(hosts, h)
	}
	slices.Sort(hosts)
	hosts = slices.DeleteFunc(slices.Compact(hosts), func(h string) bool { return h == "" })
	if len(hosts) == 0 {
		return nil, notApplicable("no host is named")
	}
	n := names{hosts: map[string]string{}}
	for i, h := range hosts {
		at := len(hosts) - i
		if slices.ContainsFunc(s.files, func(f *file) bool { return f.form == export }) {
			at = i // ranks of exports are numbered in the order of their hosts
		}
		n.hosts[h] = fmt.Sprintf("machine%02d", at)
	}
	return s.edit(&editing{edit: renameHosts, names: n})
}

// reverseFiles names the files in the opposite order.
func (s *subject) reverseFiles() (*variant, error) {
	if len(s.main()) < 2 {
		return nil, notApplicable("it is in one file")
	}
	out := &variant{files: slices.Clone(s.files), read: oneByOne}
	slices.Reverse(out.files)
	return out, nil
}

// split splits the largest file that can be.
func (s *subject) split() (*variant, error) {
	largest := slices.MaxFunc(s.main(), func(a, b *file) int { return len(a.stored) - len(b.stored) })
	parts, err := largest.edit(&editing{edit: split})
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return nil, notApplicable("the file has one part")
	}
	return &variant{files: replaceFile(s.files, largest, parts)}, nil
}

// replaceFile returns files with others in the place of one, and of what lies beside it.
func replaceFile(files []*file, f *file, by []*file) []*file {
	out := slices.Clone(by)
	for _, other := range files {
		if other != f && (other.form != partner || !isCompanion(other, f)) {
			out = append(out, other)
		}
	}
	return out
}

// isCompanion reports whether a file lies beside another because of its name.
func isCompanion(partner, to *file) bool { return slices.Contains(companions(to.path), partner.path) }

// main returns the files that are not beside others, and say something of ranks.
func (s *subject) main() []*file {
	return slices.DeleteFunc(slices.Clone(s.files), func(f *file) bool { return f.form == partner || f.form.bystander })
}

// mergeFolders puts the files of one form in one folder into one.
func (s *subject) mergeFolders() (*variant, error) {
	out, did := &variant{}, false
	groups := map[string][]*file{}
	var order []string
	for _, f := range s.files {
		key := path.Dir(f.name) + "\x00" + f.form.name
		if f.form.bystander {
			key = f.name
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], f)
	}
	for _, key := range order {
		files := groups[key]
		if len(files) == 1 || files[0].form == partner {
			out.files = append(out.files, files...)
			continue
		}
		together := files[0].form.together
		if together == nil {
			return nil, notApplicable("%s", files[0].form.not[merge])
		}
		files, err := together(files)
		if err != nil {
			return nil, err
		}
		out.files, did = append(out.files, files...), true
	}
	if !did {
		return nil, notApplicable("it is in one file")
	}
	return out, nil
}

// compress compresses all files that are read from their beginning to their end.
func (s *subject) compress(ext string) (*variant, error) {
	out := &variant{}
	for _, f := range s.files {
		switch {
		case f.form == export || isParquet(f):
			return nil, notApplicable("databases and Parquet are read where they lie")
		case f.form == partner:
			out.files = append(out.files, f)
			continue
		}
		to, err := f.compress(ext)
		if err != nil {
			return nil, err
		}
		out.files = append(out.files, to)
	}
	if slices.EqualFunc(s.files, out.files, func(a, b *file) bool { return a.name == b.name }) {
		return nil, notApplicable("it is stored so")
	}
	return out, nil
}

// shiftClock sets the clock of the named rank, or of the first, ahead in all files that have one, and with it those of all ranks on its host,
// which have one clock.
func (s *subject) shiftClock() (*variant, error) {
	rank := s.base.culprit()
	ranks := s.base.ranks()
	if rank < 0 && len(ranks) > 0 {
		rank = ranks[0]
	}
	shifted := []int{rank}
	if host := s.base.hosts[rank]; host != "" {
		shifted = slices.DeleteFunc(slices.Clone(ranks), func(r int) bool { return s.base.hosts[r] != host })
		if len(shifted) == len(ranks) {
			return nil, notApplicable("all ranks are on one host, which has one clock")
		}
	}
	out, timed := &variant{}, 0
	for _, f := range s.files {
		files, err := s.shiftFile(f, shifted)
		switch {
		case errors.Is(err, errNoClock):
			files = []*file{f}
		case err != nil:
			return nil, err
		case f.form != partner && !f.form.bystander:
			timed++
		}
		out.files = append(out.files, files...)
	}
	if timed == 0 || slices.EqualFunc(s.files, out.files, alikeInside) {
		return nil, errNoClock
	}
	return out, nil
}

// shiftFile sets the clocks of ranks of one host ahead in a file: one after the other, but in a file of the host once.
func (s *subject) shiftFile(f *file, ranks []int) (files []*file, err error) {
	if f.form.hosts != nil && f.recordedRanks() == nil {
		ranks = ranks[:1]
	}
	files = []*file{f}
	for _, rank := range ranks {
		e := &editing{edit: shift, rank: rank, host: s.base.hosts[rank], ns: apart}
		var next []*file
		for _, one := range files {
			edited, err := one.edit(e)
			if err != nil {
				return nil, err
			}
			next = append(next, edited...)
		}
		files = next
	}
	return files, nil
}

// suspectRank returns the rank that the verdict names first.
func (s *subject) suspectRank() (int, error) {
	if rank := s.base.culprit(); rank >= 0 {
		return rank, nil
	}
	return 0, notApplicable("no rank is named")
}

// bystander returns a rank that the verdict does not name, in another file than those that it names: the first, but not
// rank 0 where there is another.
func (s *subject) bystander() (int, error) {
	named := s.base.accusedRanks(func(*claim) bool { return true })
	ranks := slices.DeleteFunc(s.base.ranks(), func(r int) bool { return slices.Contains(named, r) })
	if len(ranks) > 1 {
		ranks = ranks[1:]
	}
	for _, r := range ranks {
		if !slices.ContainsFunc(named, func(n int) bool { return s.sharesFile(r, n) }) {
			return r, nil
		}
	}
	if len(ranks) > 0 {
		return 0, notApplicable("it is in a file with the named rank")
	}
	return 0, notApplicable("all ranks are named")
}

// sharesFile reports whether a file that holds one rank, and cannot lose it alone, holds another too.
func (s *subject) sharesFile(a, b int) bool {
	return slices.ContainsFunc(s.main(), func(f *file) bool {
		return s.recordsRank(f, a) && s.recordsRank(f, b) && f.form.can[remove] == nil
	})
}

// recordsRank reports whether a file has what was recorded of a rank: as the file tells, else as its host does.
func (s *subject) recordsRank(f *file, rank int) bool {
	if ranks := f.recordedRanks(); ranks != nil || f.form.hosts == nil {
		return slices.Contains(ranks, rank)
	}
	host := s.base.hosts[rank]
	return host != "" && slices.Contains(f.form.hosts(f), host)
}

// changeRank makes a change of what is done to the files of a rank.
func changeRank(which func(*subject) (int, error), do func(*subject, int) (*variant, error)) func(*subject) (*variant, error) {
	return func(s *subject) (*variant, error) {
		rank, err := which(s)
		if err != nil {
			return nil, err
		}
		return do(s, rank)
	}
}

// cut cuts off the end of the files of a rank, as they are stored.
func (s *subject) cut(rank int) (*variant, error) {
	named := s.base.culprit()
	out, did := &variant{}, false
	for _, f := range s.files {
		if f.form != partner && !f.form.bystander && s.recordsRank(f, rank) {
			if rank != named && named >= 0 && s.recordsRank(f, named) {
				return nil, notApplicable("it is in a file with the named rank")
			}
			short := *f
			short.stored, did = f.stored[:int(keptPart*float64(len(f.stored)))], true
			f = &short
		}
		out.files = append(out.files, f)
	}
	if !did {
		return nil, notApplicable("no file is known to be of the rank")
	}
	return out, nil
}

// removeRank takes out what was recorded of a rank: its files, or its rows in files of several ranks.
func (s *subject) removeRank(rank int) (*variant, error) {
	left, did := s.files, false
	for _, f := range s.files {
		if f.form == partner || !s.recordsRank(f, rank) {
			continue
		}
		var rest []*file
		if len(f.recordedRanks()) > 1 {
			var err error
			if rest, err = f.edit(&editing{edit: remove, rank: rank}); err != nil {
				return nil, err
			}
		}
		left, did = replaceFile(left, f, rest), true
	}
	if !did {
		return nil, notApplicable("no file is known to be of the rank")
	}
	if len((&subject{files: left}).main()) == 0 {
		return nil, notApplicable("there is no other file")
	}
	return &variant{files: left}, nil
}

// dropInnocent takes out a rank that the verdict does not name, where peers of the others are left.
func (s *subject) dropInnocent() (*variant, error) {
	if len(s.base.ranks()) < 3 {
		return nil, notApplicable("one rank is left, without a peer")
	}
	for _, f := range s.files {
		if f.form != operatorTrace {
			continue
		}
		if t, err := optrace.Open(f.path, ingest.Limits{}); err == nil && t.Layout.DP < 3 {
			return nil, notApplicable("one whole replica is left, without a peer")
		}
	}
	return changeRank((*subject).bystander, (*subject).removeRank)(s)
}

// state is what became of a change of a recording.
type state string

const (
	holds         state = "holds"
	broken        state = "broken"
	doesNotApply  state = "not applicable"
	refusedBefore state = "refused"
)

// outcome is a cell of recordings × changes.
type outcome struct {
	recording, kind, change string
	state                   state
	why                     string // what differs, or why it does not apply
}

// try returns the outcome of a change of a recording.
func (c *change) try(s *subject) (outcome, error) {
	out := outcome{recording: s.of.name, kind: s.of.kind, change: c.name, state: holds}
	v, err := c.make(s)
	if errors.Is(err, errNotApplicable) {
		out.state, out.why = doesNotApply, strings.TrimPrefix(err.Error(), errNotApplicable.Error()+": ")
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("%s, %s: %w", s.of.name, c.name, err)
	}
	after, err := verdictOf(v.files, v.read)
	if err != nil {
		return out, fmt.Errorf("%s, %s: %w", s.of.name, c.name, err)
	}
	if out.why = c.rule.broken(s.base.rename(v.names), after); out.why != "" {
		out.state = broken
	}
	return out, nil
}
