package strictyaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/input"
)

type even int

func (e *even) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscan(string(text), (*int)(e)); err != nil || *e%2 != 0 {
		return input.Bad(input.ErrType, "%q is not even", text)
	}
	return nil
}

type settings struct {
	Tau   float64 `yaml:"tau"`
	Count even    `yaml:"count"`
	Inner struct {
		Gap int `yaml:"gap"`
	} `yaml:"inner"`
	Often int      `yaml:"often,omitempty"`
	List  *[2]part `yaml:"list"`
	Sized `yaml:",inline"`
}

type part struct {
	Sized `yaml:",inline"`
	Next  *part `yaml:"next"` // types may hold themselves
}

// Sized is exported, as the library asks of what is inline.
type Sized struct {
	Size int32 `yaml:"size"`
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]settings{
		"tau: 0.5\n": {Tau: 0.5, Count: 4},
		`{"inner": {"gap": 3}, "count": 2}`: {Tau: 0.8, Count: 2, Inner: struct {
			Gap int `yaml:"gap"`
		}{3}},
		"inner: {gap: 1e3}\n": {Tau: 0.8, Count: 4, Inner: struct {
			Gap int `yaml:"gap"`
		}{1000}},
		"# nothing but a comment\ntau: 1\n": {Tau: 1, Count: 4},
	} {
		got := settings{Tau: 0.8, Count: 4}
		if err := Decode("s.yaml", []byte(text), &got); err != nil || got != want {
			t.Errorf("%q: %+v, %v, expected %+v", text, got, err, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "s.yaml: nothing is set in it",
		"# a comment\n":              "s.yaml: nothing is set in it",
		"tau: 1\nata: 2\n":           "s.yaml:2: there is no ata here",
		"inner:\n  gap: 1\n  gup: 1": "s.yaml:3: there is no gup here",
		"tau: 1\ntau: 2\n":           "s.yaml:2: mapping key \"tau\" already defined at line 1",
		"inner: {gap: wide}\n":       `s.yaml:1: "wide" is text, expected a whole number`,
		"inner: {gap: 1.5}\n":        `s.yaml:1: "1.5" is a number, expected a whole number`,
		"list:\n - &p {next: {size: .5}}\n - *p\n": `s.yaml:2: ".5" is a number, expected a whole number`,
		"often: 0.5\n":          `s.yaml:1: "0.5" is a number, expected a whole number`,
		"size: 2.5\n":           `s.yaml:1: "2.5" is a number, expected a whole number`,
		"inner: 4\n":            `s.yaml:1: "4" is a number, expected keys with values`,
		"list: {size: 2}\n":     "s.yaml:1: found keys with values, expected a list",
		"tau: [1]\n":            "s.yaml:1: found a list, expected a number",
		"count: [2]\n":          "s.yaml:1: found a list, expected a word",
		"count: 3\n":            `s.yaml: "3" is not even`,
		"tau: 1\n---\ntau: 2\n": "s.yaml: more than one YAML document, expected one",
		"tau: [\n":              "s.yaml:",
		"\x00\x01":              "s.yaml: control characters are not allowed",
	} {
		err := Decode("s.yaml", []byte(text), new(settings))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "yaml: line") {
			t.Errorf("%q: error is %v, expected %s", text, err, want)
		}
	}
	var unknown *UnknownKey
	if err := Decode("s.yaml", []byte("ata: 2"), new(settings)); !errors.As(err, &unknown) || unknown.Key != "ata" {
		t.Errorf("error is %v, expected the key that is not known", err)
	}
	if err := Decode("s.yaml", []byte("count: 3"), new(settings)); !errors.Is(err, input.ErrType) {
		t.Errorf("error is %v, expected the type's own", err)
	}
	if err := Decode("s.yaml", nil, new(settings)); !errors.Is(err, ErrNothing) || !errors.Is(err, input.ErrEmpty) {
		t.Errorf("error is %v, expected ErrNothing", err)
	}
}

// FuzzDecode: no text ends the program, and every refusal names the file.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"tau: 1\n", "inner:\n  gup: 1", "a: &a [*a]\n", "\t", "tau: 1\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := Decode("s.yaml", text, new(settings)); err != nil && !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Errorf("%q: error %v does not name the file", text, err)
		}
	})
}
