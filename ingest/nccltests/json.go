package nccltests

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// maxJSON bounds a document: it has the environment of the job, and the time of each iteration on demand.
const maxJSON = 256 << 20

// document is what -J writes, as far as it is needed.
type document struct {
	Args   []string `json:"args"`
	Config struct {
		Devices []struct {
			Group int64  `json:"group"`
			Host  string `json:"hostname"`
		} `json:"devices"`
	} `json:"config"`
	Results []struct {
		Size       int64 `json:"size"`
		OutOfPlace *half `json:"out_of_place"`
		InPlace    *half `json:"in_place"`
	} `json:"results"`
}

// half is a row's columns out of place, or in place.
type half struct {
	Bus   json.RawMessage `json:"bus_bw"` // a number, or "nan"
	Wrong *float64        `json:"nwrong"` // null: not checked
}

func (r *reader) json(src *ingest.Source, lim ingest.Limits) error {
	limit := min(lim.Scale(src.Size()).Line, maxJSON)
	text, err := io.ReadAll(io.LimitReader(src, limit+1))
	switch {
	case err != nil:
		return err
	case int64(len(text)) > limit:
		return input.At(input.Pos{File: r.name}, input.Bad(input.ErrTooLarge, "more than %d bytes of JSON", limit))
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		pos := input.Pos{File: r.name}
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			pos.Offset = syntax.Offset
		}
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			pos.Offset = wrong.Offset
		}
		return input.At(pos, input.Bad(input.ErrFormat, "no JSON of nccl-tests: %v", err))
	}
	if len(d.Args) > 0 {
		if op, named := operation(d.Args[0]); named {
			r.op = op
		}
	}
	for _, x := range d.Config.Devices {
		r.devices.add(strconv.FormatInt(x.Group, 10), x.Host)
	}
	for i := range d.Results {
		x := &d.Results[i]
		bus, err := fasterHalf(x.OutOfPlace, x.InPlace)
		if err == nil {
			err = r.add(x.Size, bus)
		}
		if err != nil {
			return input.At(input.Pos{File: r.name, Inside: "results"}, err)
		}
	}
	return nil
}

// fasterHalf returns the better bus bandwidth of those that were measured.
func fasterHalf(halves ...*half) (bus float64, err error) {
	for _, h := range halves {
		if h == nil || bytes.Equal(h.Bus, []byte(`"nan"`)) {
			continue
		}
		x, err := bandwidth(string(h.Bus))
		if err != nil {
			return 0, err
		}
		if h.Wrong != nil && *h.Wrong != 0 {
			return 0, right("nwrong", strconv.FormatFloat(*h.Wrong, 'g', -1, 64))
		}
		bus = max(bus, x)
	}
	return bus, nil
}
