package ingest

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// What is found in a line are the words that it contains, by strings.Contains.
func TestWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var s strings.Builder
		for range 1 + rng.IntN(n) {
			s.WriteByte("abc \xff"[rng.IntN(5)])
		}
		return s.String()
	}
	for range 300 {
		var w Words
		var list []string
		for range 1 + rng.IntN(90) {
			list = append(list, text(5))
		}
		all, ok := w.Set(list...)
		if !ok {
			t.Fatal("too many")
		}
		for range 20 {
			line := text(60)
			h, every, some := w.Find([]byte(line)), true, false
			for n, word := range w.list {
				has := strings.Contains(line, word)
				if every, some = every && has, some || has; h.Contains(n) != has {
					t.Fatalf("%q in %q: %v", word, line, h.Contains(n))
				}
			}
			if h.ContainsAll(&all) != every || h.ContainsAny(&all) != some {
				t.Fatalf("%q: all %v, any %v", line, h.ContainsAll(&all), h.ContainsAny(&all))
			}
		}
	}
	var w Words
	for i := range mostWords + 1 {
		if _, ok := w.Set(strings.Repeat("x", i+1)); ok != (i < mostWords) {
			t.Fatalf("word %d: %v", i, ok)
		}
	}
}
