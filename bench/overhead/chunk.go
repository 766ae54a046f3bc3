package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/trace/input"
)

// Arm is what the loop runs under.
type Arm uint8

const (
	Off    Arm = iota // no recorder
	CPU               // wall times
	Events            // device times of some steps besides
	arms
)

var armNames = [arms]string{"off", "cpu", "events"}

func (a Arm) String() string { return armNames[a] }

// Chunk is some steps of a launch under one arm. Times are ns per step.
type Chunk struct {
	Launch, Round, Place int // place in the round, from 0
	Arm                  Arm
	Steps                int
	Begin, End           time.Time // of the first rank and the last
	Wall                 float64   // of the slowest rank
	Thread               float64   // processor time of the training thread, mean of ranks
	Process              float64   // and of all threads
	GPUs                 []State
}

// doubtful reports whether a GPU was in trouble.
func (c *Chunk) doubtful() bool { return slices.ContainsFunc(c.GPUs, State.Doubtful) }

// readLaunch reads what the ranks of a launch wrote into dir.
func readLaunch(dir string, launch, ranks int) ([]Chunk, error) {
	var chunks []Chunk
	for rank := range ranks {
		rows, err := readRank(filepath.Join(dir, fmt.Sprintf("rank%05d.csv", rank)))
		if err != nil {
			return nil, err
		}
		if rank == 0 {
			chunks = rows
		}
		if len(rows) != len(chunks) {
			return nil, fmt.Errorf("rank %d has %d chunks, rank 0 %d", rank, len(rows), len(chunks))
		}
		for i := range rows {
			c, r := &chunks[i], &rows[i]
			if c.Round != r.Round || c.Arm != r.Arm || c.Steps != r.Steps {
				return nil, fmt.Errorf("rank %d has arm %v of round %d where rank 0 has %v of %d", rank, r.Arm, r.Round, c.Arm, c.Round)
			}
			if rank > 0 {
				c.Thread, c.Process = c.Thread+r.Thread, c.Process+r.Process
			}
			c.Launch, c.Wall = launch, max(c.Wall, r.Wall)
			if r.Begin.Before(c.Begin) {
				c.Begin = r.Begin
			}
			if r.End.After(c.End) {
				c.End = r.End
			}
		}
	}
	for i := range chunks {
		chunks[i].Thread /= float64(ranks)
		chunks[i].Process /= float64(ranks)
	}
	return chunks, nil
}

// rankColumns are those of what a rank writes.
var rankColumns = []string{"round", "arm", "place", "steps", "begin_unix_ns", "end_unix_ns", "wall_ns", "thread_cpu_ns", "process_cpu_ns"}

func readRank(path string) ([]Chunk, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var chunks []Chunk
	err = input.Table(path, f, rankColumns, func(cells []string) error {
		c, err := parseChunk(cells)
		chunks = append(chunks, c)
		return err
	})
	return chunks, err
}

func parseChunk(record []string) (Chunk, error) {
	arm := slices.Index(armNames[:], record[1])
	if arm < 0 {
		return Chunk{}, fmt.Errorf("arm is %q, expected one of %s", record[1], strings.Join(armNames[:], ", "))
	}
	var n [9]int64
	for i, cell := range record {
		if i == 1 {
			continue
		}
		var err error
		if n[i], err = strconv.ParseInt(cell, 10, 64); err != nil || n[i] < 0 {
			return Chunk{}, fmt.Errorf("column %s is %q, expected a number from 0", rankColumns[i], cell)
		}
	}
	if n[3] == 0 {
		return Chunk{}, fmt.Errorf("a chunk without steps")
	}
	steps := float64(n[3])
	return Chunk{Round: int(n[0]), Arm: Arm(arm), Place: int(n[2]), Steps: int(n[3]), Begin: time.Unix(0, n[4]), End: time.Unix(0, n[5]),
		Wall: float64(n[6]) / steps, Thread: float64(n[7]) / steps, Process: float64(n[8]) / steps}, nil
}

// readCalls reads the cost of one call of a stage, ns.
func readCalls(dir string) (float64, error) {
	text, err := os.ReadFile(filepath.Join(dir, "calls.json"))
	if err != nil {
		return 0, err
	}
	var calls struct {
		Stage float64 `json:"stage_ns"`
	}
	return calls.Stage, json.Unmarshal(text, &calls)
}

// pair is a chunk under an arm beside the one without of the same round.
type pair struct{ base, with *Chunk }

// pairsOf pairs the chunks of an arm with those without. Rounds in which a GPU
// was in trouble are left out, under all arms, and counted.
func pairsOf(chunks []Chunk, arm Arm) (pairs []pair, leftOut int) {
	type round struct{ launch, round int }
	rounds := make(map[round]*[arms]*Chunk)
	var order []round
	for i := range chunks {
		at := round{chunks[i].Launch, chunks[i].Round}
		if rounds[at] == nil {
			rounds[at] = new([arms]*Chunk)
			order = append(order, at)
		}
		rounds[at][chunks[i].Arm] = &chunks[i]
	}
	for _, at := range order {
		r := rounds[at]
		switch {
		case slices.Contains(r[:], nil):
			continue
		case slices.ContainsFunc(r[:], (*Chunk).doubtful):
			leftOut++
		default:
			pairs = append(pairs, pair{r[Off], r[arm]})
		}
	}
	return pairs, leftOut
}

// measurements are the pairs as package overhead takes them; a launch is the
// block.
func measurements(pairs []pair) []overhead.Measurement {
	out := make([]overhead.Measurement, len(pairs))
	for i, p := range pairs {
		out[i] = overhead.Measurement{Pair: strconv.Itoa(p.base.Launch), Window: p.base.Round, Base: p.base.Wall, With: p.with.Wall}
	}
	return out
}
