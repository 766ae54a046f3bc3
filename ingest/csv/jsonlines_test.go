package csv

import (
	"slices"
	"testing"
)

// FuzzFlatObject: a line that is parsed in the short way is parsed as a decoder does it, which takes all others.
func FuzzFlatObject(f *testing.F) {
	for _, line := range []string{
		`{"step":0,"rank":1,"data_ms":12.25,"run":"a b","ok":true,"no":null}`, ` { "a" : -0.5 , "b" : "" }`, `{"a":1} {`, `{"a":1,}`, `{}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`,
		`{"a":1e3}`, `{"a":"\u00b5"}`, `{"µ":1}`, `{"a":[1],"b":2}`, `{"a":{"b":1}}`, `{"a":1 2}`, `{"a" 1}`, `{"a":tru}`, `{"a":1`, `{"a`, `[1]`, ``, "{\"a\":1\t,\r\n\"b\":false}", `{"a":1,"a":2}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		names, values, ok := flatObject(line)
		if !ok {
			return
		}
		wantNames, wantValues, err := decodeObject(line)
		if err != nil || !slices.Equal(names, wantNames) || !slices.Equal(values, wantValues) {
			t.Errorf("%q: %q, %q, want %q, %q, error %v", line, names, values, wantNames, wantValues, err)
		}
	})
}

// TestFlatObject: rows as programs write them are parsed in the short way.
func TestFlatObject(t *testing.T) {
	for line, want := range map[string][]string{
		`{"step":3,"rank":0,"data_ms":12.250,"host":"n0"}`: {"3", "0", "12.250", "n0"},
		`{"a": true, "b": null, "c": -0.5}`:                {"true", "", "-0.5"},
	} {
		if _, values, ok := flatObject([]byte(line)); !ok || !slices.Equal(values, want) {
			t.Errorf("%s: %q, %v", line, values, ok)
		}
	}
}
