package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// store SRC DST FORM [less BYTES | until TEXT] writes the text of SRC, which is
// packed with gzip, to DST: plain, gzip, zstd or utf16; without its last bytes
// as it is stored, or up to the last place of a text.
func store(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 5 {
		ts.Fatalf("usage: store SRC DST FORM [less BYTES | until TEXT]")
	}
	z, err := gzip.NewReader(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	var text bytes.Buffer
	_, err = text.ReadFrom(z)
	ts.Check(err)
	data := text.Bytes()
	if len(args) == 5 && args[3] == "until" {
		at := bytes.LastIndex(data, []byte(args[4]))
		if at < 0 {
			ts.Fatalf("no %q in %s", args[4], args[0])
		}
		data = data[:at+len(args[4])]
	}
	data = pack(ts, args[2], data)
	if len(args) == 5 && args[3] == "less" {
		less, err := strconv.Atoi(args[4])
		ts.Check(err)
		data = data[:len(data)-less]
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o666))
}

// pack stores text in a form. Frames of zstd have short blocks, so that what is
// cut off is not all of it.
func pack(ts *testscript.TestScript, form string, text []byte) []byte {
	var out bytes.Buffer
	switch form {
	case "plain":
		return text
	case "gzip":
		w := gzip.NewWriter(&out)
		_, err := w.Write(text)
		ts.Check(err)
		ts.Check(w.Close())
	case "zstd":
		w, err := zstd.NewWriter(&out)
		ts.Check(err)
		for len(text) > 0 {
			n := min(len(text), 4096)
			_, err = w.Write(text[:n])
			ts.Check(err)
			ts.Check(w.Flush())
			text = text[n:]
		}
		ts.Check(w.Close())
	case "utf16":
		for _, c := range utf16.Encode([]rune(string(text))) {
			out.Write([]byte{byte(c), byte(c >> 8)})
		}
	default:
		ts.Fatalf("no form %q", form)
	}
	return out.Bytes()
}
