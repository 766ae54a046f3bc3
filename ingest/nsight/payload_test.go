package nsight

import (
	"encoding/binary"
	"testing"

	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
	"github.com/sfstat/sfstat/trace/nccl"
)

// reduceLayout is what NCCL 2.25 on registers for ncclReduce.
func reduceLayout() schemas {
	key := schemaKey{2, 1<<24 + 8}
	fields := []payloadField{
		{name: "NCCL communicator ID", kind: 18, offset: export.Absent},
		{index: 1, name: "Message size [bytes]", kind: 22, offset: 8},
		{index: 2, name: "Root", kind: 5, offset: 16},
		{index: 3, name: "Reduction operation", kind: 1<<24 + 24, offset: 20},
	}
	return schemas{fields: map[schemaKey][]payloadField{key: fields}, enums: map[schemaKey]int64{{2, 1<<24 + 24}: 4}}
}

// blob is a payload with the header that exports put before it.
func blob(domain, schema, size, last uint64, body ...byte) (out []byte) {
	for _, v := range []uint64{domain, schema, size, last} {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return append(out, body...)
}

func TestPayloadBinary(t *testing.T) {
	body := []byte{0x21, 0x43, 0x65, 0x87, 0, 0, 0, 0xf0, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0}
	want := payload{comm: 0xf000000087654321, bytes: 65536, root: 3, reduction: nccl.Max, rank: -1, ranks: -1, found: true}
	s := reduceLayout()
	for name, tt := range map[string]struct {
		b    []byte
		want payload
	}{
		"with the offset":          {blob(2, 1<<24+8, 24, 32, body...), want},
		"with the size of all":     {blob(2, 1<<24+8, 24, 56, body...), want},
		"of another domain":        {blob(1, 1<<24+8, 24, 32, body...), unknownPayload()},
		"of another layout":        {blob(2, 1<<24+9, 24, 32, body...), unknownPayload()},
		"cut short":                {blob(2, 1<<24+8, 24, 32, body[:20]...), unknownPayload()},
		"of a size that cannot be": {blob(2, 1<<24+8, 1<<63, 32, body...), unknownPayload()},
		"without a header":         {body[:8], unknownPayload()},
	} {
		if got := s.binary(tt.b); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if got := s.binary(blob(2, 1<<24+8, 8, 32, body[:8]...)); got.comm != want.comm || got.bytes != -1 || got.root != -1 {
		t.Errorf("of a shorter struct: %+v", got)
	}
}

// Fields without an offset stand where C aligns them: so NCCL 2.18 to 2.24 had it, whose names differ, too.
func TestPayloadAligned(t *testing.T) {
	s := schemas{fields: map[schemaKey][]payloadField{{1, 9}: {{name: "Rank", kind: 5}, {index: 1, name: "Bytes", kind: 22}, {index: 2, name: "Peer rank", kind: 15}}}}
	got := s.binary(blob(1, 9, 24, 32, 7, 0, 0, 0, 9, 9, 9, 9, 0, 1, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0))
	if got.rank != 7 || got.bytes != 256 || got.root != 5 {
		t.Errorf("%+v", got)
	}
}

func TestPayloadJSON(t *testing.T) {
	got := jsonPayload(` {"NCCL communicator ID": 17293822569102704640, "Message size [bytes]":"1024", "Reduction operation":"Avg", "Peer rank": -1, "other": [1]}`)
	if want := (payload{comm: 17293822569102704640, bytes: 1024, root: -1, reduction: nccl.Avg, rank: -1, ranks: -1, found: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, text := range []string{"", "{", "[1]", `{"Message size [bytes]": 1e300}`, `{"Message size [bytes]": NaN}`, `{"Message size [bytes]": -5}`, `{"Message size [bytes]": 99999999999999999999999}`} {
		if got := jsonPayload(text); got.bytes != -1 {
			t.Errorf("%s: %d bytes", text, got.bytes)
		}
	}
}

// Whatever a program attached: no panic, no size below −1.
func FuzzPayload(f *testing.F) {
	f.Add(blob(2, 1<<24+8, 24, 32, make([]byte, 24)...), int64(8), int64(5), `{"Rank":1}`)
	f.Fuzz(func(t *testing.T, b []byte, offset, kind int64, text string) {
		s := reduceLayout()
		key := schemaKey{2, 1<<24 + 8}
		s.fields[key] = append(s.fields[key], payloadField{index: 4, name: "Bytes", kind: kind, offset: offset})
		for _, p := range []payload{s.binary(b), jsonPayload(text)} {
			if p.bytes < -1 || p.root < -1 || p.rank < -1 {
				t.Errorf("%+v", p)
			}
		}
	})
}
