package report

import (
	"reflect"
	"slices"
	"strconv"
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
//	as:"kind" of:"Worst.Kind"   of a field named _, without json: its name, and the way to its value
//	                            by fields and methods
//	before:"labels"             stands before the field of that name and not where it is declared
//	null:"zero"                 null when it is zero (an empty list too); "negative": when it is
//	                            less than 0; "without Other": when that field of the struct is zero
type field struct {
	name, doc string
	enum      []string
	null      []string
	omitEmpty bool
	index     []int
	before    string
	way       []string // from the struct to a value that is not the field's own
	of        reflect.Type
}

// fieldLists are the fields of types. The same few types are asked for again and again.
var fieldLists sync.Map // of reflect.Type: []field

// fieldsOf are the fields of a type of structs, those of embedded structs in their
// place, but for one that a field around it has the name of.
func fieldsOf(t reflect.Type) []field {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if known, ok := fieldLists.Load(t); ok {
		return known.([]field)
	}
	all := appendStruct(nil, t, nil)
	out := slices.DeleteFunc(slices.Clone(all), func(f field) bool {
		return slices.ContainsFunc(all, func(around field) bool { return around.name == f.name && len(around.index) < len(f.index) })
	})
	for _, f := range slices.Clone(out) {
		if f.before != "" {
			out = slices.DeleteFunc(out, func(x field) bool { return x.name == f.name })
			out = slices.Insert(out, slices.IndexFunc(out, func(x field) bool { return x.name == f.before }), f)
		}
	}
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
		x := field{before: f.Tag.Get("before"), name: name, doc: f.Tag.Get("doc"), omitEmpty: option == "omitempty", index: index, of: f.Type, enum: strings.Fields(f.Tag.Get("enum"))}
		if tag := f.Tag.Get("null"); tag != "" {
			x.null = strings.Split(tag, ",")
		}
		if way := f.Tag.Get("of"); way != "" {
			x.name, x.way, x.of = f.Tag.Get("as"), strings.Split(way, "."), t
			for _, name := range x.way {
				x.of = memberType(x.of, name)
			}
		}
		if x.name != "" && x.name != "-" && (f.IsExported() || x.way != nil) {
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
	if err != nil || !of.IsValid() {
		return reflect.Value{}
	}
	x := of.Field(f.index[last])
	if f.way != nil {
		x = of
	}
	for _, name := range f.way {
		x = member(x, name)
	}
	if !x.IsValid() || f.isNull(of, x) {
		return reflect.Value{}
	}
	return x
}

// member is a field of a value, what a method of it returns, an item of an array by its number, or
// the length of a list by len; the zero Value where the value is nil.
func member(v reflect.Value, name string) reflect.Value {
	if v = reflect.Indirect(v); !v.IsValid() {
		return v
	}
	at := v
	if v.CanAddr() {
		at = v.Addr()
	}
	if m := at.MethodByName(name); m.IsValid() {
		return m.Call(nil)[0]
	}
	if i, err := strconv.Atoi(name); err == nil {
		return v.Index(i)
	}
	if name == "len" {
		return reflect.ValueOf(v.Len())
	}
	return v.FieldByName(name)
}

// memberType is the type of a member. It panics on a name that there is not.
func memberType(t reflect.Type, name string) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if m, ok := reflect.PointerTo(t).MethodByName(name); ok {
		return m.Type.Out(0)
	}
	switch {
	case name == "len":
		return reflect.TypeFor[int]()
	case t.Kind() == reflect.Array:
		return t.Elem()
	}
	f, ok := t.FieldByName(name)
	if !ok {
		panic("report: " + t.String() + " has no " + name)
	}
	return f.Type
}

// isNull reports whether the value of a field of that struct stands for nothing by any rule of its tag.
func (f *field) isNull(of, v reflect.Value) bool {
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
