package trainlog

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/sfstat/sfstat/trace/input"
)

// A log that is rotated, or begun anew after a restart, goes on in another file. What of a rank comes behind its steps in one file is of
// the same run.

// numbersInName are what tells the files of one log apart.
var numbersInName = regexp.MustCompile(`\d+`)

// logName returns the part of a file name that all files of a continued log share.
func logName(file string) string {
	name := numbersInName.ReplaceAllString(filepath.Base(file), "")
	for name != "" && (name[len(name)-1] == '.' || name[len(name)-1] == '-' || name[len(name)-1] == '_') {
		name = name[:len(name)-1]
	}
	return name
}

// continueTracks joins the tracks of a rank whose steps follow one another; for logs without ranks, tracks whose names
// differ only in numbers. Where steps overlap, the track read first counts, and the others are refused.
func (j *job) continueTracks() {
	byRank, order := make(map[int][]*track), []int(nil)
	for _, t := range j.tracks {
		if byRank[t.rank] == nil {
			order = append(order, t.rank)
		}
		byRank[t.rank] = append(byRank[t.rank], t)
	}
	j.tracks = nil
	for _, rank := range order {
		j.tracks = append(j.tracks, j.joinTracks(byRank[rank])...)
	}
}

// joinTracks returns the tracks of a rank, joined where their steps follow one another.
func (j *job) joinTracks(of []*track) []*track {
	if len(of) < 2 {
		return of
	}
	ranges := make(map[*track][2]int64)
	for _, t := range of {
		ranges[t] = t.stepRange()
	}
	sorted := slices.Clone(of)
	slices.SortStableFunc(sorted, func(x, y *track) int { return cmp.Compare(ranges[x][0], ranges[y][0]) })
	for i, t := range sorted[1:] {
		before := sorted[i]
		follows := ranges[t][0] > ranges[before][0] && ranges[t][1] > ranges[before][1]
		switch {
		case follows && (t.rank >= 0 || logName(t.file) == logName(before.file)):
		case t.rank < 0:
			return of // copies, or ranks that nothing tells apart
		default:
			for _, other := range of[1:] {
				j.b.Refused = append(j.b.Refused, Refusal{other.file, input.At(input.Pos{File: other.file, Line: other.line},
					input.Bad(input.ErrDuplicate, "rank %d is in %s too, with the same steps: name files by global ranks, and give one run only", other.rank, of[0].file))})
			}
			return of[:1]
		}
	}
	first := sorted[0]
	for _, t := range sorted[1:] {
		first.appendTrack(j.b, t)
	}
	return sorted[:1]
}

// stepRange returns the least and the largest step number.
func (t *track) stepRange() (span [2]int64) {
	for i := range t.n {
		step := t.step(i)
		if i == 0 {
			span = [2]int64{step, step}
		}
		span[0], span[1] = min(span[0], step), max(span[1], step)
	}
	return span
}

// appendTrack appends the rows of the track that continues t.
func (t *track) appendTrack(b *Builder, next *track) {
	at := make([]int, len(next.columns))
	for c, column := range next.columns {
		if at[c] = -1; column >= 0 {
			at[c] = b.place(t, column)
		}
	}
	for i := range next.n {
		t.append(next.step(i))
		row := slices.Clone(next.row(i))
		to := t.change(t.n - 1)
		for c, v := range row {
			if at[c] >= 0 {
				to[at[c]] = v
			}
		}
	}
	t.counted, t.mean, t.sum = t.counted || next.counted, t.mean || next.mean, t.sum || next.sum
	t.assumed, t.clocked = t.assumed || next.assumed, t.clocked || next.clocked
	t.resolution = max(t.resolution, next.resolution)
	t.host = cmp.Or(t.host, next.host)
}
