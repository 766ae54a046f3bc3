package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/gates"
)

const docs = "../docs"

func readSchema(t *testing.T, name string) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(docs, "schema", name+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s, doc.(map[string]any)
}

func valid(t *testing.T, s *jsonschema.Schema, name string, out []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Errorf("%s is not JSON: %v\n%s", name, err, out)
		return
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// Every rendering obeys the published schemas, which allow no other field.
func TestSchemas(t *testing.T) {
	schemas := make(map[string]*jsonschema.Schema)
	rendered(t, JSON, Style{}, func(name string, out []byte) {
		command, _, _ := strings.Cut(name, "-")
		if schemas[command] == nil {
			schemas[command], _ = readSchema(t, command)
		}
		valid(t, schemas[command], name, out)
	})
	if len(schemas) != 12 {
		t.Errorf("%d schemas were tried, expected 12", len(schemas))
	}
}

// Whatever floats an engine hands over, the JSON is valid: what is not finite
// is null, and lists that are nil are empty.
func TestJSONOfUnusualValues(t *testing.T) {
	verdict, _ := readSchema(t, "verdict")
	account, _ := readSchema(t, "frontier")
	for _, f := range []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		r := &frontier.Result{}
		rv := diagnose.RunVerdict{}
		fill(reflect.ValueOf(r).Elem(), f)
		fill(reflect.ValueOf(&rv).Elem(), f)
		r.Labels, r.Reasons = allLabels(), allReasons()
		rv.Windows = []diagnose.Window{{Main: r, Paper: r, Groups: []*frontier.Result{r}}}
		for _, v := range []*diagnose.Verdict{
			{RunVerdict: rv, Runs: []diagnose.RunVerdict{rv}, Gates: gates.Default()},
			{RunVerdict: diagnose.RunVerdict{Windows: []diagnose.Window{{Main: &frontier.Result{}}}}},
			{},
		} {
			for _, format := range []Format{Text, JSON, CSV, Markdown} {
				var a, b bytes.Buffer
				if err := to(&a, format, Style{}).Verdict(v); err != nil {
					t.Fatalf("%v of %v: %v", format, f, err)
				}
				if err := to(&b, format, Style{}).Frontier(results(v)); err != nil {
					t.Fatalf("%v of %v: %v", format, f, err)
				}
				if format == JSON {
					valid(t, verdict, fmt.Sprint("verdict of ", f), a.Bytes())
					valid(t, account, fmt.Sprint("frontier of ", f), b.Bytes())
				}
				if s := a.String() + b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
					t.Errorf("%v of %v contains NaN or Inf:\n%s", format, f, s)
				}
			}
		}
	}
}

// fill sets every float to f and gives every slice one element and every
// pointer a value; indices stay 0.
func fill(v reflect.Value, f float64) {
	switch v.Kind() {
	case reflect.Float64:
		v.SetFloat(f)
	case reflect.Pointer:
		if v.Type() != reflect.TypeFor[*frontier.Result]() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), f)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]evidence.Observation]() {
			v.Set(reflect.ValueOf(unusualEvidence(f)))
		} else if v.Type() != reflect.TypeFor[[]diagnose.Window]() {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), f)
			}
		}
	}
}

// unusualEvidence is one of every kind, filled.
func unusualEvidence(f float64) (list []evidence.Observation) {
	for _, e := range evidenceKinds {
		v := reflect.New(reflect.TypeOf(e)).Elem()
		if v.Kind() == reflect.Struct {
			fill(v, f)
		}
		list = append(list, v.Interface().(evidence.Observation))
	}
	return list
}

// Every kind of evidence, its fields and every reason are in the schema and
// explained.
func TestEvidenceIsExplained(t *testing.T) {
	explained := explainer(t, "evidence.md")
	_, doc := readSchema(t, "verdict")
	kinds := doc["$defs"].(map[string]any)["evidence"].(map[string]any)["properties"].(map[string]any)["kind"].(map[string]any)["enum"].([]any)
	var fields func(v reflect.Type)
	fields = func(v reflect.Type) {
		for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
			if v.Field(i).Anonymous {
				fields(v.Field(i).Type)
				continue
			}
			name, _, _ := strings.Cut(v.Field(i).Tag.Get("json"), ",")
			explained(name)
		}
	}
	for _, e := range evidenceKinds {
		if e.Kind() == "said" {
			continue
		}
		explained(string(e.Kind()))
		if !slices.Contains(kinds, any(string(e.Kind()))) {
			t.Errorf("the schema does not know the kind %s", e.Kind())
		}
		fields(reflect.TypeOf(e))
	}
	for _, r := range evidenceReasons {
		explained(string(r))
	}
}

