package report

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/publish"
)

// readSchema is the published schema of a document, ready to validate.
func readSchema(t *testing.T, name string) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	var b bytes.Buffer
	if err := (Output{W: &b}).Schema(name); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&b)
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
	if len(schemas) != 10 {
		t.Errorf("%d schemas were tried, expected 10", len(schemas))
	}
}

func TestSlackSchema(t *testing.T) {
	schema, _ := readSchema(t, "slack")
	var out bytes.Buffer
	w := publish.Slack{Run: "job", Cut: "sync", Steps: 2, Ranks: []int{0, 3}, Stages: []string{"data"}, Frontier: []int64{9}, Prefix: [][]int64{{7, 9}}, Slack: [][]int64{{2, 0}}}
	if err := to(&out, JSON, Style{}, Problem{Path: "x", Err: errors.New("torn")}).Slack([]publish.Slack{w}); err != nil {
		t.Fatal(err)
	}
	valid(t, schema, "slack", out.Bytes())
}

// Every published schema is one: the compiler holds it to the meta-schema of its draft.
func TestSchemasAreValid(t *testing.T) {
	for _, name := range SchemaNames() {
		if _, doc := readSchema(t, name); doc["title"] == "" || doc["description"] == "" {
			t.Errorf("%s: title %q, description %q", name, doc["title"], doc["description"])
		}
	}
	var out bytes.Buffer
	if err := (Output{W: &out}).Schema("verdicts"); err == nil || out.Len() > 0 {
		t.Errorf("a schema that is not there: %v, %q", err, out.String())
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
			{RunVerdict: rv, Runs: []diagnose.RunVerdict{rv}, Thresholds: diagnose.Thresholds{Gates: gates.Default()}},
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

// fill sets every float to f, every name of a kind to the first and gives every slice one element and every
// pointer a value; indices stay 0.
func fill(v reflect.Value, f float64) {
	switch v.Kind() {
	case reflect.Float64:
		v.SetFloat(f)
	case reflect.String:
		if x, ok := v.Interface().(interface{ Names() []string }); ok {
			v.SetString(x.Names()[0])
		}
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
	for _, e := range publish.Observations() {
		v := reflect.New(reflect.TypeOf(e)).Elem()
		if v.Kind() == reflect.Struct {
			fill(v, f)
		}
		list = append(list, v.Interface().(evidence.Observation))
	}
	return list
}
