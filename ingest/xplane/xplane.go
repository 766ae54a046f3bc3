// Package xplane reads profiles of JAX, TensorFlow and PyTorch/XLA: XSpace messages
// (.xplane.pb), one file for each process.
//
// A file is planes, a plane is lines, a line is events: /host:CPU has a line for every thread, and
// /device:… one for every stream. What names an event stands behind the events of its plane, so a
// file is read twice: names first, then events, which [profiler.Builder] reduces. It is taken
// from its wire format as it comes, and nothing is held but names and what the builder keeps; unknown
// fields are passed over. Field numbers: xplane.proto of OpenXLA (tsl/profiler/protobuf).
//
// # What counts
//
//   - A range with the stat step_num is that step: jax.profiler.StepTraceAnnotation, and
//     tf.profiler.experimental.Trace. Without any, each call of the jitted function that takes
//     most time is a step.
//   - A range of the host that [stagemap] knows is a stage, as jax.profiler.TraceAnnotation("data").
//     Calls of jitted functions and tf.functions outside of these are the stage [Compute].
//   - Events of streams, of the line XLA Ops, and events of the host with the stat hlo_op, as the
//     CPU backend writes them, are device work; of TensorFlow on a CPU, those named NAME:OP.
//     Work belongs to the launch that its correlation_id names, else to the last call that was
//     dispatched before it began.
//
// Times are picoseconds from the beginning of a line, which counts from the beginning of the
// session; the plane Task Environment tells when that was.
package xplane

import (
	"bytes"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// Compute is the stage of jitted functions, which may hold forward pass, backward pass, reduction
// of gradients and optimizer in one.
const Compute = "model.jit_cpu_wall"

// Options of Read. The zero value is usable.
type Options struct {
	Stages *stagemap.Map // leads annotations to stages, nil: as is built in
	Detail profiler.Detail
}

// Recognise reports whether head, the beginning of a file, is that of an XSpace: a plane
// with a name as profilers give it.
func Recognise(head []byte) bool {
	number, kind, n := protowire.ConsumeTag(head)
	if n < 0 || number != 1 || kind != protowire.BytesType {
		return false
	}
	head = head[n:]
	if _, n = protowire.ConsumeVarint(head); n < 0 { // the length of the plane, of which head may be a part
		return false
	}
	for head = head[n:]; ; head = head[n:] {
		number, kind, n = protowire.ConsumeField(head)
		switch {
		case n < 0:
			return false
		case number == 1 && kind == protowire.VarintType: // id
			continue
		case number != 2 || kind != protowire.BytesType:
			return false
		}
		_, _, tag := protowire.ConsumeTag(head)
		name, _ := protowire.ConsumeBytes(head[tag:])
		return slices.ContainsFunc([]string{"/host:", "/device:", "Task Environment", "/metadata"}, func(p string) bool { return bytes.HasPrefix(name, []byte(p)) })
	}
}

// Read reads a profile, which open opens from its beginning; name stands in errors and notes. A
// file that ends too early gives what came before, if the names are there that its events need.
// O(size) time, twice.
func Read(open func() (io.ReadCloser, error), name string, o Options) (*profile.Rank, error) {
	m := o.Stages
	if m == nil {
		m = stagemap.Default()
	}
	if m.Index(Compute) < 0 {
		m = m.AddStage(Compute)
	}
	r := &reader{b: profiler.NewBuilder(m, o.Detail)}
	defer r.b.Discard()
	for _, pass := range []func(*wire) error{r.names, r.events} {
		src, err := open()
		if err != nil {
			return nil, err
		}
		err = pass(newWire(src))
		if closing := src.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return nil, input.At(input.Pos{File: name}, err)
		}
	}
	r.tell()
	rank, err := r.b.Finish()
	if err != nil {
		return nil, input.At(input.Pos{File: name}, err)
	}
	rank.Source, rank.Host = name, r.host
	if r.began != 0 {
		rank.Shift(r.began)
	}
	if len(rank.Steps) == 0 {
		return nil, input.At(input.Pos{File: name}, r.errNoSteps())
	}
	return rank, nil
}

func (r *reader) errNoSteps() error {
	switch {
	case r.cut >= 0:
		return input.Bad(input.ErrTruncated, "a profile that ends at byte %d, before the names of its events: the job was probably killed while it wrote", r.cut)
	case r.count > 0:
		return input.Bad(input.ErrEmpty, "no step, stage or operation in its %d events: mark steps with jax.profiler.StepTraceAnnotation(\"train\", step_num=i), or name annotations of your own in a stage map", r.count)
	}
	return input.Bad(input.ErrEmpty, "a profile without events: was anything run while the profiler was on?")
}

// tell turns what was met into notes.
func (r *reader) tell() {
	if r.cut >= 0 {
		r.b.Note(input.NoteTruncated, "the profile ends at byte %d, in the middle of a message: what came before is used", r.cut)
	}
	if r.unnamed > 0 {
		r.b.Note(input.NoteRecorder, "events whose name is not in the file, and left out: %d", r.unnamed)
	}
	if r.steps == 0 && r.count > 0 {
		r.jitSteps()
	}
}
