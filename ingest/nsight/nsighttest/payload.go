package nsighttest

import (
	"encoding/binary"
	"encoding/json"
)

// PayloadForm is how an export has what programs attached to ranges.
type PayloadForm uint8

const (
	NoPayloads     PayloadForm = iota // not at all: what nsys export does by itself
	AsBinary                          // as it lay in memory, after a header, with tables of its layout
	AsJSON                            // as an object with the names of the fields
	BinaryHeader                      // as AsBinary, with the size of header and payload where others have the offset
	Decoded                           // as tables with a column for each field, whose names are changed for SQL; of 2026 alone
	DecodedAsNamed                    // as Decoded, with the fields' own names, and words for numbers that have a name
)

func (f PayloadForm) binary() bool  { return f == AsBinary || f == BinaryHeader }
func (f PayloadForm) decoded() bool { return f == Decoded || f == DecodedAsNamed }

// Field is one field of a payload.
type Field struct {
	Name  string
	Type  FieldType
	Value uint64
}

// FieldType is the number that NVTX has for the type of a field.
type FieldType int64

const (
	Int       FieldType = 5
	Uint64    FieldType = 18
	Size      FieldType = 22
	Reduction FieldType = 1<<24 + 24 // the enumeration that NCCL registers
)

func (t FieldType) width() int {
	if t == Uint64 || t == Size {
		return 8
	}
	return 4
}

// schemaOf is a layout that was registered: the text of a range tells its payload.
type schemaOf struct {
	domain int64
	text   string
}

// layout is the offsets of fields and the size of all, as C lays a struct out.
func layout(fields []Field) (offsets []int, size int) {
	for _, f := range fields {
		size = (size + f.Type.width() - 1) / f.Type.width() * f.Type.width()
		offsets = append(offsets, size)
		size += f.Type.width()
	}
	return offsets, (size + 7) / 8 * 8
}

// ofNCCL is the numbers that NCCL gives its layouts, after the first one that a program may give.
var ofNCCL = map[string]int64{"ncclCommInitRank": 0, "ncclAllGather": 4, "ncclAllReduce": 5, "ncclBroadcast": 6, "ncclReduceScatter": 7, "ncclReduce": 8,
	"ncclSend": 9, "ncclRecv": 10, "ncclCommSplit": 13, "ncclAlltoAll": 16}

// schema is the number of a range's layout, which is written when it is first met.
func (w *writer) schema(r Range) int64 {
	key := schemaOf{r.Domain, r.Text}
	if id, ok := w.schemas[key]; ok {
		return id
	}
	id := int64(1<<24 + 100 + len(w.schemas))
	if n, ok := ofNCCL[r.Text]; ok {
		id = 1<<24 + n
	}
	w.schemas[key] = id
	offsets, size := layout(r.Payload)
	w.insert("NVTX_PAYLOAD_SCHEMAS", "domainId", r.Domain, "schemaId", id, "type", 1, "numEntries", len(r.Payload), "payloadSize", size)
	for i, f := range r.Payload {
		var at any = offsets[i]
		if i == 0 {
			at = nil // as exports have it
		}
		w.insert("NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId", r.Domain, "schemaId", id, "idx", i, "type", int64(f.Type), "name", f.Name, "offset", at)
		if f.Type == Reduction {
			w.insert("NVTX_PAYLOAD_ENUMS", "domainId", r.Domain, "schemaId", int64(Reduction), "numEntries", 5, "size", 4)
		}
	}
	return id
}

// binary is the payload of a range as it lay in memory, nil where the export has none.
func (w *writer) binary(r Range) any {
	if len(r.Payload) == 0 || !w.e.Payloads.binary() {
		return nil
	}
	id := w.schema(r)
	offsets, size := layout(r.Payload)
	last := 32
	if w.e.Payloads == BinaryHeader {
		last += size
	}
	var out []byte
	for _, v := range []uint64{uint64(r.Domain), uint64(id), uint64(size), uint64(last)} {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	body := make([]byte, size)
	for i, f := range r.Payload {
		if f.Type.width() == 8 {
			binary.LittleEndian.PutUint64(body[offsets[i]:], f.Value)
		} else {
			binary.LittleEndian.PutUint32(body[offsets[i]:], uint32(f.Value))
		}
	}
	return append(out, body...)
}

// json is the payload of a range as an object, nil where the export has none.
func (w *writer) json(r Range) any {
	if len(r.Payload) == 0 || w.e.Payloads != AsJSON {
		return nil
	}
	fields := map[string]uint64{}
	for _, f := range r.Payload {
		fields[f.Name] = f.Value
	}
	text, err := json.Marshal(fields)
	if err != nil {
		w.err = err
	}
	return string(text)
}
