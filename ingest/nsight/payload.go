package nsight

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
	"github.com/sfstat/sfstat/trace/nccl"
)

// payload is what NCCL attached to a range of its own, by the names of the fields:
// those of NCCL 2.16 to 2.30 (nvtx_payload_schemas.h, before 2.25 collectives.cc). What is not
// there is unknown, −1; a communicator's hash is 0 then.
type payload struct {
	comm      uint64
	bytes     int64
	root      int64 // or the peer
	reduction nccl.Reduction
	rank      int64
	ranks     int64
	found     bool
}

func unknownPayload() payload {
	return payload{bytes: unknown, root: unknown, reduction: unknown, rank: unknown, ranks: unknown}
}

const unknown = -1

// payloadFields are the names of the fields that are known.
var payloadFields = [...]string{commField, sizeField, "Bytes", "Root", "Peer rank", reductionField, "Rank", "No. of ranks"}

const (
	commField      = "NCCL communicator ID"
	sizeField      = "Message size [bytes]"
	reductionField = "Reduction operation"
)

// set takes one field. Sizes that no message has are not believed.
func (p *payload) set(name string, v uint64) {
	small := int64(unknown)
	if v < 1<<31 {
		small = int64(v)
	}
	switch name {
	case commField:
		p.comm = v
	case sizeField, "Bytes":
		if v > 1<<40 { // memory of GPUs is less
			return
		}
		p.bytes = int64(v)
	case "Root", "Peer rank":
		p.root = small
	case reductionField:
		p.reduction = nccl.Reduction(small)
	case "Rank":
		p.rank = small
	case "No. of ranks":
		p.ranks = small
	default:
		return
	}
	p.found = true
}

// payloadField is a field of binary payloads. The type is a number of NVTX
// (nvToolsExtPayload.h, NVTX_PAYLOAD_ENTRY_TYPE_*), or the schema of an enumeration. The
// offset is absent or 0 where the program left it to alignment.
type payloadField struct {
	index        int64
	name         string
	kind, offset int64
}

// schemas is how binary payloads are laid out, by domain and schema. Domains are
// numbered by process, so one number may stand for several layouts.
type schemas struct {
	fields map[schemaKey][]payloadField // by index
	enums  map[schemaKey]int64          // bytes of a value
}

// fieldTable is the fields of all layouts; every process of the file lists its own.
const fieldTable = "NVTX_PAYLOAD_SCHEMA_ENTRIES"

type schemaKey struct{ domain, schema int64 }

// maxFields bounds the fields that are held; programs register some dozens.
const maxFields = 1 << 16

func (c *communication) schemaTables() error {
	c.schemas = schemas{fields: map[schemaKey][]payloadField{}, enums: map[schemaKey]int64{}}
	var key schemaKey
	var f payloadField
	held := 0
	err := c.r.file.Scan(fieldTable, export.Row{"domainId": &key.domain, "schemaId": &key.schema, "idx": &f.index, "name": &f.name,
		"type": &f.kind, "offset": &f.offset}, func() error {
		if held++; held <= maxFields && !slices.Contains(c.schemas.fields[key], f) {
			c.schemas.fields[key] = append(c.schemas.fields[key], f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var size int64
	return c.r.file.Scan("NVTX_PAYLOAD_ENUMS", export.Row{"domainId": &key.domain, "schemaId": &key.schema, "size": &size}, func() error {
		if len(c.schemas.enums) < maxFields {
			c.schemas.enums[key] = size
		}
		return nil
	})
}

// header stands before a payload in the export: domain, schema, size and offset of the
// payload, each a little-endian uint64.
const header = 32

// binary reads a payload as it lay in memory.
func (s *schemas) binary(b []byte) payload {
	p := unknownPayload()
	if len(b) < header {
		return p
	}
	key := schemaKey{int64(uint32(binary.LittleEndian.Uint64(b))), binarySchema(b)}
	size := binary.LittleEndian.Uint64(b[16:])
	body := b[header:]
	if size > uint64(len(body)) {
		return p // cut short
	}
	body = body[:size]
	at := int64(0)
	for _, f := range s.fields[key] {
		width := s.width(key.domain, f.kind)
		if width == 0 {
			return p
		}
		if f.offset > 0 {
			at = f.offset
		} else if f.index == 0 {
			at = 0
		}
		at = (at + width - 1) / width * width
		if at < 0 || at+width > int64(len(body)) {
			continue
		}
		p.set(f.name, littleEndian(body[at:at+width]))
		at += width
	}
	return p
}

// width returns the bytes of a field, 0 for one that is not a number.
func (s *schemas) width(domain, kind int64) int64 {
	switch kind {
	case 1, 2, 11, 12: // char, int8
		return 1
	case 3, 4, 13, 14:
		return 2
	case 5, 6, 15, 16: // int
		return 4
	case 7, 8, 9, 10, 17, 18, 22, 23: // long, int64, size, address
		return 8
	}
	if size, ok := s.enums[schemaKey{domain, kind}]; ok && (size == 1 || size == 2 || size == 4 || size == 8) {
		return size
	}
	if kind >= 1<<24 { // of an enumeration that is not listed: an int in C
		return 4
	}
	return 0
}

func littleEndian(b []byte) (v uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// jsonPayload reads a payload that the export has as an object with the fields' names.
func jsonPayload(text string) payload {
	p := unknownPayload()
	var fields map[string]json.RawMessage
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || json.Unmarshal([]byte(text), &fields) != nil {
		return p
	}
	for name, value := range fields {
		p.word(name, strings.Trim(string(value), `"`))
	}
	return p
}

// reductions are the names that NCCL registers for the values.
var reductions = map[string]nccl.Reduction{"Sum": nccl.Sum, "Product": nccl.Prod, "Max": nccl.Max, "Min": nccl.Min, "Avg": nccl.Avg}

// payloadOf returns the payload of an event, in either form.
func (c *communication) payloadOf(e *event) payload {
	if len(e.binary) > 0 {
		if p := c.schemas.binary(e.binary); p.found {
			return p
		}
	}
	text := e.json
	if text == "" && e.jsonID != export.Absent {
		text = c.r.names[e.jsonID]
	}
	return jsonPayload(text)
}