// The two files are complete by themselves and agree on what they share.
func TestSchemasAgree(t *testing.T) {
	_, verdict := readSchema(t, "verdict")
	_, account := readSchema(t, "frontier")
	mine, its := verdict["$defs"].(map[string]any), account["$defs"].(map[string]any)
	for name, def := range its {
		if diff := cmp.Diff(fmt.Sprint(def), fmt.Sprint(mine[name])); diff != "" {
			t.Errorf("$defs/%s differs between the schemas (-frontier +verdict):\n%s", name, diff)
		}
	}
}

// The schemas are closed, know every label and reason, and the page of a
// command's output explains every field and column.
func TestSchemasAreComplete(t *testing.T) {
	explained := explainer(t, "output.md")
	for _, name := range []string{"frontier", "verdict"} {
		_, doc := readSchema(t, name)
		complete(t, name, doc, explained)
		defs := doc["$defs"].(map[string]any)
		enum := func(field string) []any {
			p := defs["window"].(map[string]any)["properties"].(map[string]any)[field].(map[string]any)
			return p["items"].(map[string]any)["enum"].([]any)
		}
		if diff := cmp.Diff(toAny(allLabels()), enum("labels")); diff != "" {
			t.Errorf("%s: labels (-engine +schema):\n%s", name, diff)
		}
		if diff := cmp.Diff(toAny(allReasons()), enum("downgrade_reasons")); diff != "" {
			t.Errorf("%s: reasons (-engine +schema):\n%s", name, diff)
		}
	}
	for _, l := range allLabels() {
		explained(l.String())
	}
	for _, r := range allReasons() {
		explained(r.String())
	}
	for _, c := range stageRows(nil).head {
		explained(c)
	}
	for _, c := range suspectRows(strongCase()).head {
		explained(c)
	}
}

// TestTracesSchemasAreComplete: the same for the tables over operator traces.
func TestTracesSchemasAreComplete(t *testing.T) {
	explained := explainer(t, "output-ops.md")
	for _, name := range []string{"ks", "zscore", "blame", "whatif"} {
		_, doc := readSchema(t, name)
		complete(t, name, doc, explained)
	}
	for _, t := range []*csvTable{completionsRows(nil), structRows[pairJSON](nil), outlierRows(nil), culpritRows(nil), whatifRows(nil)} {
		for _, c := range t.head {
			explained(c)
		}
	}
}

// explainer checks that a page explains a name.
func explainer(t *testing.T, name string) func(string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(docs, name))
	if err != nil {
		t.Fatal(err)
	}
	return func(word string) {
		if !bytes.Contains(page, []byte("`"+word+"`")) {
			t.Errorf("docs/%s does not explain `%s`", name, word)
		}
	}
}

// complete checks that every object of a schema is closed, requires all of its
// fields, and that they are explained.
func complete(t *testing.T, name string, v any, explained func(string)) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if props, ok := m["properties"].(map[string]any); ok && m["type"] == "object" {
		if m["additionalProperties"] != false {
			t.Errorf("%s allows other fields", name)
		}
		if got := len(m["required"].([]any)); got != len(props) {
			t.Errorf("%s requires %d of %d fields", name, got, len(props))
		}
		for _, p := range slices.Sorted(maps.Keys(props)) {
			explained(p)
		}
	}
	for k, x := range m {
		complete(t, name+"/"+k, x, explained)
	}
}

func toAny[T fmt.Stringer](v []T) []any {
	var out []any
	for _, x := range v {
		out = append(out, x.String())
	}
	return out
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

// Laying out changes white space, and escapes what steers a terminal, nothing else.
func FuzzIndent(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"a":[1,2,{"b":"x,]}\""}],"c":[[]],"d":{"e":[]}}`, `"\\"`, `[1,"a: b",null,true]`, `[["\u005d"],-1.5e-3]`, "\"\x7f\"", "[\"\u009b31m\u202e\U000e0001\xff\"]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want, got bytes.Buffer
		if json.Compact(&want, []byte(s)) != nil {
			return
		}
		if err := json.Compact(&got, indent(want.Bytes())); err != nil || got.String() != steering(want.String()) {
			t.Errorf("%q became %q (%v)", want.String(), got.String(), err)
		}
	})
}
