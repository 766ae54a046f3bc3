package auto

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/input"
)

// bad are contents that must be refused when they are named, with what the
// message must say and its kind.
var bad = map[string]struct {
	data string
	kind error
	says string
}{
	"empty":                     {"", input.ErrEmpty, "empty"},
	"blank":                     {" \n\r\n", input.ErrEmpty, "empty"},
	"only a mark":               {"\xEF\xBB\xBF", input.ErrEmpty, "empty"},
	"kineto":                    {`{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [`, input.ErrEmpty, "without timed events"},
	"kineto, metadata last":     {`{"traceEvents":[{"ph":"X"}],"distributedInfo":{"rank":0}}`, input.ErrEmpty, "without timed events"},
	"kineto after much else":    {`{"metadata":"` + strings.Repeat("x", 100_000) + `","traceEvents":[]}`, input.ErrEmpty, "without timed events"},
	"kineto array":              {"[\n {\"name\": \"x\", \"ph\": \"X\", \"pid\": 1, \"ts\": 1}", input.ErrEmpty, "without timed events"},
	"sqlite":                    {"SQLite format 3\x00\x10\x00", nil, "an SQLite database"},
	"nccl log":                  {"n0:1:1 [0] NCCL INFO Bootstrap : Using eth0\n", input.ErrFormat, "NCCL"},
	"nccl log with colours":     {"\x1b[1mn0\x1b[0m:1:1 [0] NCCL INFO cudaDriverVersion 12020\n", input.ErrFormat, "NCCL"},
	"inspector dump":            {`{"header":{"id":"0x5f","rank":0},"metadata":{"pid":1},"coll_perf":{"coll":"AllReduce"}}` + "\n", input.ErrFormat, "a dump of NCCL's Inspector, which sfstat comm reads"},
	"operator csv":              {"dp_rank,stage,rank,step,optype,start_ts,duration\n0,0,0,0,fwd,1,2\n", input.ErrMissing, `no column "seq_id", which an operator trace has`},
	"meta alone":                {"trial_name: x\ndp_size: 2\npp_size: 3\n", input.ErrFormat, "the meta file of an operator trace that is not among the inputs"},
	"other csv":                 {"a,b,c\n1,2,3\n", input.ErrFormat, "a table without columns that are known: it needs step, rank and a time for each stage, and has a,b,c"},
	"json":                      {`{"a":1}`, input.ErrFormat, "JSON of no kind that is known"},
	"json array":                {`[1,2,3]`, input.ErrFormat, "JSON of no kind that is known"},
	"text":                      {"hello world\n", input.ErrFormat, "text without times of steps, and without messages of a time-out"},
	"log in brackets":           {"starting\n[rank0]: step 1 lasted 3 s\n", input.ErrFormat, `line 2, "[rank0]: step 1 lasted 3 s", has the number of a step, and a time under no name that is known`},
	"bracketed log":             {"[2024-09-24 09:36:48] step 1\n", input.ErrFormat, "has the number of a step, and no time"},
	"chakra":                    {`{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}`, input.ErrFormat, "a Chakra execution trace"},
	"elf":                       {"\x7fELF\x02\x01\x01\x00\x00\x00", input.ErrFormat, "binary"},
	"controls":                  {strings.Repeat("\x01\x02ab", 100), input.ErrFormat, "binary"},
	"utf-16 without mark":       {"{\x00\"\x00s\x00c\x00", input.ErrFormat, "UTF-16"},
	"utf-16 big, without mark":  {"\x00{\x00\n\x00\"\x00s", input.ErrFormat, "UTF-16"},
	"xz":                        {"\xfd7zXZ\x00abc", input.ErrFormat, "unpack"},
	"bzip2":                     {"BZh91AY", input.ErrFormat, "unpack"},
	"zip":                       {"PK\x03\x04abc", input.ErrFormat, "unpack"},
	"tar":                       {"name" + strings.Repeat("\x00", 253) + "ustar\x0000", input.ErrFormat, "unpack"},
	"half a gzip header":        {"\x1f\x8b", input.ErrFormat, "unpack"},
	"gzip cut in its header":    {"\x1f\x8b\x08\x00\x00", input.ErrTruncated, "ends too early"},
	"not gzip after all":        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff", input.ErrFormat, "not valid gzip"},
	"parquet cut":               {"PAR1", nil, ""},
	"parquet junk":              {"PAR1" + strings.Repeat("junk", 100) + "PAR1", nil, ""},
	"packet of another version": {`{"schema":"sfstat.packet/9","run":"x"}`, input.ErrFormat, `:1[column 11, schema]: the schema is "sfstat.packet/9"`},
	"packet after log lines":    {"starting\n{\"schema\":\"sfstat.packet/1\"}\n", input.ErrFormat, ":1[column 1]: "},
	"packet cut at once":        {`{"schema":"sfstat.packet/1","run":"x"`, input.ErrTruncated, ":1: the input ends in the middle of its first packet"},
	"packet without schema":     {`{"run":"x","stages":["a"],"first_step":3}`, input.ErrMissing, ":1[column 1]: "},
}

