package trainlog

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace/input"
)

// DLIO writes RANK_output.json when a run ends: of each epoch and block the seconds of each step, up to the batch (load), and in all (proc).
//
//	{"1": {"load": {"block1": [0.01, …]}, "proc": {"block1": [0.34, …]}, "compute": …}, "hostname": "n1"}
//
// What stands under eval is no training.

// dlioName is the name of such a file.
var dlioName = regexp.MustCompile(`(?:^|/)(\d{1,7})_output\.json(?:\.gz|\.zst)?$`)

// DLIORank returns the rank in the name of a file that DLIO wrote, −1 of others.
func DLIORank(path string) int {
	if m := dlioName.FindStringSubmatch(path); m != nil {
		return int(wholeNumber([]byte(m[1])))
	}
	return -1
}

// RecogniseDLIO reports whether text, the beginning of a file, is what DLIO wrote of a rank.
func RecogniseDLIO(text []byte) bool {
	return bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"load"`)) && bytes.Contains(text, []byte(`"block`))
}

// epochOfDLIO is one epoch, as far as it is needed.
type epochOfDLIO struct {
	Load map[string]json.RawMessage `json:"load"`
	Proc map[string]json.RawMessage `json:"proc"`
}

// ReadDLIO reads the times of a rank.
func (b *Builder) ReadDLIO(src io.Reader, name string, rank int) error {
	most := b.Limits.OrDefault().Line
	text, err := io.ReadAll(io.LimitReader(src, most+1))
	if err == nil && int64(len(text)) > most {
		err = input.At(input.Pos{File: name}, input.Bad(input.ErrTooLarge, "more than %d MiB of one rank", most>>20))
	}
	if err != nil {
		return err
	}
	bad := func(what string, err error) error {
		return input.At(input.Pos{File: name}, input.Bad(input.ErrFormat, "no output of DLIO: %s (%v); was the job killed while it was written?", what, err))
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return bad("the whole", err)
	}
	host := ""
	if raw, ok := all["hostname"]; ok && json.Unmarshal(raw, &host) != nil {
		host = ""
	}
	l := lineReader{b: b, file: name, rank: rank, host: host, at: 1}
	t, err := b.trackOf(&b.tracks, &l, track{rank: rank, validation: false})
	if err != nil {
		return err
	}
	var epochs []int
	for key := range all {
		if n, err := strconv.Atoi(key); err == nil {
			epochs = append(epochs, n)
		}
	}
	slices.Sort(epochs)
	step := int64(0)
	for _, epoch := range epochs {
		var e epochOfDLIO
		if err := json.Unmarshal(all[strconv.Itoa(epoch)], &e); err != nil {
			return bad("epoch "+strconv.Itoa(epoch), err)
		}
		for block := 1; ; block++ {
			key := "block" + strconv.Itoa(block)
			raw, ok := e.Proc[key]
			if !ok {
				break
			}
			var load, proc []float64
			if err := json.Unmarshal(raw, &proc); err != nil {
				return bad(key, err)
			}
			if err := json.Unmarshal(e.Load[key], &load); err != nil {
				return bad(key, err)
			}
			for i := range min(len(load), len(proc)) {
				if !(load[i] >= 0 && proc[i] >= 0 && load[i] < 1e7 && proc[i] < 1e7) {
					return bad(key, input.ErrRange)
				}
				if err := b.add(t, nil, step, []measurement{{"data", int64(load[i] * 1e9)}, {ofStep, int64(max(load[i], proc[i]) * 1e9)}}); err != nil {
					return err
				}
				step++
			}
		}
	}
	if step == 0 {
		return input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "an output of DLIO without a step of training: load and proc have no block"))
	}
	return nil
}
