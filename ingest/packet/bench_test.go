package packet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
)

// shapes of the benchmarks: the recorder's usual window, and a long one.
var shapes = []ingesttest.Shape{{Ranks: 8, Steps: 30, Stages: 5}, {Ranks: 128, Steps: 600, Stages: 6}}

// corpus are packets of about 20 MB, window-major, and how many durations and
// wall times they hold.
func corpus(shape ingesttest.Shape) (text []byte, values int) {
	n := max(1, 2_000_000/(shape.Ranks*shape.Steps*(shape.Stages+1)))
	for _, w := range ingesttest.Windows(1, n, shape) {
		for r := range w.Ranks {
			text = append(appendPacket(text, w.Part(r)), '\n')
		}
		values += len(w.Durations) + len(w.Wall)
	}
	return text, values
}

// BenchmarkRead compares, on the same packets: a plain scan for lines, which
// bounds what any reader can do; the decoder alone; the reader with joining;
// and encoding/json into structs.
func BenchmarkRead(b *testing.B) {
	for _, shape := range shapes {
		text, values := corpus(shape)
		run := func(reader string, read func() int) {
			b.Run(fmt.Sprintf("ranks=%d/steps=%d/stages=%d/reader=%s", shape.Ranks, shape.Steps, shape.Stages, reader), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if n := read(); n != values {
						b.Fatalf("%d values, want %d", n, values)
					}
				}
				b.ReportMetric(float64(values)*float64(b.N)/b.Elapsed().Seconds(), "durations/s")
			})
		}
		run("lines", func() int {
			s := bufio.NewScanner(bytes.NewReader(text))
			s.Buffer(nil, 1<<24)
			for s.Scan() {
			}
			return values
		})
		run("decode", func() (n int) {
			s := stream{lines: ingest.NewLines(bytes.NewReader(text), "", ingest.Limits{}, nil), limit: 1 << 20}
			p := &trace.Part{}
			for s.readPacket(p) == nil {
				n += len(p.Durations) + len(p.Wall)
			}
			return n
		})
		run("windows", func() int { return readAll(bytes.NewReader(text)) })
		run("json", func() (n int) {
			for line := range bytes.Lines(text) {
				var p packetJSON
				if err := json.Unmarshal(line, &p); err != nil {
					b.Fatal(err)
				}
				for _, step := range p.Durations {
					n += len(step)
				}
				n += len(p.Wall)
			}
			return n
		})
	}
}

func readAll(in io.Reader) (n int) {
	r := NewReader([]Stream{{Name: "x", R: in}}, Options{})
	defer r.Close()
	for {
		w, err := r.Next()
		if err != nil {
			return n
		}
		n += len(w.Durations) + len(w.Wall)
	}
}

// BenchmarkCompressed reads windows out of compressed packets; MB/s are of the
// text.
func BenchmarkCompressed(b *testing.B) {
	text, values := corpus(shapes[1])
	for _, stored := range []string{string(text), ingesttest.Gzip(b, string(text)), ingesttest.Zstd(b, string(text))} {
		src, err := ingest.NewSource(strings.NewReader(stored), "x", ingest.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		src.Close()
		for _, join := range []bool{false, true} {
			b.Run(fmt.Sprintf("stored=%s/join=%t", src.Compression(), join), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					src, err := ingest.NewSource(strings.NewReader(stored), "x", ingest.Limits{})
					if err != nil {
						b.Fatal(err)
					}
					if !join {
						io.Copy(io.Discard, src)
					} else if n := readAll(src); n != values {
						b.Fatalf("%d values, want %d", n, values)
					}
					src.Close()
				}
				b.ReportMetric(float64(len(stored))/float64(len(text)), "stored/text")
			})
		}
	}
}

// BenchmarkFiles reads one window-major file, and the same packets in one file
// per rank.
func BenchmarkFiles(b *testing.B) {
	text, values := corpus(shapes[0])
	perRank := make([]strings.Builder, shapes[0].Ranks)
	i := 0
	for line := range bytes.Lines(text) {
		perRank[i%len(perRank)].Write(line)
		i++
	}
	for _, files := range []int{1, len(perRank)} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				streams := []Stream{{Name: "x", R: bytes.NewReader(text)}}
				if files > 1 {
					streams = streams[:0]
					for i := range perRank {
						streams = append(streams, Stream{Name: fmt.Sprint(i), R: strings.NewReader(perRank[i].String())})
					}
				}
				n := 0
				r := NewReader(streams, Options{})
				for {
					w, err := r.Next()
					if err != nil {
						break
					}
					n += len(w.Durations) + len(w.Wall)
				}
				if n != values {
					b.Fatalf("%d values, want %d", n, values)
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, shape := range shapes {
		windows := ingesttest.Windows(1, 1, shape)
		b.Run(fmt.Sprintf("ranks=%d/steps=%d/stages=%d", shape.Ranks, shape.Steps, shape.Stages), func(b *testing.B) {
			var size counter
			w := NewWriter(&size)
			for b.Loop() {
				if err := w.Write(windows[0]); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(size) / int64(b.N))
		})
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
