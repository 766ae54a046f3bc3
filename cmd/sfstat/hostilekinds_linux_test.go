package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
)

// hostileFile is a small file of a kind, in which some count is large.
type hostileFile struct {
	name, file string
	make       func(size int) []byte
	commands   string // beside those of all kinds
}

// grownText makes a text of a head, as many lines as have room, and a tail.
func grownText(head, tail string, line func(i int) string) func(int) []byte {
	return func(size int) []byte {
		out := []byte(head)
		for i := 0; ; i++ {
			if next := line(i); len(out)+len(next)+len(tail) <= size {
				out = append(out, next...)
				continue
			}
			return append(out, tail...)
		}
	}
}

// grownTrace makes a trace of a thousand events a step.
func grownTrace(event func(i int) string) func(int) []byte {
	return grownText(`{"distributedInfo":{"rank":0,"world_size":2},"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}}`, "]}", func(i int) string {
		if i%1000 == 0 {
			return fmt.Sprintf(`,{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":1,"tid":1,"ts":%d,"dur":10000}`, i/1000, 10*i)
		}
		return "," + event(i)
	})
}

// pickled writes texts, numbers, lists and objects, whose names and values alternate, in the pickle protocol 2.
func pickled(out []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(binary.LittleEndian.AppendUint32(append(out, 'X'), uint32(len(v))), v...)
	case int:
		return binary.LittleEndian.AppendUint64(append(out, 0x8a, 8), uint64(v))
	case []any:
		out = append(out, "]("...)
		for _, x := range v {
			out = pickled(out, x)
		}
		return append(out, 'e')
	case object:
		out = append(out, "}("...)
		for _, x := range v {
			out = pickled(out, x)
		}
		return append(out, 'u')
	}
	panic(fmt.Sprintf("a %T", v))
}

// object is names and values by turns.
type object []any

// jsonOf writes the same as JSON.
func jsonOf(out []byte, v any) []byte {
	switch v := v.(type) {
	case string, int:
		if s, is := v.(string); is {
			return fmt.Appendf(out, "%q", s)
		}
		return fmt.Append(out, v)
	case []any:
		out = append(out, '[')
		for i, x := range v {
			out = jsonOf(append(out, ","[:min(i, 1)]...), x)
		}
		return append(out, ']')
	case object:
		out = append(out, '{')
		for i := 0; i < len(v); i += 2 {
			out = jsonOf(append(jsonOf(append(out, ","[:min(i, 1)]...), v[i]), ':'), v[i+1])
		}
		return append(out, '}')
	}
	panic(fmt.Sprintf("a %T", v))
}

// dumpOf returns a Flight Recorder dump of groups and entries.
func dumpOf(groups object, entries []any) object {
	return object{"version", "2.7", "pg_config", groups, "entries", entries}
}

func dumpEntry(i int, group string, frames []any) object {
	return object{"record_id", i, "pg_id", 0, "process_group", []any{group, "default_pg"}, "collective_seq_id", i + 1, "p2p_seq_id", 0, "op_id", i + 1,
		"profiling_name", "nccl:all_reduce", "time_created_ns", 1_700_000_000_000_000_000 + i, "input_sizes", []any{[]any{4, 3}}, "input_dtypes", []any{"Float"},
		"state", "completed", "frames", frames}
}

func dumpGroup(name, ranks string) object {
	return object{"name", name, "desc", "default_pg", "ranks", ranks}
}

