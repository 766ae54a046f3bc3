package flightrecorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// pickle writes protocol 2 as TorchScript's pickler does, without a memo.
type pickle struct{ bytes.Buffer }

func (p *pickle) text(s string) *pickle {
	p.WriteByte('X')
	_ = binary.Write(p, binary.LittleEndian, uint32(len(s)))
	p.WriteString(s)
	return p
}

func (p *pickle) number(x int64) *pickle {
	p.Write([]byte{0x8a, 8})
	_ = binary.Write(p, binary.LittleEndian, x)
	return p
}

func (p *pickle) op(s string) *pickle { p.WriteString(s); return p }

// dump is a small dump with n all-reduces.
func dump(n int) []byte {
	p := new(pickle)
	p.op("\x80\x02}(").text("version").text("2.7")
	p.text("pg_config").op("}(").text("0").op("}(").text("name").text("0").text("desc").text("default_pg").text("ranks").text("[0, 1]").op("uu")
	p.text("pg_status").op("}(").text("0").op("}(").text("last_enqueued_collective").number(int64(n)).
		text("last_started_collective").number(-1).text("last_completed_collective").number(int64(n) - 1).op("uu")
	p.text("entries").op("](")
	for i := range n {
		p.op("}(").text("record_id").number(int64(i + 5)).text("pg_id").number(0)
		p.text("process_group").text("0").text("default_pg").op("\x86")
		p.text("collective_seq_id").number(int64(i + 1)).text("p2p_seq_id").number(0).text("op_id").number(int64(i + 1))
		p.text("profiling_name").text("nccl:all_reduce").text("time_created_ns").number(1_700_000_000_000_000_000 + int64(i))
		p.text("input_sizes").op("](").op("](").number(4).number(3).op("ee")
		p.text("input_dtypes").op("](").text("Float").op("e")
		p.text("state").text("completed").text("retired").op("\x88").text("time_discovered_completed_ns").op("N")
		p.text("frames").op("](}(").text("name").text("work").text("filename").text("/job/train.py").text("line").number(66).op("ue")
		p.op("u")
	}
	return p.op("eu.").Bytes()
}

