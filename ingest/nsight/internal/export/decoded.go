package export

import (
	"strconv"
	"strings"
)

// DecodedTable is a table of payloads whose fields the exporter has decoded, a
// row for each event and a column for each field (nsys export --dynamic-tables,
// 2026.4). It is of one layout, in one domain of one process.
type DecodedTable struct {
	Process        ProcessID
	Domain, Schema int64
	Fields         []string // columns that are wanted of it; all, as DecodedTables has them
	name, event    string
}

// decodedPrefix begins the names of such tables. Process, domain and schema
// follow; and the name of a field in those of arrays, which are not looked at.
const decodedPrefix = "DYNAMIC_NVTXPAYLOAD_DATATYPE_"

// maxDecoded bounds the tables that are wanted: NCCL has some twenty for a
// process.
const maxDecoded = 1 << 13

// DecodedTables finds the tables of decoded payloads that are wanted, of those
// that name the event of each row, by their names.
func (f *File) DecodedTables(wanted func(ProcessID, int64) bool) []DecodedTable {
	var all []DecodedTable
	for _, stored := range f.db.Tables() {
		t, ok := decodedTable(stored.Name)
		if !ok || !wanted(t.Process, t.Domain) {
			continue
		}
		if len(all) == maxDecoded {
			break
		}
		for _, c := range stored.Columns {
			if t.event == "" && (strings.EqualFold(c, "eventId") || strings.EqualFold(c, "event_id")) {
				t.event = c
			} else {
				t.Fields = append(t.Fields, c)
			}
		}
		if t.event != "" {
			all = append(all, t)
		}
	}
	return all
}

// decodedTable is what the name of a table says; ok is false for one of
// another kind.
func decodedTable(name string) (t DecodedTable, ok bool) {
	rest, ok := strings.CutPrefix(name, decodedPrefix)
	parts := strings.Split(rest, "_")
	if !ok || len(parts) != 3 {
		return t, false
	}
	var numbers [3]int64
	for i, part := range parts {
		if numbers[i], ok = id(part); !ok {
			return t, false
		}
	}
	return DecodedTable{Process: ThreadID(numbers[0]).Process(), Domain: numbers[1], Schema: numbers[2], name: name}, true
}

// id reads a number of 64 bits, written with a sign or without.
func id(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return int64(n), err == nil
}

// DecodedValue is a field of a decoded payload. SQLite has no unsigned integers,
// so those of 64 bits are the signed ones of the same bits.
type DecodedValue struct {
	Number int64  // or Absent:
	Text   string // where the exporter wrote one
}

// Decoded calls each with every row of the table: the event, by its
// PayloadEvent.ID, and the values of t.Fields in their order, which are reused.
func (f *File) Decoded(t DecodedTable, each func(event int64, values []DecodedValue) error) error {
	var event int64
	values := make([]DecodedValue, len(t.Fields))
	columns := []column{{name: t.event, num: &event}}
	for i, c := range t.Fields {
		columns = append(columns, column{name: c, num: &values[i].Number, text: &values[i].Text})
	}
	return f.scan(t.name, columns, func() error { return each(event, values) })
}

// PlainNames calls each with the names that the exporter changed for columns of
// decoded payloads.
func (f *File) PlainNames(each func(original, column string) error) error {
	var original, changed string
	return f.scan(plainTable, []column{{name: "originalName", text: &original}, {name: "sanitizedName", text: &changed}},
		func() error { return each(original, changed) })
}

// PayloadLinks calls each with the layout of every event's payload, where the
// file has tables of decoded ones.
func (f *File) PayloadLinks(each func(event int64, process ProcessID, domain, schema int64) error) error {
	var event, process, domain, schema int64
	return f.scan(linkTable, []column{{name: "eventId", num: &event}, {name: "globalPid", num: &process}, {name: "domainId", num: &domain},
		{name: "payloadSchemaID", num: &schema}},
		func() error { return each(event, ThreadID(process).Process(), domain, schema) })
}
