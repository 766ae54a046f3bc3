// Package strictyaml reads and writes YAML that people write: what is not known is refused,
// and errors say where.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/trace/input"
)

// ErrNothing is a text without a document.
var ErrNothing = input.Bad(input.ErrEmpty, "nothing is set in it")

// UnknownKey is a key that what is read does not have.
type UnknownKey struct{ Key string }

func (e *UnknownKey) Error() string { return "there is no " + e.Key + " here" }

// Decode reads one document, YAML or JSON, into v; what the text does not
// mention stays as it is there. A key that v does not have, one that stands
// twice, a second document, and a number with a fraction where v has a whole one
// are refused. So is a number 0 of a field with the tag zero:"unset", for which 0
// is that nothing was said. Errors are of the file name, with
// the line where it is known; ErrNothing is one of them.
func Decode(name string, text []byte, v any) error {
	pos := input.Pos{File: name}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	switch err := d.Decode(v); {
	case errors.Is(err, io.EOF):
		return input.At(pos, ErrNothing)
	case err != nil:
		return placed(pos, vocabularyOf(v), err)
	}
	if d.Decode(new(yaml.Node)) != io.EOF {
		return input.At(pos, input.Bad(input.ErrFormat, "more than one YAML document, expected one"))
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return placed(pos, nil, err)
	}
	whole := item{value: &root, into: reflect.TypeOf(v)}
	if bad := whole.first(item.isFraction); bad != nil {
		pos.Line = int64(bad.value.Line)
		return input.At(pos, input.Bad(input.ErrType, "%q is a number, expected a whole number", bad.value.Value))
	}
	if bad := whole.first(item.isUnset); bad != nil {
		pos.Line = int64(bad.key.Line)
		return input.At(pos, input.Bad(input.ErrFormat, "%s is 0, which says nothing: leave it out for what is usual, or give another number", bad.key.Value))
	}
	return nil
}

// Encode writes what Decode reads.
func Encode(w io.Writer, v any) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return err
	}
	return e.Close()
}

// placed puts the first thing that the library complains about behind its
// position: "line 3: field taw not found in type gates.Gates" becomes
// "gates.yaml:3: there is no taw here". Types of values are told by what they are
// in YAML. What a type of ours complains about
// stays as it is.
func placed(pos input.Pos, known vocabulary, err error) error {
	text, ofLibrary := strings.CutPrefix(err.Error(), "yaml: ")
	var several *yaml.TypeError
	if errors.As(err, &several) {
		text = several.Errors[0]
	} else if !ofLibrary {
		return input.At(pos, err)
	}
	if n, _ := fmt.Sscanf(text, "line %d:", &pos.Line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
	}
	var field, of string
	if n, _ := fmt.Sscanf(text, "field %s not found in type %s", &field, &of); n == 2 {
		return input.At(pos, &UnknownKey{field})
	}
	if m := otherType.FindStringSubmatch(text); m != nil {
		return input.At(pos, input.Bad(input.ErrType, "%s, expected %s", found(m[1], m[2]), known.expected(m[3])))
	}
	return input.At(pos, errors.New(text))
}
