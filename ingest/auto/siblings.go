package auto

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/trace/input"
)

// A file that is left out beside others of its kind is named, with what they are: a copy, a second file of a rank, a file without a row, one
// that is broken.

// leaveOut leaves a table out that says nothing new beside the runs of its folder, or the tables before it, and notes why.
func (r *Reader) leaveOut(s *shareOf, runs []*tableRun, before []*shareOf) bool {
	ranks := s.ranks()
	if s.extent.Bare && len(runs) > 0 {
		if s.rank >= 0 && len(runs) == 1 && !s.extent.OnHost && s.host == "" {
			u := runs[0].unit()
			u.world = max(u.world, s.rank+1)
		}
		r.drop(s.unit, input.Bad(input.ErrEmpty, "%shas the names of columns and no row: the job may not have written anything yet", ofRankText(s.rank)))
		return true
	}
	if ranks == nil {
		return false
	}
	twice := (*shareOf)(nil)
	for _, run := range runs {
		for _, other := range slices.Concat(run.stretches...) {
			if slices.Equal(other.ranks(), ranks) && other.host == s.host {
				before = append(slices.Clone(before), other)
				if !s.hasRankColumn() && strings.EqualFold(other.stem, s.stem) {
					twice = other
				}
			}
		}
	}
	for _, other := range before {
		if slices.Equal(other.ranks(), ranks) && !s.unit.inputs[0].named && r.areCopies(s, other) {
			r.drop(s.unit, copyError(other.path()))
			return true
		}
	}
	if twice != nil {
		r.drop(s.unit, input.Bad(input.ErrDuplicate, "rank %d is in %s too, which is read, and this file is left out: leave one of the two there", s.rank, twice.path()))
		return true
	}
	return false
}

func (s *shareOf) path() string { return s.unit.inputs[0].Path }

// areCopies reports whether two tables have the same bytes, packed or not.
func (r *Reader) areCopies(a, b *shareOf) bool {
	x, y := a.unit.inputs[0], b.unit.inputs[0]
	return a.extent.Digest == b.extent.Digest && (x.Bytes == y.Bytes || x.Compression != y.Compression) && haveEqualBytes(a.path(), b.path(), r.o.Limits)
}

// drop removes a unit of one input from the units to be read, and notes why.
func (r *Reader) drop(u *unit, err error) {
	path := u.inputs[0].Path
	r.units = slices.DeleteFunc(r.units, func(one *unit) bool { return one == u })
	r.problems = append(r.problems, Problem{path, input.At(input.Pos{File: path}, err)})
}

// ofRankText begins a sentence about a file.
func ofRankText(rank int) string {
	if rank < 0 {
		return "it "
	}
	return fmt.Sprintf("the file of rank %d ", rank)
}

// nameLost names the files that were passed over and have the name of tables of a run but for numbers. The run is one of their ranks too.
func (r *Reader) nameLost(runs []*tableRun, within *roots) {
	for _, run := range runs {
		u := run.unit()
		shares := slices.Concat(run.stretches...)
		if len(shares) < fewSiblings {
			continue
		}
		for _, in := range r.lostBeside(pathsOf(u.inputs)) {
			s := placeShare(&shareOf{folder: dirOf(in.Path), rank: -1}, in.Path, within)
			r.nameLostFile(in, s.rank, pathsOf(u.inputs))
			if s.rank >= 0 && !run.named && len(run.stretches) == 1 && ranksOnHosts(shares) == nil {
				u.world = max(u.world, s.rank+1)
			}
		}
	}
}

func pathsOf(inputs []*Input) (paths []string) {
	for _, in := range inputs {
		paths = append(paths, in.Path)
	}
	return paths
}

// sortLogs leaves copies of logs out, and names those that were passed over beside others of their name, of ranks.
func (r *Reader) sortLogs() {
	for _, u := range r.units {
		if u.format != TrainLog || u.inputs[0].Skipped != "" {
			continue
		}
		for _, in := range r.lostBeside(pathsOf(u.inputs)) {
			if rank, _ := u.rankOf(in); rank >= 0 && saysRank.MatchString(in.name) {
				r.nameLostFile(in, rank, pathsOf(u.inputs))
			}
		}
		r.nameMissingRotations(u.inputs)
		kept := u.inputs[:1]
		for _, in := range u.inputs[1:] {
			if i := slices.IndexFunc(kept, func(other *Input) bool { return u.areLogCopies(in, other) }); i < 0 {
				kept = append(kept, in)
			} else {
				r.noteCopy(in.Path, kept[i].Path)
			}
		}
		u.inputs = kept
	}
}

