package auto

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
)

// TestRunsOfOneName: different folders, different runs; but the hosts of one run
// may each have a folder.
func TestRunsOfOneName(t *testing.T) {
	w := ingesttest.Windows(1, 3, ingesttest.Shape{Ranks: 4, Steps: 6, Stages: 3})
	for _, each := range w {
		each.Run = "job"
	}
	all := packets(t, w)
	byRank := func(rank string) string {
		var out strings.Builder
		for line := range strings.Lines(all) {
			if strings.Contains(line, `"rank":`+rank+",") {
				out.WriteString(line)
			}
		}
		return out.String()
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"one", map[string]string{"a/x.jsonl": all}, "job 3"},
		{"two folders", map[string]string{"a/x.jsonl": all, "b/x.jsonl": all}, "a/job 3, b/job 3"},
		{"two and another's", map[string]string{"a/x.jsonl": all, "b/x.jsonl": all, "c/y.jsonl": strings.ReplaceAll(all, `"job"`, `"other"`)}, "a/job 3, b/job 3, other 3"},
		{"two folders of hosts", map[string]string{"a/n0/x.jsonl": byRank("0"), "a/n1/x.jsonl": byRank("1") + byRank("2") + byRank("3"),
			"b/n0/x.jsonl": byRank("0"), "b/n1/x.jsonl": byRank("1") + byRank("2") + byRank("3")}, "a/job 3, b/job 3"},
		{"three, two of them side by side", map[string]string{"p/a/x.jsonl": all, "p/b/x.jsonl": all, "q/a/x.jsonl": all}, "p/a/job 3, p/b/job 3, q/a/job 3"},
		{"a folder for each host", map[string]string{"n0/x.jsonl": byRank("0") + byRank("1"), "n1/x.jsonl": byRank("2") + byRank("3")}, "job 3"},
		{"archives", map[string]string{"a/x.parquet": parquetOf(t, w), "b/x.parquet": parquetOf(t, w)}, "b/job 3, job 3"},
		{"packets and an archive of another folder", map[string]string{"a/x.jsonl": all, "b/x.parquet": parquetOf(t, w)}, "b/job 3, job 3"},
		{"tables in folders of one name", map[string]string{"a/job/x.csv": table(w), "b/job/x.csv": table(w)}, "b/job 3, job 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folderOf(t, c.files)
			r, err := Open([]string{dir}, Options{Strict: ingest.FirstError})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := make(map[string]int)
			for {
				item, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				n[item.Windows[0].Run]++
			}
			var got []string
			for run, windows := range n {
				got = append(got, strings.TrimPrefix(run, filepath.Base(dir)+"/")+" "+string(rune('0'+windows)))
			}
			slices.Sort(got)
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s, expected %s", text, c.want)
			}
		})
	}
}
