package xplane

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sfstat/sfstat/trace/input"
)

// wire reads a message from the beginning to the end of an input.
type wire struct {
	r   *bufio.Reader
	at  int64 // byte, from the beginning
	err error // what ended the input
	buf []byte
}

func newWire(r io.Reader) *wire { return &wire{r: bufio.NewReaderSize(r, 256<<10)} }

// errCut ends the reading where the input ends within a message.
var errCut = errors.New("cut")

// field is the beginning of a field: its number, and the value of a varint or the length of what follows.
type field struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64
}

// ReadByte implements [io.ByteReader].
func (w *wire) ReadByte() (c byte, err error) {
	if c, w.err = w.r.ReadByte(); w.err == nil {
		w.at++
	}
	return c, w.err
}

// uvarint reads a number; io.EOF where there is none at all.
func (w *wire) uvarint() (uint64, error) {
	x, err := binary.ReadUvarint(w)
	switch {
	case err != nil && w.err == nil:
		return 0, input.Bad(input.ErrFormat, "a number of more than 64 bits at byte %d, expected an XSpace message (.xplane.pb)", w.at)
	case err == io.ErrUnexpectedEOF:
		return 0, errCut
	}
	return x, err
}

// eachField calls do with every field of a message that ends at a byte; what do leaves of a field is passed over.
func (w *wire) eachField(end int64, do func(f field) error) error {
	for w.at < end {
		start := w.at
		key, err := w.uvarint()
		if err == io.EOF {
			if end == whole {
				return nil
			}
			return errCut
		}
		if err != nil {
			return err
		}
		var f field
		if f.number, f.kind = protowire.DecodeTag(key); !f.number.IsValid() {
			return input.Bad(input.ErrFormat, "field %d at byte %d, expected an XSpace message (.xplane.pb)", f.number, start)
		}
		next := int64(0)
		switch f.kind {
		case protowire.VarintType, protowire.BytesType:
			if f.value, err = w.uvarint(); err == io.EOF {
				err = errCut
			}
		case protowire.Fixed64Type, protowire.Fixed32Type:
		default:
			err = input.Bad(input.ErrFormat, "a field of wire type %d at byte %d, expected an XSpace message (.xplane.pb)", f.kind, start)
		}
		if err != nil {
			return err
		}
		switch next = w.at; f.kind {
		case protowire.Fixed64Type:
			next += 8
		case protowire.Fixed32Type:
			next += 4
		case protowire.BytesType:
			if f.value > uint64(end-w.at) {
				return input.Bad(input.ErrFormat, "a field of %d bytes at byte %d, in a message that ends at byte %d", f.value, start, end)
			}
			next += int64(f.value)
		}
		if err := do(f); err != nil {
			return err
		}
		if err := w.skip(next); err != nil {
			return err
		}
	}
	return nil
}

// whole is the end of a message that the end of the input ends.
const whole = math.MaxInt64

// skip goes on to a byte.
func (w *wire) skip(to int64) error {
	for w.at < to {
		n, err := w.r.Discard(int(min(to-w.at, 1<<30)))
		w.at += int64(n)
		if err == io.EOF {
			return errCut
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// text reads the bytes of a field, the first of very many.
func (w *wire) text(f field, into *string) error {
	n := int(min(f.value, maxText))
	if cap(w.buf) < n {
		w.buf = make([]byte, n)
	}
	w.buf = w.buf[:n]
	read, err := io.ReadFull(w.r, w.buf)
	w.at += int64(read)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCut
	}
	*into = string(w.buf)
	return err
}

// maxText bounds the bytes of a name.
const maxText = 4096