// dumps returns Flight Recorder dumps in both forms.
func dumps() (files []hostileFile) {
	frame := func(n int) any {
		return object{"name", fmt.Sprint("f", n), "filename", fmt.Sprint("/job/", n, ".py"), "line", n}
	}
	for name, of := range map[string]func(size int) object{
		"entries": func(size int) object {
			var entries []any
			for i := range size / 450 {
				entries = append(entries, dumpEntry(i, "0", []any{frame(1)}))
			}
			return dumpOf(object{"0", dumpGroup("0", "[0, 1]")}, entries)
		},
		"groups": func(size int) object {
			var groups object
			for i := range size / 75 {
				groups = append(groups, fmt.Sprint(i), dumpGroup(fmt.Sprint(i), "[0, 1]"))
			}
			return dumpOf(groups, []any{dumpEntry(0, "0", nil)})
		},
		"groups with entries": func(size int) object {
			var groups object
			var entries []any
			for i := range size / 500 {
				groups, entries = append(groups, fmt.Sprint(i), dumpGroup(fmt.Sprint(i), "[0, 1]")), append(entries, dumpEntry(i, fmt.Sprint(i), nil))
			}
			return dumpOf(groups, entries)
		},
		"members": func(size int) object {
			var ranks strings.Builder
			for i := 0; ranks.Len() < size-2000; i++ {
				fmt.Fprintf(&ranks, ", %d", i)
			}
			return dumpOf(object{"0", dumpGroup("0", "["+ranks.String()[2:]+"]")}, []any{dumpEntry(0, "0", nil)})
		},
		"frames": func(size int) object {
			var frames []any
			for i := range size / 75 {
				frames = append(frames, frame(i))
			}
			return dumpOf(object{"0", dumpGroup("0", "[0, 1]")}, []any{dumpEntry(0, "0", frames)})
		},
		"stacks": func(size int) object {
			var entries []any
			for i := range size / 1200 {
				var frames []any
				for k := range 10 {
					frames = append(frames, frame(10*i+k))
				}
				entries = append(entries, dumpEntry(i, "0", frames))
			}
			return dumpOf(object{"0", dumpGroup("0", "[0, 1]")}, entries)
		},
	} {
		files = append(files,
			hostileFile{"dump, " + name, "fr_trace_0", func(size int) []byte { return append(pickled([]byte("\x80\x02"), of(size)), '.') }, "hang arrivals"},
			hostileFile{"dump as JSON, " + name, "fr_trace_0.json", func(size int) []byte { return jsonOf(nil, of(size)) }, "hang arrivals"})
	}
	return files
}

// field writes a field of a protobuf message: a number, or bytes.
func field[T int | []byte | string](out []byte, number int, v T) []byte {
	switch v := any(v).(type) {
	case int:
		return binary.AppendUvarint(binary.AppendUvarint(out, uint64(number<<3)), uint64(v))
	case string:
		return field(out, number, []byte(v))
	case []byte:
		return append(binary.AppendUvarint(binary.AppendUvarint(out, uint64(number<<3|2)), uint64(len(v))), v...)
	}
	return out
}

// xspace makes an XPlane profile of so many planes, lines of each, events of each, and names.
func xspace(planes, lines, events, names int) []byte {
	var out []byte
	for p := range planes {
		plane := field(field([]byte(nil), 1, p+1), 2, []string{"/host:CPU", fmt.Sprint("/device:GPU:", p)}[min(p, 1)])
		for l := range lines {
			line := field(field(field([]byte(nil), 1, l+1), 2, fmt.Sprint("python", l)), 3, 1_700_000_000_000_000_000)
			for e := range events {
				line = field(line, 4, field(field(field([]byte(nil), 1, e%names+1), 2, e*1_000_000), 3, 900_000))
			}
			plane = field(plane, 3, line)
		}
		for n := range names {
			plane = field(plane, 4, field(field([]byte(nil), 1, n+1), 2, field(field([]byte(nil), 1, n+1), 2, fmt.Sprint("jit_step", n))))
		}
		out = field(out, 1, plane)
	}
	return out
}

