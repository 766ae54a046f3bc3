package kineto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
)

// corpus is a trace as Kineto prints it, and how many events it has: operators
// and annotations, then for each launch the call, the kernel and the flow
// between them, in the shares that a ResNet on an A100 has.
func corpus(steps int) (text []byte, events int) {
	var b bytes.Buffer
	b.WriteString("{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 2},\n  \"traceEvents\": [\n")
	add := func(format string, args ...any) {
		if events > 0 {
			b.WriteString(",\n")
		}
		events++
		fmt.Fprintf(&b, format, args...)
	}
	const perStep = 1000
	for s := range steps {
		at := 4458676416788 + 200_000*s
		add("  {\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%d\", \"pid\": 2910249, \"tid\": 2910249,\n    \"ts\": %d.066, \"dur\": 199000.191\n  }", s, at)
		add("  {\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"DistributedDataParallel.forward\", \"pid\": 2910249, \"tid\": 2910249,\n    \"ts\": %d.066, \"dur\": 90000.191\n  }", at+10)
		for i := range perStep {
			id, t := s*perStep+i+1, at+20+i*150
			for k := range 3 {
				add("  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 2910249, \"tid\": 2910249,\n    \"ts\": %d.342, \"dur\": 31.205,\n    \"args\": {\n      \"External id\": %d,\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", \"[]\", \"False\"], \"Input type\": [\"float\", \"float\", \"ScalarList\", \"Scalar\"], \"Input Dims\": [[64, 256, 56, 56], [64, 256, 1, 1], [], []], \"Ev Idx\": %d\n    }\n  }",
					[]string{"aten::conv2d", "aten::_convolution", "cudnn_batch_norm"}[k], t+k, id, id)
			}
			add("  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 2910249, \"tid\": 2910249,\n    \"ts\": %d.119, \"dur\": 7.121,\n    \"args\": {\n      \"External id\": %d, \"cbid\": 211, \"correlation\": %d\n    }\n  }", t+10, id, id)
			add("  {\n    \"ph\": \"s\", \"id\": %d, \"pid\": 2910249, \"tid\": 2910249, \"ts\": %d.119,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }", id, t+10)
			add("  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>(cudnn::ops::nchw2nhwc_params_t<float>, float const*, float*)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %d.700, \"dur\": 25.151,\n    \"args\": {\n      \"External id\": %d,\n      \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": %d,\n      \"registers per thread\": 32,\n      \"shared memory\": 4224,\n      \"blocks per SM\": 58.074074,\n      \"warps per SM\": 464.592590,\n      \"grid\": [98, 4, 16],\n      \"block\": [256, 1, 1],\n      \"est. achieved occupancy %%\": 100\n    }\n  }", t+20, id, id)
			add("  {\n    \"ph\": \"f\", \"id\": %d, \"pid\": 0, \"tid\": 7, \"ts\": %d.700,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }", id, t+20)
		}
	}
	b.WriteString("\n  ],\n  \"traceName\": \"/tmp/tmp.json\"\n}\n")
	return b.Bytes(), events
}

// BenchmarkRead compares, on the same trace: looking for line ends, which
// bounds what any reader can do; this reader, of plain text and of gzip;
// decompressing alone; and encoding/json into structs of the same members.
func BenchmarkRead(b *testing.B) {
	text, events := corpus(15)
	packed := ingesttest.Gzip(b, string(text))
	run := func(reader string, read func() error) {
		b.Run("reader="+reader, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
	unpack := func() (*ingest.Source, error) {
		return ingest.NewSource(bytes.NewReader([]byte(packed)), "x", ingest.Limits{})
	}
	run("lines", func() error { bytes.Count(text, []byte("\n")); return nil })
	run("kineto", func() error { _, err := Read(bytes.NewReader(text), "x", Options{}); return err })
	run("gunzip", func() error {
		src, err := unpack()
		if err != nil {
			return err
		}
		defer src.Close()
		_, err = io.Copy(io.Discard, src)
		return err
	})
	run("kineto-gzip", func() error {
		src, err := unpack()
		if err != nil {
			return err
		}
		defer src.Close()
		_, err = Read(src, "x", Options{})
		return err
	})
	run("json", func() error {
		var doc struct {
			TraceEvents []struct {
				Ph, Cat, Name string
				Pid, Tid      any
				Ts, Dur       json.Number
				Args          map[string]any
			}
		}
		return json.Unmarshal(text, &doc)
	})
}
