package xplane

import (
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// span is time on a thread.
type span struct{ thread, start, end int64 }

// line is a thread, or a stream.
type line struct {
	id    int64
	name  string
	start int64 // ns
	skip  bool
}

// derived are lines of devices that repeat others, by steps, modules or scopes.
var derived = []string{"Steps", "XLA Modules", "XLA TraceMe", "TensorFlow Name Scope", "TensorFlow Ops", "Framework Name Scope", "Framework Ops", "Source code", "Scalar Unit", "SparseCore Steps", "SparseCore Modules"}

// events returns the second reading. The first knows where the input ends too early.
func (r *reader) events(w *wire) error {
	r.jitted = make(map[string][]span)
	at := -1
	err := w.eachField(whole, func(f field) error {
		if f.number != 1 || f.kind != protowire.BytesType {
			return nil
		}
		if at++; at >= len(r.planes) || r.planes[at].kind == otherPlane {
			return nil
		}
		p := &r.planes[at]
		return w.eachField(w.at+int64(f.value), func(f field) error {
			if f.number == 3 && f.kind == protowire.BytesType {
				return r.line(w, at, p, w.at+int64(f.value))
			}
			return nil
		})
	})
	if errors.Is(err, errCut) {
		err = nil
	}
	return err
}

func (r *reader) line(w *wire, at int, p *plane, end int64) error {
	l := line{}
	return w.eachField(end, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			l.id = int64(f.value)
		case f.number == 2 && f.kind == protowire.BytesType:
			err := w.text(f, &l.name)
			l.skip = p.kind == devicePlane && slices.ContainsFunc(derived, func(d string) bool { return strings.HasPrefix(l.name, d) })
			return err
		case f.number == 3 && f.kind == protowire.VarintType:
			l.start = int64(f.value)
		case f.number == 4 && f.kind == protowire.BytesType && !l.skip:
			return r.event(w, at, p, &l, w.at+int64(f.value))
		}
		return nil
	})
}

// latest bounds the times that are taken, ns, so that nothing overflows.
const latest = 1 << 61

// event reads one event and hands it on.
func (r *reader) event(w *wire, at int, p *plane, l *line, end int64) error {
	var m metadata
	var known bool
	var offset, length int64
	var step, corr stat
	var op string
	called := false // a tf.function
	err := w.eachField(end, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			m, known = p.events[int64(f.value)]
		case f.number == 2 && f.kind == protowire.VarintType:
			offset = int64(f.value)
		case f.number == 3 && f.kind == protowire.VarintType:
			length = int64(f.value)
		case f.number == 4 && f.kind == protowire.BytesType:
			s, err := r.stat(w, p, w.at+int64(f.value))
			switch s.kind {
			case stepNumber:
				step = s
			case correlation:
				corr = s
			case hloOp:
				op = s.text
			case functionCall:
				called = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	start := l.start + offset/1000
	if !known || offset < 0 || length < 0 || l.start < -latest || start > latest || length/1000 > latest {
		r.unnamed++
		return nil
	}
	r.count++
	s := span{thread: l.id<<8 ^ int64(at), start: start, end: start + length/1000}
	switch {
	case step.kind == stepNumber && p.kind == hostPlane:
		r.steps++
		r.b.Range(r.b.Name([]byte("ProfilerStep#"+strconv.FormatInt(max(0, step.number), 10))), s.thread, s.start, s.end)
	case op != "" && p.kind == hostPlane:
		r.work(r.b.Name([]byte(op)), s, 0)
	case m.class == deviceOp:
		r.work(m.id, s, corr.number)
	case m.class == tfOp && !strings.HasPrefix(l.name, "python"):
		r.work(m.id, s, 0)
	case called:
		r.handOver(s.start)
		r.b.Range(r.b.Name([]byte(Compute)), s.thread, s.start, s.end)
	case corr.number > 0:
		r.b.Launch(s.thread, corr.number, s.start, profiler.LaunchesOne)
	default:
		r.addRange(m, s)
	}
	return nil
}

// addRange takes a range of the host.
func (r *reader) addRange(m metadata, s span) {
	switch m.class {
	case jit:
		if r.handOver(s.start) {
			all := r.jitted[m.name]
			if n := len(all); n == 0 || all[n-1].thread != s.thread || s.start >= all[n-1].end { // calls of it nest in themselves
				r.jitted[m.name] = append(all, s)
			}
		}
		r.b.Range(r.b.Name([]byte(Compute)), s.thread, s.start, s.end)
	case dispatch:
		r.handOver(s.start)
	case ranged:
		if r.b.Matters(m.id) {
			r.b.Range(m.id, s.thread, s.start, s.end)
		}
	}
}

// handOver notes when work was handed over; false: there are too many.
func (r *reader) handOver(at int64) bool {
	n := len(r.dispatched)
	if n >= maxDispatched {
		return false
	}
	r.unsorted = r.unsorted || n > 0 && at < r.dispatched[n-1]
	r.dispatched = append(r.dispatched, at)
	return true
}

// maxDispatched bounds the calls that are remembered.
const maxDispatched = 1 << 21

// own marks the correlations that are made here: those of profilers have 32 bits.
const own = 1 << 40

// work takes an operation. Without a correlation it is taken to be launched by the last call
// that was dispatched before it began.
func (r *reader) work(id profiler.NameID, s span, correlation int64) {
	r.works++
	if correlation <= 0 {
		correlation = own + r.works
		at := s.start
		if r.unsorted {
			slices.Sort(r.dispatched)
			r.unsorted = false
		}
		if i := sort.Search(len(r.dispatched), func(i int) bool { return r.dispatched[i] > s.start }); i > 0 {
			at = r.dispatched[i-1]
		}
		r.b.Launch(-1, correlation, at, profiler.LaunchesOne) // by a thread that is not known
	}
	w := profiler.Work{Name: id, Queue: s.thread, Start: s.start, End: s.end, Correlation: correlation, Kind: r.b.KindOf(id)}
	if name := r.b.Text(id); isCollective(name) {
		w.Kind = profiler.Communication
	} else if strings.HasPrefix(name, "Memcpy") || strings.HasPrefix(name, "Memset") {
		w.Kind = profiler.Memory
	}
	r.b.Work(w)
}

// collectives are the operations of HLO that communicate; those that begin and end
// asynchronously have -start and -done behind them.
var collectives = []string{"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast", "ragged-all-to-all"}

func isCollective(name string) bool {
	return slices.ContainsFunc(collectives, func(c string) bool { return strings.HasPrefix(name, c) }) && nccl.OpIn(name) != nccl.UnknownOp
}

// jitSteps makes steps of the calls of the jitted function that takes most time, where nothing
// marks steps: each from its call to the next.
func (r *reader) jitSteps() {
	best, most := "", int64(0)
	for name, calls := range r.jitted {
		sum := int64(0)
		for _, c := range calls {
			sum += c.end - c.start
		}
		if len(calls) > 2 && (sum > most || sum == most && name < best) {
			best, most = name, sum
		}
	}
	calls := r.jitted[best]
	if len(calls) < 3 {
		return
	}
	slices.SortFunc(calls, func(a, b span) int { return int(min(1, max(-1, a.start-b.start))) })
	for i, c := range calls[:len(calls)-1] {
		r.b.Range(r.b.Name([]byte("ProfilerStep#"+strconv.Itoa(i))), calls[0].thread, c.start, calls[i+1].start)
	}
	r.b.Note(input.NoteRecorder, "nothing marks steps (jax.profiler.StepTraceAnnotation): each is taken to begin with a call of %s, %d of them", best, len(calls)-1)
}
