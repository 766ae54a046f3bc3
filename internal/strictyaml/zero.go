package strictyaml

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// zero finds the key of a 0 that somebody wrote where the field of a type takes
// 0 for nothing said; nil without one. Fields say so by the tag zero:"unset".
func zero(n *yaml.Node, t reflect.Type) *yaml.Node {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return zero(n.Alias, t)
	case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
		return zero(n.Content[0], t)
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, child := range n.Content {
			if found := zero(child, t.Elem()); found != nil {
				return found
			}
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		return zeroUnder(n, t)
	}
	return nil
}

// zeroUnder looks through the keys of a struct.
func zeroUnder(n *yaml.Node, t reflect.Type) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, ok := fieldUnder(t, key.Value)
		if !ok {
			continue
		}
		if f.Tag.Get("zero") == "unset" && isZero(value) {
			return key
		}
		if found := zero(value, f.Type); found != nil {
			return found
		}
	}
	return nil
}

// isZero reports whether a value is a number 0, however it is written.
func isZero(n *yaml.Node) bool {
	var x float64
	return (n.Tag == "!!int" || n.Tag == "!!float") && n.Decode(&x) == nil && x == 0
}
