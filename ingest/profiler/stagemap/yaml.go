package stagemap

import (
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// none is the stage, in a file, of names that mean nothing.
const none = "none"

// maxFile bounds the bytes of a file of rules.
const maxFile = 1 << 20

// document is a file of rules. Those of the file come before the built-in ones;
// "builtin: false" leaves these out.
type document struct {
	Stages  []string   `yaml:"stages"`
	Rules   []fileRule `yaml:"rules"`
	Builtin bool       `yaml:"builtin"`
}

// fileRule has one of three patterns, and a stage.
type fileRule struct {
	Exact  word `yaml:"exact"`
	Prefix word `yaml:"prefix"`
	Glob   word `yaml:"glob"`
	Stage  word `yaml:"stage"`
}

// word is a text and the line that it stands in.
type word struct {
	text string
	line int
}

// UnmarshalYAML implements [yaml.Unmarshaler].
func (w *word) UnmarshalYAML(n *yaml.Node) error {
	w.line = n.Line
	return n.Decode(&w.text)
}

// Load reads the rules in the file at path; "" gives the built-in map.
func Load(path string) (*Map, error) {
	if path == "" {
		return Default(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, ingest.Unreadable(path, err)
	}
	defer f.Close()
	return read(f, path)
}

// read reads rules; name stands in errors.
func read(r io.Reader, name string) (*Map, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = input.Bad(input.ErrTooLarge, "rules of more than %d bytes", maxFile)
	}
	if err != nil {
		return nil, input.At(input.Pos{File: name}, err)
	}
	d := document{Builtin: true}
	if err := strictyaml.Decode(name, b, &d); err != nil {
		return nil, err
	}
	m := Default()
	if !d.Builtin {
		m.rules = nil
	}
	if d.Stages != nil {
		if err := (trace.Schema{Stages: d.Stages}).Validate(); err != nil {
			return nil, input.At(input.Pos{File: name}, err)
		}
		m.Stages = d.Stages
	}
	var own []rule
	for _, f := range d.Rules {
		r, line, err := f.ruleFor(m)
		if err != nil {
			return nil, input.At(input.Pos{File: name, Line: int64(line)}, err)
		}
		own = append(own, r)
	}
	m.rules = append(own, m.rules...)
	return m, nil
}

// ruleFor returns the rule, which leads to a stage of m; an error is about a line.
func (f *fileRule) ruleFor(m *Map) (r rule, line int, err error) {
	ways := 0
	for how, pattern := range map[how]word{exact: f.Exact, prefix: f.Prefix, glob: f.Glob} {
		if pattern.text != "" {
			r.how, r.pattern, line = how, pattern.text, pattern.line
			ways++
		}
	}
	switch r.stage = f.Stage.text; {
	case ways != 1 || r.stage == "":
		return r, max(line, f.Stage.line), input.Bad(input.ErrMissing, "a rule has one of exact, prefix and glob, and a stage")
	case r.stage == none:
		r.stage = ""
	case m.Index(r.stage) < 0:
		return r, f.Stage.line, input.Bad(input.ErrMissing, "no stage %q, the stages are %s, and %s", r.stage, strings.Join(m.Stages, ", "), none)
	}
	return r, 0, nil
}
