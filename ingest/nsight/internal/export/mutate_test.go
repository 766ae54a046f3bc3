package export_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
)

// TestMutations reads an export with some bytes changed, again and again: it
// may be refused, and must not panic or hang. The fuzz target does the same at
// a few files a second, since SQLite is instrumented with it.
func TestMutations(t *testing.T) {
	good, err := os.ReadFile(write(t, small(nsighttest.Of2024)))
	if err != nil {
		t.Fatal(err)
	}
	rounds := 1500
	if testing.Short() {
		rounds = 100
	}
	rng := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "x.sqlite")
	refused := 0
	for range rounds {
		bad := bytes.Clone(good)
		for range 1 + rng.IntN(8) {
			at := rng.IntN(len(bad))
			if rng.IntN(2) == 0 { // where the structure of a page is
				at = rng.IntN(len(bad)/4096)*4096 + rng.IntN(32)
			}
			bad[at] = [...]byte{byte(rng.Uint32()), 0, 0xff, 5, 13}[rng.IntN(5)]
		}
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := read(path); err != nil {
			refused++
		}
	}
	if refused < rounds/10 || refused == rounds {
		t.Errorf("%d of %d were refused: do the changes meet anything?", refused, rounds)
	}
}
