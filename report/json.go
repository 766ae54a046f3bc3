package report

import (
	"fmt"
	"reflect"
)

// each is what of makes of every item, never nil.
func each[In, T any](items []In, of func(In) T) []T {
	out := make([]T, len(items))
	for i, x := range items {
		out[i] = of(x)
	}
	return out
}

// strs are the names of values that name themselves; never nil.
func strs[T fmt.Stringer](v []T) []string { return each(v, T.String) }

// optionalString is nil for "".
func optionalString(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// JSON writes v as an encoder does.
func (o Output) JSON(v any) error {
	var e encoder
	if err := e.value(reflect.ValueOf(v)); err != nil {
		return err
	}
	_, err := o.W.Write(append(e.out, '\n'))
	return err
}
