package xplane

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// fixture is a recorded profile, uncompressed.
func fixture(t testing.TB, name string) []byte {
	f, err := os.Open(filepath.Join("../../fixtures/xplane", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(data []byte) (*profile.Rank, error) {
	return Read(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, "x.xplane.pb", Options{Detail: profiler.EachOperator})
}

// in is the time that a rank spends in a stage of each step, ns.
func in(r *profile.Rank, stage string) (all []int64) {
	for _, s := range r.Steps {
		sum := int64(0)
		for _, span := range s.Spans {
			if r.Stages[span.Stage] == stage {
				sum += span.End - span.Start
			}
		}
		all = append(all, sum)
	}
	return all
}

// TestRecorded: real profiles have the steps that were marked, and in them the time that was slept.
func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		name        string
		steps       int
		least, most int64 // of the data stage, ns
		collective  nccl.Op
		began       int64 // at least, ns since 1970
	}{
		{"jax4/rank0.xplane.pb.gz", 10, 3e6, 9e6, nccl.AllReduce, 1795e15},
		{"jax4/rank2.xplane.pb.gz", 10, 15e6, 30e6, nccl.AllReduce, 1795e15},
		{"tf3/worker-0.xplane.pb.gz", 12, 2e6, 9e6, nccl.UnknownOp, 1795e15},
		{"tf3/worker-1.xplane.pb.gz", 12, 6e6, 15e6, nccl.UnknownOp, 1795e15},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := fixture(t, c.name)
			if !Recognise(data[:200]) {
				t.Error("not recognised")
			}
			r, err := read(data)
			if err != nil {
				t.Fatal(err)
			}
			slept := in(r, "data.next_wait")
			if len(slept) != c.steps || slices.Min(slept) < c.least {
				t.Errorf("%d steps, the data stage takes %v, expected %d of %d ns at least", len(slept), slept, c.steps, c.least)
			}
			if slices.Sort(slept); slept[len(slept)/2] > c.most {
				t.Errorf("the data stage takes %v, expected a median of %d ns at most", slept, c.most)
			}
			if compute := in(r, Compute); slices.Min(compute) <= 0 {
				t.Errorf("calls of the jitted function take %v, expected some time in every step", compute)
			}
			if r.Steps[0].Start < c.began {
				t.Errorf("the first step begins at %d, expected a time since 1970", r.Steps[0].Start)
			}
			if len(r.Ops) == 0 {
				t.Error("no operation")
			}
			if found := slices.ContainsFunc(r.Comm.Calls, func(x comms.Call) bool { return x.Op == nccl.AllReduce }); found != (c.collective == nccl.AllReduce) {
				t.Errorf("an all-reduce: %v", found)
			}
		})
	}
}

// TestCut: wherever a file ends, that is said with the byte, and what there is of it is used or
// refused.
func TestCut(t *testing.T) {
	data := fixture(t, "jax4/rank0.xplane.pb.gz")
	used := 0
	for at := 1; at < len(data); at += 97 {
		r, err := read(data[:at])
		switch {
		case err == nil:
			used++
			if !slices.ContainsFunc(r.Notes, func(n input.Note) bool { return n.Kind == input.NoteTruncated }) && at < len(data)-2000 {
				t.Fatalf("cut at %d, no note says so: %v", at, r.Notes)
			}
		case !errors.Is(err, input.ErrTruncated) && !errors.Is(err, input.ErrEmpty):
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
	if used == 0 {
		t.Error("no part of the file is of use")
	}
}

// message builds a protocol buffer.
type message []byte

func (m message) number(field int, x uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), x)
}

func (m message) bytes(field int, b []byte) message {
	return append(binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|uint64(protowire.BytesType)), uint64(len(b))), b...)
}

// named is an entry of a map of names.
func named(id uint64, name string) []byte {
	return message(nil).number(1, id).bytes(2, message(nil).number(1, id).bytes(2, []byte(name)))
}

