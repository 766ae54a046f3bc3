package findings

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/sfstat/sfstat/internal/flatrow"
)

// Columns are the names of the columns, in order.
func Columns() []string { return flatrow.Columns[Row]() }

// Cells are the values of a row as text, "" for null.
func (r *Row) Cells() []string { return flatrow.Cells(r) }

// SetCell sets a column from its text, the inverse of Cells.
func (r *Row) SetCell(column int, text string) error {
	f := reflect.ValueOf(r).Elem().Field(column)
	if f.Kind() == reflect.Pointer {
		if text == "" {
			f.SetZero()
			return nil
		}
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	var err error
	switch f.Kind() {
	case reflect.Int64:
		var x int64
		x, err = strconv.ParseInt(text, 10, 64)
		f.SetInt(x)
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		f.SetFloat(x)
	case reflect.Bool:
		var x bool
		x, err = strconv.ParseBool(text)
		f.SetBool(x)
	default:
		f.SetString(text)
		if s, ok := f.Interface().(Stages); ok && !json.Valid([]byte(s)) {
			err = fmt.Errorf("%q is no JSON object", text)
		}
	}
	return err
}
