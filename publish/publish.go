// Package publish has what sfstat writes for programs as plain Go types: a struct for every object of its
// JSON, and what fills it from results. Names and order of the fields are a contract, which sfstat schema
// prints. A pointer is null where it is nil, times are nanoseconds, and what is not finite is null.
package publish

import (
	"fmt"

	"github.com/sfstat/sfstat/internal/table"
)

// Problem is an input that was refused.
type Problem struct {
	Path  string `json:"path" doc:"the input"`
	Error string `json:"error" doc:"place and reason"`
}

// Name is a value of an enumeration by its name.
type Name[T interface{ Names() []string }] string

// Names returns the names of all values.
func (Name[T]) Names() []string {
	var of T
	return of.Names()
}

// nameOf returns the name of a value.
func nameOf[T interface {
	fmt.Stringer
	Names() []string
}](v T) Name[T] {
	return Name[T](v.String())
}

// Range is the first and the last of ranks that follow one another. What lacks ranks in each of many windows would
// else take as much as windows times ranks.
type Range = [2]int

// convert returns what of makes of every item, never nil.
func convert[In, Out any](items []In, of func(In) Out) []Out {
	out := make([]Out, len(items))
	for i, x := range items {
		out[i] = of(x)
	}
	return out
}

// list returns the items, never nil.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// number returns a number, nil where it is not finite.
func number(x float64) *float64 {
	if !table.Finite(x) {
		return nil
	}
	return &x
}

// finite returns a number that may be unknown, nil also where it is not finite.
func finite(x *float64) *float64 {
	if x == nil {
		return nil
	}
	return number(*x)
}

// nonZeroNumber returns a number, nil where it is 0 or not finite.
func nonZeroNumber(x float64) *float64 {
	if x == 0 {
		return nil
	}
	return number(x)
}

// nonZero returns a value, nil where it is zero.
func nonZero[T comparable](x T) *T {
	var zero T
	if x == zero {
		return nil
	}
	return &x
}

// nonNegative returns a number, nil below 0.
func nonNegative[T int | int64](x T) *T {
	if x < 0 {
		return nil
	}
	return &x
}
