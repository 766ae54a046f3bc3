package xplane

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace/input"
)

// reader takes a profile apart.
type reader struct {
	b        *profiler.Builder
	planes   []plane
	metadata int // of all planes
	began    int64
	host     string
	cut      int64 // where the input ends too early, −1: it does not

	count   int64
	unnamed int64
	steps   int64
	works   int64
	// Calls of jitted functions: by name, and all by start.
	jitted     map[string][]span
	dispatched []int64
	unsorted   bool // dispatched is
}

// plane is what the first reading keeps of a plane.
type plane struct {
	name   string
	kind   planeKind
	events map[int64]metadata
	stats  map[int64]statKind
	texts  map[int64]string // values that stats refer to
}

type planeKind uint8

const (
	otherPlane planeKind = iota
	hostPlane
	devicePlane
)

// metadata is what the events of a name have in common.
type metadata struct {
	name  string
	class class
	id    profiler.NameID // of ranges and operations
}

// statKind is a stat that is used.
type statKind uint8

const (
	unusedStat statKind = iota
	stepNumber
	hloOp
	correlation
	profileStart
	functionCall
)

var statKinds = map[string]statKind{"step_num": stepNumber, "hlo_op": hloOp, "correlation_id": correlation, "profile_start_time": profileStart, "tf_function_call": functionCall}

// Limits of what names take.
const (
	maxMetadata = 1 << 21
	maxPlanes   = 1 << 12
)

// names returns the first reading.
func (r *reader) names(w *wire) error {
	r.cut = -1
	err := w.eachField(whole, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			if len(r.planes) >= maxPlanes {
				return input.Bad(input.ErrTooLarge, "more than %d planes", maxPlanes)
			}
			r.planes = append(r.planes, plane{events: make(map[int64]metadata), stats: make(map[int64]statKind), texts: make(map[int64]string)})
			return r.plane(w, &r.planes[len(r.planes)-1], w.at+int64(f.value))
		case f.number == 4 && f.kind == protowire.BytesType && r.host == "":
			return w.text(f, &r.host)
		}
		return nil
	})
	if errors.Is(err, errCut) {
		r.cut, err = w.at, nil
	}
	return err
}

// plane reads the names of a plane. Its stats are read last, when their names are known.
func (r *reader) plane(w *wire, p *plane, end int64) error {
	return w.eachField(end, func(f field) error {
		if f.kind != protowire.BytesType {
			return nil
		}
		switch f.number {
		case 2:
			err := w.text(f, &p.name)
			switch {
			case strings.HasPrefix(p.name, "/host:CPU"):
				p.kind = hostPlane
			case strings.HasPrefix(p.name, "/device:"):
				p.kind = devicePlane
			}
			return err
		case 4:
			return r.entry(w, w.at+int64(f.value), func(end int64) error { return r.eventMetadata(w, p, end) })
		case 5:
			return r.entry(w, w.at+int64(f.value), func(end int64) error { return r.statMetadata(w, p, end) })
		case 6:
			s, err := r.stat(w, p, w.at+int64(f.value))
			if s.kind == profileStart && s.number > 0 && s.number < 1<<62 {
				r.began = s.number
			}
			return err
		}
		return nil
	})
}

// entry reads an entry of a map, of which value reads the value.
func (r *reader) entry(w *wire, end int64, value func(end int64) error) error {
	if r.metadata++; r.metadata > maxMetadata {
		return input.Bad(input.ErrTooLarge, "more than %d names", maxMetadata)
	}
	return w.eachField(end, func(f field) error {
		if f.number == 2 && f.kind == protowire.BytesType {
			return value(w.at + int64(f.value))
		}
		return nil
	})
}

func (r *reader) eventMetadata(w *wire, p *plane, end int64) error {
	id, m := int64(0), metadata{}
	err := w.eachField(end, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			id = int64(f.value)
		case (f.number == 2 || f.number == 4 && m.name == "") && f.kind == protowire.BytesType:
			return w.text(f, &m.name)
		}
		return nil
	})
	if p.kind != otherPlane {
		m.class = classOf(m.name, p.kind)
		if m.class != ignored {
			m.id = r.b.Name([]byte(m.name))
		}
		p.events[id] = m
	}
	return err
}

func (r *reader) statMetadata(w *wire, p *plane, end int64) error {
	id, name := int64(0), ""
	err := w.eachField(end, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			id = int64(f.value)
		case f.number == 2 && f.kind == protowire.BytesType:
			return w.text(f, &name)
		}
		return nil
	})
	if kind := statKinds[name]; kind != unusedStat {
		p.stats[id] = kind
	} else {
		p.texts[id] = name
	}
	return err
}

// stat is a value of an event or plane.
type stat struct {
	kind   statKind
	number int64
	text   string
}

// stat reads one. Values come behind the number of their kind.
func (r *reader) stat(w *wire, p *plane, end int64) (s stat, err error) {
	err = w.eachField(end, func(f field) error {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			s.kind = p.stats[int64(f.value)]
		case s.kind == unusedStat:
		case (f.number == 3 || f.number == 4) && f.kind == protowire.VarintType:
			s.number = int64(f.value)
		case f.number == 5 && f.kind == protowire.BytesType:
			return w.text(f, &s.text)
		case f.number == 7 && f.kind == protowire.VarintType:
			s.text = p.texts[int64(f.value)]
		}
		return nil
	})
	return s, err
}

// class is what an event is, by its name alone.
type class uint8

const (
	ignored  class = iota // nothing, unless its stats say otherwise
	ranged                // a range of the host
	jit                   // a call of a jitted function
	dispatch              // hands work over
	tfOp                  // an operation of TensorFlow on a CPU
	deviceOp
)

// classOf finds by its name what an event is.
func classOf(name string, kind planeKind) class {
	switch {
	case kind == devicePlane:
		return deviceOp
	case strings.HasPrefix(name, "$"), strings.HasPrefix(name, "end: "): // of Python's tracer; ends of operations
		return ignored
	case strings.HasPrefix(name, "PjitFunction("):
		return jit
	case strings.HasPrefix(name, "EagerExecute"), strings.HasPrefix(name, "TfrtCpuExecutable::Execute"), strings.HasPrefix(name, "PjRt") && strings.Contains(name, "Execute"):
		return dispatch
	}
	scope, op, ok := strings.Cut(name, ":")
	if ok && scope != "" && op != "" && !strings.ContainsAny(name, " (") && !strings.Contains(op, ":") && op[0] >= 'A' && op[0] <= 'Z' {
		return tfOp
	}
	return ranged
}
