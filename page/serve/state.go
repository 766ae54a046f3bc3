package serve

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/report/metrics"
)

// state is what is served until the next change. It is never written to.
type state struct {
	Recorded        // runs that cost most first
	Failure  string // why a path cannot be read now
	version  uint64
	place    map[string]int // of runs, by key
}

func newState(version uint64, r Recorded) *state {
	r.Runs = slices.Clone(r.Runs)
	slices.SortFunc(r.Runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(b.Gain, a.Gain), strings.Compare(a.Name, b.Name))
	})
	s := &state{Recorded: r, version: version, place: make(map[string]int, len(r.Runs))}
	for i := range r.Runs {
		s.place[metrics.Key(r.Runs[i].Name)] = i
	}
	return s
}

// escapedKey returns the key in a path.
func (r *Run) escapedKey() string { return url.PathEscape(metrics.Key(r.Name)) }

func (s *state) find(key string) (*Run, error) {
	i, ok := s.place[key]
	if !ok {
		return nil, errNoRun
	}
	return &s.Runs[i], nil
}
