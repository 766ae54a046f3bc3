package simulated

import (
	"encoding/json"
	"fmt"
	"slices"
)

func micros(ns int64) json.Number {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	return json.Number(fmt.Sprintf("%s%d.%03d", sign, ns/1000, ns%1000))
}

// event records something on the rank's clock.
func (w *worker) event(cat, name string, tid int, from, to int64, args map[string]any) map[string]any {
	pid := 1000
	if cat == "kernel" {
		pid = 0
	}
	ahead := int64(0)
	if w.job.Clock != nil {
		ahead = w.job.Clock(w.id)
	}
	e := map[string]any{"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": micros(from + ahead), "dur": micros(to - from), "args": args}
	w.events = append(w.events, e)
	return e
}

func (w *worker) annotate(name string, tid int, from int64) {
	w.event("user_annotation", name, tid, from, w.host, map[string]any{})
}

// arguments are what the profiler tells of a call of a group.
func (w *worker) arguments(g *group, op string) map[string]any {
	return map[string]any{"Collective name": op, "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "dtype": "Float", "Group size": len(g.ranks),
		"Process Group Name": g.name, "Process Group Description": g.desc, "Process Group Ranks": fmt.Sprint(commas(g.ranks)),
		"Rank": slices.Index(g.ranks, w.id)}
}

// commas is a list as PyTorch writes it: "[0, 1]".
func commas(ranks []int) string {
	text, err := json.Marshal(ranks)
	if err != nil {
		return ""
	}
	return string(text)
}

// document is the trace of the rank.
func (w *worker) document() []byte {
	var config []map[string]any
	for _, g := range []*group{w.world, w.tensor, w.data, w.pipeline} {
		if len(g.ranks) > 1 {
			config = append(config, map[string]any{"pg_name": g.name, "pg_desc": g.desc, "backend_config": "cuda:nccl", "pg_size": len(g.ranks), "ranks": g.ranks})
		}
	}
	text, err := json.Marshal(map[string]any{"schemaVersion": 1, "baseTimeNanoseconds": 1711964646000000000, "traceEvents": w.events,
		"distributedInfo": map[string]any{"backend": "nccl", "rank": w.id, "world_size": w.job.World(), "pg_config": config}})
	if err != nil {
		panic(err) // all of it is numbers and text
	}
	return text
}