// areLogCopies reports whether a log that was found in a folder has the bytes of another of its host, and of its rank where both say it.
func (u *unit) areLogCopies(in, other *Input) bool {
	if in.named || in.Bytes != other.Bytes || in.Bytes <= 0 || u.r.piped[in] != nil || u.r.piped[other] != nil {
		return false
	}
	rank, host := u.rankOf(in)
	otherRank, otherHost := u.rankOf(other)
	return (rank == otherRank || min(rank, otherRank) < 0) && host == otherHost && haveEqualBytes(in.Path, other.Path, u.r.o.Limits)
}

// noteCopy notes that a file is a copy of another.
func (r *Reader) noteCopy(path, of string) {
	r.problems = append(r.problems, Problem{path, input.At(input.Pos{File: path}, copyError(of))})
}

// shapeOf returns a path without its numbers, and without what says how the file is stored.
func shapeOf(path string) string {
	return digits.ReplaceAllString(filepath.Join(filepath.Dir(path), tableStem(path)), "#")
}

// lookAgain reads files of a folder as tables that lack the unit of their times, or the rank, where others of their name are tables.
func (r *Reader) lookAgain(all []candidate, others *[]beside) error {
	tables := r.tableShapes()
	for i, c := range all {
		in := &r.inputs[i]
		if c.named || in.Skipped == "" || !in.table || !tables[shapeOf(in.Path)] {
			continue
		}
		c.named = true
		if err := r.lookOne(c, in, others); err != nil {
			return err
		}
		in.named = false
	}
	return nil
}

// tableShapes returns the shapes of the paths of tables.
func (r *Reader) tableShapes() map[string]bool {
	shapes := make(map[string]bool)
	for i := range r.inputs {
		if in := &r.inputs[i]; in.Skipped == "" && in.Format.row().isTable() {
			shapes[shapeOf(in.Path)] = true
		}
	}
	return shapes
}

// takeTables reads logs of one JSON object per line as tables where others of their name are tables.
func (r *Reader) takeTables() {
	tables := r.tableShapes()
	for _, u := range slices.Clone(r.units) {
		if u.format != TrainLog || len(tables) == 0 {
			continue
		}
		u.inputs = slices.DeleteFunc(u.inputs, func(in *Input) bool {
			if !tables[shapeOf(in.Path)] || r.piped[in] != nil || !r.isTableOfObjects(in) {
				return false
			}
			in.Format = JSONTable
			r.units = append(r.units, &unit{row: JSONTable.row(), r: r, where: in.Path, inputs: []*Input{in}, size: max(in.Bytes, 0)})
			u.size -= max(in.Bytes, 0)
			return true
		})
		if len(u.inputs) == 0 {
			r.units = slices.DeleteFunc(r.units, func(one *unit) bool { return one == u })
		}
	}
}

// isTableOfObjects reports whether a file has a JSON object with the times of a step in its first line.
func (r *Reader) isTableOfObjects(in *Input) bool {
	src, err := r.source(in.Path)
	if err != nil {
		return false
	}
	defer src.Close()
	head, _ := src.Peek(sniffed)
	return csv.HasStepTimes(csv.ColumnsOfJSON(head))
}

// fewSiblings is how many files have a name but for numbers where another file of it is one of theirs.
const fewSiblings = 2

// lostBeside returns the files in folders that were passed over, and have the same paths but for numbers as several that are read.
func (r *Reader) lostBeside(read []string) (lost []*Input) {
	count := make(map[string]int)
	for _, path := range read {
		count[shapeOf(path)]++
	}
	for i := range r.inputs {
		in := &r.inputs[i]
		if in.Skipped == "" || in.Known || in.named || in.Format.Readable() || in.MetaOf != "" {
			continue
		}
		if count[shapeOf(in.Path)] >= fewSiblings && digits.MatchString(in.name) {
			lost = append(lost, in)
		}
	}
	return lost
}

// nameLostFile notes that a file which was passed over is one of others.
func (r *Reader) nameLostFile(in *Input, rank int, others []string) {
	err := input.Bad(input.ErrEmpty, "%sis empty: the job may not have written anything yet", ofRankText(rank))
	if in.Format != Empty {
		err = input.Bad(input.ErrFormat, "%sis %s, and has no times of steps as the %d others of its name (%s, …): is it damaged?", ofRankText(rank),
			cmp.Or(in.Format.row().noun, "of no kind that is known"), len(others), filepath.Base(others[0]))
	}
	in.Skipped = ""
	r.given++
	r.problems = append(r.problems, Problem{in.Path, input.At(input.Pos{File: in.Path}, err)})
}
