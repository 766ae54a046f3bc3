package publish

import (
	"slices"
	"testing"
)

// TestRows: null is an empty cell, a list stands between spaces, and what steers a terminal does not.
func TestRows(t *testing.T) {
	length := 7
	type bolt struct {
		Colour string   `json:"colour"`
		Length *int     `json:"length"`
		Width  float64  `json:"width"`
		Red    []string `json:"red"`
	}
	r := rowsOf([]bolt{{"sky", &length, 1.5, []string{"ox", "sea"}}, {"\x1b[31m", nil, 2, nil}})
	r.add("sea", nil, 0.5, number(0.25))
	if want := []string{"colour", "length", "width", "red"}; !slices.Equal(r.Head, want) {
		t.Errorf("head %q, expected %q", r.Head, want)
	}
	want := [][]string{{"sky", "7", "1.5", "ox sea"}, {`\x1b[31m`, "", "2", ""}, {"sea", "", "0.5", "0.25"}}
	if !slices.EqualFunc(r.cells, want, slices.Equal) {
		t.Errorf("rows %q, expected %q", r.cells, want)
	}
}