// TestRefused: each alone is an error of Next that names the file; among good
// ones it is a problem; under ingest.FirstError it ends the reading.
func TestRefused(t *testing.T) {
	good := some(1)
	for name, tt := range bad {
		for _, store := range []string{"plain", "gzip", "zstd"} {
			data := tt.data
			switch store {
			case "gzip":
				data = ingesttest.Gzip(t, data)
			case "zstd":
				data = ingesttest.Zstd(t, data)
			}
			if data == "" && store != "plain" || store != "plain" && strings.HasPrefix(tt.data, "\x1f\x8b") {
				continue
			}
			t.Run(name+", "+store, func(t *testing.T) {
				dir := folderOf(t, map[string]string{"bad": data, "good.jsonl": packets(t, good)})
				path := filepath.Join(dir, "bad")
				check := func(err error) {
					t.Helper()
					ingesttest.CheckPosition(t, err, path)
					if store != "plain" && strings.HasPrefix(tt.data, "PAR1") {
						if !strings.Contains(err.Error(), "Parquet file inside") {
							t.Errorf("error %v", err)
						}
					} else if tt.kind != nil && !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.says) {
						t.Errorf("error %v, want %q of kind %v", err, tt.says, tt.kind)
					}
				}
				r, err := Open([]string{path}, Options{Kinds: Windows | Operators})
				if err != nil {
					t.Fatalf("Open: %v", err)
				}
				item, err := r.Next()
				if len(item.Recordings()) > 0 || err == io.EOF {
					t.Fatalf("alone: %v, %v", item, err)
				}
				check(err)
				if _, again := r.Next(); again != err {
					t.Errorf("Next again: %v", again)
				}
				r.Close()

				r, got, err := read(t, Options{}, filepath.Join(dir, "good.jsonl"), path)
				if err != nil {
					t.Fatalf("with a good one: %v", err)
				}
				if diff := cmp.Diff(good, got); diff != "" {
					t.Errorf("with a good one (-want +got):\n%s", diff)
				}
				if p := r.Problems(); len(p) != 1 || p[0].Path != path {
					t.Errorf("problems %v", p)
				} else {
					check(p[0].Err)
				}
				_, _, err = read(t, Options{Strict: ingest.FirstError}, filepath.Join(dir, "good.jsonl"), path)
				check(err)
			})
		}
	}
}

// TestRefusedInFolder: in a folder, what is no input is skipped, and what was
// meant as one is a problem.
func TestRefusedInFolder(t *testing.T) {
	good := some(1)
	files := map[string]string{"good.jsonl": packets(t, good), "broken.jsonl": "{]", "junk.jsonl.gz": "junk", "void.ndjson": "",
		"notes.txt": "hello", "manual.md": "# Packets\n{\"schema\":\"sfstat.packet/1\"}\n", "half.parquet": "PAR1 and no more", "cut.gz": ingesttest.Gzip(t, packets(t, good))[:12]}
	dir := folderOf(t, files)
	for name, target := range map[string]string{"dangling.txt": "nowhere", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "x.jsonl"), 0o777); err != nil {
		t.Fatal(err)
	}
	r, got, err := read(t, Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(good, got); diff != "" {
		t.Errorf("windows differ (-want +got):\n%s", diff)
	}
	var problems []string
	for _, p := range r.Problems() {
		problems = append(problems, filepath.Base(p.Path))
		ingesttest.CheckPosition(t, p.Err, p.Path)
	}
	if want := []string{"broken.jsonl", "cut.gz", "dangling.txt", "half.parquet", "junk.jsonl.gz", "loop", "void.ndjson"}; !slices.Equal(problems, want) {
		t.Errorf("problems with %v, want %v", problems, want)
	}
	if _, _, err := read(t, Options{Strict: ingest.FirstError}, dir); err == nil || err == io.EOF {
		t.Errorf("strict: %v", err)
	}
}

