package strictyaml

import (
	"encoding"
	"math"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// fraction finds a number with a fraction where a type has a whole number; nil
// without one. The YAML library cuts such a fraction off without a word. The
// document has been decoded into the type before, which bounds what its
// aliases come to.
func fraction(n *yaml.Node, t reflect.Type) *yaml.Node {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[yaml.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		return fractionIn(n, t)
	case yaml.AliasNode:
		return fraction(n.Alias, t)
	case yaml.MappingNode:
		return fractionUnder(n, t)
	}
	if f, err := strconv.ParseFloat(n.Value, 64); t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 && n.Tag == "!!float" && err == nil && f != math.Trunc(f) {
		return n
	}
	return nil
}

// fractionIn looks through a document or a list.
func fractionIn(n *yaml.Node, t reflect.Type) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return nil
		}
		t = t.Elem()
	}
	for _, child := range n.Content {
		if found := fraction(child, t); found != nil {
			return found
		}
	}
	return nil
}

// fractionUnder looks through the values of keys; those that are merged with
// "<<" are looked through where they stand for themselves.
func fractionUnder(n *yaml.Node, t reflect.Type) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		of := t
		switch t.Kind() {
		case reflect.Map:
			of = t.Elem()
		case reflect.Struct:
			if of = typeUnder(t, n.Content[i].Value); of == nil {
				continue
			}
		default:
			return nil
		}
		if found := fraction(n.Content[i+1], of); found != nil {
			return found
		}
	}
	return nil
}

// typeUnder is the type that a struct has under a key, nil without it.
func typeUnder(t reflect.Type, key string) reflect.Type {
	if f, ok := fieldUnder(t, key); ok {
		return f.Type
	}
	return nil
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
