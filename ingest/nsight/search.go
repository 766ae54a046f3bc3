package nsight

import (
	"errors"
	"strings"

	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
)

// errFound ends a search that has found.
var errFound = errors.New("found")

// HasCalls reports whether an export has what NCCL attaches to its NVTX ranges, so that [ReadComm] would find calls with
// their sizes. Only the layouts of payloads are looked at, and where none is NCCL's, payloads in JSON; so it costs
// little where there are none. A payload of another library that looks like NCCL's is taken for one.
func HasCalls(path string) (has bool, err error) {
	f, err := export.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	found := func(is bool) error {
		if is {
			return errFound
		}
		return nil
	}
	size := func(field string) error { return found(field == sizeField || field == "Bytes") }
	var name string
	err = f.Scan(fieldTable, export.Row{"name": &name}, func() error { return size(name) })
	if err == nil {
		err = (&commReader{recording: recording{file: f, path: path}}).decodedFields(size)
	}
	if err == nil {
		err = payloadTexts(f, func(text string) error { return found(jsonPayload(text).bytes != unknown) })
	}
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// decodedFields calls each with the fields that tables of decoded payloads have, "" for one that is not known.
func (r *commReader) decodedFields(each func(name string) error) error {
	names, err := r.fieldNames()
	for _, t := range decodedTables(r.file, func(processID, int64) bool { return true }) {
		for _, column := range t.fields {
			if err == nil {
				err = each(names[fold(column)])
			}
		}
	}
	return err
}

// payloadTexts calls each with the payloads that the file has as JSON, and, where events refer to registered strings for them, with all
// of those that begin as JSON does.
func payloadTexts(f *export.File, each func(text string) error) error {
	var text string
	take := func() error {
		if !strings.HasPrefix(text, "{") {
			return nil
		}
		return each(text)
	}
	var err error
	if f.Has(nvtxTable, "jsonText") {
		err = f.Scan(nvtxTable, export.Row{"jsonText": &text}, take)
	}
	if err == nil && f.Has(nvtxTable, "jsonTextId") {
		err = f.Scan(stringTable, export.Row{"value": &text}, take)
	}
	return err
}
