package latent

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
)

// TestMicrobatchesAreOnePiece: the micro-batches of a stage on the way to one point are one piece, as ranks may go through them in another
// order; those of another stage, on the way to another point, or of no micro-batch are their own.
func TestMicrobatchesAreOnePiece(t *testing.T) {
	d := &points.Division{Ranks: 2, Intervals: 2, Head: []int{0, 1}, Tail: []int{-1, -1},
		Stages: []points.Stage{{Name: "forward@0"}, {Name: "backward@0"}, {Name: "forward@1"}, {Name: "forward@2"}, {Name: "optim"}},
		Points: make([]points.Point, 2),
		Pieces: []points.Piece{{Stage: 0}, {Stage: 1}, {Stage: 2}, {Stage: 3, Point: 1}, {Stage: 4, Point: 1}},
		Work:   [][]int64{{20, 10, 21, 11}, {5, 5, 5, 5}, {1, 11, 1, 11}, {7, 8, 7, 8}, {3, 3, 3, 3}}}
	before := slices.Clone(d.Work[0])
	w := FromDivision(d)
	if want := []Piece{{Stage: 0}, {Stage: 1}, {Stage: 3, Point: 1}, {Stage: 4, Point: 1}}; !slices.Equal(w.Pieces, want) {
		t.Fatalf("pieces %v, want %v", w.Pieces, want)
	}
	if want := []int64{21, 21, 22, 22}; !slices.Equal(w.Own[0], want) || !slices.Equal(d.Work[0], before) {
		t.Errorf("own work in forward before the first point %v, want %v; the division has %v", w.Own[0], want, d.Work[0])
	}
}