// export makes an export of Nsight Systems.
func export(processes ...nsighttest.Process) []byte {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "x.sqlite")
	if err := nsighttest.Write(path, nsighttest.Export{Host: "h", Epoch: 1.7e18, Processes: processes}); err != nil {
		panic(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return data
}

// stepped returns a process of so many steps.
func stepped(pid, steps int) nsighttest.Process {
	p := nsighttest.Process{PID: pid, Name: "python"}
	for i := range steps {
		p.Ranges = append(p.Ranges, nsighttest.Range{Start: int64(i) * 1e6, End: int64(i+1) * 1e6, Text: fmt.Sprint("iteration ", i)})
	}
	return p
}

func exports() []hostileFile {
	kernels := func(name func(i int) string, stream func(i int) int64) func(int) []byte {
		return func(size int) []byte {
			p := stepped(1, 50)
			for i := range size / 90 {
				at := int64(i) * 500
				p.Calls = append(p.Calls, nsighttest.Call{Start: at, End: at + 100, Correlation: int64(i), Name: "cudaLaunchKernel"})
				p.Work = append(p.Work, nsighttest.Work{Start: at + 200, End: at + 400, Stream: stream(i), Correlation: int64(i), Name: name(i)})
			}
			return export(p)
		}
	}
	same, one := func(int) string { return "gemm" }, func(int) int64 { return 7 }
	return []hostileFile{
		{"nsight, kernels", "n.sqlite", kernels(same, one), "comm"},
		{"nsight, names of kernels", "n.sqlite", kernels(func(i int) string { return fmt.Sprint("k", i) }, one), "comm"},
		{"nsight, NCCL kernels", "n.sqlite", kernels(func(i int) string { return "ncclDevKernel_AllReduce_Sum_f32_RING_LL" }, one), "comm"},
		{"nsight, streams", "n.sqlite", kernels(same, func(i int) int64 { return int64(i) }), "comm"},
		{"nsight, steps", "n.sqlite", func(size int) []byte { return export(stepped(1, size/70)) }, ""},
		{"nsight, stages", "n.sqlite", func(size int) []byte {
			p := stepped(1, 50)
			for i := range size / 90 {
				p.Ranges = append(p.Ranges, nsighttest.Range{Start: int64(i)*400 + 1, End: int64(i)*400 + 300, Text: fmt.Sprint("stage", i)})
			}
			return export(p)
		}, ""},
		{"nsight, processes", "n.sqlite", func(size int) []byte {
			var all []nsighttest.Process
			for i := range size / 400 {
				all = append(all, stepped(i+1, 3))
			}
			return export(all...)
		}, ""},
		{"nsight, threads", "n.sqlite", func(size int) []byte {
			p := stepped(1, 50)
			for i := range size / 90 {
				p.Ranges = append(p.Ranges, nsighttest.Range{Start: int64(i)*400 + 1, End: int64(i)*400 + 300, Text: "stage", Thread: i + 1})
			}
			return export(p)
		}, ""},
	}
}

// hostileFiles returns small files of all kinds but packets.
func hostileFiles() []hostileFile {
	nccl := "1766084870.050004 node0:4007:4010 [1] NCCL INFO "
	comm := func(i, ranks int) string {
		return fmt.Sprintf(nccl+"ncclCommInitRank comm 0x%x rank 0 nranks %d cudaDev 1 nvmlDev 1 busId 25000 commId 0x%x - Init COMPLETE\n", i+1, ranks, i+1)
	}
	call := func(i, comm int) string {
		return fmt.Sprintf(nccl+"AllReduce: opCount %x sendbuff 0x7f00 recvbuff 0x7f00 count 1024 datatype 7 op 0 root 0 comm 0x%x [nranks=2] stream 0x1\n", i, comm+1)
	}
	inspector := func(id, rank, pid, sn int, kernels string) string {
		return fmt.Sprintf(`{"header":{"id":"0x%x","rank":%d,"n_ranks":2,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1766084870050633,"hostname":"node0","pid":%d},"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":2097152,"coll_exec_time_us":47,"coll_timing_source":"kernel_gpu","event_trace_ts":{"coll_start_ts":1766084870050056,"coll_stop_ts":1766084870050135,"kernel_events":[%s]}}}`+"\n", id+1, rank, pid, sn, kernels)
	}
	kernel := `{"channel_id":0,"kernel_start_ts":1766084870050086,"kernel_stop_ts":1766084870050133,"kernel_record_ts":1766084870050134}`
	optrace := "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"
	gpu := "timestamp, index, pci.bus_id, clocks.current.sm [MHz], temperature.gpu\n"
	files := []hostileFile{
		{"kineto, events", "t.json", grownTrace(func(i int) string { return fmt.Sprintf(`{"ph":"X","name":"a","tid":1,"ts":%d,"dur":5}`, 10*i) }), "comm arrivals"},
		{"kineto, nesting", "t.json", grownText(`{"traceEvents":[{"ph":"X","name":"ProfilerStep#1","ts":1,"dur":5,"args":`, "", func(int) string { return `{"a":[` }), ""},
		{"kineto, nested events", "t.json", grownTrace(func(i int) string {
			return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":%d}`, 10*i-10*(i%1000)+i%1000, 10000-2*(i%1000))
		}), ""},
		{"kineto, args", "t.json", grownText(`{"distributedInfo":{"rank":0},"traceEvents":[{"ph":"X","name":"ProfilerStep#1","ts":1,"dur":5,"args":{"a":1`, "}}]}", func(i int) string { return fmt.Sprintf(`,"k%d":%d`, i, i) }), ""},
		{"kineto, a text", "t.json", grownText(`{"distributedInfo":{"rank":0},"traceEvents":[{"ph":"X","name":"ProfilerStep#1`, `","ts":1,"dur":5}]}`, func(i int) string { return `\u00e9` }), ""},
		{"kineto, operators", "t.json", grownTrace(func(i int) string {
			return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"op%d","pid":1,"tid":1,"ts":%d,"dur":5}`, i, 10*i)
		}), ""},
		{"kineto, kernels", "t.json", grownTrace(func(i int) string {
			return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k%d","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"stream":7}}`, i, 10*i)
		}), ""},
		{"kineto, stages", "t.json", grownTrace(func(i int) string {
			return fmt.Sprintf(`{"ph":"X","cat":"user_annotation","name":"stage%d","pid":1,"tid":1,"ts":%d,"dur":5}`, i, 10*i)
		}), ""},
		{"kineto, processes and threads", "t.json", grownTrace(func(i int) string {
			return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"a","pid":%d,"tid":%d,"ts":%d,"dur":5}`, i, i, 10*i)
		}), ""},
		{"kineto, streams", "t.json", grownTrace(func(i int) string {
			return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":%d,"ts":%d,"dur":5,"args":{"stream":%d}}`, i, 10*i, i)
		}), ""},
		{"kineto, communicators", "t.json", grownTrace(func(i int) string {
			return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"stream":7,"Collective name":"allreduce","Process Group Name":"%d","In msg nelems":4,"dtype":"Float","Group size":2}}`, 10*i, i)
		}), "comm"},
		{"kineto, entries", "t.json", grownTrace(func(i int) string {
			return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":%d,"dur":5,"args":{"Collective name":"allreduce","Process Group Name":"%d","Seq":%d,"Group size":2}}`, 10*i, i, i)
		}), "arrivals"},
		{"kineto, groups", "t.json", grownText(`{"distributedInfo":{"rank":0,"world_size":2,"pg_config":[{"pg_name":"x","ranks":[0,1]}`, `]},"traceEvents":[{"ph":"X","name":"ProfilerStep#1","ts":1,"dur":5}]}`, func(i int) string { return fmt.Sprintf(`,{"pg_name":"%d","ranks":[0,1]}`, i) }), "arrivals"},
		{"kineto, steps", "t.json", grownText(`{"distributedInfo":{"rank":0},"traceEvents":[{"ph":"M"}`, "]}", func(i int) string {
			return fmt.Sprintf(`,{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","ts":%d,"dur":10}`, i, 10*i)
		}), ""},
		{"nccl, communicators", "nccl.node0.4007.log", grownText("", "", func(i int) string { return comm(i, 2) }), "comm"},
		{"nccl, calls", "nccl.node0.4007.log", grownText(comm(0, 2), "", func(i int) string { return call(i, 0) }), "comm"},
		{"nccl, calls of communicators", "nccl.node0.4007.log", grownText("", "", func(i int) string { return comm(i, 2) + call(0, i) }), "comm"},
		{"nccl, ranks", "nccl.node0.4007.log", grownText("", "", func(i int) string {
			return fmt.Sprintf("node0:4007:4010 [1] NCCL INFO ncclCommInitRank comm 0x%x rank %d nranks 1000000 cudaDev 1 nvmlDev 1 busId 25000 commId 0x1 - Init COMPLETE\n", i+1, i)
		}), "comm"},
		{"nccl, hosts", "nccl.log", grownText("", "", func(i int) string {
			return fmt.Sprintf("node%d:%d:1 [1] NCCL INFO ncclCommInitRank comm 0x1 rank %d nranks 1000000 cudaDev 1 nvmlDev 1 busId 25000 commId 0x1 - Init COMPLETE\n", i, i+1, i)
		}), "comm"},
		{"nccl, channels", "nccl.node0.4007.log", grownText(comm(0, 2), "", func(i int) string { return fmt.Sprintf(nccl+"Channel %02d/0 : 0[0] -> %d[1] via P2P/IPC\n", i, i) }), "comm"},
		{"nccl, rings", "nccl.node0.4007.log", grownText(comm(0, 2)+nccl+"Channel 00/02 : 0", "\n", func(i int) string { return fmt.Sprintf(" %d", i+1) }), "comm"},
		{"inspector, communicators", "node0-pid1.log", grownText("", "", func(i int) string { return inspector(i, 0, 1, 0, kernel) }), "comm"},
		{"inspector, ranks", "node0-pid1.log", grownText("", "", func(i int) string { return inspector(0, i, i+1, 0, kernel) }), "comm"},
		{"inspector, calls", "node0-pid1.log", grownText("", "", func(i int) string { return inspector(0, 0, 1, i, "") }), "comm"},
		{"inspector, kernels", "node0-pid1.log", grownText(`{"header":{"id":"0x1","rank":0,"n_ranks":2,"nnodes":1},"metadata":{"hostname":"a","pid":1},"coll_perf":{"coll":"AllReduce","coll_sn":0,"coll_msg_size_bytes":1,"coll_exec_time_us":1,"event_trace_ts":{"coll_start_ts":1,"coll_stop_ts":2,"kernel_events":[`+kernel, "]}}}\n", func(int) string { return "," + kernel }), "comm"},
		{"operators, workers", "o.csv", grownText(optrace, "", func(i int) string { return fmt.Sprintf("%d,0,%d,0,forward-compute,0.1,0.2,0,0,0,0\n", i, i) }), ""},
		{"operators, steps", "o.csv", grownText(optrace, "", func(i int) string { return fmt.Sprintf("0,0,0,%d,forward-compute,%d.1,0.2,0,0,0,0\n", i, i) }), ""},
		{"operators, kinds", "o.csv", grownText(optrace, "", func(i int) string { return fmt.Sprintf("0,0,0,0,op%d,%d.1,0.2,0,0,0,0\n", i, i) }), ""},
		{"operators, microbatches", "o.csv", grownText(optrace, "", func(i int) string {
			return fmt.Sprintf("%d,%d,0,0,forward-compute,%d.1,0.2,0,0,%d,%d\n", i%2, i/2%2, i, i/4, i/4)
		}), ""},
		{"operators, in steps of two workers", "o.csv", grownText(optrace, "", func(i int) string {
			return fmt.Sprintf("%d,0,%d,%d,forward-compute,%d.1,0.2,0,0,%d,%d\n", i%2, i%2, i/32, i/2, i/2%16, i/2%16)
		}), ""},
		{"log, ranks", "train.log", grownText("", "", func(i int) string {
			return fmt.Sprintf("2026-11-27 00:07:14,670 [RANK %d] INFO Step 1/30  lr: 1e-4  time: 0.0422  loss: 73.7357\n", i)
		}), ""},
		{"log, steps", "train.log", grownText("", "", func(i int) string {
			return fmt.Sprintf("2026-11-27 00:07:14,670 [RANK 0] INFO Step %d/300000  lr: 1e-4  time: 0.0422  loss: 73.7357\n", i)
		}), ""},
		{"log, metrics", "train.log", grownText("", "", func(i int) string {
			return fmt.Sprintf("2026-11-27 00:07:14,670 [RANK 0] INFO Step %d/30  time: 0.0422  m%d_time: 0.1\n", i/4, i)
		}), ""},
		{"log, timers", "train.log", grownText("", "", func(i int) string {
			if i%100 == 0 {
				return fmt.Sprintf(" [2026-11-27 00:17:54] iteration        %d/      24 | elapsed time per iteration (ms): 58.5 | global batch size:     8 |\ntimes across ranks (ms):\n", i/100+1)
			}
			return fmt.Sprintf("  forward%d:\n     rank  0: 35.85\n     rank  1: 48.38\n", i)
		}), ""},
		{"log, timers of ranks", "train.log", grownText(" [2026-11-27 00:17:54] iteration        1/      24 | elapsed time per iteration (ms): 58.5 | global batch size:     8 |\ntimes across ranks (ms):\n  forward-backward:\n", "", func(i int) string {
			return fmt.Sprintf("     rank %2d: 35.85\n", i)
		}), ""},
		{"log, one line", "train.log", grownText("2026-11-27 00:07:14,670 [RANK 0] INFO Step 1/30 time: 0.0422", "\n", func(i int) string { return fmt.Sprintf(" m%d: 1.0", i) }), ""},
		{"readings, devices", "gpu.csv", grownText(gpu, "", func(i int) string {
			return fmt.Sprintf("2026/11/22 12:45:00.000, %d, %08X:3B:00.0, 1755 MHz, 61\n", i, i)
		}), ""},
		{"readings, times", "gpu.csv", grownText(gpu, "", func(i int) string {
			return time.Unix(1_800_000_000+int64(i), 0).UTC().Format("2006/01/02 15:04:05.000") + ", 0, 00000000:3B:00.0, 1755 MHz, 61\n"
		}), ""},
		{"readings, hosts", "dcgm.prom", grownText("", "", func(i int) string {
			return fmt.Sprintf(`DCGM_FI_DEV_SM_CLOCK{gpu="3",UUID="GPU-1",Hostname="h%d"} 1005 1795351500000`+"\n", i)
		}), ""},
		{"readings, quantities", "node.prom", grownText("node_time_seconds 1.7e9\n", "", func(i int) string { return fmt.Sprintf(`node_cpu_seconds_total{cpu="%d",mode="user"} 4`+"\n", i) }), ""},
		{"readings, kernel", "kern.log", grownText("", "", func(i int) string {
			return fmt.Sprintf("2026-11-22T12:45:01+0000 h%d kernel: NVRM: Xid (PCI:%04x:3c:00): 63, pid=1, name=x\n", i, i%65536)
		}), ""},
		{"xplane, events", "a.xplane.pb", func(size int) []byte { return xspace(2, 1, size/40, 3) }, ""},
		{"xplane, names", "a.xplane.pb", func(size int) []byte { return xspace(1, 1, size/50, size/50) }, ""},
		{"xplane, planes", "a.xplane.pb", func(size int) []byte { return xspace(size/120, 1, 2, 1) }, ""},
		{"xplane, lines", "a.xplane.pb", func(size int) []byte { return xspace(2, size/120, 2, 1) }, ""},
	}
	files = append(append(files, dumps()...), exports()...)
	for _, packed := range []struct {
		name string
		line func(i int) string
	}{
		{"packets", func(i int) string { return packetOf(i, 0, 16384, []string{"a"}, "") }},
		{"rows", func(i int) string {
			if i == 0 {
				return "step,rank,a_ms,b_ms\n"
			}
			return fmt.Sprintf("%d,%d,1,2\n", i/8, i%8)
		}},
		{"events", nil},
	} {
		text := grownText("", "", packed.line)
		if packed.line == nil {
			text = files[0].make
		}
		files = append(files, hostileFile{"compressed " + packed.name, packed.name + ".gz", func(size int) []byte {
			var out bytes.Buffer
			z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
			_, _ = z.Write(text(5 * size))
			_ = z.Close()
			return out.Bytes()
		}, ""})
	}
	return files
}

