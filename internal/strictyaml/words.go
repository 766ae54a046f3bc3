package strictyaml

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// otherType is how the library complains of a value of another type: the tag of
// what it found, its text if it is one value, and the Go type.
var otherType = regexp.MustCompile("(?s)^cannot unmarshal !!(\\w+)(?: `(.*)`)? into (.+)$")

var kinds = map[string]string{"str": "text", "seq": "a list", "map": "keys with values", "null": "nothing",
	"bool": "true or false", "int": "a number", "float": "a number"}

// nameValue names a value by its YAML tag and, if the library gives it, its text.
func nameValue(tag, value string) string {
	kind, ok := kinds[tag]
	if !ok {
		kind = tag
	}
	if value == "" {
		return "found " + kind
	}
	return fmt.Sprintf("%q is %s", value, kind)
}

// vocabulary is what a Go type is made of, at any depth, by the names that the
// library has for types.
type vocabulary map[string]reflect.Type

func vocabularyOf(v any) vocabulary {
	k := vocabulary{}
	k.add(reflect.TypeOf(v))
	return k
}

func (k vocabulary) add(t reflect.Type) {
	if _, ok := k[t.String()]; ok {
		return
	}
	k[t.String()] = t
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		k.add(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			k.add(t.Field(i).Type)
		}
	}
}

// keys returns the keys of all structs.
func (k vocabulary) keys() (all []string) {
	for _, t := range k {
		for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nameOfType names what a Go type takes in YAML.
func (k vocabulary) nameOfType(goType string) string {
	t, ok := k[goType]
	if !ok {
		return "a value of another kind"
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a word"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return k.nameOfType(t.Elem().String())
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number of 0 or more"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	}
	return "keys with values"
}
