package report

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/trace/enum"
)

type (
	schema     = publish.Schema
	typeNames  = publish.TypeNames
	properties = publish.Properties
	property   = publish.Property
)

// schemaMaker makes the schema of a document. Structs are described once, in $defs.
type schemaMaker struct {
	names map[reflect.Type]string
	defs  properties
}

// schema describes a document.
func (p *published) schema() *schema {
	m := schemaMaker{names: map[reflect.Type]string{}}
	root := m.object(p.of)
	root.Draft, root.Title, root.Description = "https://json-schema.org/draft/2020-12/schema", p.id(), p.doc
	root.Properties = slices.Insert(root.Properties, 0, property{Name: "schema", Schema: schema{Const: p.id(), Description: "name and version of this form"}})
	root.Required = slices.Insert(root.Required, 0, "schema")
	if p.problems {
		problems := m.of(reflect.TypeFor[[]publish.Problem]())
		problems.Description = "inputs that were refused; the others were analysed"
		root.Properties = append(root.Properties, property{Name: "problems", Schema: problems})
		root.Required = append(root.Required, "problems")
	}
	slices.SortFunc(m.defs, func(a, b property) int { return strings.Compare(a.Name, b.Name) })
	root.Defs = m.defs
	return &root
}

// object describes a struct as an encoder writes it. The objects of a document are
// closed: a field that the schema lacks is a mistake of one of the two.
func (m *schemaMaker) object(t reflect.Type) schema {
	out := schema{Type: typeNames{"object"}, Others: false}
	for _, f := range fieldsOf(t) {
		s := m.of(f.of)
		if len(f.enum) > 0 {
			s = schema{Enum: anys(f.enum)}
		}
		switch {
		case f.null != nil:
			s = s.OrNull()
		case f.omitEmpty && f.of.Kind() == reflect.Pointer:
			s = m.of(f.of.Elem()) // there only where it points to something
		}
		s.Description = f.doc
		out.Properties = append(out.Properties, property{Name: f.name, Schema: s})
		if !f.omitEmpty {
			out.Required = append(out.Required, f.name)
		}
	}
	return out
}

// of describes a value of a type as an encoder writes it.
func (m *schemaMaker) of(t reflect.Type) schema {
	if t == reflect.TypeFor[evidence.Observation]() {
		return m.anyEvidence()
	}
	if t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Name == "Of" { // of package publish
		return m.of(t.Field(0).Type)
	}
	if names, is := namesOf(t); is {
		if names == nil {
			return schema{Type: typeNames{"string"}}
		}
		return schema{Enum: anys(names)}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.of(t.Elem()).OrNull()
	case reflect.Struct:
		return schema{Ref: "#/$defs/" + m.define(t)}
	case reflect.Slice, reflect.Array:
		elem := t.Elem()
		if elem.Kind() == reflect.Pointer && elem.Elem().Kind() == reflect.Struct {
			elem = elem.Elem() // of which none is nil
		}
		items := m.of(elem)
		out := schema{Type: typeNames{"array"}, Items: &items}
		if t.Kind() == reflect.Array {
			out.MinItems, out.MaxItems = t.Len(), t.Len()
		}
		return out
	case reflect.Map:
		return schema{Type: typeNames{"object"}, Others: m.of(t.Elem())}
	case reflect.Float32, reflect.Float64:
		return schema{Type: typeNames{"number", "null"}}
	case reflect.Bool:
		return schema{Type: typeNames{"boolean"}}
	case reflect.String:
		return schema{Type: typeNames{"string"}}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{Type: typeNames{"integer"}}
	}
	panic(fmt.Sprintf("report: no schema for %v", t))
}

// define returns the name of a struct in $defs, where it stands from then on.
func (m *schemaMaker) define(t reflect.Type) string {
	if name, known := m.names[t]; known {
		return name
	}
	name := strings.TrimSuffix(publish.DefinedName(t), "_j_s_o_n")
	for base, n := name, 2; slices.ContainsFunc(m.defs, func(d property) bool { return d.Name == name }); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	m.names[t] = name
	m.defs = append(m.defs, property{Name: name})
	at := len(m.defs) - 1
	described := m.object(t) // which defines others
	m.defs[at].Schema = described
	return name
}

// anyEvidence describes a piece of evidence: an object of one of the kinds.
func (m *schemaMaker) anyEvidence() schema {
	var out schema
	for _, e := range publish.Observations() {
		out.AnyOf = append(out.AnyOf, schema{Ref: "#/$defs/" + m.defineEvidence(e)})
	}
	return out
}

// defineEvidence returns the name of a kind of evidence in $defs: what it stands in as a
// value of its own, and its kind.
func (m *schemaMaker) defineEvidence(e evidence.Observation) string {
	kind := string(e.Kind())
	name := "evidence_" + kind
	if slices.ContainsFunc(m.defs, func(d property) bool { return d.Name == name }) {
		return name
	}
	m.defs = append(m.defs, property{Name: name})
	at := len(m.defs) - 1
	described := m.object(reflect.TypeOf(e))
	described.Description = publish.Meaning(e)
	described.Properties = slices.Insert(described.Properties, 0, property{Name: "kind", Schema: schema{Const: kind, Description: "what was observed"}})
	described.Required = slices.Insert(described.Required, 0, "kind")
	m.defs[at].Schema = described
	return name
}

// namesOf lists the values of a type that names itself; nil where it does not know them
// all, as a length that is written with its unit.
func namesOf(t reflect.Type) (names []string, is bool) {
	if t.Kind() != reflect.Pointer {
		if list, ok := reflect.Zero(t).Interface().(interface{ Names() []string }); ok {
			return list.Names(), true
		}
	}
	is = t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Kind() != reflect.Struct && t.Implements(reflect.TypeFor[fmt.Stringer]())
	if k := t.Kind(); !is || k != reflect.Uint8 && k != reflect.Int {
		return nil, is && t.Kind() != reflect.Pointer
	}
	return enum.Names(func(i int) string {
		v := reflect.New(t).Elem()
		if v.CanInt() {
			v.SetInt(int64(i))
		} else {
			v.SetUint(uint64(i))
		}
		_, name, _ := nameOf(v)
		return name
	}), true
}

func anys(names []string) (out []any) {
	for _, n := range names {
		out = append(out, n)
	}
	return out
}