// TestNothing: what is said when there is nothing to read.
func TestNothing(t *testing.T) {
	dir := folderOf(t, map[string]string{"empty/.keep": "", "notes/README": "hello", "notes/b": "hello", "bad/a.jsonl": "{]", "bad/b.jsonl": "[]"})
	hollow := filepath.Join(dir, "x.jsonl")
	if err := os.Mkdir(hollow, 0o777); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"absent":  "absent: cannot be read: no such file or directory",
		"x.jsonl": "x.jsonl: an empty folder (empty)",
		"empty":   "empty: no input among 1 files; the first, DIR/empty/.keep, was skipped: hidden (missing)",
		"notes":   "notes: no input among 2 files; the first, DIR/notes/README, was skipped: text",
		"bad":     "nothing could be read of DIR/bad: 2 inputs refused, the first: DIR/bad/a.jsonl:1[column 2]: ",
	} {
		_, _, err := read(t, Options{}, filepath.Join(dir, path))
		if got := strings.ReplaceAll(fmt.Sprint(err), dir, "DIR"); !strings.HasPrefix(strings.TrimPrefix(got, "DIR/"), want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if _, err := Open(nil, Options{}); err == nil {
		t.Error("no paths: no error")
	}
	if _, _, err := read(t, Options{Stdin: strings.NewReader("")}, "-"); fmt.Sprint(err) != "-: empty: the job may not have written anything yet (empty)" {
		t.Errorf("nothing on standard input: %v", err)
	}
	if _, _, err := read(t, Options{Stdin: iotest.ErrReader(errors.New("broken pipe"))}, "-"); err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("broken standard input: %v", err)
	}
}

// TestTruncatedGzip: what a killed job left of a compressed file is read.
func TestTruncatedGzip(t *testing.T) {
	want := some(1)
	text := packets(t, want)
	for name, stored := range map[string]string{"gzip": ingesttest.Gzip(t, text), "zstd": ingesttest.Zstd(t, text)} {
		for _, cut := range []int{len(stored) - 1, len(stored) - 9, len(stored) * 3 / 4} {
			path := filepath.Join(folderOf(t, map[string]string{"a": stored[:cut]}), "a")
			_, got, err := read(t, Options{}, path)
			if err != nil { // too little may be left
				if !errors.Is(err, input.ErrTruncated) {
					t.Errorf("%s cut at %d of %d: %v", name, cut, len(stored), err)
				}
				continue
			}
			if len(got) == 0 || !got[len(got)-1].Has(input.NoteTruncated) {
				t.Errorf("%s cut at %d of %d: %d windows without the note", name, cut, len(stored), len(got))
			}
			if cmp.Diff(want[0].Durations, got[0].Durations) != "" && len(got) > 1 {
				t.Errorf("%s cut at %d of %d: another first window", name, cut, len(stored))
			}
		}
	}
}

// TestUTF16: what a shell wrote as UTF-16 is read like UTF-8, whatever its format; its bytes are
// not those of the file, so nothing that is appended can be read alone.
func TestUTF16(t *testing.T) {
	want := some(1)
	wide := "\xFF\xFE"
	for _, c := range []byte(packets(t, want)) {
		wide += string([]byte{c, 0})
	}
	path := filepath.Join(folderOf(t, map[string]string{"a.jsonl": wide}), "a.jsonl")
	_, got, err := read(t, Options{}, path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, windows differ (-want +got):\n%s", err, diff)
	}
	if h := Peek(disk.OS{}, path, ingest.Limits{}); !h.Windows || h.Plain {
		t.Errorf("it holds %+v, want windows that are not plain", h)
	}
}

