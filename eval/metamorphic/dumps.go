package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sfstat/sfstat/ingest/flightrecorder"
)

// dump is one of PyTorch's Flight Recorder, a pickle or JSON; it is written as JSON.
var dump = &form{
	name: "dumps",
	ranks: func(f *file) []int {
		rank, _ := flightrecorder.RankOf(f.name, nil)
		if rank < 0 {
			return nil
		}
		return []int{rank}
	},
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     editDumps(func(map[string]any, *editing) error { return nil }),
		renameRanks: editDumps(renameDump),
		shift: func(f *file, e *editing) ([]*file, error) {
			if ranks := f.recordedRanks(); len(ranks) != 1 || ranks[0] != e.rank {
				return []*file{f}, nil
			}
			return editDumps(func(d map[string]any, e *editing) error {
				return editStamps(d, func(ns int64) int64 { return ns + e.ns })
			})(f, e)
		},
		round: editDumps(func(d map[string]any, e *editing) error {
			return editStamps(d, func(ns int64) int64 { return roundTo(ns, e.ns) })
		}),
	},
	not: map[edit]string{
		renameHosts: "a dump does not name its host",
		reorder:     "a ring is in the order of its calls",
		split:       "a dump is one document",
		merge:       "a dump has the calls of one rank",
		addStage:    "a dump has no stages",
		remove:      "a dump has the calls of one rank",
	},
}

func editDumps(change func(map[string]any, *editing) error) func(*file, *editing) ([]*file, error) {
	return editDecoded(readDump, change, func(d map[string]any) ([]byte, error) { return json.Marshal(d) })
}

func readDump(f *file) (map[string]any, error) {
	text, err := f.plain()
	if err != nil {
		return nil, err
	}
	var root any
	if len(text) > 0 && text[0] == 0x80 {
		root, err = unpickle(text)
	} else {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err = d.Decode(&root); err != nil {
			err = notApplicable("%s is no JSON: %v", f.name, err)
		}
	}
	d, ok := root.(map[string]any)
	if err == nil && !ok {
		err = notApplicable("%s is no dict", f.name)
	}
	return d, err
}

// entriesOf returns the calls of a dump.
func entriesOf(d map[string]any) (out []map[string]any) {
	list, _ := d["entries"].([]any)
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			out = append(out, entry)
		}
	}
	return out
}

func renameDump(d map[string]any, e *editing) error {
	for _, entry := range entriesOf(d) {
		if name, _ := entry["profiling_name"].(string); namesPeers(name) {
			return notApplicable("sends and receives name their peers by their places in the group")
		}
	}
	groups, _ := d["pg_config"].(map[string]any)
	for _, g := range groups {
		group, _ := g.(map[string]any)
		text, ok := group["ranks"].(string)
		if !ok {
			return notApplicable("members of a group are no text")
		}
		if strings.Contains(text, "...") {
			return notApplicable("members of groups are shortened")
		}
		list, err := renamedList(text, e.names)
		if err != nil {
			return err
		}
		group["ranks"] = list
	}
	return nil
}

// editStamps changes all times of calls that are known.
func editStamps(d map[string]any, to func(int64) int64) error {
	for _, entry := range entriesOf(d) {
		for _, field := range []string{"time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns"} {
			ns, ok := entry[field].(int64)
			if number, is := entry[field].(json.Number); is {
				x, err := number.Int64()
				if err != nil {
					return notApplicable("%s is %v", field, number)
				}
				ns, ok = x, true
			}
			if ok && ns > 0 {
				entry[field] = to(ns)
			}
		}
	}
	return nil
}
