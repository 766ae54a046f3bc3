package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type row struct {
	Small int32  `parquet:"small"`
	Same  int32  `parquet:"same"`
	Big   int64  `parquet:"big"`
	Name  string `parquet:"name"`
}

// columns are n rows of every type, with negative and repeated values, and
// strings of odd lengths.
func columns(n int) ([]Column, []row) {
	names := []string{"forward", "", "a,b", "größer"}
	small, same, big, of := make([]int32, n), make([]int32, n), make([]int64, n), make([]int32, n)
	rows := make([]row, n)
	for i := range n {
		small[i], same[i], big[i], of[i] = int32(i%1000)-3, -7, int64(i)*int64(i)*1e6-5, int32(i/3%4)
		rows[i] = row{small[i], same[i], big[i], names[of[i]]}
	}
	return []Column{{Name: "small", Int32: small}, {Name: "same", Int32: same}, {Name: "big", Int64: big}, {Name: "name", Text: names, Of: of}}, rows
}

// TestWrite: an independent reader finds what was written, in one page and in
// several pages and row groups.
func TestWrite(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 1000, pageRows, pageRows + 1, groupRows, groupRows + 3} {
		t.Run(fmt.Sprintf("rows=%d", n), func(t *testing.T) {
			list, want := columns(n)
			var b bytes.Buffer
			if err := Write(&b, list); err != nil {
				t.Fatal(err)
			}
			f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if groups := (n + groupRows - 1) / groupRows; len(f.RowGroups()) != groups || f.NumRows() != int64(n) {
				t.Errorf("%d groups of %d rows, want %d of %d", len(f.RowGroups()), f.NumRows(), groups, n)
			}
			got, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != n {
				t.Fatalf("%d rows, want %d", len(got), n)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("row %d is %+v, want %+v", i, got[i], want[i])
				}
			}
		})
	}
}

// TestFooterIsTrue: sizes and offsets in the footer are those of the file.
func TestFooterIsTrue(t *testing.T) {
	list, _ := columns(3 * pageRows)
	var b bytes.Buffer
	if err := Write(&b, list); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	at := int64(len(magic))
	for _, c := range f.Metadata().RowGroups[0].Columns {
		m := c.MetaData
		first := m.DataPageOffset
		if m.DictionaryPageOffset > 0 {
			first = m.DictionaryPageOffset
		}
		if first != at || m.DataPageOffset < at {
			t.Errorf("%v begins at %d, with data at %d, want %d", m.PathInSchema, first, m.DataPageOffset, at)
		}
		at += m.TotalCompressedSize
		if m.TotalUncompressedSize < m.TotalCompressedSize/8 || m.NumValues != 3*pageRows {
			t.Errorf("%v: %d bytes, %d raw, %d values", m.PathInSchema, m.TotalCompressedSize, m.TotalUncompressedSize, m.NumValues)
		}
	}
	footer := int64(b.Len()) - at - 8
	if tail := b.Bytes()[b.Len()-8:]; int64(tail[0])|int64(tail[1])<<8 != footer || string(tail[4:]) != magic {
		t.Errorf("the footer is %d bytes, the file ends in %v", footer, tail)
	}
}

func TestErrorsOfTheOutput(t *testing.T) {
	list, _ := columns(100)
	var whole bytes.Buffer
	if err := Write(&whole, list); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	for room := 0; room < whole.Len(); room += 13 {
		if err := Write(&bounded{room, full}, list); !errors.Is(err, full) {
			t.Fatalf("with room for %d of %d bytes: %v", room, whole.Len(), err)
		}
	}
}

// bounded is an output with room for so many bytes.
type bounded struct {
	room int
	err  error
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.room {
		return 0, b.err
	}
	b.room -= len(p)
	return len(p), nil
}
