package nccllog

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
)

// jobLog is n calls as a first rank logs them, each with its tuning line.
func jobLog(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		head := fmt.Sprintf("1766084876.%06d csg-rivulet27:770549:770549 [0] NCCL INFO ", i%1000000)
		fmt.Fprintf(&b, "%sAllReduce: opCount %x sendbuff 0x7f19da180000 recvbuff 0x7f19da180000 count 1048576 datatype 6 op 0 root 0 comm 0x55dd67a6f9d0 [nranks=4] stream 0x55dd67a71160\n", head, i)
		fmt.Fprintf(&b, "%sAllReduce: 2097152 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}\n", head)
	}
	return b.Bytes()
}

// BenchmarkRead tells MB/s beside a plain scan of the same lines.
func BenchmarkRead(b *testing.B) {
	text := jobLog(50000)
	b.Run("by=bufio", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			lines := 0
			for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
				lines++
			}
			if lines != 100000 {
				b.Fatal(lines)
			}
		}
	})
	b.Run("by=reader", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			calls := 0
			for r := logline.NewReader(bytes.NewReader(text), "job.log", ingest.Limits{}); r.Scan(); {
				if r.Record().Kind == logline.CallLine {
					calls++
				}
			}
			if calls != 50000 {
				b.Fatal(calls)
			}
		}
	})
	b.Run("by=builder", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			src, err := ingest.NewSource(bytes.NewReader(text), "job.log", ingest.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			build := NewBuilder(ingest.Limits{})
			if err := build.Read(src, "job.log"); err != nil {
				b.Fatal(err)
			}
			if n := len(build.Comm().Calls); n != 50000 {
				b.Fatal(n)
			}
		}
	})
}
