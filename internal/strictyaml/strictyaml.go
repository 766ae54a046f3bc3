// Package strictyaml reads and writes YAML that people write: what is not known is refused,
// and errors say where.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/trace/input"
)

// ErrNothing is a text without a document.
var ErrNothing = input.Bad(input.ErrEmpty, "nothing is set in it")

// UnknownKey is a key that what is read does not have.
type UnknownKey struct {
	Key   string
	Known []string // those that it has, at any depth
}

func (e *UnknownKey) Error() string { return "there is no " + e.Key + " here" }

// Decode reads one document, YAML or JSON, into v; what the text does not
// mention stays as it is there. A key that v does not have, one that stands
// twice, a second document, and a number with a fraction where v has a whole one
// are refused. Errors are of the file name, with the line where it is known; ErrNothing
// is one of them.
func Decode(name string, text []byte, v any) error {
	pos := input.Pos{File: name}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	switch err := d.Decode(v); {
	case errors.Is(err, io.EOF):
		return input.At(pos, ErrNothing)
	case err != nil:
		return placeError(pos, vocabularyOf(v), err)
	}
	if d.Decode(new(yaml.Node)) != io.EOF {
		return input.At(pos, input.Bad(input.ErrFormat, "more than one YAML document, expected one"))
	}
	var read, written yaml.Node
	if err := errors.Join(yaml.Unmarshal(text, &read), written.Encode(v)); err != nil {
		return placeError(pos, nil, err)
	}
	if bad := lostFraction(read.Content[0], &written); bad != nil {
		pos.Line = int64(bad.Line)
		return input.At(pos, input.Bad(input.ErrType, "%q is a number, expected a whole number", bad.Value))
	}
	return nil
}

// lostFraction returns the first number that had a fraction when it was read and has none when it is
// written again: the library cuts off what a whole number has no place for. nil: there is none.
func lostFraction(read, written *yaml.Node) *yaml.Node {
	if read.Kind == yaml.AliasNode {
		read = read.Alias
	}
	switch {
	case read.Kind != written.Kind:
	case read.Kind == yaml.ScalarNode && read.Tag == "!!float" && written.Tag == "!!int" && fractional(read):
		return read
	case read.Kind == yaml.SequenceNode:
		for i := range min(len(read.Content), len(written.Content)) {
			if bad := lostFraction(read.Content[i], written.Content[i]); bad != nil {
				return bad
			}
		}
	case read.Kind == yaml.MappingNode:
		again := make(map[string]*yaml.Node)
		for i := 0; i+1 < len(written.Content); i += 2 {
			again[written.Content[i].Value] = written.Content[i+1]
		}
		for i := 0; i+1 < len(read.Content); i += 2 {
			value, left := read.Content[i+1], again[read.Content[i].Value]
			if left == nil && value.Tag == "!!float" { // it became 0, which is not written
				left = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int"}
			}
			if left == nil {
				continue
			}
			if bad := lostFraction(value, left); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func fractional(n *yaml.Node) bool {
	f, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && f != math.Trunc(f)
}

// Encode writes what Decode reads.
func Encode(w io.Writer, v any) error {
	var text bytes.Buffer // the library hides why w fails
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(v), e.Close()); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}

// placeError puts the first thing that the library complains about behind its
// position: "line 3: field taw not found in type gates.Gates" becomes
// "gates.yaml:3: there is no taw here". Types of values are told by what they are
// in YAML. What a type of ours complains about
// stays as it is.
func placeError(pos input.Pos, known vocabulary, err error) error {
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
		return input.At(pos, &UnknownKey{field, known.keys()})
	}
	if m := otherType.FindStringSubmatch(text); m != nil {
		return input.At(pos, input.Bad(input.ErrType, "%s, expected %s", nameValue(m[1], m[2]), known.nameOfType(m[3])))
	}
	return input.At(pos, errors.New(text))
}
