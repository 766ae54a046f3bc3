package ingest

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"
)

// widely is text in UTF-16 with its mark; little end first, or big.
func widely(text string, low int) string {
	var b []byte
	for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(text))...) {
		pair := [2]byte{}
		pair[low], pair[1-low] = byte(u), byte(u>>8)
		b = append(b, pair[:]...)
	}
	return string(b)
}

// UTF-16 comes as UTF-8, whatever pieces it is read in.
func TestWide(t *testing.T) {
	for _, want := range []string{"", "x", "rank,step\r\n1,2\n", "é 𝄞 €", strings.Repeat("𝄞é\n", 40_000)} {
		for low := range 2 {
			in := widely(want, low)
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in)), "half": iotest.HalfReader(strings.NewReader(in))} {
				if len(in) > 1000 && name == "byte by byte" {
					continue
				}
				s, err := NewSource(r, "x", Limits{})
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(s)
				if err != nil || string(got) != want {
					t.Errorf("%d bytes, %s: %v, %d bytes instead of %d", len(in), name, err, len(got), len(want))
				}
			}
		}
	}
	for in, want := range map[string]string{"\xff\xfea\x00\x00\xd8b\x00": "a\uFFFDb", "\xff\xfea\x00\x00\xd8": "a\uFFFD", "\xff\xfea\x00b": "a\uFFFD", "plain": "plain", "\xff": "\xff"} {
		s, err := NewSource(strings.NewReader(in), "x", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(s); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	s, _ := NewSource(iotest.TimeoutReader(strings.NewReader(widely(strings.Repeat("a", 200_000), 0))), "x", Limits{})
	if _, err := io.ReadAll(s); err == nil {
		t.Error("a failing disk is not told")
	}
}

// NextCut goes on behind lines that Next refuses, with the offsets of all.
func TestNextCut(t *testing.T) {
	for _, long := range []int{11, lineBuffer - 3, lineBuffer, lineBuffer + 1, 5*lineBuffer + 7} {
		for _, end := range []string{"", "\n", "\nlast\r\n", "\n\n" + strings.Repeat("y", long) + "\nlast"} {
			in := "first\n" + strings.Repeat("x", long) + end
			l := NewLines(iotest.HalfReader(strings.NewReader(in)), "x", Limits{Line: 10}, nil)
			at := 0
			for _, want := range strings.SplitAfter(in, "\n") {
				if want == "" {
					continue
				}
				line, size, err := l.NextCut()
				text := strings.TrimRight(want, "\r\n")
				if err != nil || l.Offset() != int64(at) || size != int64(len(text)) || !strings.HasPrefix(text, string(line)) || len(line) < min(len(text), 10) {
					t.Fatalf("%d bytes, end %.10q: at %d: %d of %d bytes from %d, %v; want %d from %d", long, end, l.line, len(line), size, l.Offset(), err, len(text), at)
				}
				at += len(want)
			}
			if _, _, err := l.NextCut(); err != io.EOF {
				t.Errorf("%v at the end", err)
			}
		}
	}
}

// FuzzUTF16: whatever stands behind the mark, it is read to its end, as valid UTF-8.
func FuzzUTF16(f *testing.F) {
	for low := range 2 {
		f.Add([]byte(widely("rank,step\r\n1,2\né 𝄞 €", low)))
	}
	f.Add([]byte("\xff\xfe\x00\xd8x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := NewSource(bytes.NewReader(data), "x", Limits{})
		if err != nil {
			return // packed, and damaged
		}
		defer s.Close()
		got, err := io.ReadAll(s)
		marked := len(data) > 1 && (data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe && data[1] == 0xff)
		if marked && (err != nil || !utf8.Valid(got) || len(got) < len(data)/2-1) {
			t.Errorf("%d bytes became %q, %v", len(data), got, err)
		}
	})
}
