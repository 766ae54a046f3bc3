package nsight_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/ingest/stages"
)

// seedExport is a small export with everything in it, as bytes.
func seedExport(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	e := nsighttest.Export{Host: "n0", Epoch: 1766084870252528232, PageSize: 512, Processes: nsighttest.RanksOfWindow(synchronised(2, 3), nsighttest.Gloss{Kernels: 1})}
	if err := nsighttest.Write(path, e); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readBytes reads an export as far as windows. Whatever it holds, that must not
// panic, and windows that are made obey their invariants.
func readBytes(t *testing.T, path string, data []byte) bool {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	run, problems := nsight.Read([]string{path}, nsight.Options{})
	ranks := run.Ranks
	for _, p := range problems {
		ingesttest.NoBug(t, p.Err)
	}
	if len(ranks) == 0 {
		return false
	}
	divided, err := stages.Divide(ranks, stages.Options{})
	for _, w := range divided.Windows {
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	return err == nil && len(problems) == 0
}

func TestMutations(t *testing.T) {
	good := seedExport(t)
	path := filepath.Join(t.TempDir(), "x.sqlite")
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	rng, read := rand.New(rand.NewPCG(3, 4)), 0
	for range rounds {
		bad := bytes.Clone(good)
		for range 1 + rng.IntN(6) {
			bad[rng.IntN(len(bad))] = [...]byte{byte(rng.Uint32()), 0, 0x7f, 0xff}[rng.IntN(4)]
		}
		if readBytes(t, path, bad) {
			read++
		}
	}
	if read == 0 || read == rounds {
		t.Errorf("%d of %d could be read: do the changes meet rows?", read, rounds)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(seedExport(f))
	f.Fuzz(func(t *testing.T, data []byte) { readBytes(t, filepath.Join(t.TempDir(), "x.sqlite"), data) })
}
