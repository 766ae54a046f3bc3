package csv

import (
	"fmt"
	"slices"
	"strings"
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

// TestPartsOfSteps: objects of which one number is the sum of the others have the parts of steps; those of a trainer's scalars have not.
func TestPartsOfSteps(t *testing.T) {
	lines := func(n int, line func(i int) string) (text string) {
		for i := range n {
			text += line(i) + "\n"
		}
		return text
	}
	parts := func(i int) string {
		a, b, c := 0.01+float64(i)/1e4, 0.06+float64(i%3)/1e3, 0.04
		return fmt.Sprintf(`{"step":%d,"io":%.5f,"compute":%.5f,"sync":%.5f,"time":%.5f,"loss":2.5}`, i, a, b, c, a+b+c)
	}
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"parts":     {lines(20, parts), true},
		"cut":       {strings.TrimSuffix(lines(20, parts), "0.5}\n"), true},
		"few lines": {lines(5, parts), false},
		"no step":   {strings.ReplaceAll(lines(20, parts), "step", "epoch"), false},
		"scalars": {lines(20, func(i int) string {
			return fmt.Sprintf(`{"step":%d,"time":0.12,"reward":0.%d,"kl":0.02,"entropy":0.3}`, i, i+1)
		}), false},
		"one sum by luck": {lines(20, func(i int) string { return fmt.Sprintf(`{"step":%d,"time":0.5,"reward":0.%d,"kl":0.2}`, i, 3+i%2) }), false},
	} {
		if got := HasPartsOfSteps([]byte(c.text)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
