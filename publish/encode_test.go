package publish

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sfstat/sfstat/internal/glyph"
)

// TestLayout: what is short stands on one line, what has parts or is long does not.
func TestLayout(t *testing.T) {
	long := strings.Repeat("x", mostInline+1)
	for compact, want := range map[string]string{
		`{"a":[1,null,"b"],"c":[]}`: "{\n  \"a\": [1, null, \"b\"],\n  \"c\": []\n}",
		`[[1,2],{}]`:                "[\n  [1, 2],\n  {}\n]",
		`["` + long + `"]`:          "[\n  \"" + long + "\"\n]",
		`["` + strings.Repeat(`\"`, mostInline) + `"]`: `["` + strings.Repeat(`\"`, mostInline) + `"]`,
	} {
		var out bytes.Buffer
		if err := Write(&out, json.RawMessage(compact)); err != nil || out.String() != want+"\n" {
			t.Errorf("%s became %s (%v)", compact, out.String(), err)
		}
	}
}

// TestPieces: lists of many objects, in whatever they stand, are written as encoding/json writes them, and laid out as
// short ones are.
func TestPieces(t *testing.T) {
	type leaf struct {
		A int   `json:"a"`
		B []int `json:"b,omitempty"`
	}
	type inner struct {
		Leaves []leaf  `json:"leaves"`
		None   []leaf  `json:"none"`
		Few    []leaf  `json:"few,omitempty"`
		Gone   *int    `json:"gone"`
		X      float64 `json:"x,omitempty"`
	}
	type outer struct {
		inner
		Name  string         `json:"name"`
		More  []inner        `json:"more"`
		One   *inner         `json:"one"`
		Names map[string]int `json:"names,omitempty"`
	}
	leaves := func(n int) (out []leaf) {
		for i := range n {
			out = append(out, leaf{i, slices.Repeat([]int{i}, i%3)})
		}
		return out
	}
	one := inner{Leaves: leaves(1000), Few: leaves(2)}
	for _, v := range []any{leaves(mostWhole), leaves(mostWhole + 1), one, &outer{inner: one, Name: "é<\x9b", More: []inner{{}, one}, One: &one}, []any{leaves(200)}, nil} {
		var got, want bytes.Buffer
		if err := Write(&got, v); err != nil {
			t.Fatal(err)
		}
		text, err := compactJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(&want, json.RawMessage(text)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%.300s\nwas written as\n%.300s", want.String(), got.String())
		}
	}
}

// What JSON holds comes back as it was, and nothing of it reaches a terminal that
// would steer it.
func TestJSONIsHarmless(t *testing.T) {
	evil := "a\x1b\u009b\u202e\u200b\x7f\U000e0001é漢😀"
	var b bytes.Buffer
	if err := Write(&b, map[string]string{evil: evil}); err != nil {
		t.Fatal(err)
	}
	if got := glyph.Visible(strings.ReplaceAll(b.String(), "\n", " ")); got != strings.ReplaceAll(b.String(), "\n", " ") {
		t.Errorf("not harmless: %q", b.String())
	}
	var back map[string]string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[evil] != evil {
		t.Errorf("%q came back as %q: %v", evil, back, err)
	}
}

// steering writes what steers a terminal as JSON escapes it. Compact JSON has such characters in strings alone.
func steering(compact string) string {
	var out strings.Builder
	for i, r := range compact {
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			_, n := utf8.DecodeRuneInString(compact[i:])
			out.WriteString(compact[i : i+n])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// Values of any shape are written as encoding/json writes them, but for white space and escapes of what steers a terminal.
func FuzzWrite(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"a":[1,2,{"b":"x,]}\""}],"c":[[]],"d":{"e":[]}}`, `"\\"`, `[1,"a: b",null,true]`, `[["\u005d"],-1.5e-3]`, "\"\x7f\"", "[\"\u009b31m\u202e\U000e0001\xff\"]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v any
		if json.Unmarshal([]byte(s), &v) != nil {
			return
		}
		var want, got, out bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		if err := Write(&out, v); err != nil {
			t.Fatal(err)
		}
		if err := json.Compact(&got, out.Bytes()); err != nil || got.String()+"\n" != steering(want.String()) {
			t.Errorf("%q became %q (%v)", want.String(), got.String(), err)
		}
	})
}
