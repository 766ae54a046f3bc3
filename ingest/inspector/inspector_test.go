package inspector

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/nccl"
)

// line is a record as NCCL 2.28 writes it, with one part replaced.
func line(from, to string) string {
	const whole = `{"header":{"id":"0x7f8c496ae9f661","rank":2,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"",` +
		`"rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1748030377748202,"hostname":"node1.cluster","pid":1639453},` +
		`"coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,"coll_exec_time_us":61974,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.210914,"coll_busbw_gbs":485.119099}}`
	return strings.Replace(whole, from, to, 1)
}

// message is one of NCCL 2.30, verbose.
const message = `{"header":{"id":"0xe62dedaa97644a","comm_name":"PP 3","rank":1,"n_ranks":2,"nnodes":2},"metadata":{"dump_timestamp_us":1752867229276385,"hostname":"h","pid":7},` +
	`"p2p_perf":{"p2p":"Send","p2p_sn":3,"p2p_peer":0,"p2p_msg_size_bytes":8192,"p2p_exec_time_us":40,"p2p_timing_source":"kernel_cpu","p2p_algobw_gbs":0.2,"p2p_busbw_gbs":0.2,` +
	`"event_trace_sn":{"p2p_start_sn":1},"event_trace_ts":{"p2p_start_ts":5,"p2p_stop_ts":6,"kernel_events":[{"channel_id":0,"kernel_start_ts":1752867229276100,"kernel_stop_ts":1752867229276140},` +
	`{"channel_id":1,"kernel_start_ts":1752867229276090,"kernel_stop_ts":1752867229276130},{"channel_id":2,"kernel_start_ts":0,"kernel_stop_ts":0}]}}}`

func read(text string, lim ingest.Limits) (*Dump, error) {
	src, err := ingest.NewSource(strings.NewReader(text), "x.log", lim)
	if err != nil {
		return nil, err
	}
	return Read(src, lim)
}

func TestRead(t *testing.T) {
	d, err := read("\n"+line("", "")+"\r\n"+message, ingest.Limits{})
	if err != nil || len(d.Records) != 2 || len(d.Skipped) != 0 || len(d.Processes) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	want := []Record{
		{Line: 2, Comm: 0x7f8c496ae9f661, Rank: 2, Ranks: 8, Nodes: 1, Op: nccl.AllReduce, Seq: 1407, Peer: -1, Bytes: 17179869184, Duration: 61974000, Timing: KernelGPU,
			Bus: 485.119099, Dumped: 1748030377748202000},
		{Line: 3, Process: 1, Comm: 0xe62dedaa97644a, Name: "PP 3", Rank: 1, Ranks: 2, Nodes: 2, Op: nccl.Send, Seq: 3, Peer: 0, Bytes: 8192, Duration: 40000, Timing: KernelCPU, Bus: 0.2,
			Dumped: 1752867229276385000, Start: 1752867229276090000, End: 1752867229276140000, HasTrace: true},
	}
	for i := range want {
		if d.Records[i] != want[i] {
			t.Errorf("%+v, want\n%+v", d.Records[i], want[i])
		}
	}
	if d.Processes[0] != (Process{"node1.cluster", 1639453}) {
		t.Errorf("%+v", d.Processes)
	}
}

// A line that is damaged costs itself, is counted under what is wrong, and is told with its number.
func TestDamage(t *testing.T) {
	for _, bad := range []string{
		line("277.210914", "NaN"), line(`"coll_msg_size_bytes":17179869184`, `"coll_msg_size_bytes":-4`), line(`61974`, `-1`), line(`61974`, `1e400`), line(`"rank":2`, `"rank":8`),
		line(`"rank":2`, `"rank":-1`), line(`"n_ranks":8`, `"n_ranks":4000000000`), line(`0x7f8c496ae9f661`, `0x0`), line(`0x7f8c496ae9f661`, `zz`), line(`"AllReduce"`, `"AllMagic"`),
		line(`"coll_sn":1407,`, ``), line(`coll_perf`, `perf`), line(`1748030377748202`, `99999999999999999`), line(`17179869184`, `99999999999999999999`), line("", "")[:100],
		"null", "[]", `{"header":null}`, "hello", strings.Repeat("x", 2<<20), line(`"pid":1639453`, `"pid":-3`), strings.Replace(message, `"p2p_peer":0`, `"p2p_peer":-1`, 1),
	} {
		d, err := read(line("", "")+"\n"+bad+"\n"+line("1407", "1408")+"\n", ingest.Limits{})
		if err != nil || len(d.Records) != 2 || len(d.Skipped) != 1 || d.Skipped[0].Line != 2 || d.Skipped[0].Count != 1 {
			t.Errorf("%.80s: %+v, %v", bad, d, err)
		}
	}
	if _, err := read("hello\n", ingest.Limits{}); err == nil || !strings.Contains(err.Error(), "x.log:1") {
		t.Errorf("no record at all: %v", err)
	}
	if _, err := read(strings.Repeat(line("", "")+"\n", 100), ingest.Limits{Pending: 1000}); err == nil || !strings.Contains(err.Error(), "x.log:6") {
		t.Errorf("too many: %v", err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	fmt.Fprint(w, strings.Repeat(line("", "")+"\n", 1000))
	w.Close()
	if _, err := read(z.String()[:z.Len()/2], ingest.Limits{}); err == nil {
		t.Error("a torn gzip file is read as if it were whole")
	}
}

func TestRecognise(t *testing.T) {
	for text, want := range map[string]bool{line("", ""): true, "\n" + message: true, "": false, "{}": false, "hello\n" + message: false, `{"traceEvents":[{"name":"coll_perf"}]}`: false} {
		if Recognise([]byte(text)) != want {
			t.Errorf("%.60q: %t", text, !want)
		}
	}
}

// Whatever stands in a file: no panic, and every record is one that can be.
func FuzzRead(f *testing.F) {
	f.Add(line("", "") + "\n" + message)
	f.Add(line(`"rank":2`, `"rank":null`))
	f.Fuzz(func(t *testing.T, text string) {
		d, err := read(text, ingest.Limits{Pending: 1 << 16})
		if err != nil {
			return
		}
		for _, r := range d.Records {
			if r.Bytes < 0 || r.Duration < 0 || r.Rank < 0 || r.Rank >= r.Ranks || r.Comm == 0 || r.Process >= len(d.Processes) || r.HasTrace && r.End < r.Start || r.Seq < 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}
