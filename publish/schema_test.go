package publish

import (
	"reflect"
	"strings"
	"testing"
)

// TestSchemaFollowsTypes: a field that a type gains is in its schema, required and with its
// description; one that may lack is not required; one without a name is not there.
func TestSchemaFollowsTypes(t *testing.T) {
	type inner struct {
		Deep []float64 `json:"deep" doc:"deep numbers"`
	}
	type outer struct {
		inner
		Name   string  `json:"name" doc:"a name"`
		Rank   *int    `json:"rank" doc:"a rank"`
		Option string  `json:"option,omitempty" doc:"an option"`
		First  *int64  `json:"first" doc:"a step"`
		Secret float64 `json:"-"`
	}
	m := schemaMaker{names: map[reflect.Type]string{}}
	s := m.object(reflect.TypeFor[outer]())
	var got []string
	for _, p := range s.Properties {
		types := strings.Join(p.Type, "|")
		if p.Items != nil {
			types += " of " + strings.Join(p.Items.Type, "|")
		}
		got = append(got, p.Name+" "+types+": "+p.Description)
	}
	want := "deep array of number|null: deep numbers, name string: a name, rank integer|null: a rank, option string: an option, first integer|null: a step"
	if text := strings.Join(got, ", "); text != want || strings.Join(s.Required, " ") != "deep name rank first" {
		t.Errorf("%s, required %v, expected %s", text, s.Required, want)
	}
}
