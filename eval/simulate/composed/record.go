package composed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Recording returns what the recorder of each rank wrote: packets as JSON Lines, or CSV.
func (j *Job) Recording() []byte {
	t := j.replay(all)
	if j.table {
		return j.csv(t)
	}
	every := max(1, j.sampled)
	var text bytes.Buffer
	if every == 1 {
		for r := range j.Ranks {
			j.packet(&text, t, r, 0, 0, j.endOf(r))
		}
		return text.Bytes()
	}
	for i, at := 0, 0; at < j.Steps; i, at = i+1, at+every {
		for r := range j.Ranks {
			j.packet(&text, t, r, i, at, at+1)
		}
	}
	return text.Bytes()
}

// endOf returns the step before which the record of a rank ends.
func (j *Job) endOf(r int) int {
	if j.ends[1] > 0 && j.ends[0] == r {
		return j.ends[1]
	}
	return j.Steps
}

// line is a packet of one rank.
type line struct {
	Schema    string    `json:"schema"`
	Run       string    `json:"run"`
	Window    int       `json:"window"`
	Rank      int       `json:"rank"`
	World     int       `json:"world_size"`
	Host      string    `json:"host"`
	LocalRank int       `json:"local_rank"`
	Stages    []string  `json:"stages"`
	First     int       `json:"first_step"`
	Durations [][]int64 `json:"durations_ns"`
	Wall      []int64   `json:"wall_ns,omitempty"`
}

// packet writes steps from one to before another.
func (j *Job) packet(text *bytes.Buffer, t times, r, window, from, to int) {
	p := line{Schema: "sfstat.packet/1", Run: "job", Window: window, Rank: r, World: j.Ranks, Host: j.host(r), LocalRank: r % j.perHost, Stages: Stages, First: from}
	for s := from; s < to; s++ {
		row := make([]int64, len(Stages))
		for k, x := range t.durations[s][r] {
			row[k] = j.recorderLength(x)
		}
		p.Durations = append(p.Durations, row)
		if j.walled {
			p.Wall = append(p.Wall, j.recorderLength(t.wall[s][r]))
		}
	}
	out, err := json.Marshal(p)
	if err != nil {
		panic("composed: a packet cannot be written: " + err.Error())
	}
	text.Write(append(out, '\n'))
}

func (j *Job) host(r int) string { return fmt.Sprintf("node%d", r/j.perHost) }

// recorderLength returns a length on the recorder's clock.
func (j *Job) recorderLength(x float64) int64 {
	c := float64(max(1, j.clock))
	return int64(math.Round(x/c) * c)
}

// csv writes a row for each step and rank that was recorded.
func (j *Job) csv(t times) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "step,rank,%s,wall_ns,host\n", strings.Join(Stages, ","))
	for s := range j.Steps {
		for r := range j.Ranks {
			if j.lost != nil && j.lost[s][r] {
				continue
			}
			fmt.Fprintf(&text, "%d,%d", s, r)
			for _, x := range t.durations[s][r] {
				fmt.Fprintf(&text, ",%d", j.recorderLength(x))
			}
			fmt.Fprintf(&text, ",%d,%s\n", j.recorderLength(t.wall[s][r]), j.host(r))
		}
	}
	return text.Bytes()
}
