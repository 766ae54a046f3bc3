package nccllog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
)

// maxExample is how many bytes of a text are kept.
const maxExample = 200

// tally counts what begins like a record and cannot be read, by reason.
type tally []comms.Unread

// add counts a record; its text is kept if it is the first.
func (t *tally) add(b *Builder, r *logline.Record) {
	i := slices.IndexFunc(*t, func(u comms.Unread) bool { return u.Reason == r.Why })
	if i < 0 {
		i = len(*t)
		*t = append(*t, comms.Unread{Reason: r.Why, Source: b.source, Line: r.Line, Text: clean(r.Text)})
	}
	(*t)[i].Count++
}

// byCount is all of it, the most frequent reason first.
func (t tally) byCount() []comms.Unread {
	slices.SortStableFunc(t, func(x, y comms.Unread) int { return cmp.Compare(y.Count, x.Count) })
	return t
}

func clean(text []byte) string {
	text = bytes.TrimSpace(text[:min(len(text), maxExample)])
	return strings.ToValidUTF8(string(text), "?")
}
