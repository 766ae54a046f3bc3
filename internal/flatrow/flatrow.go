// Package flatrow reads and writes tables whose rows are structs of numbers, words and pointers to them, nil for null: as CSV,
// JSON Lines and Parquet. Columns are named by the json tags, which those of parquet repeat, or by these alone.
package flatrow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Columns returns the names of the fields of T, in order.
func Columns[T any]() []string { return columns(reflect.TypeFor[T](), nil) }

func columns(t reflect.Type, out []string) []string {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			out = columns(f.Type, out)
			continue
		}
		packed, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		out = append(out, cmp.Or(f.Tag.Get("json"), packed))
	}
	return out
}

// Cells returns the values of a row as text, "" for null.
func Cells[T any](row *T) []string { return cells(reflect.ValueOf(row).Elem(), nil) }

func cells(v reflect.Value, out []string) []string {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				out = append(out, "")
				continue
			}
			f = f.Elem()
		}
		switch f.Kind() {
		case reflect.Struct:
			out = cells(f, out)
		case reflect.Int32, reflect.Int64:
			out = append(out, strconv.FormatInt(f.Int(), 10))
		case reflect.Uint64:
			out = append(out, strconv.FormatUint(f.Uint(), 10))
		case reflect.Float64:
			out = append(out, strconv.FormatFloat(f.Float(), 'g', -1, 64))
		case reflect.Bool:
			out = append(out, strconv.FormatBool(f.Bool()))
		default:
			out = append(out, f.String())
		}
	}
	return out
}

// Set undoes Cells.
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
			f.SetString(strings.TrimPrefix(text, "'"))
		}
		if err != nil {
			return fmt.Errorf("column %s is %q: %w", Columns[T]()[i], text, err)
		}
	}
	return nil
}
