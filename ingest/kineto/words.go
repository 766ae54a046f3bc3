package kineto

import "strings"

// maxWord is how long a word is kept, in bytes; maxWords and maxWordBytes
// bound those of a trace together, of which a real one has some thousand.
const (
	maxWord      = 4096
	maxWords     = 1 << 17
	maxWordBytes = 64 << 20
)

// words keeps one copy of what many events say again: groups, types, the names
// of events in two halves.
type words struct {
	known map[string]string
	bytes int
}

// of is the word that b is. Bytes that are no UTF-8 are replaced, what is too
// long is cut, and when a trace has too many words, the rest are one.
func (w *words) of(b []byte) string {
	b = b[:min(len(b), maxWord)]
	if s, ok := w.known[string(b)]; ok {
		return s
	}
	if len(w.known) >= maxWords || w.bytes+len(b) > maxWordBytes {
		return "(other)"
	}
	if w.known == nil {
		w.known = make(map[string]string)
	}
	s := string(b)
	w.known[s] = strings.ToValidUTF8(s, "�")
	w.bytes += len(s)
	return w.known[s]
}
