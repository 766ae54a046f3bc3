package publish

import (
	"encoding"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// Schema is a JSON Schema (draft 2020-12), as far as published documents need one.
type Schema struct {
	Draft       string     `json:"$schema,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Ref         string     `json:"$ref,omitempty"`
	Type        TypeNames  `json:"type,omitempty"`
	Const       string     `json:"const,omitempty"`
	Enum        []any      `json:"enum,omitempty"`
	AnyOf       []Schema   `json:"anyOf,omitempty"`
	Items       *Schema    `json:"items,omitempty"`
	MinItems    int        `json:"minItems,omitempty"`
	MaxItems    int        `json:"maxItems,omitempty"`
	Properties  Properties `json:"properties,omitempty"`
	Required    []string   `json:"required,omitempty"`
	Others      any        `json:"additionalProperties,omitempty"` // false, or a schema
	Defs        Properties `json:"$defs,omitempty"`
}

// TypeNames are the types that a value may have; JSON has one name as it is.
type TypeNames []string

// MarshalJSON implements json.Marshaler.
func (t TypeNames) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return compactJSON(t[0])
	}
	return compactJSON([]string(t))
}

// Properties are schemas by name, in the order in which fields are declared.
type Properties []Property

// Property is a schema of what has a name.
type Property struct {
	Name string
	Schema
}

// MarshalJSON implements json.Marshaler.
func (list Properties) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, p := range list {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := compactJSON(p.Name) // of a string
		of, err := compactJSON(p.Schema)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), of...)
	}
	return append(out, '}'), nil
}

// field is a field of a struct as encoding/json has it.
type field struct {
	reflect.StructField
	name     string
	optional bool // left out where it is empty
}

// fieldsOf returns the fields of a struct, those of embedded structs in their place.
func fieldsOf(t reflect.Type) (fields []field) {
	for _, f := range reflect.VisibleFields(t) {
		if name, option, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields = append(fields, field{f, name, option == "omitempty"})
		}
	}
	return fields
}

// schemaMaker makes the schema of a document. Structs are described once, in $defs.
type schemaMaker struct {
	names map[reflect.Type]string
	defs  Properties
}

// Schema returns what describes a document.
func (f *Form) Schema() *Schema {
	m := schemaMaker{names: map[reflect.Type]string{}}
	root := m.object(f.of)
	root.Draft, root.Title, root.Description = "https://json-schema.org/draft/2020-12/schema", f.ID(), f.Doc
	root.Properties[0].Schema = Schema{Const: f.ID(), Description: root.Properties[0].Description}
	slices.SortFunc(m.defs, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	root.Defs = m.defs
	return &root
}

// object describes a struct. The objects of a document are closed: a field that the schema
// lacks is a mistake of one of the two.
func (m *schemaMaker) object(t reflect.Type) Schema {
	out := Schema{Type: TypeNames{"object"}, Others: false}
	for _, f := range fieldsOf(t) {
		of := f.Type
		if f.optional && of.Kind() == reflect.Pointer {
			of = of.Elem() // there only where it points to something
		}
		s := m.schemaOf(of)
		s.Description = f.Tag.Get("doc")
		out.Properties = append(out.Properties, Property{f.name, s})
		if !f.optional {
			out.Required = append(out.Required, f.name)
		}
	}
	return out
}

// schemaOf describes a value of a type.
func (m *schemaMaker) schemaOf(t reflect.Type) Schema {
	if t == reflect.TypeFor[evidence.Observation]() {
		return m.evidenceSchema()
	}
	if t.Kind() != reflect.Pointer {
		switch x := reflect.Zero(t).Interface().(type) {
		case interface{ valueType() reflect.Type }:
			return m.schemaOf(x.valueType())
		case interface{ Names() []string }:
			return Schema{Enum: anys(x.Names())}
		case encoding.TextMarshaler:
			return Schema{Type: TypeNames{"string"}}
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.schemaOf(t.Elem()).Nullable()
	case reflect.Struct:
		return Schema{Ref: "#/$defs/" + m.define(t)}
	case reflect.Slice, reflect.Array:
		items := m.schemaOf(t.Elem())
		out := Schema{Type: TypeNames{"array"}, Items: &items}
		if t.Kind() == reflect.Array {
			out.MinItems, out.MaxItems = t.Len(), t.Len()
		}
		return out
	case reflect.Map:
		return Schema{Type: TypeNames{"object"}, Others: m.schemaOf(t.Elem())}
	case reflect.Float64:
		return Schema{Type: TypeNames{"number", "null"}} // null: not finite
	case reflect.Bool:
		return Schema{Type: TypeNames{"boolean"}}
	case reflect.String:
		return Schema{Type: TypeNames{"string"}}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return Schema{Type: TypeNames{"integer"}}
	}
	panic(fmt.Sprintf("publish: no schema for %v", t))
}

// define returns the name of a struct in $defs, where it stands from then on.
func (m *schemaMaker) define(t reflect.Type) string {
	if name, known := m.names[t]; known {
		return name
	}
	name := DefinedName(t)
	for base, n := name, 2; m.isDefined(name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	m.names[t] = name
	m.add(name, func() Schema { return m.object(t) })
	return name
}

func (m *schemaMaker) isDefined(name string) bool {
	return slices.ContainsFunc(m.defs, func(d Property) bool { return d.Name == name })
}

// add adds a definition, which may add others.
func (m *schemaMaker) add(name string, of func() Schema) {
	m.defs = append(m.defs, Property{Name: name})
	at := len(m.defs) - 1
	described := of()
	m.defs[at].Schema = described
}

// evidenceSchema describes a piece of evidence: an object of one of the kinds, with what it stands in as a value of
// its own, and its kind.
func (m *schemaMaker) evidenceSchema() (out Schema) {
	for _, k := range observations {
		kind := string(k.of.Kind())
		name := "evidence_" + kind
		if !m.isDefined(name) {
			m.add(name, func() Schema {
				s := m.object(reflect.TypeOf(k.of))
				s.Description = k.doc
				s.Properties = slices.Insert(s.Properties, 0, Property{"kind", Schema{Const: kind, Description: "what was observed"}})
				s.Required = slices.Insert(s.Required, 0, "kind")
				return s
			})
		}
		out.AnyOf = append(out.AnyOf, Schema{Ref: "#/$defs/" + name})
	}
	return out
}

// Nullable describes a value that may lack.
func (s Schema) Nullable() Schema {
	switch {
	case s.Enum != nil:
		s.Enum = append(slices.Clip(s.Enum), nil)
	case s.Ref != "" || s.AnyOf != nil:
		return Schema{AnyOf: []Schema{s, {Type: TypeNames{"null"}}}}
	case !slices.Contains(s.Type, "null"):
		s.Type = append(slices.Clip(s.Type), "null")
	}
	return s
}

func anys(names []string) []any { return convert(names, func(n string) any { return n }) }

// DefinedName returns the name of a type as names in JSON are written, without that of the document that it is of.
func DefinedName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	for _, of := range documentTypes {
		if rest, ok := strings.CutPrefix(name, of); ok && rest != "" && unicode.IsUpper(rune(rest[0])) {
			name = rest
			break
		}
	}
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// WriteSchema writes the JSON Schema of a document.
func WriteSchema(w io.Writer, name string) error {
	f, ok := FormOf(name)
	if !ok {
		return fmt.Errorf("no schema is called %q", name)
	}
	return Write(w, f.Schema())
}
