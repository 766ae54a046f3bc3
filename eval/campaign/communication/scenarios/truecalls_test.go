package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/nccl"
)

// trueCalls is the collectives of a scenario at their true times, by communicator.
func trueCalls(t *testing.T, dir string) ([]comm.Subject, []*comm.Collective) {
	var f truthFile
	var c struct {
		Comms []struct {
			ID    int
			Kind  string
			Ranks []int
			GBps  float64 `json:"bottleneck_gbps"`
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{"WORLD", "TP", "DP", "PP", "EP", "EMB", "EDP"}
	subjectOf := map[int]int{}
	var subjects []comm.Subject
	for i, x := range c.Comms {
		subjectOf[x.ID] = i
		subjects = append(subjects, comm.Subject{Communicator: x.ID, Ranks: len(x.Ranks), Family: slices.Index(kinds, x.Kind),
			Limit: comm.Limit{Link: nccl.SYS, Bandwidth: x.GBps}})
	}
	column := func(names []string, want string) int { return slices.Index(names, want) }
	bytes := column(f.CallFields, "bytes")
	number, of, start, end, members := column(f.KernelFields, "comm"), column(f.KernelFields, "instance"), column(f.KernelFields, "start_us"),
		column(f.KernelFields, "end_us"), column(f.KernelFields, "calls")
	at := map[string]int{}
	var calls []*comm.Collective
	for rank := range f.Ranks {
		id := strconv.Itoa(rank)
		for _, k := range f.Kernels[id] {
			op := nccl.ParseOp(k[1].(string))
			if op.PointToPoint() {
				continue
			}
			name := strconv.Itoa(int(k[number].(float64))) + k[of].(string)
			i, known := at[name]
			if !known {
				i = len(calls)
				at[name] = i
				calls = append(calls, &comm.Collective{Subject: subjectOf[int(k[number].(float64))], Op: op})
				for _, m := range k[members].([]any) {
					calls[i].Bytes += int64(f.Calls[id][int(m.(float64))][bytes].(float64))
				}
			}
			calls[i].Parts = append(calls[i].Parts, comm.Part{Start: int64(k[start].(float64) * 1000), End: int64(k[end].(float64) * 1000)})
		}
	}
	return subjects, calls
}
