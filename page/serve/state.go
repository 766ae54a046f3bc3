package serve

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
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
		return cmp.Or(cmp.Compare(b.gain(), a.gain()), strings.Compare(a.Name, b.Name))
	})
	s := &state{Recorded: r, version: version, place: make(map[string]int, len(r.Runs))}
	for i := range r.Runs {
		s.place[keyOf(r.Runs[i].Name)] = i
	}
	return s
}

// mostName is how long a name may be, bytes, before a hash stands for it.
const mostName = 200

// keyOf is the name of a run where a URL or a label has it. What a browser takes for
// a place in a path, or is too long or no text, has a hash.
func keyOf(run string) string {
	if run != "" && run != "." && run != ".." && len(run) <= mostName && glyph.Visible(run) == run {
		return run
	}
	sum := sha256.Sum256([]byte(run))
	return "~" + hex.EncodeToString(sum[:8])
}

// escaped is the key in a path.
func (r *Run) escaped() string { return url.PathEscape(keyOf(r.Name)) }

// gain is the part of a run that fixing its first finding saves.
func (r *Run) gain() float64 {
	if len(r.Findings) == 0 {
		return 0
	}
	return r.Findings[0].RunGain
}

func (s *state) find(key string) (*Run, error) {
	i, ok := s.place[key]
	if !ok {
		return nil, errNoRun
	}
	return &s.Runs[i], nil
}