func readBytes(name string, data []byte) (*comms.Record, error) {
	src, err := ingest.NewSource(bytes.NewReader(data), name, ingest.Limits{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return new(Reader).Read(src, src.Name())
}

func TestRead(t *testing.T) {
	for name, data := range map[string]string{"plain": string(dump(2)), "gzip": ingesttest.Gzip(t, string(dump(2))), "zstd": ingesttest.Zstd(t, string(dump(2)))} {
		t.Run(name, func(t *testing.T) {
			c, err := readBytes("nccl_trace_rank_1", []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			want := comms.Group{Name: "0", Desc: "default_pg", Rank: 1, Size: 2, Members: []int{0, 1}, Enqueued: 2, Completed: 1}
			if diff := cmp.Diff(want, c.Groups[0]); diff != "" {
				t.Error(diff)
			}
			call := comms.UnknownCall(0)
			call.Group, call.Op, call.Name, call.Seq, call.Enter, call.HasEnter = 0, nccl.AllReduce, "nccl:all_reduce", 2, 1_700_000_000_000_000_001, true
			call.Count, call.State, call.Retired, call.Stack, call.Line = 12, comms.Completed, true, 0, 7
			call.Tensors = &comms.Tensors{InSizes: [][]int64{{4, 3}}, InTypes: []string{"Float"}}
			if diff := cmp.Diff(call, c.Calls[1]); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([][]comms.Frame{{{Function: "work", File: "/job/train.py", Line: 66}}}, c.Stacks); diff != "" {
				t.Error(diff)
			}
			if p := c.Processes[0]; p.Rank != 1 || p.Lost != 5 || len(c.Notes) != 0 {
				t.Errorf("%+v %v", p, c.Notes)
			}
		})
	}
}

// A dump that breaks off anywhere gives the entries before, or an error, and
// never more.
func TestBreaksOff(t *testing.T) {
	whole := dump(3)
	kept := 0
	for n := range whole {
		c, err := readBytes("rank_0", whole[:n])
		if err != nil {
			continue
		}
		if len(c.Calls) < kept || len(c.Calls) > 3 || len(c.Notes) == 0 {
			t.Fatalf("%d of %d bytes: %d calls after %d, notes %v", n, len(whole), len(c.Calls), kept, c.Notes)
		}
		kept = len(c.Calls)
	}
	if kept != 3 {
		t.Errorf("all bytes but the last give %d calls, expected 3", kept)
	}
}

// What no recorder writes is damage: a key with a byte changed, a state that is none, a number that goes back. A dump
// without entries is none.
func TestExtent(t *testing.T) {
	edit := func(old, now string) []byte { return bytes.Replace(dump(3), []byte(old), []byte(now), 1) }
	for name, c := range map[string]struct {
		data []byte
		want comms.Extent
	}{
		"whole": {dump(3), comms.Whole}, "cut": {dump(3)[:600], comms.CutOff}, "no entries": {dump(0), comms.NoEntries},
		"key of an entry": {edit("time_created_ns", "time_creatfd_ns"), comms.Damaged}, "key of a group": {edit("ranks", "ra~ks"), comms.Damaged},
		"state": {edit("completed", "comqleted"), comms.Damaged}, "operation": {edit("all_reduce", "alm_reduce"), comms.Damaged},
		"number": {edit("record_id\x8a\x08\x05", "record_id\x8a\x08\x45"), comms.Damaged},
	} {
		got, err := readBytes("rank_0", c.data)
		if err != nil || got.Processes[0].Extent != c.want || (len(got.Notes) == 0) != (c.want == comms.Whole) {
			t.Errorf("%s: %v, extent %v, expected %v; notes %v", name, err, got.Processes[0].Extent, c.want, got.Notes)
		}
	}
}

func TestRefused(t *testing.T) {
	for op, name := range active {
		data := append([]byte("\x80\x02}(X\x07\x00\x00\x00version"), op)
		_, err := readBytes("rank_0", append(data, "os\nsystem\n."...))
		if !errors.Is(err, input.ErrFormat) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "@byte 16") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string]string{
		"memo":       "\x80\x02h\x07.",
		"mark":       "\x80\x02}u.",
		"underflow":  "\x80\x02\x85.",
		"protocol 0": "(dp0\nVentries\np1\n(lp2\ns.",
		"odd":        "\x80\x02}(Nu.",
		"no dict":    "\x80\x02].",
		"protocol 9": "\x80\x09}.",
		"unknown":    "\x80\x02}(\xff",
		"deep":       "{\"entries\":" + strings.Repeat("[", 100),
		"no JSON":    "{\"entries\":[}",
		"other dict": "\x80\x02}(X\x01\x00\x00\x00aK\x01u.",
	} {
		if c, err := readBytes("rank_0", []byte(data)); err == nil {
			t.Errorf("%s: read as %+v", name, c)
		}
	}
	if _, err := readBytes("rank_0", nil); !errors.Is(err, input.ErrEmpty) {
		t.Errorf("empty: %v", err)
	}
}

// Protocols of Python write the same dump; numbers of JSON's status are
// texts.
func TestForms(t *testing.T) {
	for name, data := range map[string]string{
		"4":           "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x07entries\x94]\x94}\x94(\x8c\x0eprofiling_name\x94\x8c\x0cgloo:barrier\x94\x8c\x0ftime_created_ns\x94K\x11\x8c\x05pg_id\x94K\x03\x8c\x09record_id\x94K\x00\x8c\x07retired\x94\x88uas.",
		"JSON":        `{"version":"2.10","entries":[{"profiling_name":"gloo:barrier","time_created_ns":17,"pg_id":3,"record_id":0,"retired":true}],"x":null}`,
		"JSON, \\u":   `{"entr\u0069es":[{"profiling_name":"gloo\u003abarrier","time_created_ns":17,"pg_id":3,"record_id":0,"retired":true}]}`,
		"numbered":    `{"entries":[{"profiling_name":"gloo:barrier","time_created_ns":17,"pg_id":3,"record_id":0,"retired":true}],"pg_status":{"3":{"last_enqueued_collective":"9"}}}`,
		"JSON, spare": ` {"entries" : [ {"profiling_name" : "gloo:barrier" , "time_created_ns" : 17, "pg_id" : 3, "record_id" : 0, "retired" : true, "duration_ms" : 1.5e0} ] } `,
	} {
		c, err := readBytes("rank_0", []byte(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(c.Calls) != 1 || c.Calls[0].Enter != 17 || c.Calls[0].Name != "gloo:barrier" || !c.Calls[0].Retired || c.Groups[0].Name != "3" {
			t.Errorf("%s: %+v %+v", name, c.Calls, c.Groups)
		}
		if name == "numbered" && c.Groups[0].Enqueued != 9 {
			t.Errorf("status: %+v", c.Groups)
		}
	}
	c, err := readBytes("rank_0", []byte(`{"comm_lib_version":"","pg_config":{},"pg_status":{},"version":"2.10"}`))
	if err != nil || len(c.Calls) != 0 {
		t.Errorf("without entries: %+v, %v", c, err)
	}
}

func TestRankOf(t *testing.T) {
	type found struct {
		rank int
		host string
	}
	for name, want := range map[string]found{
		"fr_trace_3":                  {3, ""},
		"dir/fr_trace_12.json":        {12, ""},
		"comm_lib_trace_rank_3":       {3, ""},
		"nccl_trace_rank_3.pkl.gz":    {3, ""},
		"_dump_3":                     {3, ""},
		"rank_3":                      {3, ""},
		"rank3":                       {3, ""},
		"trace.rank00007":             {7, ""},
		"node7_rank3":                 {3, "node7"},
		"gpu-node-3_fr_trace_12":      {12, "gpu-node-3"},
		"node7_nccl_trace_rank_3.zst": {3, "node7"},
		"myjob_rank_3":                {3, ""},
		"3":                           {3, ""},
		"dump":                        {-1, ""},
	} {
		if rank, host := RankOf(name, nil); (found{rank, host}) != want {
			t.Errorf("%s: %d %q, expected %+v", name, rank, host, want)
		}
	}
	odd := regexp.MustCompile(`^(?P<host>\w+)-r(?P<rank>\d+)-of`)
	if rank, host := RankOf("alpha-r5-of-8", odd); rank != 5 || host != "alpha" {
		t.Errorf("%d %q", rank, host)
	}
}

// An entry named a million times is one; a stack named by all entries is no
// work for each of them.
func TestHostile(t *testing.T) {
	again := append([]byte("\x80\x02}(X\x07\x00\x00\x00entries]("), []byte("}q\x00(X\x0e\x00\x00\x00profiling_nameX\x01\x00\x00\x00aX\x0f\x00\x00\x00time_created_nsK\x01u")...)
	again = append(again, bytes.Repeat(append(bytes.Repeat([]byte("h\x00"), 1<<10), "e("...), 1<<10)...)
	c, err := readBytes("rank_0", append(again, "eu."...))
	if err != nil || len(c.Calls) != 1 {
		t.Errorf("%v, %v", c, err)
	}
	p := new(pickle)
	p.op("\x80\x02}(").text("entries").op("](")
	p.op("]q\x00(").op(strings.Repeat("N", 1<<16)).op("e")
	for range 1 << 12 {
		p.op("}(").text("time_created_ns").op("K\x01").text("profiling_name").text("a").text("input_sizes").op("h\x00u")
	}
	if _, err := readBytes("rank_0", p.op("eu.").Bytes()); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if _, err := readBytes("rank_0", append([]byte("\x80\x02"), bytes.Repeat([]byte("]"), 1<<20)...)); !errors.Is(err, input.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// Whatever a file holds: no panic, and every index in range.
func FuzzRead(f *testing.F) {
	f.Add(dump(2))
	for _, data := range largedata.Seeds(f, "data/cases", 64<<10, "fr_trace_0", "fr_trace_1") {
		f.Add(data)
	}
	f.Add([]byte(`{"entries":[{"profiling_name":"nccl:send 1->2","time_created_ns":17,"pg_id":3,"is_p2p":true,"p2p_seq_id":4,"frames":[{"name":"f","filename":"a.py","line":1}]}],"pg_status":{"3":{"last_enqueued_collective":"9"}},"pg_config":{"":{"ranks":"[0, 1]"}}}`))
	f.Add([]byte("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x07entries\x94]\x94}\x94(\x8c\x0eprofiling_name\x94\x8c\x0cgloo:barrier\x94uas."))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := readBytes("rank_0", data)
		if err != nil {
			return
		}
		for _, x := range c.Calls {
			if x.Group < 0 || x.Group >= len(c.Groups) || x.Stack >= len(c.Stacks) || x.Tensors == nil {
				t.Errorf("%+v", x)
			}
		}
		for _, g := range c.Groups {
			if g.Process != 0 || g.Size != len(g.Members) {
				t.Errorf("%+v", g)
			}
		}
	})
}

func ExampleReader() {
	src, err := ingest.NewSource(bytes.NewReader(dump(2)), "nccl_trace_rank_1", ingest.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
	c, err := new(Reader).Read(src, src.Name())
	if err != nil {
		fmt.Println(err)
		return
	}
	last := c.Calls[len(c.Calls)-1]
	frame := c.Stacks[last.Stack][0]
	fmt.Printf("rank %d entered %s #%d of %s from line %d\n", c.Processes[0].Rank, last.Op, last.Seq, c.Groups[last.Group].Desc, frame.Line)
	// Output: rank 1 entered AllReduce #2 of default_pg from line 66
}

// An IP address in a name is the host; its last number is no rank, and neither is a port.
func TestAddresses(t *testing.T) {
	for name, want := range map[string]struct {
		rank int
		host string
	}{
		"10.0.107.52.log": {-1, "10.0.107.52"}, "34.83.195.179_6003.json": {-1, "34.83.195.179"}, "fr_trace_10.0.0.7_rank3": {3, "10.0.0.7"},
		"rank_3.log": {3, ""}, "fr_trace_3": {3, ""},
	} {
		if rank, host := RankOf(name, nil); rank != want.rank || host != want.host {
			t.Errorf("%s: rank %d on %q, want %d on %q", name, rank, host, want.rank, want.host)
		}
	}
}

// TestPartsOfPickle: a few bytes are no more lists, or values at a time, than PyTorch could make of them.
func TestPartsOfPickle(t *testing.T) {
	for name, body := range map[string]string{"values": "](" + strings.Repeat("N", 1<<16) + "e", "lists in lists": ")" + strings.Repeat("\x85", 1<<16),
		"dicts": "](" + strings.Repeat("}", 1<<16) + "e"} {
		if _, err := readBytes("rank_0", []byte("\x80\x02}(X\x07\x00\x00\x00entries]X\x01\x00\x00\x00z"+body+"u.")); !errors.Is(err, input.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
