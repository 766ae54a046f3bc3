package nsight

import (
	"errors"
	"strings"

	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
)

// HasCalls reports whether an export has what NCCL attaches to its NVTX ranges, so that [ReadComm] would find calls with
// their sizes. Only the layouts of payloads are looked at, and where none is NCCL's, payloads in JSON; so it costs
// little where there are none. A payload of another library that looks like NCCL's is taken for one.
func HasCalls(path string) (has bool, err error) {
	f, err := export.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var text string
	size := func(field string) bool { return field == sizeField || field == "Bytes" }
	err = f.Scan(fieldTable, export.Row{"name": &text}, func() error { has = has || size(text); return nil })
	if err != nil {
		return false, err
	}
	names, err := (&commReader{recording: recording{file: f}}).fieldNames()
	for _, t := range decodedTables(f, func(processID, int64) bool { return true }) {
		for _, column := range t.fields {
			has = has || size(names[fold(column)])
		}
	}
	// Payloads in JSON stand with their events, or, where events refer to registered strings for them, among those.
	for _, at := range []struct{ table, column, known string }{{nvtxTable, "jsonText", "jsonText"}, {stringTable, "value", "jsonTextId"}} {
		if err == nil && !has && f.Has(nvtxTable, at.known) {
			err = f.Scan(at.table, export.Row{at.column: &text}, func() error {
				has = has || strings.HasPrefix(text, "{") && jsonPayload(text).bytes != unknown
				return nil
			})
		}
	}
	return has && err == nil, err
}
