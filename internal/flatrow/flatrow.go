// Package flatrow reads and writes tables whose rows are structs of numbers, words and pointers to them, nil for null: as CSV,
// JSON Lines and Parquet. Columns are named by the json tags, which those of parquet repeat.
package flatrow

import (
	"encoding/json"
	"fmt"
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

// Set is the inverse of Cells.
func Set[T any](row *T, cells []string) error {
	v := reflect.ValueOf(row).Elem()
	for i, text := range cells {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			if text == "" {
				f.SetZero()
				continue
			}
			f.Set(reflect.New(f.Type().Elem()))
			f = f.Elem()
		}
		var err error
		switch f.Kind() {
		case reflect.Int64, reflect.Uint64, reflect.Float64, reflect.Bool:
			err = json.Unmarshal([]byte(text), f.Addr().Interface())
		default:
			f.SetString(text)
		}
		if err != nil {
			return fmt.Errorf("column %s is %q: %w", Columns[T]()[i], text, err)
		}
	}
	return nil
}