// TestHostileKinds checks that small files of every kind in which some count is large take no more than 300 MB, and seconds.
// SFSTAT_CALIBRATE=1 takes files of 5 MB through all commands.
func TestHostileKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	size, every := 500_000, os.Getenv("SFSTAT_CALIBRATE") != ""
	if every {
		size = 5_000_000
	}
	for _, f := range hostileFiles() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			in := filepath.Join(folder, f.file)
			if err := os.WriteFile(in, f.make(size), 0o600); err != nil {
				t.Fatal(err)
			}
			commands := []string{"diagnose"}
			if every {
				commands = append(strings.Fields("diagnose report batch inspect convert"), strings.Fields(f.commands)...)
			}
			for _, name := range commands {
				args := []string{name, in}
				if ext := map[string]string{"report": ".html", "batch": ".csv", "convert": ".parquet"}[name]; ext != "" {
					args = append(args, "-o", filepath.Join(folder, "out"+ext))
				}
				cmd := exec.Command("sfstat", args...)
				cmd.Env, cmd.Stdout = append(os.Environ(), "GOGC=100"), io.Discard
				var said bytes.Buffer
				cmd.Stderr = &said
				kB := int64(0)
				code := exitOf(runMeasured(cmd, &kB))
				took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				info, _ := os.Stat(in)
				t.Logf("| %s | %s | %.1f MB | %.1f s | %d MB | %d | %.150s", f.name, name, float64(info.Size())/1e6, took.Seconds(), kB/1000, code, said.String())
				if code != exitDone && code != exitBadInput || kB > 300_000 || took > 20*time.Second {
					t.Errorf("%s: exit code %d, %d MB, %v: %.300s", name, code, kB/1000, took, said.String())
				}
			}
		})
	}
}
