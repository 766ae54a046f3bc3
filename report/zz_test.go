package report

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"testing"
)

func TestZZ(t *testing.T) {
	os.MkdirAll("/tmp/gen", 0o755)
	var o bytes.Buffer
	for _, p := range documents {
		var b bytes.Buffer
		if err := (Output{W: &b}).Schema(p.name); err != nil {
			t.Fatal(err)
		}
		os.WriteFile("/tmp/gen/"+p.name+".json", b.Bytes(), 0o644)
		originOf(&o, p.name, p.of)
		if p.problems {
			originOf(&o, p.name+".problems[]", reflect.TypeFor[problemJSON]())
		}
	}
	os.WriteFile("/tmp/gen/origins.txt", o.Bytes(), 0o644)
}

func originOf(o *bytes.Buffer, path string, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		if t.Kind() != reflect.Pointer {
			path += "[]"
		}
		t = t.Elem()
	}
	if _, is := namesOf(t); is || t.Kind() != reflect.Struct {
		return
	}
	for _, f := range fieldsOf(t) {
		if f.csvOnly {
			continue
		}
		in := t
		for _, i := range f.index[:len(f.index)-1] {
			in = in.Field(i).Type
			if in.Kind() == reflect.Pointer {
				in = in.Elem()
			}
		}
		last := in.Field(f.index[len(f.index)-1])
		fmt.Fprintf(o, "%s.%s\t%s\t%s\t%s\t%v\n", path, f.name, in.PkgPath(), in.Name(), last.Name, f.of)
		originOf(o, path+"."+f.name, f.of)
	}
}
