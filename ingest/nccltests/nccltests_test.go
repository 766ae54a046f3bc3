package nccltests

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

func read(t testing.TB, name, text string) ([]nccl.Benchmark, error) {
	t.Helper()
	src, err := ingest.NewSource(strings.NewReader(text), name, ingest.Limits{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return Read(src, ingest.Limits{})
}

const fixtures = "../../fixtures/nccltests/"

func fixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(fixtures + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	device  = "#  Rank  0 Group  0 Pid 1 on a device 0 [0x01] X\n#  Rank  1 Group  0 Pid 2 on b device 0 [0x01] X\n#  Rank  0 Group  1 Pid 2 on c device 0 [0x01] X\n"
	columns = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n"
	row     = "1024 256 float sum -1 10.0 0.10 0.15 0 9.0 0.11 0.17 0\n"
)

func TestFixtures(t *testing.T) {
	got, err := read(t, "x.txt", fixture(t, "all_reduce.txt"))
	if err != nil {
		t.Fatal(err)
	}
	const mi = 1 << 20
	one := func(bytes int64, bus float64) nccl.Benchmark {
		return nccl.Benchmark{Op: nccl.AllReduce, Ranks: 2, Hosts: 1, Bytes: bytes, Bus: bus}
	}
	two := func(bytes int64, bus float64) nccl.Benchmark {
		return nccl.Benchmark{Op: nccl.AllReduce, Ranks: 2, Hosts: 2, Bytes: bytes, Bus: bus}
	}
	want := []nccl.Benchmark{one(65536, 5.41), one(262144, 30.33), one(mi, 67.10), one(4*mi, 84.25), one(16*mi, 88.80), one(64*mi, 89.51),
		two(mi, 11.92), two(4*mi, 19.20), two(16*mi, 22.40), two(64*mi, 23.12)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = read(t, "x.json", fixture(t, "all_gather.json"))
	if err != nil {
		t.Fatal(err)
	}
	gather := func(bytes int64, bus float64) nccl.Benchmark {
		return nccl.Benchmark{Op: nccl.AllGather, Ranks: 2, Hosts: 1, Bytes: bytes, Bus: bus}
	}
	if diff := cmp.Diff([]nccl.Benchmark{gather(mi, 40.25), gather(8*mi, 75.25), gather(64*mi, 88.25)}, got); diff != "" {
		t.Error(diff)
	}
}

// TestForms: what versions and launchers make of the table.
func TestForms(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text string
		op         nccl.Op
		bus        float64
	}{
		"test by the file's name":       {"A100-all-gather.log", device + columns + row, nccl.AllGather, 0.17},
		"test by its command line":      {"out.txt", "$ mpirun -np 2 ./build/reduce_scatter_perf -b 1K\n" + device + columns + row, nccl.ReduceScatter, 0.17},
		"a launcher's prefix":           {"alltoall.txt", prefixed("[1,0]<stdout>:", device+columns+row), nccl.AlltoAll, 0.17},
		"a prefix that varies":          {"alltoall.txt", "10:00:00 " + strings.ReplaceAll(device, "\n", "\n10:00:01 ") + columns + "10:00:02 " + row, nccl.AlltoAll, 0.17},
		"NCCL's log in between":         {"reduce.txt", device + columns + "a:1:2 [0] NCCL INFO Channel 00\n" + row, nccl.Reduce, 0.17},
		"no reduction named":            {"gather.txt", device + columns + "1024 256 float -1 10.0 0.10 0.15 0 9.0 0.11 0.17 0\n", nccl.Gather, 0.17},
		"no such columns, errors, 2016": {"allgather.txt", device + "# size count type time algbw busbw error time algbw busbw error\n1024 256 float 10.0 0.10 0.15 1e-07 9.0 0.11 0.17 1e-07\n", nccl.AllGather, 0.17},
		"not checked, stamps":           {"sendrecv.txt", device + strings.ReplaceAll(columns, "#wrong\n", "#wrong timestamp\n") + "1024 256 float none -1 10.0 0.10 0.25 N/A 9.0 0.11 0.17 N/A 2026-03-02 10:14:31\n", nccl.SendRecv, 0.25},
		"in place alone":                {"scatter.txt", device + columns + "1024 256 float none 0 9.0 0.11 0.17 0\n", nccl.Scatter, 0.17},
		"processor time":                {"broadcast.txt", device + strings.ReplaceAll(columns, "time", "cputime") + row, nccl.Broadcast, 0.17},
		"each iteration": {"allreduce.txt", device + "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv%\n" +
			"1024 256 float sum -1 10.0 0.10 0.15 0 1 2 3 4 9.0 0.11 0.17 0 1 2 3 4\n", nccl.AllReduce, 0.17},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, tt.file, tt.text)
			want := []nccl.Benchmark{{Op: tt.op, Ranks: 2, Hosts: 2, Bytes: 1024, Bus: tt.bus}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func prefixed(prefix, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(prefix + line)
	}
	return out.String()
}

func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text string
		kind       error
		line       int64
	}{
		"empty":                     {"reduce.txt", "", input.ErrEmpty, 0},
		"no table":                  {"reduce.txt", device, input.ErrEmpty, 0},
		"a test nothing names":      {"out.txt", device + columns + row, input.ErrMissing, 6},
		"a test of several":         {"reduce.txt", "# Collective test starting: hypercube_perf\n" + device + columns + row, input.ErrMissing, 7},
		"no devices":                {"reduce.txt", columns + row, input.ErrMissing, 3},
		"devices of the run before": {"reduce.txt", device + columns + row + "# Using devices\n" + columns + row, input.ErrMissing, 10},
		"wrong values":              {"reduce.txt", device + columns + strings.Replace(row, "0.15 0", "0.15 12", 1), input.ErrRange, 6},
		"a row cut off":             {"reduce.txt", device + columns + row[:20], input.ErrRagged, 6},
		"written into":              {"reduce.txt", device + columns + "1024 256 float sum -1 a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 - Init COMPLETE\n", input.ErrType, 6},
		"no number":                 {"reduce.txt", device + columns + strings.Replace(row, "0.15", "fast", 1), input.ErrType, 6},
		"not finite":                {"reduce.txt", device + columns + strings.Replace(row, "0.15", "Inf", 1), input.ErrType, 6},
		"a negative size":           {"reduce.txt", device + columns + "-" + row, input.ErrNegative, 6},
		"JSON cut off":              {"reduce.json", fixture(t, "all_gather.json")[:900], input.ErrFormat, 0},
		"JSON of something":         {"reduce.json", `{"results": 7}`, input.ErrFormat, 0},
		"JSON of nothing":           {"reduce.json", `{}`, input.ErrEmpty, 0},
		"JSON of wrong values":      {"reduce.json", strings.Replace(fixture(t, "all_gather.json"), `"nwrong":0.0`, `"nwrong":3`, 1), input.ErrRange, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, tt.file, tt.text)
			var placed *input.Error
			if !errors.Is(err, tt.kind) || !errors.As(err, &placed) || placed.Pos.File != tt.file || placed.Pos.Line != tt.line {
				t.Errorf("%v, expected %v in line %d", err, tt.kind, tt.line)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(fixture(f, "all_reduce.txt"))
	f.Add(fixture(f, "all_gather.json"))
	f.Add(prefixed("1: ", device+columns+row))
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := read(t, "all_reduce.txt", text)
		if err == nil && len(rows) == 0 {
			t.Error("neither an error nor a row")
		}
		for _, x := range rows {
			if x.Op == nccl.UnknownOp || x.Ranks < 1 || x.Hosts < 1 || x.Hosts > x.Ranks || x.Bytes < 0 || !(x.Bus >= 0) || math.IsInf(x.Bus, 0) {
				t.Errorf("%+v", x)
			}
		}
	})
}
