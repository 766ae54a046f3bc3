package nsighttest

import (
	"fmt"
	"strings"
)

// lazily is the tables that only exports with decoded payloads have.
var lazily = map[string]bool{"NVTX_EVENTS_PAYLOAD_SCHEMAS": true, "NVTX_EXPORT_TRANSLATION": true}

// decode writes the payload of the event at hand as a row of the table of its layout, and which table that is.
func (w *writer) decode(r Range, pid int) {
	if len(r.Payload) == 0 || !w.e.Payloads.decoded() {
		return
	}
	schema, global := w.schema(r), GlobalPID(pid)
	table := fmt.Sprintf("DYNAMIC_NVTXPAYLOAD_DATATYPE_%d_%d_%d", global, r.Domain, schema)
	names, values := []string{"eventId"}, []any{w.events}
	for _, f := range r.Payload {
		names, values = append(names, w.column(f.Name)), append(values, w.decodedValue(f))
	}
	if list := `"` + strings.Join(names, `", "`) + `"`; !w.decoded[table] {
		w.exec(fmt.Sprintf("CREATE TABLE %s (%s)", table, list))
		w.decoded[table] = true
	}
	w.exec(fmt.Sprintf("INSERT INTO %s VALUES (?%s)", table, strings.Repeat(", ?", len(values)-1)), values...)
	w.insert("NVTX_EVENTS_PAYLOAD_SCHEMAS", "eventId", w.events, "globalPid", global, "domainId", r.Domain, "payloadSchemaID", schema)
}

// column is what a field is called as a column.
func (w *writer) column(name string) string {
	if w.e.Payloads == DecodedAsNamed {
		return name
	}
	changed := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, name)
	if changed != name && !w.decoded[name] {
		w.insert("NVTX_EXPORT_TRANSLATION", "originalName", name, "sanitizedName", changed)
		w.decoded[name] = true
	}
	return changed
}

// decodedValue is a field as SQLite has it, without unsigned integers.
func (w *writer) decodedValue(f Field) any {
	names := []string{"Sum", "Product", "Max", "Min", "Avg"} // that NCCL registers
	if f.Type == Reduction && w.e.Payloads == DecodedAsNamed && f.Value < uint64(len(names)) {
		return names[f.Value]
	}
	return int64(f.Value)
}

func (w *writer) exec(statement string, values ...any) {
	if w.err == nil {
		_, w.err = w.tx.Exec(statement, values...)
	}
}
