package export

// PayloadEvent is an NVTX event with what the program attached to it. The export has the
// payload as JSON, as it lay in memory, or not at all.
type PayloadEvent struct {
	Event
	Row    int64  // of the table
	ID     int64  // by which other tables call the event: eventId, or else the row
	JSON   string // "" when the text was registered:
	JSONID int64  // in StringIds, or Absent
	Binary []byte // valid until the next event
}

// PayloadEvents calls each with every NVTX event and its payload; the value is
// reused.
func (f *File) PayloadEvents(each func(*PayloadEvent) error) error {
	var e PayloadEvent
	columns := append(e.columns(), column{name: rowNumber, num: &e.Row}, column{name: "eventId", num: &e.ID}, column{name: "jsonText", text: &e.JSON},
		column{name: "jsonTextId", num: &e.JSONID}, column{name: "binaryData", blob: &e.Binary})
	return f.scan(nvtxTable, columns, func() error {
		if !f.Has(nvtxTable, "eventId") || e.ID == Absent {
			e.ID = e.Row
		}
		return each(&e)
	})
}

// PayloadField is a field of binary payloads. The type is a number of NVTX
// (nvToolsExtPayload.h, NVTX_PAYLOAD_ENTRY_TYPE_*), or the schema of an enumeration. The
// offset is Absent or 0 where the program left it to alignment.
type PayloadField struct {
	Domain, Schema int64
	Index          int64
	Name           string
	Type, Offset   int64
}

// PayloadFields calls each with the fields of all payloads. A file of several processes
// lists one schema for each of them.
func (f *File) PayloadFields(each func(PayloadField) error) error {
	var p PayloadField
	return f.scan(fieldTable, []column{
		{name: "domainId", num: &p.Domain}, {name: "schemaId", num: &p.Schema}, {name: "idx", num: &p.Index}, {name: "name", text: &p.Name},
		{name: "type", num: &p.Type}, {name: "offset", num: &p.Offset},
	}, func() error { return each(p) })
}

// PayloadEnums calls each with the enumerations that fields may be of, and the bytes that a
// value takes.
func (f *File) PayloadEnums(each func(domain, schema, size int64) error) error {
	var domain, schema, size int64
	return f.scan(enumTable, []column{{name: "domainId", num: &domain}, {name: "schemaId", num: &schema}, {name: "size", num: &size}},
		func() error { return each(domain, schema, size) })
}

// PayloadTexts calls each with the payloads that the file has as JSON, and, where events refer to registered strings for them, with all
// of those that begin as JSON does.
func (f *File) PayloadTexts(each func(text string) error) error {
	if f.Has(nvtxTable, "jsonText") {
		var text string
		err := f.scan(nvtxTable, []column{{name: "jsonText", text: &text}}, func() error {
			if text == "" {
				return nil
			}
			return each(text)
		})
		if err != nil {
			return err
		}
	}
	if !f.Has(nvtxTable, "jsonTextId") {
		return nil
	}
	return f.Strings(func(_ int64, value string) error {
		if len(value) == 0 || value[0] != '{' {
			return nil
		}
		return each(value)
	})
}
