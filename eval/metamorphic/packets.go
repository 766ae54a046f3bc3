package main

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// packets are lines of JSON, one for a rank and window.
var packets = &form{
	name:  "packets",
	ranks: func(f *file) []int { return ranksOfLines(f) },
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     editPackets(func(packetLine, *editing) error { return nil }),
		renameRanks: editPackets(packetLine.renameRanks),
		renameHosts: editPackets(func(p packetLine, e *editing) error {
			return p.change("host", func(host *string) { *host = e.names.host(*host) })
		}),
		reorder: contentEdit(func(text []byte, e *editing) ([]byte, error) {
			lines := linesOf(text)
			e.rng.Shuffle(len(lines), func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
			return bytes.Join(lines, nil), nil
		}),
		shift:    editPackets(packetLine.shift),
		round:    editPackets(packetLine.round),
		remove:   contentEdit(dropRank),
		split:    splitPackets,
		addStage: editPackets(packetLine.addStage),
	},
	together: concatenate,
}

// packetLine is one line, by the fields of which only what is edited is decoded.
type packetLine map[string]json.RawMessage

// linesOf returns the lines of a text, each with its end.
func linesOf(text []byte) [][]byte {
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(slices.Clone(text), '\n')
	}
	return slices.DeleteFunc(bytes.SplitAfter(text, []byte("\n")), func(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 })
}

// editPackets edits every line. A line that is not whole stays as it is.
func editPackets(change func(packetLine, *editing) error) func(*file, *editing) ([]*file, error) {
	return contentEdit(func(text []byte, e *editing) ([]byte, error) {
		var out bytes.Buffer
		for _, line := range linesOf(text) {
			p := packetLine{}
			if json.Unmarshal(line, &p) != nil {
				out.Write(line)
				continue
			}
			if err := change(p, e); err != nil {
				return nil, err
			}
			text, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			out.Write(append(text, '\n'))
		}
		return out.Bytes(), nil
	})
}

// change decodes a field, has it changed, and puts it back; one that is not there stays away.
func (p packetLine) change(field string, do any) error { return changeField(p, field, do) }

// changeField decodes a field of an object into what do points to, and puts back what that makes of it.
func changeField(in map[string]json.RawMessage, field string, do any) error {
	raw, ok := in[field]
	if !ok || string(raw) == "null" {
		return nil
	}
	text, err := changeValue(raw, do)
	if err == nil {
		in[field] = text
	}
	return err
}

// changeValue returns a value after a change by a function of a pointer to it.
func changeValue(raw json.RawMessage, do any) (json.RawMessage, error) {
	switch do := do.(type) {
	case func(*string):
		return changeValueAs(raw, do)
	case func(*int):
		return changeValueAs(raw, do)
	case func(*int64):
		return changeValueAs(raw, do)
	case func(*[]int):
		return changeValueAs(raw, do)
	case func(*[]int64):
		return changeValueAs(raw, do)
	case func(*[][]int64):
		return changeValueAs(raw, do)
	case func(*[]string):
		return changeValueAs(raw, do)
	case func(*[]float64):
		return changeValueAs(raw, do)
	}
	return nil, notApplicable("a field of an unknown type")
}

func changeValueAs[T any](raw json.RawMessage, do func(*T)) (json.RawMessage, error) {
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, notApplicable("a field that is not as documented: %v", err)
	}
	do(&value)
	return json.Marshal(value)
}

// editField edits an object that is a field of the packet.
func (p packetLine) editField(field string, do func(map[string]json.RawMessage) error) error {
	raw, ok := p[field]
	if !ok || string(raw) == "null" {
		return nil
	}
	in := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &in); err != nil {
		return notApplicable("%s is no object: %v", field, err)
	}
	if err := do(in); err != nil {
		return err
	}
	text, err := json.Marshal(in)
	p[field] = text
	return err
}

func (p packetLine) renameRanks(e *editing) error {
	if err := p.change("rank", func(rank *int) { *rank = e.names.rank(*rank) }); err != nil {
		return err
	}
	return p.editField("arrivals", func(a map[string]json.RawMessage) error {
		var ops []string
		_ = json.Unmarshal(a["ops"], &ops)
		if slices.ContainsFunc(ops, namesPeers) {
			return notApplicable("sends and receives name their peers by their places in the group")
		}
		var groups []map[string]json.RawMessage
		if err := json.Unmarshal(a["groups"], &groups); err != nil {
			return err
		}
		for _, g := range groups {
			if err := changeField(g, "ranks", func(ranks *[]int) { renameAll(*ranks, e.names) }); err != nil {
				return err
			}
		}
		text, err := json.Marshal(groups)
		a["groups"] = text
		return err
	})
}

// renameAll renames members, and lists them in the order of their new names.
func renameAll(ranks []int, n names) {
	for i, r := range ranks {
		ranks[i] = n.rank(r)
	}
	slices.Sort(ranks)
}

// namesPeers reports whether the name of a call says whom it sends to, by its place in the group.
func namesPeers(op string) bool { return strings.Contains(op, "->") || strings.Contains(op, "<-") }

func (p packetLine) shift(e *editing) error {
	var rank int
	if json.Unmarshal(p["rank"], &rank) != nil || rank != e.rank {
		return nil
	}
	if p["epoch_ns"] == nil && p["arrivals"] == nil {
		return errNoClock
	}
	err := p.change("epoch_ns", func(ns *int64) { *ns += e.ns })
	if err != nil {
		return err
	}
	return p.editField("arrivals", func(a map[string]json.RawMessage) error {
		return changeField(a, "enter_ns", func(ns *[]int64) {
			if len(*ns) > 0 {
				(*ns)[0] += e.ns
			}
		})
	})
}

