package nsight

import (
	"errors"

	"github.com/sfstat/sfstat/ingest/nsight/internal/export"
)

// errTold ends a search that has found.
var errTold = errors.New("found")

// TellsCalls says whether an export has what NCCL attaches to its NVTX ranges, so that [ReadCollectives] would find calls with
// their sizes ([CommProcess.Payloads]). Only the layouts of payloads are looked at, and where there are none of NCCL's, payloads in JSON; so it costs
// little where there are none. A payload of another library that looks like NCCL's is taken for one.
func TellsCalls(path string) (tells bool, err error) {
	f, err := export.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = f.PayloadFields(func(field export.PayloadField) error {
		p := noPayload()
		p.set(field.Name, 0)
		return p.enough()
	})
	if err == nil {
		err = f.PayloadTexts(func(text string) error {
			p := jsonPayload(text)
			return p.enough()
		})
	}
	if errors.Is(err, errTold) {
		return true, nil
	}
	return false, err
}

// enough is errTold for the payload of a call.
func (p *payload) enough() error {
	if p.bytes != unknown {
		return errTold
	}
	return nil
}
