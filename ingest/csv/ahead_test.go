package csv

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/trace"
)

// TestAhead: rows that are split ahead make the same windows and the same errors, at the same lines, as rows
// that are not, of whole tables and of what is cut or broken anywhere; a reader may be closed early.
func TestAhead(t *testing.T) {
	var b strings.Builder
	b.WriteString("step,rank,data,backward\n")
	for step := range 900 {
		for rank := range 3 {
			fmt.Fprintf(&b, "%d,%d,%d,\"%d\"\n", step, rank, 10_000_000+step, 20_000_000+rank)
		}
	}
	whole := b.String()
	texts := []string{whole, whole[:len(whole)-1], whole[:len(whole)-7], whole[:len(whole)-2], whole[:len(whole)/2], "step,rank,data\n", "",
		strings.Replace(whole, "100,1,", "100,x,", 1), strings.Replace(whole, "\n700,1,", "\n700\"1,", 1), whole[:30000] + "\"" + whole[30000:]}
	read := func(text string, ahead bool) (all []*trace.Window, failed string) {
		r, err := NewReader(strings.NewReader(text), "t.csv", Options{Ahead: ahead})
		if err != nil {
			return nil, err.Error()
		}
		defer r.Close()
		for {
			w, err := r.Next()
			if errors.Is(err, io.EOF) {
				return all, ""
			}
			if err != nil {
				return all, err.Error()
			}
			all = append(all, w)
		}
	}
	for i, text := range texts {
		want, wantErr := read(text, false)
		got, gotErr := read(text, true)
		if diff := cmp.Diff(want, got); diff != "" || gotErr != wantErr {
			t.Errorf("text %d: error %q, want %q\n%s", i, gotErr, wantErr, diff)
		}
	}
	r, err := NewReader(strings.NewReader(whole), "t.csv", Options{Ahead: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