func (p packetLine) round(e *editing) error {
	to := func(ns *int64) { *ns = roundTo(*ns, e.ns) }
	all := func(list *[]int64) {
		for i := range *list {
			to(&(*list)[i])
		}
	}
	for field, do := range map[string]any{"epoch_ns": to, "wall_ns": all,
		"durations_ns": func(rows *[][]int64) {
			for i := range *rows {
				all(&(*rows)[i])
			}
		}} {
		if err := p.change(field, do); err != nil {
			return err
		}
	}
	err := p.editField("side", func(channels map[string]json.RawMessage) error {
		return roundChannels(channels, e.ns)
	})
	if err != nil {
		return err
	}
	return p.editField("arrivals", func(a map[string]json.RawMessage) error {
		if err := changeField(a, "held_ns", func(list *[]int64) {
			for i, ns := range *list {
				if ns >= 0 {
					(*list)[i] = roundTo(ns, e.ns)
				}
			}
		}); err != nil {
			return err
		}
		return changeField(a, "enter_ns", func(list *[]int64) { roundDifferences(*list, e.ns) })
	})
}

// roundDifferences rounds times of which each but the first is given as the difference from the one before.
func roundDifferences(list []int64, unit int64) {
	at, before := int64(0), int64(0)
	for i, d := range list {
		at += d
		now := roundTo(at, unit)
		list[i], before = now-before, now
	}
}

// roundChannels rounds the samples of channels in milliseconds.
func roundChannels(channels map[string]json.RawMessage, unit int64) error {
	for name, raw := range channels {
		in := map[string]json.RawMessage{}
		if err := json.Unmarshal(raw, &in); err != nil {
			return err
		}
		err := changeField(in, "ms", func(list *[]float64) {
			for i, ms := range *list {
				(*list)[i] = float64(roundTo(int64(math.Round(ms*1e6)), unit)) / 1e6
			}
		})
		if err != nil {
			return err
		}
		if channels[name], err = json.Marshal(in); err != nil {
			return err
		}
	}
	return nil
}

func (p packetLine) addStage(e *editing) error {
	name := stageAdded(e)
	if err := p.change("stages", func(stages *[]string) { *stages = append(*stages, name) }); err != nil {
		return err
	}
	return p.change("durations_ns", func(rows *[][]int64) {
		for i, row := range *rows {
			sum := int64(0)
			for _, ns := range row {
				sum += ns
			}
			if !e.sums {
				sum = 0
			}
			(*rows)[i] = append(row, sum)
		}
	})
}

// stageAdded returns the name of an added stage, without its unit.
func stageAdded(e *editing) string {
	if e.sums {
		return "elapsed"
	}
	return "extra"
}

// dropRank drops the lines of a rank.
func dropRank(text []byte, e *editing) ([]byte, error) {
	lines := slices.DeleteFunc(linesOf(text), func(line []byte) bool {
		rank, ok := rankOfLine(line)
		return ok && rank == e.rank
	})
	return bytes.Join(lines, nil), nil
}

func rankOfLine(line []byte) (int, bool) {
	var p struct{ Rank *int }
	if json.Unmarshal(line, &p) != nil || p.Rank == nil {
		return 0, false
	}
	return *p.Rank, true
}

func ranksOfLines(f *file) (out []int) {
	text, err := f.plain()
	if err != nil {
		return nil
	}
	for _, line := range linesOf(text) {
		if rank, ok := rankOfLine(line); ok && !slices.Contains(out, rank) {
			out = append(out, rank)
		}
	}
	slices.Sort(out)
	return out
}

// splitPackets puts the ranks of a file into two, or the windows of its only rank.
func splitPackets(f *file, _ *editing) ([]*file, error) {
	text, err := f.plain()
	if err != nil {
		return nil, err
	}
	lines, ranks := linesOf(text), f.recordedRanks()
	if len(lines) < 2 {
		return []*file{f}, nil
	}
	parts := [2][][]byte{}
	for i, line := range lines {
		second := i >= len(lines)/2
		if rank, ok := rankOfLine(line); ok && len(ranks) > 1 {
			second = slices.Index(ranks, rank) >= len(ranks)/2
		}
		if second {
			parts[1] = append(parts[1], line)
		} else {
			parts[0] = append(parts[0], line)
		}
	}
	return halves(f, bytes.Join(parts[0], nil), bytes.Join(parts[1], nil)), nil
}

// halves returns two files in the place of one.
func halves(f *file, first, second []byte) []*file {
	out := f.withContent(first)
	dir, base := splitName(out.name)
	return []*file{out.withName(dir + "a-" + base), f.withContent(second).withName(dir + "b-" + base)}
}

func splitName(name string) (dir, base string) {
	at := strings.LastIndexByte(name, '/') + 1
	return name[:at], name[at:]
}

// concatenate returns all files of a folder in one.
func concatenate(files []*file) ([]*file, error) {
	var all bytes.Buffer
	for _, f := range files {
		text, err := f.plain()
		if err != nil {
			return nil, err
		}
		all.Write(text)
		if n := len(text); n > 0 && text[n-1] != '\n' {
			all.WriteByte('\n')
		}
	}
	return []*file{files[0].withContent(all.Bytes())}, nil
}
