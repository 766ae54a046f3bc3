package nsight

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
)

// decodedTable is a table of payloads whose fields the exporter has decoded, a
// row for each event and a column for each field (nsys export --dynamic-tables,
// 2026.4). It is of one layout, in one domain of one process.
type decodedTable struct {
	process        processID
	domain, schema int64
	name           string
	event          string   // the column that names the event of each row, by event.id
	fields         []string // the others
}

// decodedPrefix begins the names of such tables. Process, domain and schema
// follow; and the name of a field in those of arrays, which are not looked at.
const decodedPrefix = "DYNAMIC_NVTXPAYLOAD_DATATYPE_"

// maxDecoded bounds the tables that are wanted: NCCL has some twenty for a
// process.
const maxDecoded = 1 << 13

// decodedTables finds the tables of decoded payloads that are wanted, of those
// that name the event of each row, by their names.
func decodedTables(f *export.File, wanted func(processID, int64) bool) (all []decodedTable) {
	for _, name := range f.Tables() {
		t, ok := nameOfDecoded(name)
		if !ok || !wanted(t.process, t.domain) {
			continue
		}
		if len(all) == maxDecoded {
			break
		}
		for _, c := range f.Columns(name) {
			if t.event == "" && (strings.EqualFold(c, "eventId") || strings.EqualFold(c, "event_id")) {
				t.event = c
			} else {
				t.fields = append(t.fields, c)
			}
		}
		if t.event != "" {
			all = append(all, t)
		}
	}
	return all
}

// nameOfDecoded returns what the name of a table says; ok is false for one of
// another kind.
func nameOfDecoded(name string) (t decodedTable, ok bool) {
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
	return decodedTable{process: threadID(numbers[0]).process(), domain: numbers[1], schema: numbers[2], name: name}, true
}

// id reads a number of 64 bits, written with a sign or without.
func id(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return int64(n), err == nil
}

// readDecodedPayloads gives the ranges of NCCL what stands of them in tables of decoded payloads, where the
// exporter was asked for those. What a range was told by its own row stays. Cost: O(n log n) for n rows.
func (c *communication) readDecodedPayloads() error {
	tables := decodedTables(c.r.file, func(p processID, domain int64) bool { return len(c.api[p]) > 0 && c.mayBeNCCL(p, domain) })
	names, err := c.fieldNames()
	if err != nil {
		return err
	}
	for _, ranges := range c.api {
		if !slices.IsSortedFunc(ranges, compareEvents) {
			slices.SortStableFunc(ranges, compareEvents)
		}
	}
	for _, t := range tables {
		if err := c.decodedTable(t, names); err != nil {
			return err
		}
	}
	return c.links()
}

// links names the ranges that no table named by what the file has of their payloads' layouts alone.
func (c *communication) links() error {
	unnamed := 0
	for _, ranges := range c.api {
		for i := range ranges {
			if ranges[i].step == unsaid {
				unnamed++
			}
		}
	}
	if unnamed == 0 {
		return nil
	}
	var event, domain, schema int64
	var thread threadID
	return c.r.file.Scan("NVTX_EVENTS_PAYLOAD_SCHEMAS", export.Row{"eventId": &event, "globalPid": (*int64)(&thread), "domainId": &domain,
		"payloadSchemaID": &schema}, func() error {
		if a := c.rangeOf(thread.process(), event); a != nil && c.mayBeNCCL(thread.process(), domain) {
			a.nameBySchema(schema)
		}
		return nil
	})
}

func compareEvents(a, b apiRange) int { return cmp.Compare(a.event, b.event) }

// decodedTable reads one table: of NCCL's domain, or of one without a name.
func (c *communication) decodedTable(t decodedTable, names map[string]string) error {
	var event int64
	row := export.Row{t.event: &event}
	fields := map[string]*export.Value{} // by what the columns hold
	for _, column := range t.fields {
		if name, known := names[fold(column)]; known {
			fields[name] = new(export.Value)
			row[column] = fields[name]
		}
	}
	return c.r.file.Scan(t.name, row, func() error {
		a := c.rangeOf(t.process, event)
		if a == nil {
			return nil
		}
		a.nameBySchema(t.schema)
		if a.told || !a.step.carries() {
			return nil
		}
		p := unknownPayload()
		for name, v := range fields {
			p.setDecoded(name, v)
		}
		a.tell(p)
		return nil
	})
}

