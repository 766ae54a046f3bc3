package live

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/atomicfile"
)

// mostPlans is how many capture plans of a run are written.
const mostPlans = 3

// Captures is, of each run, what its capture plans were for. Make one with Captures{}.
type Captures map[string][]string

// plan is what the recorder reads (recorder/sfstat_recorder/router.py).
type plan struct {
	Schema string `json:"schema"`
	Run    string `json:"run"`
	Ranks  []int  `json:"ranks"`
	Steps  int    `json:"steps"`
}

const (
	planSchema = "sfstat.capture/1"
	planSteps  = 8
)

// Ask writes a plan for a run if its verdict would have ranks profiled, and did not
// before. It returns the file, "" where there is none.
func (c Captures) Ask(r *diagnose.RunVerdict, read []auto.Input) (path string, err error) {
	ranks := toProfile(r)
	why := gist(r)
	if len(ranks) == 0 || len(c[r.Run]) >= mostPlans || slices.Contains(c[r.Run], why) {
		return "", nil
	}
	folder, name := packetsOf(r.Run, read)
	if folder == "" {
		return "", nil
	}
	c[r.Run] = append(c[r.Run], why)
	path = filepath.Join(folder, name+".capture.json")
	return path, atomicfile.WriteFile(path, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(plan{planSchema, name, ranks, planSteps})
	})
}

// toProfile are the ranks that what is to be done next would look into, the suspects
// first; none where their line is known.
func toProfile(r *diagnose.RunVerdict) []int {
	if len(r.Findings) == 0 || r.Findings[0].BelowMinGain {
		return nil
	}
	if _, known := evidence.Find[evidence.SpentIn](r.Findings[0].Evidence); known {
		return nil
	}
	for _, a := range r.Next {
		if a.Action == answer.Profile || a.Action == answer.SampleStack {
			return a.Ranks
		}
	}
	return nil
}

// packetsOf is the folder that has the packets of a run, and what the recorder calls
// it; "" where there is none, or more than one.
func packetsOf(run string, read []auto.Input) (folder, name string) {
	name = run[strings.LastIndexByte(run, '/')+1:]
	for _, in := range read {
		dir, base := filepath.Split(in.Path)
		if in.Format != auto.Packets || in.Skipped != "" || !strings.HasPrefix(base, name+".") {
			continue
		}
		if dir = filepath.Clean(dir); folder != "" && folder != dir {
			return "", ""
		}
		folder = dir
	}
	return folder, name
}
