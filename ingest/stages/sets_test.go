package stages

import (
	"compress/gzip"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/ingest/kineto"
	"github.com/sfstat/sfstat/trace/profile"
)

// TestSetsOfTraces: the sets of two committed jobs are what they were.
func TestSetsOfTraces(t *testing.T) {
	for job, want := range map[string]string{
		"kineto/ddp4":    "12 sets, 0 messages: ff98ad67",
		"sources/kineto": "10 sets, 0 messages: 93047167",
	} {
		var ranks []*profile.Rank
		for id := range 4 {
			name := filepath.Join("../../fixtures", job, fmt.Sprintf("rank-%d.pt.trace.json.gz", id))
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			r, err := kineto.Read(z, name, kineto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ranks = append(ranks, r)
			f.Close()
		}
		m, sum := match(ranks), fnv.New32a()
		fmt.Fprint(sum, m.sets, m.messages)
		if got := fmt.Sprintf("%d sets, %d messages: %08x", len(m.sets), len(m.messages), sum.Sum32()); got != want {
			t.Errorf("%s: %s, want %s", job, got, want)
		}
	}
}
