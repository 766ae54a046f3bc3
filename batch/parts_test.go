package batch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/flatrow"
)

// TestDamagedParts: a part that lost its end, at a record too, or that was changed, is made again: the
// output has the bytes of a batch that was never interrupted.
func TestDamagedParts(t *testing.T) {
	dir := fleet(t, 6)
	want := filepath.Join(t.TempDir(), "whole.csv")
	run(t, dir, Options{Output: Output{Path: want}})
	for name, damage := range map[string]func([]byte) []byte{
		"whole":           func(b []byte) []byte { return b },
		"empty":           func(b []byte) []byte { return nil },
		"without its end": func(b []byte) []byte { return b[:len(b)-7] },

		"cut":              func(b []byte) []byte { return b[:len(b)/2] },
		"a bit":            func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"something behind": func(b []byte) []byte { return append(b, 1, 'r') },
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Output: Output{Path: filepath.Join(t.TempDir(), "a.csv"), Format: flatrow.CSV}, Resume: GoOn}
			base, _, err := partsOf(o.Output)
			must(t, err)
			o.setDefaults()
			p, err := newPlan(t.Context(), []string{dir}, &o, base, base+partsSuffix)
			must(t, err)
			to, err := openParts(disk.OS{}, base, p.mark(), GoOn)
			must(t, err)
			b := newWork(p, &o, to)
			must(t, b.makeMissing(t.Context()))
			for i := range p.chunks {
				text := damage(slices.Clone(read(t, to.path(i))))
				must(t, os.WriteFile(to.path(i), text, 0o666))
				fresh := parts{on: disk.OS{}, output: to.output, dir: to.dir}
				if fresh.has(i) != (name == "whole") {
					t.Errorf("part %d is there: %t", i, fresh.has(i))
				}
			}
			to.release()
			run(t, dir, o)
			if !bytes.Equal(read(t, o.Output.Path), read(t, want)) {
				t.Error("the output is another than that of a batch that was not interrupted")
			}
		})
	}
}
