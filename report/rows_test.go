package report

import (
	"reflect"
	"slices"
	"testing"
)

type shelfOf struct {
	Name  string   `json:"name"`
	Boxes []*boxOf `json:"boxes"`
}

type boxOf struct {
	Name  string   `json:"name"`
	Bolts []boltOf `json:"bolts"`
	Red   []string `json:"red"`
	Lid   *lidOf   `json:"lid"`
}

type lidOf struct {
	Width float64 `json:"width"`
}

type boltOf struct {
	Length int    `json:"length" null:"negative"`
	Colour string `json:"colour"`
}

type shelves struct {
	Shelves []shelfOf `json:"shelves"`
}

// The rows are read off by hand.
func TestItemsOf(t *testing.T) {
	v := shelves{[]shelfOf{{"top", []*boxOf{
		{Name: "a", Lid: &lidOf{1.5}, Red: []string{"ox", "sea"}, Bolts: []boltOf{{7, "ox"}, {-1, "sky"}}},
		{Name: "b"},
	}}}}
	got := itemsOf(reflect.TypeFor[shelves](), "shelves.boxes.bolts?", "box=name length colour lid=lid.width red").of(v)
	if want := []string{"box", "length", "colour", "lid", "red"}; !slices.Equal(got.head, want) {
		t.Errorf("head %q, want %q", got.head, want)
	}
	want := [][]string{
		{"a", "7", "ox", "1.5", "ox sea"},
		{"a", "", "sky", "1.5", "ox sea"},
		{"b", "", "", "", ""},
	}
	if !slices.EqualFunc(got.rows, want, slices.Equal) {
		t.Errorf("rows %q, want %q", got.rows, want)
	}
}

// A table that names what its type does not have keeps the program from starting.
func TestItemsOfRefusesNamesThatTypesLack(t *testing.T) {
	for name, c := range map[string]struct{ list, columns string }{
		"no such list":                {"shelves.boxs", "name"},
		"a list that is a field":      {"shelves.name", "name"},
		"no such field":               {"shelves.boxes", "name nmae"},
		"a field of an inner struct":  {"shelves.boxes", "width"},
		"no such field of a field":    {"shelves.boxes", "w=lid.wdth"},
		"a field of what has none":    {"shelves.boxes", "w=name.width"},
		"no such way to take a field": {"shelves.boxes", "n=sum:bolts"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it is taken")
				}
			}()
			itemsOf(reflect.TypeFor[shelves](), c.list, c.columns)
		})
	}
}
