package auto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace"
)

// ddp4 are the four traces of a small job, as text.
func ddp4(t *testing.T) []string {
	t.Helper()
	var out []string
	for rank := range 4 {
		src, err := ingest.Open(filepath.Join("..", "..", "fixtures", "kineto", "ddp4", fmt.Sprintf("rank-%d.pt.trace.json.gz", rank)), ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(src)
		if err != nil {
			t.Fatal(err)
		}
		src.Close()
		out = append(out, string(text))
	}
	return out
}

// job reads files as one folder, from which one window must come.
func job(t *testing.T, files map[string]string) (*Reader, *trace.Window) {
	t.Helper()
	r, windows, err := read(t, Options{}, folderOf(t, files))
	if err != nil || len(windows) != 1 {
		t.Fatalf("%d windows, %v, problems %v", len(windows), err, r.Problems())
	}
	return r, windows[0]
}

// byRank are the traces as rank-0.json and so on, those that are not "".
func byRank(texts []string) map[string]string {
	files := make(map[string]string)
	for rank, text := range texts {
		if text != "" {
			files[fmt.Sprintf("rank-%d.json", rank)] = text
		}
	}
	return files
}

func indented(t *testing.T, text string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTraceForms: the windows are the same under every name, and however the
// file is stored.
func TestTraceForms(t *testing.T) {
	texts := ddp4(t)
	_, want := job(t, byRank(texts))
	plain := func(s string) string { return s }
	gzip := func(s string) string { return ingesttest.Gzip(t, s) }
	for name, c := range map[string]struct {
		file  string
		store func(string) string
	}{
		".json":              {"x-rank-2.json", plain},
		".json.gz":           {"x-rank-2.json.gz", gzip},
		"gzip under .json":   {"x-rank-2.json", gzip},
		".pt.trace.json":     {"h_77.1700000000000.pt.trace.json", plain},
		".pt.trace.json.gz":  {"h_77.1700000000000.pt.trace.json.gz", gzip},
		"zstd":               {"rank2.zst", func(s string) string { return ingesttest.Zstd(t, s) }},
		"no ending":          {"rank2", plain},
		"byte-order mark":    {"rank2.json", func(s string) string { return "\xEF\xBB\xBF" + s }},
		"indented":           {"rank2.json", func(s string) string { return indented(t, s) }},
		"Windows line ends":  {"rank2.json", func(s string) string { return strings.ReplaceAll(indented(t, s), "\n", "\r\n") }},
		"two gzip members":   {"rank2.json.gz", func(s string) string { return gzip(s[:9000]) + gzip(s[9000:]) }},
		"plain under .gz":    {"rank2.json.gz", plain},
		"in a folder inside": {filepath.Join("node1", "rank2.json"), plain},
	} {
		t.Run(name, func(t *testing.T) {
			files := byRank([]string{texts[0], texts[1], "", texts[3]})
			if dir := filepath.Dir(c.file); dir != "." { // a folder is a run
				files = map[string]string{filepath.Join(dir, "0"): texts[0], filepath.Join(dir, "1"): texts[1], filepath.Join(dir, "3"): texts[3]}
			}
			files[c.file] = c.store(texts[2])
			r, got := job(t, files)
			if diff := cmp.Diff(want.Durations, got.Durations); diff != "" || len(r.Problems()) > 0 || len(got.Notes) != len(want.Notes) {
				t.Errorf("problems %v, notes %v (-want +got):\n%s", r.Problems(), got.Notes, diff)
			}
		})
	}
}

// TestOtherFiles: what else lies in the folder of a run changes nothing.
func TestOtherFiles(t *testing.T) {
	texts := ddp4(t)
	_, want := job(t, byRank(texts))
	files := byRank(texts)
	for name, text := range map[string]string{"README.md": "# Run 7\n", "config.json": `{"lr": 0.1, "steps": 10}`, "loss.png": "\x89PNG\r\n\x1a\n\x00\x00", "memory.pickle": "\x80\x04\x95\x10\x00",
		"train.log": "step 1 loss 3.2\n", ".DS_Store": "\x00\x00\x00\x01Bud1", "dump_0": `{"version":"2.9","entries":[],"pg_status":{}}`, "events.out.tfevents": "\x18\x00\x00\x00\x00", "void": ""} {
		files[name] = text
	}
	r, got := job(t, files)
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Run" }, cmp.Ignore())); diff != "" || len(r.Problems()) > 0 {
		t.Errorf("problems %v (-want +got):\n%s", r.Problems(), diff)
	}
}

// TestOrderOfTraces: the order in which traces are given changes nothing.
func TestOrderOfTraces(t *testing.T) {
	dir := folderOf(t, byRank(ddp4(t)))
	paths := []string{filepath.Join(dir, "rank-0.json"), filepath.Join(dir, "rank-1.json"), filepath.Join(dir, "rank-2.json"), filepath.Join(dir, "rank-3.json")}
	_, want, err := read(t, Options{}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		paths = append(paths[1:], paths[0])
		slices.Reverse(paths[1:])
		_, got, err := read(t, Options{}, paths...)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v: %v (-want +got):\n%s", paths, err, diff)
		}
	}
}

