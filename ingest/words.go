package ingest

import "slices"

// Words finds which of some words a line has, in one pass over it, whatever their number (Aho and Corasick 1975, Commun.
// ACM 18:333–340).
type Words struct {
	list []string
	next []uint16 // [state][byte]
	ends []uint16 // [state] index of found, 0: no word ends there
	sets []Has

	longest int // of the words
}

// Has is a set of words, by their numbers.
type Has [4]uint64

// mostWords is how many words a set has at most.
const mostWords = 64 * len(Has{})

// Contains reports whether a word is in the set.
func (h *Has) Contains(n int) bool { return h[n/64]>>(n%64)&1 != 0 }

// ContainsAll reports whether all of another set are in it.
func (h *Has) ContainsAll(of *Has) bool {
	return h[0]&of[0] == of[0] && h[1]&of[1] == of[1] && h[2]&of[2] == of[2] && h[3]&of[3] == of[3]
}

// ContainsAny reports whether one of another set is in it.
func (h *Has) ContainsAny(of *Has) bool {
	return h[0]&of[0]|h[1]&of[1]|h[2]&of[2]|h[3]&of[3] != 0
}

// AllWords is the set of all words that there may be.
var AllWords = Has{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

func (h *Has) add(n int) { h[n/64] |= 1 << (n % 64) }

// Set returns the set of some words, which are among those that are found; ok is false where there are too many.
func (w *Words) Set(words ...string) (h Has, ok bool) {
	for _, text := range words {
		n := slices.Index(w.list, text)
		if n < 0 {
			if n = len(w.list); n >= mostWords {
				return h, false
			}
			w.list, w.next = append(w.list, text), nil
		}
		h.add(n)
	}
	return h, true
}

// build makes the automaton.
func (w *Words) build() {
	const bytes = 256
	states := 1 // at most
	for _, text := range w.list {
		states += len(text)
	}
	w.next, w.ends, w.sets = make([]uint16, bytes, bytes*states), make([]uint16, 1), make([]Has, 1)
	w.longest = 1
	own := []Has{{}}
	for n, text := range w.list {
		w.longest = max(w.longest, len(text))
		at := 0
		for _, c := range []byte(text) {
			if to := w.next[at*bytes+int(c)]; to != 0 {
				at = int(to)
				continue
			}
			made := len(w.next) / bytes
			w.next = w.next[:len(w.next)+bytes]
			w.next[at*bytes+int(c)] = uint16(made)
			own, at = append(own, Has{}), made
		}
		own[at].add(n)
	}
	fail, queue := make([]int, len(own)), []int{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := range bytes {
			to := int(w.next[at*bytes+c])
			if to == 0 {
				w.next[at*bytes+c] = w.next[fail[at]*bytes+c]
				continue
			}
			if at != 0 {
				fail[to] = int(w.next[fail[at]*bytes+c])
			}
			for i := range own[to] {
				own[to][i] |= own[fail[to]][i]
			}
			queue = append(queue, to)
		}
	}
	w.ends = make([]uint16, len(own))
	for at, h := range own {
		if h != (Has{}) {
			w.ends[at] = uint16(len(w.sets))
			w.sets = append(w.sets, h)
		}
	}
}

// Find returns which words a line has.
func (w *Words) Find(line []byte) (h Has) {
	if w.next == nil {
		w.build()
	}
	next, ends, at := w.next, w.ends, uint(0)
	if half := len(line) / 2; half > w.longest {
		// Both halves at once, as each step of one waits for the step before it: the second begins before each word
		// that the first does not end with.
		first, second, also := line[:half], line[half+1-w.longest:], uint(0)
		for i, c := range first {
			at, also = uint(next[at<<8|uint(c)]), uint(next[also<<8|uint(second[i])])
			if e, f := ends[at], ends[also]; e|f != 0 {
				h.Join(&w.sets[e])
				h.Join(&w.sets[f])
			}
		}
		line, at = second[half:], also
	}
	for _, c := range line {
		at = uint(next[at<<8|uint(c)])
		if e := ends[at]; e != 0 {
			h.Join(&w.sets[e])
		}
	}
	return h
}

// Join adds a set.
func (h *Has) Join(of *Has) {
	h[0] |= of[0]
	h[1] |= of[1]
	h[2] |= of[2]
	h[3] |= of[3]
}
