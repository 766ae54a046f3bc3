package strictyaml

import (
	"encoding"
	"math"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// item is a value of a document beside the type that it is read into.
type item struct {
	key, value *yaml.Node // key nil: it has none
	into       reflect.Type
	tag        reflect.StructTag // of the field that it is for
}

// reads reports whether the type reads its values itself.
func (i item) reads() bool {
	p := reflect.PointerTo(i.into)
	return p.Implements(reflect.TypeFor[yaml.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// first is the first item, from i on, that is wrong; nil without one. The document has been
// decoded into the type before, which bounds what its aliases come to. What is merged with
// "<<" is looked through where it stands for itself.
func (i item) first(wrong func(item) bool) *item {
	for i.into.Kind() == reflect.Pointer {
		i.into = i.into.Elem()
	}
	if wrong(i) {
		return &i
	}
	for _, part := range i.parts() {
		if found := part.first(wrong); found != nil {
			return found
		}
	}
	return nil
}

// parts are the items that one consists of.
func (i item) parts() (parts []item) {
	n, kind := i.value, i.into.Kind()
	switch {
	case i.reads():
	case n.Kind == yaml.AliasNode:
		return []item{{i.key, n.Alias, i.into, i.tag}}
	case n.Kind == yaml.DocumentNode:
		return []item{{nil, n.Content[0], i.into, ""}}
	case n.Kind == yaml.SequenceNode && (kind == reflect.Slice || kind == reflect.Array):
		for _, child := range n.Content {
			parts = append(parts, item{nil, child, i.into.Elem(), ""})
		}
	case n.Kind == yaml.MappingNode && (kind == reflect.Map || kind == reflect.Struct):
		for k := 0; k+1 < len(n.Content); k += 2 {
			key, value := n.Content[k], n.Content[k+1]
			if kind == reflect.Map {
				parts = append(parts, item{key, value, i.into.Elem(), ""})
			} else if f, ok := fieldUnder(i.into, key.Value); ok {
				parts = append(parts, item{key, value, f.Type, f.Tag})
			}
		}
	}
	return parts
}

// isFraction reports whether a number has a fraction where its type has a whole number,
// which the YAML library cuts off without a word.
func (i item) isFraction() bool {
	f, err := strconv.ParseFloat(i.value.Value, 64)
	kind := i.into.Kind()
	return !i.reads() && kind >= reflect.Int && kind <= reflect.Uint64 && i.value.Tag == "!!float" && err == nil && f != math.Trunc(f)
}

// isUnset reports whether a number is 0, however it is written, that goes into a field
// for which 0 is that nothing was said.
func (i item) isUnset() bool {
	var x float64
	return i.tag.Get("zero") == "unset" && (i.value.Tag == "!!int" || i.value.Tag == "!!float") && i.value.Decode(&x) == nil && x == 0
}

// fieldUnder is the field that a struct has under a key.
func fieldUnder(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, inline := yamlName(f)
		switch {
		case inline:
			if of, ok := fieldUnder(f.Type, key); ok {
				return of, true
			}
		case name == key:
			return f, true
		}
	}
	return reflect.StructField{}, false
}