var stamp = regexp.MustCompile(`"ts":(\d+)(\.\d+)?`)

// absolute writes stamps as PyTorch before 2.4 does: counted from 1970.
func absolute(text string, decimals bool) string {
	text = strings.Replace(text, `"baseTimeNanoseconds":1711964646000000000,`, "", 1)
	if !decimals {
		text = regexp.MustCompile(`"dur":(\d+)\.\d+`).ReplaceAllString(text, `"dur":$1`)
	}
	return stamp.ReplaceAllStringFunc(text, func(s string) string {
		m := stamp.FindStringSubmatch(s)
		n, _ := strconv.ParseInt(m[1], 10, 64)
		if !decimals {
			m[2] = ""
		}
		return fmt.Sprintf(`"ts":%d%s`, 1711964646000000+n, m[2])
	})
}

// TestAgesOfStamps: stamps that count from a base and stamps that count from
// 1970 are on one axis, to the nanosecond, and whole microseconds are as good as
// they can be.
func TestAgesOfStamps(t *testing.T) {
	texts := ddp4(t)
	_, want := job(t, byRank(texts))
	_, got := job(t, byRank([]string{texts[0], absolute(texts[1], true), texts[2], absolute(texts[3], true)}))
	if diff := cmp.Diff(want.Durations, got.Durations); diff != "" || len(got.Ranks) != 4 {
		t.Errorf("ranks %v (-want +got):\n%s", got.Ranks, diff)
	}
	_, got = job(t, byRank([]string{absolute(texts[0], false), absolute(texts[1], false), absolute(texts[2], false), absolute(texts[3], false)}))
	for i := range want.Durations {
		if d := got.Durations[i] - want.Durations[i]; d > 20_000 || d < -20_000 {
			t.Fatalf("duration %d is %d ns, with decimals %d", i, got.Durations[i], want.Durations[i])
		}
	}
}

// TestNanosecondStamps: stamps in another unit than the format's are not taken
// for times of the year 56,000; the rank is refused and the others are used.
func TestNanosecondStamps(t *testing.T) {
	texts := ddp4(t)
	texts[1] = regexp.MustCompile(`"ts":(\d+)\.(\d+)`).ReplaceAllString(absolute(texts[1], true), `"ts":$1$2`)
	r, w := job(t, byRank(texts))
	if p := r.Problems(); len(p) != 1 || !strings.Contains(p[0].Err.Error(), "without a time that can be read") || len(w.Ranks) != 3 {
		t.Errorf("ranks %v, problems %v", w.Ranks, p)
	}
}

