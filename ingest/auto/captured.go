package auto

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/stages"
	"github.com/sfstat/sfstat/trace/profile"
)

// captured is how the recorder names the traces that it has a profiler write beside
// its packets, RUN.jsonl.
var captured = regexp.MustCompile(`^(.+)\.rank\d{5,}\.window\d{6,}\.trace\.json(?:\.gz)?$`)

// capturedOf is the run whose recorder captured a job of profiles; ok if all of them
// lie beside its packets, and recorded no device. The packets have the steps and
// arrivals of these hosts, of more steps and without what profiling costs: the
// traces add what ran in the stages.
func (r *Reader) capturedOf(j stages.Job) (run string, ok bool) {
	for i, rank := range j.Ranks {
		m := captured.FindStringSubmatch(filepath.Base(rank.Source))
		if m == nil || i > 0 && m[1] != run || slices.ContainsFunc(rank.Steps, func(s profile.Step) bool { return s.Device != nil }) {
			return "", false
		}
		run = m[1]
	}
	folder := dirOf(j.Ranks[0].Source)
	return run, slices.ContainsFunc(r.inputs, func(in Input) bool {
		return in.Format == Packets && in.Skipped == "" && dirOf(in.Path) == folder && strings.HasPrefix(filepath.Base(in.Path), run+".")
	})
}
