package report

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field is a field of a published struct: what it is called and described as, where
// its value is, and when it is null. JSON, CSV and the schemas are made from it.
// The tags of a field are
//
//	json:"gain,omitempty"       its name; left out where it is empty
//	doc:"part of the makespan"  its description in the schema
//	enum:"new gone both"        the values that a string takes, where its type does not list them
//	null:"zero"                 null when it is zero (an empty list too); "negative": when it is
//	                            less than 0; "without Other": when that field of the struct is zero
type field struct {
	name, doc string
	enum      []string
	null      []string
	omitEmpty bool
	index     []int
	of        reflect.Type
}

// fieldLists are the fields of types. The same few types are asked for again and again.
var fieldLists sync.Map // of reflect.Type: []field

// fieldsOf are the fields of a type of structs, those of embedded structs in their
// place, but for one that a field around it has the name of.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldLists.Load(t); ok {
		return known.([]field)
	}
	all := appendStruct(nil, t, nil)
	out := slices.DeleteFunc(slices.Clone(all), func(f field) bool {
		return slices.ContainsFunc(all, func(around field) bool { return around.name == f.name && len(around.index) < len(f.index) })
	})
	fieldLists.Store(t, out)
	return out
}

// appendStruct appends the fields of a struct that lies at that index.
func appendStruct(to []field, t reflect.Type, at []int) []field {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			to = appendStruct(to, of, index)
			continue
		}
		x := field{name: name, doc: f.Tag.Get("doc"), omitEmpty: option == "omitempty", index: index, of: f.Type, enum: strings.Fields(f.Tag.Get("enum"))}
		if tag := f.Tag.Get("null"); tag != "" {
			x.null = strings.Split(tag, ",")
		}
		if name != "" && name != "-" && f.IsExported() {
			to = append(to, x)
		}
	}
	return to
}

// in is the value of a field in a struct, or in what points to one; the zero Value
// where it is null.
func (f *field) in(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return v
	}
	last := len(f.index) - 1
	of, err := v.FieldByIndexErr(f.index[:last])
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if err != nil || !of.IsValid() || f.isNull(of) {
		return reflect.Value{}
	}
	return of.Field(f.index[last])
}

// isNull reports whether the field of that struct stands for nothing by any rule of its tag.
func (f *field) isNull(of reflect.Value) bool {
	v := of.Field(f.index[len(f.index)-1])
	for _, rule := range f.null {
		other, without := strings.CutPrefix(rule, "without ")
		if rule == "zero" && isZero(v) || rule == "negative" && v.Int() < 0 || without && isZero(of.FieldByName(other)) {
			return true
		}
	}
	return false
}

func isZero(v reflect.Value) bool {
	if x, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return x.IsZero()
	}
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}
