package nsight

import (
	"encoding/binary"
	"testing"

	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/ingest/stages"
)

// texts are the strings that fuzzed rows refer to.
var texts = []string{"", "iteration 1", "iteration 2", "forward", "backward", "rank 3", "rank 4", "ncclAllReduce", "NCCL", "gemm",
	"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000", "cudaMemcpyAsync", "Optimizer.step#SGD.step", ":"}

// rows makes rows of bytes, so that a fuzzer works on values and not on pages
// of SQLite: small ones and large ones, and those that are absent.
type rows struct{ data []byte }

func (r *rows) byte() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// number is small most of the time.
func (r *rows) number() int64 {
	switch b := r.byte(); {
	case b < 0xf0:
		return int64(b)
	case b < 0xf8:
		return int64(b&7)<<16 | int64(r.byte())<<8 | int64(r.byte())
	case b < 0xfc:
		var raw [8]byte
		n := copy(raw[:], r.data)
		r.data = r.data[n:]
		return int64(binary.LittleEndian.Uint64(raw[:]))
	}
	return export.Absent
}

// thread is one of a few, of a few processes.
func (r *rows) thread() threadID {
	b := int64(r.byte())
	return threadID(b>>4&3<<24 | b&3)
}

func (r *rows) event() *event {
	types := [...]int64{pushPop, startEnd, mark, domainCreate}
	return &event{start: r.number(), end: r.number(), kind: types[r.byte()&3], thread: r.thread(), domain: r.number(), textID: r.number(), text: texts[r.byte()&15]}
}

func (r *rows) call() *work {
	return &work{start: r.number(), owner: r.thread(), correlation: r.number(), name: r.number()}
}

// activity is of a table after that of the calls.
func (r *rows) activity() (table string, w *work) {
	return timeline[1+r.byte()&3], &work{start: r.number(), end: r.number(), device: r.number(), stream: r.number(),
		correlation: r.number(), owner: r.thread(), name: r.number()}
}

// fuzzed is a recording of the rows that the bytes are.
func fuzzed(data []byte, epoch int64) *recording {
	r := newRecording(new(export.File), "x.sqlite", Options{Stages: stagemap.Default()})
	r.epoch = epoch
	for i, text := range texts {
		r.names[int64(i)] = text
	}
	for in := (rows{data}); len(in.data) > 0; {
		switch in.byte() & 3 {
		case 0:
			r.event(in.event())
		case 1:
			r.call(in.call())
		case 2:
			r.activity(in.activity())
		default:
			e := in.event()
			r.domains[domain{e.thread.process(), e.domain}] = r.textOf(e)
		}
	}
	return r
}

// FuzzRows: no rows make the reader panic, and what it makes of them are ranks
// with numbers of their own, whose windows obey their invariants. It leaves
// SQLite out, which FuzzRead has, and is a thousand times as fast for it.
func FuzzRows(f *testing.F) {
	f.Add([]byte{0, 1, 90, 0, 0, 0, 0, 1, 0, 5, 60, 0, 0, 0, 0, 3, 1, 6, 0, 7, 11, 2, 0, 8, 50, 0, 7, 7, 0, 9, 0xff}, int64(0), []byte{0, 1, 90, 0, 0x10, 0, 0, 1})
	f.Add([]byte{0, 1, 90, 0, 0, 0, 0, 5, 2, 0, 8, 50, 0, 7, 7, 0, 10, 0xff}, int64(1766084870252528232), []byte{0, 1, 0xff, 1, 0, 0, 0, 2})
	f.Fuzz(func(t *testing.T, one []byte, epoch int64, other []byte) {
		var files [][]*process
		for _, data := range [][]byte{one, other} {
			r := fuzzed(data, epoch)
			defer r.discard()
			ranks, err := r.ranks()
			if err != nil {
				t.Fatal(err)
			}
			if len(ranks) > 0 {
				files = append(files, ranks)
			}
		}
		if len(files) == 0 {
			return
		}
		ranks := number(files)
		for i, r := range ranks {
			if r.ID < 0 || i > 0 && r.ID == ranks[i-1].ID {
				t.Fatalf("rank %d has the number %d", i, r.ID)
			}
		}
		divided, err := stages.Divide(ranks, stages.Options{Run: "x", Each: true})
		for _, w := range divided.Windows {
			if err := w.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		if o := divided.Operators; err == nil && len(divided.Windows) == 0 && (o == nil || o.Len() == 0) {
			t.Fatal("neither windows nor operators nor an error")
		}
	})
}
