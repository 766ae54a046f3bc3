package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kinetoTrace is a trace of PyTorch's profiler, one JSON document for a rank.
var kinetoTrace = &form{
	name: "Kineto",
	ranks: func(f *file) []int {
		d, err := readDocument(f)
		if err != nil {
			return nil
		}
		var info struct{ Rank *int }
		if json.Unmarshal(d.members["distributedInfo"], &info) == nil && info.Rank != nil {
			return []int{*info.Rank}
		}
		return rankInTheName(f)
	},
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     editDocuments(func(*document, *editing) error { return nil }),
		renameRanks: editDocuments((*document).renameRanks),
		renameHosts: editDocuments((*document).renameHosts),
		reorder:     editDocuments((*document).reorder),
		shift:       shiftKineto,
		round:       editDocuments((*document).round),
	},
	not: map[edit]string{
		split:    "a trace is one document",
		merge:    "a document has the trace of one rank",
		addStage: "a profile has no table of stages",
		remove:   "a document has the trace of one rank",
	},
}

// document is a trace whose events are decoded as far as they are edited.
type document struct {
	members map[string]json.RawMessage
	events  []map[string]json.RawMessage
	bare    bool // the document is the list of events
}

func readDocument(f *file) (*document, error) {
	text, err := f.plain()
	if err != nil {
		return nil, err
	}
	d := &document{members: map[string]json.RawMessage{}}
	if d.bare = bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")); d.bare {
		d.members["traceEvents"] = text
	} else if err := json.Unmarshal(text, &d.members); err != nil {
		return nil, notApplicable("%s is no JSON: %v", f.name, err)
	}
	if err := json.Unmarshal(d.members["traceEvents"], &d.events); err != nil {
		return nil, notApplicable("%s has no list of events: %v", f.name, err)
	}
	return d, nil
}

func (d *document) text() ([]byte, error) {
	events, err := json.Marshal(d.events)
	if err != nil || d.bare {
		return events, err
	}
	d.members["traceEvents"] = events
	return json.Marshal(d.members)
}

func editDocuments(change func(*document, *editing) error) func(*file, *editing) ([]*file, error) {
	return editDecoded(readDocument, change, (*document).text)
}

func shiftKineto(f *file, e *editing) ([]*file, error) {
	if !slices.Equal(f.recordedRanks(), []int{e.rank}) {
		return []*file{f}, nil
	}
	return editDocuments(func(d *document, e *editing) error {
		return d.editTimes("ts", func(ns int64) int64 { return ns + e.ns })
	})(f, e)
}

func (d *document) renameRanks(e *editing) error {
	if raw := d.members["distributedInfo"]; raw != nil {
		info := map[string]json.RawMessage{}
		if err := json.Unmarshal(raw, &info); err != nil {
			return notApplicable("distributedInfo is no object")
		}
		if err := changeField(info, "rank", func(r *int) { *r = e.names.rank(*r) }); err != nil {
			return err
		}
		var groups []map[string]json.RawMessage
		if raw := info["pg_config"]; raw != nil {
			if err := json.Unmarshal(raw, &groups); err != nil {
				return notApplicable("groups are written as a text")
			}
			for _, g := range groups {
				if err := changeField(g, "ranks", func(ranks *[]int) { renameAll(*ranks, e.names) }); err != nil {
					return err
				}
			}
			info["pg_config"], _ = json.Marshal(groups) // of what was decoded from JSON
		}
		d.members["distributedInfo"], _ = json.Marshal(info)
	}
	for _, event := range d.events {
		if err := renameCall(event, e.names); err != nil {
			return err
		}
	}
	return nil
}

// renameCall renames the ranks in the arguments of a collective.
func renameCall(event map[string]json.RawMessage, n names) error {
	if raw := event["args"]; raw == nil || !bytes.Contains(raw, []byte("ank")) {
		return nil
	}
	args := map[string]json.RawMessage{}
	if json.Unmarshal(event["args"], &args) != nil {
		return nil
	}
	for _, peer := range []string{"Src Rank", "Dst Rank", "Global rank stride"} {
		if args[peer] != nil && (peer != "Global rank stride" || args["Process Group Ranks"] == nil) {
			return notApplicable("calls name ranks by their places in the group")
		}
	}
	list, ok := args["Process Group Ranks"]
	if !ok {
		return nil
	}
	if bytes.Contains(list, []byte("...")) {
		return notApplicable("members of groups are shortened")
	}
	var text string
	quoted := json.Unmarshal(list, &text) == nil
	if !quoted {
		text = string(list)
	}
	text, err := renamedList(text, n)
	if err != nil {
		return err
	}
	args["Process Group Ranks"] = json.RawMessage(text)
	if quoted {
		args["Process Group Ranks"], _ = json.Marshal(text)
	}
	delete(args, "Global rank start")
	delete(args, "Global rank stride")
	event["args"], _ = json.Marshal(args)
	return nil
}

// renamedList returns a list of members as JSON writes it, in their new names.
func renamedList(text string, n names) (string, error) {
	if strings.TrimSpace(text) == "" {
		return text, nil
	}
	var ranks []int
	if err := json.Unmarshal([]byte(text), &ranks); err != nil {
		return "", notApplicable("members %q are no list", text)
	}
	renameAll(ranks, n)
	out, err := json.Marshal(ranks)
	return strings.ReplaceAll(string(out), ",", ", "), err
}

func (d *document) renameHosts(e *editing) error {
	found := false
	for _, field := range []string{"host_name", "hostname"} {
		found = found || d.members[field] != nil
		if err := changeField(d.members, field, func(h *string) { *h = e.names.host(*h) }); err != nil {
			return err
		}
	}
	if !found {
		return notApplicable("the trace does not name its host")
	}
	return nil
}

func (d *document) reorder(e *editing) error {
	for _, event := range d.events {
		if ph := string(event["ph"]); ph == `"B"` || ph == `"E"` {
			return notApplicable("begins and ends find each other by their order")
		}
	}
	e.rng.Shuffle(len(d.events), func(i, k int) { d.events[i], d.events[k] = d.events[k], d.events[i] })
	return nil
}

// round rounds beginnings and ends, so that what was nested stays so.
func (d *document) round(e *editing) error {
	for _, event := range d.events {
		begin, ok := nanoseconds(event["ts"])
		if !ok {
			continue
		}
		if dur, ok := nanoseconds(event["dur"]); ok {
			event["dur"] = microseconds(roundTo(begin+dur, e.ns) - roundTo(begin, e.ns))
		}
		event["ts"] = microseconds(roundTo(begin, e.ns))
	}
	return nil
}

func (d *document) editTimes(field string, to func(int64) int64) error {
	for _, event := range d.events {
		if ns, ok := nanoseconds(event[field]); ok {
			event[field] = microseconds(to(ns))
		}
	}
	return nil
}

// nanoseconds reads microseconds as a decimal number; ok is false for anything else.
func nanoseconds(raw json.RawMessage) (int64, bool) {
	text := strings.Trim(string(raw), `"`)
	whole, part, _ := strings.Cut(text, ".")
	part = (part + "000")[:3]
	ns, err := strconv.ParseInt(whole+part, 10, 64)
	return ns, err == nil
}

func microseconds(ns int64) json.RawMessage {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	return json.RawMessage(fmt.Sprintf("%s%d.%03d", sign, ns/1000, ns%1000))
}