// TestOneReadable: of four traces two are beyond reading; the others are used, one of which is in UTF-16.
func TestOneReadable(t *testing.T) {
	texts := ddp4(t)
	wide := utf16.Encode([]rune(texts[3]))
	narrow := make([]byte, 0, 2*len(wide))
	for _, c := range wide {
		narrow = append(narrow, byte(c), byte(c>>8))
	}
	files := map[string]string{"rank-0.json": `{"traceEvents": [`, "rank-1.json.gz": ingesttest.Gzip(t, texts[1])[:12], "rank-2.json": texts[2], "rank-3.json": string(narrow)}
	r, w := job(t, files)
	var problems []string
	for _, p := range r.Problems() {
		problems = append(problems, filepath.Base(p.Path))
		if strings.Contains(p.Err.Error(), "\n") {
			t.Errorf("more than a line: %v", p.Err)
		}
	}
	if diff := cmp.Diff([]string{"rank-0.json", "rank-1.json.gz"}, problems); diff != "" || len(w.Ranks) != 2 || w.Ranks[0].ID != 2 || w.WorldSize != 4 {
		t.Errorf("ranks %v of %d (-want +got):\n%s", w.Ranks, w.WorldSize, diff)
	}
}

// TestSQLiteUnderAnotherName: a trace that is called an export is read, and
// what only begins like one is refused in one line.
func TestSQLiteUnderAnotherName(t *testing.T) {
	texts := ddp4(t)
	dir := folderOf(t, map[string]string{"trace.sqlite": texts[0], "half.json": "SQLite format 3\x00" + strings.Repeat("\x00", 200), "cut.sqlite": "SQLite format 3\x00\x10\x00"})
	_, windows, err := read(t, Options{}, filepath.Join(dir, "trace.sqlite"))
	if err != nil || len(windows) != 1 {
		t.Errorf("%d windows, %v", len(windows), err)
	}
	for _, name := range []string{"half.json", "cut.sqlite"} {
		_, _, err := read(t, Options{}, filepath.Join(dir, name))
		if err == nil || !strings.Contains(err.Error(), "SQLite database") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("%d files in the folder", len(left))
	}
}

// TestGloo: a run without devices. Stages are measured on the host, and the
// collectives of gloo's own threads are matched across ranks: the rank that
// comes last, 3 ms in, waits for nobody.
func TestGloo(t *testing.T) {
	var texts []string
	for rank := range 2 {
		late := 3000 * rank
		var events []string
		on := func(cat, name string, tid, from, to int) {
			events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":%d}`, cat, name, 70+rank, tid, from, to-from))
		}
		for step := range 10 {
			at := 10_000 * step
			on("user_annotation", fmt.Sprintf("ProfilerStep#%d", step), 7, at, at+10_000)
			on("user_annotation", "DistributedDataParallel.forward", 7, at, at+2000+late)
			on("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 8, at+2000+late, at+3000+late)
			on("cpu_op", "record_param_comms", 8, at+3000+late, at+3010+late)
			on("user_annotation", "gloo:all_reduce", 99, at+3000+late, at+8000)
			on("user_annotation", "Optimizer.step#SGD.step", 7, at+8000, at+9000)
		}
		texts = append(texts, fmt.Sprintf(`{"distributedInfo":{"backend":"gloo","rank":%d,"world_size":2},"traceEvents":[%s]}`, rank, strings.Join(events, ",")))
	}
	r, w := job(t, byRank(texts))
	forward := w.Schema.Index("model.fwd_loss_cpu_wall")
	if forward < 0 || len(w.Ranks) != 2 || w.Steps() != 10 || len(r.Problems()) > 0 || len(w.Notes) > 0 {
		t.Fatalf("stages %v, ranks %v, %d steps, problems %v, notes %v", w.Schema.Stages, w.Ranks, w.Steps(), r.Problems(), w.Notes)
	}
	if step := w.Step(4); step[2*forward] != 2_000_000 || step[2*forward+1] != 5_000_000 {
		t.Errorf("forward takes %v", step[2*forward:2*forward+2])
	}
	_, traces, _, err := items(t, Options{Kinds: Windows | Operators | Entries, Detail: profiler.EachOperator}, folderOf(t, byRank(texts)))
	if err != nil || len(traces) != 1 || traces[0].Len() != 20 {
		t.Fatalf("%d traces, %v", len(traces), err)
	}
	for i, group := range traces[0].Group {
		if want := int64(5_000_000 - 3_000_000*int64(traces[0].Rank[i])); group < 0 || traces[0].Dur[i] != want {
			t.Errorf("the collective of rank %d, in group %d, takes %d ns, want %d", traces[0].Rank[i], group, traces[0].Dur[i], want)
		}
	}
}
