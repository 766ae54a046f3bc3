package flatrow

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"unicode/utf8"
)

// Append writes a row behind b, as Reader reads it. As in JSON, bytes that are not UTF-8
// are the character that stands for them.
func Append[T any](b []byte, row *T) []byte {
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				b = append(b, 0)
				continue
			}
			b, f = append(b, 1), f.Elem()
		}
		switch f.Kind() {
		case reflect.Int64:
			b = binary.AppendVarint(b, f.Int())
		case reflect.Uint64:
			b = binary.AppendUvarint(b, f.Uint())
		case reflect.Float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f.Float()))
		case reflect.Bool:
			flag := byte(0)
			if f.Bool() {
				flag = 1
			}
			b = append(b, flag)
		default:
			text := f.String()
			if !utf8.ValidString(text) {
				text = string([]rune(text))
			}
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	return b
}

// Reader reads rows. Words that a column repeats are kept once. The zero Reader is usable.
type Reader[T any] struct{ last []string }

var errRow = errors.New("no row")

// Read reads what Append wrote.
func (r *Reader[T]) Read(b []byte, row *T) error {
	v := reflect.ValueOf(row).Elem()
	if r.last == nil {
		r.last = make([]string, v.NumField())
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			if len(b) == 0 {
				return errRow
			}
			known := b[0] != 0
			if b = b[1:]; !known {
				f.SetZero()
				continue
			}
			f.Set(reflect.New(f.Type().Elem()))
			f = f.Elem()
		}
		n := r.value(f, i, b)
		if n <= 0 || n > len(b) {
			return errRow
		}
		b = b[n:]
	}
	if len(b) > 0 {
		return errRow
	}
	return nil
}

// value reads one value and tells how many bytes it takes, none or too many where it is not there.
func (r *Reader[T]) value(f reflect.Value, column int, b []byte) int {
	switch f.Kind() {
	case reflect.Int64:
		x, n := binary.Varint(b)
		f.SetInt(x)
		return n
	case reflect.Uint64:
		x, n := binary.Uvarint(b)
		f.SetUint(x)
		return n
	case reflect.Float64:
		if len(b) >= 8 {
			f.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		return 8
	case reflect.Bool:
		f.SetBool(len(b) > 0 && b[0] != 0)
		return 1
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return 0
	}
	text := b[n:][:size]
	if string(text) != r.last[column] {
		r.last[column] = string(text)
	}
	f.SetString(r.last[column])
	return n + int(size)
}
