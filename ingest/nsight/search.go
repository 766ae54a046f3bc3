package nsight

import (
	"errors"

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
	r := &commReader{recording: recording{file: f, path: path}}
	for _, search := range []func() error{r.searchBinary, r.searchDecoded, r.searchTexts} {
		if err := search(); errors.Is(err, errFound) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	return false, nil
}

// searchBinary ends with errFound where a layout of payloads has the size of a message.
func (r *commReader) searchBinary() error {
	return r.file.PayloadFields(func(field export.PayloadField) error {
		p := noPayload()
		p.set(field.Name, 0)
		return p.enough()
	})
}

// searchDecoded does where a table of decoded payloads has.
func (r *commReader) searchDecoded() error {
	tables := r.file.DecodedTables(func(export.ProcessID, int64) bool { return true })
	if len(tables) == 0 {
		return nil
	}
	names, err := r.fieldNames()
	if err != nil {
		return err
	}
	for _, t := range tables {
		for _, column := range t.Fields {
			p := noPayload()
			p.set(names[fold(column)], 0)
			if err := p.enough(); err != nil {
				return err
			}
		}
	}
	return nil
}

// searchTexts does where a payload in JSON has.
func (r *commReader) searchTexts() error {
	return r.file.PayloadTexts(func(text string) error {
		p := jsonPayload(text)
		return p.enough()
	})
}

// enough is errFound for the payload of a call.
func (p *payload) enough() error {
	if p.bytes != unknown {
		return errFound
	}
	return nil
}