// gpu is a profile as XLA writes it with a GPU: three steps of 10 ms, in each a launch after
// 1 ms whose kernel runs from 2 to 7 ms, on a device whose lines of modules repeat it.
func gpu(marked bool) []byte {
	const ms = 1e9 // ps
	var thread, stream, modules message
	thread = thread.number(1, 7).bytes(2, []byte("main")).number(3, 0)
	stream = stream.number(1, 1).bytes(2, []byte("Stream #13(Compute)")).number(3, 0)
	modules = modules.number(1, 2).bytes(2, []byte("XLA Modules")).number(3, 0)
	for i := range uint64(3) {
		at := i * 10 * ms
		event := func(id, start, length uint64, stats ...[]byte) []byte {
			e := message(nil).number(1, id).number(2, at+start).number(3, length)
			for _, s := range stats {
				e = e.bytes(4, s)
			}
			return e
		}
		if marked {
			thread = thread.bytes(4, event(1, 0, 9*ms, message(nil).number(1, 1).number(4, i+5)))
		}
		thread = thread.bytes(4, event(2, ms/2, ms, nil)).bytes(4, event(3, ms, ms/10, message(nil).number(1, 2).number(3, i+100)))
		stream = stream.bytes(4, event(1, 2*ms, 5*ms, message(nil).number(1, 2).number(3, i+100)))
		modules = modules.bytes(4, event(1, 2*ms, 5*ms))
	}
	host := message(nil).number(1, 1).bytes(2, []byte("/host:CPU")).bytes(3, thread).
		bytes(4, named(1, "train")).bytes(4, named(2, "PjitFunction(step)")).bytes(4, named(3, "cuLaunchKernel")).
		bytes(5, named(1, "step_num")).bytes(5, named(2, "correlation_id"))
	device := message(nil).number(1, 2).bytes(2, []byte("/device:GPU:0")).bytes(3, stream).bytes(3, modules).
		bytes(4, named(1, "fusion_3")).bytes(5, named(2, "correlation_id"))
	return message(nil).bytes(1, host).bytes(1, device).bytes(4, []byte("h2"))
}

func TestGPU(t *testing.T) {
	for _, marked := range []bool{true, false} {
		t.Run(fmt.Sprint("marked=", marked), func(t *testing.T) {
			r, err := read(gpu(marked))
			if err != nil {
				t.Fatal(err)
			}
			first, steps := int64(5), 3
			if !marked { // from call to call
				first, steps = 0, 2
			}
			if len(r.Steps) != steps || r.Steps[0].Index != first || r.Host != "h2" {
				t.Fatalf("%d steps from %d on host %q, expected %d from %d on h2", len(r.Steps), r.Steps[0].Index, r.Host, steps, first)
			}
			if c := r.Steps[1].Time; c == nil || c.Compute != 5e6 {
				t.Errorf("the device account is %+v, expected 5 ms of compute", c)
			}
			if op := r.Ops[0]; r.Names[op.Name] != "fusion_3" || op.End-op.Start != 5e6 || r.Stages[op.Stage] != Compute {
				t.Errorf("%+v (%s, %s), expected 5 ms of fusion_3 in %s", op, r.Names[op.Name], r.Stages[op.Stage], Compute)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	huge := message(nil).bytes(1, message(nil).bytes(2, []byte("/host:CPU")))
	huge = append(huge, 1<<3|byte(protowire.BytesType), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01) // a plane of 2^64−1 bytes
	for _, c := range []struct {
		name string
		data []byte
		kind error
	}{
		{"nothing", nil, input.ErrEmpty},
		{"a plane longer than any file", huge, input.ErrFormat},
		{"wire type 7", []byte{0x0f, 0}, input.ErrFormat},
		{"a number that does not end", bytes.Repeat([]byte{0xff}, 40), input.ErrFormat},
		{"a field beyond its message", message(nil).bytes(1, []byte{2<<3 | byte(protowire.BytesType), 100, 'x'}), input.ErrFormat},
		{"no events", message(nil).bytes(1, message(nil).bytes(2, []byte("/host:CPU"))), input.ErrEmpty},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := read(c.data); !errors.Is(err, c.kind) {
				t.Errorf("%v, expected %v", err, c.kind)
			}
		})
	}
}

// TestLongNames: a name of 128 bytes and more has a length of two bytes, and a byte from 128 on is no length by itself.
func TestLongNames(t *testing.T) {
	for n := 126; n <= 255; n++ {
		name := append([]byte("/host:"), bytes.Repeat([]byte("A"), n-len("/host:"))...)
		if !Recognise(message(nil).bytes(1, message(nil).bytes(2, name))) {
			t.Errorf("a plane whose name has %d bytes is not recognised", n)
		}
		head := append([]byte{1<<3 | byte(protowire.BytesType), 5, 2<<3 | byte(protowire.BytesType), byte(n)}, bytes.Repeat([]byte("A"), 300)...)
		if Recognise(head) {
			t.Errorf("300 bytes after the length byte %d are taken for the name of a plane", n)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(gpu(true))
	f.Add(gpu(false))
	f.Fuzz(func(t *testing.T, data []byte) {
		Recognise(data)
		if r, err := read(data); err == nil && len(r.Steps) == 0 {
			t.Error("neither an error nor a step")
		}
	})
}
