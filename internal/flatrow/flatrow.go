// Package flatrow writes structs of numbers, words and pointers to them as rows of text: what CSV has of a table that is Parquet
// elsewhere. Fields are named by their json tags.
package flatrow

import (
	"reflect"
	"strconv"
)

// Columns are the names of the fields of T, in order.
func Columns[T any]() []string {
	t := reflect.TypeFor[T]()
	out := make([]string, t.NumField())
	for i := range out {
		out[i] = t.Field(i).Tag.Get("json")
	}
	return out
}

// Cells are the values of a row as text, "" for null.
func Cells[T any](row *T) []string {
	v := reflect.ValueOf(row).Elem()
	out := make([]string, v.NumField())
	for i := range out {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			f = f.Elem()
		}
		switch f.Kind() {
		case reflect.Int64:
			out[i] = strconv.FormatInt(f.Int(), 10)
		case reflect.Uint64:
			out[i] = strconv.FormatUint(f.Uint(), 10)
		case reflect.Float64:
			out[i] = strconv.FormatFloat(f.Float(), 'g', -1, 64)
		case reflect.Bool:
			out[i] = strconv.FormatBool(f.Bool())
		default:
			out[i] = f.String()
		}
	}
	return out
}
