package report

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/publish"
)

// TestPublishedFields: testdata/fields.txt lists every field of every published document
// with its type, so that a change of the contract is seen in review; and each field has a
// description.
func TestPublishedFields(t *testing.T) {
	var out bytes.Buffer
	for _, name := range SchemaNames() {
		s := schemaOf(name)
		fmt.Fprintf(&out, "%s\n", s.Title)
		listFields(t, &out, name, *s)
		for _, d := range s.Defs {
			fmt.Fprintf(&out, "  %s\n", d.Name)
			if strings.HasPrefix(d.Name, "evidence_") && d.Description == "" {
				t.Errorf("%s has no description", d.Name)
			}
			listFields(t, &out, name+"."+d.Name, d.Schema)
		}
	}
	golden(t, "fields.txt", out.Bytes())
}

func schemaOf(name string) *publish.Schema {
	f, _ := publish.FormOf(name)
	return f.Schema()
}

func listFields(t *testing.T, out *bytes.Buffer, at string, s publish.Schema) {
	t.Helper()
	for _, f := range s.Properties {
		if f.Description == "" {
			t.Errorf("%s.%s has no description", at, f.Name)
		}
		optional := ""
		if !slices.Contains(s.Required, f.Name) {
			optional = "?"
		}
		fmt.Fprintf(out, "    %s%s %s\n", f.Name, optional, typeOf(f.Schema))
	}
}

// typeOf is the type of a field in a few words.
func typeOf(s publish.Schema) string {
	switch {
	case s.Const != "":
		return "=" + s.Const
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/$defs/")
	case s.Enum != nil:
		return strings.Join(each(s.Enum, func(v any) string {
			if v == nil {
				return "null"
			}
			return fmt.Sprintf("%q", v)
		}), "|")
	case s.Items != nil:
		return "[]" + typeOf(*s.Items)
	case len(s.AnyOf) > 8:
		return "evidence"
	case s.AnyOf != nil:
		names := make([]string, len(s.AnyOf))
		for i, a := range s.AnyOf {
			names[i] = typeOf(a)
		}
		return strings.Join(names, "|")
	}
	return strings.Join(s.Type, "|")
}

// TestColumnsAreExplained: a column of CSV is a field in the schema of its document, or
// docs/output.md says what it is.
func TestColumnsAreExplained(t *testing.T) {
	page, err := os.ReadFile("../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	heads := map[string][]string{"hang": publish.HangRows(nil).Head, "slack": publish.SlackTable(nil).Head, "arrivals": publish.ArrivalRows(nil).Head,
		"comm": publish.Traffic{}.Rows().Head, "comm-steps": publish.CommSteps{}.Rows().Head, "comm-matrix": publish.CommMatrix{}.Rows().Head,
		"comm-topology": publish.Topology{}.Rows().Head, "comm-schedule": publish.CommSchedule{}.Rows().Head}
	rendered(t, CSV, Style{}, func(name string, out []byte) {
		name, _, _ = strings.Cut(name, "-")
		head, _, _ := strings.Cut(string(out), "\n")
		heads[name] = append(heads[name], strings.Split(head, ",")...)
	})
	if len(heads) != len(SchemaNames()) {
		t.Errorf("CSV of %d documents, expected %d", len(heads), len(SchemaNames()))
	}
	for name, columns := range heads {
		s := schemaOf(name)
		slices.Sort(columns)
		for _, column := range slices.Compact(columns) {
			is := func(f publish.Property) bool { return f.Name == column }
			if !slices.ContainsFunc(s.Properties, is) && !slices.ContainsFunc(s.Defs, func(d publish.Property) bool { return slices.ContainsFunc(d.Schema.Properties, is) }) &&
				!bytes.Contains(page, []byte("`"+column+"`")) {
				t.Errorf("%s: the column %s is in no schema, nor in docs/output.md", name, column)
			}
		}
	}
}
