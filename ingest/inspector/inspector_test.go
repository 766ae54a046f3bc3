package inspector

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/comms"
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

func read(text string, lim ingest.Limits) (*comms.Record, error) {
	src, err := ingest.NewSource(strings.NewReader(text), "x.log", lim)
	if err != nil {
		return nil, err
	}
	return Read(src, "x", lim)
}

func TestRead(t *testing.T) {
	c, err := read("\n"+line("", "")+"\r\n"+message, ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	reduce, send := comms.UnknownCall(0), comms.UnknownCall(1)
	reduce.Group, reduce.Op, reduce.OpSeq, reduce.Bytes, reduce.Kernel, reduce.KernelSure, reduce.Line = 0, nccl.AllReduce, 1407, 17179869184, 0, true, 2
	send.Group, send.Op, send.OpSeq, send.Bytes, send.Peer, send.Kernel, send.KernelSure, send.Line = 1, nccl.Send, 3, 8192, 0, 0, true, 3
	want := &comms.Record{
		Sources: []comms.Source{{Name: "x", Path: "x.log", Kind: comms.SourceInspector}},
		Processes: []comms.Process{
			{ID: 1639453, Rank: -1, Host: "node1.cluster", LocalRank: -1, PID: 1639453, Device: -1, Kernels: []comms.Kernel{
				{KernelName: nccl.KernelName{Op: nccl.AllReduce, Datatype: nccl.UnknownType}, Duration: 61974000, Reported: 1748030377748202000, Correlation: 2}}},
			{ID: 7, Rank: -1, Host: "h", LocalRank: -1, PID: 7, Device: -1, Clock: 1, Begin: 1752867229276090000, Kernels: []comms.Kernel{
				{KernelName: nccl.KernelName{Op: nccl.SendRecv, Datatype: nccl.UnknownType}, Start: 1752867229276090000, End: 1752867229276140000, HasSpan: true,
					Duration: 40000, Reported: 1752867229276385000, Stream: 1, Correlation: 3}}}},
		Groups: []comms.Group{{ID: 0x7f8c496ae9f661, Rank: 2, Size: 8, FromStart: true, Enqueued: -1, Completed: -1},
			{Process: 1, ID: 0xe62dedaa97644a, Name: "PP 3", Rank: 1, Size: 2, FromStart: true, Enqueued: -1, Completed: -1}},
		Calls: []comms.Call{reduce, send},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	// What the device measured by itself is more precise than when its channels reported.
	c, err = read(strings.Replace(message, "kernel_cpu", "kernel_gpu", 1), ingest.Limits{})
	if err != nil || c.Processes[0].Kernels[0].Start != 1752867229276100000 {
		t.Errorf("%+v, %v", c, err)
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
		if err != nil || len(d.Calls) != 2 || len(d.Unread) != 1 || d.Unread[0].Line != 2 || d.Unread[0].Count != 1 {
			t.Errorf("%.80s: %+v, %v", bad, d, err)
		}
	}
	if _, err := read("hello\n", ingest.Limits{}); err == nil || !strings.Contains(err.Error(), "x.log:1") {
		t.Errorf("no record at all: %v", err)
	}
	if _, err := read(strings.Repeat(line("", "")+"\n", 100), ingest.Limits{Pending: 1000}); err == nil || !strings.Contains(err.Error(), "x.log:3") {
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

// From 4.3 a dump begins with a line of its own, whose header the records behind it share; from 4.1 it says how many there are and how many were dropped.
func TestDumpStats(t *testing.T) {
	stats := func(version string, records, dropped int) string {
		return fmt.Sprintf(`{"header":{"id":"0x7f8c496ae9f661","rank":2,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"%s","dump_timestamp_us":1748030377748202,`+
			`"hostname":"h","pid":7},"dump_stats":{"coll_records":%d,"coll_dropped_total":%d,"coll_dropped_since_last_dump":1,"p2p_records":0,"p2p_dropped_total":0,`+
			`"p2p_dropped_since_last_dump":0,"proxy_records":1}}`, version, records, dropped)
	}
	bare := func(n int) string {
		return fmt.Sprintf(`{"coll_perf":{"coll":"ReduceScatter","coll_algo":"RING","coll_proto":"SIMPLE","coll_sn":%d,"coll_msg_size_bytes":64,"coll_exec_time_us":5}}`, n)
	}
	own := strings.Replace(strings.Replace(line("", ""), "1639453", "7", 1), `"hostname":"`, `"hostname":"h","was":"`, 1)
	const proxy = `{"proxy_trace":{"record_type":"proxy_op"}}`
	for name, tt := range map[string]struct {
		text        []string
		calls       int
		lost, wrong int64
	}{
		"4.3":                              {[]string{stats("v4.3", 2, 0), bare(0), bare(1), proxy}, 2, 0, 0},
		"two dumps, dropped in all":        {[]string{stats("v4.3", 1, 3), bare(0), proxy, stats("v4.3", 1, 5), bare(1), proxy}, 2, 5, 0},
		"records that a dump lacks":        {[]string{stats("v4.3", 4, 0), bare(0), bare(1), proxy}, 2, 2, 0},
		"records beyond a dump":            {[]string{stats("v4.3", 1, 0), bare(0), proxy, bare(1)}, 1, 0, 1},
		"no dump":                          {[]string{bare(0), stats("v4.3", 1, 0), bare(1), proxy}, 1, 0, 1},
		"4.1, records with their own head": {[]string{stats("v4.1", 1, 4), own, proxy, own}, 2, 4, 0},
	} {
		d, err := read(strings.Join(tt.text, "\n"), ingest.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wrong := int64(0)
		for _, u := range d.Unread {
			wrong += u.Count
		}
		if len(d.Calls) != tt.calls || len(d.Processes) != 1 || d.Processes[0].Lost != tt.lost || wrong != tt.wrong {
			t.Errorf("%s: %d calls of %d processes, %+v lost, %+v", name, len(d.Calls), len(d.Processes), d.Processes[0].Lost, d.Unread)
		}
		if u := d.Calls[0].Tuning; name != "4.1, records with their own head" && (u == nil || u.Algo != nccl.Ring || u.Protocol != nccl.Simple) {
			t.Errorf("%s: %+v", name, u)
		}
	}
	if !Recognise([]byte(stats("v4.3", 1, 0))) {
		t.Error("a dump that begins with its numbers is not recognised")
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
		for _, x := range d.Calls {
			g, k := &d.Groups[x.Group], &d.Processes[x.Process].Kernels[x.Kernel]
			if x.Bytes < -1 || k.Duration < 0 || g.Rank < 0 || g.Rank >= g.Size || g.ID == 0 || g.Process != x.Process || k.HasSpan && k.End < k.Start || x.OpSeq < 0 {
				t.Errorf("%+v of %+v, %+v", x, g, k)
			}
		}
	})
}

// accl is a record of RCCL's profiler, with the values of its README.
const accl = `{"header": {"rank": 0, "n_ranks": 8},"coll_perf": {"coll": "AllReduce", "coll_sn": 10, "coll_msg_size_bytes": 4194304,"coll_algo": "Ring", "coll_proto": "Simple",` +
	`"coll_n_channels": 4, "coll_n_channels_reported": 4,"coll_exec_time_us": 150.30,"coll_algobw_gbs": 0.027907, "coll_busbw_gbs": 0.048836,"coll_timing_source": "gpu_globaltimer",` +
	`"decomposition": {"enqueue_to_kernel_us": 5.20,"gpu_kernel_avg_us": 45.10,"proxy_peer_wait_us": 38.70, "n_send_ops": 4},` +
	`"event_trace_ts": {"kernel_events": [{"channel_id": 0, "kernel_start_ts": 123456, "kernel_stop_ts": 127956, "duration_us": 45}]}}}`

// RCCL's profiler leaves communicator, host and process to the name of the file, and has a file for each communicator of a process.
func TestRCCL(t *testing.T) {
	file := func(hash, text string) *comms.Record {
		name := "dumps/accl_profiler_rank0_node1.cluster_pid4014_" + hash + ".jsonl"
		src, err := ingest.NewSource(strings.NewReader(text), name, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Read(src, name, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	later := strings.NewReplacer("123456", "223456", "127956", "227956", `"coll_sn": 10`, `"coll_sn": 11`).Replace(accl)
	c := Merge([]*comms.Record{file("0xa1", later), file("0xb2", accl+"\n"+`{"summary": {"dropped_collectives": 2, "leaked_collectives": 1, "pool_size": 256, "complete": false}}`)})
	if len(c.Processes) != 1 || len(c.Groups) != 2 || len(c.Calls) != 2 || len(c.Unread) > 0 {
		t.Fatalf("%+v", c)
	}
	p := &c.Processes[0]
	if p.Host != "node1.cluster" || p.PID != 4014 || p.Lost != 3 {
		t.Errorf("%+v", p)
	}
	// 45 µs are 4,500 ticks: 10 ns each. The file of 0xb2 has the earlier record.
	for i, want := range []struct {
		id, at, seq int64
	}{{0xb2, 1279560, 10}, {0xa1, 2279560, 11}} {
		x, k := &c.Calls[i], &p.Kernels[i]
		if c.Groups[x.Group].ID != uint64(want.id) || x.Kernel != i || x.OpSeq != want.seq || k.Reported != want.at || k.HasSpan || k.Duration != 150300 || !k.HasPeerWait || k.PeerWait != 38700 {
			t.Errorf("%+v, %+v", x, k)
		}
	}
	if !Recognise([]byte(accl)) {
		t.Error("not recognised")
	}
	if _, err := read(accl, ingest.Limits{}); err == nil {
		t.Error("a record whose file was renamed has no communicator")
	}
}
