package stagemap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// None is the stage, in a file, of names that mean nothing.
const None = "none"

// maxFile bounds the bytes of a file of rules.
const maxFile = 1 << 20

// Load reads the rules in the file at path; "" gives the built-in map.
func Load(path string) (*Map, error) {
	if path == "" {
		return Default(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		var failed *os.PathError
		if errors.As(err, &failed) {
			err = fmt.Errorf("cannot be read: %w", failed.Err)
		}
		return nil, input.At(input.Pos{File: path}, err)
	}
	defer f.Close()
	return read(f, path)
}

// read reads rules; name stands in errors, which carry the line. Rules of the
// file come before the built-in ones; "builtin: false" leaves those out.
func read(r io.Reader, name string) (*Map, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = input.Bad(input.ErrTooLarge, "rules of more than %d bytes", maxFile)
	}
	if err != nil {
		return nil, input.At(input.Pos{File: name}, err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrFormat, "%s", strings.Join(strings.Fields(err.Error()), " ")))
	}
	if len(doc.Content) == 0 {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "a stage map without rules: give \"rules:\""))
	}
	p := parser{file: name, m: Default()}
	if err := p.document(doc.Content[0]); err != nil {
		return nil, err
	}
	return p.m, nil
}

// parser turns nodes into a map, with the line of what is wrong.
type parser struct {
	file string
	m    *Map
}

func (p *parser) fail(n *yaml.Node, kind error, format string, args ...any) error {
	return input.At(input.Pos{File: p.file, Line: int64(n.Line)}, input.Bad(kind, format, args...))
}

// pairs calls each for the keys of a mapping, each of which may be there once.
func (p *parser) pairs(n *yaml.Node, what string, each func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return p.fail(n, input.ErrType, "expected %s", what)
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			return p.fail(key, input.ErrDuplicate, "%q is given twice", key.Value)
		}
		seen[key.Value] = true
		if err := each(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) document(n *yaml.Node) error {
	var rules *yaml.Node
	err := p.pairs(n, "a mapping with stages, rules and builtin", func(key, value *yaml.Node) error {
		switch key.Value {
		case "stages":
			return p.stages(value)
		case "rules":
			rules = value // after the stages, wherever these stand
			return nil
		case "builtin":
			var keep bool
			if err := value.Decode(&keep); err != nil {
				return p.fail(value, input.ErrType, "builtin is %q, expected true or false", value.Value)
			}
			if !keep {
				p.m.rules = nil
			}
			return nil
		}
		return p.fail(key, input.ErrFormat, "unknown key %q, expected stages, rules or builtin", key.Value)
	})
	if err != nil || rules == nil {
		return err
	}
	return p.rules(rules)
}

func (p *parser) stages(n *yaml.Node) error {
	var stages []string
	if err := n.Decode(&stages); n.Kind != yaml.SequenceNode || err != nil {
		return p.fail(n, input.ErrType, "stages is a list of names, in the order of the step")
	}
	if err := (trace.Schema{Stages: stages}).Validate(); err != nil {
		return input.At(input.Pos{File: p.file, Line: int64(n.Line)}, err)
	}
	p.m.Stages = stages
	return nil
}

func (p *parser) rules(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return p.fail(n, input.ErrType, "rules is a list")
	}
	var own []rule
	for _, item := range n.Content {
		r, err := p.rule(item)
		if err != nil {
			return err
		}
		own = append(own, r)
	}
	p.m.rules = append(own, p.m.rules...)
	return nil
}

func (p *parser) rule(n *yaml.Node) (rule, error) {
	var r rule
	ways, staged := 0, false
	err := p.pairs(n, "a rule such as {exact: encode, stage: "+Forward+"}", func(key, value *yaml.Node) error {
		if value.Kind != yaml.ScalarNode || value.Value == "" {
			return p.fail(value, input.ErrType, "%s of a rule is a text", key.Value)
		}
		switch key.Value {
		case "exact", "prefix", "glob":
			r.how = map[string]how{"exact": exact, "prefix": prefix, "glob": glob}[key.Value]
			r.pattern = value.Value
			ways++
		case "stage":
			staged = true
			if r.stage = value.Value; r.stage == None {
				r.stage = ""
			} else if p.m.Index(r.stage) < 0 {
				return p.fail(value, input.ErrMissing, "no stage %q, the stages are %s, and %s", r.stage, strings.Join(p.m.Stages, ", "), None)
			}
		default:
			return p.fail(key, input.ErrFormat, "unknown key %q of a rule, expected exact, prefix or glob, and stage", key.Value)
		}
		return nil
	})
	if err == nil && (ways != 1 || !staged) {
		err = p.fail(n, input.ErrMissing, "a rule has one of exact, prefix and glob, and a stage")
	}
	return r, err
}