// mayBeNCCL reports whether a domain is NCCL's, or the file does not name it.
func (c *communication) mayBeNCCL(process processID, id int64) bool {
	name, known := c.r.domains[domain{process, id}]
	return !known || name == ncclDomain
}

// rangeOf finds a range of NCCL by its event, nil where there is none. Ranges must be in that order.
func (c *communication) rangeOf(process processID, event int64) *apiRange {
	ranges := c.api[process]
	i, ok := slices.BinarySearchFunc(ranges, event, func(a apiRange, event int64) int { return cmp.Compare(a.event, event) })
	if !ok {
		return nil
	}
	return &ranges[i]
}

// nameBySchema names a range whose name the file lacks by the layout of its payload.
func (a *apiRange) nameBySchema(schema int64) {
	if a.step == unsaid && !a.setStep(functionOf(schema)) {
		a.step = unsaid
	}
}

// fieldNames returns the fields of payloads that are known, by what their columns are called: exporters change names that
// have blanks and brackets, and say into what.
func (c *communication) fieldNames() (map[string]string, error) {
	names := make(map[string]string)
	for _, name := range payloadFields {
		names[fold(name)] = name
	}
	var original, column string
	err := c.r.file.Scan("NVTX_EXPORT_TRANSLATION", export.Row{"originalName": &original, "sanitizedName": &column}, func() error {
		if name, known := names[fold(original)]; known && len(names) < maxFields {
			names[fold(column)] = name
		}
		return nil
	})
	return names, err
}

// fold returns what of a name outlives a change for SQL: its letters and digits, small.
func fold(name string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
}

// setDecoded takes a field that the exporter decoded.
func (p *payload) setDecoded(name string, v *export.Value) {
	if v.Number != export.Absent {
		p.set(name, uint64(v.Number))
	} else {
		p.word(name, v.Text)
	}
}

// word takes a field that was written as text: a number, or the name of a value.
func (p *payload) word(name, word string) {
	if v, err := strconv.ParseUint(word, 0, 64); err == nil {
		p.set(name, v)
	} else if v, err := strconv.ParseInt(word, 10, 64); err == nil {
		p.set(name, uint64(v))
	} else if r, ok := reductions[word]; ok && name == reductionField {
		p.set(name, uint64(r))
	}
}

// staticSchemas is the first number of layouts that programs number themselves
// (NVTX_PAYLOAD_ENTRY_TYPE_SCHEMA_ID_STATIC_START in nvToolsExtPayload.h).
const staticSchemas = 1 << 24

// functions are NCCL's, by the number of the layout of their payload: NVTX_SID_* in nvtx.h, to which every version
// from 2.18 to 2.30 added at the end.
var functions = [...]string{"CommInitRank", "CommInitAll", "CommDestroy", "CommAbort", "AllGather", "AllReduce", "Broadcast", "ReduceScatter",
	"Reduce", "Send", "Recv", "CommInitRankConfig", "CommInitRankScalable", "CommSplit", "CommFinalize", "CommShrink", "AlltoAll", "Gather", "Scatter",
	"CommRevoke", "CommGrow", "PutSignal", "Signal", "WaitSignal"}

// functionOf returns the function whose payload has this layout, "" for one that is not known.
func functionOf(schema int64) string {
	if i := schema - staticSchemas; i >= 0 && i < int64(len(functions)) {
		return functions[i]
	}
	return ""
}

// binarySchema returns the layout that the header of a payload names, −1 where there is none.
func binarySchema(b []byte) int64 {
	if len(b) < header {
		return unknown
	}
	return int64(binary.LittleEndian.Uint64(b[8:]))
}