// TestPendingAmongOthers: when the packets exceed their limit, the archive is
// still read.
func TestPendingAmongOthers(t *testing.T) {
	windows := ingesttest.Windows(1, 40, ingesttest.Shape{Ranks: 2, Steps: 60, Stages: 6})
	lines := strings.SplitAfter(strings.TrimSpace(packets(t, windows)), "\n")
	var first, second string
	for i, line := range lines {
		if i%2 == 0 {
			first += line
		} else {
			second += line
		}
	}
	dir := folderOf(t, map[string]string{"a.jsonl": first + second, "b.parquet": parquetOf(t, some(2))})
	r, got, err := read(t, Options{Limits: ingest.Limits{Pending: 50_000}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(some(2), got); diff != "" {
		t.Errorf("windows differ (-want +got):\n%s", diff)
	}
	if p := r.Problems(); len(p) != 1 || !errors.Is(p[0].Err, input.ErrTooLarge) || filepath.Base(p[0].Path) != "a.jsonl" {
		t.Errorf("problems %v", p)
	}
}

// FuzzSniff: no beginning makes sniffing panic, and all that is found has a
// name and, unless it is read, a reason.
func FuzzSniff(f *testing.F) {
	for _, b := range bad {
		f.Add([]byte(b.data))
	}
	f.Add([]byte("run;step;rank;a\nx;0;0;1\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		format := sniff(head)
		if format == Unknown || format.String() == "invalid" {
			t.Errorf("found %v", format)
		}
		if !format.Readable() && !strings.Contains(format.refusal(Windows|Operators).Error(), "(") {
			t.Errorf("no reason for %v", format)
		}
	})
}

// FuzzOpen: no input makes opening or reading panic.
func FuzzOpen(f *testing.F) {
	for _, b := range bad {
		f.Add([]byte(b.data))
	}
	text := packets(f, some(1)[:1])
	f.Add([]byte(text))
	f.Add([]byte(ingesttest.Gzip(f, text)))
	f.Add([]byte(ingesttest.Zstd(f, text)))
	f.Add([]byte(fixture(f, "trace-slow-worker.csv")[:2000]))
	f.Add([]byte(fixture(f, "trace-heavy-stage.parquet")))
	for _, data := range largedata.Seeds(f, "data/cases", 64<<10) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, _, err := read(t, Options{Stdin: bytes.NewReader(data), Limits: ingest.Limits{Line: 1 << 20, Pending: 1 << 20, Window: 1 << 20}}, "-")
		if err != nil && r == nil {
			t.Fatalf("Open: %v", err)
		}
		for _, p := range r.Problems() {
			ingesttest.NoBug(t, p.Err)
		}
		ingesttest.NoBug(t, err)
		if err == nil && r.emitted == 0 {
			t.Fatal("nothing and no error")
		}
		var placed *input.Error
		if err != nil && (!errors.As(err, &placed) || placed.Pos.File != "-") {
			t.Fatalf("error without the file: %v", err)
		}
	})
}

// TestCut cuts an input at every byte, in every form that it is stored in.
func TestCut(t *testing.T) {
	windows := ingesttest.Windows(1, 2, ingesttest.Shape{Ranks: 2, Steps: 1, Stages: 2})
	text := packets(t, windows)
	for name, data := range map[string]string{"plain": text, "gzip": ingesttest.Gzip(t, text), "zstd": ingesttest.Zstd(t, text), "archive": parquetOf(t, windows), "table": table(windows)} {
		t.Run(name, func(t *testing.T) {
			ingesttest.Cut(t, []byte(data), func(data []byte) (ingest.WindowReader, error) {
				return openWindows([]string{"-"}, Options{Stdin: bytes.NewReader(data)})
			})
		})
	}
}

// TestLinkLoops: a link to a folder that is being read is not followed, one to
// another folder is.
func TestLinkLoops(t *testing.T) {
	good := some(1)
	dir := folderOf(t, map[string]string{"run/a.jsonl": packets(t, good), "elsewhere/b.csv": table(some(2)), "run-2/c.txt": "not a prefix"})
	run := filepath.Join(dir, "run")
	for name, target := range map[string]string{"self": ".", "up": "..", "top": "/", "other": "../elsewhere", "like": "../run-2"} {
		if err := os.Symlink(target, filepath.Join(run, name)); err != nil {
			t.Fatal(err)
		}
	}
	r, _, err := read(t, Options{}, run)
	if err != nil {
		t.Fatal(err)
	}
	var looked []string
	for _, in := range r.Inputs() {
		name, _ := filepath.Rel(run, in.Path)
		if strings.Contains(in.Skipped, "a folder that it is in") {
			name += " skipped"
		}
		looked = append(looked, filepath.ToSlash(name))
	}
	if want := []string{"a.jsonl", "like/c.txt", "other/b.csv", "self skipped", "top skipped", "up skipped"}; !slices.Equal(looked, want) {
		t.Errorf("looked at %q, want %q", looked, want)
	}
}
